"""What is said of many replies without content, or that contain no readable answer."""

import json
from pathlib import Path

import pytest
from cases import CASES
from common import Run, write_rows

from halu_tasks.core.options import Options
from halu_tasks.replies.scoring import reply_warnings
from halu_tasks.scorers.answer import Outcome
from halu_tasks.tasks import build

TASK = "refact_judgment_independent"


@pytest.mark.parametrize(("outcomes", "told"), CASES["shares_above_the_limits_are_told_with_counts"])
def test_shares_above_the_limits_are_told_with_counts(outcomes: dict[Outcome, int], told: list[str]) -> None:
    found = [f"{share} {meaning}" for share, meaning in reply_warnings(outcomes)]
    assert len(found) == len(told)
    assert all(line.startswith(start) and "\n" not in line for line, start in zip(found, told, strict=True))


TEMPLATE, TOKENS, MAX = "--apply_chat_template", "--gen_kwargs", "--max-tokens"


@pytest.mark.parametrize(
    ("chat_template", "advised"),
    [(None, set()), (False, {TEMPLATE, TOKENS, MAX}), (True, {TOKENS, MAX})],
)
def test_what_was_done_or_is_not_possible_is_not_advised(chat_template: bool | None, advised: set[str]) -> None:
    ((_, meaning),) = reply_warnings({"unparsed": 1}, chat_template)
    assert {flag for flag in (TEMPLATE, TOKENS, MAX) if flag in meaning} == advised


@pytest.mark.parametrize("scoring", ["strict", "paper"])
def test_score_warns_on_standard_error(scoring: str, here: Run, tmp_path: Path) -> None:
    ids = [item.id for item in build(TASK, Options(data="sample")).items]
    path = tmp_path / "replies.jsonl"
    outputs = [" \n", *["hm"] * 9, *["Final Verdict: True"] * 10]
    write_rows(path, ({"id": ids[i], "output": text} for i, text in enumerate(outputs)))
    done = here("score", TASK, path, "--data", "sample", "--scoring", scoring, "--json")
    assert done.returncode == 3 and json.loads(done.stdout)["n"] == len(ids)
    # the other items have no reply at all, which is another matter
    assert f"halu-tasks: {TASK}: 1 of 64 replies (1.6%) are empty" in done.stderr
    assert f"halu-tasks: {TASK}: 9 of 64 replies (14.1%) contain no readable answer" in done.stderr
    assert "44 of 64 items have no prediction in" in done.stderr
    assert json.loads(done.stdout)["metrics"].get("empty", 45 / 64) == 45 / 64


def test_a_report_warns_once_for_each_model_and_only_of_the_folder_that_is_asked_for(here: Run, tmp_path: Path) -> None:
    for folder, model in (("old", "first"), ("new", "second")):
        (tmp_path / folder).mkdir()
        for task in (TASK, "cfaith_choice"):
            path = tmp_path / folder / f"{task}.jsonl"
            ids = [item.id for item in build(task, Options(data="sample")).items]
            write_rows(path, ({"id": name, "output": "hm"} for name in ids))
            done = here("score", task, path, "--data", "sample", "--model", model, "--json")
            path.with_suffix(".json").write_text(done.stdout)
    done = here("report", tmp_path, "-o", tmp_path / "report")
    first, second = (line for line in done.stderr.splitlines() if line.startswith("halu-tasks"))
    assert first.startswith("halu-tasks: first: ") and second.startswith("halu-tasks: second: ")
    assert f"{TASK}: 64 of 64 replies (100.0%)" in first and "cfaith_choice: 28 of 28 replies" in first
    # the page has a line for each result
    assert len(json.loads((tmp_path / "report" / "report.json").read_text())["warnings"]) == 4
