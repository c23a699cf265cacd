"""The kinds of answer that a task can ask for, each with the gold it needs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from halu_tasks.core.items import Gold, Item
from halu_tasks.core.options import Options
from halu_tasks.scorers.gold import LabelGold, SpanGold, StringsGold
from halu_tasks.scorers.registry import Reading

_Gold = TypeVar("_Gold", bound=Gold)
_STRINGS = {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True)
class AnswerKind:
    """The kind of answer that a task asks for."""

    name: ClassVar[str]
    schema: ClassVar[dict[str, Any]] = {"type": "string"}
    meaning: ClassVar[str] = "your whole reply as a string"
    gold: ClassVar[type[Gold]] = Gold
    explains: bool = field(default=False, kw_only=True)
    """Whether an answer comes with an explanation, which JSON has as a field of its own."""

    def json_schema(self, options: Options) -> dict[str, Any]:
        """Return the schema of an answer in JSON."""
        return self.schema

    def json_meaning(self, options: Options) -> str:
        """Return what an answer in JSON is, as a clause of a prompt."""
        return self.meaning

    def json_value(self, reply: str) -> Any:
        """Return the answer of a reply that is not JSON as JSON has it."""
        return reply.splitlines() if self.schema is _STRINGS else reply

    def check(self, item: Item) -> None:
        """Check that an item has the gold that scorers of this kind need.

        Raises:
            ValueError: It has another one, or a field is invalid; the message names it.
        """

    def targets(self, item: Item) -> str | list[str]:
        """Return the target as Inspect shows it: a string, or a list if the answer is several strings."""
        return item.target

    def scorer_arguments(self) -> dict[str, Any]:
        """Return default arguments for the task's scorer; those in the task file take precedence."""
        return {}


@dataclass(frozen=True)
class Label(AnswerKind):
    """One of a few labels.

    Attributes:
        labels: The labels; every target is one of them.
        reading: The function that reads the label from a reply in `strict`.
        names: The names that metrics use for the labels, by label, if they have names.
        target_varies: Whether predictions may state their own target, because the order of the answers in a question
            does not follow from its id.
        only_with: The options that add labels to the question, by label.
    """

    name = "label"
    gold = LabelGold
    labels: tuple[str, ...]
    reading: Reading
    names: Mapping[str, str] = field(default_factory=dict)
    target_varies: bool = False
    only_with: Mapping[str, str] = field(default_factory=dict)

    def json_schema(self, options: Options) -> dict[str, Any]:
        """Return one of the labels."""
        return {"type": "string", "enum": self._labels(options)}

    def json_meaning(self, options: Options) -> str:
        """Return the labels."""
        return f"one of {', '.join(map(json.dumps, self._labels(options)))}"

    def _labels(self, options: Options) -> list[str]:
        return [label for label in self.labels if getattr(options, self.only_with.get(label, ""), True)]

    def json_value(self, reply: str) -> Any:
        """Return the label that a reply states."""
        return self.reading(reply).value

    def scorer_arguments(self) -> dict[str, Any]:
        """Return the arguments `reading` and `labels`."""
        return {"reading": self.reading, "labels": self.names or self.labels}

    def check(self, item: Item) -> None:
        """Check that the target is one of the labels."""
        if item.target not in self.labels:
            raise ValueError(f"target is {item.target!r}, expected {' or '.join(map(repr, self.labels))}")


@dataclass(frozen=True)
class Claims(Label):
    """One of a few labels, which follows from claims that are listed and checked one by one."""

    name = "claims"

    def json_schema(self, options: Options) -> dict[str, Any]:
        """Return a list of checked claims."""
        checked = {"claim": {"type": "string"}, "supported": {"type": "boolean"}}
        record = {"type": "object", "properties": checked, "required": list(checked), "additionalProperties": False}
        return {"type": "array", "items": record}

    def json_meaning(self, options: Options) -> str:
        """Return what a checked claim consists of."""
        return 'a list of objects with the keys "claim" and "supported" (true or false)'

    def json_value(self, reply: str) -> Any:
        """Return the claims of a reply of lines "Claim: …" and "Supported: …"."""
        found = re.findall(r"Claim(?: \d+)?: (.*)\nSupported: (Yes|No)", reply)
        return [{"claim": claim, "supported": supported == "Yes"} for claim, supported in found]


