"""Reading yes or no: phrasings in four languages, properties, time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers import rows

from halu_tasks.scorers.reading.questions import hallucinates_multilingual

YES, NO = "Yes", "No"

# replies without a space in the task's languages; a question mark would make a question of those with a full stop
WORDS = st.sampled_from(
    [
        (row["reply"], row["label"])
        for row in rows("halluverse25_binary")
        if row["label"] in (YES, NO)
        and row["language"] in ("en", "ar", "tr", "hi")
        and not {" ", "."} & {*row["reply"]}
        and "mode" not in row
    ]
)


@given(
    WORDS,
    st.sampled_from(["", ".", "!", "؟", "،", "।", "。", " \n", "**", "»"]),
    st.sampled_from(["", "\n", "«", "- ", "> "]),
)
def test_marks_around_a_word_change_nothing(word: tuple[str, str], after: str, before: str) -> None:
    assert hallucinates_multilingual(before + word[0] + after).value == word[1]


@given(st.text())
def test_any_text_is_read_or_unparsed(text: str) -> None:
    found = hallucinates_multilingual(text)
    assert found.value in (YES, NO) or (found.value is None and found.reason)


@pytest.mark.parametrize(
    "unit", ["yes ", "no no ", "لا توجد هلوسة ", "hayır değil ", "नहीं ", "answer: ", "hallucination ", "not ", "("]
)
def test_the_answer_at_the_end_of_a_long_reply_is_read(unit: str) -> None:
    reply = unit * (1_000_000 // len(unit)) + "\n\nAnswer: yes"
    assert hallucinates_multilingual(reply).value == YES
