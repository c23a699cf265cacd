"""Scorers by name for users' own samples: the fields that each needs, and its metrics.

The scorers are those that task files use (`registry`). What a packaged task defines, users' samples give in a few
documented fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Item
from halu_tasks.scorers.metrics import Metric, share_abstained, share_empty, share_inferred
from halu_tasks.scorers.reading.questions import NONE, TYPES
from halu_tasks.scorers.registry import TaskScorer, make_scorer
from halu_tasks.scorers.score import Score, mark_empty

HEADLINES = {"iou": "iou", "exact_match": "em", "expmatch": "expmatch", "error_type": "acc", "verdict": "acc"}
"""The headline metric of each scorer, whose value is that of the sample."""
_OF_LABELS = ("error_type", "verdict")
"""The scorers that read a label, which can be inferred."""


@dataclass(frozen=True)
class UserSample:
    """A user's own sample.

    Attributes:
        id: The sample's id, also for errors; empty if the harness does not give one.
        target: The target's strings.
        fields: The other fields of the sample.
        place: The harness's word for the fields: `metadata` or `document`.
    """

    id: str
    target: Sequence[str]
    fields: Mapping[str, Any]
    place: str = "metadata"

    def error(self, problem: str) -> DataError:
        """Create an error that names the sample."""
        return DataError(f"sample {self.id!r}: {problem}" if self.id else problem)

    def field(self, name: str, scorer: str) -> Any:
        """Return the value of a field.

        Raises:
            DataError: The sample lacks the field, which the named scorer needs.
        """
        if name not in self.fields:
            present = ", ".join(map(str, self.fields)) or "nothing"
            raise self.error(f"{self.place} lacks {name!r}, which {scorer} needs; it has: {present}")
        return self.fields[name]


@dataclass(frozen=True)
class NamedScorer:
    """A scorer of `HEADLINES` for users' own samples.

    Attributes:
        name: The scorer's name.
        arguments: Its arguments as JSON values, as in task files.
        fields: The names of the sample's fields, by their default names.
        none_allowed: For `error_type`, whether `none` is also an answer.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    none_allowed: bool = False

    def __post_init__(self) -> None:
        self.metrics()

    def metrics(self) -> tuple[Metric, ...]:
        """Return all metrics of the scores, the headline first.

        Raises:
            ValueError: An argument is invalid.
        """
        return metrics_of(self.name, self.arguments)

    def score(self, sample: UserSample, reply: str) -> Score:
        """Score a reply to a sample.

        Raises:
            DataError: A field that the scorer needs is missing or invalid; the message names the sample and the field.
        """
        item = _ITEMS[self.name](self, sample)
        return mark_empty(_scorer(self.name, _key(self.arguments)).score(item, reply, None), reply)

    def field_of(self, sample: UserSample, name: str) -> Any:
        """Return the value of the field with the given default name."""
        return sample.field(self.fields.get(name, name), self.name)

    def cluster_of(self, sample: UserSample) -> str:
        """Return the sample's cluster.

        This is the field `cluster`, or the sample's id if there is none. A field with another name is required.
        """
        name = self.fields.get("cluster", "cluster")
        if name == "cluster" and sample.fields.get(name) is None:
            return sample.id
        return str(sample.field(name, self.name))


def metrics_of(name: str, arguments: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return all metrics of a named scorer, the headline first, and the shares of replies without an answer.

    Raises:
        ValueError: The scorer does not exist, or an argument is invalid.
    """
    metrics = _scorer(name, _key(arguments)).metrics
    by_headline = sorted(metrics, key=lambda metric: metric.name != HEADLINES[name])
    inferred = [share_inferred()] if name in _OF_LABELS else []
    return (*by_headline, share_abstained(), share_empty(), *inferred)


@cache
def _scorer(name: str, arguments: str) -> TaskScorer:
    return make_scorer(name, json.loads(arguments))


def _key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments)


# --- the item of each scorer --------------------------------------------------------------------------


def _iou(scorer: NamedScorer, sample: UserSample) -> Item:
    text, spans = scorer.field_of(sample, "text"), scorer.field_of(sample, "spans")
    text_name, spans_name = (f"{sample.place} {scorer.fields.get(name, name)!r}" for name in ("text", "spans"))
    if not isinstance(text, str):
        raise sample.error(f"{text_name}: expected a string, got {type(text).__name__}")
    if not isinstance(spans, Sequence) or isinstance(spans, str):
        raise sample.error(f"{spans_name}: expected a list of [start, end], got {type(spans).__name__}")
    for span in spans:
        if not _is_span(span, len(text)):
            raise sample.error(
                f"{spans_name}: {span!r} is not a [start, end] within the text of {len(text)} characters"
            )
    strings = [text[start:end] for start, end in spans]
    return _item(scorer, sample, "\n".join(strings), {"text": text, "spans": list(spans), "strings": strings})


def _is_span(span: Any, length: int) -> bool:
    if not isinstance(span, Sequence) or isinstance(span, str) or len(span) != 2:
        return False
    return all(type(end) is int for end in span) and 0 <= span[0] < span[1] <= length


def _exact_match(scorer: NamedScorer, sample: UserSample) -> Item:
    originals = list(sample.target)
    if not originals or not all(original.strip() for original in originals):
        raise sample.error(f"target is {_shown(originals)}, expected one or more strings that are not empty")
    return _item(scorer, sample, "\n".join(originals), {"originals": originals})


def _expmatch(scorer: NamedScorer, sample: UserSample) -> Item:
    reference = _only(sample, "the reference explanation")
    if not any(char.isalnum() for char in reference):
        raise sample.error(f"target is {reference!r}, expected the reference explanation")
    return _item(scorer, sample, reference, {})


def _error_type(scorer: NamedScorer, sample: UserSample) -> Item:
    types = [kind for kind in TYPES if kind != NONE or scorer.none_allowed]
    target = _only(sample, _or(types)).strip().lower()
    if target not in types:
        hint = "; with none_allowed=true also 'none'" if target == NONE else ""
        raise sample.error(f"target is {target!r}, expected {_or(types)}{hint}")
    return _item(scorer, sample, target, {"types": types}, {"type": target})


def _verdict(scorer: NamedScorer, sample: UserSample) -> Item:
    labels = list(scorer.arguments["labels"])
    target = _only(sample, _or(labels))
    if target not in labels:
        raise sample.error(f"target is {target!r}, expected {_or(labels)} (argument labels)")
    return _item(scorer, sample, target, {})


_ITEMS: dict[str, Callable[[NamedScorer, UserSample], Item]] = {
    "iou": _iou,
    "exact_match": _exact_match,
    "expmatch": _expmatch,
    "error_type": _error_type,
    "verdict": _verdict,
}


def _item(
    scorer: NamedScorer, sample: UserSample, target: str, gold: Mapping[str, Any], tags: Mapping[str, str] | None = None
) -> Item:
    return Item(sample.id, scorer.cluster_of(sample), target, "", "", gold, tags or {})


def _only(sample: UserSample, expected: str) -> str:
    if len(sample.target) != 1:
        raise sample.error(f"target is {_shown(sample.target)}, expected {expected}")
    return sample.target[0]


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _shown(target: Sequence[str]) -> str:
    return repr(list(target)) if target else "empty"
