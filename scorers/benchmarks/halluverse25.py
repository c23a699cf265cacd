"""HalluVerse25: how a named type of error scores, and the metrics (section 5 of the paper).

`paper` follows the prompt of the paper's appendix C, which asks for the class and nothing else: the reply,
stripped and in any case, must be one of the English classes. The authors released no evaluator.
"""

from __future__ import annotations

from dataclasses import replace

from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.classification import macro_metric, score_label
from halu_tasks.scorers.metrics import Metric, mean, share_unparsed
from halu_tasks.scorers.reading.labels.error_type import NONE, TYPES, error_type
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score


def score_type(item: Item, reply: str) -> Score:
    answer = error_type(reply)
    if answer.value == NONE and NONE not in item.gold["types"]:
        answer = Answer(None, "names no type")
    return _score(item, answer)


def score_type_published(item: Item, reply: str) -> Score:
    word = reply.strip().casefold()
    return _score(item, Answer(word) if word in item.gold["types"] else Answer(None, "not one class alone"))


def _score(item: Item, answer: Answer[str]) -> Score:
    """Beside `correct`, a fact for each type asked for: whether it is the answer."""
    score = score_label(item.id, item.cluster, item.target, answer, item.tags)
    cells = {f"as_{kind}": float(answer.value == kind) for kind in item.gold["types"]}
    return replace(score, measurements={**score.measurements, **cells})


def _confusion(target: str, answer: str) -> Metric:
    """One cell of the confusion matrix, as a share of its row."""
    name = f"rate_{target}_as_{answer}"
    rate = mean(name, f"as_{answer}", higher_is_better=False).only("type", target, name)
    rate = replace(rate, about=f"share of the items of type {target} that are answered {answer}")
    return replace(rate, requires_option="with_zero") if NONE in (target, answer) else rate


def error_type_scorer(alone: bool = False) -> TaskScorer:
    """Score the type of error that a reply names.

    Args:
        alone: whether the reply must be the English name of a type and nothing else (`paper`).

    Returns:
        A scorer with the metrics `acc`, `f1_macro`, and `rate_TYPE_as_OTHER`, the share of the items of a type that are
        answered as another one.
    """
    score = score_type_published if alone else score_type
    return TaskScorer(lambda item, reply, _: score(item, reply), METRICS)


METRICS = (
    mean("acc", "correct", "share of items whose type is named"),
    macro_metric("f1", TYPES, "f1_macro", unparsed_is_label=False),
    *(_confusion(target, answer) for target in TYPES for answer in TYPES if target != answer),
    share_unparsed(),
)
