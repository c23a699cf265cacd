"""The readings and scorers that task files refer to by name: this package's, and those that others add.

A reading is a function that takes a reply and returns its `Answer`. A scorer is a function that takes the arguments
given in the task file and returns a `TaskScorer`, which scores replies and lists the metrics of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halu_tasks.core.items import Gold, Item
from halu_tasks.core.plugins import Kind, find_part
from halu_tasks.core.settings import checked_settings, settings_of
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.score import ScoredReply

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric

Reading = Callable[[str], Answer[str]]
ScoreReply = Callable[[Item, str, Sequence[str] | None], ScoredReply]
"""Scores a reply: (item, reply, labels of the judge's verdicts) -> score. The labels are None if no judge was asked."""
FixedReplies = Mapping[str, "Sequence[Metric]"]
"""The metrics, by name of a fixed reply, that compute from scores what this reply would score on the same items."""

READINGS = {
    "checked_claims": "benchmarks.labels:claims_verdict",
    "choice": "reading.questions:choice",
    "error_type": "reading.questions:error_type",
    "factchd_label": "reading.questions:factual",
    "hallucinates": "reading.questions:hallucinates",
    "hallucinates_multilingual": "reading.questions:hallucinates",
    "letter_alone": "benchmarks.released_readers:letter_alone",
    "pick": "reading.questions:pick",
    "published_choice": "benchmarks.released_readers:published_choice",
    "published_judgement": "benchmarks.released_readers:published_judgement",
    "published_pick": "benchmarks.released_readers:published_pick",
    "published_reasoned_judgement": "benchmarks.released_readers:published_reasoned_judgement",
    "published_true_false": "benchmarks.released_readers:published_true_false",
    "true_false": "reading.questions:true_false",
    "true_false_zh": "reading.questions:true_false",
    "truth_word_alone": "benchmarks.released_readers:truth_word_alone",
    "yes_no_alone": "benchmarks.released_readers:yes_no_alone",
}
"""The function of each reading, as `module:name` relative to this package."""

SCORERS = {
    "cfaith_open": "benchmarks.judged:open_scorer",
    "checked_claims": "benchmarks.labels:claims_scorer",
    "error_type": "benchmarks.labels:error_type_scorer",
    "exact_match": "benchmarks.string_scorers:exact_match_scorer",
    "expmatch": "benchmarks.explanations:expmatch_scorer",
    "factchd": "benchmarks.explanations:factchd_scorer",
    "fave": "benchmarks.judged:fave_scorer",
    "hallucination_rate": "benchmarks.labels:hallucination_rate_scorer",
    "iou": "benchmarks.string_scorers:iou_scorer",
    "judged": "benchmarks.judged:judged_scorer",
    "judged_claims": "benchmarks.judged:judged_claims_scorer",
    "mushroom": "benchmarks.span_scorers:mushroom_scorer",
    "psiloqa": "benchmarks.span_scorers:psiloqa_scorer",
    "verdict": "benchmarks.labels:verdict_scorer",
}
"""The function that makes each scorer, as `module:name` relative to this package."""


@dataclass(frozen=True)
class TaskScorer:
    """How replies to a task are scored in one mode.

    Attributes:
        score: The function that scores one reply.
        metrics: All metrics of the scores.
        facts: The names of all measurements that a score may have, which metrics may read.
        gold: The type of items' gold; None for the gold of the kind of answer.
        fixed_replies: What fixed replies would score, for comparison.
    """

    score: ScoreReply
    metrics: tuple[Metric, ...]
    facts: Collection[str]
    gold: type[Gold] | None = field(default=None, kw_only=True)
    fixed_replies: FixedReplies = field(default_factory=dict)


def reading_named(name: str | Reading) -> Reading:
    """Return the reading with the given name; a function is returned as it is.

    Raises:
        ValueError: The name is unknown; the message lists the known ones.
    """
    reading: Reading = _find("readings", name, READINGS)
    return reading


def scorer_factory(name: str | Callable[..., TaskScorer]) -> Callable[..., TaskScorer]:
    """Return the function that makes the scorer with the given name; a function is returned as it is.

    Raises:
        ValueError: The name is unknown; the message lists the known ones.
    """
    factory: Callable[..., TaskScorer] = _find("scorers", name, SCORERS)
    return factory


def make_scorer(
    name: str | Callable[..., TaskScorer], arguments: Mapping[str, Any], usual: Mapping[str, Any] | None = None
) -> TaskScorer:
    """Make the scorer with the given name.

    Args:
        name: The scorer's name, or the function that makes it.
        arguments: Its arguments, as in the task file.
        usual: Default arguments; those that the scorer does not have are ignored.

    Raises:
        ValueError: The scorer does not exist, or an argument is unknown or invalid.
        TypeError: An argument is missing.
    """
    factory, strict = scorer_factory(name), not callable(name)
    defaults = {key: value for key, value in (usual or {}).items() if key in settings_of(factory, strict=strict)}
    try:
        return factory(**checked_settings(factory, {**defaults, **arguments}, "argument", strict=strict))
    except ValueError as error:
        raise ValueError(f"{getattr(name, '__name__', name)}: {error}") from None


def _find(kind: Kind, name: str | Callable[..., object], own: Mapping[str, str]) -> Any:
    if callable(name):
        return name
    return find_part(kind, str(name), {each: f"halu_tasks.scorers.{place}" for each, place in own.items()})
