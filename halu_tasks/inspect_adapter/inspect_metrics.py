"""What this package's scorers log beside a score, and Inspect's metrics of it: all of a task or group at once."""

from __future__ import annotations

import logging
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from inspect_ai.log import transcript
from inspect_ai.scorer import Metric, SampleScore, metric

from halu_tasks.core.credentials import printable
from halu_tasks.replies.scoring import logger
from halu_tasks.replies.warnings import HowAsked, revision_warnings, run_warnings
from halu_tasks.scorers.answer import ABSTAINED, EMPTY, REQUEST_FAILED, UNPARSED, Outcome
from halu_tasks.scorers.classification import FIGURES, label_metric
from halu_tasks.scorers.columns import PROBABILITY
from halu_tasks.scorers.cost import total_cost
from halu_tasks.scorers.metrics import Estimate, estimates, mean, share_of
from halu_tasks.scorers.opinions import opinion_figures
from halu_tasks.scorers.reading.questions import YES
from halu_tasks.scorers.score import ITEM_FIELDS, ScoredReply
from halu_tasks.scorers.statistics.calibration import has_probability, probability_metrics
from halu_tasks.scorers.statistics.differences import difference
from halu_tasks.solvers.model_calls import SampleMetadata
from halu_tasks.tasks import RECORD, Task, registry

ACC = "acc"
"""Key of an item's `acc` in a score's metadata, and the name of the metric."""

_OF_TEXTS = (
    mean("hallucinated", "hallucinated", higher_is_better=None),
    mean("mean_probability", PROBABILITY, higher_is_better=None),
    share_of(UNPARSED),
    share_of(ABSTAINED),
    share_of(REQUEST_FAILED),
)
_OF_LABELLED_TEXTS = (
    mean("acc", "correct"),
    *(label_metric(figure, YES, figure) for figure in FIGURES),
    *probability_metrics(YES),
)


class LoggedReply(NamedTuple):
    """A scored reply of a log, with what the sample says of it.

    Attributes:
        reply: The scored reply.
        sample: The metadata of the sample; None for a text of a user's own.
    """

    reply: ScoredReply
    sample: SampleMetadata | None

    @classmethod
    def from_log(
        cls,
        metadata: Mapping[str, Any] | None,
        sample_id: int | str | None,
        sample_metadata: Mapping[str, Any] | None,
    ) -> LoggedReply | None:
        """Restore a scored reply; None if another package's scorer made it.

        Args:
            metadata: The metadata of the score.
            sample_id: The id of the sample.
            sample_metadata: The metadata of the sample.
        """
        if not isinstance(record := (metadata or {}).get(RECORD), dict):
            return None
        sample = SampleMetadata.in_metadata(sample_metadata or {})
        id = sample.item_id(sample_id) if sample else str(sample_id)
        item = {"id": id, "cluster": sample.cluster if sample else id, "tags": sample.tags if sample else {}}
        if "score" in record:  # a log that was written before scored replies had one form
            blank = {"blank": record.get("outcome") == EMPTY}
            record = {**record, **record["score"], **blank}
        return cls(ScoredReply.from_json(record, item), sample)

    @property
    def benchmark_task(self) -> Task:
        """The task, of a reply to one."""
        assert self.sample
        return self.sample.benchmark_task

    @property
    def how(self) -> HowAsked | None:
        """How the reply was asked for; None for a text of a user's own."""
        sample = self.sample
        return HowAsked("inspect", True, sample.structured, sample.fewshot) if sample else None


def as_metadata(reply: ScoredReply, acc: float | None = None) -> dict[str, Any]:
    """Return the metadata of a score: the scored reply without what the sample says, and `acc`, for other tools."""
    record = {name: value for name, value in reply.as_json().items() if name not in ITEM_FIELDS}
    return {RECORD: record} if acc is None else {ACC: acc, RECORD: record}


