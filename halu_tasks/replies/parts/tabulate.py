"""Sums by cluster: all scores of a cluster are brought together, and reduced to what each metric sums up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.core.items import Reply
from halu_tasks.replies.parts.items import BUCKETS
from halu_tasks.replies.parts.plan import RECORDS, ScoreRun, Work, open_run
from halu_tasks.replies.parts.records import MISSING, DifferentScores, Place, RecordWriter, read_records
from halu_tasks.replies.parts.score_part import repeated_id
from halu_tasks.replies.scoring import score_replies
from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.statistics.exact import ExactSums
from halu_tasks.scorers.statistics.jackknife import Chunk
from halu_tasks.scorers.tables import ClusteredScores, metric_table
from halu_tasks.tasks import Built

_FACTS = "facts.json"
_BATCH = 1_000
"""The number of items without a reply that are scored at a time."""


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
    """

    clusters: int
    items: int
    replies: int
    missing: int
    repeated: tuple[Place, str] | None
    totals: Sequence[list[int] | None]


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
    run = open_run(folder)
    files = run.work.records(run.plan.parts)
    with atomic_folder(run.work.table(table.number), "table") as partial:
        records = read_records(files, table.buckets)
        missing = 0
        if not run.plan.partial and (missing := _write_missing(run, table, records, epochs, partial / RECORDS)):
            records = read_records([*files, partial / RECORDS], table.buckets)
        records = records.sort_by([(name, "ascending") for name in ("cluster", "item", "epoch", "shard", "line")])
        begins = _begins(records)
        scores, kind = DifferentScores.of(records)
        clusters = ClusteredScores(scores, kind.astype(np.int64), records["row"].to_numpy(), begins)
        metrics = all_metrics(run.built) if len(records) else []
        totals = [_write_metric(partial / f"metric-{n:03d}", metric, clusters) for n, metric in enumerate(metrics)]
        facts = TableFacts(
            clusters=len(begins),
            items=len(np.unique(records["item"].to_numpy())),
            replies=len(records),
            missing=missing,
            repeated=_repeated(run, records),
            totals=totals,
        )
        (partial / _FACTS).write_text(json.dumps(vars(facts)), encoding="utf-8")


def _write_missing(run: ScoreRun, table: TableRange, records: pyarrow.Table, epochs: Sequence[int], path: Path) -> int:
    """Score an empty reply of each item to each epoch in which it has none; return their number."""
    replied = set(zip(records["item"].to_pylist(), records["epoch"].to_pylist(), strict=True))
    if len(replied) == sum(1 for _ in run.items.numbers(table.buckets)) * len(epochs):
        return 0
    waiting = [
        (stored, epoch)
        for stored in run.items.of_buckets(table.buckets)
        for epoch in epochs
        if (stored.number, epoch) not in replied
    ]
    writer = RecordWriter(path, run.built.all_metrics)
    for begin in range(0, len(waiting), _BATCH):
        batch = waiting[begin : begin + _BATCH]
        replies = [(stored.item, Reply("")) for stored, _ in batch]
        scores = score_replies(run.built, replies, run.plan.results, run.work.judge_costs)
        for (stored, epoch), score in zip(batch, scores, strict=True):
            writer.add(stored, epoch, score, MISSING)
    writer.close()
    return len(waiting)


def _begins(records: pyarrow.Table) -> Any:
    """Return the first record of each cluster, of records that are ordered by cluster."""
    codes = records["cluster"].combine_chunks().dictionary_encode().indices.to_numpy()
    return np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else np.zeros(0, dtype=np.int64)


def _repeated(run: ScoreRun, records: pyarrow.Table) -> tuple[Place, str] | None:
    """Return the first place of a repeated reply, and the error."""
    item, epoch, shard, line = (records[name].to_numpy() for name in ("item", "epoch", "shard", "line"))
    seconds = np.flatnonzero((item[1:] == item[:-1]) & (epoch[1:] == epoch[:-1])) + 1
    if not len(seconds):
        return None
    place, second = min((Place(int(shard[second]), int(line[second])), int(second)) for second in seconds)
    first = Place(int(shard[second - 1]), int(line[second - 1]))
    id = json.loads(records["id"][second].as_py())
    return place, str(repeated_id(run.plan, id, int(epoch[second]), first, place))


def _write_metric(path: Path, metric: Metric, clusters: ClusteredScores) -> list[int] | None:
    """Write what the jackknife of a metric reads again; return its sums."""
    if not metric.has_sums:
        columns = clusters.columns()
        own: dict[str, Any] = {name: _encoded(columns[name]) for name in metric.columns}
        np.savez(path, cluster=columns.cluster, **own)
        return None
    total, rows = metric_table(metric, clusters)
    np.savez(path, terms=rows.terms, classes=rows.classes, times=np.asarray(rows.times))
    return total.units


def _encoded(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column without objects, which only a pickle could hold: each as JSON."""
    return np.array([json.dumps(value) for value in column], dtype=np.str_) if column.dtype == object else column


def _decoded(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if column.dtype.kind != "U":
        return column
    return np.fromiter(map(json.loads, column.tolist()), dtype=object, count=len(column))


class Tables:
    """The finished tables of a run.

    Args:
        work: The folder of the run.
        number: The number of tables.
    """

    def __init__(self, work: Work, number: int) -> None:
        self._folders = [work.table(each) for each in range(number)]
        self.facts = [_read_facts(folder / _FACTS) for folder in self._folders]

    def records(self) -> list[Path]:
        """Return the files with the records of items without a reply."""
        return [path for folder in self._folders if (path := folder / RECORDS).exists()]

    def total(self, metric: int) -> ExactSums:
        """Add up the sums of a metric."""
        parts = [facts.totals[metric] for facts in self.facts if facts.clusters]
        total = ExactSums([0] * max(len(part) for part in parts if part))
        for part in parts:
            if part is None:
                raise DataError("a table is damaged")
            total.add(ExactSums(part))
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
                with np.load(folder / f"metric-{metric:03d}.npz") as arrays:
                    yield {name: _decoded(column) for name, column in arrays.items()}


def _read_facts(path: Path) -> TableFacts:
    record = json.loads(path.read_text(encoding="utf-8"))
    repeated = record["repeated"]
    return TableFacts(**{**record, "repeated": (Place(*repeated[0]), repeated[1]) if repeated else None})
