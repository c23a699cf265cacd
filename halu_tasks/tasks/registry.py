"""The registry: every task and group of the packaged task files."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.tasks.groups import Group, group_from
from halu_tasks.tasks.listing import in_order
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile, packaged_files, read_task_file

logger = logging.getLogger(__name__)


@dataclass
class Declarations:
    """What files declare.

    Attributes:
        tasks: The tasks by name.
        groups: The groups by name.
        files: The files of tasks and groups by name, with or without faults.
        faults: A line for each file with a fault.
    """

    tasks: dict[str, Task] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    files: dict[str, TaskFile] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @contextmanager
    def noting(self, path: Path) -> Iterator[None]:
        """Turn an error about a file into an entry of `faults`."""
        try:
            yield
        except UsageError as error:
            self.faults.append(str(error))
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            self.faults.append(f"{path}: cannot be used ({reason})")

    @property
    def group_files(self) -> dict[str, TaskFile]:
        """The files of groups by name."""
        return {name: file for name, file in self.files.items() if "group" in file.values}


def declarations() -> Declarations:
    """Read and check all packaged files."""
    from halu_tasks.tasks.definition import task_from  # imports pydantic, which listings avoid

    declared = Declarations()
    for path in packaged_files():
        with declared.noting(path):
            file = read_task_file(path)
            key = "group" if "group" in file.values else "task"
            name = str(file.values.get(key))
            if name in declared.files:
                raise UsageError(f"{file.place(key)}: {key}: {name!r} is also the name in {declared.files[name].path}")
            declared.files[name] = file
    groups = declared.group_files
    for name, file in declared.files.items():
        if name not in groups:
            with declared.noting(file.path):
                check_tags(file, declared.files)
                declared.tasks[name] = task_from(file)
    for name, file in groups.items():
        with declared.noting(file.path):
            check_tags(file, declared.files)
            declared.groups[name] = group_from(file, declared.tasks, groups)
    return declared


def check_tags(file: TaskFile, names: Container[str]) -> None:
    """Check the key `tag`.

    Raises:
        UsageError: A tag is not a string, or is one of the `names` of tasks and groups, which it would replace in
            lm-eval.
    """
    tags = file.values.get("tag") or []
    for tag in [tags] if isinstance(tags, str) else tags if isinstance(tags, list) else [None]:
        if not isinstance(tag, str):
            raise UsageError(f"{file.place('tag')}: tag: expected a string or a list of strings, got {tags!r}")
        if tag in names:
            raise UsageError(
                f"{file.place('tag')}: tag: {tag!r} is the name of a task or group, which the tag would replace"
            )


@cache
def registry() -> tuple[dict[str, Task], dict[str, Group]]:
    """Return all packaged tasks and groups by name.

    The tasks of a benchmark are in the order in which its groups list them. A file with a fault is named in a warning
    and left out, so that one benchmark's fault does not affect the others.
    """
    declared = declarations()
    for fault in declared.faults:
        logger.warning("%s", fault)
    sources = {name: task.benchmark for name, task in declared.tasks.items()}
    questions: dict[str, dict[str, None]] = {}
    for task in declared.tasks.values():
        questions.setdefault(task.benchmark, {}).update(dict.fromkeys(task.prompts.questions))
    tasks = {}
    for name in in_order(sources, [group.members for group in declared.groups.values()]):
        task = declared.tasks[name]
        tasks[name] = replace(task, prompts=replace(task.prompts, questions=tuple(questions[task.benchmark])))
    groups = {
        name: replace(group, tasks=tuple(tasks[member] for member in group.members))
        for name, group in declared.groups.items()
    }
    return tasks, groups


def group_named(name: str) -> Group:
    """Return the packaged group of that name.

    Raises:
        UsageError: There is none, or one of its members has a fault.
    """
    groups = registry()[1]
    if name not in groups:
        raise UsageError(f"unknown group {name!r}{did_you_mean(name, groups)}; halu-tasks check lists faults of files")
    return groups[name]


TAG, JUDGED_TAG = "halu_tasks", "halu_tasks_judged"
"""The tags of the packaged tasks that need no judge, and of those that do."""


def tasks_selected(names: Iterable[str]) -> list[Task]:
    """Return the packaged tasks that some names of tasks, groups and the package's tags stand for, each once.

    Raises:
        UsageError: A name is unknown.
    """
    tasks, groups = registry()
    by_name: Mapping[str, Sequence[Task]] = {
        **{name: [task] for name, task in tasks.items()},
        **{name: group.tasks for name, group in groups.items()},
        TAG: [task for task in tasks.values() if not task.judged],
        JUDGED_TAG: [task for task in tasks.values() if task.judged],
    }
    selected: dict[str, Task] = {}
    for name in map(str.strip, names):
        if name not in by_name:
            raise UsageError(f"unknown task {name!r}{did_you_mean(name, by_name)}; halu-tasks list shows all")
        selected |= {task.name: task for task in by_name[name]}
    return list(selected.values())


def sources() -> dict[str, Source]:
    """Return the sources of all packaged tasks, and those without a task, by name."""
    return {**SOURCES, **{task.data.source.name: task.data.source for task in registry()[0].values()}}


def source_named(name: str) -> Source:
    """Return the source of that name.

    Raises:
        UsageError: There is none; the message lists the sources.
    """
    known = sources()
    if name not in known:
        raise UsageError(f"unknown source {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
    return known[name]


def prompt_names() -> set[str]:
    """Return the names under which a user's prompt file may give prompts of the packaged tasks."""
    return {task.name + wording.suffix for task in registry()[0].values() for wording in task.prompts.wordings}
