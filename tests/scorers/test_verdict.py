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

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.benchmarks.refact_published import published_pick, published_true_false
from halu_tasks.scorers.reading.labels.verdict import choice, pick, true_false, true_false_zh

DATA = Path(os.environ.get("HALU_TASKS_TEST_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
LABELS = DATA / "answer_labels"
OUTPUTS = DATA / "refact_outputs"

TRUE_FALSE = [
    ("True", "True"),
    ("true.", "True"),
    ("**False**\n\nThe year is wrong.", "False"),
    ("Final Verdict: True", "True"),
    ("FINAL VERDICT: FALSE", "False"),
    ("### Final Verdict\n\n> **False**", "False"),
    ("**Final Verdict:** The whole answer is factually correct.", "True"),
    ("Final Verdict: The answer is incorrect about the comet.", "False"),
    ("The final verdict is:\n\nTrue", "True"),
    ('Final Verdict: "False"', "False"),
    ("Final Verdict: not true", "False"),
    ("Final Verdict: not false", "True"),
    ("Final Verdict: Mostly true", "True"),
    ("Final Verdict: Partially true", "False"),
    ("Final Verdict: Non-factual", "False"),
    ("Final Verdict: True (although it leaves out a detail)", "True"),
    ("True, but the second point is loosely worded.", "True"),
    ("1. The first claim is false.\n2. The second is true.\n\nFinal Verdict: True", "True"),
    ("Final Verdict: True\n\nOn a second look:\n\nFinal Verdict: False", "False"),
    ("$\\boxed{\\text{False}}$", "False"),
    ("<answer>True</answer>", "True"),
    ("Each claim checks out. Therefore, the answer is true.", "True"),
    ("I would classify the answer as False.", "False"),
    ("Claim 1 is right. Overall, the answer contains several inaccuracies.", "False"),
    ("The answer does not contain any inaccuracies.", "True"),
    ("The answer is not entirely accurate.", "False"),
    ("The answer is mostly right but contains an error about the date.", "False"),
    ("While the answer is brief, it is factually correct.", "True"),
    ("The answer is wrong because it takes the opposite to be true.", "False"),
    ("I found the following inaccuracies:\n\n1. Lead is no gas.", "False"),
    ("I found no inaccuracies in the answer.", "True"),
    ("<think>Final Verdict: True</think>Final Verdict: False", "False"),
    ("Final Verdict: True or False", None),
    ("I am sorry, I cannot help with this.", None),
    ("Whales are mammals.", None),
    ("Conclude with a Final Verdict: True if all of it holds. The answer is False.", "False"),
    ("I cannot provide a final verdict on this answer, as it contains inaccuracies.", None),
    ("Nothing here would warrant a verdict of False, so my final verdict is True.", "True"),
    ("The correct answer names another river. Overall, the answer is accurate.", "True"),
    ("Final Verdict: Contains inaccuracies", "False"),
]

PICK = [
    ("A", "A"),
    ("b", "B"),
    ("(B)", "B"),
    ("Answer B", "B"),
    ("**Answer A** is factually correct.", "A"),
    ("Final Verdict: Answer B is factually correct.", "B"),
    ("**Final Verdict:**\n\n**Answer A**", "A"),
    ("Final Verdict: B, since A mixes up two planets.", "B"),
    ("Final Verdict: 'A'", "A"),
    ("Final Verdict: A (or B - they say the same)", "A"),
    ("The correct answer is \\boxed{B}.", "B"),
    ("First I leaned to B. Final Verdict: Answer A.", "A"),
    ("Answer A is factually correct.\n\nOn reflection: Final Verdict: Answer B", "B"),
    ("Answer A is incorrect.", "B"),
    ("Final Verdict: Answer A is incorrect.", "B"),
    ("Final verdict: not B", "A"),
    ("Answer B is not factually correct.", "A"),
    ("Answer A: correct. Answer B: incorrect.", "A"),
    ("Answer A is wrong and Answer B is right.", "B"),
    ("Answer B is the correct one; Answer A is off by a century.", "B"),
    ("Therefore, the correct answer is Answer A.", "A"),
    ("After some thought I would choose B.", "B"),
    ("I would not choose A. I would choose B.", "B"),
    ("Answer B is more accurate than Answer A.", "B"),
    ("Answer A contains a factual error. Answer B does not.", "B"),
    ("Both are correct, but B is slightly better.", "B"),
    ("Both answers are correct. Final Verdict: A", "A"),
    ("Final Verdict: Both answers are correct. If I must decide, I choose Answer A arbitrarily.", "A"),
    ("Neither answer is right. However, if I had to choose, I would pick Answer B.", "B"),
    ("Both answers are correct.", None),
    ("Neither Answer A nor Answer B is factually correct.", None),
    ("Answer A is incorrect. Answer B is incorrect.", None),
    ("Answer B gives a more vivid account. Therefore, both answers are factually correct.", None),
    ("Final Verdict: Answer A and Answer B are the same.", None),
    ("Final Verdict: A close reading decides nothing.", None),
    ("A more careful answer would mention the tide.", None),
    ("<think>Final Verdict: B", None),
    ("", None),
]

CHOICE = [
    ("B", "B"),
    ("b", "B"),
    ("B.", "B"),
    ("（B）", "B"),
    ("Ｂ", "B"),
    ("**B**", "B"),
    ("\\boxed{B}", "B"),
    ("B. 长江", "B"),
    ("B、长江", "B"),
    ("答案：B", "B"),
    ("答案是Ｃ。", "C"),
    ("答案為D", "D"),
    ("选B", "B"),
    ("選B", "B"),
    ("选项B", "B"),
    ("正确答案为 B", "B"),
    ("本题应选择D选项。", "D"),
    ("综上所述，正确选项为D。", "D"),
    ("I choose B because A is wrong", "B"),
    ("The answer is C.", "C"),
    ("排除A，选择C", "C"),
    ("不选A，选C", "C"),
    ("不是A而是B", "B"),
    ("只有B正确，A、C、D都错。", "B"),
    ("A错误，B错误，D错误。", "C"),
    ("A. 错误\nB. 错误\nC. 正确\nD. 错误", "C"),
    ("一开始以为是A。最终答案：D", "D"),
    ("A、B都对", None),
    ("A和B", None),
    ("A. 黄河\nB. 长江\nC. 珠江\nD. 淮河", None),
    ("无法确定", None),
]

TRUE_FALSE_ZH = [
    ("正确", "True"),
    ("错误。", "False"),
    ("對", "True"),
    ("錯誤", "False"),
    ("不对", "False"),
    ("不正确", "False"),
    ("不是正确的", "False"),
    ("是", "True"),
    ("否", "False"),
    ("真", "True"),
    ("假", "False"),
    ("True", "True"),
    ("No.", "False"),
    ("判断：错误", "False"),
    ("答案：正确", "True"),
    ("结论：该说法有误", "False"),
    ("【错误】", "False"),
    ("该回答是错误的。", "False"),
    ("这个说法不准确", "False"),
    ("此說法不準確", "False"),
    ("该回答没有错误。", "True"),
    ("该回答不存在幻觉。", "True"),
    ("该回答错误，正确答案应为长江。", "False"),
    ("该陈述部分正确，但存在事实错误。", "False"),
    ("是的，这个回答是正确的。", "True"),
    ("不，该回答不符合事实。", "False"),
    ("题目考查河流。起初看来有误，但核对后，该回答是正确的。", "True"),
    ("<think>错误</think>正确", "True"),
    ("对于这个问题，我不清楚", None),
    ("", None),
]


@pytest.mark.parametrize(("reply", "value"), TRUE_FALSE)
def test_true_false(reply: str, value: str | None) -> None:
    assert true_false(reply).value == value


@pytest.mark.parametrize(("reply", "value"), PICK)
def test_pick(reply: str, value: str | None) -> None:
    assert pick(reply).value == value


@pytest.mark.parametrize(("reply", "value"), CHOICE)
def test_choice(reply: str, value: str | None) -> None:
    assert choice(reply).value == value


@pytest.mark.parametrize(("reply", "value"), TRUE_FALSE_ZH)
def test_true_false_zh(reply: str, value: str | None) -> None:
    assert true_false_zh(reply).value == value


def test_other_letters() -> None:
    assert pick("Answer X is wrong.", "XY").value == "Y"
    assert choice("答案：E", "ABCDE").value == "E"
    assert choice("答案：E").value is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (" \n", "empty"),
        ("<think>A", "unclosed reasoning"),
        ("Both answers are factually correct. Final verdict: both", "several answers"),
        ("The sea is wide.", "no verdict"),
    ],
)
def test_reason(reply: str, reason: str) -> None:
    assert pick(reply) == Answer(None, reason)
    assert true_false(reply).reason in ("", "no verdict", reason)


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


