"""What is said of many replies without content, or that contain no readable answer."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Run, write_rows
from made_runs import report_on, run_of

from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.warnings import HowAsked, reply_warnings
from halu_tasks.report.page import markdown, render
from halu_tasks.report.summary import summary
from halu_tasks.results.run import RunReply
from halu_tasks.scorers.answer import Outcome
from halu_tasks.tasks import build
from halu_tasks.tasks.task_registry import get_task

TASK = "refact_judgment_independent"


@pytest.mark.parametrize(("outcomes", "told"), CASES["shares_above_the_limits_are_told_with_counts"])
def test_shares_above_the_limits_are_told_with_counts(outcomes: dict[Outcome, int], told: list[str]) -> None:
    found = [f"{share} {meaning}" for share, meaning in reply_warnings(outcomes)]
    assert len(found) == len(told)
    assert all(line.startswith(start) and "\n" not in line for line, start in zip(found, told, strict=True))


@pytest.mark.parametrize(("unplaced", "told"), [(20, False), (21, True)])
def test_strings_that_occur_nowhere_are_told(unplaced: int, told: bool) -> None:
    found = [share for share, meaning in reply_warnings({"answered": 100}, unplaced=unplaced) if "nowhere" in meaning]
    assert found == ["21 of 100 replies (21.0%)"] * told


@pytest.mark.parametrize("task", ["refact_localization_entity", "halueval_general_localization", "mushroom_de"])
def test_score_warns_of_strings_that_occur_nowhere(task: str, here: Run, tmp_path: Path) -> None:
    rows = [{"id": item.id, "output": "- a tale of Zanzibar"} for item in build(task, Options(data="sample")).items]
    done = here("score", task, write_rows(tmp_path / "replies.jsonl", rows), "--data", "sample", "--json")
    assert f"halu-tasks: {task}: {len(rows)} of {len(rows)} replies (100.0%) return a string that occurs" in done.stderr
    assert json.loads(done.stdout)["metrics"]["unplaced"] == 1


FLAGS = ("--apply_chat_template", "--gen_kwargs", "--max-tokens", "--metadata", "-T structured", "--num_fewshot")
FLAGS += ("-T fewshot", "--structured", "--fewshot")


@pytest.mark.parametrize(("how", "stops", "advised"), CASES["what_helps_and_is_not_done_yet_is_advised"])
def test_what_helps_and_is_not_done_yet_is_advised(
    how: list[Any] | None, stops: dict[str, int], advised: list[str]
) -> None:
    """`stops` has how many of ten unparsed replies ended why."""
    ends: dict[tuple[Outcome, str], int] = {("unparsed", stop): number for stop, number in stops.items()}
    asked = how and HowAsked(*how)
    ((share, meaning),) = reply_warnings({"unparsed": 10}, asked or None, get_task(TASK), stops=ends)
    assert {flag for flag in FLAGS if re.search(rf"(?<!\S)\(?{flag}\b", meaning)} == set(advised)
    assert (f"{stops.get('max_tokens')} cut by the token limit" in share) == ("max_tokens" in stops)
    assert (f"{stops.get('stop')} ended by themselves" in share) == ("stop" in stops)


def test_one_answer_to_all_is_told_where_it_means_something(here: Run, tmp_path: Path) -> None:
    items = build(TASK, Options(data="sample")).items
    told = f'halu-tasks: {TASK}: 20 of 20 replies (100.0%) give the same answer, "True", and none gives another, '

    def score(replies: dict[str, str]) -> str:
        path = write_rows(tmp_path / "replies.jsonl", ({"id": id, "output": text} for id, text in replies.items()))
        return str(here("score", TASK, path, "--data", "sample", "--partial").stderr)

    same = {item.id: "Final Verdict: True" for item in items}
    first = dict([*same.items()][:20])
    assert told in score(first)
    # one other answer, few items, or none with another correct answer
    assert "the same answer" not in score(first | {items[3].id: "Final Verdict: False"})
    assert "the same answer" not in score(dict([*same.items()][:9]))
    assert "the same answer" not in score({item.id: same[item.id] for item in items if item.target == "True"})


def test_one_answer_to_all_is_in_the_summary_of_a_report(tmp_path: Path) -> None:
    run = run_of(TASK, model="constant")
    answers = [
        RunReply(item, "Final Verdict: True", run.benchmark_task.score("strict", item, Reply("Final Verdict: True")))
        for item in (own.item for own in run.answers)
    ]
    report = report_on([replace(run, answers=answers), run_of(TASK, model="other")], tmp_path)
    told = f"Every readable answer is the same, although the correct ones differ: constant on {TASK} (True)."
    page = re.sub("<[^>]*>", "", render(report))
    assert any(line.startswith(told) for line in summary(report)) and told in page
    assert f"and constant on {TASK} gave the same answer to every item" in summary(report)[0]
    ((_, _, warning),) = report.warnings
    assert warning.share == "64 of 64 replies (100.0%)" and "those of a constant answer" in markdown(report)
    # the baseline is constant by design
    assert report_on([replace(run, answers=answers, model="halu-baseline")], tmp_path).warnings == []


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
