"""`halu-tasks agree`: raters, their labels in one order, what is missing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import write_rows

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

COMPARATIVE, TRUTH = "refact_judgment_comparative", "refact_judgment_independent"
Agree = Callable[..., dict[str, Any]]


def written(path: Path, replies: dict[str, dict[str, str]]) -> Path:
    return write_rows(path, ({"id": id, **row} for id, row in replies.items()))


def oracle(task: str) -> dict[str, dict[str, str]]:
    evaluation = build(task, Options(data="sample"))
    return {item.id: {"output": evaluation.task.prompts.oracle(item)} for item in evaluation.items}


@pytest.fixture
def agree(capsys: pytest.CaptureFixture[str]) -> Agree:
    def call(task: str, *arguments: str | Path, status: int = 0) -> dict[str, Any]:
        assert main(["score", task, *map(str, arguments), "--data", "sample", "--agreement", "--json"]) == status
        return dict(json.loads(capsys.readouterr().out))

    return call


def test_agreement_with_gold_is_accuracy(agree: Agree, tmp_path: Path) -> None:
    half = {id: {"output": "True"} for id in oracle(TRUTH)}
    found = agree(TRUTH, written(tmp_path / "always.jsonl", half), "--gold")
    assert found["n"] == 64 and found["unparsed"] == {"always": 0, "gold": 0}
    assert found["metrics"]["agreement (always, gold)"] == 0.5
    assert found["metrics"]["cohen_kappa (always, gold)"] == 0
    # a rater who gives one label to all says nothing of the error
    assert "cohen_kappa (always, gold)" not in found["intervals"]


def test_labels_of_another_order_are_read_in_the_items_own(agree: Agree, tmp_path: Path) -> None:
    right = oracle(COMPARATIVE)
    other_letter = {"A": "B", "B": "A"}
    swapped = {
        id: {"output": (letter := other_letter[row["output"][0]]), "target": letter} for id, row in right.items()
    }
    one, other = written(tmp_path / "a" / "x.jsonl", right), written(tmp_path / "b" / "x.jsonl", swapped)
    found = agree(COMPARATIVE, one, other, "--gold")
    assert found["metrics"]["cohen_kappa (a, b)"] == 1


def test_missing_replies_are_counted_and_agree_with_nothing(agree: Agree, tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.jsonl", oracle(TRUTH))
    few = written(tmp_path / "few.jsonl", dict(list(oracle(TRUTH).items())[:16]))
    found = agree(TRUTH, whole, few, status=3)
    assert (found["n"], found["unparsed"]["few"]) == (64, 48)
    assert found["metrics"]["pairwise_agreement"] == 1
    assert (found["items"]["pairwise_agreement"], found["items"]["agreement (whole, few)"]) == (16, 16)
    found = agree(TRUTH, whole, few, "--partial")
    assert (found["n"], found["unparsed"]["few"], found["metrics"]["pairwise_agreement"]) == (16, 0, 1)
