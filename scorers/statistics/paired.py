"""Comparison of two runs on the same items: the difference of a metric, and the items that flip.

The error of a difference comes from leaving out one cluster of both runs at a time. What the runs share (hard items,
hard documents) therefore cancels, as in a paired t-test, which it would not in two separate errors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, stdtr, stdtrit

from halu_tasks.scorers.metrics import Array, Metric, by_cluster
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.agreement import Labels
from halu_tasks.scorers.statistics.intervals import Moments, carriers, deviations, support, unseen_share, unseen_weight

Sums = tuple[Array, Array]
"""The result of `Metric.sums`: sums over all clusters, shape (K,), and the part lost with each one, shape (C, K)."""


class Difference(NamedTuple):
    """The difference of a metric between two runs: its value in the first one minus that in the second one.

    Attributes:
        value: The difference, in the metric's unit.
        stderr: Its standard error; None, as are `low` and `high`, if fewer than two clusters contribute or the
            difference is undefined without one of them.
        low: The lower end of the 95% interval.
        high: The upper end of the 95% interval.
        items: The number of items in each run, only counting those with the metric's tag if it has one.
    """

    value: float
    stderr: float | None
    low: float | None
    high: float | None
    items: int


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


class JackknifeDifference(NamedTuple):
    """The difference of a metric between two runs, with its error from leaving out one cluster at a time.

    Attributes:
        value: The difference, in the metric's unit.
        stderr: Its jackknife standard error; 0 if all clusters differ by the same amount, None if fewer than two
            contribute, the difference is undefined without one of them, or the metric has no error.
        degrees: The degrees of freedom of the standard error.
        clusters: The number of clusters that contribute to the difference.
        width: The width of the metric's range, which is the largest possible difference; may be infinite.
        unseen: The weight, 0 to 1, of clusters that differ from all that were seen; 1 if the standard error is 0, and 0
            if the width is infinite.
        rests_on: The number of clusters on which the difference rests (`intervals.support`).
        shared: The part of the standard error that does not come from the clusters (`Metric.shared`), which is not in
            `stderr`.
    """

    value: float
    stderr: float | None
    degrees: float
    clusters: int
    width: float
    unseen: float = 0.0
    rests_on: int = 0
    shared: float = 0.0

    @property
    def total_stderr(self) -> float | None:
        """The standard error with the shared part."""
        return self.stderr if self.stderr is None else math.hypot(self.stderr, self.shared)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval, which `difference` explains; None if there is none."""
        if not self._has_interval:
            return None
        below, above = (self._reach(0.025, room) for room in (self.width + self.value, self.width - self.value))
        return max(self.value - below, -self.width), min(self.value + above, self.width)

    @property
    def tails(self) -> tuple[float, float] | None:
        """The one-sided p-values of "not above 0" and "not below 0"; None if there is no interval.

        A p-value is below 0.025 if and only if that end of the interval excludes 0.
        """
        if not self._has_interval:
            return None
        return self._tail(self.value, self.width + self.value), self._tail(-self.value, self.width - self.value)

    def outside(self, margin: float) -> float | None:
        """Return the p-value of "the difference is `margin` or more in either direction"; None without an interval."""
        if not self._has_interval:
            return None
        below = self._tail(self.value + margin, self.width + self.value)
        return max(below, self._tail(margin - self.value, self.width - self.value))

    @property
    def _has_interval(self) -> bool:
        return self.stderr is not None and (self.stderr > 0 or self.unseen > 0)

    def _reach(self, tail: float, room: float) -> float:
        """Return how far an end of the interval is from the value.

        Args:
            tail: The probability beyond this end, up to 0.5.
            room: How far unseen clusters can differ from the value in this direction.
        """
        assert self.stderr is not None
        seen = math.hypot(float(stdtrit(self.degrees, tail)) * self.stderr, float(ndtri(tail)) * self.shared)
        if not self.unseen:
            return seen
        t = float(stdtrit(self.rests_on - 1, tail))
        return math.hypot(seen, math.sqrt(self.unseen) * room * unseen_share(self.rests_on, t))

    def _tail(self, value: float, room: float) -> float:
        """Return the p-value of "the difference is not above 0", for a difference that is `value` above 0."""
        if not self.unseen and not self.shared:
            return float(stdtr(self.degrees, -value / self.stderr)) if self.stderr else 0.5
        size = abs(value)
        least = 1e-100
        if not size or self._reach(least, room) <= size:
            tail = 0.5 if not size else least
        else:
            tail = math.exp(brentq(lambda log: self._reach(math.exp(log), room) - size, math.log(least), math.log(0.5)))
        return tail if value >= 0 else 1 - tail


def left_out(metric: Metric, one: Sums, other: Sums) -> JackknifeDifference | None:
    """Compute the difference of a metric between two runs with its jackknife error.

    Args:
        metric: The metric.
        one: The sums of the first run.
        other: The sums of the second run, with the clusters in the same order.

    Returns:
        The difference; None if the metric is undefined in one of the runs.
    """
    (total, table), (other_total, other_table) = one, other
    value = float(metric.value(total)) - float(metric.value(other_total))
    if math.isnan(value):
        return None
    width = metric.range[1] - metric.range[0]
    contributes = metric.contributes(table) | metric.contributes(other_table)
    table, other_table = table[contributes], other_table[contributes]
    clusters = len(table)
    rests_on: int | None = clusters
    if metric.classes:
        either = metric.classes(table) | metric.classes(other_table)
        rests_on = support(either.sum(axis=0), averaged=metric.averages_classes)
    if not (metric.supported(total) or metric.supported(other_total)):
        rests_on = None
    without_one = metric.value(total - table) - metric.value(other_total - other_table)
    if clusters < 2 or not rests_on or not metric.has_error or np.isnan(without_one).any():
        return JackknifeDifference(value, None, clusters - 1.0, clusters, width)
    unit = width if math.isfinite(width) else 1.0
    rests_on = min(rests_on, clusters)
    spread = carriers(Moments.of(deviations(without_one) / unit))
    return JackknifeDifference(
        value,
        math.sqrt(spread.variance) * unit,
        min(spread.degrees, rests_on - 1.0),
        clusters,
        width,
        unseen_weight(spread, 1 / rests_on) if math.isfinite(width) else 0.0,
        rests_on,
        float(abs(metric.shared(total) - metric.shared(other_total))) if metric.shared else 0.0,
    )


