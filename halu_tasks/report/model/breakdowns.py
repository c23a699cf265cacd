"""Breaking figures down by kind of item, by label, by probability, and by scoring mode."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from halu_tasks.report.model.detail_records import (
    Bin,
    BothModes,
    Breakdown,
    BreakdownRow,
    BreakdownValue,
    Calibration,
    Confusion,
)
from halu_tasks.report.model.leaderboard import Column
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import ScoredReply
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.metrics import Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import BINS, brier, ece
from halu_tasks.scorers.statistics.probability import FACT

UNPARSED = "unparsed"
OTHER_MODE = {"strict": "paper", "paper": "strict"}

_DIFFICULTY = "difficulty"
_DIFFICULTIES = tuple(f"{share} of the other models right" for share in ("0–25%", "25–50%", "50–75%", "75–100%"))
"""Quarters of the share of other entries that get an item right, hardest items first, each with its upper end."""
_MODELS = 5
"""Minimum number of entries for the breakdown by difficulty."""
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
            rows.append(BreakdownRow(entry=ids[entry], figures=figures, n=None))
        sizes = [BreakdownValue(value=value, n=counts[value]) for value in values]
        result.append(Breakdown(by=name, metric=column.headline.name, values=sizes, cells=rows))
    return result


def difficulty(column: Column, ids: Mapping[Entry, str]) -> Breakdown | None:
    """Break the headline down by the share of the other entries that get an item right.

    An entry's own answers do not count for its items' difficulty. Otherwise its figure on hard items would be low
    because they are those that it gets wrong itself. The items of a quarter are therefore not the same for all entries.

    Args:
        column: The column.
        ids: The ids of entries.

    Returns:
        The breakdown; None with fewer than five entries, or if the headline has no figure of single items.
    """
    if len(column.runs) < _MODELS:
        return None
    right = {entry: _correctness_by_item(column.headline, run.scores) for entry, run in column.runs.items()}
    answers = Counter(id for by_item in right.values() for id in by_item)
    total = {id: math.fsum(by_item.get(id, 0.0) for by_item in right.values()) for id in answers}
    rows = []
    for entry, run in column.runs.items():
        by_item = right[entry]
        shares = {
            id: (total[id] - by_item.get(id, 0.0)) / others
            for id, number in answers.items()
            if (others := number - (id in by_item))
        }
        quarter = {id: _DIFFICULTIES[max(math.ceil(4 * share - 1e-9) - 1, 0)] for id, share in shares.items()}
        tagged = [score.tagged({_DIFFICULTY: quarter[score.id]}) for score in run.scores if score.id in quarter]
        clusters = by_cluster(tagged)
        counts = Counter(quarter.values())
        figures = [estimate(column.headline.only(_DIFFICULTY, value, value), clusters) for value in _DIFFICULTIES]
        rows.append(BreakdownRow(entry=ids[entry], figures=figures, n=[counts[value] for value in _DIFFICULTIES]))
    if not any(any(row.n or ()) for row in rows):
        return None
    sizes = [BreakdownValue(value=value, n=None) for value in _DIFFICULTIES]
    return Breakdown(by=_DIFFICULTY, metric=column.headline.name, values=sizes, cells=rows)


def _correctness_by_item(headline: Metric, scores: Sequence[Score]) -> dict[str, float]:
    by_item: dict[str, list[Score]] = {}
    for score in scores:
        by_item.setdefault(score.id, []).append(score)
    correctness = ((id, correctness_of(headline, of_item)) for id, of_item in by_item.items())
    return {id: value for id, value in correctness if value is not None}


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


def correctness_of(headline: Metric, scores: Sequence[Score]) -> float | None:
    """Compute how right the answers to an item are, from 0 to 1, as the mean over epochs; None if it is not defined."""
    values = [value for score in scores if (value := value_of(headline, score)) is not None]
    if not values:
        return None
    value = fmean(values)
    if headline.higher_is_better:
        return value
    # shares are inverted, so that more is better; for counts, only the order matters
    return 1 - value if headline.range[1] <= 1 else 1 / (1 + max(value, 0.0))


def value_of(metric: Metric, score: Score) -> float | None:
    """Return the figure of a single item; None if the metric does not define one."""
    value = metric.item(score) if metric.item else None
    return None if value is None or value != value else value
