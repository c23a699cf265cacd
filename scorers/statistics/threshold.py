"""A threshold tuned on one part of the items, and the classification of the other part at it (Factored Verification,
George and Stuhlmüller 2023, arXiv 2310.10627, section 2.3).

The threshold is the mean of two averages over the items of the part `train`: that of the probability of the items
that have a label, and that of the items that have not. An item of the part `test` is called the label when its
probability is above the threshold. The paper states it for the probability P that a summary is correct, which is one
minus the probability of a hallucination: "below the threshold" there is above it here, and equal is not the label.

The part is the tag `part`. An item without a probability bears on no threshold; in the part `test` it is wrong, a
miss of its class and a false alarm of none.

The error of a figure is that of the test items and that of the threshold. A training cluster left out moves the
threshold, by very little, and the figure along the figure's slope around the threshold. The slope is taken across four
standard errors of the threshold: within the reach of one cluster lie no or few test items, and counting those that
cross would take the steps of a count for uncertainty (in simulations, standard errors a quarter too large).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Array, Metric, Value
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.probability import FACT

PART = "part"
"""The tag that says which part an item is of."""

TRAIN, TEST = "train", "test"

_ROUNDING = 1e-12
"""Probabilities that differ from the threshold by less are equal to it: an average of equal numbers is not always
that number to the last bit."""

PartAndWhole = Callable[[Array], tuple[Array, Array]]
"""Counts of test items, shape (…, 5), as `_counted` has them -> what a figure divides and by what, each shape (…)."""


def tuned_metrics(label: str) -> tuple[Metric, ...]:
    """The figures of the probability of `label` at a tuned threshold: `threshold`, over the training items, and over
    the test items `acc_tuned`, `precision_tuned`, `recall_tuned` and `f1_tuned`, the latter three of `label`.

    Without a probability of a training item that has the label, and of one that has not, no figure is defined; without
    test items only the threshold is. Where no item is called (or is) the label, a figure of the label is 0.
    """
    figures: dict[str, PartAndWhole] = {
        "acc": lambda c: (c[..., 3], c[..., 4]),
        "precision": lambda c: (c[..., 0], c[..., 1]),
        "recall": lambda c: (c[..., 0], c[..., 2]),
        "f1": lambda c: (2 * c[..., 0], c[..., 1] + c[..., 2]),
    }
    tuned = Metric(
        "threshold", partial(_averaged, label=label), _threshold, higher_is_better=None, tag_filter=(PART, TRAIN),
        requires_option="probability",
        about=f"probability of {label} above which items are called so, from the training part",
    )  # fmt: skip
    return tuned, *(_at_threshold(name, label, figure) for name, figure in figures.items())


def _averaged(scores: Sequence[Score], label: str) -> tuple[float, float, float, float]:
    """The sum and the number of probabilities of training items that have the label, and of those that have not."""
    known = [s for s in scores if s.tags.get(PART) == TRAIN and FACT in s.measurements]
    own = [s.measurements[FACT] for s in known if s.target == label]
    other = [s.measurements[FACT] for s in known if s.target != label]
    return sum(own), len(own), sum(other), len(other)


def _threshold(sums: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        averages = sums[..., [0, 2]] / np.where(sums[..., [1, 3]] > 0, sums[..., [1, 3]], np.nan)
    return np.asarray(averages.mean(axis=-1))


class _Items(NamedTuple):
    """The test items, N of each."""

    cluster: npt.NDArray[np.int64]
    has: npt.NDArray[np.bool_]
    probability: Array
    """NaN for none."""

    def counted(self, threshold: float) -> Array:
        """For each item, shape (N, 5): is it a hit, called the label, one of the label, right, and an item (1)?"""
        called = self.probability > threshold + _ROUNDING  # NaN is not
        right = (called == self.has) & ~np.isnan(self.probability)
        columns = [called & self.has, called, self.has, right, np.ones(len(self.has))]
        return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=-1)


def _at_threshold(figure_name: str, label: str, part_and_whole: PartAndWhole) -> Metric:
    def figure(counts: Array) -> Array:
        part, whole = part_and_whole(counts)
        figures = np.where(whole > 0, part / np.maximum(whole, 1), 0.0)
        return np.asarray(np.where(counts[..., 4] > 0, figures, np.nan))

    def pooled(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        table = np.zeros((len(clusters), 2))
        items = _test_items(clusters, label)
        train = np.array([_averaged(scores, label) for scores in clusters])
        threshold = float(_threshold(train.sum(axis=0)))
        if not len(items.has) or np.isnan(threshold):
            return np.array([np.nan, 0.0]), table
        counts = np.zeros((len(clusters), 5))
        np.add.at(counts, items.cluster, items.counted(threshold))
        total = counts.sum(axis=0)
        whole = float(figure(total))
        bears = part_and_whole(counts)[1] > 0
        # a figure of one cluster has no error to tell, nor has one that hangs on the only cluster of a class (`moved`)
        table[:, 0] = np.nan if bears.sum() == 1 else whole - figure(total - counts)
        tunes = train[:, [1, 3]].any(axis=1)
        moved = threshold - _threshold(train.sum(axis=0) - train[tunes])
        # at the ends of its range a figure rests on as many observations as clusters, and one that only tunes is none
        if 0 < whole < 1 or np.isnan(moved).any():
            table[tunes, 0] += _slope(items, figure, threshold, moved) * moved
            bears = bears | tunes
        table[:, 1] = bears
        return np.array([whole, 0.0]), table

    of = "" if figure_name == "acc" else f" of {label}"
    return Metric(
        f"{figure_name}_tuned",
        lambda scores: (len(scores),),
        lambda sums: np.asarray(sums[..., 0]),
        tag_filter=(PART, TEST),
        pooled=pooled,
        requires_option="probability",
        contributes=lambda table: table[:, 1] > 0,
        about=f"{figure_name}{of} over the test items at the tuned threshold",
    )


def _slope(items: _Items, figure: Value, threshold: float, moved: Array) -> float:
    """The rise of a figure over that of the threshold, from two standard errors of the threshold below it to two
    above; `moved` is by how much each training cluster left out lowers it. 0 where the threshold has no error."""
    reach = 2 * math.sqrt((len(moved) - 1) / len(moved) * float(np.sum((moved - moved.mean()) ** 2)))
    if not reach > 0:
        return 0.0
    below, above = (float(figure(items.counted(threshold + by).sum(axis=0))) for by in (-reach, reach))
    return (above - below) / (2 * reach)


def _test_items(clusters: Sequence[Sequence[Score]], label: str) -> _Items:
    rows = [
        (number, s.target == label, s.measurements.get(FACT, np.nan))
        for number, scores in enumerate(clusters)
        for s in scores
        if s.tags.get(PART) == TEST
    ]
    cluster, has, probability = zip(*rows, strict=True) if rows else ((), (), ())
    return _Items(np.array(cluster, dtype=np.int64), np.array(has, dtype=bool), np.array(probability))
