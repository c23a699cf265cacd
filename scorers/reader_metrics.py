"""A model that reads replies: what it is asked, and the metrics that it adds to those of a task.

It is asked about replies whose label the rules infer or do not find, and only about these. Its readings change no other
figure: each stands beside the one by the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from halu_tasks.core.items import Item
from halu_tasks.core.prompting import prompt_for
from halu_tasks.scorers.answer import ANSWERED, INFERRED, UNPARSED, Outcome
from halu_tasks.scorers.columns import SCORE, Columns
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Question, excerpt, fence
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.reading.verdicts import VerdictReader
from halu_tasks.scorers.score import ScoredReply

STATES_NONE = "no answer"
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
        read=VerdictReader({**{label: label.lower() for label in labels}, STATES_NONE: STATES_NONE}),
        unjudged=INFERRED,
    )


def with_reader(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Add the headline by the reader's labels, `<headline>_reader`, and what the reader did, as shares of all items.

    `read_by_reader` is the share that it was asked about, `changed_by_reader` the share whose answer it changed, and
    `reader_failed` the share that it gave no reading of, which keep the answer of the rules.
    """
    headline = metrics[0]
    by_reader = replace(
        headline,
        name=f"{headline.name}_reader",
        terms=lambda columns: headline.terms(_read_again(columns)),
        classes=lambda columns: headline.classes(_read_again(columns)),
        inputs=(SCORE,),
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
    return Columns.of([read_again(score) for score in columns[SCORE]], columns.cluster)


def _share(name: str, what: str, counts: Callable[[ScoredReply], bool]) -> Metric:
    about = f"share of replies that {what}"
    return Metric(
        name,
        lambda columns: np.array([*map(counts, columns[SCORE])], dtype=bool),
        (SCORE,),
        "mean",
        about,
        higher_is_better=None,
    )


def _has_failed(score: ScoredReply) -> bool:
    return any(verdict.label == FAILED for verdict in score.verdicts)


def read_again(score: ScoredReply) -> ScoredReply:
    """Return a score with the reader's label in place of the rules', if the reader gave one."""
    if not score.verdicts or _has_failed(score):
        return score
    label = score.verdicts[0].label
    answer = None if label == STATES_NONE else label
    if answer == score.answer:
        return score
    right = {"correct": float(answer == score.target)} if "correct" in score.facts else {}
    outcome: Outcome = UNPARSED if answer is None else ANSWERED
    return replace(score, answer=answer, outcome=outcome, facts={**score.facts, **right})
