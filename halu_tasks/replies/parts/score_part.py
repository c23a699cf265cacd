"""Scoring one part of the replies: each reply is read, paired with its item, and reduced to a short record."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.data.shards import Shard
from halu_tasks.replies.parts.items import StoredItem
from halu_tasks.replies.parts.plan import RECORDS, ScorePlan, ScoreRun, Work, open_run
from halu_tasks.replies.parts.records import Place, RecordWriter
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

_BATCH = 1_000
"""The number of replies that are scored at a time."""
_FACTS = "facts.json"
_T = TypeVar("_T")


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
    run = open_run(folder)
    plan = run.plan
    with atomic_folder(run.work.part(rank), "part") as partial:
        facts = PartFacts(plan.of_part(rank))
        writer = RecordWriter(partial / RECORDS, run.built.all_metrics)
        for batch in _batches(run, facts):
            _score_batch(run, batch, facts, writer)
        writer.close()
        (partial / _FACTS).write_text(json.dumps(vars(facts) | {"epochs": sorted(facts.epochs)}), encoding="utf-8")


def read_facts(work: Work, rank: int) -> PartFacts:
    """Read what is known of a finished part."""
    record = json.loads((work.part(rank) / _FACTS).read_text(encoding="utf-8"))
    first = record["first_unknown"]
    return PartFacts(
        shards=tuple((number, Shard(*shard)) for number, shard in record["shards"]),
        replies=record["replies"],
        epochs=set(record["epochs"]),
        outcomes=Counter(record["outcomes"]),
        unknown=record["unknown"],
        first_unknown=(Place(*first[0]), first[1]) if first else None,
    )


class _Paired(NamedTuple):
    """A reply with its item, and the number of its file."""

    stored: StoredItem
    row: PredictionRow
    shard: int


def _batches(run: ScoreRun, facts: PartFacts) -> Iterator[list[_Paired]]:
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


def _rows(run: ScoreRun, facts: PartFacts) -> Iterator[tuple[int, PredictionRow]]:
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


def _pairs(run: ScoreRun, rows: Sequence[tuple[int, PredictionRow]], facts: PartFacts) -> Iterator[_Paired]:
    for shard, row in rows:
        stored = run.items.find(row.id)
        facts.replies += 1
        if stored is None:
            facts.count_unknown(Place(shard, row.line), row.id)
        else:
            yield _Paired(stored, row, shard)


def first_unknown(run: ScoreRun, parts: Iterable[PartFacts]) -> DataError | None:
    """Return the error for replies whose ids no item has; None if there are none."""
    unknown = [facts for facts in parts if facts.first_unknown]
    if not unknown:
        return None
    place, id = min(facts.first_unknown for facts in unknown if facts.first_unknown)
    where = f"{run.plan.shards[place.shard].address}:{place.line}"
    return unknown_id(where, id, sum(facts.unknown for facts in unknown), run.built.task)


def repeated_id(plan: ScorePlan, id: str, epoch: int, first: Place, place: Place) -> DataError:
    """Make the error for two replies to the same item in the same epoch."""
    name = plan.shards[place.shard].address
    in_file = "" if first.shard == place.shard else f" of {plan.shards[first.shard].address}"
    in_epoch = f" in epoch {epoch}" if epoch != 1 else ""
    return DataError(f"{name}:{place.line}: duplicate id {id!r}{in_epoch} (first in line {first.line}{in_file})")


def _check_unique(plan: ScorePlan, pairs: Iterable[_Paired]) -> None:
    seen: dict[tuple[int, int], Place] = {}
    for stored, row, shard in pairs:
        place = Place(shard, row.line)
        first = seen.setdefault((stored.number, row.epoch), place)
        if first is not place:
            raise repeated_id(plan, row.id, row.epoch, first, place)


def _score_batch(run: ScoreRun, batch: Sequence[_Paired], facts: PartFacts, writer: RecordWriter) -> None:
    replies = [(with_target(stored.item, row.reply.target), row.reply) for stored, row, _ in batch]
    scores = score_replies(run.built, replies, run.plan.results, run.work.judge_costs)
    mode = run.built.options.scoring
    for (stored, row, shard), score in zip(batch, scores, strict=True):
        facts.epochs.add(row.epoch)
        facts.outcomes[outcome_of(row.reply.text, score, mode)] += 1
        writer.add(stored, row.epoch, score, Place(shard, row.line))
