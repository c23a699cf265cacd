"""Scoring replies in parts, each by itself, in any process on any machine that sees the folder of the run.

A part reads its files, finds the item of each reply by its id, and writes a record of each score to an SQLite file.
Except for its place, a score is one JSON text. Questions with labels have few different scores, so each is stored once,
and metrics read each once.
"""

import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.core.items import Gold, Item
from halu_tasks.core.options import Options
from halu_tasks.executors.jobs import Progress
from halu_tasks.judging import COSTS
from halu_tasks.replies.predictions import PredictionRow, check_prediction, prediction_rows, with_target
from halu_tasks.replies.scoring import asks_models, scores_of
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import Evaluation, build
from halu_tasks.tasks.human_baseline import OtherAnnotators

BUCKETS = 512
"""The number of groups into which clusters are divided by their hashes."""
# replies that are scored at a time
_BATCH = 1_000
# items that are cached for further replies to them
_CACHED_ITEMS = 5_000
# different scores that are cached to be stored once
_CACHED_SCORES = 20_000
_FILE = "records.sqlite3"
_T = TypeVar("_T")

NumberedItem = tuple[int, Item]
"""An item without its prompt, and its place in the data, from 0."""
ItemReply = tuple[NumberedItem, int, PredictionRow]
"""A reply with its item and the number of its file."""


# --- items ------------------------------------------------------------------------------------------


class ItemStore:
    """The items of a task in an SQLite file, so that their number is not limited by memory.

    Args:
        path: The file that `write_items` wrote.
        gold: Restores the gold of an item from JSON values.
    """

    def __init__(self, path: Path, gold: Callable[[Mapping[str, Any]], Gold]) -> None:
        self._gold = gold
        self._db = _open(path)
        self.find = lru_cache(_CACHED_ITEMS)(lambda id: self._read("id", json.dumps(id)))
        """Find an item by its id; None if no item has it."""

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM items").fetchone()[0])

    def at(self, number: int) -> NumberedItem | None:
        """Read the item at a place in the data."""
        return self._read("number", number)

    def _read(self, column: str, value: object) -> NumberedItem | None:
        row = self._db.execute(f"SELECT number, record FROM items WHERE {column} = ?", (value,)).fetchone()
        if row is None:
            return None
        id, cluster, target, gold, tags, fields = json.loads(row[1])
        return row[0], Item(id, cluster, target, gold=self._gold(gold), tags=tags, fields=fields)


def write_items(evaluation: Evaluation, path: Path) -> None:
    """Write the items of a task to a file in a folder of its own, unless it exists.

    Raises:
        DataError: A row is malformed, two rows make the same item, or the file cannot be written.
    """
    if path.exists():
        return
    rows = ((number, json.dumps(item.id), _record_of(item)) for number, item in enumerate(evaluation.unrendered()))
    with atomic_folder(path.parent, "items") as folder, _new_database(folder / path.name) as db:
        db.execute("CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT, record TEXT)")
        db.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
        db.execute("CREATE INDEX by_id ON items (id)")
        repeated = db.execute("SELECT id FROM items GROUP BY id HAVING count(*) > 1 LIMIT 1").fetchone()
        if repeated:
            raise evaluation.repeated_id(json.loads(repeated[0]))


@contextmanager
def _new_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Create a database that is read only when complete, so it need not survive a crash; raises DataError."""
    path.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")
            yield db
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise DataError(f"{path}: {error}") from None


def _record_of(item: Item) -> str:
    return json.dumps([item.id, item.cluster, item.target, item.gold.as_json(), item.tags, item.fields], default=dict)


# --- records ----------------------------------------------------------------------------------------

NO_FILE = -1
"""The number that records have instead of a file's if their item has no reply."""

