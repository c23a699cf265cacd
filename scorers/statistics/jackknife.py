"""The delete-one-cluster jackknife: the values of a metric without each cluster.

The standard error is deterministic, equals s/√n for a mean of independent items, and needs no resampling. Metrics that
are functions of sums are computed without a cluster by subtracting its part; any other is computed again. All sums are
exact until they are rounded once, so that they depend neither on the order of clusters, nor on how these are divided
among processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array, Columns, Numbers
from halu_tasks.scorers.statistics.intervals import Moments

SumFunction = Callable[[Array], Array]
"""Computes a metric, shape (…), from sums of shape (…, K); NaN where it is undefined.

A metric that is an average over L classes is computed of each, shape (…, L), NaN where a class does not occur. The sums
are those of the first class, then of the second, and so on. The first two of a class are the ones that it rests on.
"""
Flags = npt.NDArray[np.bool_]


class ErrorBasis(NamedTuple):
    """What the error of a metric rests on.

    Attributes:
        clusters: The number of clusters.
        bounds: The lowest and the highest possible value.
    """

    clusters: float
    bounds: tuple[float, float]


FindBasis = Callable[[Array, int, Numbers], ErrorBasis | None]
"""Finds what the error of a metric rests on; None if it is too little.

Its arguments are the sums over all clusters, shape (K,), the number of clusters that contribute, and that of those with
items of each class, shape (L,).
"""

# the product of the numbers of items and of groups of clusters above which fewer groups are left out
_WORK = 2_000_000
_FEWEST_GROUPS = 20


class Sums(NamedTuple):
    """What R items, or clusters of items, add to the sums of a metric.

    Attributes:
        terms: What each adds, shape (R, K).
        classes: Whether each is of each class, or has items of it, shape (R, L).
        multiplicity: How often each counts, shape (R,); None if it is once.
    """

    terms: Array
    classes: Flags
    multiplicity: Numbers | None = None

    @property
    def total(self) -> Array:
        """The sums over all items or clusters, shape (K,)."""
        return np.array([exact_sum(column, self.multiplicity) for column in self.terms.T])

    def scatter(self, selected: Flags) -> Sums:
        """Return the sums of all items, of which only those that are selected add anything."""
        terms = np.zeros((len(selected), self.terms.shape[1]))
        classes = np.zeros((len(selected), self.classes.shape[1]), dtype=bool)
        terms[selected], classes[selected] = self.terms, self.classes
        return Sums(terms, classes)

    def by_cluster(self, cluster: Numbers, clusters: int) -> Sums:
        """Sum up the items of each cluster, each sum rounded once."""
        sums = np.zeros((clusters, self.terms.shape[1]))
        np.add.at(sums, cluster, self.terms)
        # the sum of two numbers, or of integers, is only rounded once anyway
        fractions = np.flatnonzero((self.terms != np.rint(self.terms)).any(axis=0))
        sizes = np.bincount(cluster, minlength=clusters)
        if len(fractions) and (sizes > 2).any():
            order, ends = np.argsort(cluster, kind="stable"), np.cumsum(sizes)
            for number in np.flatnonzero(sizes > 2):
                terms = self.terms[order[ends[number] - sizes[number] : ends[number]]]
                sums[number, fractions] = [exact_sum(terms[:, column]) for column in fractions]
        return Sums(sums, any_of_cluster(self.classes, cluster, clusters))

    def unique(self) -> Sums:
        """Return those that differ, each with how often it occurs."""
        table = np.hstack([self.terms, self.classes])
        order = np.lexsort(table.T)
        table = table[order]
        first = np.flatnonzero(np.append(True, (table[1:] != table[:-1]).any(axis=1)))
        multiplicity = np.diff(first, append=len(table))
        return Sums(self.terms[order[first]], self.classes[order[first]], multiplicity)


def exact_sum(column: Array, multiplicity: Numbers | None = None) -> float:
    """Sum up numbers, each as often as `multiplicity` says, and round only the sum."""
    terms = column.tolist()
    if multiplicity is None:
        return math.fsum(terms)
    return math.fsum(chain.from_iterable(map(repeat, terms, multiplicity.tolist())))


class Jackknife(NamedTuple):
    """The values of a metric without each of R clusters.

    Attributes:
        value: The value with all clusters.
        without: The values without each, shape (R,); NaN where the metric is undefined.
        contributes: Which clusters contribute to the metric, shape (R,).
        basis: What the error rests on; None if that is too little.
        multiplicity: How many clusters are like each of them, shape (R,); None if each is one cluster.
        parts: The values of which this is the sum, divided by `part_count`; empty if it is no mean.
        part_count: The number of values that it is the mean of; those that are not among `parts` are 0.
        strata: The strata whose labelled items the value rests on (`Stratum`); empty if it rests on all items alike.
    """

    value: float
    without: Array
    contributes: Flags
    basis: ErrorBasis | None = None
    multiplicity: Numbers | None = None
    parts: tuple[Jackknife, ...] = ()
    part_count: int = 1
    strata: tuple[Stratum, ...] = ()

    @property
    def clusters(self) -> int:
        """The number of clusters that contribute."""
        return int(_counts(self.contributes, self.multiplicity))

    @property
    def moments(self) -> Moments | None:
        """The moments of the clusters' deviations; None if there are fewer than two, or a value is undefined."""
        changes = self.without[self.contributes] - self.value
        if self.clusters < 2 or not np.isfinite(changes).all():
            return None
        multiplicity = None if self.multiplicity is None else self.multiplicity[self.contributes]
        return Moments.of(self.clusters, [exact_sum(changes**power, multiplicity) for power in (1, 2, 3, 4)])

    @classmethod
    def constant(cls, value: float) -> Jackknife:
        """Return a value of which no clusters are left out."""
        return cls(value, np.zeros(0), np.zeros(0, dtype=bool))

    @classmethod
    def mean(cls, parts: Sequence[Jackknife], part_count: int | None = None) -> Jackknife:
        """Return the mean of values without the same clusters.

        Args:
            parts: The values.
            part_count: The number of values, if there are others, which are 0.
        """
        part_count = part_count or len(parts)
        value = float(np.sum([part.value for part in parts]) / part_count)
        if any(len(part.without) != len(parts[0].without) for part in parts):
            return cls.constant(value)
        contributes = np.any([part.contributes for part in parts], axis=0)
        bases = [part.basis for part in parts if part.basis]
        return cls(
            value,
            np.sum([part.without for part in parts], axis=0) / part_count,
            contributes,
            ErrorBasis(int(contributes.sum()), bases[0].bounds) if len(bases) == len(parts) else None,
            parts[0].multiplicity,
            tuple(parts),
            part_count,
            tuple(stratum.scaled(1 / part_count) for part in parts for stratum in part.strata),
        )

    def minus(self, other: Jackknife) -> Jackknife:
        """Return the difference to another value without the same clusters, which are as many of each kind."""
        if len(self.without) != len(other.without):
            return self.constant(self.value - other.value)
        pairs = zip(self.parts, other.parts, strict=True) if len(self.parts) == len(other.parts) else ()
        return Jackknife(
            self.value - other.value,
            self.without - other.without,
            self.contributes | other.contributes,
            min(self.basis, other.basis) if self.basis and other.basis else None,
            self.multiplicity,
            parts=tuple(one.minus(another) for one, another in pairs),
            part_count=min(self.part_count, other.part_count),  # one run may have unparsed replies, whose figure is 0
            strata=(*self.strata, *(stratum.scaled(-1.0) for stratum in other.strata)),
        )

    def covariance(self) -> Array:
        """Compute the covariance of the errors of each two of P parts, shape (P, P)."""
        errors = np.zeros((len(self.parts), len(self.without)))
        for row, part in zip(errors, self.parts, strict=True):
            contributes, number = part.contributes, part.clusters
            without = part.without[contributes]
            multiplicity = None if self.multiplicity is None else self.multiplicity[contributes]
            if number:
                row[contributes] = math.sqrt(1 - 1 / number) * (exact_sum(without, multiplicity) / number - without)
        return np.array([[exact_sum(one * other, self.multiplicity) for other in errors] for one in errors])


