"""Several runs of one task on the same items: their figures, what they cost, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from halu_tasks.errors import DataError, UsageError
from halu_tasks.inspect_logs import Run
from halu_tasks.published import Published, published
from halu_tasks.scorers.cost import total
from halu_tasks.scorers.metrics import Estimate, Metric, as_json, estimates
from halu_tasks.scorers.paired import Difference, difference, same_items
from halu_tasks.tasks import Task, task_named


@dataclass(frozen=True)
class Comparison:
    """Runs beside each other.

    Attributes:
        runs: the first is the one that the others are compared with.
        metrics: names of the metrics that are shown.
        figures: for each run, those that are defined.
        costs: for each run, or None where none was recorded.
        settings: for each run, what tells it apart from the others beside its method and models.
        differences: for each run after the first, its figures minus the first one's, where both are defined.
        published: what papers print for the same task and metrics.
    """

    runs: Sequence[Run]
    metrics: Sequence[str]
    figures: Sequence[dict[str, Estimate]]
    costs: Sequence[dict[str, float] | None]
    settings: Sequence[Sequence[str]]
    differences: Sequence[dict[str, Difference]]
    published: Sequence[Published]

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON values. Runs are named by their number, from 1."""
        first = self.runs[0]
        return {
            "task": first.task,
            "scoring": first.scoring,
            "data": first.provenance["data"],
            "n": len(first.scores),
            "runs": [
                {
                    "run": number,
                    "log": run.log,
                    "method": run.method,
                    "steps": [step._asdict() for step in run.steps],
                    "model": run.model,
                    "roles": run.roles,
                    "settings": run.settings,
                    "version": run.version,
                    "n": len(run.scores),
                    **as_json(figures),
                    "cost": cost,
                }
                for number, (run, figures, cost) in enumerate(zip(self.runs, self.figures, self.costs, strict=True), 1)
            ],
            "differences": [
                {
                    "run": number,
                    "minus": 1,
                    **as_json({name: Estimate(*found[:4]) for name, found in own.items()}),
                    "items": {name: found.items for name, found in own.items()},
                }
                for number, own in enumerate(self.differences, 2)
            ],
            "published": [asdict(figure) for figure in self.published],
        }


def compare(runs: Sequence[Run], metrics: Sequence[str] = ()) -> Comparison:
    """The runs beside each other, by `metrics`, the task's headline where none is named.

    Raises:
        DataError: two runs do not compare.
        UsageError: the task has no such metric.
    """
    first, *others = runs
    for other in others:
        if why := not_comparable(first, other):
            raise DataError(f"{other.log} does not compare with {first.log}: {why}")
    asked = list(dict.fromkeys(run.task for run in runs))
    chosen = chosen_metrics(task_named(first.task), first.scoring, metrics)
    for task in asked[1:]:
        # the headline of the first, too, has to be a figure of the others
        chosen_metrics(task_named(task), first.scoring, [metric.name for metric in chosen])
    names = [metric.name for metric in chosen]
    found = [{metric.name: difference(metric, other.scores, first.scores) for metric in chosen} for other in others]
    return Comparison(
        runs=runs,
        metrics=names,
        figures=[estimates(chosen, run.scores) for run in runs],
        costs=[total(run.costs) if run.costs else None for run in runs],
        settings=_settings(runs),
        differences=[{name: value for name, value in own.items() if value} for own in found],
        published=[figure for task in asked for figure in published_beside(task, names)],
    )


def chosen_metrics(task: Task, scoring: str, names: Sequence[str]) -> list[Metric]:
    """The metrics of that name, the headline where none is named. Raises UsageError for one that the task has not."""
    known = {metric.name: metric for metric in task.scoring[scoring].metrics}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"{task.name} has no metric {unknown[0]!r} in {scoring}; metrics: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names or [task.headline])]


def not_comparable(first: Run, other: Run) -> str:
    """Why two runs do not compare, and what to do; empty where they do."""
    benchmarks = [task_named(run.task).benchmark for run in (first, other)]
    if benchmarks[0] != benchmarks[1]:
        return f"it is of the task {other.task}, whose items are not those of {first.task}"
    if other.task == first.task and other.task_version != first.task_version:
        return f"it is of the task's version {other.task_version}, not {first.task_version}"
    if other.scoring != first.scoring:
        scorer = f"--scorer halu_tasks/halu_score -S scoring={first.scoring}"
        how = f"inspect score {other.log} {scorer} --overwrite --action overwrite"
        return f"it is scored as {other.scoring}, not {first.scoring}; score it again: {how}"
    if other.provenance["data_sha256"] != first.provenance["data_sha256"]:
        return f"it is of other data, {_data(other)}, not {_data(first)}"
    if other.epochs != first.epochs:
        return f"it answers each item {other.epochs} times, not {first.epochs}; run both with the same --epochs"
    if wrong := same_items(first.scores, other.scores):
        told = f"{len(other.scores)} items, not {len(first.scores)}; {wrong}"
        return f"{told}; run both with the same --limit and options"
    targets = {score.id: score.target for score in first.scores}
    if turned := [score for score in other.scores if score.target != targets[score.id]]:
        return (
            f"{len(turned)} items, such as {turned[0].id}, are asked in another way, so that the right answer is "
            f"{turned[0].target!r}, not {targets[turned[0].id]!r}; run both with the same seed and options"
        )
    return ""


def _data(run: Run) -> str:
    return f"{run.provenance['data_file']} ({run.provenance['data']}, sha256 {run.provenance['data_sha256'][:12]}…)"


def _settings(runs: Sequence[Run]) -> list[list[str]]:
    """For each run, its marks and settings that some other run has not."""
    tasks = {run.task for run in runs}
    told = [
        [
            *([run.task] if len(tasks) > 1 else []),
            *run.marks,
            *(f"{name}={value}" for name, value in run.settings.items() if value not in ([], {})),
        ]
        for run in runs
    ]
    return [[text for text in own if not all(text in others for others in told)] for own in told]


def published_beside(task: str, metrics: Sequence[str]) -> list[Published]:
    """What papers print; for a figure at a tuned threshold, where they print none under its name, that of the name
    without `_tuned`."""
    figures = published(task)
    printed = {figure.metric for figure in figures}
    wanted = [name if name in printed else name.removesuffix("_tuned") for name in metrics]
    return [figure for name in dict.fromkeys(wanted) for figure in figures if figure.metric == name]
