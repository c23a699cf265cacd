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

import numpy as np

from halu_tasks.scorers.metrics import Metric, by_cluster, left_out
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.intervals import (
    DifferenceError,
    Moments,
    carriers,
    deviations,
    support,
    unseen_weight,
)
from halu_tasks.scorers.statistics.jackknife import LeftOut


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
    return differences(metric, [ones, others], margin).get((0, 1))


def differences(
    metric: Metric, runs: Sequence[Sequence[Score]], margin: float | None = None
) -> dict[tuple[int, int], Difference]:
    """Compute the differences of a metric between run i and run j, for all i < j of M runs on the same items.

    Args:
        metric: The metric.
        runs: The scores of each run, in any order.
        margin: The difference below which two runs count as equal; None to test no equality.

    Returns:
        The difference of each pair (i, j); pairs are left out if the metric is undefined in one of the runs.

    Raises:
        ValueError: The runs differ in their items or clusters.
    """
    for number, run in enumerate(runs[1:], 1):
        if problem := same_items(runs[0], run):
            raise ValueError(problem if len(runs) == 2 else f"runs 0 and {number}: {problem}")
    if len(runs) < 2 or not runs[0]:
        return {}
    return differences_of(metric, [without_clusters(metric, run) for run in runs], items_of(metric, runs[0]), margin)


def differences_of(
    metric: Metric, runs: Sequence[LeftOut], items: int, margin: float | None = None
) -> dict[tuple[int, int], Difference]:
    """Compute `differences` from the metric of each run without each cluster.

    Args:
        metric: The metric.
        runs: What `without_clusters` computes of each run.
        items: The number of items in each run.
        margin: The difference below which two runs count as equal; None to test no equality.
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


def _error(metric: Metric, change: LeftOut) -> DifferenceError | None:
    """Compute the error of a difference; None if there is too little for one."""
    without = change.without[change.contributes]
    clusters = len(without)
    rests_on: int | None = clusters
    if metric.error.classes:
        rests_on = support(change.classes[change.contributes].sum(axis=0), averaged=metric.error.averaged)
    if clusters < 2 or not rests_on or not change.supported or not metric.error.interval or np.isnan(without).any():
        return None
    rests_on = min(rests_on, clusters)
    width = metric.range[1] - metric.range[0]
    unit = width if math.isfinite(width) else 1.0
    spread = carriers(Moments.of(deviations(without) / unit))
    return DifferenceError(
        stderr=math.sqrt(spread.variance) * unit,
        degrees=min(spread.degrees, rests_on - 1.0),
        width=width,
        unseen=unseen_weight(spread, 1 / rests_on) if math.isfinite(width) else 0.0,
        clusters=rests_on,
    )
