"""Agreement with careful readers on labelled replies, where the labels are at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.benchmarks.refact_tags import tagged_spans
from halu_tasks.scorers.benchmarks.labels import claims_verdict
from halu_tasks.scorers.reading.questions import error_type, hallucinates, hallucinates_multilingual
from halu_tasks.scorers.reading.sections import Unit
from halu_tasks.scorers.reading.strings import quotations, replacements

DATA = Path(os.environ.get("HALU_TASKS_TEST_DATA") or Path(__file__).resolve().parents[2].parent / "shared" / "data")
LABELS = DATA / "answer_labels_2"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def quoted(row: dict[str, Any], unit: Unit) -> list[str]:
    gold = {other["sample_id"]: other for other in rows(DATA / "refact" / "refact_multi_error.jsonl")}
    return quotations(row["reply"], tagged_spans(gold[row["id"]]["error_spans"])[0], unit).value or []


def replaced(row: dict[str, Any]) -> list[str] | None:
    gold = {other["sample_id"]: other for other in rows(DATA / "refact" / "refact_multi_error.jsonl")}
    return replacements(row["reply"], len(tagged_spans(gold[row["id"]]["error_spans"])[1])).value


READERS: dict[str, Callable[[dict[str, Any]], str | list[str] | None]] = {
    "halluverse25_ar": lambda row: error_type(row["reply"]).value,
    "halluverse25_tr": lambda row: error_type(row["reply"]).value,
    "halluverse_m3_hi": lambda row: error_type(row["reply"]).value,
    "halluverse25_binary_ar": lambda row: hallucinates_multilingual(row["reply"]).value,
    "halluverse25_binary_tr": lambda row: hallucinates_multilingual(row["reply"]).value,
    "halueval_general": lambda row: hallucinates(row["reply"]).value,
    "halueval_summarization_claims": lambda row: claims_verdict(row["reply"]).value,
    "refact_localization_entity": lambda row: quoted(row, "entity"),
    "refact_localization_negation": lambda row: quoted(row, "sentence"),
    "refact_correction": lambda row: replaced(row) or [],
}


@pytest.mark.parametrize("task", READERS)
def test_replies_are_read_as_careful_readers_read_them(task: str) -> None:
    path = LABELS / f"{task}.jsonl"
    if not path.is_file():
        pytest.skip("test data is not here")
    sure = [row for row in rows(path) if row["sure"]]
    listed = task.startswith("refact_")
    wanted = [([] if listed else None) if row["label"] == "none" else row["label"] for row in sure]
    misread = [(row["reply"], label) for row, label in zip(sure, wanted, strict=True) if READERS[task](row) != label]
    assert len(misread) <= 0.03 * len(sure), misread
