"""The registry: the packaged tasks and groups, and the tasks of users' files.

A packaged task's file has the task's name, and a group's file has an underscore before it. Group files are read at
once. Task files are read when a task is listed, and their keys are checked when it is used.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any, TypeVar

from halu_tasks.core.errors import UsageError, did_you_mean, unknown
from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.scorers.attempts import penalty_of, with_penalty
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import Estimate, Metric, estimate, mean_of
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks.definition import Task
from halu_tasks.tasks.keys import GroupKeys, validated
from halu_tasks.tasks.task_defaults import with_defaults
from halu_tasks.tasks.yaml_files import Entries, TaskFile, packaged_files, read_task_file

logger = logging.getLogger(__name__)
Named = TypeVar("Named")
_UNLISTED = "cannot be listed; halu-tasks check says why"
HEADLINE = "headline"
"""The name of a group's mean of its members' headlines, which are different metrics; in lm-eval also of these."""
TAG, JUDGED_TAG = "halu_tasks", "halu_tasks_judged"
"""The tags of the packaged tasks that need no judge, and of those that do."""


class Group:
    """Tasks that are reported together.

    Args:
        file: The group's file.
        tasks: The tasks that may be members.
        groups: The files of the groups that may be members.
    """

    def __init__(self, file: TaskFile, tasks: Mapping[str, Task], groups: Mapping[str, TaskFile]) -> None:
        self.file = file
        self.name = str(file.values["group"])
        self.about = str(file.values["metadata"]["about"])
        self.version = int(file.values["metadata"].get("version") or 1)
        """A number that changes when results stop being comparable."""
        self.members = tuple(_members(file, tasks, groups, ()))
        """The names of the members; a group among them is replaced by its own members."""
        self.tasks = tuple(tasks[name] for name in self.members)
        self.means: tuple[str, ...] = tuple(entry["metric"] for entry in file.values["aggregate_metric_list"])
        """The metrics whose unweighted means over the members are reported, the members' headline first."""

    def check(self) -> None:
        """Check that the members have the metrics of the means, with the same direction and range.

        Raises:
            UsageError: One lacks a metric, or theirs differ; the message names the file and the key.
        """
        for mean, task in product(self.means, self.tasks):
            if mean not in (names := [HEADLINE, *(metric.name for metric in task.scorers["strict"].metrics)]):
                reason = f"{task.name} has no metric {mean!r}{did_you_mean(mean, names)}"
                raise self.file.fault("aggregate_metric_list", reason)
        check_alike(self.file, self.tasks)

    def figures(self, scoring: str, by_task: Mapping[str, Sequence[ScoredReply]]) -> dict[str, Estimate]:
        """Estimate the means over the members' scores.

        Clusters that extend over several members keep their correlation.

        Args:
            scoring: The mode of all scores, `strict` or `paper`.
            by_task: The scores by the member's name.

        Returns:
            The means by metric, without those that are not defined for every member.
        """
        clusters = by_cluster(self.scores(by_task))
        penalty = penalty_of(score for scores in by_task.values() for score in scores[:1])
        means = {name: estimate(self.metric(name, scoring, penalty=penalty), clusters) for name in self.means}
        return {name: mean for name, mean in means.items() if mean}

    def metric(
        self, name: str, scoring: str, instead: Mapping[str, Metric] | None = None, penalty: float = 1.0
    ) -> Metric:
        """Return the mean of a metric over the members, of scores as `scores` returns them.

        Args:
            name: The metric's name.
            scoring: The mode, `strict` or `paper`.
            instead: By member, a metric that takes the place of the named one; the mean is then named like the first.
            penalty: What a wrong answer costs in `net`, in points.
        """
        metrics_by_task = {task.name: with_penalty(task.scorers[scoring].metrics, penalty) for task in self.tasks}
        members = {
            task: next(metric for metric in metrics if name in (HEADLINE, metric.name))
            for task, metrics in metrics_by_task.items()
        }
        names = [metric.name for metric in (instead or {}).values()]
        return mean_of(names[0] if names else name, members | dict(instead or {}), "task")

    def scores(self, by_task: Mapping[str, Sequence[ScoredReply]]) -> list[ScoredReply]:
        """Join the members' scores, each with the member's name as its tag `task`."""
        return [score.tagged({"task": name}) for name in self.members for score in by_task.get(name, ())]


