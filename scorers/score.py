"""The score of one reply, a record of measurements from which metrics are computed later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import ANSWERED, EMPTY, REQUEST_FAILED, Answer, Outcome
from halu_tasks.scorers.judge import Verdict


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one reply.

    Attributes:
        id: The item's id.
        cluster: The source that the item shares with others, such as one ReFACT answer or one document. Items of one
            cluster are not independent.
        answer: The answer read from the reply: a label or a list of strings, or None if there is no answer.
        target: The gold answer, in the same form.
        measurements: Numbers that metrics aggregate by name (`correct` 0 or 1, `iou` 0 to 1, character counts …).
        tags: The item's tags by which results can be split (`type`, `pattern`, `language`).
        reason: Why there is no answer, or another note for people who read the score; otherwise empty.
        outcome: The outcome of reading the reply.
        verdicts: A judge's verdicts on the reply, one for each question; only scores of judged tasks have any.
    """

    id: str
    cluster: str
    answer: str | list[str] | None
    target: str | list[str]
    measurements: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    outcome: Outcome = ANSWERED
    verdicts: Sequence[Verdict] = ()

    @classmethod
    def of(
        cls,
        item: Item,
        answer: Answer[str] | Answer[list[str]],
        measurements: Mapping[str, float],
        target: str | list[str] | None = None,
    ) -> Score:
        """Return the score of an answer to an item, whose target is the item's by default."""
        target = item.target if target is None else target
        return cls(item.id, item.cluster, answer.value, target, measurements, item.tags, answer.reason, answer.outcome)

    def tagged(self, tags: Mapping[str, str]) -> Score:
        """Return the score with additional tags."""
        return replace(self, tags={**self.tags, **tags})

    def as_json(self) -> dict[str, Any]:
        """Convert the score to JSON values, as stored in logs and details; `from_json` restores it."""
        record = {key: getattr(self, name) for name, key in _JSON_KEYS.items()}
        record |= {"facts": dict(self.measurements), "tags": dict(self.tags)}
        return record | ({"verdicts": self.verdicts_json()} if self.verdicts else {})

    def verdicts_json(self) -> list[dict[str, Any]]:
        """Convert the verdicts to JSON values."""
        return [
            {name: value for name, value in verdict._asdict().items() if value or name != "left_out"}
            for verdict in self.verdicts
        ]

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Score:
        """Restore a score from the result of `as_json`; unknown keys are ignored."""
        values = {name: record[key] for name, key in _JSON_KEYS.items() if key in record}
        if "verdicts" in record:
            values["verdicts"] = [Verdict(**verdict) for verdict in record["verdicts"]]
        return cls(**values)


# the key of each field in JSON. Logs of all versions call the measurements `facts`.
_JSON_KEYS = {each.name: each.name for each in fields(Score) if each.name != "verdicts"} | {"measurements": "facts"}


def mark_empty(score: Score, reply: str) -> Score:
    """Set the outcome to `empty` if the reply has no content, which says nothing about the model."""
    return replace(score, outcome=EMPTY) if score.answer is None and not reply.strip() else score


def mark_failed(score: Score, failure: str) -> Score:
    """Set the outcome of an empty reply to `failed` if its request failed, for this reason."""
    return replace(score, outcome=REQUEST_FAILED, reason=failure) if failure else score
