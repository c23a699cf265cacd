"""The record of each scored reply, in Parquet files, and the details that are made of them.

Everything but the item and the place is one JSON text, of which there are few different ones among many replies, unless
a judge gave reasons. Parquet stores each once, and metrics count each once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
from pyarrow import parquet

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder, atomic_write
from halu_tasks.core.hashing import stable_hash
from halu_tasks.replies.parts.items import StoredItem
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.tables import IdParts

_KEPT = 20_000
"""The number of records that are kept before they are written."""
_GROUP = 5_000
"""The number of records of a row group; those of a group of clusters are next to each other, and read alone."""

_SCHEMA = pyarrow.schema(
    [
        ("item", pyarrow.int64()),
        ("epoch", pyarrow.int32()),
        ("shard", pyarrow.int32()),
        ("line", pyarrow.int64()),
        ("bucket", pyarrow.int16()),
        ("row", pyarrow.int64()),
        ("id", pyarrow.string()),
        ("cluster", pyarrow.string()),
        ("reason", pyarrow.string()),
        ("score", pyarrow.string()),
    ]
)
"""The columns: the item's place in the data, its reply's epoch and place, the groups of its cluster and row, its id and
cluster as JSON, and the score."""


class Place(NamedTuple):
    """Where a reply stands: the number of its file, and its line; `MISSING` for an item without one."""

    shard: int
    line: int


MISSING = Place(-1, 0)


class RecordWriter:
    """Writes records to a file; without any, there is no file.

    Args:
        path: The file.
        metrics: The metrics of the task, which say what of ids has to be kept.
    """

    def __init__(self, path: Path, metrics: Sequence[Metric]) -> None:
        self._path = path
        self._id_parts = IdParts(metrics)
        self._scores: dict[object, str] = {}
        self._rows: list[tuple[object, ...]] = []
        self._writer: parquet.ParquetWriter | None = None

    def close(self) -> None:
        """Write what is left."""
        self._write()
        if self._writer:
            self._writer.close()

    def add(self, stored: StoredItem, epoch: int, score: Score, place: Place) -> None:
        """Add the score of a reply."""
        id, row = self._id_parts.split(score.id)
        reason = "no prediction" if place == MISSING else score.reason
        texts = [json.dumps(text) for text in (score.id, stored.item.cluster, reason)]
        number = int(stable_hash(row, surrogates="surrogatepass")[:15], 16) if row else 0
        self._rows.append((stored.number, epoch, *place, stored.bucket, number, *texts, self._json_of(score, id)))
        if len(self._rows) >= _KEPT:
            self._write()

    def _json_of(self, score: Score, id: str) -> str:
        """Return a score as JSON, with what is kept of its id and without its cluster and its reason."""
        answer, target = (tuple(a) if isinstance(a, list) else a for a in (score.answer, score.target))
        facts = (tuple(score.measurements.items()), tuple(score.tags.items()), tuple(score.verdicts))
        key = (id, answer, target, score.outcome, *facts)
        if (text := self._scores.get(key)) is None:
            text = self._scores[key] = json.dumps({**score.as_json(), "id": id, "cluster": "", "reason": ""})
        return text

    def _write(self) -> None:
        if not self._rows:
            return
        self._rows.sort(key=lambda row: row[4])  # type: ignore[arg-type, return-value]
        columns = zip(zip(*self._rows, strict=True), _SCHEMA.types, strict=True)
        table = pyarrow.Table.from_arrays([pyarrow.array(column, kind) for column, kind in columns], schema=_SCHEMA)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, _SCHEMA, compression="zstd")
        self._writer.write_table(table, row_group_size=_GROUP)
        self._rows.clear()
        self._scores.clear()


def read_records(files: Sequence[Path], buckets: range | None = None) -> pyarrow.Table:
    """Read the records of some groups of clusters, or all, without their reasons; their scores are encoded."""
    within = buckets and [("bucket", ">=", buckets.start), ("bucket", "<", buckets.stop)]
    names = [name for name in _SCHEMA.names if name != "reason"]
    tables = [parquet.read_table(path, columns=names, filters=within, read_dictionary=["score"]) for path in files]
    empty = _SCHEMA.empty_table().select(names)
    empty = empty.set_column(len(names) - 1, "score", empty["score"].dictionary_encode())
    return pyarrow.concat_tables([empty, *tables]).unify_dictionaries().combine_chunks()


class DifferentScores(NamedTuple):
    """The scores of records.

    Attributes:
        scores: The different ones.
        kind: Which of them each record has.
    """

    scores: Sequence[Score]
    kind: Any

    @classmethod
    def of(cls, records: pyarrow.Table) -> DifferentScores:
        """Restore the scores of records, in their order."""
        column = records["score"].combine_chunks()
        return cls(
            [Score.from_json(json.loads(text)) for text in column.dictionary.to_pylist()], column.indices.to_numpy()
        )


# --- details --------------------------------------------------------------------------------------

_DETAILS = pyarrow.schema(
    [("item", pyarrow.int64()), ("epoch", pyarrow.int32())]
    + [(name, pyarrow.string()) for name in ("id", "answer", "outcome", "target", "scores", "reason", "verdicts")]
)


def write_details(files: Sequence[Path], target: str, *, epochs: bool) -> None:
    """Write how each reply was read and scored.

    Args:
        files: The files of the records.
        target: The file to write as JSON Lines, in the order of the data; or, if it ends in a slash, the folder, with a
            Parquet file for each file of records, in whose columns answers, targets, scores and verdicts are JSON.
        epochs: Whether there are several epochs.

    Raises:
        DataError: The target cannot be written.
    """
    if target.endswith("/"):
        with atomic_folder(Path(target), "details") as folder:
            for number, path in enumerate(files):
                rows = [_encoded(row) for row in _details(parquet.read_table(path))]
                table = pyarrow.Table.from_pylist(rows, _DETAILS)
                parquet.write_table(table, folder / f"part-{number:05d}.parquet", compression="zstd")
        return
    order = [("item", "ascending"), ("epoch", "ascending")]
    records = pyarrow.concat_tables([_SCHEMA.empty_table(), *(parquet.read_table(path) for path in files)])
    with atomic_write(Path(target), "details") as file:
        for row in _details(records.sort_by(order)):
            left_out = {"item", *([] if epochs else ["epoch"]), *([] if row["verdicts"] else ["verdicts"])}
            file.write(json.dumps({name: value for name, value in row.items() if name not in left_out}) + "\n")


def _details(records: pyarrow.Table) -> Iterator[dict[str, Any]]:
    for batch in records.to_batches(10_000):
        yield from map(_detail, batch.to_pylist())


def _detail(record: dict[str, Any]) -> dict[str, Any]:
    score = json.loads(record["score"])
    return {
        "item": record["item"],
        "epoch": record["epoch"],
        "id": json.loads(record["id"]),
        "answer": score["answer"],
        "outcome": score["outcome"],
        "target": score["target"],
        "scores": score["facts"],
        "reason": json.loads(record["reason"]),
        "verdicts": score.get("verdicts", []),
    }


def _encoded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for Parquet, which has texts without lone surrogates."""
    texts = {name: row[name].encode("utf-8", "backslashreplace").decode() for name in ("id", "reason")}
    return {**row, **texts, **{name: json.dumps(row[name]) for name in ("answer", "target", "scores", "verdicts")}}


def check_writable(target: str) -> None:
    """Raise DataError unless details can be written, before replies are scored and a judge is asked."""
    path = Path(target)
    if target.endswith("/"):
        if path.exists():
            raise DataError(f"details {target}: exists already; name a new folder")
        return
    partial = path.with_name(path.name + ".part")
    try:
        if path.is_dir():
            raise DataError(f"details {target}: is a folder; write {target}/NAME/ for a new folder of Parquet files")
        if path.is_file() or not path.exists():
            partial.touch()
            partial.unlink()
    except OSError as error:
        raise DataError(f"details {path}: {error.strerror or error}") from None
