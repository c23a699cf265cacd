"""What rules can tell of an edit: its form, and how much it changes for its type."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.builders.pipelines.halluverse25_pipeline import TYPES, extent_faults, form_faults, match_style, words

LANGUAGES = ("en", "ar", "tr")

BORN = "Mara Tolnay was born in the village of Orfalu in 1904."


@pytest.mark.parametrize(("language", "text", "same"), CASES["what_is_the_same_word"])
def test_what_is_the_same_word(language: str, text: str, same: str) -> None:
    assert words(text, language) == words(same, language)
    assert len(words(text, language)) == len(same.split())


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [("tr", "sınır", "sinir"), ("tr", "kar", "kâr"), ("de", "schon", "schön"), ("en", "$5", "€5"), ("en", "C", "C++")],
)
def test_what_is_another_word(language: str, one: str, other: str) -> None:
    assert words(one, language) != words(other, language)


def test_a_turkish_suffix_belongs_to_its_name_and_chinese_goes_by_characters() -> None:
    assert words("Moskova’nın 3. kentinde", "tr") == ["moskova'nın", "3", "kentinde"]
    assert words("他生于1900年", "zh") == ["他", "生", "于", "1900", "年"]


@pytest.mark.parametrize(("kind", "original", "edited", "language", "faults"), CASES["the_extent_fits_the_type"])
def test_the_extent_fits_the_type(kind: str, original: str, edited: str, language: str, faults: list[str]) -> None:
    assert extent_faults(original, edited, kind, language) == faults


@pytest.mark.parametrize(("language", "original", "edited"), CASES["what_differs_in_spelling_alone_is_no_edit"])
def test_what_differs_in_spelling_alone_is_no_edit(language: str, original: str, edited: str) -> None:
    for kind in TYPES:
        assert extent_faults(original, edited, kind, language) == ["unchanged"]


@pytest.mark.parametrize(("edited", "fault"), CASES["a_bad_form_is_told"])
def test_a_bad_form_is_told(edited: str, fault: str) -> None:
    assert fault in form_faults(BORN, edited, "en")


@pytest.mark.parametrize(("language", "original", "edited"), CASES["a_good_form_has_no_faults"])
def test_a_good_form_has_no_faults(language: str, original: str, edited: str) -> None:
    assert form_faults(original, edited, language) == []


@pytest.mark.parametrize(("original", "edited", "expected"), CASES["stops_and_apostrophes_do_not_tell_the_two_apart"])
def test_stops_and_apostrophes_do_not_tell_the_two_apart(original: str, edited: str, expected: str) -> None:
    assert match_style(original, edited) == expected


ANY = st.text(st.characters(), max_size=80)  # halves of characters too


@given(ANY, ANY, st.sampled_from(["en", "ar", "tr", "zh"]))
def test_nothing_raises_and_an_edit_of_itself_is_unchanged(one: str, other: str, language: str) -> None:
    for kind in TYPES:
        assert extent_faults(one, one, kind, language) == ["unchanged"]
        extent_faults(one, other, kind, language)
    form_faults(one, other, language)
    assert match_style(one, match_style(one, other)) == match_style(one, other)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_published_edits_have_the_extent_of_their_types(language: str, shared_data: Path) -> None:
    """On the rows that the paper prints all; on the whole files, which are handed out on request, nearly all."""
    path = shared_data / "halluverse25" / f"{language}_final_data.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["final_label"].strip() != "0"]
    passed: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        kind = row["final_label"].strip().casefold()
        passed[kind].append(not extent_faults(row["orig_sentence"], row["edited_sentence"], kind, language))
    assert len(rows) >= 3 and all(sum(own) / len(own) >= 0.97 for own in passed.values()), passed
