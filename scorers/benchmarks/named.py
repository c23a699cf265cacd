"""Scorers by name, for samples of a user's own: what each takes from a sample, and the metrics that it has.

The scorers are those of task files (`registry`). A sample of a user's own gives by a few documented fields what a
packaged task gives by its definition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from halu_tasks.errors import DataError
from halu_tasks.items import Item
from halu_tasks.scorers.metrics import Metric, share_abstained, share_empty
from halu_tasks.scorers.reading.labels.error_type import NONE, TYPES
from halu_tasks.scorers.registry import TaskScorer, make_scorer
from halu_tasks.scorers.score import Score, mark_empty

HEADLINES = {"iou": "iou", "exact_match": "em", "expmatch": "expmatch", "error_type": "acc", "verdict": "acc"}
"""The scorers, each with the metric that a sample's own value is of."""


@dataclass(frozen=True)
class UserSample:
    """A sample of a user's own.

    Attributes:
        id: the sample's id, also in errors; empty where the harness does not tell it.
        target: the target's strings.
        fields: what the sample has beside its target.
        place: what a harness calls the fields: `metadata` or `document`.
    """

    id: str
    target: Sequence[str]
    fields: Mapping[str, Any]
    place: str = "metadata"

    def error(self, problem: str) -> DataError:
        """An error that names the sample."""
        return DataError(f"sample {self.id!r}: {problem}" if self.id else problem)

    def field(self, name: str, scorer: str) -> Any:
        """The field of that name. Raises DataError where the sample lacks it."""
        if name not in self.fields:
            has = ", ".join(map(str, self.fields)) or "nothing"
            raise self.error(f"{self.place} lacks {name!r}, which {scorer} needs; it has: {has}")
        return self.fields[name]


@dataclass(frozen=True)
class NamedScorer:
    """A scorer of `HEADLINES` for samples of a user's own.

    Attributes:
        name: its name.
        arguments: its arguments, as in task files; JSON values.
        fields: the names of the sample's fields, by their usual names.
        none_allowed: for `error_type`, whether `none` is an answer too.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    none_allowed: bool = False

    def __post_init__(self) -> None:
        self.metrics()

    def metrics(self) -> tuple[Metric, ...]:
        """All metrics of the scores, the headline first. Raises ValueError for an argument that cannot be used."""
        return metrics_of(self.name, self.arguments)

    def score(self, sample: UserSample, reply: str) -> Score:
        """The score of a reply. Raises DataError, naming sample and field, where the sample lacks what is needed."""
        item = _ITEMS[self.name](self, sample)
        return mark_empty(_made(self.name, _key(self.arguments)).score(item, reply, None), reply)

    def field_of(self, sample: UserSample, name: str) -> Any:
        """The sample's field of that usual name."""
        return sample.field(self.fields.get(name, name), self.name)

    def cluster_of(self, sample: UserSample) -> str:
        """The sample's cluster: its id, unless it has the field, which it must have under a name that was given."""
        name = self.fields.get("cluster", "cluster")
        if name == "cluster" and sample.fields.get(name) is None:
            return sample.id
        return str(sample.field(name, self.name))


def metrics_of(name: str, arguments: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All metrics of a named scorer, the headline first, and the shares of replies without an answer.

    Raises:
        ValueError: there is no such scorer, or an argument cannot be used.
    """
    metrics = _made(name, _key(arguments)).metrics
    by_headline = sorted(metrics, key=lambda metric: metric.name != HEADLINES[name])
    return (*by_headline, share_abstained(), share_empty())


@cache
def _made(name: str, arguments: str) -> TaskScorer:
    return make_scorer(name, json.loads(arguments))


def _key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments)


# --- what each scorer takes from a sample -----------------------------------------------------------


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
