"""Items, and the replies to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

SHOWN = "shown"
"""The entry of an item's gold with the fields that a judge is shown, since items of logs have no fields."""
WORDING = "wording"
"""The tag of an item that names the wording of its prompt, if a run has several."""

OF_ITEM = frozenset({"id", "system", "prompt", "target", "cluster", "tags"})
"""What lm-eval's documents have of every item, beside tags and gold, which cannot have these names."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question to a model, with its prompt once that is rendered.

    Every value is JSON, so that an item can be logged and read back.

    Attributes:
        id: Unique within the task.
        cluster: The source that it shares with other items; intervals are clustered by it.
        target: The gold answer: a label, or strings joined by newlines.
        system: The system text; may be empty.
        prompt: The user text; empty before the prompt is rendered.
        gold: Whatever else the scorer needs, as JSON values with the same keys and types for all items of a task.
        tags: What results can be split by (type, pattern, language).
        fields: The contents of the prompt by placeholder name.
        explanation: For a worked example, the reasoning that leads to the target; otherwise empty.
    """

    id: str
    cluster: str
    target: str
    system: str = ""
    prompt: str = ""
    gold: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    explanation: str = ""


class Reply(NamedTuple):
    """A model's reply to an item.

    Attributes:
        text: The reply itself.
        target: The gold label, if the question was asked with its answers in another order than the item's.
        probability: The probability of the first of the task's `choices`, from 0 to 1, if it is known.
        failure: Why there is no reply: the request was refused, filtered or ended in an error. The text is then none of
            the model's, and is neither read nor judged.
    """

    text: str
    target: str | None = None
    probability: float | None = None
    failure: str = ""


class Example(NamedTuple):
    """A worked example of a few-shot prompt: a question, and the reply that is shown for it."""

    prompt: str
    reply: str


def by_target(items: Iterable[Item]) -> list[Item]:
    """Order items so that their targets take turns."""
    columns: dict[str, list[Item]] = {}
    for item in items:
        columns.setdefault(item.target, []).append(item)
    return in_turn(columns.values())


def in_turn(columns: Iterable[Sequence[Item]]) -> list[Item]:
    """Interleave columns: the first item of each column, then the second of each, and so on."""
    return [item for row in zip_longest(*columns) for item in row if item is not None]
