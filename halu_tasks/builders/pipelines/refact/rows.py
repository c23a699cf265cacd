"""Rows in ReFACT's format: made from edits, and checked by reading them as ReFACT's tasks do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from halu_tasks.benchmarks.refact import (
    check_correctable,
    correction_cases,
    localization_cases,
    originals_of,
)
from halu_tasks.benchmarks.refact_tags import tagged_spans
from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Row
from halu_tasks.builders.pipelines.refact.edits import Edit, edited, marked
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.scorers.benchmarks.correction import score_replacements
from halu_tasks.scorers.benchmarks.localization import score_entities, score_sentence
from halu_tasks.scorers.score import Score

NEG, SWAP = "neg", "swap"
MULTI, SINGLE = "refact_multi_error.jsonl", "refact_single_error.jsonl"

_Task = tuple[Callable[[list[Row], Options], Iterator[Item]], Callable[[Item, str], Score], tuple[str, ...]]
_TASKS: dict[str, tuple[_Task, ...]] = {
    NEG: ((partial(localization_cases, error_type=NEG), score_sentence, ("iou", "acc")),),
    SWAP: (
        (partial(localization_cases, error_type=SWAP), score_entities, ("iou", "acc")),
        (correction_cases, score_replacements, ("em",)),
    ),
}
"""The tasks whose answers are parts of the text, and the scores that must be 1 for a right answer."""


def row_of(document: Document, kind: str, edits: Sequence[Edit]) -> Row:
    """Return the row for a document's answer after the edits."""
    changed, tagged = edited(document.text, edits, kind)
    return {
        # rows of one answer share the id up to the first underscore, as in the published data
        "sample_id": f"{stable_hash(document.id)}_{kind}",
        "question": document.fields["question"],
        "correct_answer": document.text,
        "error_type": kind,
        "confabulated_answer": changed,
        "error_spans": tagged,
    }


def misread(row: Row, originals: Sequence[str], replacements: Sequence[str]) -> str:
    """Return a short reason why ReFACT's tasks would misread a row; empty if they read it correctly.

    They do if its tags can be stripped and enclose the replacements, the original strings can be recovered, and the
    right answer is scored as right.

    Args:
        row: The row.
        originals: The strings that were replaced.
        replacements: The strings that replaced them.
    """
    try:
        check_correctable(row)
        text, spans = tagged_spans(row["error_spans"])
        recovered = originals_of(row) if row["error_type"] == SWAP else list(originals)
    except ValueError:
        return "rejected by the reader"
    if [text[start:end] for start, end in spans] != list(replacements):
        return "tags do not match the edits"
    if recovered != list(originals):
        return "originals cannot be recovered"
    for cases, score, facts in _TASKS[row["error_type"]]:
        for item in cases([row], Options()):
            scored = score(item, item.target).measurements
            if any(scored[name] != 1 for name in facts):
                return "a right answer is scored as wrong"
    return ""


def singles(row: Row) -> list[Row]:
    """Return the single-error rows of a row that the tasks read correctly.

    This is the row itself if it has one span; otherwise one row per span with the other spans untagged
    (`…_split1`, `…_split2`, …). Empty if the tasks would misread one of them.
    """
    text, spans = tagged_spans(row["error_spans"])
    if len(spans) == 1:
        return [row]
    rows = []
    for number, (span, original) in enumerate(zip(spans, originals_of(row), strict=True), 1):
        tagged = marked(text, [span], row["error_type"])
        single = {**row, "sample_id": f"{row['sample_id']}_split{number}", "error_spans": tagged}
        if misread(single, [original], [text[slice(*span)]]):
            return []
        rows.append(single)
    return rows
