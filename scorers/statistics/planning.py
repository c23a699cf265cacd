"""How many items a comparison of two models needs, and what a number of calls buys.

The error of a difference has two sources: which items were drawn, and which replies the models happened to give to them
(Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640). By the law of total variance, with n items that are each
answered K times,

    variance = (between + within / K) / n

where `between` is the variance over items of the difference between the models' mean scores, and `within` the mean over
items of the variance of replies to the same item, of both models together. More repeats only reduce the second part,
and more items both. A number of calls N = n·K therefore buys the smallest error with as many different items as there
are.

Items of one cluster are alike. `between` is multiplied by 1 + (size - 1) · intraclass correlation, the design effect of
Kish (1965), or contains it if it comes from clusters.

The power is that of a t-test over clusters, at the level that a report leaves to each of its differences. Runs that are
looked at several times need more items (`looks_at`). `tests/power_of_plans.py` and `tests/error_rates_of_reports.py`
print the power that planned runs reach.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import nctdtr, ndtr, ndtri, stdtrit

from halu_tasks.scorers.columns import Columns, by_cluster
from halu_tasks.scorers.metrics import Metric, estimate, jackknife
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import LEVEL, Difference, counted_scores, difference

# a difference that is only a rounding error, or that no number of items detects
_NEGLIGIBLE = 1e-6

POWER = 0.8
"""The usual probability with which a difference is to be detected."""


def differences_of(models: int, tasks: int) -> int:
    """Count the differences of a report: of all pairs of models, on each task and, if there are several, their mean."""
    return math.comb(models, 2) * (tasks + (tasks > 1))


def power_reached(errors: float, clusters: int, level: float = LEVEL) -> float:
    """Compute the probability that a two-sided t-test over clusters detects a difference, in its direction.

    Args:
        errors: The true difference, in standard errors.
        clusters: The number of clusters, 2 or more.
        level: The level of the test.
    """
    t = float(stdtrit(clusters - 1, 1 - level / 2))
    # far from the critical value, nctdtr has no result
    return 1 - float(nctdtr(clusters - 1, min(errors, 30.0), t))


@lru_cache(100_000)
def clusters_needed(variance: float, difference: float, power: float = POWER, level: float = LEVEL) -> int:
    """Compute the least number of clusters with which a two-sided t-test detects a difference with a given power.

    Args:
        variance: The variance of the difference, times the number of clusters, above 0.
        difference: The true difference, other than 0.
        power: The power.
        level: The level of the test.
    """

    def reached(clusters: int) -> float:
        return power_reached(abs(difference) / math.sqrt(variance / clusters), clusters, level)

    # a normal test needs a few clusters less
    normal = variance * ((float(ndtri(1 - level / 2)) + float(ndtri(power))) / difference) ** 2
    least = max(math.floor(normal), 2)
    step = 1
    while reached(least + step) < power:
        step *= 2
    return bisect_left(range(least, least + step), power, key=reached) + least


def looks_at(number: int, power: float = POWER, level: float = LEVEL) -> tuple[list[float], float]:
    """Compute O'Brien and Fleming's bounds (1979, "A Multiple Testing Procedure for Clinical Trials", Biometrics 35).

    After k of K equal parts, the bound of the normal deviate is c·√(K/k). The constant gives the test of all looks
    together its level. The bounds are strict at first and near those of one look at the end, so few more items are
    needed (Jennison and Turnbull 2000, "Group Sequential Methods with Applications to Clinical Trials", chapter 2).

    Args:
        number: The number K of looks.
        power: The power of all looks together.
        level: The level of all looks together.

    Returns:
        The level of the test at each look, and how many times the items of a test with one look are needed for the same
        power.
    """
    from scipy.optimize import brentq  # takes a third of a second, which reports do not need

    if number == 1:
        return [level], 1.0
    once, most = (-float(ndtri(part / 2)) for part in (level, level / number))
    root = math.sqrt(number)
    end = brentq(lambda end: _crossed(number, end, 0.0) / level - 1, once * root, most * root)
    effect = once + float(ndtri(power))
    drift = brentq(lambda drift: _crossed(number, end, drift) - power, 0.9 * effect / root, 2 * effect / root)
    levels = [2 * float(ndtr(-end / math.sqrt(look))) for look in range(1, number + 1)]
    return levels, (drift * root / effect) ** 2


def _crossed(looks: int, end: float, drift: float) -> float:
    """Compute the probability that a sum of normal steps is beyond ±`end` after any step.

    This is the recursion of Armitage, McPherson and Rowe (1969, "Repeated Significance Tests on Accumulating Data",
    Journal of the Royal Statistical Society A 132), by Gauss-Legendre quadrature: the density of the sums that have
    stayed inside.

    Args:
        looks: The number of steps, of variance 1.
        end: The bound.
        drift: The mean of a step.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20 + 5 * math.ceil(end))
    sums, weights = end * nodes, end * weights
    steps = np.exp(-((sums[:, None] - sums - drift) ** 2) / 2) / math.sqrt(2 * math.pi)
    inside = np.exp(-((sums - drift) ** 2) / 2) / math.sqrt(2 * math.pi)
    for _ in range(looks - 1):
        inside = steps @ (weights * inside)
    return 1 - float(weights @ inside)


