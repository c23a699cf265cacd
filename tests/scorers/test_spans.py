"""Placing strings (`places.jsonl`), character sets, and tags: tables, then properties on texts of many scripts."""

import time
from pathlib import Path
from typing import Any
from unicodedata import combining, normalize

import pytest
from cases import CASES
from common import read_rows
from hypothesis import assume, example, given
from hypothesis import strategies as st

from halu_tasks.benchmarks.refact_tags import nearest_originals, original_strings, tagged_spans
from halu_tasks.text.folding import normalise
from halu_tasks.text.spans import Span, Text, char_counts, merge

SCRIPTS = "abcAB  \t\n.,'’\"“”İıIiŞşßẞﬁﬃΣσςالعَرَبِيّة中文，。👩\u200d👩\u200d👧é\u0301\u200f\u202e"
TEXT = st.text(st.sampled_from(SCRIPTS), max_size=80) | st.text(st.characters(), max_size=60)
SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: (min(pair), max(pair))), max_size=8)


PLACES = read_rows(Path(__file__).with_name("places.jsonl"))


def place(text: str, string: str) -> list[Span]:
    return Text(text).place(string)


@pytest.mark.parametrize("case", PLACES, ids=lambda case: case["string"][:30])
def test_place(case: dict[str, Any]) -> None:
    assert place(case["text"], case["string"]) == [tuple(span) for span in case["spans"]]


@given(TEXT, st.data())
def test_every_exact_placement_is_the_string(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    string = text[start:end].strip()
    spans = place(text, string)
    assert bool(spans) == bool(string)
    assert all(text[a:b] == string for a, b in spans)
    if string:
        assert (text.index(string), text.index(string) + len(string)) in spans


@given(TEXT, st.data())
def test_case_is_ignored_at_the_right_place(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    string = text[start:end].strip()
    assume(string and not any(map(combining, string[0] + text[end : end + 1])))  # part of a letter is another letter
    for changed in (string.casefold(), string.replace("’", "'"), " ".join(string.split())):
        assert place(text, changed)


FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# the voiced mark of half-width kana with its letter: alone, it would change places with another mark before it
LETTERS = (
    st.lists(st.sampled_from([*"ab éÉüñ서울한글ガÅςΐΪ́ﬁ２½", "ｶﾞ"]), max_size=30).map("".join).map(str.strip).filter(bool)
)


@given(LETTERS, st.sampled_from(FORMS), st.sampled_from(FORMS))
@example("Zürich", "NFD", "NFC")
@example("서울", "NFC", "NFD")
@example("Café", "NFC", "NFD")
def test_a_string_is_found_in_every_form_that_is_the_same(string: str, form: str, other: str) -> None:
    before, after = normalize(form, "Où? "), normalize(form, " est là.")
    here, there = normalize(form, string), normalize(other, string)
    assert normalise(here) == normalise(there)
    assert (len(before), len(before) + len(here)) in place(before + here + after, there)


def test_of_one_letter_a_part_is_not_found() -> None:
    assert place(normalize("NFD", "Das Café hier"), "CAFE HIER") == []


@given(TEXT, TEXT)
def test_placements_lie_in_the_text_in_order(text: str, string: str) -> None:
    spans = place(text, string)
    assert spans == sorted(set(spans))
    assert all(0 <= start < end <= len(text) for start, end in spans)


@given(SPANS, SPANS, st.integers(0, 50))
def test_counts_are_those_of_sets(gold: list[tuple[int, int]], predicted: list[tuple[int, int]], extra: int) -> None:
    wanted = {index for start, end in gold for index in range(start, end)}
    found = {index for start, end in predicted for index in range(start, end)}
    counts = char_counts(gold, predicted, extra)
    assert counts == (len(wanted), len(found) + extra, len(wanted & found), len(wanted | found) + extra)
    assert 0.0 <= counts.iou <= 1.0
    assert char_counts(gold, predicted).iou == char_counts(predicted, gold).iou
    assert char_counts(gold, gold).iou == 1.0


def test_merge() -> None:
    assert merge([(5, 9), (0, 2), (2, 3), (6, 7), (4, 4)]) == [(0, 3), (5, 9)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "strings",
    [
        ["x" * 10_000_000],
        [" " * 10_000_000],
        ["moss " * 2_000_000],
        ["İ" * 10_000_000],
        [f"m{number}" for number in range(100_000)],
        [f"soft white chalk {number}" for number in range(100_000)],
    ],
)
def test_placing_is_bounded(strings: list[str]) -> None:
    text = Text("The tallest cliffs are made of soft white chalk and moss. " * 40)
    started = time.perf_counter()
    for string in strings:
        text.place(string)
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize(("tagged", "text", "spans"), CASES["tagged_spans"])
def test_tagged_spans(tagged: str, text: str, spans: list[list[int]]) -> None:
    assert tagged_spans(tagged) == (text, [*map(tuple, spans)])


@pytest.mark.parametrize("tagged", CASES["bad_tags"])
def test_bad_tags(tagged: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        tagged_spans(tagged)


@pytest.mark.parametrize(("tagged", "correct", "originals"), CASES["original_strings"])
def test_original_strings(tagged: str, correct: str, originals: list[str]) -> None:
    assert original_strings(tagged, correct) == originals


def test_leftmost_alignment_gives_the_second_of_two_adjacent_spans_both() -> None:
    assert original_strings("a <swap>x</swap> <swap>y</swap>", "a b c", leftmost=True) == ["", "b c"]


@pytest.mark.parametrize(("tagged", "correct"), CASES["original_strings_that_cannot_be_found"])
def test_original_strings_that_cannot_be_found(tagged: str, correct: str) -> None:
    for leftmost in (False, True):
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            original_strings(tagged, correct, leftmost=leftmost)


def test_nearest_originals_of_a_text_changed_elsewhere() -> None:
    tagged = "Cliffs of basalt by the <swap>river</swap> are black."
    assert nearest_originals(tagged, "Cliffs of chalk by the deep sea are white.") == ["deep sea"]
    with pytest.raises(ValueError, match="corresponds to the span"):
        nearest_originals("a <swap>x</swap> b", "a b")


WORDS = st.text("ab", min_size=1, max_size=3)
PHRASES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@given(st.lists(st.tuples(PHRASES, PHRASES, PHRASES), min_size=1, max_size=5), PHRASES, st.booleans())
def test_tags_round_trip(parts: list[tuple[str, str, str]], ending: str, leftmost: bool) -> None:
    tagged = " ".join(f"{before} <swap>{new}</swap>" for before, new, _ in parts) + " " + ending
    correct = "  ".join(f"{before} {old}" for before, _, old in parts) + "\n" + ending
    text, spans = tagged_spans(tagged)
    assert [text[start:end] for start, end in spans] == [new for _, new, _ in parts]
    originals = original_strings(tagged, correct, leftmost=leftmost)
    rebuilt, read = "", 0
    for (start, end), original in zip(spans, originals, strict=True):
        rebuilt += text[read:start] + original
        read = end
    assert "".join((rebuilt + text[read:]).split()) == "".join(correct.split())


def test_a_string_that_is_only_like_the_text_is_placed_unless_likeness_is_off() -> None:
    text = Text("The ship sank in the harbour of Tresk.")
    assert text.place("The ship sunk in the harbour") == [(0, 28)]
    assert text.place("The ship sunk in the harbour", fuzzy=False) == []
    assert text.place("the  SHIP sank", fuzzy=False) == [(0, 13)]
