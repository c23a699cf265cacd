"""Readings and scorers under the names by which task files use them.

A reading takes a reply and returns the `Answer` that it states. A scorer is a function of the arguments in the task
file that returns a `TaskScorer`: how a reply to an item is scored, and the metrics that can be made of such scores.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from halu_tasks.errors import did_you_mean
from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.score import Score

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric

Reading = Callable[[str], Answer[str]]
ScoreReply = Callable[[Item, str, Sequence[str] | None], Score]
"""Item, reply and, where a judge was asked, the labels of its verdicts -> the score of the reply."""
ReferenceReplies = Callable[[Sequence[Score]], Mapping[str, Mapping[str, float]]]
"""Scores of some items -> what fixed replies would earn on the same items, by reply and metric."""

READINGS = {
    "checked_claims": "benchmarks.halueval:claims_verdict",
    "choice": "reading.labels.verdict:choice",
    "error_type": "reading.labels.error_type:error_type",
    "factchd_label": "benchmarks.factchd:read_label",
    "hallucinates": "reading.labels.hallucination:hallucinates",
    "hallucinates_multilingual": "reading.labels.hallucination_multilingual:hallucinates_multilingual",
    "letter_alone": "benchmarks.cfaith:letter_alone",
    "pick": "reading.labels.verdict:pick",
    "published_judgement": "benchmarks.halueval:published_judgement",
    "published_pick": "benchmarks.refact_published:published_pick",
    "published_reasoned_judgement": "benchmarks.halueval:published_reasoned_judgement",
    "published_true_false": "benchmarks.refact_published:published_true_false",
    "true_false": "reading.labels.verdict:true_false",
    "true_false_zh": "reading.labels.verdict:true_false_zh",
    "truth_word_alone": "benchmarks.cfaith:truth_word_alone",
    "yes_no_alone": "benchmarks.halluverse25_binary:yes_no_alone",
}
"""Where the function of each reading is: module of this package and name."""

SCORERS = {
    "cfaith_open": "benchmarks.cfaith:open_scorer",
    "checked_claims": "benchmarks.halueval:claims_scorer",
    "error_type": "benchmarks.halluverse25:error_type_scorer",
    "exact_match": "benchmarks.correction:exact_match_scorer",
    "expmatch": "benchmarks.explanation:expmatch_scorer",
    "factchd": "benchmarks.factchd:factchd_scorer",
    "fave": "benchmarks.fave:fave_scorer",
    "hallucination_rate": "benchmarks.cfaith:hallucination_rate_scorer",
    "iou": "benchmarks.localization:iou_scorer",
    "verdict": "benchmarks.label_scorer:verdict_scorer",
}
"""Where the function that makes each scorer is."""


@dataclass(frozen=True)
class TaskScorer:
    """How replies to a task are scored in one mode.

    Attributes:
        score: scores one reply.
        metrics: all metrics that can be made of the scores.
        reference_replies: what fixed replies earn, for a reader to compare with; None where there are none.
    """

    score: ScoreReply
    metrics: tuple[Metric, ...]
    reference_replies: ReferenceReplies | None = None


def reading_named(name: str | Reading) -> Reading:
    """The reading of that name, or the function itself. Raises ValueError, listing the names, if there is none."""
    if callable(name):
        return name
    reading: Reading = _load(READINGS, name, "reading")
    return reading


def scorer_factory(name: str | Callable[..., TaskScorer]) -> Callable[..., TaskScorer]:
    """The function that makes the scorer of that name, or the function itself. Raises ValueError if there is none."""
    if callable(name):
        return name
    factory: Callable[..., TaskScorer] = _load(SCORERS, name, "scorer")
    return factory


def make_scorer(name: str, arguments: Mapping[str, Any], usual: Mapping[str, Any] | None = None) -> TaskScorer:
    """The scorer of that name with these arguments, and those of the `usual` ones that it has and that are not given.

    Raises:
        ValueError: there is no such scorer, it has no such argument, or an argument has a value that it cannot use.
    """
    factory = scorer_factory(name)
    known = inspect.signature(factory).parameters
    for argument in arguments:
        if argument not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ValueError(f"scorer {name!r} has no argument {argument!r}{did_you_mean(argument, known)}; {takes}")
    arguments = {**{argument: value for argument, value in (usual or {}).items() if argument in known}, **arguments}
    missing = [
        argument
        for argument, parameter in known.items()
        if parameter.default is inspect.Parameter.empty and argument not in arguments
    ]
    if missing:
        raise ValueError(f"scorer {name!r} lacks the argument {missing[0]!r}")
    try:
        scorer: TaskScorer = factory(**arguments)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return scorer


def _load(known: Mapping[str, str], name: str, what: str) -> Any:
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"unknown {what} {name!r}{did_you_mean(str(name), known)}; known: {', '.join(known)}")
    module, _, attribute = known[name].partition(":")
    return getattr(import_module(f"halu_tasks.scorers.{module}"), attribute)
