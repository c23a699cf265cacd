"""Attempts: a reply is right or wrong, or does not attempt an answer, which earns and costs nothing.

SimpleQA (Wei et al. 2024, section 2.3) reports the share of right answers among those attempted; AA-Omniscience
(Jackson et al. 2025) gives one point for a right answer and takes one for a wrong one, so that neither silence nor
guessing wins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from halu_tasks.core.options import PENALTY
from halu_tasks.scorers.classification import NO_LABEL
from halu_tasks.scorers.columns import Column, Columns
from halu_tasks.scorers.judge_correction import Corrected, corrected
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import ScoredReply

ATTEMPTED, ACC_ATTEMPTED, NET = "attempted", "acc_attempted", "net"


@dataclass(frozen=True)
class LabelAttempts:
    """Attempts at a label: a reply attempts one if an answer is read from it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""
        return "correct", "answer"

    def right(self, columns: Columns) -> Column:
        """Return 1 for each right answer, otherwise 0."""
        return np.asarray(columns["correct"])

    def wrong(self, columns: Columns) -> Column:
        """Return 1 for each wrong answer, otherwise 0."""
        return self.attempted(columns) - self.right(columns)

    def attempted(self, columns: Columns) -> Column:
        """Return 1 for each reply with an answer, otherwise 0."""
        return np.where(np.isnan(columns["correct"]), np.nan, columns["answer"] != NO_LABEL)


@dataclass(frozen=True)
class JudgedAttempts:
    """Attempts by a judge's labels, each of which is good, bad, partial or neutral; the last one is no attempt.

    Attributes:
        good: The measurement of replies with a good label: 0 or 1, or the share of their claims that have one.
        bad: The same of replies with a bad label.
    """

    good: str = "good"
    bad: str = "bad"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""
        return self.good, self.bad, "partial"

    def right(self, columns: Columns) -> Column:
        """Return 1 for each reply with a good label, otherwise 0, or its share; NaN if the judge failed."""
        return np.asarray(columns[self.good])

    def wrong(self, columns: Columns) -> Column:
        """Return 1 for each reply with a bad label, otherwise 0, or its share; NaN if the judge failed."""
        return np.asarray(columns[self.bad])

    def attempted(self, columns: Columns) -> Column:
        """Return 1 for each reply with a label that is not neutral, otherwise 0; NaN if the judge failed."""
        labelled = columns[self.good] + columns[self.bad] + np.nan_to_num(columns["partial"])
        return np.where(np.isnan(labelled), np.nan, labelled > 0)


Attempts = LabelAttempts | JudgedAttempts


def attempts_of(facts: Collection[str]) -> Attempts | None:
    """Return what is right and wrong by the facts of a scorer; None if its answers are neither."""
    if "good" in facts:
        return JudgedAttempts(bad="bad" if "bad" in facts else "hallucinated")
    return LabelAttempts() if "correct" in facts else None


@dataclass(frozen=True)
class NetPoints:
    """The points of each reply: 1 if it is right, minus the penalty if it is wrong, otherwise 0."""

    of: Attempts
    penalty: float = 1.0

    def __call__(self, columns: Columns) -> Column:
        """Return the points, shape (N,)."""
        return np.asarray(self.of.right(columns) - self.penalty * self.of.wrong(columns))


def attempt_metrics(attempts: Attempts, requires_option: str | None = None) -> tuple[Metric, ...]:
    """Create `attempted`, `acc_attempted` (both 0 to 1) and `net` (−1 to 1).

    Args:
        attempts: What is right, wrong and attempted.
        requires_option: The option without which they are undefined, if any.
    """

    def right_and_attempted(columns: Columns) -> tuple[Column, Column]:
        attempted = attempts.attempted(columns)
        return np.where(np.isnan(attempted), 0.0, attempts.right(columns)), np.nan_to_num(attempted)

    metrics = (
        Metric(
            ATTEMPTED,
            attempts.attempted,
            attempts.columns,
            "mean",
            "share of replies that attempt an answer, right or wrong",
            higher_is_better=None,
        ),
        Metric(
            ACC_ATTEMPTED,
            right_and_attempted,
            attempts.columns,
            "sums",
            "share of the attempted answers that are right",
        ),
        _with_points(Metric(NET, attempts.right, attempts.columns, "mean"), NetPoints(attempts)),
    )
    return tuple(replace(metric, requires_option=requires_option) for metric in metrics)


def _with_points(metric: Metric, points: NetPoints) -> Metric:
    cost = f"{points.penalty:g}"
    about = f"mean points: 1 for a right answer, −{cost} for a wrong one, 0 for none"
    return replace(metric, terms=points, about=about, range=(-points.penalty, 1.0))


def penalty_of(scores: Iterable[ScoredReply]) -> float:
    """Return what a wrong answer costs in a run, in points."""
    return next((score.facts[PENALTY] for score in scores if PENALTY in score.facts), 1.0)


def with_penalty(metrics: Iterable[Metric], penalty: float) -> tuple[Metric, ...]:
    """Let a wrong answer cost `penalty` points in the metrics that count points, which then are −penalty to 1."""
    return tuple(_costing(metric, penalty) for metric in metrics)


def _costing(metric: Metric, penalty: float) -> Metric:
    terms = metric.terms
    if isinstance(terms, Corrected):
        costly = corrected(_costing(terms.metric, penalty), terms.judge_spec)
        return replace(costly, name=metric.name, within=metric.within, requires_option=metric.requires_option)
    return _with_points(metric, replace(terms, penalty=penalty)) if isinstance(terms, NetPoints) else metric