class Stratum(NamedTuple):
    """A part of the items whose mean is only known from those of them that have labels.

    Attributes:
        share: The mean of the items with labels, without each cluster; NaN if there are none.
        change: Computes by how much a metric changes if the mean of all items of the stratum changes to its argument.
        is_binomial: Whether the mean itself says how uncertain it is, as each label is of a cluster of its own and at
            an end of the range.
    """

    share: Jackknife
    change: Callable[[float], float]
    is_binomial: bool

    def scaled(self, factor: float) -> Stratum:
        """Return the stratum of the metric times a factor."""
        return self._replace(change=lambda mean: factor * self.change(mean))


def reach_of_strata(strata: Sequence[Stratum], ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Combine the intervals of the means of independent strata into the distances from a metric to its ends.

    This is the method of variance estimates recovery (`intervals.mean_interval`): what the metric changes by with each
    mean at an end of its interval is combined by the squares. Where the interval is not from labels, because fewer than
    two clusters have any, the change is added.

    Args:
        strata: The strata.
        ends: The interval of the mean of each.

    Returns:
        The distances to the lower and to the upper end; infinite if the metric is undefined at the end of an interval.
    """
    changes = np.array([[*map(stratum.change, interval), 0.0] for stratum, interval in zip(strata, ends, strict=True)])
    if np.isnan(changes).any():
        return math.inf, math.inf
    has_moments = np.array([stratum.share.moments is not None for stratum in strata])
    below, above = (
        math.hypot(*each[has_moments]) + abs(float(each[~has_moments].sum()))
        for each in (changes.min(axis=1), changes.max(axis=1))
    )
    return below, above


def leave_out(value: SumFunction, sums: Sums, find_basis: FindBasis) -> Jackknife:
    """Compute a function of sums without each cluster.

    Args:
        value: The function.
        sums: What the clusters add to the sums.
        find_basis: Finds what the error rests on.
    """
    total = sums.total
    values = value(np.concatenate([total[None], total - sums.terms]))

    def part(values: Array, terms: Array, classes: Flags) -> Jackknife:
        contributes = (terms != 0).any(axis=1)
        without = np.where(contributes, values[1:], values[0])
        clusters, of_classes = (_counts(flags, sums.multiplicity) for flags in (contributes, classes))
        return Jackknife(
            float(values[0]), without, contributes, find_basis(total, int(clusters), of_classes), sums.multiplicity
        )

    if values.ndim == 1:
        return part(values, sums.terms, sums.classes & (sums.terms != 0).any(axis=1)[:, None])
    occurs = ~np.isnan(values[0])
    terms = sums.terms.reshape(len(sums.terms), len(occurs), -1)[..., :2]
    # a figure after those of the classes, such as the one of replies without an answer, is not among them
    parts = [part(values[:, n], terms[:, n], flags[:, None]) for n, flags in enumerate(sums.classes.T)]
    if not all(part.basis for part in parts):
        parts = [part._replace(basis=None) for part in parts]
    defined = [part for part in parts if not math.isnan(part.value)]
    return Jackknife.mean(defined, int(occurs.sum())) if defined else Jackknife.constant(math.nan)


def leave_out_items(
    value: float, compute: Callable[[Columns], float], columns: Columns, classes: Flags, find_basis: FindBasis
) -> Jackknife:
    """Compute a function of columns without each cluster, or each group of them if there are many items.

    Groups are of equal numbers of clusters (the delete-a-group jackknife of Kott 2001).

    Args:
        value: The value of the function.
        compute: The function.
        columns: The columns of N items.
        classes: Whether each item is of each class, shape (N, L).
        find_basis: Finds what the error rests on, without sums.
    """
    groups = min(columns.clusters, max(_WORK // max(len(columns), 1), _FEWEST_GROUPS))
    group = columns.cluster % groups
    contributes = np.bincount(group, minlength=groups) > 0
    without = np.full(groups, value)
    with np.errstate(all="ignore"):
        for left_out in np.flatnonzero(contributes):
            without[left_out] = compute(columns.where(group != left_out))
    of_classes = _counts(any_of_cluster(classes, group, groups))
    return Jackknife(value, without, contributes, find_basis(np.zeros(0), int(contributes.sum()), of_classes))


def _counts(flags: Flags, multiplicity: Numbers | None = None) -> Numbers:
    return np.asarray(flags.sum(axis=0) if multiplicity is None else multiplicity @ flags.astype(np.int64))


def any_of_cluster(flags: Flags, cluster: Numbers, clusters: int) -> Flags:
    """Return whether each cluster has an item with each of L flags, shape (C, L)."""
    result = np.zeros((clusters, flags.shape[1]), dtype=bool)
    for column, flag in enumerate(flags.T):
        result[cluster[flag], column] = True
    return result
