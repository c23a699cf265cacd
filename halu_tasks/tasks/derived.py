"""Tasks that users derive from packaged ones: read from their files, and restored from logs.

A log holds the name of the packaged task and the keys that differ, so that it can be scored and reported without the
task file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.tasks.registry import check_tags, registry
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import FunctionName, TaskFile, comparable, read_task_file

_FUNCTION = "!function "
_NOT_LOGGED = ("task", "about", "items", "metadata")


def task_named(name: str) -> Task:
    """Return the packaged task of that name or, if `name` ends in `.yaml`, the task of a user's file.

    Raises:
        UsageError: The task or file does not exist, or the file is invalid.
    """
    if name.endswith(".yaml"):
        return task_of_file(Path(name).expanduser())
    tasks, groups = registry()
    if name in groups:
        raise UsageError(f"{name!r} is a group; name one of its tasks: {', '.join(groups[name].members)}")
    if name not in tasks:
        raise UsageError(f"unknown task {name!r}{did_you_mean(name, tasks)}; tasks: {', '.join(tasks)}")
    return tasks[name]


def task_of_file(path: Path) -> Task:
    """Return the task that a user's file defines, which may include a packaged file.

    Raises:
        UsageError: A key is missing, unknown or wrong; the message is one line with the file and the key.
    """
    return task_of(read_task_file(path))


def task_of(file: TaskFile) -> Task:
    """Return the task that a file defines: the packaged task itself if nothing differs.

    Raises:
        UsageError: As in `task_of_file`.
    """
    from halu_tasks.tasks.definition import task_from
    from halu_tasks.tasks.schema import KEYS

    tasks, groups = registry()
    check_tags(file, {*tasks, *groups})
    reference = file.values.get("reference_task")
    if not isinstance(reference, str) or reference not in tasks:
        if reference is None or reference != file.values.get("task"):
            raise UsageError(
                f"{file.place('reference_task')}: reference_task: expected the packaged task that the file "
                f"includes, got {reference!r}{did_you_mean(str(reference), tasks)}; a new task names itself"
            )
        return task_from(file)
    if (name := file.values.get("task")) in [*groups, *(other for other in tasks if other != reference)]:
        raise UsageError(f"{file.place('task')}: task: {name!r} is the name of a packaged task; give it another one")
    packaged = tasks[reference]
    same = [key for key in KEYS if key != "metadata"]
    if all(comparable(file.values.get(key)) == comparable(packaged.file.values.get(key)) for key in same):
        return packaged
    return task_from(file, packaged)


@dataclass(frozen=True, slots=True)
class TaskReference:
    """The name of a task in a log, and what else it takes to restore the task without its file.

    Attributes:
        task: The task's name.
        reference_task: For a derived task, the packaged task that it comes from; otherwise None.
        overrides: For a derived task, the keys of its file that differ from the reference task's, as JSON.
    """

    task: str
    reference_task: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task) -> TaskReference:
        """Return the reference that restores `task`."""
        from halu_tasks.tasks.schema import KEYS

        packaged = registry()[0].get(task.reference)
        if task is packaged:
            return cls(task.name)
        base = packaged.file.values if packaged else {}
        overrides = {
            key: _as_json(value)
            for key, value in task.file.values.items()
            if key in KEYS and key not in _NOT_LOGGED and comparable(value) != comparable(base.get(key))
        }
        return cls(task.name, task.reference, overrides)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TaskReference:
        """Read the reference from a record that holds the keys of `as_json` among others."""
        return cls(record["task"], record.get("reference_task"), record.get("overrides") or {})

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON: for a packaged task only its name."""
        if self.reference_task is None:
            return {"task": self.task}
        return {"task": self.task, "reference_task": self.reference_task, "overrides": dict(self.overrides)}

    def resolve(self) -> Task:
        """Return the task.

        Raises:
            UsageError: This version of the package lacks the task, or cannot use an override.
        """
        if self.reference_task is not None:
            return _restored(self.task, self.reference_task, json.dumps(self.overrides, sort_keys=True))
        tasks, _ = registry()
        if self.task not in tasks:
            raise UsageError(f"unknown task {self.task!r}{did_you_mean(self.task, tasks)}; tasks: {', '.join(tasks)}")
        return tasks[self.task]


@cache
def _restored(name: str, reference: str, overrides: str) -> Task:
    from halu_tasks.tasks.definition import task_from

    packaged = registry()[0].get(reference)
    base = packaged.file.values if packaged else {}
    values = {**base, **{key: _from_json(value) for key, value in json.loads(overrides).items()}}
    values |= {"task": name, "reference_task": reference}
    values = {"about": name, "metadata": {"version": 1}, **values}
    return task_from(TaskFile(Path(f"{name} (as logged)"), values, {}), packaged)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, FunctionName):
        path, module = value.folder, value.name.rpartition(".")[0].replace(".", "/")
        own = path is not None and (path / f"{module}.py").is_file()
        return f"{_FUNCTION}{path.resolve() / value.name}" if path and own else str(value)
    if callable(value):
        return f"{_FUNCTION}{value.__module__}.{value.__qualname__}"
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _from_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_from_json(each) for each in value]
    if isinstance(value, str) and value.startswith(_FUNCTION):
        folder, _, name = value.removeprefix(_FUNCTION).rpartition("/")
        return FunctionName(name, Path(folder) if folder else None)
    return value
