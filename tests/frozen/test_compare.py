"""What the comparison with the frozen facts says of changes, meant or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compare
import pytest
import runs

RUN = "halluverse25_tr strict mixed"


@pytest.fixture
def differ(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    """`differ(key=value, …)` compares a version in which these facts of a run have other values; `intended` is the
    list of intended changes. Returns the exit status and what is printed."""
    facts = {RUN: compare.frozen()[RUN]}

    def run(changed: dict[str, Any], intended: list[dict[str, str]]) -> tuple[int, str]:
        (tmp_path / "intended.yaml").write_text(json.dumps(intended))
        monkeypatch.setattr(compare, "INTENDED", tmp_path / "intended.yaml")
        monkeypatch.setattr(compare, "frozen", lambda: facts)
        monkeypatch.setattr(compare, "facts_now", lambda folders, words: {RUN: facts[RUN] | changed})
        monkeypatch.setattr("sys.argv", ["compare.py"])
        status = compare.main()
        return status, capsys.readouterr().out

    return run


def test_the_present_version_gives_the_frozen_facts() -> None:
    now = runs.runs([])[RUN]()
    assert list(compare.differences(compare.frozen()[RUN], now)) == []
    assert {key.split()[0] for key in now} == {"n", "missing", "figure", "interval", "reading"}


def test_a_change_is_a_line_and_a_fault(differ: Callable[..., tuple[int, str]]) -> None:
    acc = compare.frozen()[RUN]["figure acc"]
    status, printed = differ({"figure acc": acc + 1e-12}, [])
    assert status == 1 and f"{RUN}: figure acc: {acc!r} -> {acc + 1e-12!r}" in printed


def test_intervals_may_round(differ: Callable[..., tuple[int, str]]) -> None:
    low, high = compare.frozen()[RUN]["interval acc"]
    assert differ({"interval acc": [low + 1e-10, high]}, [])[0] == 0
    assert differ({"interval acc": [low + 1e-8, high]}, [])[0] == 1


def test_a_change_that_is_meant_is_no_fault_until_it_is_gone(differ: Callable[..., tuple[int, str]]) -> None:
    entry = {"run": "halluverse25_*", "fact": "figure acc", "reason": "another definition"}
    status, printed = differ({"figure acc": 0.0}, [entry])
    assert status == 0 and "another definition" in printed
    status, printed = differ({}, [entry])
    assert status == 1 and "remove the entry" in printed


def test_a_text_that_changes_is_shown_where_it_parts() -> None:
    before = "Question: " + "x" * 200
    (change,) = compare.differences({"prompt 1": before}, {"prompt 1": before + "\nAnswer:"})
    assert change[0] == "prompt 1" and "at character 210" in change[1]
