"""Scoring replies in parts, each by itself, in any process on any machine that sees the folder of the run.

A part reads its files, finds the item of each reply by its id, and leaves a record of each score in a Parquet file. But
for the place, a record is one JSON text, of which there are few different ones among many replies, unless a judge gave
reasons: Parquet stores each once, and metrics count each once.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import pyarrow
from pyarrow import parquet

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.executors import Report
from halu_tasks.judging.stores import COSTS
from halu_tasks.replies.predictions import (
    PredictionRow,
    check_reply,
    no_predictions,
    prediction_rows,
    unknown_id,
    with_target,
)
from halu_tasks.replies.scoring import outcome_of, scores_of
from halu_tasks.tasks import Evaluation, build

BUCKETS = 128
"""The number of groups into which clusters are divided by their hashes."""
_BATCH = 1_000
"""The number of replies that are scored at a time."""
_CACHED = 5_000
"""The number of items that are kept after they were read, for further replies to them."""
_KEPT, _GROUP = 20_000, 5_000
"""The number of records that are kept before they are written, ordered by bucket, and of a row group, which is read
alone."""
_FILE, _SHARDS = "records.parquet", b"shards"
_T = TypeVar("_T")


# --- items ------------------------------------------------------------------------------------------


class StoredItem(NamedTuple):
    """An item of the store.

    Attributes:
        number: Its place in the data, from 0.
        bucket: The group of its cluster.
        item: The item, without its prompt.
    """

    number: int
    bucket: int
    item: Item


class ItemStore:
    """The items of a task in an SQLite file, found by id, so that their number is not limited by memory.

    Args:
        path: The file that `write_items` wrote.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)
        self.find = lru_cache(_CACHED)(self._find)

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM items").fetchone()[0])

    def _find(self, id: str) -> StoredItem | None:
        """Find an item by its id; None if no item has it."""
        return next(self._select("id = ?", _key(id)), None)

    def of_buckets(self, buckets: range) -> Iterator[StoredItem]:
        """Read the items of some groups of clusters."""
        return self._select("bucket >= ? AND bucket < ?", buckets.start, buckets.stop)

    def _select(self, condition: str, *values: object) -> Iterator[StoredItem]:
        rows = self._db.execute(f"SELECT id, number, bucket, record FROM items WHERE {condition}", values)
        for id, number, bucket, record in rows:
            cluster, target, gold, tags, fields = json.loads(record)
            item = Item(id.decode("utf-8", "surrogatepass"), cluster, target, "", "", gold, tags, fields)
            yield StoredItem(number, bucket, item)


def write_items(evaluation: Evaluation, path: Path) -> None:
    """Write the items of a task to a file in a folder of its own, unless it exists.

    Raises:
        DataError: A row is malformed, two rows make the same item, or the file cannot be written.
    """
    if path.exists():
        return
    with atomic_folder(path.parent, "items") as folder, closing(sqlite3.connect(folder / path.name)) as db:
        db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
            "CREATE TABLE items (number INTEGER PRIMARY KEY, id BLOB, bucket INTEGER, record TEXT);"
        )
        try:
            db.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", _item_rows(evaluation))
            db.execute("CREATE INDEX by_id ON items (id)")
            db.execute("CREATE INDEX by_bucket ON items (bucket)")
            db.commit()
        except sqlite3.Error as error:
            raise DataError(f"items {path}: {error}") from None
        repeated = db.execute("SELECT id FROM items GROUP BY id HAVING count(*) > 1 LIMIT 1").fetchone()
        if repeated:
            raise evaluation.repeated_id(repeated[0].decode("utf-8", "surrogatepass"))


def _item_rows(evaluation: Evaluation) -> Iterator[tuple[int, bytes, int, str]]:
    for number, item in enumerate(evaluation.unrendered()):
        record = json.dumps([item.cluster, item.target, item.gold, item.tags, item.fields], default=dict)
        yield number, _key(item.id), zlib.crc32(_key(item.cluster)) % BUCKETS, record