class Variances(NamedTuple):
    """The variance of a difference, or of one model's figure, split by its sources.

    Attributes:
        between: The variance over items, times the design effect of their clusters.
        within: The mean variance of replies to the same item, of all models together; None if it is not known, and then
            `between` is the sum of both.
        cluster_size: The mean number of items in a cluster.
    """

    between: float
    within: float | None
    cluster_size: float

    def per_item(self, epochs: int) -> float:
        """Return the variance of the figure with `epochs` replies to each item, times the number of items."""
        return self.between + (self.within or 0.0) / epochs

    def times(self, factor: float) -> Variances:
        """Return the variances multiplied by a number."""
        within = None if self.within is None else self.within * factor
        return Variances(self.between * factor, within, self.cluster_size)

    def stderr(self, items: int, epochs: int) -> float:
        """Return the standard error of the figure."""
        return math.sqrt(self.per_item(epochs) / items)


class Design(NamedTuple):
    """A run: how many items in how many clusters, each answered `epochs` times, and the calls of each model."""

    items: int
    clusters: int
    epochs: int

    @property
    def calls(self) -> int:
        """The number of calls of each model."""
        return self.items * self.epochs


def needed(
    variances: Variances, difference: float, epochs: int, power: float = POWER, level: float = LEVEL
) -> Design | None:
    """Compute the smallest run that detects a difference; None if the figures do not vary.

    Args:
        variances: The variance of the difference.
        difference: The true difference, other than 0.
        epochs: How many times each item is answered.
        power: The power.
        level: The level of the test.
    """
    per_item = variances.per_item(epochs)
    if not per_item > 0:
        return None
    clusters = clusters_needed(per_item / variances.cluster_size, difference, power, level)
    return Design(math.ceil(clusters * variances.cluster_size), clusters, epochs)


def smallest(variances: Variances, design: Design, power: float = POWER, level: float = LEVEL) -> float | None:
    """Compute the smallest difference that a run detects.

    Args:
        variances: The variance of the difference.
        design: The run.
        power: The power.
        level: The level of the test.

    Returns:
        The difference; None if nothing varies, or if the run has so few clusters that it has this power only for
        differences beyond all reason.
    """
    stderr, clusters = variances.stderr(design.items, design.epochs), design.clusters
    if clusters < 2 or not stderr > 0 or power_reached(math.inf, clusters, level) < power:
        return None
    from scipy.optimize import brentq

    return stderr * float(brentq(lambda errors: power_reached(errors, clusters, level) - power, 0.0, 30.0))


