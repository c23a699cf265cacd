"""What this package's scorers log beside a score, and Inspect's metrics of it: all of a task or group at once."""

from __future__ import annotations

import logging
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspect_ai.log import transcript
from inspect_ai.scorer import Metric, SampleScore, metric

from halu_tasks.core.credentials import printable
from halu_tasks.replies.scoring import HowAsked, logger, revision_warnings, run_warnings
from halu_tasks.scorers.answer import ABSTAINED, REQUEST_FAILED, Outcome
from halu_tasks.scorers.classification import FIGURES, label_metric
from halu_tasks.scorers.methods import Cost, Opinions, opinion_figures, total
from halu_tasks.scorers.metrics import Estimate, estimates, mean, share_of, share_unparsed
from halu_tasks.scorers.reading.questions import YES
from halu_tasks.scorers.reference import ReferenceLabels
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import FACT, has_probability, probability_metrics
from halu_tasks.scorers.statistics.differences import difference
from halu_tasks.solvers.asking import SampleMetadata
from halu_tasks.tasks import Task, TaskReference, registry

RECORD = "halu_tasks"
"""Key of the record in a score's metadata, and of the provenances in a log's."""

ACC = "acc"
"""Key of an item's `acc` in a score's metadata, and the name of the metric."""

labels_of_tasks: dict[str, ReferenceLabels] = {}
"""The better labels by which replies to a task were last scored, for warnings."""

_OF_TEXTS = (
    mean("hallucinated", "hallucinated", higher_is_better=None),
    mean("mean_probability", FACT, higher_is_better=None),
    share_unparsed(),
    share_of(ABSTAINED),
    share_of(REQUEST_FAILED),
)
_OF_LABELLED_TEXTS = (
    mean("acc", "correct"),
    *(label_metric(figure, YES, figure) for figure in FIGURES),
    *probability_metrics(YES),
)

# the fields of a score's record that are logged as they are
_PLAIN = ("cost", "judging", "scoring", "outcome", "method", "counts", "opinions", "stop")
# what a score has from its sample, where it is logged
_OF_SAMPLE = ("id", "cluster", "tags")


@dataclass(frozen=True, kw_only=True)
class ScoreRecord:
    """A score with all that metrics need, as it is logged but for what is in the sample's metadata.

    Attributes:
        score: The score of the reply.
        acc: The value of the metric `acc` for the item, for tools that read only this; None if it is undefined.
        cost: What the reply cost; None if no model was called.
        judging: What the judge, or the model that read the reply, cost; None if none was asked.
        task: The task; None for a text of a user's own.
        scoring: The mode, `strict` or `paper`.
        outcome: The outcome of the reply; None if it is its score's.
        method: The method that answered; None if the model was asked once.
        counts: The names of the measurements that the method counted.
        draft: The score of the method's first version of the reply, if it has one.
        opinions: The labels that the method weighed, by role.
        group: The group that the sample was run in.
        stop: Why the reply ended, as Inspect says it; None in older logs.
        how: How the reply was asked for; None for a text of a user's own.
    """

    score: Score
    acc: float | None = None
    cost: Cost | None = None
    judging: Cost | None = None
    task: TaskReference | None = None
    scoring: str = "strict"
    outcome: Outcome | None = None
    method: str | None = None
    counts: Sequence[str] = ()
    draft: Score | None = None
    opinions: Opinions | None = None
    group: str | None = None
    stop: str | None = None
    how: HowAsked | None = None

    @classmethod
    def from_log(
        cls, metadata: Mapping[str, Any] | None, sample_id: int | str | None, of_sample: Mapping[str, Any] | None
    ) -> ScoreRecord | None:
        """Restore a record; None if another package's scorer made it.

        Args:
            metadata: The metadata of the score.
            sample_id: The id of the sample.
            of_sample: The metadata of the sample.
        """
        metadata = metadata or {}
        if not isinstance(record := metadata.get(RECORD), dict):
            return None
        own = SampleMetadata.in_metadata(of_sample or {})
        id = own.item_id(sample_id) if own else str(sample_id)
        item = {"id": id, "cluster": own.cluster if own else id, "tags": own.tags if own else {}}
        return cls(
            score=Score.from_json(item | record["score"]),
            acc=metadata.get(ACC),
            task=own.reference if own else None,
            draft=Score.from_json(item | record["draft"]) if "draft" in record else None,
            group=own.group if own else None,
            how=HowAsked("inspect", True, own.structured, own.fewshot) if own else None,
            **{name: record[name] for name in _PLAIN if name in record},
        )

    def as_metadata(self) -> dict[str, Any]:
        """Convert to the metadata of a score; entries without a value are left out."""
        record: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        record |= {"score": _logged(self.score), "counts": list(self.counts) or None}
        record["draft"] = self.draft and _logged(self.draft)
        known = {key: value for key, value in record.items() if value is not None}
        return {RECORD: known} if self.acc is None else {ACC: self.acc, RECORD: known}

    @property
    def benchmark_task(self) -> Task:
        """The task, of a record that has one."""
        assert self.task
        return self.task.resolve()


