"""The kinds of answer that a task can ask for: the gold that each needs, and how replies without an answer count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from halu_tasks.items import Case, Item
from halu_tasks.scorers.registry import Reading

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric
    from halu_tasks.text.spans import Span


class GoldSpans(NamedTuple):
    """A text and the gold spans in it, as (start, end) in characters."""

    text: str
    spans: list[Span]


@dataclass(frozen=True)
class AnswerKind:
    """What a task asks for."""

    name: ClassVar[str]

    def check(self, case: Case) -> None:
        """Raise ValueError, naming the field, where the gold of a case is not what scorers of this kind need."""

    def targets(self, item: Item) -> str | list[str]:
        """Return the target as Inspect shows it: a string, or a list where the answer is several strings."""
        return item.target

    def sample_fields(self, item: Item) -> dict[str, Any]:
        """Return the fields from which the named scorers read an item's gold (`scorers/benchmarks/named.py`)."""
        return {}

    def scorer_arguments(self) -> dict[str, Any]:
        """The arguments of a scorer that follow from the kind, where the task file gives no others."""
        return {}

    def gold_spans(self, gold: Mapping[str, Any]) -> GoldSpans | None:
        """Return the text and the spans that a report marks in it; None if the kind has no spans."""
        return None

    def outcome_metrics(self) -> tuple[Metric, ...]:
        """In `strict`, the shares of replies without an answer that are told apart from unparsed ones."""
        from halu_tasks.scorers.metrics import share_abstained, share_empty

        return share_abstained(), share_empty()


@dataclass(frozen=True)
class Label(AnswerKind):
    """One of a few labels; the target is one of them.

    Attributes:
        labels: the labels.
        reading: takes the label from a reply, in `strict`.
        names: what metrics of a label are called, where the labels have names.
        target_varies: whether a prediction may state its own target, because the question has an order that its id does
            not tell.
    """

    name = "label"
    labels: tuple[str, ...]
    reading: Reading
    names: Mapping[str, str] = field(default_factory=dict)
    target_varies: bool = False

    def scorer_arguments(self) -> dict[str, Any]:
        return {"reading": self.reading, "labels": self.names or self.labels}

    def check(self, case: Case) -> None:
        if case.target not in self.labels:
            raise ValueError(f"target is {case.target!r}, expected {' or '.join(map(repr, self.labels))}")


@dataclass(frozen=True)
class Spans(AnswerKind):
    """Passages of a text. The gold has `text`, `spans` (pairs of a start and an end, in characters of the text) and
    `strings`, what stands there."""

    name = "spans"

    def check(self, case: Case) -> None:
        text = _field(case.gold, "text", str)
        for span in _field(case.gold, "spans", list):
            if (
                len(span) != 2
                or not all(isinstance(end, int) for end in span)
                or not 0 <= span[0] < span[1] <= len(text)
            ):
                raise ValueError(f"gold field 'spans': {span!r} is not a [start, end] within the text")
        _strings(case.gold, "strings")

    def sample_fields(self, item: Item) -> dict[str, Any]:
        return {"text": item.gold["text"], "spans": item.gold["spans"]}

    def gold_spans(self, gold: Mapping[str, Any]) -> GoldSpans:
        """Return the text and the gold spans in it."""
        return GoldSpans(gold["text"], [(start, end) for start, end in gold["spans"]])


@dataclass(frozen=True)
class Strings(AnswerKind):
    """Strings in order. The gold has them in `originals`."""

    name = "strings"

    def check(self, case: Case) -> None:
        if not _strings(case.gold, "originals"):
            raise ValueError("gold field 'originals' is empty")

    def targets(self, item: Item) -> str | list[str]:
        originals = list(item.gold["originals"])
        return originals if "\n".join(originals) == item.target else item.target


@dataclass(frozen=True)
class JudgedText(AnswerKind):
    """A free text that a judge is asked about. Whether it declines to answer is for the judge to say."""

    name = "judged_text"

    def outcome_metrics(self) -> tuple[Metric, ...]:
        from halu_tasks.scorers.metrics import share_empty

        return (share_empty(),)


def _field(gold: Mapping[str, Any], name: str, kind: type) -> Any:
    if name not in gold:
        raise ValueError(f"gold lacks the field {name!r}")
    if not isinstance(gold[name], kind):
        raise ValueError(f"gold field {name!r} is {type(gold[name]).__name__}, expected {kind.__name__}")
    return gold[name]


def _strings(gold: Mapping[str, Any], name: str) -> list[str]:
    strings: list[str] = _field(gold, name, list)
    if not all(isinstance(string, str) for string in strings):
        raise ValueError(f"gold field {name!r} must be a list of strings")
    return strings
