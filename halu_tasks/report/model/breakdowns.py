"""Breaking figures down by kind of item, by label, by probability, and by scoring mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from halu_tasks.report.model.leaderboard import Column
from halu_tasks.report.model.report import (
    Bin,
    BothModes,
    Breakdown,
    BreakdownRow,
    BreakdownValue,
    Calibration,
    Confusion,
)
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import ScoredReply
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.metrics import Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import BINS, brier, ece
from halu_tasks.scorers.statistics.probability import FACT

UNPARSED = "unparsed"
OTHER_MODE = {"strict": "paper", "paper": "strict"}

_VALUES = 24
"""Maximum number of values of a tag for a breakdown; more would not be readable."""
_LABELS = 12
"""Maximum number of targets, and of other answers, in a confusion matrix."""


def breakdowns(column: Column, ids: Mapping[Entry, str]) -> list[Breakdown]:
    """Break the headline down by each tag with several values, and by the length of the prompt.

    Args:
        column: The column.
        ids: The ids of entries.
    """
    items = {answered.item.id: answered.item for answered in column.first.answers}
    tags = {id: dict(item.tags) for id, item in items.items()}
    lengths = _quarters({id: len(item.prompt) for id, item in items.items()})
    for id, length_range in lengths.items():
        tags[id]["length"] = length_range
    result = []
    for name in dict.fromkeys(name for item_tags in tags.values() for name in item_tags):
        counts = Counter(item_tags[name] for item_tags in tags.values() if name in item_tags)
        if not 1 < len(counts) <= _VALUES:
            continue
        values = list(dict.fromkeys(lengths.values())) if name == "length" else sorted(counts)
        rows = []
        for entry, run in column.runs.items():
            tagged = by_cluster(score.tagged(tags[score.id]) for score in run.scores)
            figures = [estimate(column.headline.only(name, value, value), tagged) for value in values]
            rows.append(BreakdownRow(entry=ids[entry], figures=figures))
        sizes = [BreakdownValue(value=value, n=counts[value]) for value in values]
        result.append(Breakdown(by=name, metric=column.headline.name, values=sizes, cells=rows))
    return result


def _quarters(lengths: Mapping[str, int]) -> dict[str, str]:
    """Assign items to quarters by length.

    Returns:
        For each item, its quarter as `120 to 340 characters`, shortest first; empty if the lengths are too similar.
    """
    edges = np.quantile(list(lengths.values()), [0.25, 0.5, 0.75], method="higher")
    quarter = {id: int(np.searchsorted(edges, length)) for id, length in lengths.items()}
    if len(set(quarter.values())) < 4:
        return {}
    by_quarter: dict[int, list[int]] = {}
    for id, number in quarter.items():
        by_quarter.setdefault(number, []).append(lengths[id])
    names = {number: f"{min(inside):,} to {max(inside):,} characters" for number, inside in by_quarter.items()}
    return {id: names[number] for id, number in sorted(quarter.items(), key=lambda pair: pair[1])}


def confusion(entry: str, scores: Sequence[Score]) -> Confusion | None:
    """Compute the confusion matrix of labels; None if targets are not labels.

    Replies without a label are counted by their outcome.

    Args:
        entry: The entry's id.
        scores: The entry's scores.
    """
    targets = sorted({score.target for score in scores if isinstance(score.target, str)})
    if not 1 < len(targets) <= _LABELS or any(isinstance(score.target, list) for score in scores):
        return None
    cells = Counter((str(s.target), s.outcome if s.answer is None else str(s.answer)) for s in scores)
    others = sorted({answer for _, answer in cells} - {*targets, *NO_ANSWER})
    if len(others) > _LABELS:
        return None
    unanswered = [outcome for outcome in NO_ANSWER if outcome == UNPARSED or any(cells[t, outcome] for t in targets)]
    answers = [*targets, *others, *unanswered]
    counts = [[cells[target, answer] for answer in answers] for target in targets]
    return Confusion(entry=entry, targets=targets, answers=answers, counts=counts)


def calibration(entry: str, label: str, scores: Sequence[Score]) -> Calibration | None:
    """Compute the calibration of probabilities, in the bins of `scorers.calibration.ece`; None if there are none.

    Args:
        entry: The entry's id.
        label: The label whose probability was asked for.
        scores: The entry's scores.
    """
    probabilities = [
        (score.measurements[FACT], score.target == label) for score in scores if FACT in score.measurements
    ]
    clusters = by_cluster(scores)
    errors = [estimate(metric(label), clusters) for metric in (ece, brier)]
    if not probabilities or errors[0] is None or errors[1] is None:
        return None
    bins = []
    for i in range(BINS):
        inside = [(p, has_label) for p, has_label in probabilities if min(int(p * BINS), BINS - 1) == i]
        if inside:
            mean, share = (float(np.mean(values)) for values in zip(*inside, strict=True))
            bins.append(Bin(low=i / BINS, high=(i + 1) / BINS, n=len(inside), mean=mean, share=share))
    without = len(scores) - len(probabilities)
    return Calibration(entry=entry, label=label, bins=bins, without=without, ece=errors[0], brier=errors[1])


def other_scores(column: Column, answers: Sequence[ScoredReply]) -> list[Score] | None:
    """Score replies in the other mode; None for a judged task, whose verdicts are not logged."""
    if column.task.judged:
        return None
    mode = OTHER_MODE[column.first.scoring]
    return [answered.scored(column.task, mode) for answered in answers]


def both_modes(entry: str, column: Column, scores: Sequence[Score], others: Sequence[Score]) -> BothModes | None:
    """Compare scores in both modes; None if the modes have no metric in common.

    Args:
        entry: The entry's id.
        column: The column.
        scores: Scores in the column's mode.
        others: Scores of the same replies in the other mode.
    """
    mode, other_mode = column.first.scoring, OTHER_MODE[column.first.scoring]
    other_metrics = {metric.name: metric for metric in column.task.scoring[other_mode].metrics}
    candidates = [column.headline, *column.metrics]
    metric = next((m for m in candidates if m.name in other_metrics and m.name != UNPARSED), None)
    if metric is None:
        return None
    other_metric = other_metrics[metric.name]
    both = {mode: (metric, scores), other_mode: (other_metric, others)}
    return BothModes(
        entry=entry,
        metric=metric.name,
        figures={name: estimate(m, by_cluster(mode_scores)) for name, (m, mode_scores) in both.items()},
        unanswered={
            name: sum(score.outcome in NO_ANSWER for score in mode_scores) for name, (_, mode_scores) in both.items()
        },
        changed=sum(
            value_of(metric, score) != value_of(other_metric, other)
            for score, other in zip(scores, others, strict=True)
        ),
        n=len(scores),
    )


def value_of(metric: Metric, score: Score) -> float | None:
    """Return the figure of a single item; None if the metric does not define one."""
    value = metric.item(score) if metric.item else None
    return None if value is None or value != value else value
