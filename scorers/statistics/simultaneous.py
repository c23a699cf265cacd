"""P-values of many differences at once: all pairs of runs in all metrics of a report.

The adjustment is Romano and Wolf's step-down method (2005, "Exact and Approximate Stepwise Methods for Multiple
Hypothesis Testing", Journal of the American Statistical Association 100) for the largest of the studentised
differences. How the differences depend on each other comes from one bootstrap for all of them. In each draw, every
cluster gets one normally distributed weight, whatever the metric and the run (a multiplier bootstrap), and a difference
is the weighted sum of what the clusters contribute to it. The three differences between three runs, the tasks that are
asked about the same documents, and a mean with its members are thus correlated in the draws as they are in the data.

Each difference enters by its own p-value, converted to a normal deviate. A difference that rests on a few items, whose
standard error is uncertain or 0, has the large p-value that `paired.difference` gives it, and cannot dominate the
maximum.

`tests/error_rates_of_reports.py` prints how often equal models are called different, and how often differences are
found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from halu_tasks.scorers.columns import Array
from halu_tasks.scorers.statistics.jackknife import LeftOut

LEVEL = 0.05
"""The probability of any false claim in a family of differences."""

_PLAUSIBLE = LEVEL / 100
"""The probability that any difference exceeds the truth by more than what counts as plausible."""
_CELLS = 2**21
"""The maximum number of weights, or of differences, in memory."""


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
        p_equal: The p-value of "the difference is the margin or more" by itself; None if it is not tested.
    """

    value: float
    p: float | None
    first: Influence
    second: Influence
    p_equal: float | None = None


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

    If differences are also tested for equality within a margin, "the difference is the margin or more" is one more
    hypothesis of the family for each (`adjusted_equality`). In the draws, it is falsely rejected if the deviate towards
    0 is large, lowered in the same way if the difference is plainly larger than the margin.

    Args:
        contrasts: The differences.
        draws: The number B of draws.
        seed: The seed of the draws.

    Returns:
        The adjusted p-values in the same order; None for differences that could not be tested, which do not count.
    """
    family = _Family.of(contrasts)
    adjusted: list[float | None] = [None] * len(contrasts)
    if not family.order:
        return adjusted
    counts = np.zeros(len(family.order))
    for drawn in _draws([contrasts[index] for index in family.order], draws, seed):
        others = family.unrejected(drawn).max(axis=1, keepdims=True)
        largest = np.maximum.accumulate(np.abs(drawn)[:, ::-1], axis=1)[:, ::-1]
        counts += (np.maximum(largest, others) >= family.deviates).sum(axis=0)
    limits = np.array(family.by_holm()[: len(family.order)], dtype=np.float64)
    shares = np.maximum.accumulate((counts + 1) / (draws + 1))
    for index, share in zip(
        family.order, np.maximum(np.minimum(shares, limits), family.p_values).tolist(), strict=True
    ):
        adjusted[index] = share
    return adjusted


def adjusted_equality(contrasts: Sequence[Contrast], draws: int = 10_000, seed: int = 0) -> list[float | None]:
    """Adjust the p-values of equality within a margin, jointly with those of `adjusted_p_values`.

    If every difference with an adjusted p-value below 0.05 is claimed to be smaller than the margin, the probability
    that any of these claims or of those of `adjusted_p_values` is false is at most about 0.05.

    The adjusted p-value is the share of draws in which the deviate of the difference towards 0, or the largest of the
    others, is at least that of the test. The difference itself enters in one direction only: if it is the margin or
    more, no claim that it is different can be false but for its direction (Finner and Strassburger 2002, "The
    Partitioning Principle", Annals of Statistics 30).

    Args:
        contrasts: The differences, with the p-values of equality.
        draws: The number of draws.
        seed: The seed of the draws.

    Returns:
        The adjusted p-values in the same order; None for differences whose equality could not be tested.
    """
    family = _Family.of(contrasts)
    adjusted: list[float | None] = [None] * len(contrasts)
    if not len(family.equal):
        return adjusted
    p_values = family.p_equal[family.equal]
    deviates = -ndtri(np.maximum(p_values, np.finfo(float).tiny))
    counts = np.zeros(len(family.equal))
    for drawn in _draws([contrasts[index] for index in family.order], draws, seed):
        sizes, towards, others = np.abs(drawn), -family.signs * drawn, family.unrejected(drawn)
        for number, (column, deviate) in enumerate(zip(family.equal, deviates, strict=True)):
            # what is different by a smaller p-value only takes part where that claim may be false
            largest = np.where(family.deviates > deviate, others, sizes)
            largest[:, column] = towards[:, column]
            counts[number] += np.count_nonzero(largest.max(axis=1) >= deviate)
    by_rank = np.argsort(p_values, kind="stable")
    limits = np.array(family.by_holm()[2 * len(family.order) :], dtype=np.float64)
    shares = np.empty(len(counts))
    shares[by_rank] = np.maximum.accumulate((counts[by_rank] + 1) / (draws + 1))
    for column, share in zip(family.equal, np.maximum(np.minimum(shares, limits), p_values).tolist(), strict=True):
        adjusted[family.order[column]] = share
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


class _Family(NamedTuple):
    """The hypotheses of m differences that could be tested, from the smallest p-value to the largest.

    Attributes:
        order: The positions of the differences among the contrasts.
        p_values: The two-sided p-values of no difference, shape (m,).
        p_equal: The p-values of "the difference is the margin or more", shape (m,); NaN if it is not tested.
        signs: The signs of the differences, shape (m,).
    """

    order: list[int]
    p_values: Array
    p_equal: Array
    signs: Array

    @classmethod
    def of(cls, contrasts: Sequence[Contrast]) -> _Family:
        order = [index for _, index in sorted((c.p, index) for index, c in enumerate(contrasts) if c.p is not None)]
        chosen = [contrasts[index] for index in order]
        return cls(
            order,
            np.array([contrast.p for contrast in chosen], dtype=np.float64),
            np.array([contrast.p_equal for contrast in chosen], dtype=np.float64),
            np.array([math.copysign(1.0, contrast.value) for contrast in chosen]),
        )

    @property
    def deviates(self) -> Array:
        """The p-values of no difference as deviates of the normal distribution."""
        return np.asarray(-ndtri(np.maximum(self.p_values, np.finfo(float).tiny) / 2))

    @property
    def equal(self) -> npt.NDArray[np.int64]:
        """The columns of the differences whose equality is tested."""
        return np.flatnonzero(~np.isnan(self.p_equal))

    def unrejected(self, drawn: Array) -> Array:
        """Return the largest deviate of each difference in the hypotheses that the data do not reject.

        These are the opposite of its direction, and "the margin or more". Both are lowered by as much as the difference
        exceeds what is plausible if they hold by a hair.
        """
        plausible = ndtri(_PLAUSIBLE / (2 * len(self.order)))
        towards = -self.signs * drawn
        opposite = np.maximum(self.deviates + plausible, 0)
        margin = np.maximum(ndtri(np.where(np.isnan(self.p_equal), 1.0, self.p_equal)) + plausible, 0)
        return np.asarray(towards - np.minimum(opposite, margin))

    def by_holm(self) -> list[float | None]:
        """Adjust all one-sided p-values by Holm's method: those of the observed directions, opposites, equalities."""
        one_sided = [*(self.p_values / 2).tolist(), *(1 - self.p_values / 2).tolist()]
        return holm([*one_sided, *self.p_equal[self.equal].tolist()])


def _draws(contrasts: Sequence[Contrast], draws: int, seed: int) -> Iterator[Array]:
    """Draw the m studentised differences under the hypothesis of no difference, in parts of shape (rows, m)."""
    figures = list({id(figure): figure for contrast in contrasts for figure in contrast[2:4]}.values())
    scopes = [_Scope.of(scope, figures) for scope in sorted({figure.scope for figure in figures})]
    position = {id(figure): n for n, figure in enumerate(figure for scope in scopes for figure in scope.figures)}
    first = [position[id(contrast.first)] for contrast in contrasts]
    second = [position[id(contrast.second)] for contrast in contrasts]
    by_id = {id(figure): row for scope in scopes for figure, row in zip(scope.figures, scope.table, strict=True)}
    spreads = np.array([np.linalg.norm(by_id[id(one)] - by_id[id(other)]) for _, _, one, other, _ in contrasts])
    sizes = np.array([max(np.abs(by_id[id(one)]).max(), 1e-300) for _, _, one, _, _ in contrasts])
    constant = np.flatnonzero(spreads <= 1e-9 * sizes)
    spreads[constant] = 1.0
    rng = np.random.default_rng(seed)
    step = max(_CELLS // max(len(contrasts), *(scope.table.shape[1] for scope in scopes)), 1)
    for begin in range(0, draws, step):
        rows = min(step, draws - begin)
        drawn = np.hstack([rng.standard_normal((rows, scope.table.shape[1])) @ scope.table.T for scope in scopes])
        differences = (drawn[:, first] - drawn[:, second]) / spreads
        differences[:, constant] = rng.standard_normal((rows, len(constant)))
        yield differences


class _Scope(NamedTuple):
    """The figures of one scope, and the influence on them of all its clusters, shape (K, C)."""

    figures: list[Influence]
    table: Array

    @classmethod
    def of(cls, scope: str, figures: Sequence[Influence]) -> _Scope:
        inside = [figure for figure in figures if figure.scope == scope]
        names = sorted({name for figure in inside for name in figure.clusters})
        columns = {name: column for column, name in enumerate(names)}
        table = np.zeros((len(inside), len(names)))
        for row, figure in enumerate(inside):
            table[row, [columns[name] for name in figure.clusters]] = figure.values
        return cls(inside, table)


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
    ranges = [(1, runs)] * runs
    for winner, loser in set(better):
        ranges[winner] = ranges[winner][0], ranges[winner][1] - 1
        ranges[loser] = ranges[loser][0] + 1, ranges[loser][1]
    return ranges
