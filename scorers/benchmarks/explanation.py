"""The scorer `expmatch`: an explanation compared with a reference by ExpMatch."""

from __future__ import annotations

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.expmatch import ALPHA, Parts, expmatch, parts_scores, split
from halu_tasks.scorers.metrics import mean, share_unparsed
from halu_tasks.scorers.reading.declining import only_declines
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score


def read_explanation(reply: str) -> Answer[str]:
    """Read the reply without its reasoning blocks; a reply that only declines to answer has no explanation."""
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    text = text.strip()
    if not text:
        return Answer(None, "empty reply")
    if only_declines(text):
        return Answer(None, "declines", abstained=True)
    return Answer(text)


def score_explanation(item: Item, reply: str, alpha: float = ALPHA) -> Score:
    """Score an explanation against the reference, which is the item's target.

    Measurements, all 0 to 1: `expmatch`, and `expmatch_body`, `expmatch_head` and `expmatch_tail` for the parts that
    the reference has.

    Args:
        item: The item.
        reply: The reply.
        alpha: The weight of the body in `expmatch`, above 0, up to 1.
    """
    answer = read_explanation(reply)
    parts = parts_scores(split(answer.value or ""), split(item.target))
    measurements = {"expmatch": expmatch(parts, alpha) or 0.0}
    measurements |= {f"expmatch_{part}": score for part, score in parts.items() if score is not None}
    return Score(
        item.id, item.cluster, answer.value, item.target, measurements, item.tags, answer.reason, answer.outcome
    )


METRICS = (
    mean("expmatch", "expmatch"),
    *(mean(f"expmatch_{part}", f"expmatch_{part}") for part in Parts._fields),
    share_unparsed(),
)


def expmatch_scorer(alpha: float = ALPHA) -> TaskScorer:
    """Score how much of a reference explanation a reply contains (FactCHD, section 5.1).

    Args:
        alpha: The weight of the body, above 0, up to 1; head and tail share the rest.

    Returns:
        A scorer with the metrics `expmatch`, `expmatch_body`, `expmatch_head` and `expmatch_tail`, all 0 to 1.

    Raises:
        ValueError: `alpha` is not a number above 0, up to 1.
    """
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha <= 1:
        raise ValueError(f"alpha: expected a number above 0, up to 1, got {alpha!r}")
    return TaskScorer(lambda item, reply, _: score_explanation(item, reply, alpha), METRICS)
