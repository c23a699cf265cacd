"""Reading verdicts: phrasings, properties, time."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readers import rows

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.released_readers import published_pick, published_true_false
from halu_tasks.scorers.reading import lexicon as lexicon_module
from halu_tasks.scorers.reading.lexicon import LANGUAGES
from halu_tasks.scorers.reading.own_labels import OwnLabelReader
from halu_tasks.scorers.reading.questions import (
    TYPES,
    choice,
    error_type,
    hallucinates,
    pick,
    true_false,
)
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.steps import LabelReader
from halu_tasks.scorers.reading.types import TYPE_STEPS, TypeVocabulary
from halu_tasks.text.folding import fold

Reader = Callable[[str], Answer[str]]
READERS: dict[Reader, tuple[str, ...]] = {
    true_false: ("True", "False"),
    pick: ("A", "B"),
    choice: ("A", "B", "C", "D"),
    error_type: TYPES,
    OwnLabelReader(("True", "False", "Not given", "无")): ("True", "False", "Not given", "无"),
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
            # right behind another one, it would contradict it
            assert (
                read(f"{reply}\n\nThe text was read.\n\nAll of it.\n\nOnce more.\n\nFinal Verdict: {value}").value
                == value
            )


@pytest.mark.parametrize("read", [read for read in READERS if isinstance(read, LabelReader)])
def test_short_forms_are_read_as_the_steps_read_them(read: LabelReader) -> None:
    for form, label in list(read.vocabulary.forms.items())[::7]:
        if len(form) <= 60:
            answer = read(f"\u200b{form}\u200b")  # invisible signs, which the forms do not have
            assert (answer.value, answer.step != "form") == (label, True), form


def test_two_verdicts_on_adjacent_lines_decide_nothing() -> None:
    assert true_false("Final Verdict: True\n\nFinal Verdict: False").value is None
    assert true_false("Final Verdict: True\n\nWait, on reflection.\nFinal Verdict: False").value == "False"


@given(TEXT)
@settings(max_examples=100, deadline=None)
def test_reasoning_is_not_read(reply: str) -> None:
    for read in (true_false, pick, choice):
        assert read(f"<think>{reply}</think>").value == read(strip_reasoning(f"<think>{reply}</think>") or "").value


def test_a_verdict_before_or_after_a_long_word_is_read() -> None:
    word = "x" * 3_000_000
    assert pick(f"Final Verdict: B\n{word}").value == pick(f"{word}\nFinal Verdict: B").value == "B"


LONG = [
    (pick, "Final verdict: B", "B", ("Answer A is ", "A > B ", "| A | yes ", "the answer that is ", "不正确的是A")),
    (
        hallucinates,
        "Answer: yes",
        "Yes",
        ("no no ", "لا توجد هلوسة ", "hayır değil ", "नहीं ", "answer: "),
    ),
    (OwnLabelReader(("True", "Not given")), "Answer: not given", "Not given", ("true ", "not given ", "is not true, ")),
    (
        error_type,
        "Answer: relation",
        "relation",
        ("entity ", "خطأ في ", "varlık hatası değil ", "\u064b", "("),
    ),
]


@pytest.mark.parametrize(
    ("read", "unit", "answer", "label"), [(read, unit, *own) for read, *own, units in LONG for unit in units]
)
def test_the_answer_at_the_end_of_a_long_reply_is_read(read: Reader, unit: str, answer: str, label: str) -> None:
    assert read(unit * (1_000_000 // len(unit)) + f"\n\n{answer}").value == label


# replies without a space in the task's languages
WORDS = st.sampled_from(
    [
        (read, row["reply"], row["label"])
        for read, task in ((hallucinates, "halluverse25_binary"), (error_type, "halluverse25"))
        for row in rows(task)
        if row["label"] in {"Yes", "No", *TYPES} - {"none"}
        and row["language"] in ("en", "ar", "tr", "hi")
        and not {" ", "."} & {*row["reply"]}
        and "mode" not in row
    ]
)


@given(
    WORDS,
    st.sampled_from(["", ".", "!", "،", "。", " \n", "**", "»"]),
    st.sampled_from(["", "\n", "«", "- ", "> "]),
)
def test_marks_around_a_word_change_nothing(word: tuple[Reader, str, str], after: str, before: str) -> None:
    read, reply, label = word
    assert read(before + reply + after).value == label


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_a_language_is_one_lexicon() -> None:
    spanish = LabelReader(TypeVocabulary(("types",), TYPES, yes=""), TYPE_STEPS)
    replies = [row for row in rows("halluverse25") if row["language"] == "es" and row["label"] in TYPES]
    assert len(replies) >= 10
    assert [spanish(row["reply"]).value for row in replies] == [row["label"] for row in replies]


def test_the_kinds_of_phrases_are_those_that_their_page_lists() -> None:
    folder = Path(lexicon_module.__file__).parent / "lexicons"
    page = (folder / "README.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (\w+)$", page, flags=re.MULTILINE)
    listed = {
        name: {kind for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for kind in re.findall(r"`(\w+)`", row)}
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    found: dict[str, set[str]] = {name: set() for name in listed}
    for path in sorted(folder.glob("*.yaml")):
        stem, _, language = path.stem.partition(".")
        if language or stem in LANGUAGES:
            section = {"strings": "Strings", "remarks": "Remarks", "confidence": ""}.get(stem, "Labels")
            found.setdefault(section, set()).update(lexicon_module.load(path.stem).keys() - {"prefix"})
    del found[""]
    assert found == listed
