"""Differences between runs on the same items.

The error of a difference comes from leaving out one cluster of both runs at a time. What the runs share (hard items,
hard documents) therefore cancels, as in a paired t-test, which it would not in two separate errors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from halu_tasks.scorers.metrics import Metric, by_cluster, left_out
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.intervals import (
    NO_VARIANCE,
    degrees_of_freedom,
    support,
    unseen_share,
    unseen_weight,
)
from halu_tasks.scorers.statistics.jackknife import LeftOut, Spread


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


def same_items(ones: Sequence[Score], others: Sequence[Score]) -> str:
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


def without_clusters(metric: Metric, scores: Sequence[Score]) -> LeftOut:
    """Compute a metric of a run without each cluster, in the order of the clusters' names.

    Runs on the same items therefore have the same order. Repeats of an item keep theirs.
    """
    return left_out(metric, by_cluster(sorted(scores, key=lambda s: (s.cluster, s.id))))


def items_of(metric: Metric, scores: Sequence[Score]) -> int:
    """Count the items, only those with the metric's tag if it has one. Repeats of an item count once."""
    return len({s.id for s in scores if metric.tag_filter is None or metric.tag_filter in s.tags.items()})


def difference(
    metric: Metric, ones: Sequence[Score], others: Sequence[Score], margin: float | None = None
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
    runs = [without_clusters(metric, run) for run in (ones, others)]
    return differences_of(metric, runs, items_of(metric, ones), margin).get((0, 1))


def differences_of(
    metric: Metric, runs: Sequence[LeftOut], items: int, margin: float | None = None
) -> dict[tuple[int, int], Difference]:
    """Compute the differences of a metric between run i and run j, for all i < j of M runs on the same items.

    Args:
        metric: The metric.
        runs: What `without_clusters` computes of each run.
        items: The number of items in each run.
        margin: The difference below which two runs count as equal; None to test no equality.

    Returns:
        The difference of each pair (i, j); pairs are left out if the metric is undefined in one of the runs.
    """
    pairs = {}
    for i, j in combinations(range(len(runs)), 2):
        change = runs[i].minus(runs[j])
        if math.isnan(change.value):
            continue
        clusters = int(change.contributes.sum())
        error = _error(metric, change)
        low, high = (error.interval(change.value) if error else None) or (None, None)
        p = p_equal = None
        if error and low is not None:
            p = min(2 * min(error.tail(change.value), error.tail(-change.value)), 1.0)
            p_equal = None if margin is None else error.outside(change.value, margin)
        pairs[i, j] = Difference(change.value, low, high, p, error and error.stderr, items, clusters, p_equal)
    return pairs


class DifferenceError(NamedTuple):
    """The error of a difference between two runs.

    The interval is Student's t around the difference, limited to the differences that the metric's range allows, with
    `degrees_of_freedom`. They are about 2k if k clusters differ and the others do not.

    If all clusters differ by the same amount, as in two equal runs, the standard error is 0. The interval then assumes
    that up to t²/(n + t²) of all clusters, the upper end of Wilson's interval for a share of 0 out of n, differ from
    those observed as far as the metric's range allows. Two equal runs of 100 clusters thus differ by 0 ± 0.04 in a
    share. Without an upper bound, there is no interval in this case. If k clusters differ, this part is reduced by the
    factor k, and the interval reaches as far as the root of the sum of both squares, so that one item that flips does
    not narrow it.

    Attributes:
        stderr: The jackknife standard error; 0 if all clusters differ by the same amount.
        degrees: The degrees of freedom of the standard error.
        width: The width of the metric's range, which is the largest possible difference; may be infinite.
        unseen: The weight, 0 to 1, of clusters that differ from all that were seen; 1 if the standard error is 0, and 0
            if the width is infinite.
        clusters: The number of clusters on which the difference rests (`support`).
    """

    stderr: float
    degrees: float
    width: float
    unseen: float
    clusters: int

    def interval(self, value: float) -> tuple[float, float] | None:
        """Return the 95% interval of a difference; None if there is none."""
        if not (self.stderr > 0 or self.unseen > 0):
            return None
        below, above = (self._reach(0.025, room) for room in (self.width + value, self.width - value))
        return max(value - below, -self.width), min(value + above, self.width)

    def tail(self, value: float, room: float | None = None) -> float:
        """Return the p-value of "the difference is not above 0"; below 0.025 if and only if the interval is above 0.

        Args:
            value: By how much the difference is above 0.
            room: How far unseen clusters can differ from it downwards; by default as far as the range allows.
        """
        from scipy.optimize import brentq
        from scipy.special import stdtr

        room = self.width + value if room is None else room
        if not self.unseen:
            return float(stdtr(self.degrees, -value / self.stderr)) if self.stderr else 0.5
        size, least = abs(value), 1e-100
        if not size or self._reach(least, room) <= size:
            below = 0.5 if not size else least
        else:
            below = math.exp(
                brentq(lambda log: self._reach(math.exp(log), room) - size, math.log(least), math.log(0.5))
            )
        return below if value >= 0 else 1 - below

    def outside(self, value: float, margin: float) -> float:
        """Return the p-value of "the difference is `margin` or more in either direction"."""
        above = self.tail(value + margin, self.width + value)
        return max(above, self.tail(margin - value, self.width - value))

    def _reach(self, tail: float, room: float) -> float:
        """Return how far an end of the interval is from the value.

        Args:
            tail: The probability beyond this end, up to 0.5.
            room: How far unseen clusters can differ from the value in this direction.
        """
        from scipy.special import stdtrit

        seen = abs(float(stdtrit(self.degrees, tail))) * self.stderr
        if not self.unseen:
            return seen
        t = float(stdtrit(self.clusters - 1, tail))
        return math.hypot(seen, math.sqrt(self.unseen) * room * unseen_share(self.clusters, t))


def _error(metric: Metric, change: LeftOut) -> DifferenceError | None:
    """Compute the error of a difference; None if there is too little for one."""
    spread = Spread.of([change])
    rests_on: int | None = spread.clusters
    if metric.error.classes:
        rests_on = support(spread.of_classes, averaged=metric.error.averaged)
    if not (spread.moments and rests_on and change.supported and metric.error.interval):
        return None
    rests_on = min(rests_on, spread.clusters)
    width = metric.range[1] - metric.range[0]
    unit = width if math.isfinite(width) else 1.0
    moments = spread.moments.in_units(unit)
    varies = moments.second > NO_VARIANCE
    unseen = unseen_weight(moments, 1 / rests_on) if varies else 1.0
    return DifferenceError(
        stderr=math.sqrt(moments.second) * unit if varies else 0.0,
        degrees=min(degrees_of_freedom(moments), rests_on - 1.0),
        width=width,
        unseen=unseen if math.isfinite(width) else 0.0,
        clusters=rests_on,
    )
