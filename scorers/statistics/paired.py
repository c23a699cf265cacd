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
from scipy.special import stdtr, stdtrit

from halu_tasks.scorers.metrics import Array, Metric, by_cluster
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.agreement import Labels

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
            contribute or the difference is undefined without one of them.
        degrees: The degrees of freedom of the standard error.
        clusters: The number of clusters that contribute to the difference.
        width: The width of the metric's range, which is the largest possible difference; may be infinite.
    """

    value: float
    stderr: float | None
    degrees: float
    clusters: int
    width: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval, which `difference` explains; None if there is none."""
        if self.stderr:
            reach = float(stdtrit(self.degrees, 0.975)) * self.stderr
            return max(self.value - reach, -self.width), min(self.value + reach, self.width)
        if self.stderr is None or math.isinf(self.width):
            return None
        t = float(stdtrit(self.clusters - 1, 0.975))
        unseen = t**2 / (self.clusters + t**2)
        return self.value - unseen * (self.width + self.value), self.value + unseen * (self.width - self.value)

    @property
    def tails(self) -> tuple[float, float] | None:
        """The one-sided p-values of "not above 0" and "not below 0"; None if there is no interval.

        A p-value is below 0.025 if and only if that end of the interval excludes 0. If all clusters differ by the same
        amount, it is that of the t at which the end reaches 0.
        """
        if self.stderr:
            t, degrees = self.value / self.stderr, self.degrees
        elif self.stderr is None or math.isinf(self.width):
            return None
        else:
            t = math.copysign(math.sqrt(self.clusters * abs(self.value) / self.width), self.value)
            degrees = self.clusters - 1.0
        return float(stdtr(degrees, -t)), float(stdtr(degrees, t))


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
    without_one = metric.value(total - table[contributes]) - metric.value(other_total - other_table[contributes])
    clusters = len(without_one)
    degrees = clusters - 1.0
    if clusters < 2 or np.isnan(without_one).any():
        return JackknifeDifference(value, None, degrees, clusters, width)
    variances = (clusters - 1) / clusters * (without_one - without_one.mean()) ** 2
    variance = float(variances.sum())
    if math.sqrt(variance) <= rounding(metric):
        return JackknifeDifference(value, 0.0, degrees, clusters, width)
    # clusters times the sum of squares over the squared sum is a kurtosis, which is 1 if all deviate equally
    excess = clusters * float((variances**2).sum()) / variance**2 - 1
    if excess > 0:
        degrees = min(degrees, 2 * clusters / excess)
    return JackknifeDifference(value, math.sqrt(variance), degrees, clusters, width)


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
    """Count the items, only those with the metric's tag if it has one."""
    return sum(metric.tag_filter is None or metric.tag_filter in s.tags.items() for s in scores)


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
    share. For a metric without an upper bound, `low` and `high` are None in this case.

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
    return Difference(jackknife.value, jackknife.stderr, low, high, items_of(metric, ones))


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
