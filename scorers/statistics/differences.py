"""Differences between runs on the same items.

The error of a difference comes from leaving out one cluster of both runs at a time. What the runs share (hard items,
hard documents) therefore cancels, as in a paired t-test, which it would not in two separate errors.

The p-values of many differences at once, all pairs of runs in all metrics of a report, are adjusted by Holm's method.
`tests/error_rates_of_reports.py` prints how often equal models are called different, and how often differences are
found.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from halu_tasks.scorers.columns import Array, by_cluster
from halu_tasks.scorers.metrics import Metric, jackknife
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.intervals import (
    BELOW,
    NO_VARIANCE,
    correlation_of,
    degrees_of_freedom,
    joint_reach,
    t_quantile,
    unseen_share,
    unseen_weight,
)
from halu_tasks.scorers.statistics.jackknife import Jackknife, Stratum, reach_of_strata

T = TypeVar("T")

# --- one difference ---------------------------------------------------------------------------------------


class Difference(NamedTuple):
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
    p_equal: float | None = None


def same_items(ones: Sequence[ScoredReply], others: Sequence[ScoredReply]) -> str:
    """Check that two runs are on the same items and clusters; an item may occur several times (epochs) in both.

    Returns:
        The problem, with the number of items that only one run has, or else of those that are in another cluster, and
        an example; an empty string if there is none.
    """
    first, second = (Counter(s.id for s in scores) for scores in (ones, others))
    problems = [
        f"{missing.total()} only in the {run} run, such as {min(missing)}"
        for run, missing in (("first", first - second), ("second", second - first))
        if missing
    ]
    if not problems:
        in_first, in_second = (Counter((s.id, s.cluster) for s in scores) for scores in (ones, others))
        if moved := in_first - in_second:
            problems = [f"{moved.total()} in another cluster in the second run, such as {min(moved)[0]}"]
    return f"the runs differ in their items: {'; '.join(problems)}" if problems else ""


def without_clusters(metric: Metric, scores: Sequence[ScoredReply]) -> Jackknife:
    """Compute a metric of a run without each cluster, in the order of the clusters' names.

    Runs on the same items therefore have the same order. Repeats of an item keep theirs.
    """
    return jackknife(metric, by_cluster(sorted(scores, key=lambda s: (s.cluster, s.id))))


def counted_scores(metric: Metric, scores: Sequence[ScoredReply]) -> list[ScoredReply]:
    """Select the scores with the metric's tags, all if it has none."""
    return [s for s in scores if {*metric.within} <= s.tags.items()]


def items_of(metric: Metric, scores: Sequence[ScoredReply]) -> int:
    """Count the items, only those with the metric's tag if it has one. Repeats of an item count once."""
    return len({s.id for s in counted_scores(metric, scores)})


def difference(
    metric: Metric, ones: Sequence[ScoredReply], others: Sequence[ScoredReply], margin: float | None = None
) -> Difference | None:
    """Compute the difference of a metric between two runs on the same items.

    Args:
        metric: The metric.
        ones: The scores of the first run, in any order.
        others: The scores of the second run, in any order.
        margin: The difference below which two runs count as equal, in the metric's unit; None to test no equality.

    Returns:
        The difference; None if the metric is undefined in one of the runs.

    Raises:
        ValueError: The runs differ in their items or clusters.
    """
    if problem := same_items(ones, others):
        raise ValueError(problem)
    first, second = (without_clusters(metric, run) for run in (ones, others))
    return difference_of(metric, first, second, items_of(metric, ones), margin)


def difference_of(
    metric: Metric, first: Jackknife, second: Jackknife, items: int, margin: float | None = None
) -> Difference | None:
    """Compute the difference of a metric between two runs on the same items.

    Args:
        metric: The metric.
        first: What `without_clusters` computes of the first run.
        second: What it computes of the second run.
        items: The number of items in each run.
        margin: The difference below which two runs count as equal; None to test no equality.

    Returns:
        The difference; None if the metric is undefined in one of the runs.
    """
    change = first.minus(second)
    value, error = change.value, _error(metric, change)
    if math.isnan(value):
        return None
    if not (error and (error.reach(BELOW) or error.reach(BELOW, -1))):
        return Difference(value, None, None, None, error and error.stderr, items, change.clusters)
    low, high = max(value - error.reach(BELOW), -error.width), min(value + error.reach(BELOW, -1), error.width)
    p, p_equal = min(2 * error.tail(abs(value), 1 if value >= 0 else -1), 1.0), None
    if margin is not None:
        p_equal = max(error.tail(margin + sign * value, sign) for sign in (1, -1))
    return Difference(value, low, high, p, error.stderr, items, change.clusters, p_equal)


