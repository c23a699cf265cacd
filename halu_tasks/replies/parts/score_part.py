"""Scoring one part of the replies: each reply is read, paired with its item, and reduced to a short record."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.data.shards import Shard
from halu_tasks.replies.parts.details import DetailsFile
from halu_tasks.replies.parts.item_store import BUCKETS, StoredItem, id_hash
from halu_tasks.replies.parts.plan import Opened, Plan, Work, opened
from halu_tasks.replies.predictions import (
    PredictionRow,
    ReplyCheck,
    no_predictions,
    prediction_rows,
    unknown_id,
    with_target,
)
from halu_tasks.replies.scoring import outcome_of, score_replies
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.tables import IdParts

_BATCH = 1_000
"""The number of replies that are scored at a time."""
_KEPT = 50_000
"""The number of records that are kept before they are written."""
_T = TypeVar("_T")

RECORD = np.dtype([("item", "i8"), ("epoch", "i4"), ("kind", "i4"), ("row", "i8"), ("shard", "i4"), ("line", "i8")])
"""The record of a reply: its item, its epoch, the number of its score among those of the chunk, the hash of its item's
row, and its place."""


class Records(NamedTuple):
    """Records of replies to items of one group of clusters.

    Attributes:
        records: The records (`RECORD`), shape (N,).
        scores: The different scores that they have, without their items.
    """

    records: npt.NDArray[np.void]
    scores: list[Score]


class Place(NamedTuple):
    """Where a reply stands: the number of its file, and its line."""

    shard: int
    line: int


@dataclass
class PartFacts:
    """What is known of a part.

    Attributes:
        shards: The files, as they were when they were read.
        replies: The number of replies.
        epochs: The epochs that occur.
        outcomes: The number of replies by outcome.
        unknown: The number of replies whose id no item has.
        first_unknown: The first of them, with its id.
    """

    shards: tuple[tuple[int, Shard], ...]
    replies: int = 0
    epochs: set[int] = field(default_factory=set)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    unknown: int = 0
    first_unknown: tuple[Place, str] | None = None

    def count_unknown(self, place: Place, id: str) -> None:
        """Count a reply whose id no item has."""
        self.unknown += 1
        if self.first_unknown is None or place < self.first_unknown[0]:
            self.first_unknown = (place, id)


def score_part(folder: Path, rank: int) -> None:
    """Score a part, unless it is already finished.

    The part's folder appears when all its replies are scored; an interrupted part leaves nothing.

    Args:
        folder: The folder of the run.
        rank: The number of the part.

    Raises:
        DataError: A row is malformed, or the folder cannot be written.
        JudgeError: The judge failed on too many replies.
    """
    if Work(folder).part(rank).exists():
        return
    run = opened(folder)
    plan = run.plan
    with atomic_folder(run.work.part(rank), "part") as partial:
        facts = PartFacts(plan.of_part(rank))
        writer = RecordWriter(partial, IdParts(run.built.all_metrics))
        details = DetailsFile(partial / "details.parquet") if plan.details else None
        for batch in _batches(run, facts):
            _score_batch(run, batch, facts, writer, details)
        writer.flush()
        if details:
            details.close()
        (partial / "facts").write_bytes(pickle.dumps(facts))


def read_facts(work: Work, rank: int) -> PartFacts:
    """Read what is known of a finished part."""
    facts: PartFacts = pickle.loads((work.part(rank) / "facts").read_bytes())
    return facts


class _Paired(NamedTuple):
    """A reply with its item, and the number of its file."""

    stored: StoredItem
    row: PredictionRow
    shard: int


def _batches(run: Opened, facts: PartFacts) -> Iterator[list[_Paired]]:
    """Read the replies of a part with their items.

    A judge is asked about all replies at once, and only when every id is known to be valid.
    """
    paired = (list(_pairs(run, batch, facts)) for batch in _batched(_rows(run, facts), _BATCH))
    if not (run.built.task.judged and run.built.options.judge):
        yield from paired
        return
    everything = list(chain.from_iterable(paired))
    if error := first_unknown(run, [facts]):
        raise error
    _check_unique(run.plan, everything)
    if everything:
        yield everything


def _rows(run: Opened, facts: PartFacts) -> Iterator[tuple[int, PredictionRow]]:
    """Read the replies of a part, each with the number of its file.

    Raises:
        DataError: A row is malformed, or a file has no rows, as when its upload failed.
    """
    check = ReplyCheck(run.built.task, run.built.options)
    for shard, (address, *_) in facts.shards:
        row = None
        for row in check.checked(address, prediction_rows(run.plan.shards[shard].file, run.plan.fields)):
            yield shard, row
        if row is None:
            raise no_predictions(address)


def _batched(rows: Iterable[_T], size: int) -> Iterator[list[_T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


def _pairs(run: Opened, rows: Sequence[tuple[int, PredictionRow]], facts: PartFacts) -> Iterator[_Paired]:
    items = run.items.find([row.id for _, row in rows])
    for stored, (shard, row) in zip(items, rows, strict=True):
        facts.replies += 1
        if stored is None:
            facts.count_unknown(Place(shard, row.line), row.id)
        else:
            yield _Paired(stored, row, shard)


def first_unknown(run: Opened, parts: Iterable[PartFacts]) -> DataError | None:
    """Return the error for replies whose ids no item has; None if there are none."""
    unknown = [facts for facts in parts if facts.first_unknown]
    if not unknown:
        return None
    place, id = min(facts.first_unknown for facts in unknown if facts.first_unknown)
    where = f"{run.plan.shards[place.shard].address}:{place.line}"
    return unknown_id(where, id, sum(facts.unknown for facts in unknown), run.built.task)


def repeated_id(plan: Plan, id: str, epoch: int, first: Place, place: Place) -> DataError:
    """Make the error for two replies to the same item in the same epoch."""
    name = plan.shards[place.shard].address
    in_file = "" if first.shard == place.shard else f" of {plan.shards[first.shard].address}"
    in_epoch = f" in epoch {epoch}" if epoch != 1 else ""
    return DataError(f"{name}:{place.line}: duplicate id {id!r}{in_epoch} (first in line {first.line}{in_file})")


def _check_unique(plan: Plan, pairs: Iterable[_Paired]) -> None:
    seen: dict[tuple[int, int], Place] = {}
    for stored, row, shard in pairs:
        place = Place(shard, row.line)
        first = seen.setdefault((stored.number, row.epoch), place)
        if first is not place:
            raise repeated_id(plan, row.id, row.epoch, first, place)


def _score_batch(
    run: Opened, batch: Sequence[_Paired], facts: PartFacts, writer: RecordWriter, details: DetailsFile | None
) -> None:
    replies = [(with_target(stored.item, row.reply.target), row.reply) for stored, row, _ in batch]
    scores = score_replies(run.built, replies, run.plan.results, run.work.judge_costs)
    mode = run.built.options.scoring
    for (stored, row, shard), score in zip(batch, scores, strict=True):
        facts.epochs.add(row.epoch)
        facts.outcomes[outcome_of(row.reply.text, score, mode)] += 1
        writer.add(stored, row.epoch, score, Place(shard, row.line))
    if details:
        details.add([(pair.stored.number, pair.row.epoch, score) for pair, score in zip(batch, scores, strict=True)])


class RecordWriter:
    """Writes the records of a part, those of each group of clusters to a file of its own.

    Args:
        folder: The folder of the part.
        id_parts: What is kept of ids.
    """

    def __init__(self, folder: Path, id_parts: IdParts) -> None:
        self._folder = folder
        self._kinds = Kinds(id_parts)
        self._rows: dict[int, list[tuple[int, ...]]] = {}
        self._number = 0

    def add(self, stored: StoredItem, epoch: int, score: Score, place: Place) -> None:
        """Add the score of a reply."""
        row = (stored.number, epoch, *self._kinds.number_of(score), *place)
        self._rows.setdefault(stored.bucket, []).append(row)
        self._number += 1
        if self._number >= _KEPT:
            self.flush()

    def flush(self) -> None:
        """Write what was added."""
        for bucket, rows in self._rows.items():
            records = np.array(rows, dtype=RECORD)
            used, records["kind"] = np.unique(records["kind"], return_inverse=True)
            chunk = Records(records, [self._kinds.scores[kind] for kind in used])
            with (self._folder / f"bucket-{bucket:03d}").open("ab") as file:
                pickle.dump(chunk, file, pickle.HIGHEST_PROTOCOL)
        self._rows.clear()
        self._kinds.clear()
        self._number = 0


class Kinds:
    """The different scores among many, which metrics do not have to count one by one.

    Args:
        id_parts: What is kept of ids.
    """

    def __init__(self, id_parts: IdParts) -> None:
        self._id_parts = id_parts
        self._numbers: dict[object, int] = {}
        self.scores: list[Score] = []

    def number_of(self, score: Score) -> tuple[int, int]:
        """Return the number of a score among the different ones, and the hash of its item's row."""
        id, row = self._id_parts.split(score.id)
        return self.number(score, id), id_hash(row) >> 1 if row else 0

    def number(self, score: Score, id: str) -> int:
        """Return the number of a score among the different ones.

        Args:
            score: The score.
            id: What is kept of its id.
        """
        key = (
            id,
            _hashable(score.answer),
            _hashable(score.target),
            score.outcome,
            tuple(score.measurements.items()),
            tuple(score.tags.items()),
            tuple(score.verdicts),
        )
        number = self._numbers.setdefault(key, len(self.scores))
        if number == len(self.scores):
            parts = (score.answer, score.target, score.measurements, score.tags, "", score.outcome, score.verdicts)
            self.scores.append(Score(id, "", *parts))
        return number

    def clear(self) -> None:
        """Forget all scores."""
        self._numbers.clear()
        self.scores = []


def _hashable(answer: str | list[str] | None) -> object:
    return tuple(answer) if isinstance(answer, list) else answer


def read_records(work: Work, plan: Plan, buckets: range) -> Iterator[Records]:
    """Read the records of some groups of clusters from all parts."""
    assert buckets.stop <= BUCKETS
    for rank in range(plan.parts):
        for bucket in buckets:
            path = work.part(rank) / f"bucket-{bucket:03d}"
            if not path.exists():
                continue
            with path.open("rb") as file:
                while file.peek(1):
                    chunk: Records = pickle.load(file)
                    yield chunk
