"""Reading verdicts: phrasings, properties, time, agreement with a human reader, the published figures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.published import published_pick, published_true_false
from halu_tasks.scorers.reading.questions import choice, pick, true_false, true_false_zh
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.tasks import task_named

DATA = Path(os.environ.get("HALU_TASKS_TEST_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
LABELS = DATA / "answer_labels"
OUTPUTS = DATA / "refact_outputs"


Reader = Callable[[str], Answer[str]]
READERS: dict[Reader, tuple[str, ...]] = {
    true_false: ("True", "False"),
    true_false_zh: ("True", "False"),
    pick: ("A", "B"),
    choice: ("A", "B", "C", "D"),
    published_true_false: ("True", "False"),
    published_pick: ("A", "B"),
}
PIECES = st.sampled_from(
    [
        *(
            "A",
            "B",
            "Answer",
            "answer a",
            "both",
            "neither",
            "is",
            "not",
            "correct",
            "incorrect",
            ":",
            ".",
            "\n",
        ),
        *(
            "Final Verdict",
            "True",
            "False",
            "contains errors",
            "I choose",
            "therefore",
            "答案",
            "正确",
            "错误",
        ),
        *("不", "选", "、", "<think>", "</think>", "**", "\\boxed{", "}", "\u202e", "\x00", "\ud800", "Ａ"),
    ]
)
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.lists(PIECES, max_size=30).map(" ".join),
    st.lists(PIECES, max_size=30).map("".join),
)


@given(TEXT)
@settings(max_examples=300, deadline=None)
def test_total(reply: str) -> None:
    for read, values in READERS.items():
        answer = read(reply)
        assert (answer.value in values and not answer.reason) or (answer.value is None and answer.reason)


@given(TEXT)
@settings(max_examples=300, deadline=None)
def test_last_declared_verdict_wins(reply: str) -> None:
    if strip_reasoning(reply) is None:
        return
    for read, values in list(READERS.items())[:4]:
        for value in values:
            assert read(f"{reply}\n\nFinal Verdict: {value}").value == value


@given(TEXT)
@settings(max_examples=100, deadline=None)
def test_reasoning_is_not_read(reply: str) -> None:
    for read in (true_false, true_false_zh, pick, choice):
        assert read(f"<think>{reply}</think>").value == read(strip_reasoning(f"<think>{reply}</think>") or "").value


def test_verdict_at_the_end_of_a_long_reply() -> None:
    for filler in ("x", "word ", "Answer A is fine. ", "真"):
        assert pick(filler * 1_000_000 + "\nFinal Verdict: B").value == "B"
        assert pick("Final Verdict: B\n" + "x" * 3_000_000).value == "B"


@pytest.mark.parametrize(
    "piece", ["Answer A is ", "A > B ", "| A | yes ", "the answer that is ", "errors in ", "不正确的是A"]
)
def test_a_long_reply_of_one_kind_is_read(piece: str) -> None:
    assert pick(piece * 2_000 + "\nFinal verdict: B").value == "B"


def agreement(path: Path, read: Reader) -> float:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    sure = [row for row in rows if row["sure"]]
    return sum((read(row["output"]).value or "none").lower() == str(row["label"]).lower() for row in sure) / len(sure)


@pytest.mark.skipif(not LABELS.is_dir(), reason="no labelled replies here")
def test_agreement_with_a_human_reader() -> None:
    assert agreement(LABELS / "refact_judgment_comparative.jsonl", pick) >= 0.97
    assert agreement(LABELS / "refact_judgment_independent.jsonl", true_false) >= 0.97


@pytest.mark.parametrize("task", ["refact_judgment_independent", "factchd", "cfaith_choice", "cfaith_tf"])
def test_the_second_set_of_labels(task: str, shared_data: Path) -> None:
    path = shared_data / "answer_labels_2" / f"{task}.jsonl"
    if not path.is_file():
        pytest.skip("no labelled replies here")
    sure = [row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()) if row["sure"]]
    read = [task_named(task).label(row["reply"]).value or "none" for row in sure]
    assert sum(value == row["label"] for value, row in zip(read, sure, strict=True)) >= 0.97 * len(sure)


def f1(pairs: list[tuple[str, str]], label: str) -> float:
    hits = sum(gold == label == answer for gold, answer in pairs)
    given_or_gold = sum((gold == label) + (answer == label) for gold, answer in pairs)
    return 2 * hits / given_or_gold


PUBLISHED = {
    "gemma-3-27b-it": (0.711, 0.724, 0.698, 0.552, 0.539),
    "Llama-3.2-3B-Instruct": (0.517, 0.345, 0.618, 0.481, 0.290),
}


def rows_of(model: str, task: str) -> list[dict[str, Any]]:
    lines = (OUTPUTS / model / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.skipif(not OUTPUTS.is_dir(), reason="no released outputs here")
@pytest.mark.parametrize("model", PUBLISHED)
def test_published_figures(model: str) -> None:
    independent = []
    for row in rows_of(model, "refact_judgment_independent"):
        gold = "True" if row["id"].endswith("/original") else "False"
        wrong = "False" if gold == "True" else "True"
        independent.append((gold, published_true_false(row["output"]).value or wrong))
    comparative = [
        (row["target"], published_pick(row["output"]).value or "unparsed")
        for row in rows_of(model, "refact_judgment_comparative")
    ]
    labels = {label for pair in comparative for label in pair}
    figures = (
        sum(gold == answer for gold, answer in independent) / len(independent),
        f1(independent, "True"),
        f1(independent, "False"),
        sum(gold == answer for gold, answer in comparative) / len(comparative),
        sum(f1(comparative, label) for label in labels) / len(labels),
    )
    assert tuple(round(figure, 3) for figure in figures) == PUBLISHED[model]
