"""Reading verdicts: phrasings, properties, time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.published import published_pick, published_true_false
from halu_tasks.scorers.reading.questions import choice, pick, true_false, true_false_zh
from halu_tasks.scorers.reading.reasoning import strip_reasoning

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
    ["A", "B", "Answer", "answer a", "both", "neither", "is", "not", "correct", "incorrect", ":", ".", "\n",
     "Final Verdict", "True", "False", "contains errors", "I choose", "therefore", "答案", "正确", "错误",
     "不", "选", "、", "<think>", "</think>", "**", "\\boxed{", "}", "\u202e", "\x00", "\ud800", "Ａ"]
)  # fmt: skip
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
