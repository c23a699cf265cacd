"""Where sentences and phrases stand in an answer, and the tags around edits."""

from itertools import pairwise
from pathlib import Path

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.benchmarks.refact_tags import tagged_spans
from halu_tasks.builders.pipelines.refact_edits import (
    Prose,
    apply_edits,
    capitalize_like,
    longest,
    mentions_phrase,
    only_stop_words,
    replacement_fault,
    stop_words,
)
from halu_tasks.core.errors import DataError


def found(text: str, phrase: str) -> list[str]:
    return [text[max(start - 1, 0) : end + 1] for start, end in Prose(text).mentions(phrase)]


@pytest.mark.parametrize(("text", "phrase", "at"), CASES["a_phrase_is_found_as_whole_words"])
def test_a_phrase_is_found_as_whole_words(text: str, phrase: str, at: list[int]) -> None:
    assert [start for start, _ in Prose(text).mentions(phrase)] == at


def test_a_phrase_is_in_the_question_in_whatever_case_but_as_words() -> None:
    assert mentions_phrase("Why is the SUN hot?", "sun") and not mentions_phrase("Why are sunny days hot?", "sun")


def test_a_sentence_is_found_whole_once_and_alone() -> None:
    text = "Dr. Ling says “Bees fly.” at noon.\r\n- Ants dig\r\n  deep.  Ants dig. So it is. So it is."
    prose = Prose(text)

    def sentence(string: str) -> str:
        span = prose.sentence(string)
        return span if isinstance(span, str) else text[slice(*span)]

    assert sentence('dr. ling says "bees fly." at noon.') == "Dr. Ling says “Bees fly.” at noon."
    assert sentence("says “Bees fly") == "Dr. Ling says “Bees fly.” at noon."
    assert sentence("Ants dig deep.") == "Ants dig\r\n  deep."
    assert sentence("Ants dig") == "more than once in the answer"
    assert sentence("So it is.") == "more than once in the answer"
    assert sentence("deep.  Ants dig. So") == "several sentences"
    assert sentence("Bees swim.") == "not in the answer"


def test_overlapping_mentions_give_way_to_the_longest_and_neighbours_are_one() -> None:
    text = "Randomised urine samples and urine samples. The Amazon rainforest."
    spans = [span for word in ("urine samples", "Randomised urine samples", "Amazon", "rainforest") for span in
             Prose(text).mentions(word)]  # fmt: skip
    kept = [text[start:end] for start, end in longest(text, spans)]
    assert kept == ["Randomised urine samples", "urine samples", "Amazon rainforest"]
    # neither the shorter of two, nor both as one
    assert longest("red blood cell", [(4, 14), (0, 9)]) == [(4, 14)]


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=9))
def test_what_is_left_of_spans_overlaps_nowhere_and_covers_the_longest(
    text: str, places: list[tuple[int, int]]
) -> None:
    spans = [(start, min(start + length, len(text))) for start, length in places if start < len(text)]
    kept = longest(text, spans)
    assert all(a[1] < b[0] for a, b in pairwise(kept))
    if spans:
        start, end = max(spans, key=lambda span: (span[1] - span[0], -span[0]))
        assert any(a <= start and end <= b for a, b in kept)


@given(st.text(max_size=80), st.lists(st.integers(0, 80), max_size=8), st.lists(st.text(min_size=1, max_size=9)))
def test_tags_strip_to_the_edited_text_and_stand_around_the_edits(text: str, places: list[int], new: list[str]) -> None:
    text = text.replace("<", "")
    edges = sorted({place for place in places if place <= len(text)})
    edits = [
        (start, end, word.replace("<", "")) for start, end, word in zip(edges[::2], edges[1::2], new, strict=False)
    ]
    plain, tagged = apply_edits(text, edits, "swap")
    stripped, spans = tagged_spans(tagged)
    assert stripped == plain
    assert [plain[start:end] for start, end in spans] == [new for _, _, new in edits]
    rest = plain
    for start, end in reversed(spans):
        rest = rest[:start] + "\0" + rest[end:]
    for start, end, _ in reversed(edits):
        text = text[:start] + "\0" + text[end:]
    assert rest == text


@pytest.mark.parametrize(("text", "why"), CASES["what_may_not_stand_in_the_place_of_a_phrase"])
def test_what_may_not_stand_in_the_place_of_a_phrase(text: str, why: str) -> None:
    assert replacement_fault(text, "rna strand") == why


def test_a_sentence_begins_as_the_original_did() -> None:
    assert capitalize_like("echo neurons", "Mirror neurons") == "Echo neurons"
    assert capitalize_like("mRNA strands", "Protein strands") == "mRNA strands"
    assert capitalize_like("echo neurons", "mirror neurons") == "echo neurons"
    assert capitalize_like("λ-phages", "Viruses") == "Λ-phages"


def test_changed_sentences_are_shown_once_each_before_and_after() -> None:
    text = "Tau folds. Tau binds tau. Bees fly. Tau folds."
    edits = [(start, end, "Rho") for start, end in Prose(text).mentions("Tau")]
    assert Prose(text).changed_parts(edits) == [
        ("Tau folds.", "Rho folds."),
        ("Tau binds tau.", "Rho binds Rho."),
    ]


def test_stop_words_are_english_without_a_file() -> None:
    english = stop_words("en", None)
    for phrase in ("it", "They", "this, that", "its own", "“Which”", "it’s", "…"):
        assert only_stop_words(phrase, english), phrase
    for phrase in ("the air", "IT", "WHO", "vitamin C", "👍", "+", "system"):
        assert not only_stop_words(phrase, english), phrase
    assert len(english) > 50 and not stop_words("ar", None) and not only_stop_words("they", stop_words("ar", None))


def test_stop_words_of_a_file_take_the_place_of_the_language_s(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes("\ufeffهو\r\nهي\r\n\r\n".encode())
    assert stop_words("ar", str(file)) == {"هو", "هي"}
    file.with_name("empty.txt").write_text("\n")
    for name, reason in (("none.txt", "No such file"), ("empty.txt", "contains no words")):
        with pytest.raises(DataError, match=reason):
            stop_words("ar", str(file.with_name(name)))
