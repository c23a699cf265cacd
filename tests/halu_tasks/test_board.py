"""Runs beside each other: which are one entry, which are compared, and which stand apart and why."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from made_runs import CORRECTION, GROUPS, HALUEVAL, as_json, assembled, labels, report_on, run_of, titles

from halu_tasks.core.options import Options
from halu_tasks.report.board import board
from halu_tasks.report.page import markdown, render
from halu_tasks.report.summary import best_floor, summary
from halu_tasks.report.write import compare
from halu_tasks.results.run import Run
from halu_tasks.tasks import build
from halu_tasks.tasks.task_registry import HEADLINE
from halu_tasks.text.number_format import escaped

# --- entries ----------------------------------------------------------------------------------------


def test_entries_of_one_model_are_told_apart_by_what_differs() -> None:
    runs = [
        run_of(),
        run_of(settings={"temperature": 0.7}),
        run_of(settings={"temperature": 0.7, "top_p": 0.5}),
        run_of(method="factored_verification:how=reasoned", roles={"helper": "h"}),
        run_of(model="other"),
    ]
    found = board(runs)
    assert [entry.label for entry in found.entries] == [
        "m (factored_verification:how=reasoned, helper=h)",
        "m",
        "m (temperature=0.7)",
        "m (temperature=0.7, top_p=0.5)",
        "other",
    ]
    # another harness or version of it is no other entry, and so stands in the place of the first
    assert len(board([*runs, run_of(harness="Inspect 0.4", wrong=1)]).superseded) == 1
    assert len(board([*runs, run_of(harness="lm-eval 0.4.13", wrong=1)]).superseded) == 1


def test_a_model_with_another_token_limit_on_some_tasks_is_one_row_with_a_mark(tmp_path: Path) -> None:
    plain, longer = run_of(), run_of(HALUEVAL, settings={"max_tokens": 4096, "top_p": 0.5})
    runs = [replace(plain, settings={"top_p": 0.5}), longer, run_of(model="n"), run_of(HALUEVAL, model="n", wrong=3)]
    report = report_on(runs, tmp_path)
    assert labels(report) == ["m", "n"] and len(report.pairs) == 2
    limits = {(entry.label, one.task): one.limit_of(entry) for one in report.columns for entry in one.entries}
    assert limits == {(label, task): "" for label in "mn" for task in (CORRECTION, HALUEVAL)} | {
        ("m", HALUEVAL): "max_tokens 4096"
    }
    told = f"m has another token limit on {HALUEVAL} than on its other tasks (max_tokens 4096)."
    page = re.sub("<[^>]*>", "", render(report))
    assert told in summary(report) and told in page and "<br>max_tokens 4096" in markdown(report).replace("\\", "")
    # in the picture and in the table
    assert page.count("max_tokens 4096 ") + page.count("max_tokens 4096\n") >= 2
    # models with different limits on a task are compared, and a reader is told
    assert any("max_tokens is 4096 for m and the task’s own for n" in note for note in report.notes)
    # two limits on one task are two rows, which are compared
    again = report_on([*runs, replace(longer, settings={"top_p": 0.5}, id="own")], tmp_path)
    assert len(again.entries) == 3 and not any(one.limit_of(entry) for one in again.columns for entry in one.entries)
    # on all tasks the same limit is a setting like another
    both = [replace(run, settings=longer.settings) for run in runs[:2]]
    report = report_on(both, tmp_path)
    assert [entry.settings["max_tokens"] for entry in report.entries] == ["4096"]
    assert not any(one.limit_of(entry) for one in report.columns for entry in one.entries)


def test_runs_are_told_apart_by_what_differs() -> None:
    def compared(*runs: Run) -> list[str]:
        return labels(compare({"a": runs}))

    runs = [run_of(settings={"temperature": heat, "top_p": "1"}) for heat in ("0", "0.7")]
    assert compared(*runs) == ["m (temperature=0)", "m (temperature=0.7)"]
    other = replace(runs[0], harness="lm-eval 0.4", id="other")
    assert compared(runs[0], other) == ["m (harness=Inspect)", "m (harness=lm-eval)"]
    # whatever the models were asked, and whichever they are
    assert compared(run_of(), run_of(fewshot=1, model="n")) == ["m (fewshot=0)", "n (fewshot=1)"]
    # the same model on two days
    later = {day: [run_of(id=day, wrong=wrong)] for day, wrong in (("one", 0), ("two", 8))}
    (pair,) = (report := compare(later)).pairs
    assert labels(report) == ["m (results=one)", "m (results=two)"] and pair.difference.value == 0.5


def test_one_model_in_two_harnesses_is_one_entry(tmp_path: Path) -> None:
    hosted, lm_eval = "openai-api/local/m", {"harness": "lm-eval 0.4.13", "settings": {"chat_template": "ab"}}
    runs = [run_of(wrong=3, model=hosted), run_of(model="m", **lm_eval), run_of(model="n")]
    report = report_on(runs, tmp_path)
    assert labels(report) == ["n", "m"] and len(report.pairs) == 1
    note = ", in which 3 items have other answers or scores"
    text = markdown(report)
    assert escaped(note) in text and note in re.sub("<[^>]*>", "", render(report))
    assert "from results of Inspect 0.3, lm-eval 0.4.13\n" in text and "2026-01-01T00:00:00+00:00" in text
    # only reruns in one harness are a choice of results
    assert not any(result.reruns for result in report.results) and len(report.superseded) == 1
    # what is equal is not left out: it is the same result in both
    alike = [run_of(model=hosted), *runs[1:]]
    report = report_on(alike, tmp_path)
    assert not report.superseded and "left out" not in render(report) and "replaced" not in markdown(report).lower()
    assert [one.harness for result in report.results for one in result.equal] == ["Inspect 0.3"]
    assert "from results of Inspect 0.3, lm-eval 0.4.13\n" in markdown(report)
    assert "the same answers and scores in Inspect 0.3: a.eval" in re.sub("<[^>]*>", "", render(report))
    # in one harness, or if another name fits as well, they may be two models
    for other in (run_of(model="m"), run_of(model="together/m"), run_of(model="m", **lm_eval | {"settings": {}})):
        assert len(report_on([*alike, other], tmp_path).entries) == 4
    compared = compare({"a": [run_of(model="m"), run_of(model="m", harness="lm-eval 0.4.13")]})
    assert labels(compared) == ["m (harness=Inspect)", "m (harness=lm-eval)"]


def test_of_many_runs_that_were_asked_alike_the_last_stands(tmp_path: Path) -> None:
    runs = [run_of(wrong=4 - day, source=f"{day}.eval", id=str(day), created=f"2026-01-0{day}") for day in (1, 2, 3, 4)]
    told = assembled(runs, tmp_path)
    ((cell,), gone) = told["results"], told["superseded"]
    assert cell["source"] == "4.eval" and [own["source"] for own in gone] == ["1.eval", "2.eval", "3.eval"]
    assert {(own["entry"], own["column"]) for own in gone} == {(cell["entry"], cell["column"])}
    assert all("replaced by the later run of 2026-01-04 (4.eval)" in own["why"] for own in gone)
    report = report_on(runs, tmp_path)
    assert "latest of 4 runs" in render(report) and "<br>latest of 4 runs" in markdown(report)
    answer, told = (sentence for sentence in summary(report) if "several runs" in sentence)
    assert answer == summary(report)[0]
    assert told.startswith("1 of 1 results are the latest of several runs. Choosing the best of several runs makes")


def test_runs_with_the_same_answers_are_one_result_and_no_choice(tmp_path: Path) -> None:
    runs = [run_of(source=f"{day}.eval", id=str(day), created=f"2026-01-0{day}") for day in (1, 2)]
    # a trial on a few items, of which the answers are the same in the whole run
    report = report_on([run_of(limit=4, id="trial", source="trial.eval"), *runs], tmp_path)
    (result,) = report.results
    assert result.source == "2.eval" and [one.source for one in result.equal] == ["trial.eval", "1.eval"]
    assert not report.superseded and "latest of" not in markdown(report)
    assert not any("several runs" in sentence for sentence in summary(report))


# --- columns ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("other", "told"), CASES["what_does_not_compare_stands_apart_and_says_why"])
def test_what_does_not_compare_stands_apart_and_says_why(other: dict[str, Any], told: str) -> None:
    # two plain ones, so that these are the main column
    runs = [run_of(), run_of(model="n"), run_of(model="o", **other)]
    found = board(runs)
    assert [(column.task, len(column.runs)) for column in found.columns] == [(CORRECTION, 2), (CORRECTION, 1)]
    assert found.columns[0].why == "" and found.columns[1].why.startswith(told)
    assert [column.why for column in found.columns if column.main] == [""]


def test_runs_with_different_limits_are_compared_on_the_items_that_they_share(tmp_path: Path) -> None:
    first, second = run_of(limit=10, model="few"), run_of(limit=14, wrong=10, model="many")
    report = report_on([first, second, run_of(model="all", wrong=3)], tmp_path)
    (column,) = report.columns
    assert {entry.label: own.n for entry, own in column.results.items()} == {"few": 10, "many": 14, "all": 16}
    # what is compared is as if both had been asked only these items
    pairs = {(own.first.label, own.second.label): own.difference for own in report.pairs}
    assert {names: own.items for names, own in pairs.items()} == {
        ("all", "few"): 10,
        ("all", "many"): 14,
        ("few", "many"): 10,
    }
    (alone,) = report_on([first, run_of(limit=10, wrong=10, model="many")], tmp_path).pairs
    assert pairs["few", "many"] == alone.difference and alone.better.id == "e1"
    ranks = {entry.label: rank for entry, rank in column.ranks.items()}
    assert ranks == {"few": (1, 2), "all": (1, 2), "many": (3, 3)}
    told = "figures are of 16 items for all, 14 items for many and 10 items for few; two entries are compared on the"
    text, page = markdown(report), re.sub("<[^>]*>", "", render(report))
    assert told in text and told in page and column.notes == [f"{told} items that both answered"]
    assert "n 10 of 16" in text and "10 of these items" in page
    assert any(f"{CORRECTION} (10 to 16 of 16)" in sentence for sentence in summary(report))
    (pair,) = compare({"a": [first], "b": [second]}).pairs
    assert pair.difference.items == 10


def test_a_mean_is_compared_on_the_items_that_are_shared_in_each_task(tmp_path: Path) -> None:
    members = GROUPS["refact"].members
    few = [run_of(task, limit=8, model="few") for task in members]
    runs = [*few, *(run_of(task, wrong=2, model="all") for task in members)]
    (pair,) = (own for own in report_on(runs, tmp_path).pairs if own.place.id == "g1")
    again = [*few, *(run_of(task, limit=8, wrong=2, model="all") for task in members)]
    (alone,) = (own for own in report_on(again, tmp_path).pairs if own.place.id == "g1")
    assert pair.difference == alone.difference and pair.difference.items == 5 * 8


def test_a_short_run_of_a_model_does_not_take_the_place_of_a_whole_one(tmp_path: Path) -> None:
    runs = [run_of(source="whole.eval"), run_of(limit=4, wrong=1, source="trial.eval", created="2026-02-01")]
    report = report_on(runs, tmp_path)
    assert [own.source for own in report.results] == ["whole.eval"]
    ((_, _, gone),) = report.superseded
    assert gone.source == "trial.eval" and not gone.rerun
    assert "replaced by the run on 16 items of 2026-01-01" in gone.why and "in which 1 items" in gone.why


def test_other_prompts_stand_apart_without_a_rank_and_say_why(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.yaml"
    prompts.write_text(f"{CORRECTION}: {{user: 'mine {{question}} {{answer}}'}}")
    report = report_on([run_of(), run_of(model="n"), run_of(prompts=(str(prompts),))], tmp_path)
    told = as_json(report)
    column, apart = told["columns"]
    (hash,) = (mark.removeprefix("prompts_") for mark in apart["marks"] if mark.startswith("prompts_"))
    assert column["main"] and apart["why"] == f"has the prompts {hash}, not {column['prompt_hash']}"
    assert {own["column"] for own in told["pairs"]} == {column["id"]}
    assert all(own["rank"] is None for own in told["results"] if own["column"] == apart["id"])
    assert apart["why"] in markdown(report).partition("## Shown apart")[2]


def test_results_with_a_judge_go_before_more_of_them_without(tmp_path: Path) -> None:
    judge = {"judge": "openai/j"}
    told = assembled([run_of("cfaith_gen"), run_of("cfaith_gen", model="n"), run_of("cfaith_gen", **judge)], tmp_path)
    judged, plain = told["columns"]
    assert judged["main"] and plain["why"] == "is judged by no model, not openai/j"
    assert "judge_failed" in judged["directions"] and "judge_failed" not in plain["directions"]
    cells = {(own["column"], own["judge"]): own for own in told["results"]}
    assert cells[judged["id"], "openai/j"]["judge_failed"] == 0
    # what has no figure has no rank
    assert all(own["rank"] is None and own["judge_failed"] is None for own in told["results"] if not own["judge"])


def test_columns_that_more_entries_share_come_first(tmp_path: Path) -> None:
    # the task of the old entry is the first of the three
    old = [run_of("factchd", model="old"), run_of(HALUEVAL, scoring="paper", model="old")]
    shared = [run_of(task, model=model) for task in (HALUEVAL, CORRECTION) for model in ("a", "b")]
    again = [run_of(CORRECTION, scoring="paper", model=model) for model in ("a", "b")]
    found = board([*old, *shared, *again])
    assert [(column.task, column.scoring, len(column.runs)) for column in found.columns] == [
        *((HALUEVAL, "strict", 2), (CORRECTION, "strict", 2), ("factchd", "strict", 1)),
        *((CORRECTION, "paper", 2), (HALUEVAL, "paper", 1)),
    ]
    report = report_on([*old, *shared], tmp_path)
    rows = re.findall(r'<tr class="entry">.*?<span class="label">(.*?)</span>', render(report), re.DOTALL)
    assert [re.sub(r"<[^>]*>", "", row) for row in rows[:3]] == ["a", "b", "old"]


def test_published_systems_scored_replies_and_embedded_models_are_rows_of_one_table(tmp_path: Path) -> None:
    asked = replace(build("mushroom_en", Options(data="sample")).provenance, data="pinned")
    made = {"harness": "halu-tasks score 0.1.0", "provenance": asked.without_prompt()}
    runs = [
        run_of("mushroom_en", model="halu-oracle", provenance=asked),
        run_of("mushroom_en", model="detector", wrong=2, **made),
    ]
    report = report_on(runs, tmp_path)
    assert [column.notes for column in report.columns] == [
        ["halu-oracle had other prompts than the rest, but read none"]
    ]
    table = markdown(report, published=True).partition("## Leaderboard")[2].partition("\nModels are sorted")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]
    heads = [head.removeprefix("| ") for head, _ in rows]
    # one's own above those of others, each by their figures
    assert heads[:2] == ["halu-oracle<br>embedded model", "detector<br>scored replies"]
    assert heads[2] == "*iai_MSU*<br>published (submission), no items: not tested"
    assert rows[2][1].startswith("*0.651*<br>Mu-SHROOM, iou")
    figures = [float(cell.strip("* ")[:5]) for _, cell in rows]
    assert figures[:2] == sorted(figures[:2], reverse=True) and figures[2:] == sorted(figures[2:], reverse=True)
    assert figures[1] < figures[2]
    assert "published" not in markdown(report)
    page = render(report, published=True)
    assert 'id="show-published" checked>' in page and 'id="show-published">' in render(report)
    assert page.count('<tr class="published">') == len(heads) - 2
    # a model with the same prompts is a better neighbour
    beside = board([*runs, run_of("mushroom_en", model="model", wrong=1, provenance=asked)])
    assert titles(beside)[0] == ("mushroom_en", "", 2) and len(beside.columns) == 2


def test_means_of_groups_are_of_results_that_were_asked_alike() -> None:
    members = GROUPS["refact"].members
    whole = [run_of(task, wrong=2) for task in members]
    means = {(mean.group, mean.metric): mean.figures for mean in board(whole).means}
    for group in GROUPS.values():
        assert group.means[0] == HEADLINE or all(group.means[0] in (task.headline, "acc") for task in group.tasks)
    (entry,) = means["refact", HEADLINE]
    values = [1 - 2 / len(run.scores) for run in whole]
    assert means["refact", HEADLINE][entry].figure.value == pytest.approx(sum(values) / 5)
    for other in ({"scoring": "paper"}, {"cot": True}, {"fewshot": 1}):
        mixed = [run_of(members[0], **other), *whole[1:]]
        assert {mean.group for mean in board(mixed).means} == {"refact_localization"}
    # published scores apart have a mean of their own
    paper = [run_of(task, scoring="paper") for task in members]
    (own,) = (mean for mean in board([*whole, *paper]).means if mean.group == "refact" and not mean.main)
    assert own.scoring == "paper" and own.figures[entry].figure.value > means["refact", HEADLINE][entry].figure.value
    # of an entry that lacks a member there is none
    two = [*whole, *(replace(run, model="n") for run in whole[1:])]
    assert [list(mean.figures) for mean in board(two).means if mean.group == "refact"] == [[entry]]


def test_a_floor_of_labels_is_the_best_of_one_label_for_all(tmp_path: Path) -> None:
    name = "halueval_general"
    run = run_of(name)
    by_label = {label: [row for row in run.answers if row.item.target == label] for label in ("Yes", "No")}
    # the task's baseline says Yes to everything
    run = replace(run, answers=[*by_label["Yes"][:2], *by_label["No"][:8]])
    column = report_on([run], tmp_path).columns[0]
    floors = {floor.name: floor.value for floor in column.floors if floor.headline}
    assert floors == {"baseline": 0.2, "best constant": 0.8} and best_floor(column) == 0.8
