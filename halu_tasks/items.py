"""Cases and items: what a benchmark asks, before and after its prompt is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
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


def by_target(cases: Iterable[Case]) -> list[Case]:
    """The cases in turn of their targets."""
    columns: dict[str, list[Case]] = {}
    for case in cases:
        columns.setdefault(case.target, []).append(case)
    return in_turn(columns.values())


def in_turn(columns: Iterable[Sequence[Case]]) -> list[Case]:
    """The first case of each column, then the second of each, and so on."""
    return [case for row in zip_longest(*columns) for case in row if case is not None]