def difference_where_both(
    attempt: Metric, metric: Metric, ones: Sequence[ScoredReply], others: Sequence[ScoredReply]
) -> Difference | None:
    """Compute the difference of a metric on the items that two runs on the same items both attempted.

    Shares among the attempted do not compare where two models attempt different items, which may be easier for one.

    Args:
        attempt: The metric that says of an item whether it was attempted.
        metric: The metric that is compared.
        ones: The scores of the first run.
        others: The scores of the second run.

    Returns:
        The difference; None if no item was attempted by both, in all of its repeats, or the metric is undefined.
    """
    left_out = {
        score.id
        for scores in (ones, others)
        for score, attempted in zip(scores, attempt.of_items(by_cluster(scores)), strict=True)
        if attempted != 1
    }
    first, second = ([score for score in scores if score.id not in left_out] for scores in (ones, others))
    return difference(metric, first, second) if first else None


class DifferenceError(NamedTuple):
    """The error of a difference between two runs.

    The interval is Student's t around the difference, limited to the differences that the metric's range allows, with
    `degrees_of_freedom`. They are about 2k if k clusters differ and the others do not.

    If all clusters differ by the same amount, as in two equal runs, the standard error is 0. The interval then assumes
    that up to t²/(n + t²) of all clusters, the upper end of Wilson's interval for a share of 0 out of n, differ from
    those observed as far as the metric's range allows. Two equal runs of 100 clusters thus differ by 0 ± 0.04 in a
    share. Without an upper bound, there is no interval in this case. If k clusters differ, this interval is narrower by
    the factor k, and the wider one counts, so that one item that changes a little does not narrow it.

    Attributes:
        value: The difference.
        stderr: The jackknife standard error; 0 if all clusters differ by the same amount.
        degrees: The degrees of freedom of the standard error.
        width: The width of the metric's range, which is the largest possible difference; may be infinite.
        unseen: The weight, 0 to 1, of clusters that differ from all that were seen; 1 if the standard error is 0, and 0
            if the width is infinite.
        clusters: The number of clusters on which the difference rests (`Jackknife.basis`).
    """

    value: float
    stderr: float
    degrees: float
    width: float
    unseen: float
    clusters: float

    def reach(self, beyond: float, sign: int = 1) -> float:
        """Return the distance to the lower end of an interval, with `sign` -1 to the upper one.

        Args:
            beyond: The probability beyond the end.
            sign: Which end.
        """
        reach = -t_quantile(self.degrees, beyond) * self.stderr
        if self.unseen:
            share = self.unseen * unseen_share(self.clusters, t_quantile(self.clusters - 1, beyond))
            reach = max(reach, share * (self.width + sign * self.value))
        return reach

    def tail(self, above: float, sign: int) -> float:
        """Return the p-value of "the difference is not above a bound", which is that where the interval ends there.

        Args:
            above: By how much the difference is above the bound; with `sign` -1, below it.
            sign: Which end of the interval the bound is at, as in `reach`.
        """
        from scipy.special import stdtr

        size = abs(above)
        below = float(stdtr(self.degrees, -size / self.stderr)) if self.stderr else 0.0
        if self.unseen:
            room = self.width + sign * self.value
            share = size / (self.unseen * room) if room else math.inf
            t = math.sqrt(self.clusters * share / (1 - share)) if share < 1 else math.inf
            below = max(below, float(stdtr(self.clusters - 1, -t)))
        return below if above >= 0 else 1 - below


class MeanDifferenceError(NamedTuple):
    """The error of a mean of differences, combined as for a single figure (`intervals.mean_interval`).

    Attributes:
        parts: The error of each.
        correlation: The correlation of these errors.
        part_count: The number of differences.
        stderr: The standard error of the mean.
        width: The width of the metric's range.
    """

    parts: Sequence[DifferenceError]
    correlation: Array
    part_count: int
    stderr: float
    width: float

    def reach(self, beyond: float, sign: int = 1) -> float:
        """Return the distance to an end, as `DifferenceError.reach`."""
        return (
            joint_reach(np.array([part.reach(beyond, sign) for part in self.parts]), self.correlation) / self.part_count
        )

    def tail(self, above: float, sign: int) -> float:
        """Return the p-value that `DifferenceError.tail` does."""
        return _tail(self.reach, above, sign)


