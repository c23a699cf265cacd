"""Significance of differences between runs.

This has a test of the items that flip, a correction for multiple comparisons, the number of items needed to detect a
difference, and confidence sets for ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scipy.stats import binomtest

from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.bootstrap import Paired
from halu_tasks.scorers.statistics.paired import same_items
from halu_tasks.scorers.statistics.planning import LEVEL, POWER, clusters_needed


class McNemar(NamedTuple):
    """McNemar's test (1947) of a metric that is 0 or 1 for each item.

    Attributes:
        first_higher: The number of items with 1 in the first run and 0 in the second one. If higher is better, as for
            `correct`, only the first run has them right; if lower is better, as for `unparsed`, only the second one.
        second_higher: The number of items with 0 in the first run and 1 in the second one.
        items: The number of items for which the metric is defined in both runs.
        unknown: The number of items for which it is undefined (NaN) in one of the runs, for instance because a judge
            failed; they are not included in the other counts.
        p: The exact two-sided binomial p-value of the hypothesis that items flip in both directions with equal
            probability; 1 if none flips.
    """

    first_higher: int
    second_higher: int
    items: int
    unknown: int
    p: float


def mcnemar(metric: Metric, ones: Sequence[Score], others: Sequence[Score]) -> McNemar | None:
    """Test two runs on the same items with McNemar's exact test of the metric's values of single items.

    The test assumes independent items: if those of a cluster flip together, p is too small, and an interval over
    clusters (`bootstrap.paired_bootstrap`) should be used. There is no test of runs that repeat their items (epochs),
    since the repeats of an item are not independent: in simulations, it would call 16% of equal runs different at four
    epochs, and 31% at ten.

    Args:
        metric: The metric.
        ones: The scores of the first run, in any order.
        others: The scores of the second run, in any order.

    Returns:
        The test; None if the metric has no value for single items, or one that is neither 0 nor 1 (partial credit), or
        if items are repeated.

    Raises:
        ValueError: The runs differ in their items or clusters.
    """
    if problem := same_items(ones, others):
        raise ValueError(problem)
    if not metric.item or len({s.id for s in ones}) < len(ones):
        return None
    first, second = (
        [metric.item(s) for s in sorted(scores, key=lambda s: s.id) if metric.tag_filter in (None, *s.tags.items())]
        for scores in (ones, others)
    )
    pairs = [pair for pair in zip(first, second, strict=True) if not any(map(math.isnan, pair))]
    if any(value not in (0, 1) for pair in pairs for value in pair):
        return None
    first_higher, second_higher = pairs.count((1, 0)), pairs.count((0, 1))
    flips = first_higher + second_higher
    p = float(binomtest(first_higher, flips).pvalue) if flips else 1.0
    return McNemar(first_higher, second_higher, len(pairs), len(first) - len(pairs), p)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for multiple comparisons by Holm's step-down method (1979).

    If hypotheses are rejected at an adjusted p-value of at most alpha, the probability of any false rejection is at
    most alpha, whatever the dependence between the tests. The k-th smallest of m p-values is multiplied by m - k + 1,
    raised to the previous adjusted one if that is larger, and limited to 1.

    Args:
        p_values: The p-values; None for a comparison that could not be tested, which does not count among the m.

    Returns:
        The adjusted p-values in the same order; None stays None.

    Raises:
        ValueError: A p-value is not between 0 and 1.
    """
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    if invalid := [p for p, _ in tested if not 0 <= p <= 1]:
        raise ValueError(f"expected p-values from 0 to 1, got {invalid[0]}")
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(tested):
        largest = max(largest, min((len(tested) - rank) * p, 1.0))
        adjusted[index] = largest
    return adjusted


class ItemsNeeded(NamedTuple):
    """How many items a test needs to detect a difference.

    Attributes:
        items: The number of items.
        clusters: The number of clusters that these items are in.
        low: The lower end of the 95% interval of `items`.
        high: The upper end; None if there is no bound.
    """

    items: int
    clusters: int
    low: int
    high: int | None


def items_needed(difference: Paired, power: float = POWER, level: float = LEVEL) -> ItemsNeeded | None:
    """Compute how many items a paired two-sided test would need to detect a difference as large as the observed one.

    The items are of the same composition: in clusters of the same sizes with the same correlation, each answered the
    same number of times.

    The number is as uncertain as the difference. Its interval has the numbers for the differences at the ends of the
    difference's interval. If that includes 0, there is no bound: with less than the true difference, any number can be
    too few. It is not the power of the present run, which would only restate its p-value (Hoenig and Heisey 2001), and
    a difference that more items would make significant is not thereby shown to exist.

    Args:
        difference: The observed difference.
        power: The probability with which the difference is to be detected.
        level: The significance level of the test.

    Returns:
        The numbers; None for the reasons of `not_estimated`.
    """
    if not_estimated(difference):
        return None
    assert difference.stderr is not None and difference.low is not None and difference.high is not None
    variance = difference.clusters * difference.stderr**2
    clusters, least = (
        clusters_needed(variance, size, power, level)
        for size in (difference.value, max(abs(difference.low), abs(difference.high)))
    )
    most = None
    if difference.low > 0 or difference.high < 0:
        most = clusters_needed(variance, min(abs(difference.low), abs(difference.high)), power, level)
    each = difference.items / difference.clusters
    items, low = math.ceil(clusters * each), math.ceil(least * each)
    return ItemsNeeded(items, clusters, low, None if most is None else math.ceil(most * each))


def not_estimated(difference: Paired) -> str:
    """Say why `items_needed` has no numbers for a difference; an empty string if it has."""
    if difference.low is None or difference.high is None or difference.stderr is None:
        return "the difference has no interval"
    if not difference.value:
        return "the difference is 0"
    return "" if difference.stderr else "the difference is the same in all clusters"


def rank_ranges(better: Iterable[tuple[int, int]], runs: int) -> list[tuple[int, int]]:
    """Compute confidence sets for the ranks of M runs, where 1 is the best.

    These are the sets of Mogstad, Romano, Shaikh and Wilhelm (2024, "Inference for Ranks", Review of Economic Studies
    91). They range from 1 + the number of runs that are significantly better to M - the number that are significantly
    worse. If the probability that any of the claims is false is at most 5%, as for the p-values of
    `simultaneous.adjusted_p_values`, then with a probability of 95% the sets of all runs contain their ranks, and if
    runs tie, all ranks that they share.

    Args:
        better: The pairs of runs of which the first is significantly better than the second.
        runs: The number M of runs.

    Returns:
        The best and the worst rank of each run.
    """
    ranges = [(1, runs)] * runs
    for winner, loser in set(better):
        ranges[winner] = ranges[winner][0], ranges[winner][1] - 1
        ranges[loser] = ranges[loser][0] + 1, ranges[loser][1]
    return ranges