def agreement(path: Path, read: Reader) -> float:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    sure = [row for row in rows if row["sure"]]
    return sum((read(row["output"]).value or "none").lower() == str(row["label"]).lower() for row in sure) / len(sure)


@pytest.mark.skipif(not LABELS.is_dir(), reason="no labelled replies here")
def test_agreement_with_a_human_reader() -> None:
    assert agreement(LABELS / "refact_judgment_comparative.jsonl", pick) >= 0.97
    assert agreement(LABELS / "refact_judgment_independent.jsonl", true_false) >= 0.97


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


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Final Verdict: Answer B is factually correct", "A"),  # The a of "Final".
        ("Answer B is correct.", "B"),
        ("Answer\nB is correct.", "B"),
        ("B\nwhich is correct.", None),
        ("Final Verdict:\nB", None),
        ("So the Final Verdict: B", "B"),
        ("I hold it to be incorrect", "B"),
        ("", None),
    ],
)
def test_published_pick(reply: str, value: str | None) -> None:
    assert published_pick(reply).value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Final Verdict: it is untrue", "True"),
        ("False. FINAL\nVERDICT: so what?\n\ntrue or false", "True"),
        ("true, then false", "False"),
        ("<think>Final verdict: true</think> Final verdict: false", "True"),
        ("no", None),
    ],
)
def test_published_true_false(reply: str, value: str | None) -> None:
    assert published_true_false(reply).value == value
