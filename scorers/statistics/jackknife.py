"""The delete-one-cluster jackknife: the values of a metric without each cluster.

The standard error is deterministic, equals s/√n for a mean of independent items, and needs no resampling. Metrics that
are functions of sums are computed without a cluster by subtracting its part; any other is computed again. What is known
of the values is kept as exact sums of their powers, so that it does not depend on the order of clusters, nor on how
they are divided among processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array, Columns, Numbers
from halu_tasks.scorers.statistics.exact import ExactSums
from halu_tasks.scorers.statistics.intervals import Moments

Value = Callable[[Array], Array]
"""Computes a metric, shape (…), from sums of shape (…, K); NaN where it is undefined."""
Flags = npt.NDArray[np.bool_]

_WORK = 2_000_000
"""The number of items, times that of groups of clusters, from which on fewer groups are left out."""
_FEWEST_GROUPS = 20


class Chunk(NamedTuple):
    """The sums of R clusters.

    Attributes:
        terms: Their part of the metric's sums, shape (R, K).
        classes: Whether they have items of each class, shape (R, L).
        times: How many clusters are like each of them, shape (R,); None if each is one cluster.
    """

    terms: Array
    classes: Flags
    times: Numbers | None = None


class LeftOut(NamedTuple):
    """The values of a metric without each of R clusters.

    Attributes:
        value: The value with all clusters.
        without: The values without each, shape (R,); NaN where the metric is undefined.
        contributes: Which clusters contribute to the metric, shape (R,).
        classes: Whether those that do have items of each class, shape (R, L).
        times: How many clusters are like each of them, shape (R,); None if each is one cluster.
        supported: Whether there is enough for an error.
    """

    value: float
    without: Array
    contributes: Flags
    classes: Flags
    times: Numbers | None = None
    supported: bool = True

    @classmethod
    def of_value(cls, value: float) -> LeftOut:
        """Return a value of which no clusters are left out."""
        return cls(value, np.zeros(0), np.zeros(0, dtype=bool), np.zeros((0, 0), dtype=bool))

    @classmethod
    def mean(cls, parts: Sequence[LeftOut]) -> LeftOut:
        """Return the mean of values without the same clusters."""
        if any(len(part.without) != len(parts[0].without) for part in parts):
            return cls.of_value(float(np.mean([part.value for part in parts])))
        return cls(
            float(np.mean([part.value for part in parts])),
            np.mean([part.without for part in parts], axis=0),
            np.any([part.contributes for part in parts], axis=0),
            np.hstack([part.classes for part in parts]),
            supported=all(part.supported for part in parts),
        )

    def minus(self, other: LeftOut) -> LeftOut:
        """Return the difference to another value without the same clusters."""
        if len(self.without) != len(other.without):
            return self.of_value(self.value - other.value)
        return LeftOut(
            self.value - other.value,
            self.without - other.without,
            self.contributes | other.contributes,
            self.classes | other.classes,
            supported=self.supported or other.supported,
        )


def leave_out(value: Value, total: Array, chunk: Chunk) -> LeftOut:
    """Compute a function of sums without each cluster.

    Args:
        value: The function.
        total: The sums over all clusters, shape (K,).
        chunk: The part of them that is lost with each of some clusters.
    """
    contributes = (chunk.terms != 0).any(axis=1)
    # with all clusters first: a value may depend on which classes occur in any row
    values = value(np.concatenate([total[None], total - chunk.terms]))
    without = np.where(contributes, values[1:], values[0])
    return LeftOut(float(values[0]), without, contributes, chunk.classes & contributes[:, None], chunk.times)


def leave_out_items(value: float, compute: Callable[[Columns], float], columns: Columns, classes: Flags) -> LeftOut:
    """Compute a function of columns without each cluster, or each group of them if there are many items.

    Groups are of equal numbers of clusters (the delete-a-group jackknife of Kott 2001).

    Args:
        value: The value of the function.
        compute: The function.
        columns: The columns of N items.
        classes: Whether each item is of each class, shape (N, L).
    """
    groups = min(columns.clusters, max(_WORK // max(len(columns), 1), _FEWEST_GROUPS))
    group = columns.cluster % groups
    contributes = np.bincount(group, minlength=groups) > 0
    without = np.full(groups, value)
    with np.errstate(all="ignore"):
        for left_out in np.flatnonzero(contributes):
            without[left_out] = compute(columns.where(group != left_out))
    return LeftOut(value, without, contributes, any_of_cluster(classes, group, groups))


def any_of_cluster(flags: Flags, cluster: Numbers, clusters: int) -> Flags:
    """Return whether each cluster has an item with each of L flags, shape (C, L)."""
    result = np.zeros((clusters, flags.shape[1]), dtype=bool)
    for column, flag in enumerate(flags.T):
        result[cluster[flag], column] = True
    return result


class Spread(NamedTuple):
    """How much a metric changes without each of the clusters that contribute to it.

    Attributes:
        clusters: The number of these clusters.
        of_classes: The number of them with items of each class, shape (L,).
        bias: The jackknife's estimate of the metric's bias; 0 if there are no moments.
        moments: The moments of their deviations; None if the value is undefined without one of them, such as the only
            one with items of a class, or if there are fewer than two.
    """

    clusters: int
    of_classes: Numbers
    bias: float
    moments: Moments | None

    @classmethod
    def of(cls, parts: Iterable[LeftOut]) -> Spread:
        """Compute the spread from the values without each cluster, in any division and order."""
        sums, classes = ExactSums([0] * 6), np.zeros(0, dtype=np.int64)
        for value, without, contributes, of_classes, times, *_ in parts:
            undefined = contributes & ~np.isfinite(without)
            by = np.where(contributes & ~undefined, without - value, 0.0)
            sums.add(ExactSums.of(np.stack([contributes, undefined, by, by**2, by**3, by**4], axis=1), times))
            counted = np.ones(len(by), dtype=np.int64) if times is None else times
            here = counted @ of_classes.astype(np.int64)
            classes = here + classes if len(classes) else here
        contributing, undefined_clusters, *powers = sums.values()
        clusters = round(contributing)
        if clusters < 2 or undefined_clusters:
            return cls(clusters, classes, 0.0, None)
        bias = (clusters - 1) * float(powers[0]) / clusters
        return cls(clusters, classes, bias, Moments.of(clusters, np.array(powers)))
