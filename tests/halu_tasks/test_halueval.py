"""HaluEval: rows and their ids, samples of them, gold passages, worked examples, bad input, the real file."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import read_rows, write_rows
from made_runs import figures_of

from halu_tasks.benchmarks.halueval import gold_spans
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

SUMMARIES = ("halueval_summarization", "halueval_summarization_cot", "halueval_summarization_claims")
GENERAL = ("halueval_general", "halueval_general_localization")
SUMMARY_ROW = {
    "document": "A ship sank.",
    "right_summary": "A ship sank .\n",
    "hallucinated_summary": "A red ship sank.",
}
ROW = {"ID": "1", "user_query": "Q?", "chatgpt_response": "One. Two.", "hallucination": "yes"} | {
    "hallucination_spans": ["Two."]
}


def write(path: Path, *rows: dict[str, Any]) -> str:
    return str(write_rows(path, rows))


def numbered(count: int) -> list[dict[str, Any]]:
    return [{**SUMMARY_ROW, "document": f"Ship {number} sank."} for number in range(count)]


# --- the sample -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["strict", "paper"])
@pytest.mark.parametrize("task", SUMMARIES)
def test_yes_always_is_right_for_half_of_the_summaries(task: str, scoring: str) -> None:
    evaluation = build(task, Options(data="sample", scoring=scoring))
    found = figures_of(evaluation, map(evaluation.baseline, evaluation.items))
    assert (found["acc"], found["acc_right"], found["acc_hallucinated"], found["acc_pair"]) == (0.5, 0.0, 1.0, 0.0)
    assert (found["precision"], found["recall"], found["f1"]) == (0.5, 1.0, pytest.approx(2 / 3))


# --- rows and ids -----------------------------------------------------------------------------------


def test_a_row_gives_two_items_of_one_cluster_without_the_line_end_that_tells(tmp_path: Path) -> None:
    data = write(tmp_path / "rows.json", {**SUMMARY_ROW, "document": " A ship sank.\n"})
    right, hallucinated = build(SUMMARIES[0], Options(data=data)).items
    assert (right.target, hallucinated.target) == ("No", "Yes")
    assert right.id.endswith("/right") and hallucinated.id == right.id.removesuffix("right") + "hallucinated"
    assert right.cluster == hallucinated.cluster
    assert right.prompt == "#Document#: A ship sank.\n#Summary#: A ship sank .\n#Your Judgement#:"
    assert hallucinated.prompt.endswith("\n#Summary#: A red ship sank.\n#Your Judgement#:")


def test_rows_of_one_document_are_one_cluster_and_a_repeated_row_keeps_its_place(tmp_path: Path) -> None:
    other = {**SUMMARY_ROW, "hallucinated_summary": "Two ships sank."}
    evaluation = build(SUMMARIES[0], Options(data=write(tmp_path / "rows.json", SUMMARY_ROW, other, SUMMARY_ROW)))
    assert len(evaluation.items) == len({item.id for item in evaluation.items}) == 6
    assert len({item.cluster for item in evaluation.items}) == 1


def test_rows_that_share_an_id_or_have_none_are_kept_whatever_their_order(tmp_path: Path) -> None:
    rows = [{**ROW, "ID": id, "user_query": query} for id, query in (("a", "1"), ("b", "2"), ("a", "3"), (" ", "4"))]
    there, back = (
        {item.prompt: item.id for item in build(GENERAL[0], Options(data=write(tmp_path / "rows.json", *order))).items}
        for order in (rows, rows[::-1])
    )
    assert there == back and len(set(there.values())) == 4
    assert "b" in there.values() and sum(id.startswith("a-") for id in there.values()) == 2
    # a row that occurs again is asked again
    assert len(build(GENERAL[0], Options(data=write(tmp_path / "rows.json", ROW, ROW))).items) == 2


# --- samples ----------------------------------------------------------------------------------------


def documents(task: str, path: str, **options: Any) -> list[str]:
    items = build(task, Options(data=path, **options)).items
    return [item.prompt.partition("\n")[0] for item in items]


@pytest.mark.slow
def test_samples_have_their_size_are_disjoint_and_keep_the_files_order(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.json", *numbered(10_000))
    whole = documents(SUMMARIES[0], path)
    train, test = (documents(SUMMARIES[0], path, split=split) for split in ("train5", "test20"))
    assert (len(whole), len(train), len(test)) == (20_000, 1_000, 4_000)
    assert not set(train) & set(test) and len(set(test)) == 2_000
    for sample in (train, test):
        assert sample == [document for document in whole if document in set(sample)]
    other = documents(SUMMARIES[0], path, split="test20", seed=1)
    assert len(other) == 4_000 and 300 < len(set(other) & set(test)) < 500


@pytest.mark.parametrize(("count", "train", "test"), [(26, 1, 5), (50, 2, 10), (10, 0, 2), (7, 0, 1)])
def test_a_sample_of_few_rows_is_rounded(count: int, train: int, test: int, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.json", *numbered(count))
    assert len(documents(SUMMARIES[2], path, split="test20")) == 2 * test
    if train:
        assert len(documents(SUMMARIES[2], path, split="train5")) == 2 * train
    else:
        with pytest.raises(DataError, match="contains no row for task halueval_summarization_claims under train5"):
            documents(SUMMARIES[2], path, split="train5")


def test_a_row_is_in_a_sample_whatever_the_order_of_rows(tmp_path: Path) -> None:
    rows = [*numbered(40), *numbered(2)]
    there = build(SUMMARIES[0], Options(data=write(tmp_path / "a.json", *rows), split="test20")).items
    back = build(SUMMARIES[0], Options(data=write(tmp_path / "b.json", *rows[::-1]), split="test20")).items
    assert {item.id: item.prompt for item in there} == {item.id: item.prompt for item in back}
    whole = {item.id: item for item in build(SUMMARIES[0], Options(data=str(tmp_path / "a.json"))).items}
    assert all(whole[item.id] == item for item in there)


def test_a_sample_is_part_of_the_version_and_takes_no_worked_example(tmp_path: Path) -> None:
    evaluation = build(SUMMARIES[0], Options(data="sample", split="test20", seed=3, fewshot=8))
    assert evaluation.version_tags == ("sample", "seed3", "test20") and len(evaluation.items) == 10
    assert len(evaluation.examples) == 8
    # a task that has no such option is asked whole, and says nothing of one
    whole = build(GENERAL[1], Options(data="sample", split="test20"))
    assert whole.version_tags == ("sample",) and whole.items == build(GENERAL[1], Options(data="sample")).items
    with pytest.raises(UsageError, match="option split: expected 'all', 'train5', 'test20'"):
        Options(split="test")


# --- worked examples --------------------------------------------------------------------------------


def test_worked_examples_show_the_form_that_is_asked_for() -> None:
    replies = {
        task: [example.reply for example in build(task, Options(data="sample", fewshot=4)).examples]
        for task in (*SUMMARIES, *GENERAL)
    }
    assert replies[SUMMARIES[0]] == replies[GENERAL[0]] == ["No", "Yes", "No", "Yes"]
    for reply, target in zip(replies[SUMMARIES[1]], replies[SUMMARIES[0]], strict=True):
        reasons, _, judgement = reply.rpartition("\n#Your Judgement#: ")
        assert len(reasons) > 20 and judgement == target
    for reply, target in zip(replies[SUMMARIES[2]], replies[SUMMARIES[0]], strict=True):
        assert reply.count("Claim: ") == reply.count("Supported: ") == 2
        assert ("Supported: No" in reply) == (target == "Yes")


# --- gold passages ----------------------------------------------------------------------------------

TEXT = 'Here you are:\n1. Two and 2\n2. Three\n\n3. "Five"\nTwenty-two and 2'


@pytest.mark.parametrize(("annotated", "strings"), CASES["gold_passages_are_the_lines_of_the_annotated_ones"])
def test_gold_passages_are_the_lines_of_the_annotated_ones(annotated: list[str], strings: list[str]) -> None:
    spans = gold_spans(TEXT, annotated)
    assert [TEXT[start:end] for start, end in spans] == strings and spans == sorted(set(spans))


# --- the real file ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_released_answers(shared_data: Path) -> None:
    if not (shared_data / "halueval" / "general_data.json").is_file():
        pytest.skip("no general_data.json")
    data = str(shared_data)
    evaluation = build("halueval_general", Options(data=data))
    assert len(evaluation.items) == evaluation.task.data.size == 4507
    assert Counter(item.target for item in evaluation.items) == {"Yes": 815, "No": 3692}
    assert figures_of(evaluation, map(evaluation.baseline, evaluation.items))["acc"] == pytest.approx(815 / 4507)
    located = build("halueval_general_localization", Options(data=data))
    assert len(located.items) == located.task.data.size == 765
    # the passage marked in one row is the "no" of "not", and a reply "no" says that there is none
    oracle = figures_of(located, map(located.oracle, located.items))
    assert oracle["acc"] == oracle["exact"] == oracle["iou"] == 764 / 765
    assert not any(oracle[name] for name in ("unplaced", "unparsed", "abstained", "empty"))
    rows = read_rows(shared_data / "halueval" / "general_data.json")
    exact = sum(any(span in row["chatgpt_response"] for span in row["hallucination_spans"]) for row in rows)
    assert exact == 736