def check_alike(file: TaskFile, tasks: Sequence[Task]) -> None:
    """Check that the metrics of which a group reports the mean have the same direction and range in all members.

    Args:
        file: The group's file.
        tasks: The members; one without a metric is not compared.

    Raises:
        UsageError: Theirs differ; a mean of them would rank a model that is worse first.
    """
    ways = {True: "higher is better", False: "lower is better", None: "no direction"}
    entries = file.values.get("aggregate_metric_list")
    names = [entry["metric"] for entry in (entries if isinstance(entries, list) else [entries]) if entry]
    for name, mode in product(names, ("strict", "paper")):
        alike = [
            (task.name, metric)
            for task in tasks
            for metric in task.scorers[mode].metrics[: 1 if name == HEADLINE else None]
            if name in (HEADLINE, metric.name)
        ]
        if len({(metric.higher_is_better, metric.range) for _, metric in alike}) < 2:
            continue
        listed = ", ".join(
            f"{task}: {metric.name} ({ways[metric.higher_is_better]}, {metric.range[0]:g} to {metric.range[1]:g})"
            for task, metric in alike
        )
        reason = f"{name} cannot be averaged over metrics that differ in direction or range: {listed} (scoring: {mode})"
        raise file.fault("aggregate_metric_list", reason)


def check_groups_beside(task: Task, of_run: Mapping[str, Task]) -> None:
    """Check, as `check_alike` does, the groups in the folder of a task's file whose members are all in a run.

    lm-eval averages the members of such a group itself.

    Raises:
        UsageError: The members of one differ.
    """
    for path in sorted(task.file.path.parent.glob("*.yaml")):
        try:
            if not re.search(r"^group:", path.read_text(encoding="utf-8", errors="replace"), re.M):
                continue
            file = read_task_file(path)
        except (UsageError, OSError):
            continue  # lm-eval says itself what keeps it from using a file
        names = [str(name) for name in file.values.get("task") or ()]
        if task.name in names and {*names} <= of_run.keys():
            check_alike(file, [of_run[name] for name in names])


def _members(
    file: TaskFile, tasks: Mapping[str, Task], groups: Mapping[str, TaskFile], within: Sequence[str]
) -> Iterable[str]:
    """Yield the names of a group's members; `within` has the groups that it is a member of."""
    within = (*within, str(file.values["group"]))
    if within[-1] in tasks:
        raise file.fault("group", f"{within[-1]!r} is the name of a task")
    names: list[str] = file.values.get("task") or []
    for name in names:
        if name in within:
            raise file.fault("task", f"the group {name!r} is a member of itself")
        if name not in tasks and name not in groups:
            raise file.fault("task", f"unknown task {name!r}{did_you_mean(str(name), sorted({*tasks, *groups}))}")
        yield from _members(groups[name], tasks, groups, within) if name in groups else [name]


# --- packaged tasks -------------------------------------------------------------------------------


@cache
def registry() -> tuple[dict[str, Task], dict[str, Group]]:
    """Return all packaged tasks and groups by name.

    The tasks of a benchmark, which share a folder, are in the order in which its groups list them. The file of a group
    that cannot be read is named in a warning and left out.
    """
    files_read: dict[Path, tuple[Path, Entries]] = {}
    paths = {path.stem: path for path in packaged_files()}
    tasks = {name: Task(partial(read_task_file, path, files_read)) for name, path in paths.items() if name[0] != "_"}
    files, groups = dict[str, TaskFile](), dict[str, Group]()
    for path in (path for name, path in paths.items() if name not in tasks):
        try:
            files[path.stem.removeprefix("_")] = read_task_file(path, files_read)
        except UsageError as error:
            logger.warning("%s", error)
    for name, file in files.items():
        try:
            groups[name] = Group(file, tasks, files)
        except (UsageError, LookupError, TypeError) as error:
            logger.warning("%s", error if isinstance(error, UsageError) else f"{file.path}: {_UNLISTED}")
    listed = sorted((group.members for group in groups.values()), key=len, reverse=True)
    ordered = sorted(dict.fromkeys(chain(*listed, tasks)), key=lambda name: paths[name].parent)
    return {name: tasks[name] for name in ordered}, groups


