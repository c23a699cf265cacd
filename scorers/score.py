"""A scored reply: what scorers make, logs and details hold, and metrics and reports read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import ANSWERED, EMPTY, REQUEST_FAILED, Answer, Outcome
from halu_tasks.scorers.cost import Cost
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.reading.reply import ReplyText

Opinions = Mapping[str, str | None]
"""The label given by each role of a method for one item; None if it gave none."""
ITEM_FIELDS = ("id", "cluster", "tags")
"""The fields that are the item's, which logs have elsewhere."""


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """A scored reply.

    Attributes:
        id: The item's id.
        cluster: The source that the item shares with others, such as one ReFACT answer or one document. Items of one
            cluster are not independent.
        answer: The answer read from the reply: a label or a list of strings, or None if there is no answer.
        target: The gold answer, in the same form.
        facts: Numbers that metrics aggregate by name (`correct` 0 or 1, `iou` 0 to 1, character counts …).
        tags: The item's tags by which results can be split (`type`, `pattern`, `language`).
        reason: Why there is no answer, or another note for people who read the score; otherwise empty.
        outcome: The outcome of reading the reply.
        verdicts: A judge's verdicts on the reply, one for each question; only scores of judged tasks have any.
        scoring: The mode, `strict` or `paper`.
        step: The step of reading that found the answer; empty if none did, or if the reading has no steps.
        place: Where the line or sentence that the answer stands on is in the reply, as offsets in characters; None if
            it stands on no one of them.
        blank: Whether the reply has no content, where the outcome does not say so, as in `paper`.
        method: The method that answered; None if the model was asked once.
        counts: The names of the facts that the method counted.
        opinions: The labels that the method weighed, by role.
        draft: The score of the method's first version of the reply, if it has one.
        stop: Why the reply ended, as Inspect says it; None if that is not known.
        cost: What the reply cost; None if that is not known.
        judging: What the judge, or the model that read the reply, cost; None if none was asked.
    """

    id: str
    cluster: str
    answer: str | list[str] | None
    target: str | list[str]
    facts: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    outcome: Outcome = ANSWERED
    verdicts: Sequence[Verdict] = ()
    scoring: str = "strict"
    step: str = ""
    place: Sequence[int] | None = None
    blank: bool = False
    method: str | None = None
    counts: Sequence[str] = ()
    opinions: Opinions | None = None
    draft: ScoredReply | None = None
    stop: str | None = None
    cost: Cost | None = None
    judging: Cost | None = None

    @classmethod
    def of(
        cls,
        item: Item,
        answer: Answer[str] | Answer[list[str]],
        facts: Mapping[str, float],
        target: str | list[str] | None = None,
    ) -> ScoredReply:
        """Return the score of an answer to an item, whose target is the item's by default."""
        target = item.target if target is None else target
        values = (item.id, item.cluster, answer.value, target, facts, item.tags, answer.reason, answer.outcome)
        return cls(*values, step=answer.step, place=answer.place)

    @property
    def reply_outcome(self) -> Outcome:
        """The outcome of reading the reply, or `empty`."""
        return EMPTY if self.blank else self.outcome

    def tagged(self, tags: Mapping[str, str]) -> ScoredReply:
        """Return the score with additional tags."""
        return replace(self, tags={**self.tags, **tags})

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON values by field, as in logs and details; `from_json` restores it.

        Of the fields after `outcome`, those that are empty are left out.
        """
        return {name: _json(value) for name in _FIELDS if (value := getattr(self, name)) or name in _ALWAYS}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], item: Mapping[str, Any] | None = None) -> ScoredReply:
        """Restore a scored reply.

        Args:
            record: The result of `as_json`; unknown keys are ignored.
            item: The fields in `ITEM_FIELDS`, if the record lacks them.

        Raises:
            TypeError: A field is missing.
        """
        values = {name: record[name] for name in _FIELDS if name in record} | dict(item or {})
        if "verdicts" in values:
            values["verdicts"] = [Verdict(**verdict) for verdict in values["verdicts"]]
        if values.get("draft"):
            values["draft"] = cls.from_json(values["draft"], {name: values[name] for name in ITEM_FIELDS})
        return cls(**values)


_FIELDS = tuple(each.name for each in fields(ScoredReply))
_ALWAYS = ("id", "cluster", "answer", "target", "facts", "tags", "reason", "outcome", "scoring")


def _json(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, ScoredReply):
        return {name: each for name, each in value.as_json().items() if name not in ITEM_FIELDS}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        is_of_verdicts = value and isinstance(value[0], Verdict)
        return verdicts_as_json(value) if is_of_verdicts else [*value]
    return value


def verdicts_as_json(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Convert verdicts to JSON values."""
    return [
        {name: value for name, value in verdict._asdict().items() if value or name != "left_out"}
        for verdict in verdicts
    ]


def score_label(item: Item, answer: Answer[str], facts: Mapping[str, float] | None = None) -> ScoredReply:
    """Score an answer that is a label, with further `facts`.

    The fact `correct` is 1 if the answer is the target, otherwise 0; a reply without an answer is wrong.
    """
    return ScoredReply.of(item, answer, {"correct": float(answer.value == item.target), **(facts or {})})


def mark_missing(scored: ScoredReply, reply: ReplyText) -> ScoredReply:
    """Set the outcome to `failed` or `empty` if there is no reply, also where a user's reading does not."""
    if reply.failure:
        return replace(scored, outcome=REQUEST_FAILED, reason=reply.failure)
    return replace(scored, outcome=EMPTY) if scored.answer is None and not reply.strip() else scored