_TABLES = (
    "shards (path TEXT, version TEXT)",
    "scores (number INTEGER PRIMARY KEY, score TEXT)",
    "replies (bucket INTEGER, cluster TEXT, item INTEGER, epoch INTEGER, shard INTEGER, line INTEGER, id TEXT, "
    "outcome TEXT, reason TEXT, place TEXT, score INTEGER, "
    "PRIMARY KEY (bucket, item, epoch, shard, line)) WITHOUT ROWID",
    "people (bucket INTEGER, cluster TEXT, item INTEGER, id TEXT, score INTEGER, person INTEGER)",
)
_SELECT = (
    "SELECT cluster, item, epoch, shard, line, id, outcome, reason, place, scores.score FROM replies JOIN scores "
    "ON replies.score = scores.number"
)


_PEOPLE = (
    "SELECT cluster, item, people.id, replies.score, persons.score FROM people JOIN scores AS replies "
    "ON people.score = replies.number JOIN scores AS persons ON people.person = persons.number "
    "WHERE bucket BETWEEN ? AND ?"
)


class PeopleRecord(NamedTuple):
    """The record of a reply and an annotator's labels of its item (`tasks.human_baseline.ScoredPair`).

    Attributes:
        cluster: The item's cluster, as JSON.
        item: The item's place in the data.
        id: The item's id, as JSON.
        score: The score of the reply without its place, as JSON.
        person: The score of the annotator.
    """

    cluster: str
    item: int
    id: str
    score: str
    person: str


class Record(NamedTuple):
    """The record of a scored reply. Records are in order if they are sorted.

    Attributes:
        cluster: The item's cluster, as JSON.
        item: The item's place in the data.
        epoch: The reply's epoch.
        shard: The number of its file, or `NO_FILE`.
        line: Its line.
        id: The item's id, as JSON.
        outcome: The outcome of the reply.
        reason: The score's reason, as JSON.
        place: Where the answer stands in the reply, as JSON.
        score: The score without these, as JSON.
    """

    cluster: str
    item: int
    epoch: int
    shard: int
    line: int
    id: str
    outcome: Outcome
    reason: str
    place: str
    score: str


