"""Differences between runs on the same items.

The error of a difference comes from leaving out one cluster of both runs at a time. What the runs share (hard items,
hard documents) therefore cancels, as in a paired t-test, which it would not in two separate errors.

Of many differences at once, all pairs of runs in all metrics of a report, p-values are adjusted by Romano and Wolf's
step-down method (2005, "Exact and Approximate Stepwise Methods for Multiple Hypothesis Testing", Journal of the
American Statistical Association 100) for the largest of the studentised differences. How the differences depend on each
other comes from one bootstrap for all of them. In each draw, every cluster gets one normally distributed weight,
whatever the metric and the run (a multiplier bootstrap), and a difference is the weighted sum of what the clusters
contribute to it. The three differences between three runs, the tasks that are asked about the same documents, and a
mean with its members are thus correlated in the draws as they are in the data.

Each difference enters by its own p-value, converted to a normal deviate. A difference that rests on a few items, whose
standard error is uncertain or 0, has the large p-value that `difference` gives it, and cannot dominate the maximum.

`tests/error_rates_of_reports.py` prints how often equal models are called different, and how often differences are
found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from halu_tasks.scorers.columns import Array
from halu_tasks.scorers.metrics import Metric, by_cluster, left_out
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.intervals import (
    NO_VARIANCE,
    degrees_of_freedom,
    unseen_share,
    unseen_weight,
)
from halu_tasks.scorers.statistics.jackknife import LeftOut

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


def counted_scores(metric: Metric, scores: Sequence[Score]) -> list[Score]:
    """Select the scores with the metric's tag, all if it has none."""
    return [s for s in scores if metric.tag_filter is None or metric.tag_filter in s.tags.items()]


def items_of(metric: Metric, scores: Sequence[Score]) -> int:
    """Count the items, only those with the metric's tag if it has one. Repeats of an item count once."""
    return len({s.id for s in counted_scores(metric, scores)})


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
    first, second = (without_clusters(metric, run) for run in (ones, others))
    return difference_of(metric, first, second, items_of(metric, ones), margin)