@dataclass(frozen=True)
class Spans(AnswerKind):
    """Passages of a text, with `SpanGold`.

    Attributes:
        categories: The names that metrics use for the categories of spans, by category, the worst first.
        degrees: Whether spans have degrees.
    """

    name = "spans"
    gold = SpanGold
    schema = _STRINGS
    meaning = "a list of strings that are copied from the text; an empty list if there are none"
    categories: Mapping[str, str] = field(default_factory=dict)
    degrees: bool = False

    def json_schema(self, options: Options) -> dict[str, Any]:
        """Return a list of strings, or of records if spans have categories or degrees."""
        keys: dict[str, Any] = {"text": {"type": "string"}}
        keys |= {"category": {"type": "string", "enum": [*self.categories]}} if self.categories else {}
        keys |= {"prob": {"type": "number", "minimum": 0, "maximum": 1}} if self.degrees else {}
        record = {"type": "object", "properties": keys, "required": [*keys], "additionalProperties": False}
        return {"type": "array", "items": record} if len(keys) > 1 else self.schema

    def json_meaning(self, options: Options) -> str:
        """Return what the list consists of."""
        keys = [f'"category" (one of {", ".join(map(json.dumps, self.categories))})'] if self.categories else []
        keys += ['"prob" (how probable it is that the passage is wrong, 0 to 1)'] if self.degrees else []
        listed = f'a list of objects with the keys "text" (a passage copied from the text), {" and ".join(keys)}'
        return f"{listed}; an empty list if there are none" if keys else self.meaning

    def json_value(self, reply: str) -> Any:
        """Return the marks of a reply in JSON, or the lines of another."""
        return json.loads(reply) if reply.startswith(("[{", "[]")) else super().json_value(reply)

    def check(self, item: Item) -> None:
        """Check that spans are within the text, and have categories and degrees where these are used."""
        gold = _of_type(item, SpanGold)
        if (self.categories and gold.categories is None) or (self.degrees and gold.degrees is None):
            raise ValueError(f"gold: {'degrees' if gold.categories is not None else 'categories'} is missing")
        check_spans(gold.text, gold.spans)

    def scorer_arguments(self) -> dict[str, Any]:
        """Return the arguments `categories` and `degrees`."""
        return {"categories": self.categories, "degrees": self.degrees}


@dataclass(frozen=True)
class Strings(AnswerKind):
    """Strings in a fixed order, with `StringsGold`."""

    name = "strings"
    gold = StringsGold
    schema = _STRINGS
    meaning = "a list of strings in the order that is asked for"

    def check(self, item: Item) -> None:
        """Check that the gold has one or more originals."""
        if not _of_type(item, StringsGold).originals:
            raise ValueError("gold: originals is empty")

    def targets(self, item: Item) -> str | list[str]:
        """Return the originals as a list."""
        originals = list(item.gold.originals)
        return originals if "\n".join(originals) == item.target else item.target


@dataclass(frozen=True)
class JudgedText(AnswerKind):
    """A free text about which a judge is asked, even if it declines to answer."""

    name = "judged_text"


def check_spans(text: Any, spans: Any) -> None:
    """Check that spans are pairs of start and end within a text.

    Raises:
        ValueError: They are not; the message says which and why.
    """
    if not isinstance(text, str) or not isinstance(spans, Sequence) or isinstance(spans, str):
        got = f"{type(text).__name__} and {type(spans).__name__}"
        raise ValueError(f"text and spans: expected a string and a list, got {got}")
    for span in spans:
        start, end = span if isinstance(span, Sequence) and len(span) == 2 else (None, None)
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            raise ValueError(f"{span!r} is not a [start, end] within the text of {len(text)} characters")


def _of_type(item: Item, gold: type[_Gold]) -> _Gold:
    if not isinstance(item.gold, gold):
        raise ValueError(f"gold: expected halu_tasks.scorers.gold.{gold.__name__}, got {type(item.gold).__name__}")
    return item.gold
