"""C-FAITH: hallucination rates of its three formats, overall and per type (section 4.2).

In `paper`, the reply without surrounding white space must be the answer and nothing else (`published`), after the
paper's only sentence on the extraction of answers: that they are compared directly with the correct one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz

from halu_tasks.core.items import Item
from halu_tasks.scorers.classification import score_label
from halu_tasks.scorers.judge import CONFLICT, FAILED, LONGEST, JudgeSpec, fence, read_verdict
from halu_tasks.scorers.metrics import Terms, mean, metric, ratio, share_free_of, share_unparsed
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.registry import Reading, TaskScorer, reading_named
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.judge_error import judge_error_metrics

Column = npt.NDArray[Any]

TYPES = {
    "虚构事实": "FactFab",
    "属性错误": "AttrErr",
    "实体错误": "EntErr",
    "关系错误": "RelErr",
    "时空幻觉": "SpaErr",
    "虚假引用": "RefErr",
    "过时信息": "Outdated",
}
"""The paper's names of the types, by their label in the released data; `Outdated` occurs only in the data."""

_KEPT = 1_000
"""Maximum length in characters of the open answer that a score keeps."""


def hallucination_rate_scorer(reading: str | Reading, of_truth: bool = False) -> TaskScorer:
    """Score an answer that is a label; each wrong label is a hallucination (section 4.2).

    Args:
        reading: The reading that reads the label from the reply, as a name or a function.
        of_truth: Whether the labels are True and False, the verdicts on a given answer. Errors are then false positives
            (a correct answer called wrong) or false negatives (a wrong one called correct).

    Returns:
        A scorer with the metrics `hallucination_rate` (0 to 1, lower is better) and `acc`, 1 minus the rate, and, with
        `of_truth`, also `false_negative_rate`, `false_positive_rate` and `balanced_error_rate`, the mean of both.
    """
    read = reading_named(reading)

    def score(item: Item, reply: str, verdicts: Sequence[str] | None) -> Score:
        label_score = score_label(item.id, item.cluster, item.target, read(reply), item.tags)
        wrong = 1.0 - label_score.measurements["correct"]
        measurements = {**label_score.measurements, "hallucinated": wrong}
        if of_truth:
            measurements["false_positive" if label_score.target == "True" else "false_negative"] = wrong
        return replace(label_score, measurements=measurements)

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
        balanced_error_rate,
    )
    return TaskScorer(score, (_RATE, _ACC, *(rates if of_truth else ()), share_unparsed()))


def questions(item: Item, reply: str) -> list[Mapping[str, str]]:
    """Return the fields of the one question that a judge is asked about an open answer; none if the reply is blank."""
    text = (strip_reasoning(reply) or "").strip()
    if not text:
        return []
    question, correct = (str(item.gold[key]) for key in ("question", "correct_answer"))
    return [{"question": fence(question), "correct_answer": fence(correct), "output": fence(text, LONGEST)}]


JUDGING = JudgeSpec(
    "cfaith_conflict",
    questions,
    read_verdict,
    unjudged="closer_to_correct",
    positive=CONFLICT,
    measurement="hallucinated",
)


def score_open(item: Item, reply: str, verdicts: Sequence[str] | None) -> Score:
    """Score an open answer by the judge's verdict.

    A reply without an answer (blank, or with a reasoning block that is never closed) is unparsed; if there is a judge,
    it counts as hallucinated.

    Args:
        item: The item.
        reply: The reply.
        verdicts: The judge's verdict, `conflict`, `consistent` or `failed`; None if no judge was asked, in which case
            the score has no measurement `hallucinated`.
    """
    without_reasoning = strip_reasoning(reply)
    text = (without_reasoning or "").strip()
    correct, hallucinated = (str(item.gold[key]) for key in ("correct_answer", "halu_answer"))
    measurements = {
        "closer_to_correct": float(fuzz.ratio(text, correct) > fuzz.ratio(text, hallucinated)),
    }
    failed = verdicts is not None and FAILED in verdicts
    if verdicts is not None:
        measurements["judge_failed"] = float(failed)
        if not failed:
            measurements["hallucinated"] = float(not text or CONFLICT in verdicts)
    reason = "" if text else "unclosed reasoning" if without_reasoning is None else "empty"
    if failed:
        reason = "the judge gave no verdict"
    shortened = text if len(text) <= _KEPT else text[:_KEPT] + "…"
    return Score(item.id, item.cluster, shortened or None, item.target, measurements, item.tags, reason)


@metric(higher_is_better=False, value=lambda sums: (ratio(sums[..., :2]) + ratio(sums[..., 2:])) / 2)
def balanced_error_rate(false_negative: Column, false_positive: Column) -> Terms:
    """Mean of false_negative_rate and false_positive_rate."""
    return false_negative, ~np.isnan(false_negative), false_positive, ~np.isnan(false_positive)


_RATE = mean("hallucination_rate", "hallucinated", "share of items answered incorrectly", higher_is_better=False)
_ACC = share_free_of("acc", "hallucinated", "share of items answered correctly, 1 - hallucination_rate")


def open_scorer() -> TaskScorer:
    """Score an open answer that a judge compares with the correct one.

    Returns:
        A scorer with the metrics `hallucination_rate`, `acc` (1 minus the rate), `judge_failed` and those of
        `judge_error_metrics`, for which a judge is needed, and `closer_to_correct`; all are shares from 0 to 1, except
        for `judge_kappa`. A reply on which the judge gave no verdict counts in neither `hallucination_rate` nor `acc`.
    """
    about = "share of replies that conflict with the correct answer, by the judge"
    conflict = replace(_RATE, about=about)
    about = "share of replies that do not conflict with the correct answer, 1 - hallucination_rate"
    consistent = replace(_ACC, about=about, requires_option="judge")
    about = "share of replies on which the judge gave no verdict"
    failed = mean("judge_failed", "judge_failed", about, higher_is_better=False, requires_option="judge")
    about = "share of replies closer to the correct answer than to the hallucinated one, by rapidfuzz's ratio"
    closer = mean("closer_to_correct", "closer_to_correct", about)
    corrected = judge_error_metrics("hallucination_rate", "hallucinated")
    return TaskScorer(score_open, (conflict, consistent, failed, *corrected, closer, share_unparsed()))
