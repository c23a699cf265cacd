"""Label tasks: how one label scores, and the metrics of a confusion matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.metrics import Array, Metric, ratio
from halu_tasks.scorers.score import Score

UNPARSED = "unparsed"
"""The label that stands for no answer wherever a confusion matrix needs one."""


Unparsed = Literal["miss", "wrong_label", "ignored"]
"""What an unparsed answer is in the figures of a class."""

_MEANING = {
    "precision": "share of the replies {label} whose target is {label}",
    "recall": "share of the items with target {label} that are answered so",
    "f1": "F1 of {label}: harmonic mean of its precision and recall",
}


def score_label(id: str, cluster: str, target: str, answer: Answer[str], tags: Mapping[str, str]) -> Score:
    """Score of one label: `correct` is 1 when it is the target; a reply without an answer is wrong."""
    correct = float(answer.value is not None and answer.value == target)
    return Score(id, cluster, answer.value, target, {"correct": correct}, tags, answer.reason, answer.outcome)


def label_metric(
    figure: Literal["precision", "recall", "f1"], label: str, name: str, *, unparsed: Unparsed = "miss"
) -> Metric:
    """Precision, recall or F1 of one class over all items.

    An unparsed answer is a miss of its target's class and a false alarm of none; as `wrong_label`, for two
    classes, it counts as the other one; as `ignored` it is neither. Where nothing was predicted as (or is)
    the class, the figure is 0, as scikit-learn has it.
    """

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        hits = sum(s.answer == label and s.target == label for s in scores)
        predicted = sum(s.answer == label for s in scores)
        if unparsed == "wrong_label":
            predicted += sum(s.answer is None and s.target != label for s in scores)
        actual = sum(s.target == label and (unparsed != "ignored" or s.answer is not None) for s in scores)
        return hits, predicted, actual, len(scores)

    def part_and_whole(sums: Array) -> tuple[Array, Array]:
        hits, predicted, actual, _ = np.moveaxis(sums, -1, 0)
        return {
            "precision": (hits, predicted),
            "recall": (hits, actual),
            "f1": (2 * hits, predicted + actual),
        }[figure]

    def value(sums: Array) -> Array:
        part, whole = part_and_whole(sums)
        figures = np.where(whole > 0, part / np.maximum(whole, 1), 0.0)
        return np.asarray(np.where(sums[..., 3] > 0, figures, np.nan))

    about = _MEANING[figure].format(label=label)
    return Metric(name, counts, value, contributes=lambda table: part_and_whole(table)[1] > 0, about=about)


def macro_metric(
    figure: Literal["precision", "recall", "f1"],
    labels: Sequence[str],
    name: str,
    *,
    unparsed_is_label: bool,
) -> Metric:
    """Unweighted mean of a figure over the labels that occur among targets or answers.

    With `unparsed_is_label`, unparsed answers are a label of their own when there are any, as in
    scikit-learn's macro average of raw predictions; else they are only misses.
    """
    names = [*labels, UNPARSED] if unparsed_is_label else list(labels)
    parts = [label_metric(figure, label, label) for label in names]

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        # counted in one pass: this runs once a cluster
        answers = Counter(s.answer if isinstance(s.answer, str) else UNPARSED for s in scores)
        targets = Counter(s.target for s in scores if isinstance(s.target, str))
        hits = Counter(s.answer for s in scores if isinstance(s.answer, str) and s.answer == s.target)
        sums: list[float] = []
        for label in names:
            sums += (hits[label], answers[label], targets[label], len(scores))
        return sums

    def value(sums: Array) -> Array:
        per_label = sums.reshape(*sums.shape[:-1], len(names), 4)
        # over all rows at once: leaving out the one cluster with a label does not take the label away
        occurs = ((per_label[..., 1] + per_label[..., 2]) > 0).reshape(-1, len(names)).any(axis=0)
        if not occurs.any():
            return np.full(sums.shape[:-1], np.nan)
        figures = np.stack([part.value(per_label[..., i, :]) for i, part in enumerate(parts)], axis=-1)
        return np.asarray(figures[..., occurs].mean(axis=-1))

    unread = "a label of their own" if unparsed_is_label else "misses"
    about = f"unweighted mean of {'F1' if figure == 'f1' else figure} over the labels; unparsed replies are {unread}"
    return Metric(name, counts, value, about=about)


def both_right(name: str, parts: tuple[str, str]) -> Metric:
    """The share of pairs in which both items are right; the ids of a pair's items end in `/` and one of
    `parts`. A pair of which only one item was asked is left out."""

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        pairs = pairs_of(scores, parts)
        return sum(all(s.measurements["correct"] for s in pair) for pair in pairs), len(pairs)

    return Metric(name, counts, ratio, about=f"share of pairs ({' and '.join(parts)}) with both items right")


def pairs_of(scores: Sequence[Score], parts: tuple[str, str]) -> list[tuple[Score, Score]]:
    """The two items of each row, joined by the part of the id before its last slash, where the part after
    it is one of `parts`. Repeats of an item (epochs) pair up in order."""
    rows: dict[str, dict[str, list[Score]]] = {}
    for score in scores:
        row, _, which = score.id.rpartition("/")
        if which in parts:
            rows.setdefault(row, {}).setdefault(which, []).append(score)
    return [pair for parts in rows.values() if len(parts) == 2 for pair in zip(*parts.values(), strict=False)]
