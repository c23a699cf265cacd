"""Rows of ReFACT's format: made of edits, and read back as its tasks read them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from halu_tasks.benchmarks.refact import (
    check_correctable,
    correction_cases,
    localization_cases,
    originals_of,
)
from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Row
from halu_tasks.builders.spans import Edit, edited, marked
from halu_tasks.items import Case, Item
from halu_tasks.options import Options
from halu_tasks.scorers.correction import score_replacements
from halu_tasks.scorers.localization import score_entities, score_sentence
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.tags import tagged_spans

NEG, SWAP = "neg", "swap"
MULTI, SINGLE = "refact_multi_error.jsonl", "refact_single_error.jsonl"

_Task = tuple[Callable[[list[Row], Options], Iterator[Case]], Callable[[Item, str], Score], tuple[str, ...]]
_TASKS: dict[str, tuple[_Task, ...]] = {
    NEG: ((partial(localization_cases, error_type=NEG), score_sentence, ("iou", "acc")),),
    SWAP: (
        (partial(localization_cases, error_type=SWAP), score_entities, ("iou", "acc")),
        (correction_cases, score_replacements, ("em",)),
    ),
}
"""The tasks whose answers are parts of the text, and the facts that are 1 where an answer is right."""


def row_of(document: Document, kind: str, edits: Sequence[Edit]) -> Row:
    """The document's answer after the edits, as a row."""
    changed, tagged = edited(document.text, edits, kind)
    return {
        # what two rows of one answer share ends at the first underscore, as in the published data
        "sample_id": f"{hashlib.sha256(document.id.encode()).hexdigest()}_{kind}",
        "question": document.fields["question"],
        "correct_answer": document.text,
        "error_type": kind,
        "confabulated_answer": changed,
        "error_spans": tagged,
    }


def misread(row: Row, originals: Sequence[str], replacements: Sequence[str]) -> str:
    """Why the tasks would not read of a row what was done, in a few words; empty where they do: its tags strip to the
    text and stand around the replacements, what stood there is told, and a right answer is found right."""
    try:
        check_correctable(row)
        text, spans = tagged_spans(row["error_spans"])
        told = originals_of(row) if row["error_type"] == SWAP else list(originals)
    except ValueError:
        return "refused by the reader"
    if [text[start:end] for start, end in spans] != list(replacements):
        return "spans elsewhere"
    if told != list(originals):
        return "originals cannot be told"
    for cases, score, facts in _TASKS[row["error_type"]]:
        for case in cases([row], Options()):
            item = Item(case.id, case.cluster, case.target, "", "", case.gold, case.tags, case.fields)
            scored = score(item, case.target).facts
            if any(scored[name] != 1 for name in facts):
                return "a right answer is not read as one"
    return ""


def singles(row: Row) -> list[Row]:
    """The single-error rows of a row that is read as it should be: itself where it has one span, else one a span, the
    others untagged (`…_split1` and on); none where one of these would be misread."""
    text, spans = tagged_spans(row["error_spans"])
    if len(spans) == 1:
        return [row]
    found = []
    for number, (span, original) in enumerate(zip(spans, originals_of(row), strict=True), 1):
        tagged = marked(text, [span], row["error_type"])
        single = {**row, "sample_id": f"{row['sample_id']}_split{number}", "error_spans": tagged}
        if misread(single, [original], [text[slice(*span)]]):
            return []
        found.append(single)
    return found
