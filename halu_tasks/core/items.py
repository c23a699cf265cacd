"""Cases and items: a benchmark's questions before and after their prompts are rendered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

WORDING = "wording"
"""The tag of an item that names the wording of its prompt, if a run has several."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a model, before its prompt is rendered.

    Attributes:
        id: Unique within the task.
        cluster: The source that it shares with other cases; intervals are clustered by it.
        fields: The contents of the prompt by placeholder name.
        target: The gold answer: a label, or strings joined by newlines.
        gold: Whatever else the scorer needs, as JSON values with the same keys and types for all cases of a task.
        tags: What results can be split by (type, pattern, language).
        explanation: For a worked example, the reasoning that leads to the target; otherwise empty.
    """

    id: str
    cluster: str
    fields: Mapping[str, str]
    target: str
    gold: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A case with its prompt: everything that a harness sends and a scorer needs.

    Every value is JSON, so that an item can be logged and read back.

    Attributes:
        id: As in the case.
        cluster: As in the case.
        target: As in the case.
        system: The system text; may be empty.
        prompt: The user text.
        gold: As in the case.
        tags: As in the case.
        fields: As in the case.
    """

    id: str
    cluster: str
    target: str
    system: str
    prompt: str
    gold: Mapping[str, Any]
    tags: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)


class Reply(NamedTuple):
    """A model's reply to an item.

    Attributes:
        text: The reply itself.
        target: The gold label, if the question was asked with its answers in another order than the item's.
        probability: The probability of the first of the task's `choices`, from 0 to 1, if it is known.
    """

    text: str
    target: str | None = None
    probability: float | None = None


class Example(NamedTuple):
    """A worked example of a few-shot prompt: a question, and the reply that is shown for it."""

    prompt: str
    reply: str


def by_target(cases: Iterable[Case]) -> list[Case]:
    """Order cases so that their targets take turns."""
    columns: dict[str, list[Case]] = {}
    for case in cases:
        columns.setdefault(case.target, []).append(case)
    return in_turn(columns.values())


def in_turn(columns: Iterable[Sequence[Case]]) -> list[Case]:
    """Interleave columns: the first case of each column, then the second of each, and so on."""
    return [case for row in zip_longest(*columns) for case in row if case is not None]
