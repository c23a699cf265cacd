"""Metrics of the probability of a label other than ROC-AUC: average precision, Brier score, calibration error.

An item without a probability counts as 0.5 in the Brier score and the calibration error, and is never retrieved in the
average precision. All metrics are undefined if no item has a probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Array, Items, Metric, Pooled, ratio
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.jackknife import Value
from halu_tasks.scorers.statistics.probability import (
    FACT,
    PROBABILITY_COLUMNS,
    Probabilities,
    probability_row,
    roc_auc,
)
from halu_tasks.scorers.statistics.threshold import tuned_metrics

BINS = 10
"""The number of bins of equal width in the calibration error."""

_LARGEST = 64
"""The largest number of items of a cluster that is left out at the same time as others."""


def probability_metrics(label: str) -> tuple[Metric, ...]:
    """Create all metrics of the probability of `label`.

    These are `roc_auc`, `auprc`, `brier`, `ece`, `ece_by_chance`, `no_probability`, and those of a tuned threshold.
    """
    area, missing = roc_auc(label)
    return area, auprc(label), brier(label), ece(label), ece_by_chance(label), missing, *tuned_metrics(label)


def auprc(label: str) -> Metric:
    """Create the average precision of the probability of `label`, 0 to 1.

    It is the sum over thresholds of the precision at each times the increase in recall, where equal probabilities share
    a threshold. It estimates the area under the precision-recall curve without interpolation.
    """

    def sums(pooled: Items) -> tuple[Array, Array]:
        items = Probabilities.of(pooled)
        table = np.zeros((pooled.clusters, 3))
        if np.isnan(items.probability).all():
            return np.array([np.nan, 0.0, 0.0]), table
        whole, without_one = average_precision(items, pooled.clusters)
        table[:, 0] = whole - without_one
        table[:, 1], table[:, 2] = (
            np.bincount(items.cluster[one], minlength=len(table)) for one in (items.has, ~items.has)
        )
        return np.array([whole, 0.0, 0.0]), table

    return Metric(
        "auprc",
        lambda scores: (len(scores),),
        lambda sums: np.asarray(sums[..., 0]),
        pooled=Pooled(PROBABILITY_COLUMNS, partial(probability_row, label=label), sums),
        classes=lambda table: np.asarray(table[:, 1:] > 0),
        requires_option="probability",
        contributes=lambda table: np.asarray(table[:, 1:].sum(axis=1) > 0),
        about=f"average precision of the probability of {label}",
    )


def average_precision(items: Probabilities, clusters: int) -> tuple[float, Array]:
    """Compute the average precision of items, and that without each cluster.

    Sorted by probability, an item with the label adds H / R, where R items are above the end of its threshold, H of
    them with the label. Without a cluster that has r of the R items and h of the H, it adds (H - h) / (R - r). Between
    two items of the cluster, r and h do not change, so that the sum is a cumulative sum of H / (R - r) minus h times
    one of 1 / (R - r). There are as many such sums as a cluster has items; larger clusters are left out one by one.

    Args:
        items: The items.
        clusters: The number C of clusters.

    Returns:
        The value and the values without each cluster, shape (C,); NaN without items with the label.
    """
    ranked = _Ranked.of(items)
    positives = np.bincount(items.cluster[items.has], minlength=clusters).astype(np.float64)
    sums = _without_each(ranked, clusters)
    for large in np.flatnonzero(np.bincount(items.cluster, minlength=clusters) > _LARGEST):
        rest = items.cluster != large
        sums[large] = _Ranked.of(Probabilities(items.cluster[rest], items.has[rest], items.probability[rest])).total()
    with np.errstate(divide="ignore", invalid="ignore"):
        left = positives.sum() - positives
        return float(ranked.total() / positives.sum()), np.asarray(np.where(left > 0, sums / left, np.nan))


class _Ranked(NamedTuple):
    """The N items with a probability, in descending order of it.

    Attributes:
        cluster: The number of each item's cluster, shape (N,).
        has: Whether each item has the label, shape (N,).
        begin: The first item at the threshold of each, shape (N,).
        end: The last item at the threshold of each, shape (N,).
        retrieved: The number of items up to `end`, shape (N,).
        hits: The number of items up to `end` with the label, shape (N,).
    """

    cluster: npt.NDArray[np.int64]
    has: npt.NDArray[np.bool_]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    retrieved: Array
    hits: Array

    @classmethod
    def of(cls, items: Probabilities) -> _Ranked:
        order = np.argsort(-items.probability, kind="stable")  # NaN comes last
        order = order[: np.count_nonzero(~np.isnan(items.probability))]
        cluster, has, probability = items.cluster[order], items.has[order], items.probability[order]
        ends = np.flatnonzero(np.append(np.diff(probability) != 0, True)) if len(order) else order
        threshold = np.searchsorted(ends, np.arange(len(order)))
        begin, end = np.append(0, ends[:-1] + 1)[threshold], ends[threshold]
        retrieved, hits = (column.astype(np.float64) for column in (end + 1, np.cumsum(has)[end]))
        return cls(cluster, has, begin, end, retrieved, hits)

    def total(self) -> float:
        """Compute the sum of H / R over the items with the label."""
        ends = np.flatnonzero(self.end == np.arange(len(self.end)))
        return float((np.diff(self.hits[ends], prepend=0) * self.hits[ends] / self.retrieved[ends]).sum())


def _without_each(ranked: _Ranked, clusters: int) -> Array:
    """Compute the sum of (H - h) / (R - r) over the items that are left with the label, without each small cluster."""
    cluster, has, begin, end, retrieved, hits = ranked
    items = len(cluster)
    by_cluster = np.argsort(cluster, kind="stable")
    size = np.bincount(cluster, minlength=clusters)
    first = np.cumsum(size) - size
    own = has[by_cluster].astype(np.float64)
    before = np.cumsum(own) - own
    own_hits = before + own - np.repeat(before[first[size > 0]], size[size > 0])

    def left(r: Array | int) -> Array:
        return np.where(retrieved > r, 1 / np.maximum(retrieved - r, 1), 0.0)

    sums = np.zeros(clusters)
    for r in range(int(size[size <= _LARGEST].max(initial=0)) + 1):
        # from the threshold of the r-th item of a cluster up to that of its next one
        which = np.flatnonzero((size >= r) & (size <= _LARGEST))
        last = first[which] + r - 1
        starts = begin[by_cluster[last]] if r else np.zeros(len(which), dtype=np.int64)
        stops = np.full(len(which), items)
        more = size[which] > r
        stops[more] = begin[by_cluster[last[more] + 1]]
        share = has * left(r)
        precisions, shares = np.append(0.0, np.cumsum(hits * share)), np.append(0.0, np.cumsum(share))
        h = own_hits[last] if r else np.zeros(len(which))
        sums[which] += precisions[stops] - precisions[starts] - h * (shares[stops] - shares[starts])
    # these sums include the cluster's own items
    last = np.searchsorted(cluster[by_cluster] * items + by_cluster, cluster * items + end, side="right") - 1
    added = has * (hits - own_hits[last]) * left(last - first[cluster] + 1.0)
    return np.asarray(sums - np.bincount(cluster, added, clusters))


def brier(label: str) -> Metric:
    """Create the Brier score, 0 to 1: the mean squared difference between the probability and 1 or 0.

    The difference is to 1 if the item has the label and to 0 if not. A constant probability of 0.5 scores 0.25.
    """

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        errors = math.fsum((s.measurements.get(FACT, 0.5) - (s.target == label)) ** 2 for s in scores)
        return errors, len(scores), sum(FACT in s.measurements for s in scores)

    return Metric(
        "brier",
        counts,
        _if_any(lambda sums: ratio(sums[..., :2])),
        higher_is_better=False,
        requires_option="probability",
        by_item=True,
        about=f"mean squared difference between the probability of {label} and 1 if it is the target, else 0",
    )


def ece(label: str) -> Metric:
    """Create the expected calibration error (Naeini et al. 2015), 0 to 1.

    It is the mean over ten bins of equal width, weighted by their items, of the absolute difference between the average
    probability in the bin and the share of its items that have the label.

    Absolute differences do not cancel, so that calibrated probabilities have an error too, which falls only with the
    root of the number of items: `ece_by_chance` is that part. An interval around the error would leave out the true
    one, so it has none.
    """

    def value(sums: Array) -> Array:
        gaps = np.abs(sums[..., _GAPS]).sum(axis=-1)
        return ratio(np.stack([gaps, sums[..., _ITEMS].sum(axis=-1)], axis=-1))

    about = f"expected calibration error of the probability of {label}, in {BINS} bins"
    return Metric(
        "ece",
        partial(_binned, label=label),
        _if_any(value),
        higher_is_better=False,
        requires_option="probability",
        by_item=True,
        has_error=False,
        about=about,
    )


def ece_by_chance(label: str) -> Metric:
    """Create the average `ece` of calibrated probabilities, 0 to 1, for the same probabilities and number of items.

    The items of a bin that have the label are taken for independent draws with the items' probabilities. Their number
    has about the binomial distribution with the same mean and variance, whose mean absolute deviation is
    2 (1 - p) k C(n, k) pᵏ (1 - p)ⁿ⁻ᵏ with k = ⌊n p⌋ + 1 (de Moivre 1730).
    """

    def value(sums: Array) -> Array:
        items, expected, squares = sums[..., _ITEMS], sums[..., _EXPECTED], sums[..., _SQUARES]
        # of the items with and without the label, the rarer ones are counted
        rest = items - expected
        rare = np.minimum(expected, rest)
        of_rest = items - 2 * expected + squares
        gaps = _mean_deviation(rare, np.where(expected <= rest, squares, of_rest))
        return ratio(np.stack([gaps.sum(axis=-1), items.sum(axis=-1)], axis=-1))

    about = "expected ece of calibrated probabilities, which is the part of ece that is due to chance"
    return Metric(
        "ece_by_chance",
        partial(_binned, label=label),
        _if_any(value),
        higher_is_better=None,
        requires_option="probability",
        by_item=True,
        has_error=False,
        about=about,
    )


_ITEMS, _EXPECTED, _SQUARES, _GAPS = (slice(i * BINS, (i + 1) * BINS) for i in range(4))
"""The sums by bin: of items, their probabilities, the squares of these, and the probabilities minus 1 or 0."""


def _binned(scores: Sequence[Score], label: str) -> Sequence[float]:
    """Compute the sums by bin, then the number of items with a probability."""
    numbers: list[list[float]] = [[] for _ in range(4 * BINS)]
    for s in scores:
        probability = s.measurements.get(FACT, 0.5)
        index = min(int(probability * BINS), BINS - 1)
        for part, number in enumerate((1.0, probability, probability**2, probability - (s.target == label))):
            numbers[part * BINS + index].append(number)
    return *map(math.fsum, numbers), sum(FACT in s.measurements for s in scores)


def _mean_deviation(expected: Array, squares: Array) -> Array:
    """Compute the mean absolute deviation of the number of hits of independent items, from sums of probabilities.

    Args:
        expected: The sum of the probabilities.
        squares: The sum of their squares.
    """
    from scipy.special import gammaln, xlog1py, xlogy  # imported here because listings do not need it

    expected = np.maximum(expected, 0.0)
    p = np.clip(np.where(expected > 0, squares / np.where(expected > 0, expected, 1.0), 0.0), 0.0, 1.0)
    n = np.where(p > 0, expected / np.where(p > 0, p, 1.0), 0.0)
    k = np.floor(expected) + 1
    rest = np.maximum(n - k, 0.0)
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(rest + 1) + xlogy(k, p) + xlog1py(rest, -p)
    return np.asarray(np.where(expected > 0, 2 * (1 - p) * k * np.exp(log), 0.0))


def _if_any(value: Value) -> Value:
    """Make a metric undefined if the last sum, the number of probabilities, is 0."""
    return lambda sums: np.asarray(np.where(sums[..., -1] > 0, value(sums), np.nan))
