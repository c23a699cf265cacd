"""The score record: what happened to one item, as facts, before any number is computed from many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from halu_tasks.scorers.answer import Outcome


@dataclass(frozen=True, slots=True)
class Score:
    """What one reply is worth, as facts.

    Attributes:
        id: the item's id.
        cluster: the source the item shares with others (one ReFACT answer, one document); items of
            one cluster are not independent.
        answer: what was read from the reply: a label, a list of strings, or None if the reply gives no answer.
        target: the gold answer in the same form.
        measurements: numbers that metrics add up (`correct` 0 or 1, `iou` 0 to 1, character counts …).
        tags: what items can be split by (`type`, `pattern`, `language`), copied from the item.
        reason: why there is no answer, or what else a reader should know; else empty.
        outcome: what became of the reply. By default `answered` if there is an answer and `unparsed` if not, which
            is also how records of older versions, which lack the field, are read.
        verdicts: what a judge said of the reply, question by question: `label`, the judge's `reason`, and `about`,
            the part of the reply that the question was on (empty where it was on all of it).
    """

    id: str
    cluster: str
    answer: str | list[str] | None
    target: str | list[str]
    measurements: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    outcome: Outcome = None  # type: ignore[assignment]
    verdicts: Sequence[Mapping[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.outcome is None:
            object.__setattr__(self, "outcome", "unparsed" if self.answer is None else "answered")

    def tagged(self, tags: Mapping[str, str]) -> Score:
        """The score with more tags."""
        # `dataclasses.replace` takes five times as long, and reports do this a hundred thousand times
        tags = {**self.tags, **tags}
        return Score(
            self.id,
            self.cluster,
            self.answer,
            self.target,
            self.measurements,
            tags,
            self.reason,
            self.outcome,
            self.verdicts,
        )

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON values, as logs and details hold them; `from_json` restores the record."""
        record = {_JSON_KEYS.get(name, name): value for name, value in asdict(self).items()}
        # only judged tasks have any
        return record if self.verdicts else {name: record[name] for name in record if name != "verdicts"}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Score:
        """Restore a score from what `as_json` returned; other keys are ignored."""
        return cls(**{name: record[key] for name, key in _FIELDS if key in record})


_JSON_KEYS = {"measurements": "facts"}
"""Names of fields in files where these differ: logs of all versions say `facts`."""
_FIELDS = tuple((own.name, _JSON_KEYS.get(own.name, own.name)) for own in fields(Score))


def mark_empty(score: Score, reply: str) -> Score:
    """The score, with the outcome `empty` if the reply has no content, which says nothing of the model."""
    return replace(score, outcome="empty") if score.answer is None and not reply.strip() else score
