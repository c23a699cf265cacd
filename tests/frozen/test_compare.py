"""What the comparison with the frozen facts says of changes, meant or not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compare
import make
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


def test_a_run_that_fails_is_a_line(differ: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compare._RUNS, RUN, lambda: runs.call("score", "no_such_task", "replies.jsonl"))
    name, facts = compare._facts(RUN)
    status, printed = differ(facts, [])
    assert name == RUN and status == 1
    (line,) = (line for line in printed.splitlines() if line.startswith(f"{RUN}: "))
    assert "no_such_task" in line


def test_runs_without_their_data_stay_frozen_and_runs_that_are_gone_do_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    released, gone = "released model refact_correction strict", "gone_task strict mixed"
    monkeypatch.setattr(compare, "FACTS", tmp_path / "facts.jsonl.xz")
    monkeypatch.setattr(compare, "INTENDED", tmp_path / "intended.yaml")
    make.write_rows(compare.FACTS, [{"run": name, "facts": {"n": 1}} for name in (released, gone)])
    compare.INTENDED.write_text(json.dumps([{"run": "released *", "fact": "n", "reason": "another count"}]))
    now: dict[str, dict[str, Any]] = {RUN: {"n": 1}}
    monkeypatch.setattr(compare, "facts_now", lambda folders, words=None: now)

    monkeypatch.setattr("sys.argv", ["compare.py"])
    compare.main()
    printed = capsys.readouterr().out
    assert "not compared" in printed and released in printed and "remove the entry" not in printed

    monkeypatch.setattr("sys.argv", ["make.py"])
    assert make.main() == 0 and sorted(compare.frozen()) == [RUN, released]

    now[RUN] = {compare.FAILURE: "RuntimeError: no"}
    assert make.main() == 1 and compare.frozen()[RUN] == {"n": 1}