def _logged(score: Score) -> dict[str, Any]:
    record = {key: value for key, value in score.as_json().items() if key not in _OF_SAMPLE}
    return record if score.reason else {key: value for key, value in record.items() if key != "reason"}


@metric(name="figures", scores="unreduced")
def figures() -> Metric:
    """Compute all metrics of the tasks that the scores belong to, the headline first, and log warnings of them.

    Each is printed as `name`, with `name_stderr`, `name_low` and `name_high` for its clustered standard error and 95%
    interval; in a group as `member.name`, after the group's means. The headline is NaN while it is undefined, and the
    only figure while samples run. Of users' own texts, the metrics over all are `hallucinated` (the share called
    hallucinated), `mean_probability`, `unparsed` and `abstained`; accuracy and other classification metrics are over
    those with a label. The counts and costs of a method follow.
    """
    restored: dict[int, tuple[object, ScoreRecord | None]] = {}

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        nonlocal restored
        # Inspect computes figures about once a second while samples run, so each record is restored once; the metadata
        # is kept, so that no other object can have its id
        restored = {
            id(metadata): restored.get(id(metadata))
            or (metadata, ScoreRecord.from_log(metadata, score.sample_id, score.sample_metadata))
            for score in scores
            for metadata in (score.score.metadata,)
        }
        records = [record for score in scores if (record := restored[id(score.score.metadata)][1])]
        if not records:
            return {}
        if records[0].task is None:
            return _text_figures(records) | _method_figures(records)
        if any(event.event == "sample_init" for event in transcript().events):
            # in the context of a sample that has just ended, Inspect only shows the figures, about once a second
            return _headline(records)
        for task, own in _by_task(records).items():
            for warning in _warnings(task, own):
                warn(warning)
        values = _group_figures(records[0].group, records) if records[0].group else _task_figures(records)
        return values | (_method_figures(records) if any(record.method for record in records) else {})

    return compute


def spread(name: str, estimate: Estimate) -> dict[str, float]:
    """Return an estimate as figures of their own: value, standard error and the ends of the interval."""
    parts = {"": estimate.value, "_stderr": estimate.stderr, "_low": estimate.low, "_high": estimate.high}
    return {name + suffix: value for suffix, value in parts.items() if value is not None}


def spread_all(values: Mapping[str, Estimate]) -> dict[str, float]:
    """Return estimates by name as figures of their own."""
    return {key: value for name, estimate in values.items() for key, value in spread(name, estimate).items()}


def _by_task(records: Sequence[ScoreRecord]) -> dict[Task, list[ScoreRecord]]:
    by_task: dict[Task, list[ScoreRecord]] = {}
    for record in records:
        by_task.setdefault(record.benchmark_task, []).append(record)
    return by_task