@metric(name="figures", scores="unreduced")
def figures() -> Metric:
    """Compute all metrics of the tasks that the scores belong to, the headline first, and log warnings of them.

    Each is printed as `name`, with `name_stderr`, `name_low` and `name_high` for its clustered standard error and 95%
    interval; in a group as `member.name`, after the group's means. The headline is NaN while it is undefined, and the
    only figure while samples run. Of users' own texts, the metrics over all are `hallucinated` (the share called
    hallucinated), `mean_probability`, `unparsed` and `abstained`; accuracy and other classification metrics are over
    those with a label. The counts and costs of a method follow.
    """
    # the replies of the last call, each with the metadata that it was restored from
    restored: list[tuple[Mapping[str, Any] | None, LoggedReply | None]] = []

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        del restored[len(scores) :]
        for place, score in enumerate(scores):
            metadata = score.score.metadata
            # while samples run, the scores of the last call come first again
            if place == len(restored) or restored[place][0] is not metadata:
                reply = LoggedReply.from_log(metadata, score.sample_id, score.sample_metadata)
                restored[place:] = [(metadata, reply)]
        records = [record for _, record in restored if record]
        if not records:
            return {}
        if records[0].sample is None:
            return _text_figures(records) | _method_figures(records)
        if _is_during_samples():
            return _headline(records)
        for task, of_task in _by_task(records).items():
            for warning in _warnings(task, of_task):
                warn(warning)
        group = records[0].sample.group
        values = _group_figures(group, records) if group else _task_figures(records)
        return values | (_method_figures(records) if any(record.reply.method for record in records) else {})

    return compute


def _is_during_samples() -> bool:
    """Whether Inspect asks, about once a second, for figures to show while samples run.

    It does so in the context of a sample that has just ended.
    """
    return any(event.event == "sample_init" for event in transcript().events)


def spread(name: str, estimate: Estimate) -> dict[str, float]:
    """Return an estimate as figures of their own: value, standard error and the ends of the interval."""
    parts = {"": estimate.value, "_stderr": estimate.stderr, "_low": estimate.low, "_high": estimate.high}
    return {name + suffix: value for suffix, value in parts.items() if value is not None}


def spread_all(values: Mapping[str, Estimate]) -> dict[str, float]:
    """Return estimates by name as figures of their own."""
    return {key: value for name, estimate in values.items() for key, value in spread(name, estimate).items()}


def _by_task(records: Sequence[LoggedReply]) -> dict[Task, list[LoggedReply]]:
    by_task: dict[Task, list[LoggedReply]] = {}
    for record in records:
        by_task.setdefault(record.benchmark_task, []).append(record)
    return by_task


def stops_of(records: Iterable[LoggedReply]) -> Counter[tuple[Outcome, str]]:
    """Return why replies ended, by their outcome."""
    return Counter((record.reply.reply_outcome, record.reply.stop) for record in records if record.reply.stop)


def warn(warning: str) -> None:
    """Print a warning on one line; Inspect's handler would show it in a column of some 35 characters."""
    if logger.isEnabledFor(logging.WARNING):
        print(f"halu-tasks: {printable(warning)}", file=sys.stderr, flush=True)


def _warnings(task: Task, records: Sequence[LoggedReply]) -> list[str]:
    scores, outcomes = [record.reply for record in records], Counter(record.reply.reply_outcome for record in records)
    warnings = run_warnings(task, outcomes, scores, records[0].how, stops=stops_of(records))
    drafts = [(record.reply.draft, record.reply) for record in records if record.reply.draft]
    mode = records[0].reply.scoring
    return warnings + (revision_warnings(task, mode, *map(list, zip(*drafts, strict=True))) if drafts else [])


def _text_figures(records: Sequence[LoggedReply]) -> dict[str, float]:
    scores = [record.reply for record in records]
    labelled = [score for score in scores if score.target]
    values = estimates(_OF_TEXTS, scores) | estimates(_OF_LABELLED_TEXTS, labelled)
    values |= opinion_figures(labelled, [record.reply.opinions for record in records if record.reply.target])
    return {**spread_all(values), "labelled": float(len(labelled))}


