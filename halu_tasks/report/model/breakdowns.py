"""Breaking figures down by kind of item, by label, by probability, and by scoring mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.report.model.leaderboard import Column
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import ScoredReply
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.metrics import Estimate, Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import BINS, brier, ece
from halu_tasks.scorers.statistics.probability import FACT

UNPARSED = "unparsed"
OTHER_MODE = {"strict": "paper", "paper": "strict"}

_VALUES = 24
"""Maximum number of values of a tag for a breakdown; more would not be readable."""
_LABELS = 12
"""Maximum number of targets, and of other answers, in a confusion matrix."""


class Breakdown(NamedTuple):
    """The headline metric by a tag of the items.

    Attributes:
        by: The tag's name.
        values: The tag's values, each with its number of items.
        figures: For each entry, the figures in the order of `values`.
    """

    by: str
    values: list[tuple[str, int]]
    figures: dict[Entry, list[Estimate | None]]


def breakdowns(column: Column) -> list[Breakdown]:
    """Break the headline down by each tag with several values, and by the length of the prompt."""
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
        figures = {}
        for entry, run in column.runs.items():
            tagged = by_cluster(score.tagged(tags[score.id]) for score in run.scores)
            figures[entry] = [estimate(column.headline.only(name, value, value), tagged) for value in values]
        result.append(Breakdown(name, [(value, counts[value]) for value in values], figures))
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


class Confusion(NamedTuple):
    """A confusion matrix: how often items with each target got each answer, of shape (targets, answers)."""

    targets: list[str]
    answers: list[str]
    counts: list[list[int]]


def confusion(scores: Sequence[Score]) -> Confusion | None:
    """Compute the confusion matrix of labels; None if targets are not labels.

    Replies without a label are counted by their outcome.
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
    return Confusion(targets, answers, [[cells[target, answer] for answer in answers] for target in targets])


class Bin(NamedTuple):
    """Items with a probability in [low, high): their number, mean probability, and share with the label."""

    low: float
    high: float
    n: int
    mean: float
    share: float


class Calibration(NamedTuple):
    """The calibration of a label's probabilities; `without` is the number of items without one."""

    label: str
    bins: list[Bin]
    without: int
    ece: Estimate
    brier: Estimate


def calibration(label: str, scores: Sequence[Score]) -> Calibration | None:
    """Compute the calibration of probabilities, in the bins of `scorers.calibration.ece`; None if there are none."""
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
            bins.append(Bin(i / BINS, (i + 1) / BINS, len(inside), mean, share))
    return Calibration(label, bins, len(scores) - len(probabilities), errors[0], errors[1])


class Modes(NamedTuple):
    """The same replies scored in both modes.

    Attributes:
        metric: A metric that both modes have.
        figures: Its figure in each mode.
        unanswered: The number of replies without an answer in each mode.
        changed: The number of replies with different figures in the two modes.
    """

    metric: str
    figures: dict[str, Estimate | None]
    unanswered: dict[str, int]
    changed: int


def other_scores(column: Column, answers: Sequence[ScoredReply]) -> list[Score] | None:
    """Score replies in the other mode; None for a judged task, whose verdicts are not logged."""
    if column.task.judged:
        return None
    mode = OTHER_MODE[column.first.scoring]
    return [answered.scored(column.task, mode) for answered in answers]


def modes(column: Column, scores: Sequence[Score], others: Sequence[Score]) -> Modes | None:
    """Compare scores in both modes; None if the modes have no metric in common.

    Args:
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
    return Modes(
        metric.name,
        {name: estimate(m, by_cluster(mode_scores)) for name, (m, mode_scores) in both.items()},
        {name: sum(score.outcome in NO_ANSWER for score in mode_scores) for name, (_, mode_scores) in both.items()},
        sum(
            value_of(metric, score) != value_of(other_metric, other)
            for score, other in zip(scores, others, strict=True)
        ),
    )


def value_of(metric: Metric, score: Score) -> float | None:
    """Return the figure of a single item; None if the metric does not define one."""
    value = metric.item(score) if metric.item else None
    return None if value is None or value != value else value


def plain(estimate: Estimate | None) -> dict[str, Any] | None:
    """Convert an estimate to JSON values."""
    return estimate._asdict() if estimate else None
