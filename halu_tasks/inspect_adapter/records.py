"""What this package's scorers log beside a score, as a typed record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inspect_ai.scorer import SampleScore
from inspect_ai.scorer import Score as InspectScore

from halu_tasks.scorers.methods import Cost, Opinions
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import TaskReference

RECORD = "halu_tasks"
"""Key of the record in a score's metadata, and of the provenances in a log's."""

ACC = "acc"
"""Key of an item's `acc` in a score's metadata, and the name of the metric."""


@dataclass(frozen=True, kw_only=True)
class ScoreRecord:
    """A score with all that metrics need, as it is logged.

    Attributes:
        score: The score of the reply.
        acc: The value of the metric `acc` for the item, for tools that read only this; None if it is undefined.
        cost: What the reply cost; None if no model was called.
        task: The task; None for a text of a user's own.
        scoring: The mode, `strict` or `paper`.
        method: The method that answered; None if the model was asked once.
        counts: The names of the measurements that the method counted.
        draft: The score of the method's first version of the reply, if it has one.
        opinions: The labels that the method weighed, by role.
        group: The group that the sample was run in.
    """

    score: Score
    acc: float | None = None
    cost: Cost | None = None
    task: TaskReference | None = None
    scoring: str = "strict"
    method: str | None = None
    counts: tuple[str, ...] = ()
    draft: Score | None = None
    opinions: Opinions | None = None
    group: str | None = None

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any] | None) -> ScoreRecord | None:
        """Restore a record from the metadata of a score; None if another package's scorer made it."""
        record = (metadata or {}).get(RECORD)
        if not isinstance(record, dict):
            return None
        return cls(
            score=Score.from_json(record["score"]),
            acc=(metadata or {}).get(ACC),
            cost=record.get("cost"),
            task=TaskReference.from_json(record) if "task" in record else None,
            scoring=record.get("scoring", "strict"),
            method=record.get("method"),
            counts=tuple(record.get("counts", ())),
            draft=Score.from_json(record["draft"]) if "draft" in record else None,
            opinions=record.get("opinions"),
            group=record.get("group"),
        )

    @classmethod
    def of(cls, score: InspectScore) -> ScoreRecord | None:
        """Return the record of a score; None if another package's scorer made it."""
        return cls.from_metadata(score.metadata)

    @classmethod
    def of_all(cls, scores: Iterable[SampleScore]) -> list[ScoreRecord]:
        """Return the records of those scores that have one."""
        return [record for score in scores if (record := cls.of(score.score))]

    def as_metadata(self) -> dict[str, Any]:
        """Convert to the metadata of a score; entries without a value are left out, except for the cost."""
        record: dict[str, Any] = {"method": self.method, "counts": list(self.counts)} if self.method else {}
        if self.task:
            record |= {**self.task.as_json(), "scoring": self.scoring}
        record |= {"score": self.score.as_json(), "cost": self.cost}
        if self.draft:
            record["draft"] = self.draft.as_json()
        if self.opinions is not None:
            record["opinions"] = self.opinions
        if self.group:
            record["group"] = self.group
        return {RECORD: record} if self.acc is None else {ACC: self.acc, RECORD: record}
