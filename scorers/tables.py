"""Sums of metrics over clusters, from the different scores that occur and how the clusters are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array, Columns, Numbers
from halu_tasks.scorers.metrics import ItemSums, Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.exact import ExactSums
from halu_tasks.scorers.statistics.jackknife import Chunk


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
    def cluster(self) -> Numbers:
        """The number of each reply's cluster, shape (N,)."""
        return np.repeat(np.arange(len(self.begins)), np.diff(self.begins, append=len(self.kind)))

    def columns(self) -> Columns:
        """Return the columns of all replies."""
        kinds, cluster = Columns.of(self.scores), self.cluster

        def read(name: str) -> npt.NDArray[Any]:
            if name == "row":
                return np.unique(np.stack([cluster, self.row]), axis=1, return_inverse=True)[1].ravel()
            return kinds[name][self.kind]

        return Columns(read, cluster, len(self.begins))


class IdParts:
    """What metrics that relate several items need of the ids of items.

    Args:
        metrics: The metrics.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._needed = any(metric.needs_ids for metric in metrics)

    def split(self, id: str) -> tuple[str, str]:
        """Return what is kept of an id, and the row of the item, if it can share one with others."""
        row, slash, ending = id.rpartition("/")
        return (slash + ending, row) if self._needed else ("", "")


class MetricTable(NamedTuple):
    """The sums of a metric over some clusters.

    Attributes:
        total: The sums over these clusters.
        rows: The sums of each cluster, or the different ones.
    """

    total: ExactSums
    rows: Chunk


def metric_table(metric: Metric, clusters: ClusteredScores) -> MetricTable:
    """Compute the sums of a metric that has sums."""
    own = metric.sums_of_items(clusters.columns() if metric.needs_ids else Columns.of(clusters.scores))
    assert isinstance(own, ItemSums)
    if not metric.needs_ids:
        own = ItemSums(own.terms[clusters.kind], own.classes[clusters.kind])
    rows = _different(own.by_cluster(clusters.cluster, len(clusters.begins)))
    return MetricTable(ExactSums.of(rows.terms, rows.times), rows)


def _different(chunk: Chunk) -> Chunk:
    """Return the different rows of a table with how often they occur, if they are few integers; else all rows."""
    table: Array = np.hstack([chunk.terms, chunk.classes])
    low, high = table.min(axis=0), table.max(axis=0)
    size = math.prod(float(width) + 1 for width in high - low)
    if not (size < 1 << 53 and (table == np.rint(table)).all()):
        return chunk._replace(times=np.ones(len(table), dtype=np.int64))
    # each row as one number, whose digits are its columns
    key = np.zeros(len(table), dtype=np.int64)
    for column, least, most in zip(table.T, low, high, strict=True):
        key = key * (int(most - least) + 1) + (column - least).astype(np.int64)
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    return Chunk(chunk.terms[first], chunk.classes[first], times.astype(np.int64))
