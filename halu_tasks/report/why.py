"""Why figures are what they are: by kind of item, by label, by probability, and by how replies were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.entries import Entry
from halu_tasks.report.board import Column
from halu_tasks.runs import Answered
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.calibration import BINS, brier, ece
from halu_tasks.scorers.metrics import Estimate, Metric, by_cluster, estimate
from halu_tasks.scorers.probability import FACT
from halu_tasks.scorers.score import Score

UNPARSED = "unparsed"
OTHER_MODE = {"strict": "paper", "paper": "strict"}

_VALUES = 24
"""A tag with more values splits nothing that a reader could look over."""
_LABELS = 12


class Breakdown(NamedTuple):
    """The headline by a tag of the items: its values with how many items have each, and for each entry the figures
    in that order."""

    by: str
    values: list[tuple[str, int]]
    figures: dict[Entry, list[Estimate | None]]


def breakdowns(column: Column) -> list[Breakdown]:
    """The headline by each tag that splits the items, and by the length of what was asked."""
    items = {answered.item.id: answered.item for answered in column.first.answers}
    tags = {id: dict(item.tags) for id, item in items.items()}
    lengths = _quarters({id: len(item.prompt) for id, item in items.items()})
    for id, told in lengths.items():
        tags[id]["length"] = told
    found = []
    for name in dict.fromkeys(name for own in tags.values() for name in own):
        counts = Counter(own[name] for own in tags.values() if name in own)
        if not 1 < len(counts) <= _VALUES:
            continue
        values = list(dict.fromkeys(lengths.values())) if name == "length" else sorted(counts)
        figures = {}
        for entry, run in column.runs.items():
            tagged = by_cluster(score.tagged(tags[score.id]) for score in run.scores)
            figures[entry] = [estimate(column.headline.only(name, value, value), tagged) for value in values]
        found.append(Breakdown(name, [(value, counts[value]) for value in values], figures))
    return found


def _quarters(lengths: Mapping[str, int]) -> dict[str, str]:
    """For each item the quarter of lengths that it lies in, shortest first, as `120 to 340 characters`; none where
    the lengths do not differ enough."""
    edges = np.quantile(list(lengths.values()), [0.25, 0.5, 0.75], method="higher")
    quarter = {id: int(np.searchsorted(edges, length)) for id, length in lengths.items()}
    if len(set(quarter.values())) < 4:
        return {}
    within: dict[int, list[int]] = {}
    for id, number in quarter.items():
        within.setdefault(number, []).append(lengths[id])
    told = {number: f"{min(own):,} to {max(own):,} characters" for number, own in within.items()}
    return {id: told[number] for id, number in sorted(quarter.items(), key=lambda pair: pair[1])}


class Confusion(NamedTuple):
    """How often which answer was given to items of which target: counts of shape (targets, answers)."""

    targets: list[str]
    answers: list[str]
    counts: list[list[int]]


def confusion(scores: Sequence[Score]) -> Confusion | None:
    """The confusion matrix of labels, replies without one by their outcome; None if targets are not labels."""
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
    """Items whose probability lies in [low, high): how many, their mean probability, and the share that has the
    label."""

    low: float
    high: float
    n: int
    mean: float
    share: float


class Calibration(NamedTuple):
    """What the probabilities of a label are worth; `without` items have none."""

    label: str
    bins: list[Bin]
    without: int
    ece: Estimate
    brier: Estimate


def calibration(label: str, scores: Sequence[Score]) -> Calibration | None:
    """The reliability of probabilities, over the bins of `scorers.calibration.ece`; None where there are none."""
    known = [(score.facts[FACT], score.target == label) for score in scores if FACT in score.facts]
    clusters = by_cluster(scores)
    errors = [estimate(metric(label), clusters) for metric in (ece, brier)]
    if not known or errors[0] is None or errors[1] is None:
        return None
    bins = []
    for i in range(BINS):
        own = [(p, has) for p, has in known if min(int(p * BINS), BINS - 1) == i]
        if own:
            mean, share = (float(np.mean(values)) for values in zip(*own, strict=True))
            bins.append(Bin(i / BINS, (i + 1) / BINS, len(own), mean, share))
    return Calibration(label, bins, len(scores) - len(known), errors[0], errors[1])


class Modes(NamedTuple):
    """The same replies in both modes: a metric that both have, replies that give no answer, and how many items
    changed."""

    metric: str
    figures: dict[str, Estimate | None]
    unanswered: dict[str, int]
    changed: int


def other_scores(column: Column, answers: Sequence[Answered]) -> list[Score] | None:
    """The scores of the same replies in the mode that they were not scored in; None for a judged task, whose
    verdicts are not logged."""
    if column.task.judged:
        return None
    mode = OTHER_MODE[column.first.scoring]
    return [answered.scored(column.task, mode) for answered in answers]


def modes(column: Column, scores: Sequence[Score], others: Sequence[Score]) -> Modes | None:
    """Scores in the column's mode beside those in the other one; None where no figure has the same name in both."""
    own, other = column.first.scoring, OTHER_MODE[column.first.scoring]
    known = {metric.name: metric for metric in column.task.scoring[other].metrics}
    named = [column.headline, *column.metrics]
    metric = next((m for m in named if m.name in known and m.name != UNPARSED), None)
    if metric is None:
        return None
    both = {own: (metric, scores), other: (known[metric.name], others)}
    return Modes(
        metric.name,
        {mode: estimate(of, by_cluster(found)) for mode, (of, found) in both.items()},
        {mode: sum(score.outcome in NO_ANSWER for score in found) for mode, (_, found) in both.items()},
        sum(
            value_of(metric, one) != value_of(known[metric.name], another)
            for one, another in zip(scores, others, strict=True)
        ),
    )


def value_of(metric: Metric, score: Score) -> float | None:
    """An item's own figure; None where the metric has none."""
    value = metric.item(score) if metric.item else None
    return None if value is None or value != value else value


def plain(estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate as JSON."""
    return estimate._asdict() if estimate else None