def listed(task: Task) -> dict[str, Any] | None:
    """Return a row of `halu-tasks list`; None if the file lacks a key. Without listed metrics, all keys are checked."""
    try:
        values = task.file.values
        source, metrics = values["source"], values.get("metric_list")
        return {
            "task": task.name,
            "items": values.get("items") or "unknown",
            "headline": metrics[0]["metric"] if metrics else task.headline,
            "source": source["title"] if isinstance(source, dict) else SOURCES[source].title,
            "asks": task.about,
        }
    except (UsageError, LookupError, TypeError) as error:
        logger.warning("%s", error if isinstance(error, UsageError) else f"{task.file.path}: {_UNLISTED}")
        return None


def _lookup(named: Mapping[str, Named], name: str, what: str) -> Named:
    if name not in named:
        advice = "the name of a task file ends in .yaml" if Path(name).is_file() else "halu-tasks list shows all"
        raise UsageError(f"unknown {what} {name!r}{did_you_mean(name, named)}; {advice}")
    return named[name]


def packaged_file(name: str) -> TaskFile:
    """Return the file of a packaged task or group.

    Raises:
        UsageError: There is no task or group of that name.
    """
    files = {name: named.file for part in registry() for name, named in part.items()}
    return _lookup(files, name, "task")


def get_group(name: str) -> Group:
    """Return a packaged group by its name, or the group of a user's file if `name` ends in `.yaml`.

    Raises:
        UsageError: There is none, or it has a fault.
    """
    return _group_of_file(Path(name).expanduser()) if name.endswith(".yaml") else _lookup(registry()[1], name, "group")


def tasks_selected(names: Iterable[str]) -> list[Task]:
    """Return the packaged tasks that some names of tasks, groups and the package's tags stand for, each once.

    Raises:
        UsageError: A name is unknown.
    """
    tasks, groups = registry()
    by_name: Mapping[str, Sequence[Task]] = {
        **{name: [task] for name, task in tasks.items()},
        **{name: group.tasks for name, group in groups.items()},
        **dict.fromkeys((TAG, JUDGED_TAG), ()),
    }
    selected: dict[str, Task] = {}
    for name in map(str.strip, names):
        matches = _lookup(by_name, name, "task") or [task for task in tasks.values() if name in _tags(task.file)]
        selected |= {task.name: task for task in matches}
    return list(selected.values())


def sources() -> dict[str, Source]:
    """Return the sources of all packaged tasks, and those without a task, by name."""
    return SOURCES | {task.benchmark: task.data.source for task in registry()[0].values()}


def get_source(name: str) -> Source:
    """Return a source by its name.

    Raises:
        UsageError: There is none; the message lists the sources.
    """
    if (source := sources().get(name)) is None:
        raise UsageError(unknown("source", name, sources()))
    return source


def prompt_names() -> set[str]:
    """Return the names under which a user's prompt file may give prompts of the packaged tasks."""
    return {task.name + wording.suffix for task in registry()[0].values() for wording in task.prompts.wordings}


# --- tasks of users' files ------------------------------------------------------------------------


def files_at(name: str) -> list[Path]:
    """List the task file at a path that ends in `.yaml`, or the files of a folder; none if the name is packaged.

    Files of a folder whose names begin with an underscore are left out: others include them.

    Raises:
        UsageError: The folder contains no such file.
    """
    path = Path(name).expanduser()
    if name.endswith(".yaml"):
        return [path]
    if not path.is_dir() or name in {*chain(*registry()), TAG, JUDGED_TAG}:
        return []
    files = [file for file in sorted(path.glob("*.yaml")) if not file.name.startswith("_")]
    if not files:
        raise UsageError(f"{path}: contains no task files (.yaml)")
    return files


