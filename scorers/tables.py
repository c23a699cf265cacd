"""Sums of metrics over clusters, from the different scores that occur and how the clusters are made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Array, Items, Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.exact import ExactSums
from halu_tasks.scorers.statistics.jackknife import Chunk

Numbers = npt.NDArray[np.int64]


class ClusteredScores(NamedTuple):
    """The scores of C clusters.

    Attributes:
        scores: The different scores, without their items unless a metric needs these.
        kind: Which of them each of the N replies has, shape (N,); the replies of a cluster follow each other.
        begins: The first reply of each cluster, shape (C,).
    """

    scores: Sequence[Score]
    kind: Numbers
    begins: Numbers

    @property
    def sizes(self) -> Numbers:
        """The number of replies of each cluster, shape (C,)."""
        return np.diff(self.begins, append=len(self.kind))


@dataclass(frozen=True)
class MetricTable:
    """The sums of a metric over some clusters.

    Attributes:
        total: The sums over these clusters.
        rows: The sums of each cluster, or the different ones; None for a metric without an error.
    """

    total: ExactSums
    rows: Chunk | None


def metric_table(metric: Metric, clusters: ClusteredScores) -> MetricTable:
    """Compute the sums of a metric that does not compare items across clusters."""
    if metric.by_item:
        of_kinds = np.array([metric.counts([score]) for score in clusters.scores], dtype=np.float64)
        table = _sums_by_cluster(of_kinds, clusters)
    else:
        ends = np.append(clusters.begins[1:], len(clusters.kind))
        members = (clusters.kind[begin:end] for begin, end in zip(clusters.begins, ends, strict=True))
        table = np.array([metric.counts([clusters.scores[k] for k in kinds]) for kinds in members], dtype=np.float64)
    rows = _different(table)
    return MetricTable(ExactSums.of(*rows), rows if metric.has_error else None)


def pooled_items(metric: Metric, clusters: ClusteredScores) -> Items:
    """Collect the items of a metric that compares items across clusters."""
    assert metric.pooled
    width = len(metric.pooled.columns)
    of_kinds = [metric.pooled.item(score) for score in clusters.scores]
    counts = np.array([row is not None for row in of_kinds])[clusters.kind]
    numbers = np.array([row or (math.nan,) * width for row in of_kinds], dtype=np.float64)[clusters.kind]
    cluster = np.repeat(np.arange(len(clusters.begins)), clusters.sizes)
    return Items(cluster[counts], numbers[counts], len(clusters.begins))


def _sums_by_cluster(of_kinds: Array, clusters: ClusteredScores) -> Array:
    """Sum up the counts of replies, each sum rounded once.

    Args:
        of_kinds: The counts of each different score, shape (D, K).
        clusters: The clusters.
    """
    counts = of_kinds[clusters.kind]
    sums = np.add.reduceat(counts, clusters.begins, axis=0)
    # the sum of two numbers, or of integers, is only rounded once anyway
    several = np.flatnonzero(clusters.sizes > 2)
    for column in np.flatnonzero((of_kinds != np.rint(of_kinds)).any(axis=0)):
        for cluster in several:
            begin = clusters.begins[cluster]
            sums[cluster, column] = math.fsum(counts[begin : begin + clusters.sizes[cluster], column].tolist())
    return sums


def _different(table: Array) -> Chunk:
    """Return the different rows of a table with how often they occur, if they are few integers; else all rows."""
    low, high = table.min(axis=0), table.max(axis=0)
    size = math.prod(float(width) + 1 for width in high - low)
    if not (size < 1 << 53 and (table == np.rint(table)).all()):
        return Chunk(table, np.ones(len(table), dtype=np.int64))
    # each row as one number, whose digits are its columns
    key = np.zeros(len(table), dtype=np.int64)
    for column, least, most in zip(table.T, low, high, strict=True):
        key = key * (int(most - least) + 1) + (column - least).astype(np.int64)
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    return Chunk(table[first], times.astype(np.int64))
