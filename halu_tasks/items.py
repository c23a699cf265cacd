"""Cases and items: what a benchmark asks, before and after its prompt is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a model, before any wording.

    Attributes:
        id: unique within the task.
        cluster: the source it shares with other cases, for intervals.
        fields: what the prompt shows, by placeholder name.
        target: the gold answer, a label or strings joined by line ends.
        gold: what else the scorer needs; JSON values, the same keys and types for all cases of a task.
        tags: what results can be split by (type, pattern, language).
        explanation: for a worked example, the reasoning that leads to the target; else empty.
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
    """A case with its prompt: all that a harness must send and all that a scorer must know.

    `system` may be empty, and `fields` are the case's. Every value is JSON, so an item survives a log file.
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
    """What a model answered to an item.

    Attributes:
        text: the reply itself.
        target: the gold label where the question was asked in another order than the item's.
        probability: of the first of the task's `choices`, 0 to 1, where one is to be had.
    """

    text: str
    target: str | None = None
    probability: float | None = None


class Example(NamedTuple):
    """A worked example of a few-shot prompt: what is asked, and the reply that is shown for it."""

    prompt: str
    reply: str
