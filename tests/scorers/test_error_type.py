"""Reading the type of an error: phrasings in four languages, properties, time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers import rows

from halu_tasks.scorers.reading.questions import TYPES, error_type
from halu_tasks.scorers.reading.types import TypeQuestion
from halu_tasks.text.folding import fold

E, R, S, N = "entity", "relation", "sentence", "none"

# replies without a space that name a type
WORDS = st.sampled_from(
    [
        (row["reply"], row["label"])
        for row in rows("halluverse25")
        if row["label"] in (E, R, S) and " " not in row["reply"] and "mode" not in row
    ]
)


@given(
    WORDS,
    st.sampled_from(["", ".", "!", "،", "。", " \n", "**", "»"]),
    st.sampled_from(["", "\n", "«", "- ", "> "]),
)
def test_marks_around_a_word_change_nothing(word: tuple[str, str], after: str, before: str) -> None:
    assert error_type(before + word[0] + after).value == word[1]


@given(st.text())
def test_any_text_is_read_or_unparsed(text: str) -> None:
    found = error_type(text)
    assert found.value in (E, R, S, N) or (found.value is None and found.reason)


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize("unit", ["entity ", "خطأ في ", "varlık hatası değil ", "error type: ", "\u064b", "("])
def test_the_answer_at_the_end_of_a_long_reply_is_read(unit: str) -> None:
    reply = unit * (1_000_000 // len(unit)) + "\n\nAnswer: relation"
    assert error_type(reply).value == R


def test_a_language_is_one_lexicon() -> None:
    spanish = TypeQuestion(("types",), ("en", "es"), TYPES, yes="")
    replies = [row for row in rows("halluverse25") if row["language"] == "es" and row["label"] in TYPES]
    assert len(replies) >= 10
    assert [spanish(row["reply"]).value for row in replies] == [row["label"] for row in replies]
