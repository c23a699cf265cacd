"""The registry: every task and group of the packaged task files."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.errors import UsageError, did_you_mean
from halu_tasks.scorers.score import Score
from halu_tasks.tasks.definition import task_from
from halu_tasks.tasks.listing import in_order
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile, packaged_files, read_task_file

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Estimate

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Group:
    """Tasks reported together: the unweighted mean of the metrics `means` over `members`."""

    name: str
    version: int
    about: str
    members: tuple[str, ...]
    means: tuple[str, ...]

    def figures(self, scoring: str, by_task: Mapping[str, Sequence[Score]]) -> dict[str, Estimate]:
        """The means over the members' scores, all in the mode `scoring`; one that is not defined for every member
        is left out. Clusters that reach into several members keep their correlation."""
        from halu_tasks.scorers.metrics import by_cluster, estimate, mean_of

        tagged = [score.tagged({"task": task}) for task in self.members for score in by_task.get(task, ())]
        found: dict[str, Estimate] = {}
        for name in self.means:
            members = {
                member: next(m for m in registry()[0][member].scoring[scoring].metrics if m.name == name)
                for member in self.members
            }
            if value := estimate(mean_of(name, members, "task"), by_cluster(tagged)):
                found[name] = value
        return found


@cache
def registry() -> tuple[dict[str, Task], dict[str, Group]]:
    """All packaged tasks by name, those of a benchmark as its groups list them, and all groups. A file with an error is
    named in a warning and left out, since one benchmark's fault is no reason to lose the others."""
    declared = declarations()
    for fault in declared.faults:
        logger.warning("%s", fault)
    sources = {name: task.benchmark for name, task in declared.tasks.items()}
    ordered = in_order(sources, [group.members for group in declared.groups.values()])
    questions: dict[str, dict[str, None]] = {}
    for task in declared.tasks.values():
        questions.setdefault(task.benchmark, {}).update(dict.fromkeys(task.questions))
    tasks = {name: declared.tasks[name] for name in ordered}
    return {n: replace(task, questions=tuple(questions[task.benchmark])) for n, task in tasks.items()}, declared.groups


def sources() -> dict[str, Source]:
    """The sources of all packaged tasks by name, and those that have none."""
    return {**SOURCES, **{task.reader.source.name: task.reader.source for task in registry()[0].values()}}