class StrataDifferenceError(NamedTuple):
    """The error of a difference that rests on labelled items of several strata in each run.

    The interval is the wider one of Student's t and of that combined from the strata, as that of a figure is.

    Attributes:
        stderr: The jackknife standard error.
        clusters: The number of clusters on which the difference rests.
        width: The width of the metric's range.
        strata: The strata of both runs.
        of_strata: The error of the mean of each, as a distance from the middle of its range; None if fewer than two
            clusters have labels.
    """

    stderr: float
    clusters: float
    width: float
    strata: Sequence[Stratum]
    of_strata: Sequence[DifferenceError | None]

    def reach(self, beyond: float, sign: int = 1) -> float:
        """Return the distance to an end, as `DifferenceError.reach`."""
        ends = []
        for stratum, error in zip(self.strata, self.of_strata, strict=True):
            low, high = _bounds(stratum.share)
            if error:
                mean = stratum.share.value
                low, high = max(low, mean - error.reach(beyond)), min(high, mean + error.reach(beyond, -1))
            ends.append((low, high))
        below, above = reach_of_strata(self.strata, ends)
        return max(-t_quantile(self.clusters - 1.0, beyond) * self.stderr, below if sign > 0 else above)

    def tail(self, above: float, sign: int) -> float:
        """Return the p-value that `DifferenceError.tail` does."""
        return _tail(self.reach, above, sign)


def _tail(reach: Callable[[float, int], float], above: float, sign: int) -> float:
    """Return the p-value at which an interval of a given reach ends at a bound, by bisection."""
    low, high = -300.0, math.log10(0.5)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reach(10**middle, sign) > abs(above) else (low, middle)
    return 10**high if above >= 0 else 1 - 10**high


def _bounds(share: Jackknife) -> tuple[float, float]:
    assert share.basis
    return share.basis.bounds


def _error(metric: Metric, change: Jackknife) -> DifferenceError | MeanDifferenceError | StrataDifferenceError | None:
    if change.parts and not metric.members:
        errors = [_error_of_one(metric, part) for part in change.parts]
        of_parts = [error for error in errors if error]
        if len(of_parts) < len(errors):
            return None
        covariance = change.covariance()
        stderr = math.sqrt(max(float(covariance.sum()), 0.0)) / change.part_count
        return MeanDifferenceError(of_parts, correlation_of(covariance), change.part_count, stderr, of_parts[0].width)
    error = _error_of_one(metric, change)
    if not (error and change.strata):
        return error
    of_strata = [_error_of_share(stratum.share) for stratum in change.strata]
    return StrataDifferenceError(error.stderr, error.clusters, error.width, change.strata, of_strata)


def _error_of_share(share: Jackknife) -> DifferenceError | None:
    bottom, top = _bounds(share)
    return _error_within((top - bottom) / 2, share._replace(value=share.value - (top + bottom) / 2))


def _error_of_one(metric: Metric, change: Jackknife) -> DifferenceError | None:
    return _error_within(metric.range[1] - metric.range[0], change) if metric.has_interval else None


def _error_within(width: float, change: Jackknife) -> DifferenceError | None:
    moments = change.moments
    if not (moments and change.basis):
        return None
    clusters = min(change.basis.clusters, change.clusters)
    unit = width if math.isfinite(width) else 1.0
    moments = moments.in_units(unit)
    varies = moments.second > NO_VARIANCE
    unseen = math.sqrt(unseen_weight(moments, 1 / clusters)) if varies else 1.0
    return DifferenceError(
        value=change.value,
        stderr=math.sqrt(moments.second) * unit if varies else 0.0,
        degrees=min(degrees_of_freedom(moments), clusters - 1.0),
        width=width,
        unseen=unseen if math.isfinite(width) else 0.0,
        clusters=clusters,
    )


# --- many differences at once -----------------------------------------------------------------------------

LEVEL = 0.05
"""The probability of any false claim in a family of differences."""


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for multiple comparisons by Holm's step-down method (1979).

    If hypotheses are rejected at an adjusted p-value of at most alpha, the probability of any false rejection is at
    most alpha, whatever the dependence between the tests. The k-th smallest of m p-values is multiplied by m - k + 1,
    raised to the previous adjusted one if that is larger, and limited to 1.

    Args:
        p_values: The p-values; None for a comparison that could not be tested, which does not count among the m.

    Returns:
        The adjusted p-values in the same order; None stays None.
    """
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(tested):
        largest = max(largest, min((len(tested) - rank) * p, 1.0))
        adjusted[index] = largest
    return adjusted


def rank_ranges(better: Iterable[tuple[T, T]], runs: Sequence[T]) -> list[tuple[int, int]]:
    """Compute confidence sets for the ranks of M runs, where 1 is the best.

    These are the sets of Mogstad, Romano, Shaikh and Wilhelm (2024, "Inference for Ranks", Review of Economic Studies
    91). They range from 1 + the number of runs that are significantly better to M - the number that are significantly
    worse. If the probability that any of the claims is false is at most 5%, as for the p-values of `holm`, then with a
    probability of 95% the sets of all runs contain their ranks, and if runs tie, all ranks that they share.

    Args:
        better: The pairs of runs of which the first is significantly better than the second.
        runs: The M runs.

    Returns:
        The best and the worst rank of each run.
    """
    claims = set(better)
    return [
        (1 + sum(loser == run for _, loser in claims), len(runs) - sum(winner == run for winner, _ in claims))
        for run in runs
    ]
