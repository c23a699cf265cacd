"""A model that reads replies (option `reader`): what it is asked, and the metrics by its readings.

It is asked about replies whose label the rules infer or do not find, and only about these. Its readings change no other
figure: each stands beside the one by the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.judge import FAILED, LONGEST, JudgeSpec, fence
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.reading.verdicts import VerdictReader
from halu_tasks.scorers.score import Score

NO_LABEL = "no answer"
"""The reading of a reply that states none of the labels."""
UNSURE: tuple[Outcome, ...] = ("inferred", "unparsed")
"""The outcomes of reading that the reader is asked about."""


@cache
def reader_spec(about: str, labels: tuple[str, ...]) -> JudgeSpec:
    """Return what a reader is asked.

    Args:
        about: What the task asks, in a line.
        labels: The labels.
    """
    listed = ", ".join(f'"{label.lower()}"' for label in labels)
    return JudgeSpec(
        prompt="read_label",
        questions=lambda item, reply: [{"task": about, "labels": listed, "reply": fence(reply, LONGEST)}],
        read=VerdictReader({**{label: label.lower() for label in labels}, NO_LABEL: NO_LABEL}),
        unjudged="inferred",
    )


def was_read(scores: Iterable[Score]) -> bool:
    """Return whether a reader read a reply to a task that has no judge."""
    return any(score.verdicts for score in scores)


def with_reader(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Add the headline by the reader's labels, `<headline>_reader`, and what the reader did, as shares of all items.

    `read_by_reader` is the share that it was asked about, `changed_by_reader` the share whose answer it changed, and
    `reader_failed` the share that it gave no reading of, whose answer stays that of the rules.
    """
    headline = metrics[0]
    classes = headline.error.classes
    by_reader = replace(
        headline,
        name=f"{headline.name}_reader",
        terms=lambda columns: headline.terms(_read_again(columns)),
        error=replace(headline.error, classes=classes and (lambda columns: classes(_read_again(columns)))),
        about=f"{headline.name}, where a model read the replies whose answer the rules infer or do not find",
    )
    return (
        *metrics,
        by_reader,
        _share("read_by_reader", "a model read", lambda score: bool(score.verdicts)),
        _share("changed_by_reader", "a model read otherwise than the rules", _is_changed),
        _share("reader_failed", "the model gave no reading of", _has_failed),
    )


def _read_again(columns: Columns) -> Columns:
    return Columns.of([read_again(score) for score in columns["score"]], columns.cluster)


def _share(name: str, what: str, counts: Callable[[Score], bool]) -> Metric:
    about = f"share of replies that {what}"
    return Metric(name, lambda columns: np.array([*map(counts, columns["score"])], dtype=bool), about, None)


def _has_failed(score: Score) -> bool:
    return any(verdict.label == FAILED for verdict in score.verdicts)


def _is_changed(score: Score) -> bool:
    return read_again(score).answer != score.answer


def read_again(score: Score) -> Score:
    """Return a score with the reader's label in place of the rules', if the reader gave one."""
    if not score.verdicts or _has_failed(score):
        return score
    label = score.verdicts[0].label
    answer = None if label == NO_LABEL else label
    if answer == score.answer:
        return score
    right = {"correct": float(answer == score.target)} if "correct" in score.measurements else {}
    outcome: Outcome = "unparsed" if answer is None else "answered"
    return replace(score, answer=answer, outcome=outcome, measurements={**score.measurements, **right})