def source_named(name: str) -> Source:
    """The source of that name. Raises UsageError, listing them, when there is none."""
    known = sources()
    if name not in known:
        raise UsageError(f"unknown source {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
    return known[name]


@dataclass
class Declarations:
    """What the packaged files declare, and a line for each file with an error."""

    tasks: dict[str, Task] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    files: dict[str, TaskFile] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @contextmanager
    def noting(self, path: Path) -> Iterator[None]:
        """Note what is wrong with a file, and go on."""
        try:
            yield
        except UsageError as error:
            self.faults.append(str(error))
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            self.faults.append(f"{path}: cannot be used ({why})")


def declarations() -> Declarations:
    """Read and check all packaged files."""
    found = Declarations()
    for path in packaged_files():
        with found.noting(path):
            file = read_task_file(path)
            name = str(file.values.get("group", file.values.get("task")))
            if name in found.files:
                key = "group" if "group" in file.values else "task"
                raise UsageError(f"{file.place(key)}: {key}: {name!r} is also the name in {found.files[name].path}")
            found.files[name] = file
    group_files = {name: file for name, file in found.files.items() if "group" in file.values}
    for name, file in found.files.items():
        if name not in group_files:
            with found.noting(file.path):
                check_tags(file, found.files)
                found.tasks[name] = task_from(file)
    faulty = found.files.keys() - found.tasks.keys() - group_files.keys()
    for name, file in group_files.items():
        if faulty.isdisjoint(_declared_members(name, group_files)):  # else a member's fault is what there is to say
            with found.noting(file.path):
                check_tags(file, found.files)
                found.groups[name] = group_from(file, found.tasks, group_files)
    return found


def _declared_members(name: str, groups: Mapping[str, TaskFile], within: Sequence[str] = ()) -> set[str]:
    """The names that a group and the groups among its members list, whatever they are."""
    listed = groups[name].values.get("task")
    names = {str(member) for member in listed} if isinstance(listed, list) else set()
    below = [member for member in names if member in groups and member not in (name, *within)]
    return names.union(*(_declared_members(member, groups, (name, *within)) for member in below))


def check_tags(file: TaskFile, names: Container[str]) -> None:
    """Raise UsageError where a tag is one of the `names` of tasks and groups, which it would replace in lm-eval."""
    tags = file.values.get("tag") or []
    for tag in [tags] if isinstance(tags, str) else tags if isinstance(tags, list) else [None]:
        if not isinstance(tag, str):
            raise UsageError(f"{file.place('tag')}: tag: expected a string or a list of strings, got {tags!r}")
        if tag in names:
            raise UsageError(
                f"{file.place('tag')}: tag: {tag!r} is the name of a task or group, which the tag would replace"
            )


def group_from(
    file: TaskFile, tasks: Mapping[str, Task], groups: Mapping[str, TaskFile], within: Sequence[object] = ()
) -> Group:
    """The group that a file defines.

    Args:
        file: the group's file.
        tasks: the tasks that may be members.
        groups: the files of the groups that may be members; a group stands for its own members.
        within: the names of the groups that this one is a member of.

    Raises:
        UsageError: one line that names the file and the key that is wrong: a member that is no task, or a mean of a
            metric that a member lacks.
    """

    def fail(key: str, reason: str) -> UsageError:
        return UsageError(f"{file.place(key)}: {key}: {reason}")

    values = file.values
    name, members, means, metadata = (values.get(key) for key in ("group", "task", "aggregate_metric_list", "metadata"))
    if not isinstance(name, str):
        raise fail("group", f"expected a name, got {name!r}")
    if not isinstance(members, list) or not members:
        raise fail("task", "expected a list of tasks")
    for member in members:
        if not isinstance(member, str):
            raise fail("task", f"expected the names of tasks, got {member!r}")
        if member in (name, *within):
            raise fail("task", f"the group {member!r} is a member of itself")
        if member not in tasks and member not in groups:
            raise fail("task", f"unknown task {member!r}{did_you_mean(member, [*tasks, *groups])}")
    members = [
        task
        for member in members
        for task in (
            group_from(groups[member], tasks, groups, (name, *within)).members if member in groups else [member]
        )
    ]
    if not isinstance(means, list) or not means:
        raise fail("aggregate_metric_list", "expected a list of metrics")
    for entry in means:
        metric = entry.get("metric") if isinstance(entry, dict) else None
        if metric is None or entry.get("weight_by_size") is not False:
            raise fail("aggregate_metric_list", f"expected 'metric: NAME' with 'weight_by_size: false', got {entry!r}")
        for member in members:
            known = [each.name for each in tasks[member].scoring["strict"].metrics]
            if metric not in known:
                close = did_you_mean(str(metric), known)
                raise fail("aggregate_metric_list", f"{member} has no metric {metric!r}{close}")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("about"), str):
        raise fail("metadata", "lacks 'about', one line for listings")
    if name in tasks:
        raise fail("group", f"{name!r} is the name of a task")
    version = metadata.get("version", 1)
    if not isinstance(version, int | float) or isinstance(version, bool) or not 0 <= version < 1e6:
        raise fail("metadata", f"version: expected a number, got {version!r}")
    return Group(
        name,
        int(version),
        metadata["about"],
        tuple(members),
        tuple(each["metric"] for each in means),
    )


def prompt_names() -> set[str]:
    """The names under which a user's prompt file may give prompts of the packaged tasks."""
    return {task.name + wording.suffix for task in registry()[0].values() for wording in task.wordings}


def imported(name: str, attributes: Sequence[str] = ()) -> ModuleType | None:
    """A module that has `attributes`; where it cannot be imported, None and a warning, since one benchmark's fault is
    no reason to lose the others."""
    try:
        module = importlib.import_module(name)
        for attribute in attributes:
            getattr(module, attribute)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        logger.warning("%s cannot be imported, its tasks are missing (%s)", name, why)
        return None
    return module


def group_named(name: str) -> Group:
    """The packaged group of that name. Raises UsageError when it is missing, as when a member has a fault."""
    groups = registry()[1]
    if name not in groups:
        raise UsageError(f"there is no group {name!r}{did_you_mean(name, groups)}; halu-tasks check tells of faults")
    return groups[name]
