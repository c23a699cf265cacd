"""The registry: every task and group of the packaged task files."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from halu_tasks.errors import UsageError, did_you_mean
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean_of
from halu_tasks.scorers.score import Score
from halu_tasks.tasks.definition import packaged_files, task_from
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile, read_task_file

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
        tagged = [score.tagged({"task": task}) for task in self.members for score in by_task.get(task, ())]
        found: dict[str, Estimate] = {}
        for name in self.means:
            members = {
                member: next(m for m in task_named(member).scoring[scoring].metrics if m.name == name)
                for member in self.members
            }
            if value := estimate(mean_of(name, members, "task"), by_cluster(tagged)):
                found[name] = value
        return found


def task_configs() -> Path:
    """The folder of the packaged task files."""
    from halu_tasks import task_configs

    return Path(task_configs.__path__[0])


@cache
def registry() -> tuple[dict[str, Task], dict[str, Group]]:
    """All packaged tasks and groups by name, in the order of their files. A file with an error is named in a warning
    and left out, since one benchmark's fault is no reason to lose the others."""
    tasks: dict[str, Task] = {}
    group_files: dict[str, TaskFile] = {}
    for path in packaged_files(task_configs()):
        try:
            file = read_task_file(path)
            if "group" in file.values:
                group_files[str(file.values["group"])] = file
            else:
                task = task_from(file)
                tasks[task.name] = task
        except UsageError as error:
            logger.warning("%s", error)
    groups: dict[str, Group] = {}
    for file in group_files.values():
        try:
            group = group_from(file, tasks, group_files)
            groups[group.name] = group
        except UsageError as error:
            logger.warning("%s", error)
    return _in_order(tasks, groups), groups


def _in_order(tasks: Mapping[str, Task], groups: Mapping[str, Group]) -> dict[str, Task]:
    """Tasks by benchmark, and those of one benchmark as its groups list them, the largest group first."""
    listed = [
        name for group in sorted(groups.values(), key=lambda group: -len(group.members)) for name in group.members
    ]
    benchmarks = sorted({task.benchmark for task in tasks.values()})
    names = dict.fromkeys([*listed, *tasks])
    return {name: tasks[name] for benchmark in benchmarks for name in names if tasks[name].benchmark == benchmark}


def group_from(file: TaskFile, tasks: Mapping[str, Task], groups: Mapping[str, TaskFile]) -> Group:
    """The group that a file defines.

    Args:
        file: the group's file.
        tasks: the tasks that may be members.
        groups: the files of the groups that may be members; a group stands for its own members.

    Raises:
        UsageError: one line that names the file and the key that is wrong: a member that is no task, or a mean of a
            metric that a member lacks.
    """

    def fail(key: str, reason: str) -> UsageError:
        return UsageError(f"{file.places.get(key, file.path)}: {key}: {reason}")

    values = file.values
    name, members, means, metadata = (values.get(key) for key in ("group", "task", "aggregate_metric_list", "metadata"))
    if not isinstance(name, str):
        raise fail("group", f"expected a name, got {name!r}")
    if not isinstance(members, list) or not members:
        raise fail("task", "expected a list of tasks")
    for member in members:
        if member not in tasks and member not in groups:
            raise fail("task", f"unknown task {member!r}{did_you_mean(str(member), [*tasks, *groups])}")
    members = [
        task
        for member in members
        for task in (group_from(groups[member], tasks, groups).members if member in groups else [member])
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
    return Group(
        name,
        int(metadata.get("version", 1)),
        metadata["about"],
        tuple(members),
        tuple(each["metric"] for each in means),
    )


@cache
def questions_of(benchmark: str) -> tuple[str, ...]:
    """The user texts of all prompts of a benchmark's packaged tasks."""
    tasks = [task for task in registry()[0].values() if task.benchmark == benchmark]
    return tuple(dict.fromkeys(str(wording.prompt["user"]) for task in tasks for wording in task.wordings))


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


def task_named(name: str) -> Task:
    """The task of that name. Raises UsageError, listing the tasks, when there is none."""
    tasks, groups = registry()
    if name in groups:
        raise UsageError(f"{name!r} is a group; name one of its tasks: {', '.join(groups[name].members)}")
    if name not in tasks:
        raise UsageError(f"unknown task {name!r}{did_you_mean(name, tasks)}; tasks: {', '.join(tasks)}")
    return tasks[name]