def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# --- records ----------------------------------------------------------------------------------------

NO_FILE = -1
"""The number that records have instead of a file's if their item has no reply."""

SCHEMA = pyarrow.schema(
    [
        ("item", pyarrow.int64()),
        ("epoch", pyarrow.int32()),
        ("shard", pyarrow.int32()),
        ("line", pyarrow.int64()),
        ("bucket", pyarrow.int16()),
        ("id", pyarrow.string()),
        ("cluster", pyarrow.string()),
        ("reason", pyarrow.string()),
        ("outcome", pyarrow.string()),
        ("score", pyarrow.string()),
    ]
)
"""The columns: the item's place in the data, its reply's epoch, file and line, the group of its cluster, its id, its
cluster and the score's reason as JSON, the outcome of its reply, and the score."""


class ScoredReplies:
    """Scores replies, and writes their records to a file.

    Args:
        path: The file.
        evaluation: The task.
        costs: The file in which the costs of judges are recorded.
        shards: The files that the replies are from and their versions, which the file names.
    """

    def __init__(self, path: Path, evaluation: Evaluation, costs: Path, shards: Sequence[tuple[str, str]] = ()) -> None:
        self._evaluation, self._costs = evaluation, costs
        # metrics that relate several items need the endings of their ids
        self._needs_ids = any(metric.needs_ids for metric in evaluation.all_metrics)
        self._rows: list[tuple[Any, ...]] = []
        self._writer = parquet.ParquetWriter(
            path, SCHEMA.with_metadata({_SHARDS: json.dumps(shards)}), compression="zstd"
        )

    def __enter__(self) -> ScoredReplies:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
        self._writer.close()

    def add(self, replies: Sequence[tuple[StoredItem, int, PredictionRow]]) -> None:
        """Score replies to items, each from a file of some number."""
        pairs = [(with_target(stored.item, row.reply.target), row.reply) for stored, _, row in replies]
        scores = scores_of(self._evaluation, pairs, self._costs)
        for (stored, shard, row), score in zip(replies, scores, strict=True):
            id = "".join(score.id.rpartition("/")[1:]) if self._needs_ids else ""
            reason = "no prediction" if shard == NO_FILE else score.reason
            texts = [json.dumps(text) for text in (score.id, stored.item.cluster, reason)]
            outcome = outcome_of(row.reply.text, score, self._evaluation.options.scoring)
            record = json.dumps({**score.as_json(), "id": id, "cluster": "", "reason": ""})
            place = stored.number, row.epoch, shard, row.line, stored.bucket
            self._rows.append((*place, *texts, outcome, record))
        if len(self._rows) >= _KEPT:
            self._write()

    def _write(self) -> None:
        if self._rows:
            self._rows.sort(key=lambda row: row[4])
            columns = zip(zip(*self._rows, strict=True), SCHEMA.types, strict=True)
            arrays = [pyarrow.array(column, kind) for column, kind in columns]
            self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=SCHEMA), row_group_size=_GROUP)
            self._rows.clear()


def batches(values: Iterable[_T]) -> Iterator[list[_T]]:
    """Divide values into lists."""
    iterator = iter(values)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def read_records(files: Sequence[Path], buckets: range | None = None, columns: Sequence[str] = ()) -> pyarrow.Table:
    """Read the records of some groups of clusters, or all: some columns, or all but the reasons.

    The scores are encoded as a dictionary.
    """
    within = buckets and [("bucket", ">=", buckets.start), ("bucket", "<", buckets.stop)]
    names = list(columns) or [name for name in SCHEMA.names if name != "reason"]
    tables = [parquet.read_table(path, columns=names, filters=within, read_dictionary=["score"]) for path in files]
    return pyarrow.concat_tables(tables).unify_dictionaries().combine_chunks()


