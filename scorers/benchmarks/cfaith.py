"""C-FAITH: hallucination rates of its three formats, overall and per type (section 4.2).

`paper` follows the paper's one sentence on extraction, that answers are compared directly with the
correct one: the reply, stripped, must be the answer and nothing else. The authors released no evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rapidfuzz import fuzz

from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.classification import score_label
from halu_tasks.scorers.metrics import Array, Metric, mean, ratio, share_unparsed
from halu_tasks.scorers.reading.judge import CONFLICT, FAILED, LONGEST, JudgeSpec, fence, read_verdict
from halu_tasks.scorers.registry import Reading, TaskScorer, reading_named
from halu_tasks.scorers.score import Score

TYPES = {
    "虚构事实": "FactFab",
    "属性错误": "AttrErr",
    "实体错误": "EntErr",
    "关系错误": "RelErr",
    "时空幻觉": "SpaErr",
    "虚假引用": "RefErr",
    "过时信息": "Outdated",
}
"""The released labels and the paper's names for them; Outdated is in the data alone."""

_KEPT = 1_000
"""Characters of an open answer that its score keeps."""


def letter_alone(reply: str) -> Answer[str]:
    """A to D if the reply is that letter and nothing else (`paper`)."""
    letter = reply.strip()
    return Answer(letter) if letter in ("A", "B", "C", "D") else Answer(None, "not a letter alone")


def truth_word_alone(reply: str) -> Answer[str]:
    """True or False if the reply is 正确 or 错误 and nothing else (`paper`)."""
    word = {"正确": "True", "错误": "False"}.get(reply.strip())
    return Answer(word, "" if word else "not one of the two words alone")


def hallucination_rate_scorer(reading: str | Reading, of_truth: bool = False) -> TaskScorer:
    """Score an answer that is a label; each wrong label is a hallucination (section 4.2).

    Args:
        reading: the reading that takes the label from the reply: a name or a function.
        of_truth: whether the labels say that an answer is True or False, so that errors are false positives (a correct
            answer called wrong) or false negatives.

    Returns:
        A scorer with the metric `hallucination_rate`, and of truth values `false_negative_rate`, `false_positive_rate`
        and `balanced_error_rate` too.
    """
    read = reading_named(reading)

    def score(item: Item, reply: str, verdicts: Sequence[str] | None) -> Score:
        stated = score_label(item.id, item.cluster, item.target, read(reply), item.tags)
        wrong = 1.0 - stated.measurements["correct"]
        kind = "false_positive" if stated.target == "True" else "false_negative"
        return replace(
            stated, measurements={**stated.measurements, "hallucinated": wrong, **({kind: wrong} if of_truth else {})}
        )

    rates = (
        mean(
            "false_negative_rate",
            "false_negative",
            "share of the wrong answers that are not called wrong",
            higher_is_better=False,
        ),
        mean(
            "false_positive_rate",
            "false_positive",
            "share of the correct answers that are not called correct",
            higher_is_better=False,
        ),
        _balanced_error(),
    )
    return TaskScorer(score, (_RATE, *(rates if of_truth else ()), share_unparsed()))


def questions(item: Item, reply: str) -> list[Mapping[str, str]]:
    """The one question that a judge is asked of an open answer; none of a reply with no answer in it."""
    answered = (strip_reasoning(reply) or "").strip()
    if not answered:
        return []
    question, correct = (str(item.gold[key]) for key in ("question", "correct_answer"))
    return [{"question": fence(question), "correct_answer": fence(correct), "output": fence(answered, LONGEST)}]


JUDGING = JudgeSpec("cfaith_conflict", questions, read_verdict, unjudged="closer_to_correct")


def score_open(item: Item, reply: str, verdicts: Sequence[str] | None) -> Score:
    """Score of an open answer, given what the judge said of it: `conflict`, `consistent` or `failed`, or None when
    no judge was named, in which case nothing is said about hallucination.

    A reply with no answer in it (empty, or a reasoning block that never ends) is unparsed, and wrong
    whenever there is a judge at all.
    """
    answered = strip_reasoning(reply)
    text = (answered or "").strip()
    correct, hallucinated = (str(item.gold[key]) for key in ("correct_answer", "halu_answer"))
    facts = {
        "closer_to_correct": float(fuzz.ratio(text, correct) > fuzz.ratio(text, hallucinated)),
    }
    failed = verdicts is not None and FAILED in verdicts
    if verdicts is not None:
        facts["judge_failed"] = float(failed)
        if not failed:
            facts["hallucinated"] = float(not text or CONFLICT in verdicts)
    reason = "" if text else "unclosed reasoning" if answered is None else "empty"
    if failed:
        reason = "the judge gave no verdict"
    kept = text if len(text) <= _KEPT else text[:_KEPT] + "…"
    return Score(item.id, item.cluster, kept or None, item.target, facts, item.tags, reason)


def _balanced_error() -> Metric:
    """The mean of the false negative and the false positive rate."""
    kinds = ("false_negative", "false_positive")

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        return [
            number
            for kind in kinds
            for number in (
                sum(s.measurements.get(kind, 0.0) for s in scores),
                sum(kind in s.measurements for s in scores),
            )
        ]

    def value(sums: Array) -> Array:
        return (ratio(sums[..., :2]) + ratio(sums[..., 2:])) / 2

    about = "mean of false_negative_rate and false_positive_rate"
    return Metric("balanced_error_rate", counts, value, higher_is_better=False, about=about)


_RATE = mean("hallucination_rate", "hallucinated", "share of items answered wrongly", higher_is_better=False)


def open_scorer() -> TaskScorer:
    """Score an open answer that a judge compares with the correct one: `score_open` and its metrics."""
    conflict = replace(_RATE, about="share of replies that conflict with the correct answer, by the judge")
    about = "share of replies that the judge gave no verdict on"
    failed = replace(mean("judge_failed", "judge_failed", about, higher_is_better=False), requires_option="judge")
    about = "share of replies nearer to the correct answer than to the hallucinated one, by rapidfuzz's ratio"
    closer = mean("closer_to_correct", "closer_to_correct", about)
    return TaskScorer(score_open, (conflict, failed, closer, share_unparsed()))