def stops_of(records: Iterable[ScoreRecord]) -> Counter[tuple[Outcome, str]]:
    """Return why replies ended, by their outcome."""
    return Counter((record.outcome or record.score.outcome, record.stop) for record in records if record.stop)


def warn(warning: str) -> None:
    """Print a warning on one line; Inspect's handler would show it in a column of some 35 characters."""
    if logger.isEnabledFor(logging.WARNING):
        print(f"halu-tasks: {printable(warning)}", file=sys.stderr, flush=True)


def _warnings(task: Task, records: Sequence[ScoreRecord]) -> list[str]:
    """Return the warnings of replies, of revisions and of judges of one task in a run."""
    scores, outcomes = [record.score for record in records], Counter(r.outcome or r.score.outcome for r in records)
    labels, how, stops = labels_of_tasks.get(task.name), records[0].how, stops_of(records)
    warnings = run_warnings(task, outcomes, scores, labels, how, stops=stops)
    drafts = [(record.draft, record.score) for record in records if record.draft]
    mode = records[0].scoring
    return warnings + (revision_warnings(task, mode, *map(list, zip(*drafts, strict=True))) if drafts else [])


def _text_figures(records: Sequence[ScoreRecord]) -> dict[str, float]:
    scores = [record.score for record in records]
    labelled = [score for score in scores if score.target]
    values = estimates(_OF_TEXTS, scores) | estimates(_OF_LABELLED_TEXTS, labelled)
    values |= opinion_figures(labelled, [record.opinions for record in records if record.score.target])
    return {**spread_all(values), "labelled": float(len(labelled))}


def _method_figures(records: Sequence[ScoreRecord]) -> dict[str, float]:
    """Return what a method counted, as means over the items, and what it cost in total."""
    counts = dict.fromkeys(name for record in records for name in record.counts)
    means = [replace(mean(name, name, higher_is_better=None), range=(0.0, math.inf)) for name in counts]
    values = estimates(means, (record.score for record in records))
    costs = [record.cost for record in records if record.cost]
    return {name: estimate.value for name, estimate in values.items()} | (total(costs) if costs else {})


def _headline(records: Sequence[ScoreRecord]) -> dict[str, float]:
    """Return the first figure alone, which takes a small part of the time."""
    scoring, scores = records[0].scoring, [record.score for record in records]
    if records[0].group:
        by_task = {task.name: [record.score for record in own] for task, own in _by_task(records).items()}
        return spread_all(registry()[1][records[0].group].figures(scoring, by_task))
    metrics = records[0].benchmark_task.metrics_of(scoring, scores)
    return next((spread_all(found) for metric in metrics if (found := estimates([metric], scores))), {})


def _task_figures(records: Sequence[ScoreRecord]) -> dict[str, float]:
    task = records[0].benchmark_task
    drafted = [record for record in records if record.draft]
    values = _estimates(task, records) | (_draft_estimates(task, drafted) if drafted else {})
    return _undefined(task.headline_metric(records[0].scoring).name, [task], records, values) | spread_all(values)


def _group_figures(group_name: str, records: Sequence[ScoreRecord]) -> dict[str, float]:
    group, members = registry()[1][group_name], _by_task(records)
    scores = {task.name: [record.score for record in own] for task, own in members.items()}
    values = group.figures(records[0].scoring, scores)
    for task, own in members.items():
        values |= {f"{task.name}.{name}": value for name, value in _estimates(task, own).items()}
    return _undefined(group.means[0], [*members], records, values) | spread_all(values)


def _estimates(task: Task, records: Sequence[ScoreRecord]) -> dict[str, Estimate]:
    scores = [record.score for record in records]
    metrics = task.metrics_of(records[0].scoring, scores)
    if not any(has_probability(score) for score in scores):
        # they would be undefined, and finding that out takes longer than computing all others
        metrics = tuple(metric for metric in metrics if metric.requires_option != "probability")
    return estimates(metrics, scores) | opinion_figures(scores, [record.opinions for record in records])


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
