"""Strings read from replies: rules case by case, then agreement with readers, totality and time."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halu_tasks.scorers.benchmarks import released_readers
from halu_tasks.scorers.reading.strings import quotations, replacements
from halu_tasks.text.folding import normalise

ANY_TEXT = st.text(st.characters(), max_size=300)
PIECES = st.lists(
    st.sampled_from(
        ["Wrong Entities:", "sentence", "1. ", "- ", "\n", "\n\n", '"', "“", "”", "**", "(", ")", " - ", ": ", "<mask>",
         "->", ", ", "none", "moss",
         "The correct sentence should be:", "\ud800", "\u200f", "é\u0301", "İ", "`", "not", "x. "]
    ),
    max_size=30,
).map("".join)  # fmt: skip


def test_heading_at_the_end_of_a_very_long_reply_is_found() -> None:
    assert quotations("I wonder.\n" * 200_000 + "Wrong Entities:\nbasalt", "", "entity").value == ["basalt"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("  The  Sea. ", "the sea"), ("ﬁre", "FIRE"), ("“sea”", "sea"), ("Ｈ２Ｏ", "h2o"), ("STRASSE", "straße")],
)
def test_normalise_makes_equal(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("50%", "50"), ("-5", "5"), ("$5", "5"), ("a b", "ab"), ("C++", "C")])
def test_normalise_keeps_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_normalise_keeps_punctuation_that_stands_alone() -> None:
    assert normalise(" ?! ") == "?!"


@given(ANY_TEXT | PIECES)
@example("()")
def test_total(reply: str) -> None:
    for answer in (
        quotations(reply, "moss", "entity"),
        quotations(reply, "x. moss", "sentence"),
        replacements(reply, 2),
    ):
        assert (answer.value is None) == bool(answer.reason)
        assert answer.value is None or all(answer.value)
    assert isinstance(normalise(reply), str)
    released_readers.entities(reply), released_readers.sentence(reply), released_readers.replacements(reply)


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=8), min_size=2, max_size=6))
def test_bare_lines_and_numbered_lines_say_the_same(words: list[str]) -> None:
    numbered = "\n".join(f"{number}. “{word}”" for number, word in enumerate(words, 1))
    assert replacements("\n".join(words), len(words)).value == words
    assert replacements(numbered, len(words)).value == words


def test_published_iou_counts_first_occurrence_with_unstripped_length() -> None:
    assert released_readers.iou("a sea, a Sea", ["sea"], ["SEA "]) == 3 / 4
    assert released_readers.iou("a sea", ["fog"], ["mist"]) == 0.0
