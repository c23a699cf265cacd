"""Differences between any two of several runs on the same items, by a paired bootstrap over clusters.

Clusters are drawn with replacement, all runs with the same draws, so that what the runs share (hard items, hard
documents) cancels in every difference. Only the metric's sums are drawn: those of all draws are one product of counts,
shape (B, C), and the clusters' sums of all runs, shape (C, M·K), and the pairs of M runs cost next to nothing more.

The interval is the expanded percentile interval of Hesterberg (2015, "What Teachers Should Know About the Bootstrap",
The American Statistician 69). Percentiles of draws of n clusters are too narrow, by √((n-1)/n) and by the difference of
Student's t and the normal distribution, and are taken further out to make up for both: at Φ(-√(n/(n-1))·t) for the
0.975 quantile t of n - 1 degrees of freedom.

Percentiles know nothing of clusters that were not seen. Where few differ, those that differ the other way are easily
missed, and the percentiles end at 0 exactly: of 100 items of which three are expected to differ, two one way and one
the other, they cover the true difference in 90% of simulated runs. Each end is therefore the further out of the
percentile's and of `paired.difference`'s, whose degrees of freedom tell how few clusters there are to go by; and where
all clusters differ alike the latter alone is left, as draws say nothing. With many clusters that differ, the two are
as good as equal. `tests/coverage_of_intervals.py` prints how often the intervals cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from halu_tasks.scorers.metrics import Array, Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.paired import items_of, left_out, rounding, same_items, sums_of

_CELLS = 2**20
"""How many drawn clusters are in memory at a time."""


class Paired(NamedTuple):
    """A metric of one run minus that of another.

    Attributes:
        value: the difference, in the metric's unit.
        low, high: its 95% interval; None where fewer than two clusters bear on the difference, it hangs on one of
            them, or all differ alike in a metric without an upper bound.
        p: two-sided p value of "no difference", below 0.05 exactly where the interval leaves out 0; None where there
            is no interval.
        stderr: the jackknife's standard error, 0 where all clusters differ alike.
        items: how many items of each run have the tag that the metric is about, if it is about one.
        clusters: how many bear on the difference.
        by: whether draws had a say in the interval, or the jackknife alone.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    stderr: float | None
    items: int
    clusters: int
    by: Literal["bootstrap", "jackknife"]


def paired_bootstrap(
    metric: Metric, runs: Sequence[Sequence[Score]], draws: int = 10_000, seed: int = 0
) -> dict[tuple[int, int], Paired]:
    """The metric of run i minus that of run j, for all i < j of M runs on the same items in any order. A pair for which
    the metric is not defined in both runs is left out.

    The p value inverts the interval: the share of draws on the other side of 0, (count + 1) / (B + 1) with those at 0
    on both sides, is taken back to that of Student's t, is no smaller than the jackknife's, and is doubled. Where no
    draw is on the other side, all that draws tell is that p is smaller than they resolve, and it is the jackknife's;
    else the correction for many comparisons (`significance.holm`) would ask for more draws than there are.

    The jackknife alone speaks (`by`) where a metric is `pooled`, as its sums over drawn clusters are not those of the
    clusters; where clusters are fewer than draws can tell apart (about five for 10,000 draws); and where no draw
    differs from 0. A draw in which the metric is not defined for both runs, such as one without any item that it is
    about, is left out.

    Args:
        draws: how many times B the clusters are drawn.
        seed: the same runs and seed give the same draws, whatever the order of the scores.

    Raises:
        ValueError: the runs are not of the same items and clusters.
    """
    for number, run in enumerate(runs[1:], 1):
        if wrong := same_items(runs[0], run):
            raise ValueError(f"runs 0 and {number}: {wrong}")
    if len(runs) < 2 or not runs[0]:
        return {}
    sums = [sums_of(metric, run) for run in runs]
    items = items_of(metric, runs[0])
    values: Sequence[Array] = []
    if not metric.pooled:
        drawn = np.split(_drawn(np.hstack([table for _, table in sums]), draws, seed), len(runs), axis=1)
        values = [metric.value(own) for own in drawn]
    found = {}
    for i, j in combinations(range(len(runs)), 2):
        known = left_out(metric, sums[i], sums[j])
        if known is None:
            continue
        low, high = known.interval or (None, None)
        above, below = known.tails or (None, None)
        by: Literal["bootstrap", "jackknife"] = "jackknife"
        if known.stderr and values and (own := _percentiles(values[i] - values[j], known.clusters, rounding(metric))):
            assert low is not None and high is not None and above is not None and below is not None
            low, high, above, below = min(low, own[0]), max(high, own[1]), max(above, own[2]), max(below, own[3])
            by = "bootstrap"
        p = None if above is None or below is None else min(2 * min(above, below), 1.0)
        found[i, j] = Paired(known.value, low, high, p, known.stderr, items, known.clusters, by)
    return found


def _drawn(table: Array, draws: int, seed: int) -> Array:
    """The sums of as many rows of `table`, shape (C, K), as it has, drawn with replacement; shape (B, K)."""
    rng = np.random.default_rng(seed)
    clusters = len(table)
    sums = np.empty((draws, table.shape[1]))
    step = max(_CELLS // clusters, 1)
    for begin in range(0, draws, step):
        rows = min(step, draws - begin)
        picked = rng.integers(clusters, size=(rows, clusters))
        picked += np.arange(rows)[:, None] * clusters
        counts = np.bincount(picked.ravel(), minlength=rows * clusters).reshape(rows, clusters)
        sums[begin : begin + rows] = counts.astype(np.float64) @ table
    return sums


def _percentiles(differences: Array, clusters: int, none: float) -> tuple[float, float, float, float] | None:
    """Low and high end of the expanded percentile interval, and one-sided p values of "not above 0" and "not below 0",
    0 for less than the draws resolve; None where there are too few draws for the percentiles. A difference of at most
    `none` is 0."""
    known = np.sort(differences[~np.isnan(differences)])
    known[np.abs(known) <= none] = 0.0
    draws = len(known)
    level = float(ndtr(-math.sqrt(clusters / (clusters - 1)) * float(stdtrit(clusters - 1, 0.975))))
    # the end leaves out 0 where (count + 1) / (draws + 1) < level, as the p value counts
    rank = math.ceil(level * (draws + 1) - 1)
    if rank < 1:
        return None
    shrink = math.sqrt((clusters - 1) / clusters)
    above, below = (
        float(stdtr(clusters - 1, shrink * float(ndtri((count + 1) / (draws + 1))))) if count else 0.0
        for count in (np.count_nonzero(known <= 0), np.count_nonzero(known >= 0))
    )
    return float(known[rank - 1]), float(known[-rank]), above, below
