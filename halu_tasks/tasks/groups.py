"""Groups of tasks: what a group file declares, and the means over a group's members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.scorers.score import Score
from halu_tasks.tasks.definition.keys import version_number
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Estimate, Metric


@dataclass(frozen=True, kw_only=True)
class Group:
    """Tasks that are reported together.

    Attributes:
        name: The name, the same in lm-eval, Inspect and on the command line.
        version: Changes when results stop being comparable.
        about: One line for listings.
        means: The metrics whose unweighted means over the members are reported.
        tasks: The members; a group among them is replaced by its own members.
    """

    name: str
    version: int
    about: str
    means: tuple[str, ...]
    tasks: tuple[Task, ...] = field(repr=False, compare=False)

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the members."""
        return tuple(task.name for task in self.tasks)

    def figures(self, scoring: str, by_task: Mapping[str, Sequence[Score]]) -> dict[str, Estimate]:
        """Estimate the means over the members' scores.

        Clusters that extend over several members keep their correlation.

        Args:
            scoring: The mode of all scores, `strict` or `paper`.
            by_task: The scores by the member's name.

        Returns:
            The means by metric, without those that are not defined for every member.
        """
        from halu_tasks.scorers.metrics import by_cluster, estimate

        clusters = by_cluster(self.scores(by_task))
        estimates: dict[str, Estimate] = {}
        for name in self.means:
            if mean := estimate(self.metric(name, scoring), clusters):
                estimates[name] = mean
        return estimates

    def metric(self, name: str, scoring: str, instead: Mapping[str, Metric] | None = None) -> Metric:
        """Return the mean of a metric over the members, of scores as `scores` returns them.

        Args:
            name: The metric's name.
            scoring: The mode, `strict` or `paper`.
            instead: By member, a metric that takes the place of the named one; the mean is then named like the first.
        """
        from halu_tasks.scorers.metrics import mean_of

        members = {
            task.name: next(metric for metric in task.scoring[scoring].metrics if metric.name == name)
            for task in self.tasks
        }
        names = [metric.name for metric in (instead or {}).values()]
        return mean_of(names[0] if names else name, members | dict(instead or {}), "task")

    def scores(self, by_task: Mapping[str, Sequence[Score]]) -> list[Score]:
        """Join the members' scores, each with the member's name as its tag `task`."""
        return [score.tagged({"task": name}) for name in self.members for score in by_task.get(name, ())]


def group_from(
    file: TaskFile, tasks: Mapping[str, Task], groups: Mapping[str, TaskFile], within: Sequence[str] = ()
) -> Group:
    """Make the group that a file defines.

    Args:
        file: The group's file.
        tasks: The tasks that may be members.
        groups: The files of the groups that may be members.
        within: The names of the groups that this one is a member of.

    Raises:
        UsageError: A member is unknown, a member lacks the metric of a mean, or another key is wrong; the message is
            one line with file, line and key.
    """
    name = _name(file, tasks)
    members = [
        task
        for member in _member_names(file, {*tasks, *groups}, (name, *within))
        for task in (
            group_from(groups[member], tasks, groups, (name, *within)).tasks if member in groups else (tasks[member],)
        )
    ]
    means = _means(file, members)
    about, version = _metadata(file)
    return Group(name=name, version=version, about=about, means=means, tasks=tuple(members))


def _fail(file: TaskFile, key: str, reason: object) -> NoReturn:
    raise UsageError(f"{file.place(key)}: {key}: {reason}")


def _name(file: TaskFile, tasks: Mapping[str, Task]) -> str:
    name = file.values.get("group")
    if not isinstance(name, str):
        _fail(file, "group", f"expected a name, got {name!r}")
    if name in tasks:
        _fail(file, "group", f"{name!r} is the name of a task")
    return name


def _member_names(file: TaskFile, known: set[str], within: Sequence[str]) -> list[str]:
    names = file.values.get("task")
    if not isinstance(names, list) or not names:
        _fail(file, "task", f"expected a list of tasks, got {names!r}")
    for name in names:
        if not isinstance(name, str):
            _fail(file, "task", f"expected the names of tasks, got {name!r}")
        if name in within:
            _fail(file, "task", f"the group {name!r} is a member of itself")
        if name not in known:
            _fail(file, "task", f"unknown task {name!r}{did_you_mean(name, sorted(known))}")
    return names


def _means(file: TaskFile, members: Sequence[Task]) -> tuple[str, ...]:
    key = "aggregate_metric_list"
    entries = file.values.get(key)
    if not isinstance(entries, list) or not entries:
        _fail(file, key, f"expected a list of metrics, got {entries!r}")
    return tuple(_mean(file, key, entry, members) for entry in entries)


def _mean(file: TaskFile, key: str, entry: Any, members: Sequence[Task]) -> str:
    """Return the metric of an entry, which every member must have."""
    metric = entry.get("metric") if isinstance(entry, dict) else None
    if not isinstance(metric, str) or entry.get("weight_by_size") is not False:
        _fail(file, key, f"expected 'metric: NAME' with 'weight_by_size: false', got {entry!r}")
    for task in members:
        known = [known.name for known in task.scoring["strict"].metrics]
        if metric not in known:
            _fail(file, key, f"{task.name} has no metric {metric!r}{did_you_mean(metric, known)}")
    return metric


def _metadata(file: TaskFile) -> tuple[str, int]:
    """Return the line for listings and the version."""
    metadata = file.values.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(about := metadata.get("about"), str):
        _fail(file, "metadata", "lacks 'about', one line for listings")
    try:
        return about, version_number(metadata.get("version", 1))
    except ValueError as error:
        _fail(file, "metadata", error)