def write_records(
    path: Path,
    evaluation: Evaluation,
    replies: Iterable[ItemReply],
    costs: Path,
    shards: Iterable[tuple[str, str]] = (),
) -> None:
    """Score replies, and write their records to a file, which replaces one that is there.

    Args:
        path: The file.
        evaluation: The task.
        replies: The replies.
        costs: The file in which the costs of judges are recorded.
        shards: The files that the replies are from and their versions, which the file names.

    Raises:
        DataError: The file cannot be written.
    """
    with _new_database(path) as db:
        numbers: dict[str, int] = {}

        def number_of(score: str) -> int:
            if score not in numbers:
                if len(numbers) >= _CACHED_SCORES:
                    numbers.clear()
                numbers[score] = db.execute("INSERT INTO scores (score) VALUES (?)", (score,)).lastrowid or 0
            return numbers[score]

        for table in _TABLES:
            db.execute(f"CREATE TABLE {table}")
        db.executemany("INSERT INTO shards VALUES (?, ?)", shards)
        for bucket, record, people in _records(evaluation, replies, costs):
            row = (bucket, *record[:-1], number_of(record.score))
            db.execute("INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            for person in people:
                numbered = (bucket, *person[:-2], number_of(person.score), number_of(person.person))
                db.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", numbered)
        db.execute("CREATE INDEX people_by_bucket ON people (bucket)")


def _records(
    evaluation: Evaluation, replies: Iterable[ItemReply], costs: Path
) -> Iterator[tuple[int, Record, list[PeopleRecord]]]:
    # metrics that relate several items need the endings of their ids
    needs_ids = any(metric.needs_ids for metric in evaluation.all_metrics)
    annotators = OtherAnnotators(evaluation.task, evaluation.options.scoring)

    def without_place(score: ScoredReply) -> str:
        id = "".join(score.id.rpartition("/")[1:]) if needs_ids else ""
        return json.dumps(replace(score, id=id, cluster="", reason="", place=None).as_json())

    # a judge is asked about all replies at once
    for batch in _batches(replies, None if asks_models(evaluation) else _BATCH):
        pairs = [(with_target(evaluation.rendered(item), row.reply.target), row.reply) for (_, item), _, row in batch]
        scores = scores_of(evaluation, pairs, costs)
        for ((number, item), shard, row), score in zip(batch, scores, strict=True):
            cluster, id = json.dumps(item.cluster), json.dumps(score.id)
            yield (
                zlib.crc32(cluster.encode()) % BUCKETS,
                Record(
                    cluster,
                    number,
                    row.epoch,
                    shard,
                    row.line,
                    id,
                    score.reply_outcome,
                    json.dumps("no prediction" if shard == NO_FILE else score.reason),
                    json.dumps(score.place),
                    without_place(score),
                ),
                [
                    PeopleRecord(cluster, number, id, *map(without_place, pair))
                    for pair in annotators.pairs(item, row.reply)
                ],
            )


def _batches(values: Iterable[_T], size: int | None) -> Iterator[list[_T]]:
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch


def query(path: Path, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a query of a file of records or items."""
    with closing(_open(path)) as db:
        yield from db.execute(sql, values)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)


def records_of_buckets(files: Iterable[Path], buckets: range) -> list[Record]:
    """Read the records of some groups of clusters, in order."""
    sql = f"{_SELECT} WHERE bucket BETWEEN ? AND ?"
    rows = (row for path in files for row in query(path, sql, (buckets.start, buckets.stop - 1)))
    return sorted(map(Record._make, rows))


def people_of_buckets(files: Iterable[Path], buckets: range) -> list[PeopleRecord]:
    """Read the records of replies compared with annotators, of some groups of clusters, in order."""
    rows = (row for path in files for row in query(path, _PEOPLE, (buckets.start, buckets.stop - 1)))
    return sorted(map(PeopleRecord._make, rows))


def records_by_item(files: Iterable[Path]) -> Iterator[Record]:
    """Read all records in the order of the data."""
    each = (map(Record._make, query(path, f"{_SELECT} ORDER BY item, epoch")) for path in files)
    return merge(*each, key=itemgetter(1, 2))


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
        return not self._unfinished(rank, tasks)

    def work(self, rank: int, tasks: int, report: Progress) -> None:
        """Score the parts of a task: every `tasks`-th, so that any number of tasks gives the same folder.

        The folder of a part appears when all its replies are scored.

        Raises:
            DataError: A row is malformed, an id is unknown, the data have changed, or the folder cannot be written.
            JudgeError: The judge failed on too many replies.
        """
        if not (unfinished := self._unfinished(rank, tasks)):
            return
        evaluation = build(self.task, self.options)
        items = ItemStore(self.items, evaluation.task.gold)
        if evaluation.located.sha256 != self.data:
            raise DataError(
                f"{evaluation.located}: changed while its replies were being scored; start again in another folder"
            )
        for part in unfinished:
            folder, shards = self.records(part).parent, self._shards(part)
            shutil.rmtree(folder, ignore_errors=True)
            with atomic_folder(folder, "part") as partial:
                replies = self._replies(evaluation, items, shards)
                write_records(partial / _FILE, evaluation, replies, self.costs, shards.values())
            report(f"part {part + 1} of {self.parts} is scored")

    def _unfinished(self, rank: int, tasks: int) -> list[int]:
        return [part for part in range(rank, self.parts, tasks) if not self._is_finished(part)]

    def _is_finished(self, part: int) -> bool:
        path = self.records(part)
        return path.exists() and [*query(path, "SELECT * FROM shards")] == [*self._shards(part).values()]

    def _shards(self, part: int) -> dict[int, tuple[str, str]]:
        return dict(list(enumerate(self.shards))[part :: self.parts])

    def _replies(
        self, evaluation: Evaluation, items: ItemStore, shards: dict[int, tuple[str, str]]
    ) -> Iterator[ItemReply]:
        for number, (path, _) in shards.items():
            for row in prediction_rows(Path(path), *self.fields, evaluation):
                numbered_item = items.find(row.id)
                check_prediction(evaluation, path, row, has_item=numbered_item is not None)
                assert numbered_item
                yield numbered_item, number, row
