"""Sums of metrics over clusters, from the different scores that occur and how the clusters are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Array, Items, Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.exact import ExactSums
from halu_tasks.scorers.statistics.jackknife import Chunk

Numbers = npt.NDArray[np.int64]

_FEW = 16
"""The largest number of replies of a cluster at which others are likely to be made of the same scores."""


class ClusteredScores(NamedTuple):
    """The scores of C clusters.

    Attributes:
        scores: The different scores; of their ids, only what `IdParts` keeps.
        kind: Which of them each of the N replies has, shape (N,); the replies of a cluster follow each other.
        row: A number of the row of each reply, the same for items that share a row, shape (N,).
        begins: The first reply of each cluster, shape (C,).
    """

    scores: Sequence[Score]
    kind: Numbers
    row: Numbers
    begins: Numbers

    @property
    def sizes(self) -> Numbers:
        """The number of replies of each cluster, shape (C,)."""
        return np.diff(self.begins, append=len(self.kind))


class IdParts:
    """What metrics that count several items together need of the ids of items.

    Args:
        metrics: The metrics.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        together = [metric for metric in metrics if not (metric.by_item or metric.pooled)]
        self._whole = not all(metric.endings for metric in together)
        self._endings = {ending for metric in together for ending in metric.endings}

    def split(self, id: str) -> tuple[str, str]:
        """Return what is kept of an id, and the row of the item, if it can share one with others."""
        if self._whole:
            return id, ""
        row, slash, ending = id.rpartition("/")
        return (slash + ending, row) if slash and ending in self._endings else ("", "")


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
        table = _counted_together(metric, clusters)
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
    # the sum of two numbers, or of integers, is only rounded once anyway
    several = np.flatnonzero(clusters.sizes > 2)
    sums = np.empty((len(clusters.begins), of_kinds.shape[1]))
    # one column after the other, since the counts of all replies would take much memory
    for column, of_kind in enumerate(of_kinds.T):
        counts = of_kind[clusters.kind]
        sums[:, column] = np.add.reduceat(counts, clusters.begins)
        for cluster in several if (of_kind != np.rint(of_kind)).any() else ():
            begin = clusters.begins[cluster]
            sums[cluster, column] = math.fsum(counts[begin : begin + clusters.sizes[cluster]].tolist())
    return sums


def _counted_together(metric: Metric, clusters: ClusteredScores) -> Array:
    """Count the replies of each cluster together; clusters that are made of the same scores only once."""

    @cache
    def score(kind: int, row: int) -> Score:
        own = clusters.scores[kind]
        return replace(own, id=f"{row}{own.id}")

    @cache
    def known(members: tuple[tuple[int, int], ...]) -> Sequence[float]:
        return metric.counts([score(*member) for member in members])

    ends = np.append(clusters.begins[1:], len(clusters.kind))
    table = []
    for begin, end in zip(clusters.begins.tolist(), ends.tolist(), strict=True):
        numbers: dict[int, int] = {}
        rows = (numbers.setdefault(row, len(numbers)) for row in clusters.row[begin:end].tolist())
        members = zip(clusters.kind[begin:end].tolist(), rows, strict=True)
        few = end - begin <= _FEW
        table.append(known(tuple(members)) if few else metric.counts([score(*member) for member in members]))
    return np.array(table, dtype=np.float64)


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
