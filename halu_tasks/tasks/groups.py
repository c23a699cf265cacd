"""Groups of tasks: what a group file declares, and the means over a group's members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.scorers.score import Score
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
    from halu_tasks.tasks.schema import GroupKeys, validated

    keys = validated(GroupKeys, file, file.values)
    if keys.group in tasks:
        raise UsageError(f"{file.place('group')}: group: {keys.group!r} is the name of a task")
    within = (keys.group, *within)
    members: list[Task] = []
    for name in keys.task:
        if name in within:
            raise UsageError(f"{file.place('task')}: task: the group {name!r} is a member of itself")
        if name not in tasks and name not in groups:
            close = did_you_mean(name, sorted({*tasks, *groups}))
            raise UsageError(f"{file.place('task')}: task: unknown task {name!r}{close}")
        members += group_from(groups[name], tasks, groups, within).tasks if name in groups else [tasks[name]]
    means = tuple(entry.metric for entry in keys.aggregate_metric_list)
    for mean, task in product(means, members):
        if mean not in (known := [metric.name for metric in task.scoring["strict"].metrics]):
            close = did_you_mean(mean, known)
            place = file.place("aggregate_metric_list")
            raise UsageError(f"{place}: aggregate_metric_list: {task.name} has no metric {mean!r}{close}")
    about, version = keys.metadata.about, keys.metadata.version
    return Group(name=keys.group, version=int(version), about=about, means=means, tasks=tuple(members))
