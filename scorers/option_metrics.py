"""Metrics that an option adds to those of a task: `reader`, a model that reads replies, wordings, and `confidence`.

The reader is asked about replies whose label the rules infer or do not find, and only about these. Its readings change
no other figure: each stands beside the one by the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from halu_tasks.core.items import WORDING, Item
from halu_tasks.core.options import PENALTY
from halu_tasks.core.prompting import prompt_for
from halu_tasks.scorers.answer import ANSWERED, INFERRED, UNPARSED, Outcome
from halu_tasks.scorers.attempts import attempts_of, costing
from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Question, excerpt, fence
from halu_tasks.scorers.judge_correction import Corrected, corrected
from halu_tasks.scorers.metrics import Metric, Terms, ratio
from halu_tasks.scorers.reading.verdicts import VerdictReader
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.confidence import confidence_metrics
from halu_tasks.scorers.statistics.jackknife import Sums

# --- a model that reads replies ---------------------------------------------------------------------------

NO_LABEL = "no answer"
"""The reading of a reply that states none of the labels."""
UNSURE: tuple[Outcome, ...] = (INFERRED, UNPARSED)
"""The outcomes of reading that the reader is asked about."""


@cache
def reader_spec(about: str, labels: tuple[str, ...]) -> JudgeSpec:
    """Return what a reader is asked.

    Args:
        about: What the task asks, in a line.
        labels: The labels.
    """
    listed = ", ".join(f'"{label.lower()}"' for label in labels)

    def questions(item: Item, reply: str, longest: int) -> list[Question]:
        part, left_out = excerpt(reply, longest)
        return [Question({"task": about, "labels": listed, "reply": fence(part)}, left_out=left_out)]

    return JudgeSpec(
        prompt=prompt_for("read_label", "judge")["user"],
        questions=questions,
        read=VerdictReader({**{label: label.lower() for label in labels}, NO_LABEL: NO_LABEL}),
        unjudged=INFERRED,
    )


def with_reader(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Add the headline by the reader's labels, `<headline>_reader`, and what the reader did, as shares of all items.

    `read_by_reader` is the share that it was asked about, `changed_by_reader` the share whose answer it changed, and
    `reader_failed` the share that it gave no reading of, whose answer stays that of the rules.
    """
    headline = metrics[0]
    by_reader = replace(
        headline,
        name=f"{headline.name}_reader",
        terms=lambda columns: headline.terms(_read_again(columns)),
        classes=lambda columns: headline.classes(_read_again(columns)),
        about=f"{headline.name}, where a model read the replies whose answer the rules infer or do not find",
    )
    return (
        *metrics,
        by_reader,
        _share("read_by_reader", "a model read", lambda score: bool(score.verdicts)),
        _share(
            "changed_by_reader", "a model read otherwise than the rules", lambda s: read_again(s).answer != s.answer
        ),
        _share("reader_failed", "the model gave no reading of", _has_failed),
    )


def _read_again(columns: Columns) -> Columns:
    return Columns.of([read_again(score) for score in columns["score"]], columns.cluster)


def _share(name: str, what: str, counts: Callable[[ScoredReply], bool]) -> Metric:
    about = f"share of replies that {what}"
    return Metric(name, lambda columns: np.array([*map(counts, columns["score"])], dtype=bool), about, None)


def _has_failed(score: ScoredReply) -> bool:
    return any(verdict.label == FAILED for verdict in score.verdicts)


def read_again(score: ScoredReply) -> ScoredReply:
    """Return a score with the reader's label in place of the rules', if the reader gave one."""
    if not score.verdicts or _has_failed(score):
        return score
    label = score.verdicts[0].label
    answer = None if label == NO_LABEL else label
    if answer == score.answer:
        return score
    right = {"correct": float(answer == score.target)} if "correct" in score.facts else {}
    outcome: Outcome = UNPARSED if answer is None else ANSWERED
    return replace(score, answer=answer, outcome=outcome, facts={**score.facts, **right})


# --- what a wrong answer costs ----------------------------------------------------------------------------


def penalty_of(scores: Iterable[ScoredReply]) -> float:
    """Return what a wrong answer costs in a run, in points."""
    return next((score.facts[PENALTY] for score in scores if PENALTY in score.facts), 1.0)


def with_penalty(metrics: Iterable[Metric], penalty: float) -> tuple[Metric, ...]:
    """Let a wrong answer cost `penalty` points in the metrics that count points, which then are −penalty to 1."""
    return tuple(_costing(metric, penalty) if penalty != 1 else metric for metric in metrics)


def _costing(metric: Metric, penalty: float) -> Metric:
    if isinstance(metric.terms, Corrected):
        own = corrected(costing(metric.terms.metric, penalty), metric.terms.judged)
        return replace(own, name=metric.name, within=metric.within, requires_option=metric.requires_option)
    return costing(metric, penalty)


# --- several wordings of one prompt -----------------------------------------------------------------------

SPREAD = "wording_sd"


def wordings_of(scores: Iterable[ScoredReply]) -> list[str]:
    """Return the wordings of a run's prompts, in order of first appearance; empty if it has only one."""
    return list(dict.fromkeys(score.tags[WORDING] for score in scores if WORDING in score.tags))


def with_wordings(metrics: Sequence[Metric], wordings: Sequence[str]) -> tuple[Metric, ...]:
    """Add what several wordings add to the metrics of a task.

    This is the headline of each wording, as `<headline>_wording_<name>`, and `wording_sd`, their standard deviation
    (with one less than their number as the divisor). All other metrics are over the items in all wordings, so that the
    headline is the mean over wordings with its error over clusters of items.

    The standard deviation has no interval. It contains the chance in the items, though little of it, since the items
    are the same in all wordings.

    Args:
        metrics: The metrics of the task, the headline first.
        wordings: The names of the wordings.

    Returns:
        All metrics; those of the task alone if there are fewer than two wordings.
    """
    if len(wordings) < 2:
        return tuple(metrics)
    headline = metrics[0]
    parts = [headline.only(WORDING, name, f"{headline.name}_wording_{name}") for name in wordings]
    if not headline.has_sums:
        return *metrics, *parts

    def terms(columns: Columns) -> Terms:
        sums = [part.sums_of_items(columns) for part in parts]
        return tuple(column for part in sums if isinstance(part, Sums) for column in part.terms.T)

    def value(sums: Array) -> Array:
        figures = headline.value(sums.reshape(*sums.shape[:-1], len(parts), -1))
        if figures.ndim > sums.ndim:  # an average over classes
            figures = ratio(np.stack([np.nansum(figures, axis=-1), (~np.isnan(figures)).sum(axis=-1)], axis=-1))
        return np.asarray(np.std(figures, axis=-1, ddof=1))

    about = f"standard deviation of {headline.name} over the wordings of the prompt"
    deviation = Metric(SPREAD, terms, about, None, headline.range, value, headline.requires_option, has_interval=False)
    return *metrics, deviation, *parts


# --- how sure a model is ----------------------------------------------------------------------------------


def with_confidence(metrics: Sequence[Metric], facts: Collection[str]) -> tuple[Metric, ...]:
    """Add what a confidence says of answers that are right or wrong, and the share of those that come without one.

    Args:
        metrics: The metrics of the task.
        facts: The facts of its scorer, which say whether there is a right and a wrong.
    """
    return *metrics, *confidence_metrics(attempts_of(facts))
