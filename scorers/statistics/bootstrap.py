"""Differences between any two of several runs on the same items, by a paired bootstrap over clusters.

Clusters are drawn with replacement, the same ones for all runs, so what the runs share (hard items, hard documents)
cancels in every difference. Only the metric's sums are resampled: those of all B draws are one product of counts, shape
(B, C), and the clusters' sums of all M runs, shape (C, M·K), so the number of pairs hardly adds to the cost.

The interval is the expanded percentile interval of Hesterberg (2015, "What Teachers Should Know About the Bootstrap",
The American Statistician 69). Percentiles of draws of n clusters are too narrow by a factor of √((n-1)/n) and by the
difference between Student's t and the normal distribution. To correct for both, the percentiles are taken at
Φ(-√(n/(n-1))·t), where t is the 0.975 quantile of Student's t with n - 1 degrees of freedom.

Percentiles cannot account for clusters that are not in the sample. If few clusters differ, those that differ in the
other direction are easily missed, and the interval then ends exactly at 0: for 100 items of which three are expected
to differ, two in one direction and one in the other, it covers the true difference in 90% of simulated runs. Each end
is therefore the one further out of the percentile and of the interval of `paired.difference`, whose degrees of freedom
account for the small number of clusters that differ. If all clusters differ by the same amount, the draws have no
spread and only the latter is used. If many clusters differ, the two are practically equal.
`tests/coverage_of_intervals.py` prints how often the intervals cover the true difference.
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
from halu_tasks.scorers.statistics.paired import Sums, items_of, left_out, rounding, same_items, sums_of

_CELLS = 2**20
"""The maximum number of drawn clusters in memory."""


class Paired(NamedTuple):
    """The difference of a metric between two runs: its value in the first one minus that in the second one.

    Attributes:
        value: The difference, in the metric's unit.
        low: The lower end of the 95% interval; None, as is `high`, if fewer than two clusters contribute, the
            difference is undefined without one of them, or all differ by the same amount in a metric without an upper
            bound.
        high: The upper end of the 95% interval.
        p: The two-sided p-value of no difference, which is below 0.05 if and only if the interval excludes 0; None if
            there is no interval.
        stderr: The jackknife standard error; 0 if all clusters differ by the same amount.
        items: The number of items in each run, only counting those with the metric's tag if it has one.
        clusters: The number of clusters that contribute to the difference.
        by: Whether the interval comes from the bootstrap and the jackknife or from the jackknife alone.
        p_equal: The p-value of "the difference is the margin or more, in either direction", which is below 0.05 if and
            only if the 90% interval is within the margin on both sides of 0 (two one-sided tests, Schuirmann 1987);
            None without a margin or an interval.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    stderr: float | None
    items: int
    clusters: int
    by: Literal["bootstrap", "jackknife"]
    p_equal: float | None = None


def paired_bootstrap(
    metric: Metric, runs: Sequence[Sequence[Score]], draws: int = 10_000, seed: int = 0, margin: float | None = None
) -> dict[tuple[int, int], Paired]:
    """Compute the difference of a metric between run i and run j, for all i < j of M runs on the same items.

    The p-value inverts the interval. The share of draws on the other side of 0 is (count + 1) / (B + 1), where draws at
    0 count on both sides. It is converted back to a probability of Student's t, raised to the jackknife's p-value if
    that is larger, and doubled. If no draw is on the other side, the draws only show that p is smaller than they can
    resolve, and the jackknife's is used; otherwise the correction for multiple comparisons
    (`simultaneous.adjusted_p_values`) would need more draws.

    Only the jackknife is used in four cases: if the metric is `pooled`, since its sums over several clusters are not
    the sum of what each contributes; if it has an error that runs share (`Metric.shared`), which does not come from the
    clusters; if there are too few clusters for the number of draws (fewer than about five for
    10,000 draws); and if all draws are 0. Draws in which the metric is undefined for one of the runs, such as those
    without any item with the metric's tag, are left out.

    Args:
        metric: The metric.
        runs: The scores of each run, in any order.
        draws: The number B of times that the clusters are drawn.
        seed: The seed of the draws. The same runs and seed give the same draws, whatever the order of the scores.
        margin: The difference below which two runs count as equal, in the metric's unit; None to test no equality.

    Returns:
        The difference of each pair (i, j); pairs are left out if the metric is undefined in one of the runs.

    Raises:
        ValueError: The runs differ in their items or clusters.
    """
    for number, run in enumerate(runs[1:], 1):
        if problem := same_items(runs[0], run):
            raise ValueError(f"runs 0 and {number}: {problem}")
    if len(runs) < 2 or not runs[0]:
        return {}
    sums = [sums_of(metric, run) for run in runs]
    return bootstrap_of_sums(metric, sums, items_of(metric, runs[0]), draws, seed, margin)


