"""Sums by cluster: all scores of a cluster are brought together, and reduced to what each metric sums up."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.core.items import Reply
from halu_tasks.replies.parts.details import DetailsFile
from halu_tasks.replies.parts.item_store import BUCKETS, Numbers
from halu_tasks.replies.parts.plan import Opened, Work, opened
from halu_tasks.replies.parts.score_part import (
    RECORD,
    Kinds,
    Place,
    read_records,
    repeated_id,
)
from halu_tasks.replies.scoring import score_replies
from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.exact import ExactSums
from halu_tasks.scorers.statistics.jackknife import Chunk
from halu_tasks.scorers.tables import ClusteredScores, IdParts, metric_table
from halu_tasks.tasks import Built

_MISSING = Place(-1, 0)


@dataclass(frozen=True)
class TableFacts:
    """What is known of a table.

    Attributes:
        clusters: The number of clusters.
        items: The number of items, each once for all epochs.
        replies: The number of scores, with those of missing replies.
        missing: The number of items without a reply, in any epoch.
        repeated: The first reply, by its place, whose item has another reply in the same epoch; with its error.
        totals: The sums over the clusters of each metric, in order; None for one that compares items across clusters.
        judged: The scores of a judged task.
    """

    clusters: int
    items: int
    replies: int
    missing: int
    repeated: tuple[Place, str] | None
    totals: Sequence[ExactSums | None]
    judged: Sequence[Score]


class TableRange(NamedTuple):
    """Which table, of how many."""

    number: int
    tables: int

    @property
    def buckets(self) -> range:
        """The groups of clusters of the table."""
        return range(BUCKETS * self.number // self.tables, BUCKETS * (self.number + 1) // self.tables)


def all_metrics(built: Built) -> list[Metric]:
    """Return the metrics of a task, and after them those of its fixed replies."""
    return [*built.all_metrics, *(m for metrics in built.scoring.reference_replies.values() for m in metrics)]


def tabulate(folder: Path, table: TableRange, epochs: Sequence[int]) -> None:
    """Write the sums by cluster of some groups of clusters, unless they are already written.

    Args:
        folder: The folder of the run, in which all parts are finished.
        table: Which table to write.
        epochs: The epochs that occur.

    Raises:
        DataError: The folder cannot be written.
    """
    if Work(folder).table(table.number).exists():
        return
    run = opened(folder)
    metrics = all_metrics(run.built)
    with atomic_folder(run.work.table(table.number), "table") as partial:
        records, scores = _read(run, table)
        details = DetailsFile(partial / "details.parquet") if run.plan.details else None
        records, missing = _with_missing(run, table, records, scores, epochs, details)
        if details:
            details.close()
        ordered, begins = _by_cluster(run, table, records)
        repeated = _repeated(run, ordered)
        totals = []
        kinds, rows = (ordered[name].astype(np.int64) for name in ("kind", "row"))
        clusters = ClusteredScores(scores.scores, kinds, rows, begins)
        for number, metric in enumerate(metrics if len(ordered) else ()):
            totals.append(_write_metric(partial / f"metric-{number:03d}", metric, clusters))
        judged = [scores.scores[kind] for kind in ordered["kind"]] if run.built.task.judged else []
        facts = TableFacts(
            clusters=len(begins),
            items=len(np.unique(ordered["item"])),
            replies=len(ordered),
            missing=missing,
            repeated=repeated,
            totals=totals,
            judged=judged,
        )
        (partial / "facts").write_bytes(pickle.dumps(facts))


def _read(run: Opened, table: TableRange) -> tuple[npt.NDArray[np.void], Kinds]:
    """Read the records of all parts, with their different scores."""
    kinds, parts = Kinds(IdParts(run.built.all_metrics)), [np.zeros(0, dtype=RECORD)]
    for records, scores in read_records(run.work, run.plan, table.buckets):
        numbers = np.array([kinds.number(score, score.id) for score in scores], dtype=np.int32)
        records["kind"] = numbers[records["kind"]]
        parts.append(records)
    return np.concatenate(parts), kinds


def _items_of(run: Opened, table: TableRange) -> tuple[Numbers, npt.NDArray[np.uint64]]:
    """Return the numbers of a table's items, ascending, and the hashes of their clusters."""
    parts = [run.items.of_bucket(bucket) for bucket in table.buckets]
    numbers, clusters = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(numbers)
    return numbers[order], clusters[order]


