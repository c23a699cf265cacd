"""Scorers by name for users' own samples: the fields that each needs, and its metrics.

The scorers are those that task files use (`registry`). What a packaged task defines, users' samples give in a few
documented fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.items import NO_GOLD, Gold, Item
from halu_tasks.scorers.gold import SpanGold, StringsGold, TypeGold
from halu_tasks.scorers.kinds import check_spans
from halu_tasks.scorers.metrics import Metric, outcome_shares
from halu_tasks.scorers.reading.questions import NONE, TYPES
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.registry import TaskScorer, make_scorer
from halu_tasks.scorers.score import ScoredReply, mark_missing

HEADLINES = {"iou": "iou", "exact_match": "em", "expmatch": "expmatch", "error_type": "acc", "verdict": "acc"}
"""The headline metric of each scorer, whose value is the sample's."""
# the scorers that read a label, which can be inferred
_OF_LABELS = ("error_type", "verdict")


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

    def score(self, sample: UserSample, reply: str) -> ScoredReply:
        """Score a reply to a sample, as a `ReplyText` if the harness knows the prompt or why the request failed.

        Raises:
            DataError: A field that the scorer needs is missing or invalid; the message names the sample and the field.
        """
        target, gold, tags = self._gold(sample)
        # the cluster is the sample itself if there is no such field; one with another name is required
        is_own_cluster = self.fields.get("cluster", "cluster") == "cluster" and sample.fields.get("cluster") is None
        cluster = sample.id if is_own_cluster else str(self._field_of(sample, "cluster"))
        item = Item(sample.id, cluster, target, gold=gold, tags=tags)
        reply = ReplyText(reply)
        return mark_missing(_scorer(self.name, json.dumps(self.arguments)).score(item, reply, None), reply)

    def _field_of(self, sample: UserSample, name: str) -> Any:
        name = self.fields.get(name, name)
        if name not in sample.fields:
            present = ", ".join(map(str, sample.fields)) or "nothing"
            raise sample.error(f"{sample.place} lacks {name!r}, which {self.name} needs; it has: {present}")
        return sample.fields[name]

    def _gold(self, sample: UserSample) -> tuple[str, Gold, dict[str, str]]:
        strings, target = list(sample.target), "\n".join(sample.target)
        if self.name == "iou":
            text, spans = (self._field_of(sample, name) for name in ("text", "spans"))
            try:
                check_spans(text, spans)
            except ValueError as error:
                names = " and ".join(repr(self.fields.get(name, name)) for name in ("text", "spans"))
                raise sample.error(f"{sample.place} {names}: {error}") from None
            strings = [text[start:end] for start, end in spans]
            return "\n".join(strings), SpanGold(text=text, spans=[*map(tuple, spans)], strings=strings), {}
        if self.name == "exact_match":
            if not strings or not all(string.strip() for string in strings):
                raise sample.error(f"target is {strings}, expected one or more strings that are not empty")
            return target, StringsGold(originals=strings), {}
        if self.name == "expmatch":
            if len(strings) != 1 or not any(char.isalnum() for char in target):
                raise sample.error(f"target is {strings}, expected the reference explanation")
            return target, NO_GOLD, {}
        if self.name == "error_type":
            labels, hint = [kind for kind in TYPES if kind != NONE or self.none_allowed], ""
            target = target.strip().lower()
            if not self.none_allowed and target == NONE:
                hint = "; with none_allowed=true also 'none'"
        else:
            labels, hint = list(self.arguments["labels"]), " (argument labels)"
        if len(strings) != 1 or target not in labels:
            raise sample.error(f"target is {target!r}, expected {', '.join(labels[:-1])} or {labels[-1]}{hint}")
        return target, *((TypeGold(types=labels), {"type": target}) if self.name == "error_type" else (NO_GOLD, {}))


def metrics_of(name: str, arguments: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return all metrics of a named scorer, the headline first, and the shares of replies without an answer.

    Raises:
        ValueError: The scorer does not exist, or an argument is invalid.
    """
    metrics = _scorer(name, json.dumps(arguments)).metrics
    by_headline = sorted(metrics, key=lambda metric: metric.name != HEADLINES[name])
    return (*by_headline, *outcome_shares(of_labels=name in _OF_LABELS))


@cache
def _scorer(name: str, arguments: str) -> TaskScorer:
    return make_scorer(name, json.loads(arguments))