def rounding(metric: Metric) -> float:
    """Return the size up to which a difference of the metric is a rounding error."""
    width = metric.range[1] - metric.range[0]
    return 1e-9 * width if math.isfinite(width) else 1e-9


def sums_of(metric: Metric, scores: Sequence[Score]) -> Sums:
    """Compute the metric's sums over the clusters of a run, in an order independent of that of the scores.

    Metrics that leave out groups of clusters therefore form the same groups in all runs. Repeats of an item keep their
    order.
    """
    return metric.sums(by_cluster(sorted(scores, key=lambda s: (s.cluster, s.id))))


def items_of(metric: Metric, scores: Sequence[Score]) -> int:
    """Count the items, only those with the metric's tag if it has one. Repeats of an item count once."""
    return len({s.id for s in scores if metric.tag_filter is None or metric.tag_filter in s.tags.items()})


def difference(metric: Metric, ones: Sequence[Score], others: Sequence[Score]) -> Difference | None:
    """Compute the difference of a metric between two runs on the same items.

    The interval is Student's t around the difference, limited to the differences that the metric's range allows. If
    few clusters differ, or some are much larger than others, the standard error rests on few clusters and is itself
    uncertain. Its degrees of freedom are therefore Satterthwaite's (1946), 2·V²/Var(V) for a variance V, with Var(V)
    from the contributions of the clusters (Pan and Wall 2002), and at most the number of clusters minus one. They are
    about 2k if k clusters differ and the others do not.

    If all clusters differ by the same amount, as in two equal runs, the standard error is 0. The interval then assumes
    that up to t²/(n + t²) of all clusters, the upper end of Wilson's interval for a share of 0 out of n, differ from
    those observed as far as the metric's range allows. Two equal runs of 100 clusters thus differ by 0 ± 0.04 in a
    share. For a metric without an upper bound, `low` and `high` are None in this case. If k clusters differ, this part
    is reduced by the factor k, and the interval reaches as far as the root of the sum of both squares, so that one item
    that flips does not narrow it (see `intervals`).

    Args:
        metric: The metric.
        ones: The scores of the first run, in any order.
        others: The scores of the second run, in any order.

    Returns:
        The difference; None if the metric is undefined in one of the runs.

    Raises:
        ValueError: The runs differ in their items or clusters.
    """
    if problem := same_items(ones, others):
        raise ValueError(problem)
    if not ones:
        return None
    jackknife = left_out(metric, sums_of(metric, ones), sums_of(metric, others))
    if jackknife is None:
        return None
    low, high = jackknife.interval or (None, None)
    return Difference(jackknife.value, jackknife.total_stderr, low, high, items_of(metric, ones))


def flips(ones: Sequence[Score], others: Sequence[Score]) -> dict[str, int]:
    """Count the items that are right (`correct` is 1) in both runs, in only one of them, and in neither.

    The counts are named as in `flip_table`, from the first run to the second. Repeats of an item are paired in order.

    Raises:
        ValueError: The runs differ in their items or clusters, or `correct` of an item is neither 0 nor 1.
    """
    if problem := same_items(ones, others):
        raise ValueError(problem)
    before, after = (sorted(scores, key=lambda s: s.id) for scores in (ones, others))
    return _count_flips([_correct(s) for s in before], [_correct(s) for s in after])


def flip_table(before: Labels, after: Labels, targets: Sequence[str]) -> dict[str, int]:
    """Count how N labels, such as those of one role, compare with later ones, such as the final verdicts.

    Args:
        before: The earlier labels; a missing label is wrong.
        after: The later labels, in the same order of items.
        targets: The right labels.

    Returns:
        How many labels stayed right (`kept_right`) or wrong (`kept_wrong`, even if the label changed), and how many
        changed from wrong to right (`flipped_to_right`) or from right to wrong (`flipped_to_wrong`).

    Raises:
        ValueError: The sequences differ in length.
    """
    if not len(before) == len(after) == len(targets):
        raise ValueError(f"expected {len(targets)} labels before and after, got {len(before)} and {len(after)}")
    return _count_flips(*([a == b for a, b in zip(labels, targets, strict=True)] for labels in (before, after)))


def _count_flips(before: Sequence[bool], after: Sequence[bool]) -> dict[str, int]:
    cells = Counter(zip(before, after, strict=True))
    return {
        "kept_right": cells[True, True],
        "kept_wrong": cells[False, False],
        "flipped_to_right": cells[False, True],
        "flipped_to_wrong": cells[True, False],
    }


def _correct(score: Score) -> bool:
    if score.measurements.get("correct") not in (0, 1):
        raise ValueError(f"item {score.id}: expected 'correct' to be 0 or 1, got {score.measurements.get('correct')}")
    return score.measurements["correct"] == 1