def _with_missing(
    run: Opened,
    table: TableRange,
    records: npt.NDArray[np.void],
    kinds: Kinds,
    epochs: Sequence[int],
    details: DetailsFile | None,
) -> tuple[npt.NDArray[np.void], int]:
    """Add an empty reply of each item to each epoch in which it has none, unless missing replies are left out.

    Returns:
        The records, and the number of items without a reply, once for each epoch.
    """
    if run.plan.partial:
        return records, 0
    numbers, _ = _items_of(run, table)
    rows = []
    for epoch in epochs:
        known = np.zeros(len(numbers), dtype=bool)
        known[np.searchsorted(numbers, records["item"][records["epoch"] == epoch])] = True
        missing = numbers[~known]
        for number, score in _empty_scores(run, missing):
            rows.append((number, epoch, *kinds.number_of(score), *_MISSING))
            if details:
                details.add([(number, epoch, score)], missing=True)
    return np.concatenate([records, np.array(rows, dtype=RECORD)]), len(rows)


def _empty_scores(run: Opened, numbers: Numbers) -> Iterator[tuple[int, Score]]:
    for begin in range(0, len(numbers), 1_000):
        some = [int(number) for number in numbers[begin : begin + 1_000]]
        replies = [(run.items.item(number).item, Reply("")) for number in some]
        yield from zip(some, score_replies(run.built, replies, run.plan.results, run.work.judge_costs), strict=True)


def _by_cluster(run: Opened, table: TableRange, records: npt.NDArray[np.void]) -> tuple[npt.NDArray[np.void], Numbers]:
    """Order records by cluster, item and epoch.

    Returns:
        The records, and the first one of each cluster.
    """
    numbers, of_items = _items_of(run, table)
    clusters = of_items[np.searchsorted(numbers, records["item"])]
    places = (records["line"], records["shard"], records["epoch"], records["item"])
    order = np.lexsort((*places, clusters[:, 1], clusters[:, 0]))
    clusters = clusters[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (clusters[1:] != clusters[:-1]).any(axis=1)
    return records[order], np.flatnonzero(first)


def _repeated(run: Opened, records: npt.NDArray[np.void]) -> tuple[Place, str] | None:
    """Return the first place of a repeated reply, and the error."""
    same = (records["item"][1:] == records["item"][:-1]) & (records["epoch"][1:] == records["epoch"][:-1])
    seconds = np.flatnonzero(same) + 1
    if not len(seconds):
        return None
    places = [Place(int(records["shard"][second]), int(records["line"][second])) for second in seconds]
    place, second = min(zip(places, seconds, strict=True))
    before = records[second - 1]
    id = run.items.item(int(before["item"])).item.id
    first = Place(int(before["shard"]), int(before["line"]))
    return place, str(repeated_id(run.plan, id, int(before["epoch"]), first, place))


def _write_metric(path: Path, metric: Metric, clusters: ClusteredScores) -> ExactSums | None:
    """Write what the jackknife of a metric reads again; return its sums."""
    if not metric.has_sums:
        columns = clusters.columns()
        own: dict[str, Any] = {name: columns[name] for name in metric.columns}
        np.savez(path, cluster=columns.cluster, **own)
        return None
    total, rows = metric_table(metric, clusters)
    np.savez(path, terms=rows.terms, classes=rows.classes, times=np.asarray(rows.times))
    return total


class Tables:
    """The finished tables of a run.

    Args:
        work: The folder of the run.
        number: The number of tables.
    """

    def __init__(self, work: Work, number: int) -> None:
        self._folders = [work.table(each) for each in range(number)]
        self.facts: list[TableFacts] = [pickle.loads((folder / "facts").read_bytes()) for folder in self._folders]

    def details(self) -> list[Path]:
        """Return the files with the scores of missing replies."""
        return [path for folder in self._folders if (path := folder / "details.parquet").exists()]

    def total(self, metric: int) -> ExactSums:
        """Add up the sums of a metric."""
        parts = [facts.totals[metric] for facts in self.facts if facts.clusters]
        total = ExactSums([0] * max(len(part.units) for part in parts if part))
        for part in parts:
            if part is None:
                raise DataError("a table is damaged")
            total.add(part)
        return total

    def chunks(self, metric: int) -> Iterator[Chunk]:
        """Read the rows of a metric, table by table."""
        for columns in self._columns(metric):
            yield Chunk(columns["terms"], columns["classes"], columns["times"])

    def items(self, metric: int) -> Columns:
        """Read the columns of a metric that is computed from all items at once."""
        before, parts = 0, []
        for facts, arrays in zip((f for f in self.facts if f.clusters), self._columns(metric), strict=True):
            parts.append(arrays | {"cluster": arrays["cluster"] + before})
            before += facts.clusters
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return Columns(columns.__getitem__, columns["cluster"], before)

    def _columns(self, metric: int) -> Iterator[dict[str, Any]]:
        for folder, facts in zip(self._folders, self.facts, strict=True):
            if facts.clusters:
                with np.load(folder / f"metric-{metric:03d}.npz", allow_pickle=True) as arrays:
                    yield dict(arrays)
