"""HalluVerse25: the score of a named type of error, and its metrics (section 5).

In `paper`, the reply without surrounding white space must be one of the English names of the types, in any case, after
the prompt in appendix C, which asks for the class and nothing else. The authors released no evaluator.
"""

from __future__ import annotations

from dataclasses import replace

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.classification import macro_metric, score_label
from halu_tasks.scorers.metrics import Metric, mean, share_unparsed
from halu_tasks.scorers.reading.questions import NONE, TYPES, error_type
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score


def score_type(item: Item, reply: str) -> Score:
    """Score the type of error that a reply names; `none` is no answer unless the item's question offers it."""
    answer = error_type(reply)
    if answer.value == NONE and NONE not in item.gold["types"]:
        answer = Answer(None, "names no type")
    return _score(item, answer)


def score_type_published(item: Item, reply: str) -> Score:
    """Score a reply that is the English name of a type and nothing else (`paper`)."""
    word = reply.strip().casefold()
    return _score(item, Answer(word) if word in item.gold["types"] else Answer(None, "not one class alone"))


def _score(item: Item, answer: Answer[str]) -> Score:
    """Score the answer, with a measurement `as_TYPE`, 0 or 1, for each type that the question offers."""
    score = score_label(item.id, item.cluster, item.target, answer, item.tags)
    cells = {f"as_{offered}": float(answer.value == offered) for offered in item.gold["types"]}
    return replace(score, measurements={**score.measurements, **cells})


def _confusion(target: str, answer: str) -> Metric:
    """Create one cell of the confusion matrix, as a share (0 to 1) of its row."""
    return mean(
        f"rate_{target}_as_{answer}",
        f"as_{answer}",
        f"share of the items of type {target} that are answered {answer}",
        higher_is_better=False,
        tag_filter=("type", target),
        requires_option="with_zero" if NONE in (target, answer) else None,
    )


def error_type_scorer(alone: bool = False) -> TaskScorer:
    """Score the type of error that a reply names.

    Args:
        alone: Whether the reply must be the English name of a type and nothing else (`paper`).

    Returns:
        A scorer with the metrics `acc`, `f1_macro`, and `rate_TYPE_as_OTHER`, the share of the items of one type that
        are answered with another one. All are 0 to 1.
    """
    score = score_type_published if alone else score_type
    return TaskScorer(lambda item, reply, _: score(item, reply), METRICS)


METRICS = (
    mean("acc", "correct", "share of items whose type is named"),
    macro_metric("f1", TYPES, "f1_macro", unparsed_is_label=False),
    *(_confusion(target, answer) for target in TYPES for answer in TYPES if target != answer),
    share_unparsed(),
)
