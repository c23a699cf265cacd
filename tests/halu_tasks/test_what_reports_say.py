"""Reports on runs: ranks, differences, counts, notes and the sentences of the summary."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from made_runs import CORRECTION, GROUPS, HALUEVAL, as_json, report_on, run_of

from halu_tasks.core.items import Reply
from halu_tasks.report.page import markdown, render
from halu_tasks.report.summary import rule, summary
from halu_tasks.report.write import compare
from halu_tasks.results.run import RunReply
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.judge import CONSISTENT, FAILED, Verdict
from halu_tasks.text.number_format import escaped
from halu_tasks.text.sentences import sentences


def test_a_report_says_in_which_analyses_its_differences_were_tested(tmp_path: Path) -> None:
    main = [run_of(HALUEVAL, wrong=wrong, model=model) for wrong, model in ((0, "a"), (2, "b"), (4, "c"))]
    apart = [run_of(HALUEVAL, scoring="paper", model=model) for model in ("a", "b")]
    one = (
        "one analysis of the 3 differences between models on main tasks and group means. The probability of any false "
    )
    two = "two analyses, of the 3 differences between models on main tasks and group means and of the difference"
    for runs, told in ((main, f"{one}claim in it is about 5% at most"), ([*main, *apart], two)):
        told_rule = rule(report_on(runs, tmp_path))
        assert told_rule.startswith("“Better”, “open” and ranks come from ") and told in told_rule


def test_judge_failures_are_counted_though_no_sentence_was_judged_and_though_the_judge_has_a_role(
    tmp_path: Path,
) -> None:
    run = run_of("fave", wrong=24, judge="openai/j")
    run = replace(run, provenance=replace(run.provenance, options={"judge": None}))
    (cell,) = report_on([run], tmp_path).results
    assert cell.counts.all == {"unparsed": 0, "abstained": 0, "empty": 24, "failed": 0, "judge_failed": 0}
    assert cell.counts.judge_failed == 0
    assert "judge_failed" not in cell.metrics and cell.n == 24
    judged = {"asked": 8.0, "failed": 2.0}
    verdicts = [Verdict(label) for label in (*2 * [FAILED], *6 * [CONSISTENT])]
    scores = [replace(own.score, facts={**own.score.facts, **judged}, verdicts=verdicts) for own in run.answers]
    answers = [own._replace(score=score) for own, score in zip(run.answers, scores, strict=True)]
    (cell,) = report_on([replace(run, answers=answers)], tmp_path).results
    # sentences, of which there are eight in a summary
    assert cell.counts.judge_failed == 2 * 24 and cell.metrics["judge_failed"].value == 0.25


def test_replies_that_decline_are_empty_or_say_that_nothing_is_wrong_are_told_apart(tmp_path: Path) -> None:
    outcomes = {
        1: {"answer": None, "outcome": "abstained", "reason": "declines"},
        2: {"answer": None, "outcome": "empty", "reason": "empty"},
        3: {"answer": None, "outcome": "unparsed", "reason": "no verdict"},
        4: {"answer": [], "outcome": "answered", "reason": "the judge saw nothing"},
    }
    run = run_of("refact_localization_entity")
    wrong = {"correct": 0.0, "acc": 0.0, "iou": 0.0, "exact": 0.0}
    answers = list(run.answers)
    for number, outcome in outcomes.items():
        own = answers[number].score
        score = replace(own, **outcome, facts=own.facts | wrong)
        answers[number] = answers[number]._replace(score=score)
    runs = [replace(run, answers=answers), replace(run, model="n", id="n")]
    report = report_on(runs, tmp_path)
    counts = [tuple(cell.counts.outcomes[name] for name in NO_ANSWER) for cell in report.results]
    assert counts == [(1, 1, 1, 0), (0, 0, 0, 0)]
    text, html = markdown(report), render(report)
    assert f"n {len(run.scores)}, 1 unparsed, 1 abstained, 1 empty" in text
    assert f"n {len(run.scores)}, 0 unparsed |" in text or f"n {len(run.scores)}, 0 unparsed<br>" in text
    assert "1 unparsed, 1 abstained, 1 empty" in re.sub(r"<[^>]*>", "", html)
    shown = {item["id"]: item["replies"][0] for item in report.columns[0].details["items"]}
    rows = {row["id"]: row for row in pq.read_table(tmp_path / "items.parquet").to_pylist() if row["entry"] == "m"}
    for number, outcome in outcomes.items():
        id = run.answers[number].item.id
        assert {name: shown[id][name] for name in outcome} == outcome
        assert rows[id]["outcome"] == outcome["outcome"]
        if outcome["answer"] is None:
            assert f'<span class="verdict wrong unread">{outcome["outcome"]}</span>' in html
    # the empty list is an answer, and what the judge said of it stands with it
    assert re.search(r"answer <i>nothing</i>[^<]* · reason: <bdi[^>]*>the judge saw nothing", html)
    assert rows[run.answers[4].item.id]["answer"] == "[]"
    compared = compare({"a": runs})
    assert [tuple(own.counts.outcomes[name] for name in NO_ANSWER) for own in compared.results] == counts


def test_a_model_that_lists_everything_does_not_lead(tmp_path: Path) -> None:
    """Every sentence, or every sequence of up to four words: all that is wrong is among it."""
    runs = []
    for task in GROUPS["refact_localization"].members:
        run = run_of(task, model="lister")
        answers = []
        for item in (own.item for own in run.answers):
            text = item.gold.text
            words = [] if task.endswith("negation") else text.split()
            spans = [words[at : at + size] for size in range(1, 5) for at in range(len(words))]
            reply = "\n".join([" ".join(span) for span in spans] or sentences(text))
            answers.append(RunReply(item, reply, run.benchmark_task.score("strict", item, Reply(reply))))
        runs += [run_of(task, wrong=len(answers) // 2, model="modest"), replace(run, answers=answers, id=f"all {task}")]
    report = report_on(runs, tmp_path)
    assert min(result.metrics["acc"].value for result in report.results if result.metrics["acc"].value != 0.5) > 0.85
    leads, *others = summary(report)
    assert leads.startswith("modest leads on the mean of refact_localization and all 2 tasks, but these figures are")
    # listing everything is a floor, on which the lister stands
    assert {floor.name for column in report.columns for floor in column.floors if floor.headline} == {
        "baseline",
        "marking all",
        "marking nothing",
    }
    told = r"\(the floor\): lister on refact_localization_negation \(floor 0\.\d{3}\); lister on"
    assert any(re.search(told, sentence) for sentence in others)


def test_ranks_pairs_and_wins_of_models_that_differ(tmp_path: Path) -> None:
    runs = [run_of(HALUEVAL, wrong=wrong, model=model) for wrong, model in ((0, "a"), (26, "b"), (52, "c"))]
    report = report_on(runs, tmp_path)
    told = as_json(report)
    assert [own["rank"] for own in told["results"]] == [[1, 1], [2, 2], [3, 3]]
    first = told["pairs"][0]
    assert (first["value"], first["better"], first["low"] > 0, first["p_adjusted"] < 0.05) == (0.5, "e1", True, True)
    won = {(own["first"], own["second"]): (own["better"], own["worse"], own["open"]) for own in told["wins"]}
    assert won["e1", "e2"] == (1, 0, 0) and won["e3", "e1"] == (0, 1, 0)
    text = markdown(report)
    assert "| halueval_summarization | acc | a | b | 0.500 [" in text and "| 52 (26) |" in text


def test_a_rank_by_another_metric_is_not_shown_as_that_of_the_headline() -> None:
    runs = [run_of(HALUEVAL, wrong=wrong, model=model) for wrong, model in ((0, "a"), (26, "b"))]
    for metrics, rank in (([], (1, 1)), (["unparsed"], None)):
        report = compare({"folder": runs}, metrics)
        cell = report.columns[0].cell(report.entries[0])
        assert cell and cell.rank == rank and any("lead" in line for line in summary(report)) == (rank is not None)


def test_a_note_says_which_compared_entries_have_different_generation_settings(tmp_path: Path) -> None:
    runs = [run_of(model="toy"), run_of(model="tiny", settings={"max_tokens": 8, "chat_template": "ab"})]
    told = (
        "Entries that are compared have different generation settings: max_tokens is 8 for tiny and the task’s own for "
    )
    report = report_on(runs, tmp_path)
    assert report.notes == [f"{told}toy"]
    assert f"{told}toy." in re.sub("<[^>]*>", "", render(report)) and escaped(f"{told}toy") in markdown(report)
    # no list says which settings there are: whatever a harness was told of generation is compared
    (note,) = report_on([run_of(model="toy"), run_of(model="tiny", settings={"min_p": 0.1})], tmp_path).notes
    assert "min_p is 0.1 for tiny and the task’s own for toy" in note
    (note,) = report_on([*runs, *(run_of(model=model) for model in "abc")], tmp_path).notes
    assert note == f"{told}4 entries"
    # they are not compared, as they were scored in other ways
    assert report_on([run_of(model="toy", scoring="paper"), runs[1]], tmp_path).notes == []


@pytest.mark.parametrize(
    ("wrong", "why"), [(16, "the difference is the same in all clusters"), (0, "the difference is 0"), (8, "")]
)
def test_the_number_of_items_needed_is_missing_only_with_a_reason(wrong: int, why: str, tmp_path: Path) -> None:
    (pair,) = report_on([run_of(model="a"), run_of(model="b", wrong=wrong)], tmp_path).pairs
    assert (pair.not_estimated, pair.items_needed is None) == (why, bool(why))


def test_a_limited_run_that_stands_alone_says_of_how_many(tmp_path: Path) -> None:
    report = report_on([run_of(limit=4, fewshot=1)], tmp_path)
    told = as_json(report)
    assert told["columns"][0]["main"] and (told["columns"][0]["n"], told["columns"][0]["of"]) == (4, 16)
    text = markdown(report)
    assert "n 4 of 16, 0 unparsed" in text and "(strict, SAMPLE, 1shot, 4 of 16 items)" in text
    (partial,) = (sentence for sentence in summary(report) if "rest on only part of the items" in sentence)
    told = f"only part of the items (a limit, or replies to some items only) on {CORRECTION} (4 of 16)."
    assert partial.endswith(f"{told} What helps: halu-tasks run MODEL --tasks {CORRECTION}")


@pytest.mark.parametrize(
    ("task", "drawn"), [("refact_localization_entity", True), ("refact_judgment_independent", False)]
)
def test_spans_are_drawn_if_the_task_asks_for_spans(task: str, drawn: bool, tmp_path: Path) -> None:
    runs = [run_of(task, wrong=wrong, model=f"m{wrong}") for wrong in (0, 2)]
    report = report_on(runs, tmp_path)
    (details,) = (column.details for column in report.columns)
    assert len(details["items"]) == 2 and bool(details["confusion"]) == (not drawn)
    assert ("In the texts below" in render(report)) == drawn
    items = {answer.item.id: answer.item for answer in runs[0].answers}
    for shown in details["items"]:
        right, empty = shown["replies"]
        assert (shown["text"], empty["spans"]) == (items[shown["id"]].gold.text if drawn else None, None)
        assert right["spans"] == (shown["gold"] if drawn else None) and right["unplaced"] == []