def bootstrap_of_sums(
    metric: Metric,
    sums: Sequence[Sums],
    items: int,
    draws: int = 10_000,
    seed: int = 0,
    margin: float | None = None,
) -> dict[tuple[int, int], Paired]:
    """Compute the differences of `paired_bootstrap` from the sums of M runs.

    Args:
        metric: The metric.
        sums: The metric's sums of each run, as `sums_of` computes them, with the same clusters in the same order.
        items: The number of items in each run.
        draws: The number of times that the clusters are drawn.
        seed: The seed of the draws.
        margin: The difference below which two runs count as equal; None to test no equality.
    """
    values: Sequence[Array] = []
    has_shared = metric.shared is not None and any(metric.shared(total) for total, _ in sums)
    if not metric.pooled and not has_shared:
        drawn = np.split(_drawn(np.hstack([table for _, table in sums]), draws, seed), len(sums), axis=1)
        values = [metric.value(of_run) for of_run in drawn]
    pairs = {}
    for i, j in combinations(range(len(sums)), 2):
        jackknife = left_out(metric, sums[i], sums[j])
        if jackknife is None:
            continue
        low, high = jackknife.interval or (None, None)
        above, below = jackknife.tails or (None, None)
        outside = None if margin is None else jackknife.outside(margin)
        by: Literal["bootstrap", "jackknife"] = "jackknife"
        if jackknife.stderr and values:
            percentiles = _percentiles(values[i] - values[j], jackknife.clusters, rounding(metric), margin or 0.0)
            if percentiles:
                assert low is not None and high is not None and above is not None and below is not None
                low, high = min(low, percentiles.low), max(high, percentiles.high)
                above, below = max(above, percentiles.above), max(below, percentiles.below)
                outside = None if outside is None else max(outside, percentiles.outside)
                by = "bootstrap"
        p = None if above is None or below is None else min(2 * min(above, below), 1.0)
        stderr = jackknife.total_stderr
        pairs[i, j] = Paired(jackknife.value, low, high, p, stderr, items, jackknife.clusters, by, outside)
    return pairs


def _drawn(table: Array, draws: int, seed: int) -> Array:
    """Compute B times the sums of C rows drawn with replacement from `table`, shape (C, K); shape (B, K)."""
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


class _Percentiles(NamedTuple):
    """The expanded percentile interval, with p-values of "not above 0", "not below 0" and "not within the margin"."""

    low: float
    high: float
    above: float
    below: float
    outside: float


def _percentiles(differences: Array, clusters: int, tolerance: float, margin: float) -> _Percentiles | None:
    """Compute the expanded percentile interval of B differences, some of which may be NaN.

    Args:
        differences: The differences, shape (B,).
        clusters: The number of clusters that contribute to them.
        tolerance: Differences up to this size count as 0.
        margin: The difference below which two runs count as equal.

    Returns:
        The interval with its p-values, which are 0 if they are smaller than the draws resolve; None if there are too
        few draws.
    """
    defined = np.sort(differences[~np.isnan(differences)])
    defined[np.abs(defined) <= tolerance] = 0.0
    draws = len(defined)
    level = float(ndtr(-math.sqrt(clusters / (clusters - 1)) * float(stdtrit(clusters - 1, 0.975))))
    # an end excludes 0 if (count + 1) / (draws + 1) < level, which agrees with the p-value
    rank = math.ceil(level * (draws + 1) - 1)
    if rank < 1:
        return None
    shrink = math.sqrt((clusters - 1) / clusters)
    not_above, not_below, *outside = (
        float(stdtr(clusters - 1, shrink * float(ndtri((count + 1) / (draws + 1))))) if count else 0.0
        for count in (
            np.count_nonzero(beyond) for beyond in (defined <= 0, defined >= 0, defined <= -margin, defined >= margin)
        )
    )
    return _Percentiles(float(defined[rank - 1]), float(defined[-rank]), not_above, not_below, max(outside))
