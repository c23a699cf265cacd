"""A quick listing of the packaged tasks and groups: what their files say, without making readings and scorers.

`registry()` checks every declaration, which takes a second; a listing only needs a few keys of each file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.tasks.yaml_files import TaskFile, load_object, packaged_files, read_task_file

logger = logging.getLogger(__name__)
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class ListedTask:
    """A task as listings show it.

    Attributes:
        name: The name.
        about: What the task asks, in one line.
        size: The number of items in the published data; None if it is not known.
        headline: The metric that sums up the task.
        source: The name of the task's source.
        title: The title of the benchmark.
        path: The task file.
    """

    name: str
    about: str
    size: int | None
    headline: str
    source: str
    title: str
    path: Path


@dataclass(frozen=True)
class ListedGroup:
    """A group as listings show it.

    Attributes:
        name: The name.
        means: The metrics whose means are reported.
        members: The names of the tasks; a group among the members is replaced by its own members.
        path: The group file.
    """

    name: str
    means: tuple[str, ...]
    members: tuple[str, ...]
    path: Path


def listing() -> tuple[list[ListedTask], list[ListedGroup]]:
    """List the packaged tasks and groups in the order of the registry; warn of files that cannot be read."""
    files: dict[str, TaskFile] = {}
    group_files: dict[str, TaskFile] = {}
    for path in packaged_files():
        try:
            file = read_task_file(path)
        except UsageError as error:
            logger.warning("%s", error)
            continue
        by_name = group_files if "group" in file.values else files
        by_name[str(file.values.get("group", file.values.get("task")))] = file
    tasks = {entry.name: entry for entry in _entries(files.values(), _task)}
    groups = list(_entries(group_files.values(), lambda file: _group(file, group_files)))
    sources = {name: task.source for name, task in tasks.items()}
    return [tasks[name] for name in in_order(sources, [group.members for group in groups])], groups


def path_of(name: str) -> Path:
    """Return the file of a packaged task or group.

    Raises:
        UsageError: There is no task or group of that name.
    """
    tasks, groups = listing()
    paths = {task.name: task.path for task in tasks} | {group.name: group.path for group in groups}
    if name not in paths:
        raise UsageError(f"unknown task {name!r}{did_you_mean(name, paths)}; tasks and groups: {', '.join(paths)}")
    return paths[name]


def in_order(sources: Mapping[str, str], groups: Iterable[Sequence[str]]) -> list[str]:
    """Order the names of tasks by their sources, and those of one source as its groups list them, the largest first.

    Args:
        sources: The name of each task's source.
        groups: The members of each group.
    """
    listed = [name for members in sorted(groups, key=len, reverse=True) for name in members]
    names = [name for name in dict.fromkeys([*listed, *sources]) if name in sources]
    return [name for source in sorted(set(sources.values())) for name in names if sources[name] == source]


def _entries(files: Iterable[TaskFile], entry_of: Callable[[TaskFile], Entry]) -> Iterator[Entry]:
    for file in files:
        try:
            yield entry_of(file)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            logger.warning("%s: cannot be listed; halu-tasks check says why", file.path)


def _task(file: TaskFile) -> ListedTask:
    values = file.values
    source = load_object(values["source"])
    source = SOURCES[source] if isinstance(source, str) else source
    source = Source.from_keys(**source) if isinstance(source, dict) else source
    headline = values["metric_list"][0]["metric"]
    return ListedTask(
        values["task"], values["about"], values.get("items"), headline, source.name, source.title, file.path
    )


def _group(file: TaskFile, groups: Mapping[str, TaskFile]) -> ListedGroup:
    means = tuple(entry["metric"] for entry in file.values["aggregate_metric_list"])
    members = tuple(
        task
        for member in file.values["task"]
        for task in (_group(groups[member], groups).members if member in groups else [member])
    )
    return ListedGroup(file.values["group"], means, members, file.path)