def difference_of(
    metric: Metric, first: LeftOut, second: LeftOut, items: int, margin: float | None = None
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
    ends = error.interval(value) if error else None
    if not (error and ends):
        return Difference(value, None, None, None, error and error.stderr, items, change.clusters)
    p, p_equal = min(2 * min(error.tail(value), error.tail(-value)), 1.0), None
    if margin is not None:
        above = error.tail(value + margin, error.width + value)
        p_equal = max(above, error.tail(margin - value, error.width - value))
    return Difference(value, *ends, p, error.stderr, items, change.clusters, p_equal)


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
    moments = change.moments
    if not (moments and change.support and metric.interval):
        return None
    rests_on = min(change.support[0], change.clusters)
    width = metric.range[1] - metric.range[0]
    unit = width if math.isfinite(width) else 1.0
    moments = moments.in_units(unit)
    varies = moments.second > NO_VARIANCE
    unseen = unseen_weight(moments, 1 / rests_on) if varies else 1.0
    return DifferenceError(
        stderr=math.sqrt(moments.second) * unit if varies else 0.0,
        degrees=min(degrees_of_freedom(moments), rests_on - 1.0),
        width=width,
        unseen=unseen if math.isfinite(width) else 0.0,
        clusters=rests_on,
    )


# --- many differences at once -----------------------------------------------------------------------------

LEVEL = 0.05
"""The probability of any false claim in a family of differences."""

# the probability that any difference exceeds the truth by more than what counts as plausible
_PLAUSIBLE = LEVEL / 100
# the maximum number of weights, or of differences, in memory
_CELLS = 2**21


@dataclass(frozen=True, eq=False)
class Influence:
    """How a metric of one run changes without each of the clusters. Influences are compared by identity.

    Attributes:
        scope: What the names of clusters refer to, such as a benchmark. Clusters with the same name in two influences
            of the same scope are the same cluster.
        clusters: The names of the clusters.
        values: The changes, shape (C,).
    """

    scope: str
    clusters: Sequence[str]
    values: Array


class Contrast(NamedTuple):
    """A difference between two runs in one metric, as a member of a family of tests.

    Attributes:
        value: The difference, the first run's figure minus the second's.
        p: The two-sided p-value of the difference by itself; None if it could not be tested.
        first: The influence of clusters on the first run's figure.
        second: The influence of clusters on the second run's figure, in the same scope.
    """

    value: float
    p: float | None
    first: Influence
    second: Influence


def influence(left_out: LeftOut, clusters: Sequence[str], scope: str) -> Influence:
    """Compute the influence of clusters on a metric of one run.

    Args:
        left_out: The metric without each cluster, as `without_clusters` computes it.
        clusters: The names of all clusters in order.
        scope: What the names of clusters refer to.
    """
    if len(left_out.without) != len(clusters):
        # groups of clusters were left out, which are no clusters of other metrics
        clusters = [f"group {number} of {len(left_out.without)}" for number in range(len(left_out.without))]
    return Influence(scope, clusters, np.where(left_out.contributes, left_out.without - left_out.value, 0.0))


def adjusted_p_values(contrasts: Sequence[Contrast], draws: int = 10_000, seed: int = 0) -> list[float | None]:
    """Adjust the p-values of a family of differences so that the probability of any false claim is at most the level.

    If every difference with an adjusted p-value below 0.05 is claimed to be in the direction that was observed, the
    probability that any of these claims is false is at most about 0.05. This includes claims of the wrong direction,
    since the family consists of both one-sided hypotheses, "not above 0" and "not below 0", of each difference.

    The adjusted p-value is the share of draws, (count + 1) / (B + 1), in which the largest deviate is at least that of
    the difference. The largest is that over the hypotheses with larger p-values, and over the opposites of those with
    smaller ones. An opposite is lowered by as much as its difference exceeds what is plausible without one (Romano,
    Shaikh and Wolf 2014, "A Practical Two-Step Method for Testing Moment Inequalities", Econometrica 82), so that clear
    differences do not make it harder to find others. The adjusted p-value is at least that of the difference before it
    and the difference's own p-value, and at most that of Holm's method, which holds under any dependence. A difference
    to which all clusters contribute alike, as between equal runs, has a weight of its own.

    Args:
        contrasts: The differences.
        draws: The number B of draws.
        seed: The seed of the draws.

    Returns:
        The adjusted p-values in the same order; None for differences that could not be tested, which do not count.
    """
    from scipy.special import ndtri  # imported here because listings do not need it

    adjusted: list[float | None] = [None] * len(contrasts)
    order = [index for _, index in sorted((one.p, index) for index, one in enumerate(contrasts) if one.p is not None)]
    if not order:
        return adjusted
    family = [contrasts[index] for index in order]
    p_values = np.array([one.p for one in family], dtype=np.float64)
    signs = np.copysign(1.0, [one.value for one in family])
    deviates = -ndtri(np.maximum(p_values, np.finfo(float).tiny) / 2)
    # by how much each difference exceeds what is plausible if the opposite holds by a hair
    excess = np.maximum(deviates + ndtri(_PLAUSIBLE / (2 * len(family))), 0)
    counts = np.zeros(len(family))
    for drawn in _draws(family, draws, seed):
        others = (-signs * drawn - excess).max(axis=1, keepdims=True)
        largest = np.maximum.accumulate(np.abs(drawn)[:, ::-1], axis=1)[:, ::-1]
        counts += (np.maximum(largest, others) >= deviates).sum(axis=0)
    by_holm = np.array(holm([*p_values / 2, *1 - p_values / 2])[: len(family)], dtype=np.float64)
    shares = np.minimum(np.maximum.accumulate((counts + 1) / (draws + 1)), by_holm)
    for index, share in zip(order, np.maximum(shares, p_values).tolist(), strict=True):
        adjusted[index] = share
    return adjusted


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


def _draws(contrasts: Sequence[Contrast], draws: int, seed: int) -> Iterator[Array]:
    """Draw the m studentised differences under the hypothesis of no difference, in parts of shape (rows, m)."""
    figures = sorted(
        dict.fromkeys(figure for one in contrasts for figure in (one.first, one.second)), key=attrgetter("scope")
    )
    tables = [_table(list(of_scope)) for _, of_scope in groupby(figures, key=attrgetter("scope"))]
    rows = list(chain.from_iterable(tables))
    position = {figure: number for number, figure in enumerate(figures)}
    first, second = [position[one.first] for one in contrasts], [position[one.second] for one in contrasts]
    spreads = np.array([np.linalg.norm(rows[i] - rows[j]) for i, j in zip(first, second, strict=True)])
    sizes = np.array([max(np.abs(rows[i]).max(), 1e-300) for i in first])
    constant = np.flatnonzero(spreads <= 1e-9 * sizes)
    spreads[constant] = 1.0
    rng = np.random.default_rng(seed)
    step = max(_CELLS // max(len(contrasts), *(table.shape[1] for table in tables)), 1)
    for begin in range(0, draws, step):
        number = min(step, draws - begin)
        drawn = np.hstack([rng.standard_normal((number, table.shape[1])) @ table.T for table in tables])
        differences = (drawn[:, first] - drawn[:, second]) / spreads
        differences[:, constant] = rng.standard_normal((number, len(constant)))
        yield differences


def _table(figures: Sequence[Influence]) -> Array:
    """Return the influence on K figures of one scope of all its clusters, shape (K, C)."""
    names = sorted({name for figure in figures for name in figure.clusters})
    columns = {name: column for column, name in enumerate(names)}
    table = np.zeros((len(figures), len(names)))
    for row, figure in zip(table, figures, strict=True):
        row[[columns[name] for name in figure.clusters]] = figure.values
    return table


def rank_ranges(better: Iterable[tuple[int, int]], runs: int) -> list[tuple[int, int]]:
    """Compute confidence sets for the ranks of M runs, where 1 is the best.

    These are the sets of Mogstad, Romano, Shaikh and Wilhelm (2024, "Inference for Ranks", Review of Economic Studies
    91). They range from 1 + the number of runs that are significantly better to M - the number that are significantly
    worse. If the probability that any of the claims is false is at most 5%, as for the p-values of
    `adjusted_p_values`, then with a probability of 95% the sets of all runs contain their ranks, and if
    runs tie, all ranks that they share.

    Args:
        better: The pairs of runs of which the first is significantly better than the second.
        runs: The number M of runs.

    Returns:
        The best and the worst rank of each run.
    """
    claims = set(better)
    return [
        (1 + sum(loser == run for _, loser in claims), runs - sum(winner == run for winner, _ in claims))
        for run in range(runs)
    ]