def _method_figures(records: Sequence[LoggedReply]) -> dict[str, float]:
    """Return what a method counted, as means over the items, and what it cost in total."""
    counts = dict.fromkeys(name for record in records for name in record.reply.counts)
    means = [replace(mean(name, name, higher_is_better=None), range=(0.0, math.inf)) for name in counts]
    values = estimates(means, (record.reply for record in records))
    costs = [record.reply.cost for record in records if record.reply.cost]
    return {name: estimate.value for name, estimate in values.items()} | (total_cost(costs) if costs else {})


def _headline(records: Sequence[LoggedReply]) -> dict[str, float]:
    """Return the first figure alone, or none if it needs a judge and there is none."""
    scoring, scores = records[0].reply.scoring, [record.reply for record in records]
    if records[0].sample and (group := records[0].sample.group):
        by_task = {task.name: [record.reply for record in of_task] for task, of_task in _by_task(records).items()}
        return spread_all(registry()[1][group].figures(scoring, by_task))
    return spread_all(estimates([records[0].benchmark_task.headline_metric(scoring)], scores))


def _task_figures(records: Sequence[LoggedReply]) -> dict[str, float]:
    task = records[0].benchmark_task
    drafted = [record for record in records if record.reply.draft]
    values = _estimates(task, records) | (_draft_estimates(task, drafted) if drafted else {})
    return _undefined(task.headline_metric(records[0].reply.scoring).name, [task], records, values) | spread_all(values)


def _group_figures(group_name: str, records: Sequence[LoggedReply]) -> dict[str, float]:
    group, members = registry()[1][group_name], _by_task(records)
    scores = {task.name: [record.reply for record in of_task] for task, of_task in members.items()}
    values = group.figures(records[0].reply.scoring, scores)
    for task, of_task in members.items():
        values |= {f"{task.name}.{name}": value for name, value in _estimates(task, of_task).items()}
    return _undefined(group.means[0], [*members], records, values) | spread_all(values)


def _estimates(task: Task, records: Sequence[LoggedReply]) -> dict[str, Estimate]:
    scores = [record.reply for record in records]
    metrics = task.metrics_of(records[0].reply.scoring, scores)
    if not any(has_probability(score) for score in scores):
        # they would be undefined, and finding that out takes longer than computing all others
        metrics = tuple(metric for metric in metrics if metric.requires_option != "probability")
    return estimates(metrics, scores) | opinion_figures(scores, [record.reply.opinions for record in records])


def _draft_estimates(task: Task, records: Sequence[LoggedReply]) -> dict[str, Estimate]:
    """Return every metric of the drafts, as `…_before`, and how revision changed the main ones, as `…_change`.

    These are the headline and, in judged tasks, the coverage (`JudgeSpec.coverage`).
    """
    after = [record.reply for record in records]
    metrics = task.metrics_of(after[0].scoring, after)
    before = [reply.draft for reply in after if reply.draft]
    values = {f"{name}_before": estimate for name, estimate in estimates(metrics, before).items()}
    names = (metrics[0].name, task.judge_spec.coverage if task.judge_spec else None)
    for main in metrics:
        if main.name in names and (change := difference(main, after, before)):
            values[f"{main.name}_change"] = Estimate(change.value, change.stderr, change.low, change.high)
    return values


def _undefined(
    headline: str, tasks: Sequence[Task], records: Sequence[LoggedReply], values: dict[str, Estimate]
) -> dict[str, float]:
    """Return the headline as NaN if it is undefined, so that it stays the first figure, which Inspect shows.

    A judged task without a judge has another first figure.
    """
    without_judge = any(task.judge_spec for task in tasks) and not any(record.reply.verdicts for record in records)
    return {} if without_judge or headline in values else {headline: math.nan}
