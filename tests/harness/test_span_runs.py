"""Tasks with spans, categories and annotators in both harnesses, and the human ceiling in a report of their logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judges import figures
from programs import LM_EVAL_OF_FEW
from programs import run as program

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "own_task"


@pytest.fixture(scope="module", params=[("spans.yaml", "wrong_spans"), ("annotators.yaml", "unsupported_spans")])
def folder(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where a task was run with right replies in both harnesses, without its file now, and the task's name."""
    (file, task), folder = request.param, tmp_path_factory.mktemp("spans")
    copied = [folder / path.name for path in EXAMPLES.glob(f"{Path(file).stem}.*")]
    for path in copied:
        path.write_bytes((EXAMPLES / path.name).read_bytes())
    of_lm_eval = ("--model", "halu-oracle", "--output_path", "results", "--log_samples", "--tasks", file)
    of_inspect = ("inspect_ai", "eval", "halu_tasks/task", "-T", f"config={file}", "--log-dir", "logs")
    for words, code in ((of_lm_eval, LM_EVAL_OF_FEW), ((*of_inspect, "--model", "halu/oracle"), "")):
        done = program(*words, folder=folder, code=code)
        assert done.returncode == 0, done.stderr
    for path in copied:
        path.unlink()
    return folder, task


@pytest.mark.slow
def test_both_harnesses_give_the_oracle_every_metric(folder: tuple[Path, str]) -> None:
    from inspect_ai.log import read_eval_log

    found = json.loads(next((folder[0] / "results").rglob("results_*.json")).read_text())["results"][folder[1]]
    of_inspect = figures(read_eval_log(str(next((folder[0] / "logs").glob("*.eval")))))
    names = {name for name in of_inspect if name in ("iou", "char_f1", "balanced_acc", "recall_number", "category_acc")}
    assert {found[f"{name},none"] for name in names} == {of_inspect[name] for name in names} == {1.0}
    assert len(names) == (5 if folder[1] == "wrong_spans" else 3)


@pytest.mark.slow
def test_the_report_has_the_human_ceiling_from_the_logs_alone(folder: tuple[Path, str]) -> None:
    done = program("halu_tasks", "report", "results", "logs", "-o", "report", folder=folder[0])
    assert done.returncode == 0, done.stderr
    (column,) = json.loads((folder[0] / "report" / "report.json").read_text())["columns"]
    page, text = ((folder[0] / "report" / name).read_text() for name in ("index.html", "report.md"))
    ceiling = column["human_ceiling"]
    assert ("human ceiling" in text) == ("each annotator against the others" in page) == (ceiling is not None)
    if folder[1] == "unsupported_spans":
        assert (ceiling["annotators"], ceiling["items"], ceiling["pool"]) == (3, 12, "majority")
        assert 0 < ceiling["estimates"]["iou"]["value"] < 1 and ceiling["alpha"]["low"] is not None
