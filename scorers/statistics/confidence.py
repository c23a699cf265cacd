"""Confidence: how sure a model is that its answer is right, and how right the answers are that it is sure of.

Answers are kept in the order of their confidence, the most confident first. The *coverage* is the share of all items
whose answers are kept, and the *risk* the share of the kept answers that are wrong (El-Yaniv and Wiener 2010, "On the
Foundations of Noise-free Selective Classification", Journal of Machine Learning Research 11). A reply without an answer
is never kept, nor is an answer without a confidence, so a curve may end before a coverage of 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.scorers.answer import ANSWERED, INFERRED
from halu_tasks.scorers.attempts import Attempts, attempts_of
from halu_tasks.scorers.columns import CONFIDENCE, NO_CONFIDENCE, PROBABILITY, Array, Column, Columns
from halu_tasks.scorers.metrics import Metric, Terms
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import brier, ece, ece_by_chance

# --- facts ------------------------------------------------------------------------------------------------

RISK = "risk"
"""The fact with the highest risk that `coverage_at_risk` allows, where it is not `USUAL_RISK`."""

USUAL_RISK = 0.05
"""The highest risk that `coverage_at_risk` allows by default."""

AGREEMENT = "agreement"
"""The fact of a method that votes: the share of the votes that can be read that are for the answer."""


def with_stated_confidence(score: ScoredReply, confidence: float | None) -> ScoredReply:
    """Add the confidence that a reply states, or that it states none although it was asked to."""
    facts = {NO_CONFIDENCE: 1.0} if confidence is None else {CONFIDENCE: confidence}
    return replace(score, facts={**score.facts, **facts})


def with_allowed_risk(score: ScoredReply, risk: float) -> ScoredReply:
    """Add the risk that is allowed to the score of a reply with a confidence, unless it is the usual one."""
    needed = risk != USUAL_RISK and has_confidence(score)
    return replace(score, facts={**score.facts, RISK: risk}) if needed else score


def with_shown_confidence(score: ScoredReply, choices: Sequence[str] | None) -> ScoredReply:
    """Add the confidence that a reply shows without stating it, unless it was asked to state one.

    This is the probability of the label that is answered, if the probability of the task's first label is known, or
    else the share of a method's votes for it.

    Args:
        score: The score, with the probability and what the method counted.
        choices: The two labels whose probabilities are compared; None if the task has none.
    """
    facts = score.facts
    if not isinstance(score.answer, str) or not {CONFIDENCE, NO_CONFIDENCE}.isdisjoint(facts):
        return score
    if choices and score.answer in choices and PROBABILITY in facts:
        probability = facts[PROBABILITY]
        confidence = probability if score.answer == choices[0] else 1 - probability
    elif AGREEMENT in score.counts:
        confidence = facts[AGREEMENT]
    else:
        return score
    return replace(score, facts={**facts, CONFIDENCE: confidence})


def has_confidence(score: ScoredReply) -> bool:
    """Return whether a score has a confidence, or was asked for one."""
    return not {CONFIDENCE, NO_CONFIDENCE}.isdisjoint(score.facts)


# --- what is right ----------------------------------------------------------------------------------------


def graded(attempts: Attempts, columns: Columns) -> Columns:
    """Return the `probability` that each answer is right, its `target`, 1 if it is, and whether it is `wrong`.

    The probability is the confidence; it is NaN where no answer is attempted.
    """
    confidence = np.where((attempts.attempted(columns) > 0) & is_answer(columns), columns[CONFIDENCE], np.nan)
    graded_columns = {"probability": confidence, "target": attempts.right(columns), "wrong": attempts.wrong(columns)}
    return Columns(graded_columns.__getitem__, columns.cluster, columns.clusters)


def known(columns: Columns) -> Columns:
    """Select the items with a probability."""
    return columns.where(~np.isnan(columns["probability"]))


def is_answer(columns: Columns) -> Column:
    """Return whether each reply has an answer."""
    outcome = columns["outcome"]
    return np.asarray((outcome == ANSWERED) | (outcome == INFERRED), dtype=bool)


_ROUNDING = 1e-9


# --- risk and coverage ------------------------------------------------------------------------------------


class RiskCoverage(NamedTuple):
    """How many answers are kept, and how many of them are wrong, at each confidence from which on they are kept.

    Attributes:
        kept: The numbers of answers that are kept, shape (T,), from the few with the highest confidence to all.
        wrong: How many of them are wrong, shape (T,).
        items: The number of all items.
    """

    kept: Array
    wrong: Array
    items: int

    @classmethod
    def of(cls, attempts: Attempts, columns: Columns) -> RiskCoverage:
        """Return the curve of some replies; without an answer that can be kept, it has no points."""
        graded_answers = known(graded(attempts, columns))
        order = np.argsort(-graded_answers["probability"], kind="stable")
        ends = (
            np.flatnonzero(np.append(np.diff(graded_answers["probability"][order]) != 0, True)) if len(order) else order
        )
        wrong = np.cumsum(graded_answers["wrong"][order])[ends]
        return cls(np.asarray(ends + 1, dtype=np.float64), wrong, len(columns))

    @property
    def area(self) -> float:
        """The mean risk over the coverages from one answer to all, which is the area under the curve over its width.

        Answers with equal confidence are in no order, so this is the mean over all their orders: of them, each share
        kept has the same share of what is wrong. NaN without an answer.
        """
        if not len(self.kept):
            return math.nan
        number = np.arange(1, self.kept[-1] + 1)
        wrong = np.interp(number, np.append(0, self.kept), np.append(0, self.wrong))
        return float((wrong / number).mean())

    def coverage(self, risk: float) -> float:
        """Return the largest coverage at which the risk is at most `risk`; 0 if there is none, NaN without items.

        Answers with equal confidence are kept or left out together, as by a threshold.
        """
        within = self.kept[self.wrong <= risk * self.kept + _ROUNDING]
        return (float(within[-1]) if len(within) else 0.0) / self.items if self.items else math.nan


# --- metrics ----------------------------------------------------------------------------------------------

# what is right is 1 in the columns of `graded`, as a label that the metrics of probabilities look for
_RIGHT: Any = 1.0
_ASKED: dict[str, Any] = {"requires_option": CONFIDENCE}


def confidence_metrics(attempts: Attempts | None) -> tuple[Metric, ...]:
    """Create the metrics of confidences; without attempts, only `no_confidence`.

    These are `aurc`, `coverage_at_risk`, `brier_confidence`, `ece_confidence`, `ece_confidence_by_chance` and
    `no_confidence`, all 0 to 1. All are undefined where no reply has a confidence, and the first five are over answers
    that have one.

    Args:
        attempts: What is right and wrong; None if answers are neither.
    """
    about = "share of the answers that come without a confidence"
    missing = Metric(
        NO_CONFIDENCE, _missing, ("outcome", CONFIDENCE, NO_CONFIDENCE), "mean", about, higher_is_better=False, **_ASKED
    )
    if attempts is None:
        return (missing,)

    def squares(columns: Columns) -> Terms:
        square, _, has_one = brier_score.terms(graded(attempts, columns))
        return np.where(has_one, square, np.nan)

    def right_and_wrong(columns: Columns) -> list[Column]:
        graded_answers = graded(attempts, columns)
        has_one = ~np.isnan(graded_answers["probability"])
        return [has_one & (graded_answers["target"] == 1), has_one & (graded_answers["wrong"] == 1)]

    def of_graded(metric: Metric, name: str, about: str) -> Metric:
        def terms(columns: Columns) -> Terms:
            return metric.terms(known(graded(attempts, columns)))

        return replace(metric, name=name, inputs=inputs, terms=terms, about=about, **_ASKED)

    brier_score = brier(_RIGHT)
    inputs = (*attempts.columns, "outcome", CONFIDENCE)
    return (
        Metric(
            "aurc",
            lambda columns: RiskCoverage.of(attempts, columns).area,
            inputs,
            "figure",
            "area under the risk-coverage curve: mean share of wrong answers among those kept, most confident first",
            higher_is_better=False,
            classes=right_and_wrong,
            **_ASKED,
        ),
        Metric(
            "coverage_at_risk",
            lambda columns: RiskCoverage.of(attempts, columns).coverage(_risk(columns)),
            (*inputs, RISK),
            "figure",
            "largest share of items whose answers can be kept by confidence while at most `risk` of these are wrong",
            has_interval=False,
            **_ASKED,
        ),
        Metric(
            "brier_confidence",
            squares,
            inputs,
            "mean",
            "mean squared difference between the confidence and 1 if the answer is right, else 0",
            higher_is_better=False,
            **_ASKED,
        ),
        of_graded(
            ece(_RIGHT), "ece_confidence", "expected calibration error of the confidence that the answer is right"
        ),
        of_graded(
            ece_by_chance,
            "ece_confidence_by_chance",
            "expected ece_confidence of calibrated confidences, which is the part that is due to chance",
        ),
        missing,
    )


def with_confidence(metrics: Sequence[Metric], facts: Collection[str]) -> tuple[Metric, ...]:
    """Add what a confidence says of answers that are right or wrong, and the share of those that come without one.

    Args:
        metrics: The metrics of the task.
        facts: The facts of its scorer, which say whether there is a right and a wrong.
    """
    return *metrics, *confidence_metrics(attempts_of(facts))


def _missing(columns: Columns) -> Terms:
    """Return 1 for each answer without a confidence, 0 for one with it; nothing if none was asked for or has one."""
    lacks = np.isnan(columns[CONFIDENCE])
    asked = (~lacks).any() or (columns[NO_CONFIDENCE] == 1).any()
    return np.where(is_answer(columns) & asked, lacks, np.nan)


def _risk(columns: Columns) -> float:
    risks = columns[RISK][~np.isnan(columns[RISK])]
    return float(risks[0]) if len(risks) else USUAL_RISK
