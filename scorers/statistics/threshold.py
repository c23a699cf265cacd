"""Classification at a threshold tuned on a training part of the items.

This is the method of Factored Verification (George and Stuhlmüller 2023, arXiv 2310.10627, section 2.3). The threshold
is the mean of two averages over the training items: the average probability of the items with a label and that of the
items without it. A test item is predicted to have the label if its probability is above the threshold. The paper uses
the probability P that a summary is correct, which is one minus the probability of a hallucination: "below the
threshold" there is above it here, and an item at the threshold does not have the label.

The tag `part` says whether an item is a training or a test item. Training items without a probability are ignored; test
items without one are wrong: misses of their class, and false alarms of none.

The error of a metric has two sources, the test items and the threshold. Leaving out a training cluster moves the
threshold by very little, and the metric along its slope around the threshold. The slope is measured across four
standard errors of the threshold. Few or no test items lie in the range by which a single cluster moves the threshold,
so counting those that cross it would mistake the steps of a count for uncertainty (in simulations, standard errors were
a quarter too large).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from halu_tasks.scorers.metrics import Array, Items, Metric, Pooled
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.exact import column_sums
from halu_tasks.scorers.statistics.intervals import Moments, deviations
from halu_tasks.scorers.statistics.jackknife import Value
from halu_tasks.scorers.statistics.probability import FACT, PROBABILITY_COLUMNS, Probabilities, probability_row

PART = "part"
"""The tag that says whether an item is a training or a test item."""

TRAIN, TEST = "train", "test"

_ROUNDING = 1e-12
"""Probabilities this close to the threshold are equal to it, since averages are subject to rounding errors."""

PartAndWhole = Callable[[Array], tuple[Array, Array]]
"""Computes numerator and denominator of a metric, shape (…), from the counts of `_counted`, shape (…, 5)."""


def tuned_metrics(label: str) -> tuple[Metric, ...]:
    """Create the metrics of the probability of `label` at a tuned threshold, all 0 to 1.

    These are `threshold`, computed from the training items, and `acc_tuned`, `precision_tuned`, `recall_tuned` and
    `f1_tuned`, computed from the test items; the latter three are of `label`.

    All are undefined unless there are probabilities of training items with the label and of others; without test items,
    only the threshold is defined. Precision, recall and F1 are 0 if their denominator is.
    """
    figures: dict[str, PartAndWhole] = {
        "acc": lambda c: (c[..., 3], c[..., 4]),
        "precision": lambda c: (c[..., 0], c[..., 1]),
        "recall": lambda c: (c[..., 0], c[..., 2]),
        "f1": lambda c: (2 * c[..., 0], c[..., 1] + c[..., 2]),
    }
    tuned = Metric(
        "threshold", partial(_averaged, label=label), _threshold, higher_is_better=None, tag_filter=(PART, TRAIN),
        requires_option="probability", by_item=True,
        about=f"probability of {label} above which items are predicted as {label}, tuned on the training part",
    )  # fmt: skip
    return tuned, *(_at_threshold(name, label, figure) for name, figure in figures.items())


def _averaged(scores: Sequence[Score], label: str) -> tuple[float, float, float, float]:
    """Return sum and number of the probabilities of training items with the label, and of those without it."""
    train = [s for s in scores if s.tags.get(PART) == TRAIN and FACT in s.measurements]
    with_label = [s.measurements[FACT] for s in train if s.target == label]
    without_label = [s.measurements[FACT] for s in train if s.target != label]
    return math.fsum(with_label), len(with_label), math.fsum(without_label), len(without_label)


_COLUMNS = ("part", *PROBABILITY_COLUMNS)
_PARTS = {TRAIN: 0.0, TEST: 1.0}


def _row(score: Score, label: str) -> tuple[float, ...] | None:
    part = _PARTS.get(score.tags.get(PART, ""))
    return None if part is None else (part, *probability_row(score, label))


def _averaged_by_cluster(items: Probabilities, clusters: int) -> Array:
    """Return the counts of `_averaged` for each cluster of training items, shape (C, 4)."""
    table = np.zeros((clusters, 4))
    known = ~np.isnan(items.probability)
    for column, one in ((0, items.has & known), (2, ~items.has & known)):
        order = np.argsort(items.cluster[one], kind="stable")
        cluster, probability = items.cluster[one][order], items.probability[one][order]
        numbers, starts = np.unique(cluster, return_index=True)
        table[numbers, column] = [math.fsum(part) for part in np.split(probability, starts[1:])] if len(numbers) else []
        table[:, column + 1] = np.bincount(cluster, minlength=clusters)
    return table


def _threshold(sums: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        averages = sums[..., [0, 2]] / np.where(sums[..., [1, 3]] > 0, sums[..., [1, 3]], np.nan)
    return np.asarray(averages.mean(axis=-1))


def _counted(items: Probabilities, threshold: float) -> Array:
    """Classify N items at a threshold.

    Returns:
        For each item, shape (N, 5), whether it is a hit, is predicted to have the label, has the label, and is right,
        and 1.
    """
    called = items.probability > threshold + _ROUNDING  # NaN is not
    right = (called == items.has) & ~np.isnan(items.probability)
    columns = [called & items.has, called, items.has, right, np.ones(len(items.has))]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=-1)


def _at_threshold(figure_name: str, label: str, part_and_whole: PartAndWhole) -> Metric:
    def figure(counts: Array) -> Array:
        part, whole = part_and_whole(counts)
        figures = np.where(whole > 0, part / np.maximum(whole, 1), 0.0)
        return np.asarray(np.where(counts[..., 4] > 0, figures, np.nan))

    def sums(pooled: Items) -> tuple[Array, Array]:
        table = np.zeros((pooled.clusters, 3))
        tested = pooled.columns[:, 0] == _PARTS[TEST]
        items, trained = (
            Probabilities(pooled.cluster[part], pooled.columns[part, 1] > 0, pooled.columns[part, 2])
            for part in (tested, ~tested)
        )
        train = _averaged_by_cluster(trained, pooled.clusters)
        total_of_training = column_sums(train)
        threshold = float(_threshold(total_of_training))
        if not len(items.has) or np.isnan(threshold):
            return np.array([np.nan, 0.0, 0.0]), table
        counts = np.zeros((pooled.clusters, 5))
        np.add.at(counts, items.cluster, _counted(items, threshold))
        total = counts.sum(axis=0)
        whole = float(figure(total))
        contributes = part_and_whole(counts)[1] > 0
        # the error is unknown if only one cluster contributes, or has all training items of a class (see `moved`)
        table[:, 0] = np.nan if contributes.sum() == 1 else whole - figure(total - counts)
        tunes = train[:, [1, 3]].any(axis=1)
        moved = threshold - _threshold(total_of_training - train[tunes])
        # at 0 and 1 each cluster counts as one observation, and clusters without test items are none
        if 0 < whole < 1 or np.isnan(moved).any():
            table[tunes, 0] += _slope(items, figure, threshold, moved) * moved
            contributes = contributes | tunes
        table[:, 1], table[:, 2] = contributes, counts[:, 2]
        return np.array([whole, 0.0, 0.0]), table

    of = "" if figure_name == "acc" else f" of {label}"
    return Metric(
        f"{figure_name}_tuned",
        lambda scores: (len(scores),),
        lambda sums: np.asarray(sums[..., 0]),
        tag_filter=(PART, TEST),
        pooled=Pooled(_COLUMNS, partial(_row, label=label), sums),
        requires_option="probability",
        contributes=lambda table: table[:, 1] > 0,
        classes=(lambda table: np.asarray(table[:, 2:] > 0)) if figure_name == "f1" else None,
        about=f"{figure_name}{of} over the test items at the tuned threshold",
    )


def _slope(items: Probabilities, figure: Value, threshold: float, moved: Array) -> float:
    """Compute the slope of a metric, from two standard errors of the threshold below it to two above.

    Args:
        items: The test items.
        figure: The metric as a function of their counts.
        threshold: The threshold.
        moved: By how much the threshold falls without each training cluster.

    Returns:
        The slope; 0 if the standard error of the threshold is 0.
    """
    reach = 2 * math.sqrt(Moments.of(deviations(moved)).second)
    if not reach > 0:
        return 0.0
    below, above = (float(figure(_counted(items, threshold + by).sum(axis=0))) for by in (-reach, reach))
    return (above - below) / (2 * reach)
