"""Scores of tasks whose answer is a label, and the metrics of their confusion matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.metrics import Array, Metric, ratio
from halu_tasks.scorers.score import Score

UNPARSED = "unparsed"
"""The label in a confusion matrix of replies without an answer."""

Unparsed = Literal["miss", "wrong_label", "ignored"]
"""How a reply without an answer counts in the metrics of a class; `label_metric` explains the values."""

_MEANING = {
    "precision": "share of the answers {label} that are right",
    "recall": "share of the items with target {label} that are answered {label}",
    "f1": "F1 of {label}: harmonic mean of its precision and recall",
}


def score_label(id: str, cluster: str, target: str, answer: Answer[str], tags: Mapping[str, str]) -> Score:
    """Score an answer that is a label.

    The measurement `correct` is 1 if the answer is the target, otherwise 0; a reply without an answer is wrong.

    Args:
        id: The item's id.
        cluster: The item's cluster.
        target: The gold label.
        answer: The answer read from the reply.
        tags: The item's tags.
    """
    correct = float(answer.value is not None and answer.value == target)
    return Score(id, cluster, answer.value, target, {"correct": correct}, tags, answer.reason, answer.outcome)


def label_metric(
    figure: Literal["precision", "recall", "f1"], label: str, name: str, *, unparsed: Unparsed = "miss"
) -> Metric:
    """Create precision, recall or F1 of one class, 0 to 1, over all items.

    As in scikit-learn, the metric is 0 if its denominator is: if no answer (or no target) is the label.

    Args:
        figure: Which of the three.
        label: The class.
        name: The metric's name.
        unparsed: How a reply without an answer counts. As a `miss`, it lowers the recall of its target's class and the
            precision of none; as the `wrong_label` (for two classes), it counts as the label that is not its target;
            if `ignored`, it does not count.
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

    return Metric(
        name,
        counts,
        value,
        by_item=True,
        contributes=lambda table: part_and_whole(table)[1] > 0,
        # precision and recall are shares; F1 compares them
        classes=(lambda table: np.asarray(table[:, 2:3] > 0)) if figure == "f1" else None,
        about=_MEANING[figure].format(label=label),
    )


def macro_metric(
    figure: Literal["precision", "recall", "f1"],
    labels: Sequence[str],
    name: str,
    *,
    unparsed_is_label: bool,
) -> Metric:
    """Create the unweighted mean of a metric over the labels that occur among targets or answers, 0 to 1.

    Args:
        figure: The metric that is averaged.
        labels: The labels.
        name: The metric's name.
        unparsed_is_label: Whether replies without an answer count as one more label, if there are any, as in
            scikit-learn's macro average of raw predictions. Otherwise they are misses.
    """
    names = [*labels, UNPARSED] if unparsed_is_label else list(labels)
    parts = [label_metric(figure, label, label) for label in names]

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        # counted in one pass, since this runs once for each cluster
        answers = Counter(s.answer if isinstance(s.answer, str) else UNPARSED for s in scores)
        targets = Counter(s.target for s in scores if isinstance(s.target, str))
        hits = Counter(s.answer for s in scores if isinstance(s.answer, str) and s.answer == s.target)
        sums: list[float] = []
        for label in names:
            sums += (hits[label], answers[label], targets[label], len(scores))
        return sums

    def value(sums: Array) -> Array:
        per_label = sums.reshape(*sums.shape[:-1], len(names), 4)
        # over all rows at once: leaving out the only cluster with a label must not change which labels are averaged
        occurs = ((per_label[..., 1] + per_label[..., 2]) > 0).reshape(-1, len(names)).any(axis=0)
        if not occurs.any():
            return np.full(sums.shape[:-1], np.nan)
        figures = np.stack([part.value(per_label[..., i, :]) for i, part in enumerate(parts)], axis=-1)
        return np.asarray(figures[..., occurs].mean(axis=-1))

    unparsed = "one more label" if unparsed_is_label else "misses"
    about = f"unweighted mean of {'F1' if figure == 'f1' else figure} over the labels; unparsed replies are {unparsed}"
    return Metric(
        name,
        counts,
        value,
        by_item=True,
        classes=lambda table: np.asarray(table.reshape(len(table), len(names), 4)[..., 2] > 0),
        averages_classes=True,
        about=about,
    )


def both_right(name: str, parts: tuple[str, str]) -> Metric:
    """Create the share of pairs in which both items are right, 0 to 1; pairs are those of `pairs_of`."""

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        pairs = pairs_of(scores, parts)
        return sum(all(s.measurements["correct"] for s in pair) for pair in pairs), len(pairs)

    about = f"share of pairs ({' and '.join(parts)}) with both items right"
    return Metric(name, counts, ratio, endings=parts, about=about)


def pairs_of(scores: Sequence[Score], parts: tuple[str, str]) -> list[tuple[Score, Score]]:
    """Pair the scores whose ids are equal up to the last slash and continue with one of the two `parts`.

    Repeats of an item (epochs) are paired in order. An item without its counterpart is left out.
    """
    rows: dict[str, dict[str, list[Score]]] = {}
    for score in scores:
        row, _, part = score.id.rpartition("/")
        if part in parts:
            rows.setdefault(row, {}).setdefault(part, []).append(score)
    return [pair for by_part in rows.values() if len(by_part) == 2 for pair in zip(*by_part.values(), strict=False)]
