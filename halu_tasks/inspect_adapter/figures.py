"""Inspect's metric for every task of this package: it computes all metrics of a task or group at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from inspect_ai.scorer import Metric, SampleScore, metric

from halu_tasks.inspect_adapter.records import ScoreRecord
from halu_tasks.scorers.methods import Opinions, opinion_figures, total
from halu_tasks.scorers.metrics import Estimate, estimates, mean
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import has_probability
from halu_tasks.scorers.statistics.differences import difference
from halu_tasks.tasks import Task, registry


@metric(name="figures", scores="unreduced")
def figures() -> Metric:
    """Compute all metrics of the tasks that the scores belong to, the headline first.

    Each is printed as `name`, with `name_stderr`, `name_low` and `name_high` for its clustered standard error and 95%
    interval; in a group as `member.name`, after the group's means. The headline is NaN while it is undefined.
    """
    cache = RecordCache()

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        records = [record for record in cache.records(scores) if record.task]
        if not records:
            return {}
        group = records[0].group
        values = _group_figures(group, records) if group else _task_figures(records)
        return values | (method_figures(records) if any(record.method for record in records) else {})

    return compute


class RecordCache:
    """The records of one run, each restored once: Inspect computes figures about once a second while samples run."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[object, ScoreRecord | None]] = {}

    def records(self, scores: Sequence[SampleScore]) -> list[ScoreRecord]:
        """Return the records of those scores that have one."""
        if scores and id(scores[0].score.metadata) not in self._by_id:
            self._by_id.clear()  # another run began
        return [record for score in scores if (record := self._record(score))]

    def _record(self, score: SampleScore) -> ScoreRecord | None:
        metadata = score.score.metadata
        known = self._by_id.get(id(metadata))
        if known is None:
            # the metadata is kept, so that no other object can have its id
            known = self._by_id[id(metadata)] = (metadata, ScoreRecord.of(score.score))
        return known[1]


def spread(name: str, estimate: Estimate) -> dict[str, float]:
    """Return an estimate as figures of their own: value, standard error and the ends of the interval."""
    parts = {"": estimate.value, "_stderr": estimate.stderr, "_low": estimate.low, "_high": estimate.high}
    return {name + suffix: value for suffix, value in parts.items() if value is not None}


def method_figures(records: Sequence[ScoreRecord]) -> dict[str, float]:
    """Return what a method counted, as means over the items, and what it cost in total."""
    counts = dict.fromkeys(name for record in records for name in record.counts)
    means = [replace(mean(name, name, higher_is_better=None), range=(0.0, math.inf)) for name in counts]
    values = estimates(means, (record.score for record in records))
    costs = [record.cost for record in records if record.cost]
    return {name: estimate.value for name, estimate in values.items()} | (total(costs) if costs else {})


def _task_figures(records: Sequence[ScoreRecord]) -> dict[str, float]:
    task = _task(records)
    drafted = [record for record in records if record.draft]
    values = _estimates(task, records) | (_draft_estimates(task, drafted) if drafted else {})
    return _undefined(task.headline_metric(records[0].scoring).name, [task], records, values) | _spread_all(values)


def _group_figures(name: str, records: Sequence[ScoreRecord]) -> dict[str, float]:
    by_task: dict[str, list[ScoreRecord]] = {}
    for record in records:
        assert record.task
        by_task.setdefault(record.task.task, []).append(record)
    group = registry()[1][name]
    scores = {task: [record.score for record in own] for task, own in by_task.items()}
    values = group.figures(records[0].scoring, scores)
    for task, own in by_task.items():
        values |= {f"{task}.{name}": value for name, value in _estimates(_task(own), own).items()}
    tasks = [_task(own) for own in by_task.values()]
    return _undefined(group.means[0], tasks, records, values) | _spread_all(values)


def _task(records: Sequence[ScoreRecord]) -> Task:
    """Return the task that the records are of."""
    reference = records[0].task
    assert reference
    return reference.resolve()


def _estimates(task: Task, records: Sequence[ScoreRecord]) -> dict[str, Estimate]:
    scores: list[Score] = [record.score for record in records]
    opinions: list[Opinions | None] = [record.opinions for record in records]
    metrics = task.metrics_of(records[0].scoring, scores)
    if not any(has_probability(score) for score in scores):
        # they would be undefined, and finding that out takes longer than computing all others
        metrics = tuple(metric for metric in metrics if metric.requires_option != "probability")
    return estimates(metrics, scores) | opinion_figures(scores, opinions)


def _draft_estimates(task: Task, records: Sequence[ScoreRecord]) -> dict[str, Estimate]:
    """Return every metric of the drafts, as `…_before`, and how revision changed the main ones, as `…_change`.

    These are the headline and, in judged tasks, the coverage (`JudgeSpec.coverage`).
    """
    metrics = task.scoring[records[0].scoring].metrics
    after, before = [record.score for record in records], [record.draft for record in records if record.draft]
    values = {f"{name}_before": estimate for name, estimate in estimates(metrics, before).items()}
    names = (metrics[0].name, task.judged.coverage if task.judged else None)
    for main in metrics:
        if main.name in names and (change := difference(main, after, before)):
            values[f"{main.name}_change"] = Estimate(change.value, change.stderr, change.low, change.high)
    return values


def _undefined(
    headline: str, tasks: Sequence[Task], records: Sequence[ScoreRecord], values: dict[str, Estimate]
) -> dict[str, float]:
    """Return the headline as NaN if it is undefined, so that it stays the first figure, which Inspect shows.

    A judged task without a judge has another first figure.
    """
    without_judge = any(task.judged for task in tasks) and not any(record.score.verdicts for record in records)
    return {} if without_judge or headline in values else {headline: math.nan}


def _spread_all(values: dict[str, Estimate]) -> dict[str, float]:
    return {key: value for name, estimate in values.items() for key, value in spread(name, estimate).items()}
