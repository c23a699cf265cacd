"""The details of a report's column: breakdowns, confusion, calibration, both modes, and items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from halu_tasks.report.board import Column
from halu_tasks.report.items import OTHER_MODE, shown_items, value_of
from halu_tasks.report.records import (
    Bin,
    BothModes,
    Breakdown,
    BreakdownRow,
    BreakdownValue,
    Calibration,
    ColumnDetails,
    Confusion,
)
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import ScoredReply
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.kinds import Label
from halu_tasks.scorers.metrics import by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import BINS, FACT, brier, ece

UNPARSED = "unparsed"
JUDGED_ONCE = (
    "The judge's verdicts are not logged, so the other mode cannot be computed; score the replies in that mode."
)
NO_COMMON_METRIC = "The two modes have no metric in common."
_VALUES = 24
"""Maximum number of values of a tag for a breakdown; more would not be readable."""
_LABELS = 12
"""Maximum number of targets, and of other answers, in a confusion matrix."""

Others = Mapping[Entry, Sequence[Score] | None]
"""For each entry, the scores of its replies in the other mode; None for a judged task."""


def details(column: Column, ids: Mapping[Entry, str], others: Others, limit: int) -> ColumnDetails:
    """Collect the details of a column.

    Args:
        column: The column.
        ids: The ids of entries.
        others: Scores in the other mode.
        limit: The maximum length of each string of an item, in bytes.
    """
    scores = {ids[entry]: run.scores for entry, run in column.runs.items()}
    label = column.task.choices[0] if column.task.choices else None
    curves = (_calibration(entry, label, own) for entry, own in scores.items()) if label else ()
    labelled = isinstance(column.task.answer, Label)
    matrices = (_confusion(entry, own) for entry, own in scores.items()) if labelled else ()
    modes: list[BothModes] | None = None
    missing = JUDGED_ONCE
    if not column.task.judged:
        modes = list(_both_modes(column, ids, others)) or None
        missing = "" if modes else NO_COMMON_METRIC
    return ColumnDetails(
        column=column.id,
        breakdowns=list(_breakdowns(column, ids)),
        confusion=[matrix for matrix in matrices if matrix],
        calibration=[curve for curve in curves if curve],
        modes=modes,
        modes_missing=missing,
        items=shown_items(column, ids, others, limit),
    )


def other_scores(column: Column, answers: Sequence[ScoredReply]) -> list[Score] | None:
    """Score replies in the other mode; None for a judged task, whose verdicts are not logged."""
    if column.task.judged:
        return None
    return [answered.scored(column.task, OTHER_MODE[column.first.scoring]) for answered in answers]


def _breakdowns(column: Column, ids: Mapping[Entry, str]) -> Iterator[Breakdown]:
    """Break the headline down by each tag with several values, and by the length of the prompt."""
    items = {answered.item.id: answered.item for answered in column.first.answers}
    tags = {id: dict(item.tags) for id, item in items.items()}
    lengths = _quarters({id: len(item.prompt) for id, item in items.items()})
    for id, length_range in lengths.items():
        tags[id]["length"] = length_range
    tagged = {
        ids[entry]: by_cluster(score.tagged(tags[score.id]) for score in run.scores)
        for entry, run in column.runs.items()
    }
    for name in dict.fromkeys(name for item_tags in tags.values() for name in item_tags):
        counts = Counter(item_tags[name] for item_tags in tags.values() if name in item_tags)
        if 1 < len(counts) <= _VALUES:
            values = list(dict.fromkeys(lengths.values())) if name == "length" else sorted(counts)
            metrics = [column.headline.only(name, value, value) for value in values]
            rows = [BreakdownRow(id, [estimate(one, clusters) for one in metrics]) for id, clusters in tagged.items()]
            sizes = [BreakdownValue(value, counts[value]) for value in values]
            yield Breakdown(name, column.headline.name, sizes, rows)


def _quarters(lengths: Mapping[str, int]) -> dict[str, str]:
    """Assign items to quarters by length.

    Returns:
        For each item, its quarter as `120 to 340 characters`, shortest first; empty if the lengths are too similar.
    """
    edges = np.quantile(list(lengths.values()), [0.25, 0.5, 0.75], method="higher")
    quarter = {id: int(np.searchsorted(edges, length)) for id, length in lengths.items()}
    if len(set(quarter.values())) < 4:
        return {}
    inside = {n: [lengths[id] for id, number in quarter.items() if number == n] for n in range(4)}
    names = {number: f"{min(own):,} to {max(own):,} characters" for number, own in inside.items()}
    return {id: names[number] for id, number in sorted(quarter.items(), key=lambda pair: pair[1])}


def _confusion(entry: str, scores: Sequence[Score]) -> Confusion | None:
    """Count answers by target, those without a label by their outcome; None if targets are not labels."""
    targets = sorted({score.target for score in scores if isinstance(score.target, str)})
    if not 1 < len(targets) <= _LABELS or any(isinstance(score.target, list) for score in scores):
        return None
    cells = Counter((str(s.target), s.outcome if s.answer is None else str(s.answer)) for s in scores)
    others = sorted({answer for _, answer in cells} - {*targets, *NO_ANSWER})
    if len(others) > _LABELS:
        return None
    unanswered = [outcome for outcome in NO_ANSWER if outcome == UNPARSED or any(cells[t, outcome] for t in targets)]
    answers = [*targets, *others, *unanswered]
    return Confusion(entry, targets, answers, [[cells[target, answer] for answer in answers] for target in targets])


def _calibration(entry: str, label: str, scores: Sequence[Score]) -> Calibration | None:
    """Compute the calibration of probabilities, in the bins of `ece`; None if there are none."""
    known = [(score.measurements[FACT], score.target == label) for score in scores if FACT in score.measurements]
    clusters = by_cluster(scores)
    errors = [estimate(metric(label), clusters) for metric in (ece, brier)]
    if not known or errors[0] is None or errors[1] is None:
        return None
    bins = []
    for i in range(BINS):
        inside = [(p, has_label) for p, has_label in known if min(int(p * BINS), BINS - 1) == i]
        if inside:
            mean, share = (float(np.mean(values)) for values in zip(*inside, strict=True))
            bins.append(Bin(i / BINS, (i + 1) / BINS, len(inside), mean, share))
    return Calibration(entry, label, bins, len(scores) - len(known), errors[0], errors[1])


def _both_modes(column: Column, ids: Mapping[Entry, str], others: Others) -> Iterator[BothModes]:
    """Compare the scores of each entry in both modes, unless these have no metric in common."""
    mode, other_mode = column.first.scoring, OTHER_MODE[column.first.scoring]
    other_metrics = {metric.name: metric for metric in column.task.scoring[other_mode].metrics}
    candidates = (m for m in (column.headline, *column.metrics) if m.name in other_metrics and m.name != UNPARSED)
    metric = next(candidates, None)
    if metric is None:
        return
    metrics = {mode: metric, other_mode: other_metrics[metric.name]}
    for entry, run in column.runs.items():
        scores = {mode: run.scores, other_mode: others[entry] or []}
        values = [[value_of(metrics[name], score) for score in own] for name, own in scores.items()]
        unanswered = {name: sum(score.outcome in NO_ANSWER for score in own) for name, own in scores.items()}
        yield BothModes(
            entry=ids[entry],
            metric=metric.name,
            strict=estimate(metrics["strict"], by_cluster(scores["strict"])),
            paper=estimate(metrics["paper"], by_cluster(scores["paper"])),
            unanswered_strict=unanswered["strict"],
            unanswered_paper=unanswered["paper"],
            changed=sum(one != other for one, other in zip(*values, strict=True)),
            n=len(run.scores),
        )
