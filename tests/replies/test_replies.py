"""Every reply of these files is read as its label says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from readers import FOLDER, PAPER, STRICT, read, rows

NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
REQUIRED = {"reply": str, "label": str | list, "language": str, "source": str}
OPTIONAL = {"reason": str, "masks": int, "passage": str, "mode": str}
LANGUAGES = {"ar", "de", "en", "es", "fr", "hi", "it", "pt", "ru", "tr", "und", "zh"}
SOURCES = ("real", "rule", "written: ")


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_well_formed(name: str) -> None:
    assert name in STRICT
    seen: dict[str, int] = {}
    for number, row in enumerate(rows(name), 1):
        place = f"{name}.jsonl:{number}"
        types = REQUIRED | {key: OPTIONAL[key] for key in row.keys() & OPTIONAL.keys()}
        assert row.keys() == types.keys(), place
        assert all(isinstance(row[key], kind) for key, kind in types.items()), place
        assert row["language"] in LANGUAGES and row["source"].startswith(SOURCES), place
        assert row.get("mode") in (None, "paper") and ("mode" not in row or name in PAPER), place
        inputs = json.dumps([row.get(key) for key in ("reply", "masks", "passage", "mode")])
        assert seen.setdefault(inputs, number) == number, f"{place} repeats line {seen[inputs]}"


@pytest.mark.parametrize(
    ("name", "row"),
    [
        pytest.param(name, row, id=f"{name}.jsonl:{number}")
        for name in NAMES
        for number, row in enumerate(rows(name), 1)
    ],
)
def test_reply(name: str, row: dict[str, Any]) -> None:
    answer = read(name, row)
    label = answer.outcome if answer.value is None else answer.value
    if row["label"] == "no label":
        assert answer.value is None and answer.reason, f"{row['reply']!r} says nothing and is read as {label!r}"
    else:
        assert label == row["label"], f"{row['reply']!r} says {row['label']!r} and is read as {label!r}"
    if "reason" in row:
        assert answer.reason == row["reason"], f"{row['reply']!r} has no label for {answer.reason!r}"
