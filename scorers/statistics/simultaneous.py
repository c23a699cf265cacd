"""P-values of many differences at once: all pairs of runs in all metrics of a report.

The adjustment is Romano and Wolf's step-down method (2005, "Exact and Approximate Stepwise Methods for Multiple
Hypothesis Testing", Journal of the American Statistical Association 100) for the largest of the studentised
differences. How the differences depend on each other comes from one bootstrap for all of them. In each draw, every
cluster gets one normally distributed weight, whatever the metric and the run (a multiplier bootstrap), and a difference
is the weighted sum of what the clusters contribute to it. The three differences between three runs, the tasks that are
asked about the same documents, and a mean with its members are thus correlated in the draws as they are in the data.

Each difference enters by its own p-value, converted to a normal deviate. A difference that rests on a few items, whose
standard error is uncertain or 0, has the large p-value that `paired_bootstrap` gives it, and cannot dominate the
maximum.

`tests/error_rates_of_reports.py` prints how often equal models are called different, and how often differences are
found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from halu_tasks.scorers.metrics import Array, Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.paired import Sums, sums_of
from halu_tasks.scorers.statistics.significance import holm

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
    """

    value: float
    p: float | None
    first: Influence
    second: Influence


def influence(metric: Metric, scores: Sequence[Score], scope: str) -> Influence:
    """Compute the influence of clusters on a metric of one run.

    Args:
        metric: The metric.
        scores: The scores of the run, in any order.
        scope: What the names of clusters refer to.
    """
    return influence_of_sums(metric, sums_of(metric, scores), sorted({score.cluster for score in scores}), scope)


def influence_of_sums(metric: Metric, sums: Sums, clusters: Sequence[str], scope: str) -> Influence:
    """Compute the influence of clusters on a metric of one run from the metric's sums.

    Args:
        metric: The metric.
        sums: The sums, as `sums_of` computes them.
        clusters: The names of the clusters, in the order of the sums.
        scope: What the names of clusters refer to.
    """
    total, table = sums
    if len(table) != len(clusters):
        # a metric that leaves out groups of clusters at a time: its groups are no clusters of other metrics
        clusters = [f"{metric.name} {number}" for number in range(len(table))]
    values = np.zeros(len(table))
    contributes = metric.contributes(table)
    values[contributes] = metric.value(total - table[contributes]) - metric.value(total)
    return Influence(scope, clusters, values)


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
    tested = [(contrast.p, index) for index, contrast in enumerate(contrasts) if contrast.p is not None]
    adjusted: list[float | None] = [None] * len(contrasts)
    if not tested:
        return adjusted
    # from the smallest p-value to the largest
    order = sorted(tested)
    p_values = np.array([p for p, _ in order])
    deviates = -ndtri(np.maximum(p_values, np.finfo(float).tiny) / 2)
    signs = np.array([math.copysign(1.0, contrasts[index].value) for _, index in order])
    slack = np.maximum(deviates + ndtri(_PLAUSIBLE / (2 * len(order))), 0)
    counts = np.zeros(len(order))
    for drawn in _draws([contrasts[index] for _, index in order], draws, seed):
        opposites = (-signs * drawn - slack).max(axis=1, keepdims=True)
        largest = np.maximum.accumulate(np.abs(drawn)[:, ::-1], axis=1)[:, ::-1]
        counts += (np.maximum(largest, opposites) >= deviates).sum(axis=0)
    by_holm = holm([*(p / 2 for p in p_values.tolist()), *(1 - p / 2 for p in p_values.tolist())])
    limits = np.array(by_holm[: len(order)], dtype=np.float64)
    shares = np.maximum.accumulate((counts + 1) / (draws + 1))
    for (_, index), share in zip(order, np.maximum(np.minimum(shares, limits), p_values).tolist(), strict=True):
        adjusted[index] = share
    return adjusted


def _draws(contrasts: Sequence[Contrast], draws: int, seed: int) -> Iterator[Array]:
    """Draw the m studentised differences under the hypothesis of no difference, in parts of shape (rows, m)."""
    figures = list({id(figure): figure for contrast in contrasts for figure in contrast[2:]}.values())
    scopes = [_Scope.of(scope, figures) for scope in sorted({figure.scope for figure in figures})]
    position = {id(figure): n for n, figure in enumerate(figure for scope in scopes for figure in scope.figures)}
    first = [position[id(contrast.first)] for contrast in contrasts]
    second = [position[id(contrast.second)] for contrast in contrasts]
    by_id = {id(figure): row for scope in scopes for figure, row in zip(scope.figures, scope.table, strict=True)}
    spreads = np.array([np.linalg.norm(by_id[id(one)] - by_id[id(other)]) for *_, one, other in contrasts])
    sizes = np.array([max(np.abs(by_id[id(one)]).max(), 1e-300) for *_, one, _ in contrasts])
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
