"""Sentences that a model copied: found as the document writes them, or refused with a reason."""

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.builders.documents import SourceText, one_line, plain, sentence_count

TEXT = """Early life
Mara Tolnay’s father was a miller.[3] She was born in the
village of Orfalu, near Graz, in 1904. “I never liked
mills,” she wrote. She moved to Graz in 1921
Career
Vésale, 1543. Она жила в Вене."""


@pytest.mark.parametrize(
    ("copied", "found", "reason"),
    [*CASES["a_copy_is_given_as_the_document_writes_it_or_refused"], [TEXT * 20, None, "too long"]],
)
def test_a_copy_is_given_as_the_document_writes_it_or_refused(copied: str, found: str | None, reason: str) -> None:
    assert SourceText(TEXT).sentence(copied)[:2] == (found, reason)


def test_a_later_whole_occurrence_counts() -> None:
    text = "He said that She was a miller, too. She was a miller."
    assert SourceText(text).sentence("She was a miller").value == "She was a miller."


@pytest.mark.parametrize(("language", "text", "number"), CASES["sentences_are_counted"])
def test_sentences_are_counted(language: str, text: str, number: int) -> None:
    assert sentence_count(text, language) == number


ANY = st.text(st.characters(), max_size=60)  # halves of characters too


@given(ANY, ANY)
def test_nothing_raises_and_what_is_found_stands_in_the_document(text: str, copied: str) -> None:
    source = SourceText(f"{text} {copied} {text}")
    found = source.sentence(copied)
    assert (found.value is None) == bool(found.reason)
    if found.value is not None:
        assert found.value in one_line(source.text)
        assert source.holds(copied)
    assert plain(plain(text)) == plain(text)
    plain(text).encode()
