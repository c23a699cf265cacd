"""The delete-one-cluster jackknife: the values of a metric without each cluster, from sums by cluster.

The standard error is deterministic, equals s/√n for a mean of independent items, and needs no resampling. The sums are
read in chunks, so that they need not be in memory at the same time: once for the sums over all clusters, and once more
for the values without each. All that is kept are exact sums, so the result does not depend on the chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.statistics.exact import ExactSums
from halu_tasks.scorers.statistics.intervals import Moments

Array = npt.NDArray[np.float64]
Value = Callable[[Array], Array]
"""Computes the metric, shape (…), from sums of shape (…, K); NaN where it is undefined."""


class Chunk(NamedTuple):
    """Rows of a table of sums by cluster.

    Attributes:
        table: The sums of N different clusters, shape (N, K).
        times: How many clusters have these sums, shape (N,); None if each row is one cluster.
    """

    table: Array
    times: npt.NDArray[np.int64] | None = None


Chunks = Callable[[], Iterable[Chunk]]
"""Reads the rows of all clusters."""


class Rule(NamedTuple):
    """How a metric is computed without each cluster.

    Attributes:
        value: Computes it from sums.
        contributes: Which clusters, from their sums, shape (C, K), contribute to it, shape (C,).
        classes: Which classes each cluster has items of, shape (C, L), if the metric compares or averages classes.
        columns: Which columns of the table it is computed from.
    """

    value: Value
    contributes: Callable[[Array], npt.NDArray[np.bool_]]
    classes: Callable[[Array], npt.NDArray[np.bool_]] | None
    columns: slice


class LeftOut(NamedTuple):
    """What is known of the values of a metric without each of the clusters that contribute to it.

    Attributes:
        clusters: The number of these clusters.
        of_classes: The number of them with items of each class, shape (L,).
        bias: The jackknife's estimate of the bias of the metric; 0 if there are no moments.
        moments: The moments of their deviations; None if the value is undefined without one of them, such as the only
            one with items of a class, or if there are fewer than two.
        covariances: The sum of the products of their deviations and those of each metric, in order.
    """

    clusters: int
    of_classes: npt.NDArray[np.int64]
    bias: float
    moments: Moments | None
    covariances: Sequence[float]


def leave_out(rules: Sequence[Rule], total: Array, chunks: Chunks, *, together: bool = False) -> list[LeftOut]:
    """Compute the values of metrics without each cluster.

    Args:
        rules: How the metrics are computed.
        total: The sums over all clusters, shape (K,).
        chunks: The part of them that is lost with each cluster.
        together: Whether to compute the covariances of the metrics.
    """
    points = [float(rule.value(total[rule.columns])) for rule in rules]
    sums: ExactSums | None = None
    classes: list[npt.NDArray[np.int64]] = []
    for table, times in chunks():
        changes = [_changes(rule, point, total, table) for rule, point in zip(rules, points, strict=True)]
        columns = [column for change in changes for column in _powers(change)]
        if together:
            columns += [column for one in changes for other in changes for column in _products(one, other)]
        part = ExactSums.of(np.stack(columns, axis=1), times)
        if sums is None:
            sums, classes = part, [_class_counts(change, times) for change in changes]
        else:
            sums.add(part)
            classes = [before + _class_counts(change, times) for before, change in zip(classes, changes, strict=True)]
    if sums is None:
        return [LeftOut(0, np.zeros(0, dtype=np.int64), 0.0, None, ()) for _ in rules]
    values = sums.values()
    powers = values[: 6 * len(rules)].reshape(len(rules), 6)
    products = values[6 * len(rules) :].reshape(len(rules), -1, 4) if together else np.zeros((len(rules), 0, 4))
    return [_left_out(number, powers, products[number], of_classes) for number, of_classes in enumerate(classes)]


class _Changes(NamedTuple):
    """How a metric changes without each of the N clusters of a chunk.

    Attributes:
        contributes: Which clusters contribute, shape (N,).
        by: The value without each minus the value, shape (N,); 0 for those that do not contribute, or without which it
            is undefined.
        undefined: Without which clusters the value is undefined, shape (N,).
        classes: Which classes each cluster that contributes has items of, shape (N, L).
    """

    contributes: npt.NDArray[np.bool_]
    by: Array
    undefined: npt.NDArray[np.bool_]
    classes: npt.NDArray[np.bool_]


def _changes(rule: Rule, point: float, total: Array, table: Array) -> _Changes:
    own, all_sums = table[:, rule.columns], total[rule.columns]
    contributes = np.asarray(rule.contributes(own), dtype=bool)
    # with all clusters first: a value may depend on which classes occur in any row
    values = np.asarray(rule.value(np.concatenate([all_sums[None], all_sums - own])))[1:]
    undefined = contributes & ~np.isfinite(values)
    by = np.where(contributes & ~undefined, values - point, 0.0)
    classes = rule.classes(own) & contributes[:, None] if rule.classes else np.zeros((len(own), 0), dtype=bool)
    return _Changes(contributes, by, undefined, classes)


def _powers(change: _Changes) -> list[Array]:
    by = change.by
    counted = [np.asarray(one, dtype=np.float64) for one in (change.contributes, change.undefined)]
    return [*counted, by, by**2, by**3, by**4]


def _products(one: _Changes, other: _Changes) -> list[Array]:
    both = np.asarray(one.contributes & other.contributes, dtype=np.float64)
    return [both, one.by * both, other.by * both, one.by * other.by * both]


def _class_counts(change: _Changes, times: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    counted = np.ones(len(change.by), dtype=np.int64) if times is None else times
    return np.asarray(counted @ change.classes.astype(np.int64))


def _left_out(number: int, powers: Array, products: Array, of_classes: npt.NDArray[np.int64]) -> LeftOut:
    """Collect what is known of one of M metrics.

    Args:
        number: Which metric it is.
        powers: The sums of `_powers` of all metrics, shape (M, 6).
        products: The sums of `_products` with each metric, shape (M, 4), or none.
        of_classes: The number of clusters of each class.
    """
    contributing, undefined = (round(float(count)) for count in powers[number, :2])
    if contributing < 2 or undefined:
        return LeftOut(contributing, of_classes, 0.0, None, [0.0] * len(products))
    covariances = []
    for other, (both, one_by, other_by, product) in enumerate(products):
        clusters = np.maximum(powers[[number, other], 0], 1.0)
        means = powers[[number, other], 2] / clusters
        scale = math.sqrt(float(np.prod((clusters - 1) / clusters)))
        product = product - means[0] * other_by - means[1] * one_by + both * means[0] * means[1]
        covariances.append(scale * float(product))
    bias = (contributing - 1) * float(powers[number, 2]) / contributing
    return LeftOut(contributing, of_classes, bias, Moments.of_values(contributing, powers[number, 2:]), covariances)