# --- parts ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ScoreParts:
    """The job of scoring the parts of a run.

    Attributes:
        folder: The folder of the run.
        task: The task's name, or the path of a task file.
        options: The task's options.
        data: The checksum of the task's data.
        shards: The files with the replies, each with its version.
        fields: The names of their fields with the id and the reply.
        parts: The number of parts.
    """

    folder: Path
    task: str
    options: Options
    data: str
    shards: tuple[tuple[str, str], ...]
    fields: tuple[str, str]
    parts: int
    name: ClassVar[str] = "score"

    @property
    def items(self) -> Path:
        """The file of the items."""
        return self.folder / "items" / "items.sqlite3"

    @property
    def costs(self) -> Path:
        """The file in which the costs of judges are recorded, if they are limited."""
        return self.folder / COSTS

    def records(self, part: int) -> Path:
        """The file of a part's records; it exists once the part is finished, but its replies may have changed since."""
        return self.folder / "parts" / f"{part:05d}" / _FILE

    def finished(self, rank: int, tasks: int) -> bool:
        """Return whether the parts of a task are finished."""
        return all(map(self._is_finished, range(rank, self.parts, tasks)))

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Score the parts of a task: every `tasks`-th, so that any number of tasks gives the same folder."""
        for part in range(rank, self.parts, tasks):
            if not self._is_finished(part):
                self._score(part)
            report(f"part {part + 1} of {self.parts} is scored")

    def _is_finished(self, part: int) -> bool:
        path = self.records(part)
        scored = path.exists() and json.loads(parquet.read_schema(path).metadata[_SHARDS])
        return bool(scored == [list(shard) for shard in self._shards(part).values()])

    def _shards(self, part: int) -> dict[int, tuple[str, str]]:
        return dict(list(enumerate(self.shards))[part :: self.parts])

    def _score(self, part: int) -> None:
        """Score a part, whose folder appears when all its replies are scored.

        A judge is asked about all replies at once, and only when every id is known to be valid.

        Raises:
            DataError: A row is malformed, an id is unknown, or the folder cannot be written.
            JudgeError: The judge failed on too many replies.
        """
        evaluation, store, shards = (
            _evaluation(self.task, self.options, self.data),
            _items(self.items),
            self._shards(part),
        )
        unknown: list[tuple[str, str]] = []
        found = self._with_items(evaluation, store, shards, unknown)
        folder = self.records(part).parent
        shutil.rmtree(folder, ignore_errors=True)
        with atomic_folder(folder, "part") as partial:
            with ScoredReplies(partial / _FILE, evaluation, self.costs, [*shards.values()]) as scored:
                for batch in [list(found)] if evaluation.task.judged and evaluation.options.judge else batches(found):
                    if not unknown:
                        scored.add(batch)
            if unknown:
                place, id = unknown[0]
                raise unknown_id(place, id, len(unknown), evaluation.task)

    def _with_items(
        self,
        evaluation: Evaluation,
        store: ItemStore,
        shards: dict[int, tuple[str, str]],
        unknown: list[tuple[str, str]],
    ) -> Iterator[tuple[StoredItem, int, PredictionRow]]:
        """Read the replies of files with their items; add the places and ids of those that no item has to `unknown`.

        Raises:
            DataError: A row is malformed, or a file has no rows, as when its upload failed.
        """
        for number, (path, _) in shards.items():
            row = None
            for row in prediction_rows(Path(path), *self.fields):
                check_reply(evaluation, f"{path}:{row.line}", row.reply)
                if stored := store.find(row.id):
                    yield stored, number, row
                else:
                    unknown.append((f"{path}:{row.line}", row.id))
            if row is None:
                raise no_predictions(path)


@lru_cache(1)
def _evaluation(task: str, options: Options, data: str) -> Evaluation:
    """Build a task once in each process.

    Raises:
        DataError: The data have changed.
    """
    evaluation = build(task, options)
    if evaluation.located.sha256 != data:
        raise DataError(
            f"{evaluation.located}: changed while its replies were being scored; start again in another folder"
        )
    return evaluation


_items = lru_cache(1)(ItemStore)


def forget() -> None:
    """Forget the task and the items of the last run in this process, whose files may change."""
    _evaluation.cache_clear()
    _items.cache_clear()
