"""What the packaged task and group files declare, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from halu_tasks.core.errors import UsageError
from halu_tasks.tasks.definition import task_from
from halu_tasks.tasks.groups import Group, group_from
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile, packaged_files, read_task_file


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


def declarations() -> Declarations:
    """Read and check all packaged files."""
    declared = Declarations()
    for path in packaged_files():
        with declared.noting(path):
            _read_file(path, declared)
    group_files = {name: file for name, file in declared.files.items() if "group" in file.values}
    for name, file in declared.files.items():
        if name not in group_files:
            with declared.noting(file.path):
                check_tags(file, declared.files)
                declared.tasks[name] = task_from(file)
    faulty = declared.files.keys() - declared.tasks.keys() - group_files.keys()
    for name, file in group_files.items():
        # a group with a faulty member has no fault of its own
        if faulty.isdisjoint(_declared_members(name, group_files)):
            with declared.noting(file.path):
                check_tags(file, declared.files)
                declared.groups[name] = group_from(file, declared.tasks, group_files)
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


def _read_file(path: Path, declared: Declarations) -> None:
    """Add a file to `declared.files`.

    Raises:
        UsageError: It cannot be read, or another file has the same name.
    """
    file = read_task_file(path)
    key = "group" if "group" in file.values else "task"
    name = str(file.values.get(key))
    if name in declared.files:
        raise UsageError(f"{file.place(key)}: {key}: {name!r} is also the name in {declared.files[name].path}")
    declared.files[name] = file


def _declared_members(name: str, groups: Mapping[str, TaskFile], within: Sequence[str] = ()) -> set[str]:
    """Return the names that a group, and the groups among its members, list, known or not."""
    listed = groups[name].values.get("task")
    names = {str(member) for member in listed} if isinstance(listed, list) else set()
    below = [member for member in names if member in groups and member not in (name, *within)]
    return names.union(*(_declared_members(member, groups, (name, *within)) for member in below))
