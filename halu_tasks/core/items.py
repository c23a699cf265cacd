"""Items, and the replies to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from itertools import zip_longest
from typing import Any, Generic, NamedTuple, Self

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypeVar

from halu_tasks.core.records import to_json
from halu_tasks.core.settings import first_fault

WORDING = "wording"
"""The tag of an item that names the wording of its prompt, if a run has several."""

PART = "part"
"""The tag of an item that names its part of the data under the option `split`."""

OF_ITEM = frozenset({"id", "system", "prompt", "target", "cluster", "tags"})
"""Keys of lm-eval's documents that every item has; tags and gold cannot have these names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What a scorer needs to know of an item in addition to its target (`scorers.gold`).

    A subclass is a frozen dataclass whose fields JSON can hold: texts, numbers, lists and mappings of these, named
    tuples and dataclasses.

    Attributes:
        shown: The fields that a judge is shown; items that are restored from logs have no other fields.
    """

    shown: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Convert the gold to JSON values by field; fields at their default are left out."""
        values = ((each, getattr(self, each.name)) for each in fields(self))
        return {each.name: to_json(value) for each, value in values if value != _default(each)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Restore a gold from the result of `as_json`; unknown keys are ignored.

        Raises:
            ValueError: A field is missing, or has another type.
        """
        try:
            gold: Self = _adapter(cls).validate_python(record)  # type: ignore[arg-type]  # a class is hashable
        except ValidationError as error:
            raise ValueError(f"gold: {': '.join(first_fault(error))}") from None
        return gold


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


@cache
def _adapter(gold: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(gold)


NO_GOLD = Gold()
G = TypeVar("G", bound=Gold, default=Any)


@dataclass(frozen=True, slots=True)
class Item(Generic[G]):
    """One question to a model, with its prompt once that is rendered.

    Every value can be written as JSON, so that an item can be logged and read back.

    Attributes:
        id: Unique within the task.
        cluster: The source that it shares with other items; intervals are clustered by it.
        target: The gold answer: a label, or strings joined by newlines.
        system: The system text; may be empty.
        prompt: The user text; empty before the prompt is rendered.
        gold: What the scorer needs in addition to the target, of one type for all items of a task.
        tags: What results can be split by (type, pattern, language).
        fields: The contents of the prompt by placeholder name.
        explanation: For a worked example, the reasoning that leads to the target; otherwise empty.
    """

    id: str
    cluster: str
    target: str
    system: str = ""
    prompt: str = ""
    gold: G = NO_GOLD  # type: ignore[assignment]  # for items whose target is enough
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
