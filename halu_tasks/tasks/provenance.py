"""What a log says of a run: which task it asked, so that it can be restored without its file, and how it was made."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import PENALTY
from halu_tasks.tasks.definition import NAMING_KEYS, Task
from halu_tasks.tasks.prompting import decoding_in_form
from halu_tasks.tasks.prompts import Decoding
from halu_tasks.tasks.task_defaults import with_defaults
from halu_tasks.tasks.task_registry import get_task, registry
from halu_tasks.tasks.yaml_files import NAMED, FunctionName, TaskFile, find_object

RECORD = "halu_tasks"
"""Key of what this package records, in what the harnesses and `halu-tasks score` write."""
_FUNCTION = "!function "
TRUST = "HALU_TASKS_TRUST"
"""The environment variable with the folders and packages, separated as in PATH, whose functions results may name."""


@dataclass(frozen=True)
class TaskRef:
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
    def of(cls, task: Task) -> TaskRef:
        """Return the reference that restores `task`."""
        if task is registry()[0].get(task.name):
            return cls(task.name)
        keys = [key for key in task.differing_keys(task.packaged) if key not in NAMING_KEYS and key in task.file.values]
        values = {key: task.file.values[key] for key in keys}
        return cls(task.name, task.base_task, json.loads(json.dumps(values, default=_name_of)))

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TaskRef:
        """Read the reference from a record that holds the keys of `as_json` among others."""
        return cls(**{name: record[name] for name in _REFERENCE if name in record})

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
            return _restored(self.task, self.reference_task, json.dumps(self.overrides))
        return get_task(self.task)


@cache
def _restored(name: str, reference: str, overrides: str) -> Task:
    packaged = registry()[0].get(reference)
    base = packaged.file.values if packaged else {}
    values = {**base, **{key: _from_json(value) for key, value in json.loads(overrides).items()}}
    values |= {"task": name, "reference_task": reference}
    file = TaskFile(Path(f"{name} (as logged)"), values, {})
    return Task(file if packaged else with_defaults(file), packaged).check()


def _name_of(value: Any) -> str:
    """Return the name of an object that a task file names, for `_from_json`."""
    if isinstance(value, FunctionName):
        return f"{_FUNCTION}{value.logged}"
    return f"{_FUNCTION}{value.__module__}.{value.__qualname__}" if callable(value) else repr(value)


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _from_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_from_json(each) for each in value]
    if isinstance(value, str) and value.startswith(_FUNCTION):
        return _trusted(value.removeprefix(_FUNCTION))
    return value


def _trusted(name: str) -> FunctionName:
    """Return the name of an object that a log names, or raise UsageError if it must not be imported.

    It is imported if a task file of this process has named it, or if it is defined in a module that is trusted: what
    a trusted module has itself imported, such as `import_module`, is not for a log to call.
    """
    path = Path(name)
    module, _, attribute = path.name.rpartition(".")
    folder = path.parent if "/" in name else None
    is_name = all(map(str.isidentifier, (*module.split("."), attribute))) and "\0" not in name
    if not is_name or (folder and not path.is_absolute()):
        raise UsageError(f"the result names the function {name}, which is not the name of one; leave the result out")
    function = FunctionName(path.name, folder)
    if name in NAMED:
        return function
    trusted = [entry for entry in os.environ.get(TRUST, "").split(os.pathsep) if entry]
    source = f"{folder.joinpath(*module.split('.'))}" if folder else module
    if is_trusted := _is_in(trusted, source):
        try:
            value = find_object(function)
        except ValueError:
            return function  # the check of the task says why
        is_type = isinstance(value, type) and value.__module__ == "builtins"  # such as str
        source = str(value.__module__) if hasattr(value, "__qualname__") and not is_type else source
        is_trusted = _is_in(trusted, source)
    if is_trusted:
        return function
    needed = Path(f"{source}.py").resolve().parent if "/" in source else source.partition(".")[0]
    raise UsageError(
        f"the result names the function {name}, which is not one of this package; "
        f"to trust it, set {TRUST}={os.pathsep.join([*trusted, str(needed)])}"
    )


def _is_in(trusted: Sequence[str], module: str) -> bool:
    """Whether a module belongs to this package's tasks or scorers, a trusted package or a trusted folder.

    Parts of names are compared, and paths with their links followed, not texts: `/t` is the beginning of `/t.old`, and
    a folder may be called `halu_tasks.benchmarks`.
    """
    if "/" not in module:
        packages = [package.split(".") for package in ("halu_tasks.benchmarks", "halu_tasks.scorers", *trusted)]
        return any(module.split(".")[: len(package)] == package for package in packages)
    file = Path(f"{module}.py")  # lm-eval, too, names a module in a folder by its path without the suffix
    # unlike Path.expanduser, this does not fail for a user who does not exist
    folders = [Path(os.path.expanduser(entry)).resolve() for entry in trusted]  # noqa: PTH111
    return file.is_file() and any(file.resolve().is_relative_to(each) for each in folders)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a run came about: its task, data, prompt and options.

    Attributes:
        task: The task, with what a derived one changes.
        version: The task's version, followed by the tags of what sets the run apart from the published benchmark.
        scoring: The mode, `strict` or `paper`.
        data: The kind of data: `pinned`, `sample`, ….
        data_file: The name of the data file.
        data_sha256: The checksum of the data file.
        items: The number of items of the task under these options.
        prompt_hash: The hash of the prompt; None if it is not known how replies were asked for.
        fewshot: The number of worked examples; None if it is not known.
        cot: Whether reasoning was asked for; None if it is not known.
        options: The values of the options that only some tasks have, by name; `judge` is one of judged tasks.
    """

    task: TaskRef
    version: str
    scoring: str
    data: str
    data_file: str
    data_sha256: str
    items: int
    prompt_hash: str | None
    fewshot: int | None = None
    cot: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Provenance:
        """Restore a provenance from a log.

        Raises:
            DataError: A value is missing or has the wrong type.
        """
        parts = {"task": {name: record[name] for name in _REFERENCE if name in record}}
        parts["options"] = {name: record[name] for name in record if name not in (*_OWN, *_REFERENCE)}
        try:
            provenance: Provenance = _adapter().validate_python({**record, **parts})
            return provenance
        except ValidationError as error:
            prefix = f"{record['task']}: " if "task" in record else ""
            problem = f"{error.errors()[0]['loc'][0]!r} is missing or has the wrong type"
            raise DataError(f"{prefix}the record is damaged: {problem}; run the task again") from None

    def as_json(self) -> dict[str, Any]:
        """Convert to a flat JSON object."""
        return {**self.task.as_json(), **{name: getattr(self, name) for name in _OWN}, **self.options}

    @property
    def judge(self) -> str | None:
        """The judge that was named as an option."""
        judge: str | None = self.options.get("judge")
        return judge

    @property
    def penalty(self) -> float:
        """What a wrong answer costs in `net`, in points."""
        return float(self.options.get(PENALTY, 1.0))

    @property
    def decoding(self) -> Decoding:
        """The decoding that the task has under these options."""
        form = {name: bool(self.options.get(name)) for name in ("structured", "confidence")}
        return decoding_in_form(self.task.resolve().prompts.decoding, **form)

    def without_prompt(self) -> Provenance:
        """Return the provenance of replies of which it is not known how they were asked for."""
        return replace(self, prompt_hash=None, fewshot=None, cot=None)


@cache
def _adapter() -> Any:
    return TypeAdapter(Provenance)


_REFERENCE = tuple(each.name for each in fields(TaskRef))
# the keys of a record that are not options
_OWN = tuple(each.name for each in fields(Provenance) if each.name not in ("task", "options"))
