"""Two runs on the same items: by how much a metric differs between them, and which items flip.

The error of a difference leaves out one cluster of both runs at a time, so what the runs share (hard items, hard
documents) cancels, as in a paired t-test; two separate errors would not know of it.
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
"""What `Metric.sums` gives: sums over all clusters, shape (K,), and what goes with each cluster, shape (C, K)."""


class Difference(NamedTuple):
    """A metric of one run minus that of another, in the metric's unit, with its standard error and 95% interval.

    `items` is how many items both runs have, with the tag that the metric is about if it is about one. `stderr`,
    `low` and `high` are None where fewer than two clusters bear on the difference, or it hangs on one of them.
    """

    value: float
    stderr: float | None
    low: float | None
    high: float | None
    items: int


def same_items(ones: Sequence[Score], others: Sequence[Score]) -> str:
    """What is wrong with comparing the two runs: how many items only one of them has, or else how many are of another
    cluster in the other, with an example; empty where nothing is. An item may occur several times (epochs), in both
    runs as often."""
    first, second = (Counter(s.id for s in scores) for scores in (ones, others))
    found = [
        f"{alone.total()} only in the {run} run, such as {min(alone)}"
        for run, alone in (("first", first - second), ("second", second - first))
        if alone
    ]
    if not found:
        in_first, in_second = (Counter((s.id, s.cluster) for s in scores) for scores in (ones, others))
        if moved := in_first - in_second:
            found = [f"{moved.total()} of another cluster in the second run, such as {min(moved)[0]}"]
    return f"the runs differ in their items: {'; '.join(found)}" if found else ""


class JackknifeDifference(NamedTuple):
    """A metric of one run minus that of another, and what leaving out a cluster of both runs says of its error.

    Attributes:
        value: the difference, in the metric's unit.
        stderr: its jackknife standard error; 0 where all clusters differ alike, None where fewer than two bear on the
            difference, or it hangs on one of them.
        degrees: of freedom of that standard error.
        clusters: how many bear on the difference, each left out in turn.
        width: largest possible difference, of the metric's range; may be infinite.
    """

    value: float
    stderr: float | None
    degrees: float
    clusters: int
    width: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval that `difference` explains."""
        if self.stderr:
            reach = float(stdtrit(self.degrees, 0.975)) * self.stderr
            return max(self.value - reach, -self.width), min(self.value + reach, self.width)
        if self.stderr is None or math.isinf(self.width):
            return None
        t = float(stdtrit(self.clusters - 1, 0.975))
        unlike = t**2 / (self.clusters + t**2)
        return self.value - unlike * (self.width + self.value), self.value + unlike * (self.width - self.value)

    @property
    def tails(self) -> tuple[float, float] | None:
        """One-sided p values of "not above 0" and "not below 0": below 0.025 where that end of the interval leaves
        out 0. Where all clusters differ alike, those of the t at which the end reaches 0."""
        if self.stderr:
            t, degrees = self.value / self.stderr, self.degrees
        elif self.stderr is None or math.isinf(self.width):
            return None
        else:
            t = math.copysign(math.sqrt(self.clusters * abs(self.value) / self.width), self.value)
            degrees = self.clusters - 1.0
        return float(stdtr(degrees, -t)), float(stdtr(degrees, t))


def left_out(metric: Metric, one: Sums, other: Sums) -> JackknifeDifference | None:
    """The difference of two runs from the sums of each, with the clusters of both in one order; None where it is not
    defined for both."""
    (total, table), (other_total, other_table) = one, other
    value = float(metric.value(total)) - float(metric.value(other_total))
    if math.isnan(value):
        return None
    width = metric.range[1] - metric.range[0]
    bears = metric.contributes(table) | metric.contributes(other_table)
    without_one = metric.value(total - table[bears]) - metric.value(other_total - other_table[bears])
    clusters = len(without_one)
    degrees = clusters - 1.0
    if clusters < 2 or np.isnan(without_one).any():
        return JackknifeDifference(value, None, degrees, clusters, width)
    variances = (clusters - 1) / clusters * (without_one - without_one.mean()) ** 2
    variance = float(variances.sum())
    if math.sqrt(variance) <= rounding(metric):
        return JackknifeDifference(value, 0.0, degrees, clusters, width)
    # clusters times the sum of squares over the squared sum is a kurtosis: 1 where all deviate as much
    excess = clusters * float((variances**2).sum()) / variance**2 - 1
    if excess > 0:
        degrees = min(degrees, 2 * clusters / excess)
    return JackknifeDifference(value, math.sqrt(variance), degrees, clusters, width)


