"""Scores of tasks whose answer is a label, and the metrics of their confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from halu_tasks.scorers.columns import Array, Column, Columns
from halu_tasks.scorers.metrics import Metric, Terms, metric, of_columns, parameters, ratio

Unparsed = Literal["miss", "wrong_label", "ignored"]
"""How a reply without an answer counts in the metrics of a class; `label_metric` explains the values."""
Figure = Literal["precision", "recall", "f1"]
FIGURES: tuple[Figure, ...] = get_args(Figure)

NO_LABEL = None
"""The label in a confusion matrix of replies without an answer."""
_MEANING = {
    "precision": "share of the answers {label} that are right",
    "recall": "share of the items with target {label} that are answered {label}",
    "f1": "F1 of {label}: harmonic mean of its precision and recall",
}


def part_and_whole(figure: Figure, hits: Column, predicted: Column, actual: Column) -> tuple[Column, Column]:
    """Return what precision, recall or F1 is the ratio of, from whether items are hits, predicted and actual."""
    if figure == "f1":
        return 2 * hits, predicted + actual
    return hits, predicted if figure == "precision" else actual


def ratio_or_zero(sums: Array) -> Array:
    """Divide the first sum by the second; 0 where the second is 0, as in scikit-learn."""
    return np.asarray(np.where(sums[..., 1] > 0, sums[..., 0] / np.maximum(sums[..., 1], 1), 0.0))


def label_metric(figure: Figure, label: str, name: str, *, unparsed: Unparsed = "miss", **properties: Any) -> Metric:
    """Create precision, recall or F1 of one class, 0 to 1, over all items.

    As in scikit-learn, the metric is 0 if its denominator is: if no answer (or no target) is the label.

    Args:
        figure: Which of the three.
        label: The class.
        name: The metric's name.
        unparsed: How a reply without an answer counts. As a `miss`, it lowers the recall of its target's class and the
            precision of none; as the `wrong_label` (for two classes), it counts as the label that is not its target;
            if `ignored`, it does not count.
        **properties: Attributes of `Metric`.
    """
    about = _MEANING[figure].format(label=label)
    if figure == "f1":  # precision and recall are shares; F1 compares them
        properties["classes"] = lambda target: [target == label]

    @metric(**{"name": name, "form": "sums", "about": about, "value": ratio_or_zero, **properties})
    def of_label(answer: Column, target: Column) -> Terms:
        predicted, actual, missing = 1.0 * (answer == label), 1.0 * (target == label), answer == NO_LABEL
        if unparsed == "wrong_label":
            predicted += missing & (target != label)
        if unparsed == "ignored":
            actual *= ~missing
        return part_and_whole(figure, predicted * (answer == target), predicted, actual)

    return of_label


def macro_metric(figure: Figure, labels: Sequence[str], name: str, *, unparsed_is_label: bool) -> Metric:
    """Create the unweighted mean of a metric over the labels that occur among targets or answers, 0 to 1.

    Args:
        figure: The metric that is averaged.
        labels: The labels.
        name: The metric's name.
        unparsed_is_label: Whether replies without an answer count as one more label, if there are any, as in
            scikit-learn's macro average of raw predictions. Otherwise they are misses.
    """
    names = [*labels, NO_LABEL] if unparsed_is_label else list(labels)

    def value(sums: Array) -> Array:
        of_labels = sums.reshape(*sums.shape[:-1], len(names), 3)
        return np.where(of_labels[..., 2] > 0, ratio_or_zero(of_labels), np.nan)

    unparsed = "one more label" if unparsed_is_label else "misses"
    about = f"unweighted mean of {'F1' if figure == 'f1' else figure} over the labels; unparsed replies are {unparsed}"

    def classes(target: Column) -> list[Column]:
        return [target == label for label in labels]

    @metric(name=name, form="sums", about=about, value=value, classes=classes)
    def mean_over_labels(answer: Column, target: Column) -> Terms:
        terms: list[Column] = []
        for label in names:
            predicted, actual = 1.0 * (answer == label), 1.0 * (target == label)
            terms += [*part_and_whole(figure, predicted * actual, predicted, actual), predicted + actual]
        return tuple(terms)

    return mean_over_labels


def balanced_acc(classes: Callable[..., Sequence[Column]], right: Callable[..., Column]) -> Metric:
    """Create the balanced accuracy, 0 to 1: the mean over classes of the share of their items that are right.

    A reply without an answer is wrong, and no class of its own. The metric is undefined if only one class occurs.

    Args:
        classes: Says for each class which items are of it; its parameters name columns.
        right: Says which items are right; its parameters name columns, too.
    """
    is_of_class, is_right = of_columns(classes), of_columns(right)

    def value(sums: Array) -> Array:
        shares = ratio(sums.reshape(*sums.shape[:-1], -1, 2))
        return np.where((~np.isnan(shares)).sum(axis=-1, keepdims=True) > 1, shares, np.nan)

    def terms(columns: Columns) -> Terms:
        return tuple(term for of_class in is_of_class(columns) for term in (of_class * is_right(columns), of_class))

    return Metric(
        "balanced_acc",
        terms,
        (*parameters(classes), *parameters(right)),
        "sums",
        "unweighted mean over classes of the share of their items that are right; replies without an answer are wrong",
        value=value,
        classes=is_of_class,
    )


def both_right(name: str, parts: Sequence[str], **properties: Any) -> Metric:
    """Create the share of pairs in which both items are right, 0 to 1; pairs are those of `pairs_of`."""
    about = f"share of pairs ({' and '.join(parts)}) with both items right"

    @metric(name=name, form="sums", about=about, **properties)
    def of_pairs(row: Column, part: Column, correct: Column) -> Terms:
        first, second = pairs_of(row, part, parts)
        right, pairs = np.zeros((2, len(row)))
        right[first], pairs[first] = correct[first] * correct[second], 1.0
        return right, pairs

    return of_pairs


def pairs_of(row: Column, part: Column, parts: Sequence[str]) -> tuple[Column, Column]:
    """Find the pairs of items of the same row with the two `parts` of ids.

    Repeats of an item (epochs) are paired in order. An item without its counterpart is left out.

    Returns:
        The positions of the first and of the second items.
    """
    positions, keys = [], []
    for ending in parts:
        of_part = np.flatnonzero(part == ending)
        of_part = of_part[np.argsort(row[of_part], kind="stable")]
        repeat = np.arange(len(of_part)) - np.searchsorted(row[of_part], row[of_part])
        positions.append(of_part)
        keys.append(row[of_part] * (len(row) + 1) + repeat)
    _, first, second = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return positions[0][first], positions[1][second]
