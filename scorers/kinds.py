"""The kinds of answer that a task can ask for, each with the gold it needs and its default metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from halu_tasks.core.items import Case, Item
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
    """The kind of answer that a task asks for."""

    name: ClassVar[str]

    def check(self, case: Case) -> None:
        """Check that a case has the gold that scorers of this kind need.

        Raises:
            ValueError: A field is missing or invalid; the message names it.
        """

    def targets(self, item: Item) -> str | list[str]:
        """Return the target as Inspect shows it: a string, or a list if the answer is several strings."""
        return item.target

    def sample_fields(self, item: Item) -> dict[str, Any]:
        """Return the fields from which the named scorers read an item's gold (`scorers/benchmarks/named.py`)."""
        return {}

    def scorer_arguments(self) -> dict[str, Any]:
        """Return default arguments for the task's scorer; those in the task file take precedence."""
        return {}

    def gold_spans(self, gold: Mapping[str, Any]) -> GoldSpans | None:
        """Return the text and the spans that a report marks in it; None if the kind has no spans."""
        return None

    def outcome_metrics(self) -> tuple[Metric, ...]:
        """Return the metrics of `strict` that count replies without an answer other than unparsed ones."""
        from halu_tasks.scorers.metrics import share_abstained, share_empty

        return share_abstained(), share_empty()


@dataclass(frozen=True)
class Label(AnswerKind):
    """One of a few labels.

    Attributes:
        labels: The labels; every target is one of them.
        reading: The function that reads the label from a reply in `strict`.
        names: The names that metrics use for the labels, by label, if they have names.
        target_varies: Whether predictions may state their own target, because the order of the answers in a question
            does not follow from its id.
    """

    name = "label"
    labels: tuple[str, ...]
    reading: Reading
    names: Mapping[str, str] = field(default_factory=dict)
    target_varies: bool = False

    def scorer_arguments(self) -> dict[str, Any]:
        """Return the arguments `reading` and `labels`."""
        return {"reading": self.reading, "labels": self.names or self.labels}

    def outcome_metrics(self) -> tuple[Metric, ...]:
        """Return the shares of replies that decline, are empty, and declare no label."""
        from halu_tasks.scorers.metrics import share_inferred

        return *super().outcome_metrics(), share_inferred()

    def check(self, case: Case) -> None:
        """Check that the target is one of the labels."""
        if case.target not in self.labels:
            raise ValueError(f"target is {case.target!r}, expected {' or '.join(map(repr, self.labels))}")


@dataclass(frozen=True)
class Spans(AnswerKind):
    """Passages of a text.

    The gold has the `text`, the `spans` (pairs of start and end, in characters of the text), and their `strings`.
    """

    name = "spans"

    def check(self, case: Case) -> None:
        """Check that the gold has a text, spans within it, and strings."""
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
        """Return the text and the gold spans."""
        return {"text": item.gold["text"], "spans": item.gold["spans"]}

    def gold_spans(self, gold: Mapping[str, Any]) -> GoldSpans:
        """Return the text and the gold spans in it."""
        return GoldSpans(gold["text"], [(start, end) for start, end in gold["spans"]])


@dataclass(frozen=True)
class Strings(AnswerKind):
    """Strings in a fixed order, listed as `originals` in the gold."""

    name = "strings"

    def check(self, case: Case) -> None:
        """Check that the gold has one or more originals."""
        if not _strings(case.gold, "originals"):
            raise ValueError("gold field 'originals' is empty")

    def targets(self, item: Item) -> str | list[str]:
        """Return the originals as a list."""
        originals = list(item.gold["originals"])
        return originals if "\n".join(originals) == item.target else item.target


@dataclass(frozen=True)
class JudgedText(AnswerKind):
    """A free text about which a judge is asked, even if it declines to answer."""

    name = "judged_text"


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
