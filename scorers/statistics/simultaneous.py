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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
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
    figures = {id(figure): figure for contrast in contrasts for figure in (contrast.first, contrast.second)}
    by_scope: dict[str, list[int]] = {}
    for key, figure in sorted(figures.items(), key=lambda known: known[1].scope):
        by_scope.setdefault(figure.scope, []).append(key)
    tables = [_table([figures[key] for key in keys]) for keys in by_scope.values()]
    rows = {
        key: row
        for keys, table in zip(by_scope.values(), tables, strict=True)
        for key, row in zip(keys, table, strict=True)
    }
    position = {key: number for number, key in enumerate(rows)}
    first, second = ([position[id(pair[side])] for pair in contrasts] for side in (2, 3))
    spreads = np.array([np.linalg.norm(rows[id(one.first)] - rows[id(one.second)]) for one in contrasts])
    sizes = np.array([max(np.abs(rows[id(one.first)]).max(), 1e-300) for one in contrasts])
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