def tasks_at(names: Iterable[str]) -> dict[str, tuple[Task, Path | None]]:
    """Return the tasks that task files, folders of them, own group files and packaged names stand for, each once.

    Returns:
        The tasks by name, each with its file; None for a packaged task.

    Raises:
        UsageError: A name is unknown, a file is invalid, or two tasks have the same name.
    """
    selected: dict[str, tuple[Task, Path | None]] = {}
    for name in map(str.strip, names):
        files = files_at(name)
        matches: list[Task] = [] if files else tasks_selected([name])
        for file in files:
            matches += get_group(str(file)).tasks if is_group(file) else [task_of_file(file)]
        for task in matches:
            file = task.file.path.resolve()
            own_file = None if not files or task is registry()[0].get(task.name) else file
            if selected.setdefault(task.name, (task, own_file))[1] != own_file:
                raise UsageError(f"{name}: another of the tasks has the name {task.name}, too")
    return selected


def is_group(file: Path) -> bool:
    """Return whether a task file defines a group."""
    return "group" in read_task_file(file).values


def several_at(name: str) -> bool:
    """Whether a name stands for several tasks: a group, a tag, a folder, or the file of a group."""
    files = files_at(name)
    return is_group(files[0]) if name.endswith(".yaml") else bool(files) or name in {*registry()[1], TAG, JUDGED_TAG}


def group_at(name: str) -> Group | None:
    """Return the group that a name or a group file stands for; None for a folder or a tag."""
    return get_group(name) if name.endswith(".yaml") or name in registry()[1] else None


def _group_of_file(path: Path) -> Group:
    """Read the group of a user's file. Its members are packaged, or defined in the same folder."""
    file, (tasks, groups) = read_task_file(path), registry()
    check_tags(file, {*tasks, *groups})
    validated(GroupKeys, file, file.values)
    siblings = [read_task_file(each) for each in path.parent.glob("*.yaml")]
    group_files = {name: group.file for name, group in groups.items()}
    group_files |= {str(each.values["group"]): each for each in siblings if "group" in each.values}
    members = {name for each in group_files.values() for name in each.values.get("task") or ()}
    wanted = members - {*tasks}
    own_tasks = {name: task_of(each) for each in siblings if (name := str(each.values.get("task"))) in wanted}
    group = Group(file, tasks | own_tasks, group_files)
    group.check()
    return group


def get_task(name: str) -> Task:
    """Return a packaged task by its name, or the task of a user's file if `name` ends in `.yaml`.

    Raises:
        UsageError: The task or file does not exist, or the file is invalid.
    """
    if name.endswith(".yaml"):
        return task_of_file(Path(name).expanduser())
    tasks, groups = registry()
    if name in groups:
        raise UsageError(f"{name!r} is a group; name one of its tasks: {', '.join(groups[name].members)}")
    return _lookup(tasks, name, "task")


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
    tasks, groups = registry()
    check_tags(file, {*tasks, *groups})
    name, reference = file.values.get("task"), file.values.get("reference_task")
    packaged = tasks.get(reference) if isinstance(reference, str) else None
    if isinstance(name, str) and name != reference and (name in groups or name in tasks):
        raise file.fault("task", f"{name!r} is the name of a packaged task; give it another one")
    if packaged is None:
        if reference not in (None, name):
            close = did_you_mean(str(reference), tasks)
            reason = f"expected the packaged task that the file includes, got {reference!r}{close}"
            raise file.fault("reference_task", f"{reason}; a new task names itself")
        return Task(with_defaults(file)).check()
    derived = Task(file, packaged)
    is_own = derived.suggested_models or {*derived.differing_keys(packaged)} - {"metadata"}
    return derived.check() if is_own else packaged.check()


def check_tags(file: TaskFile, names: Collection[str]) -> None:
    """Check the key `tag`.

    Raises:
        UsageError: A tag is not a string, or is one of the `names` of tasks and groups, which it would replace in
            lm-eval.
    """
    for tag in _tags(file):
        if not isinstance(tag, str):
            raise file.fault("tag", f"expected a string or a list of strings, got {file.values['tag']!r}")
        if tag in names:
            raise file.fault("tag", f"{tag!r} is the name of a task or group, which the tag would replace")


def _tags(file: TaskFile) -> list[Any]:
    tags = file.values.get("tag") or []
    return tags if isinstance(tags, list) else [tags]