def rounding(metric: Metric) -> float:
    """A difference of the metric that is no more than this is none."""
    width = metric.range[1] - metric.range[0]
    return 1e-9 * width if math.isfinite(width) else 1e-9


def sums_of(metric: Metric, scores: Sequence[Score]) -> Sums:
    """The metric's sums over the clusters of a run, in an order that does not hang on that of the scores; which also
    groups the clusters of all runs alike where a metric leaves out groups. Repeats of an item keep their order."""
    return metric.sums(by_cluster(sorted(scores, key=lambda s: (s.cluster, s.id))))


def items_of(metric: Metric, scores: Sequence[Score]) -> int:
    """How many items have the tag that the metric is about, if it is about one."""
    return sum(metric.tag_filter is None or metric.tag_filter in s.tags.items() for s in scores)


def difference(metric: Metric, ones: Sequence[Score], others: Sequence[Score]) -> Difference | None:
    """The metric of `ones` minus that of `others`, two runs on the same items in any order; None where it is not
    defined for both.

    The interval is Student's t around the difference, within what the metric's range allows. When few clusters differ,
    or some are much larger than others, few carry the standard error, and it is itself uncertain. Its degrees of
    freedom are therefore Satterthwaite's (1946), 2·V²/Var(V) for a variance V, with Var(V) from how much the clusters
    contribute to it (Pan and Wall 2002), and at most one less than there are clusters: about 2k where k clusters
    differ and the others do not.

    Where all clusters differ alike, as in two equal runs, the standard error is 0, and the interval that of a share:
    at most t²/(n + t²) of all clusters, the upper end of Wilson's interval for none of n, are unlike those seen, and
    these as far as the range allows. Two equal runs of 100 clusters thus differ by 0 ± 0.04 in a share. Of a
    metric without an upper bound nothing is then known, and `low` and `high` are None.

    Raises:
        ValueError: the runs are not of the same items and clusters.
    """
    if wrong := same_items(ones, others):
        raise ValueError(wrong)
    if not ones:
        return None
    found = left_out(metric, sums_of(metric, ones), sums_of(metric, others))
    if found is None:
        return None
    low, high = found.interval or (None, None)
    return Difference(found.value, found.stderr, low, high, items_of(metric, ones))


def flips(ones: Sequence[Score], others: Sequence[Score]) -> dict[str, int]:
    """How many items are right (`correct` is 1) in both runs, in the first or the second alone, and in neither, as
    `flip_table` names it from the first run to the second. Repeats of an item pair up in order.

    Raises:
        ValueError: the runs are not of the same items, or an item is neither right nor wrong.
    """
    if wrong := same_items(ones, others):
        raise ValueError(wrong)
    before, after = (sorted(scores, key=lambda s: s.id) for scores in (ones, others))
    return _table([_correct(s) for s in before], [_correct(s) for s in after])


def flip_table(before: Labels, after: Labels, targets: Sequence[str]) -> dict[str, int]:
    """What became of N labels, such as one role's, in later ones, such as a final verdict: how many were right and
    stayed so (`kept_right`), were wrong and stayed so (`kept_wrong`, whether or not the label changed), and flipped
    (`flipped_to_right`, `flipped_to_wrong`). No label is wrong.

    Raises:
        ValueError: sequences of different lengths.
    """
    if not len(before) == len(after) == len(targets):
        raise ValueError(f"{len(before)} labels before and {len(after)} after, for {len(targets)} targets")
    return _table(*([a == b for a, b in zip(labels, targets, strict=True)] for labels in (before, after)))


def _table(before: Sequence[bool], after: Sequence[bool]) -> dict[str, int]:
    cells = Counter(zip(before, after, strict=True))
    return {
        "kept_right": cells[True, True],
        "kept_wrong": cells[False, False],
        "flipped_to_right": cells[False, True],
        "flipped_to_wrong": cells[True, False],
    }


def _correct(score: Score) -> bool:
    if score.measurements.get("correct") not in (0, 1):
        raise ValueError(f"item {score.id} is neither right nor wrong")
    return score.measurements["correct"] == 1