def affordable(variances: Variances, calls: int, available: int | None = None) -> list[Design]:
    """List the runs that a number of calls of each model buys, by the number of repeats, the smallest error first.

    Args:
        variances: The variance of the difference; without a variance of replies, items are answered once.
        calls: The number of calls.
        available: The number of different items that there are; None for no limit.

    Returns:
        The runs; empty if there are no calls.
    """
    repeats = {2**power for power in range(7)} if variances.within is not None else {1}
    if available and variances.within is not None:
        # with all items, as many repeats as the calls buy
        repeats.add(calls // available)
    designs = []
    for epochs in repeats - {0}:
        if items := min(calls // epochs, available or calls):
            designs.append(Design(items, max(round(items / variances.cluster_size), 1), epochs))
    return sorted(designs, key=lambda design: (variances.stderr(design.items, design.epochs), design.epochs))


def assumed(
    share: float,
    difference: float,
    *,
    correlation: float,
    within: float | None = None,
    cluster_size: float = 1.0,
    intraclass: float = 0.0,
) -> Variances:
    """Compute the variance of the difference between two models that are right or wrong on each item.

    Args:
        share: The share of items that one model has right.
        difference: By how much the other has more right.
        correlation: The correlation over items between the models' being right in one reply each.
        within: The mean variance of one model's replies to the same item, from 0 (always the same) to `share` times one
            minus `share` (all items alike); None if it is not known.
        cluster_size: The number of items in a cluster.
        intraclass: The correlation of the difference between two items of a cluster.

    Raises:
        ValueError: The assumptions contradict each other; the message says which and why.
    """
    other = share + difference
    if not (0 < share < 1 and 0 < other < 1):
        raise ValueError(f"shares must be between 0 and 1, got {share:g} and {other:g}")
    both = share * other + correlation * math.sqrt(share * (1 - share) * (other * (1 - other)))
    if not max(share + other - 1, 0) - 1e-9 <= both <= min(share, other) + 1e-9:
        raise ValueError(f"shares {share:g} and {other:g} cannot have the correlation {correlation:g}")
    # the variance of the difference, which is 1 or -1 where only one of them is right
    total = share + other - 2 * both - difference**2
    if within is not None and not 0 <= 2 * within <= total:
        raise ValueError(
            f"the variance within items must be from 0 to {total / 2:.4g}, half the variance of the difference of "
            f"single replies, got {within:g}"
        )
    effect = 1 + (cluster_size - 1) * intraclass
    if cluster_size < 1 or effect <= 0:
        raise ValueError(f"clusters of {cluster_size:g} items cannot have the intraclass correlation {intraclass:g}")
    return Variances((total - 2 * (within or 0.0)) * effect, None if within is None else 2 * within, cluster_size)


def of_difference(one_model: Variances, correlation: float) -> Variances:
    """Compute the variance of the difference between two models that both have the variance of `one_model`.

    Args:
        one_model: The variances of one model's figure.
        correlation: The correlation over items between the two models' mean scores, or their scores if the variance of
            replies is not known.
    """
    within = None if one_model.within is None else 2 * one_model.within
    return Variances(2 * one_model.between * (1 - correlation), within, one_model.cluster_size)


def variances_of(metric: Metric, *runs: Sequence[ScoredReply]) -> Variances | None:
    """Estimate the variances of one run's figure, or of the difference between two runs on the same items.

    The variance over clusters is that of the jackknife; the part of the repeats, from the variance of the replies to
    each item, is taken off it.

    Args:
        metric: The metric.
        *runs: The scores of one run or of two, with the same number of replies to each item.

    Returns:
        The variances; None if the figure has no standard error.

    Raises:
        ValueError: The runs differ in their items or clusters, or the metric has no value for single items.
    """
    if not metric.item:
        raise ValueError(f"{metric.name} has no value for single items, and so no variance between and within them")
    figure = difference(metric, runs[0], runs[1]) if len(runs) > 1 else estimate(metric, by_cluster(runs[0]))
    if figure is None or figure.stderr is None:
        return None
    used = [counted_scores(metric, scores) for scores in runs]
    items = len({s.id for s in used[0]})
    within = _within(metric.item, used)
    of_repeats = (within or 0.0) * items / len(used[0])
    between = max(figure.stderr**2 * items - of_repeats, 0.0)
    return Variances(between, within, items / len({s.cluster for s in used[0]}))


def share_of_replies(metric: Metric, scores: Sequence[ScoredReply]) -> float | None:
    """Estimate the share of a figure's variance, 0 to 1, that is there because a model answers an item differently.

    The rest is that of items. More replies to each item reduce only this share, and more items all of it. What a reply
    adds to the figure is how much the figure changes without it, so that ratios and averages have a share, too.

    Args:
        metric: The metric.
        scores: The scores of one run, with several replies to items.

    Returns:
        The share; None without several replies to an item, or without a standard error above 0.
    """
    figure, without_replies = estimate(metric, by_cluster(scores)), jackknife(metric, Columns.of(scores))
    if figure is None or not figure.stderr or len(without_replies.without) != len(scores):
        return None
    adds = np.where(without_replies.contributes, without_replies.without - without_replies.value, 0.0)
    of_items: dict[str, list[float]] = defaultdict(list)
    for score, add in zip(scores, adds, strict=True):
        of_items[score.id].append(float(add))
    repeated = [changes for changes in of_items.values() if len(changes) > 1]
    if not repeated or not np.isfinite(adds).all():
        return None
    # items with a single reply vary as the others do
    within = (
        len(scores)
        * math.fsum(len(changes) * np.var(changes, ddof=1) for changes in repeated)
        / sum(map(len, repeated))
    )
    return min(within / figure.stderr**2, 1.0)


def _within(value_of: Callable[[ScoredReply], float], runs: Sequence[Sequence[ScoredReply]]) -> float | None:
    sums = 0.0
    for scores in runs:
        by_item: dict[str, list[float]] = defaultdict(list)
        for score in scores:
            if not math.isnan(value := value_of(score)):
                by_item[score.id].append(value)
        variances = [np.var(values, ddof=1) for values in by_item.values() if len(values) > 1]
        if not variances:
            return None
        sums += float(np.mean(variances))
    return sums


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


def items_needed(difference: Difference, comparisons: int = 1) -> ItemsNeeded | None:
    """Compute how many items a report with as many comparisons needs to find a difference as large as the observed one.

    The items are of the same composition: in clusters of the same sizes with the same correlation, each answered the
    same number of times.

    The number is as uncertain as the difference. Its interval has the numbers for the differences at the ends of the
    difference's interval. If that includes 0, there is no bound: with less than the true difference, any number can be
    too few. It is not the power of the present run, which would only restate its p-value (Hoenig and Heisey 2001), and
    a difference that more items would make significant is not thereby shown to exist.

    Args:
        difference: The observed difference.
        comparisons: The number of differences that are tested together; the first step of Holm's method tests each at
            the level divided by it.

    Returns:
        The numbers, for the usual power; None for the reasons of `not_estimated`.
    """
    if not_estimated(difference):
        return None
    assert difference.stderr is not None and difference.low is not None and difference.high is not None
    variance, size = difference.clusters * difference.stderr**2, difference.items / difference.clusters
    nearest, farthest = sorted((abs(difference.low), abs(difference.high)))
    is_bounded = difference.low > 0 or difference.high < 0
    clusters, low, high = (
        clusters_needed(variance, abs(end), level=LEVEL / comparisons) if abs(end) > _NEGLIGIBLE else 0
        for end in (difference.value, farthest, nearest if is_bounded else 0.0)
    )
    return ItemsNeeded(math.ceil(clusters * size), clusters, math.ceil(low * size), math.ceil(high * size) or None)


def not_estimated(difference: Difference) -> str:
    """Say why `items_needed` has no numbers for a difference; an empty string if it has."""
    if difference.low is None or difference.high is None or difference.stderr is None:
        return "the difference has no interval"
    if abs(difference.value) <= _NEGLIGIBLE:
        return "the difference is 0"
    return "" if difference.stderr else "the difference is the same in all clusters"
