"""What rules can tell of an edit: its form, and how much it changes for its type."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.builders.pipelines.halluverse25 import TYPES, extent_faults, finished, form_faults, script, words

LANGUAGES = ("en", "ar", "tr")

BORN = "Mara Tolnay was born in the village of Orfalu in 1904."


@pytest.mark.parametrize(
    ("language", "text", "same"),
    [
        ("en", "The BRIDGE, of 1,500 metres!", "the bridge of 1,500 metres"),
        ("tr", "IŞIK İzmir’in", "ışık izmir'in"),
        ("ar", "وُلِدَ في القـــاهرة عام ١٩١١.", "ولد في القاهرة عام 1911"),
        ("ar", "\u200fولد\u200e في مصر؟", "ولد في مصر"),
        ("hi", "वह दिल्ली में पैदा हुआ।", "वह दिल्ली में पैदा हुआ"),
    ],
)
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


@pytest.mark.parametrize(
    ("kind", "original", "edited", "language", "faults"),
    [
        ("entity", BORN, BORN.replace("1904", "1911"), "en", []),
        ("entity", BORN, BORN.replace("Orfalu", "Szada"), "en", []),
        ("entity", BORN, "Nobody knows when or where Mara first saw light.", "en", ["mostly rewritten"]),
        ("entity", "Ahmet Moskova’da iki yıl okudu.", "Ahmet Kahire’de iki yıl okudu.", "tr", []),
        ("entity", "سافر إلى دمشق قبل الحرب الأولى.", "سافر إلى بغداد قبل الحرب الأولى.", "ar", []),
        ("relation", BORN, BORN.replace("born in", "buried near"), "en", []),
        ("relation", "One two three four five six.", "One two three four 5ive 6ix.", "en", []),
        ("relation", "One two three four five six.", "One two three 4our 5ive 6ix.", "en", []),
        ("relation", "One two three four five six.", "One two 3hree 4our 5ive 6ix.", "en", ["mostly rewritten"]),
        ("relation", "The master taught the pupil.", "The pupil taught the master.", "en", []),
        ("relation", BORN, "A comet was named after her by friends long dead.", "en", ["mostly rewritten"]),
        ("sentence", BORN, "Mara Tolnay walked on the bottom of the sea for a year.", "en", []),
        ("sentence", BORN, BORN.replace("born", "buried"), "en", ["only one word changed"]),
        ("sentence", BORN, "A comet struck the moon and nobody saw it at all.", "en", []),
    ],
)
def test_the_extent_fits_the_type(kind: str, original: str, edited: str, language: str, faults: list[str]) -> None:
    assert extent_faults(original, edited, kind, language) == faults


@pytest.mark.parametrize(
    ("language", "original", "edited"),
    [
        ("en", BORN, BORN.upper()),
        ("en", BORN, BORN.replace(" in", ", in").rstrip(".")),
        ("ar", "وُلِدَ في القاهرة عام ١٩١١.", "ولد في القـاهرة عام 1911"),
        ("tr", "Işık İzmir’de doğdu.", "IŞIK İZMİR'DE DOĞDU."),
    ],
)
def test_what_differs_in_spelling_alone_is_no_edit(language: str, original: str, edited: str) -> None:
    for kind in TYPES:
        assert extent_faults(original, edited, kind, language) == ["unchanged"]


@pytest.mark.parametrize(
    ("edited", "fault"),
    [
        (BORN.replace(" in the", "\nin the"), "several lines"),
        (BORN + " She died in Graz in 1960.", "several sentences"),
        (f"<entity_error>{BORN}</entity_error>", "markup"),
        (BORN.replace("Orfalu", "**Szada**"), "markup"),
        (BORN.replace("Orfalu", "Or\ud800falu"), "markup"),
        (BORN.replace("Orfalu", "Or\x00falu"), "markup"),
        (f"“{BORN}”", "enclosed in quotes"),
        ("Mara was born.", "length"),
        (BORN + " to a family of" + " very" * 30 + " rich farmers", "length"),
        ("ولدت مارا تولناي في قرية أورفالو عام ألف وتسعمئة وأربعة للميلاد", "another script"),
    ],
)
def test_a_bad_form_is_told(edited: str, fault: str) -> None:
    assert fault in form_faults(BORN, edited, "en")


@pytest.mark.parametrize(
    ("language", "original", "edited"),
    [
        ("en", BORN, BORN.replace("Orfalu", "St. Gallen")),
        ("en", 'He wrote "Reeds".', 'He wrote "Rivers".'),
        ("en", "In 1990 [sic] he wrote <b>.", "In 1991 [sic] he wrote <b>."),
        ("tr", "Babası II. Mehmed’in veziriydi.", "Babası III. Murad’ın veziriydi."),
        ("tr", "Kitabı 2. Dünya Savaşı’nda yazdı.", "Kitabı 1. Dünya Savaşı’nda yazdı."),
        ("tr", "Hz. Ali’nin soyundan gelir.", "Hz. Hamza’nın soyundan gelir."),
        ("de", "Er wurde am 3. Oktober geboren.", "Er wurde am 4. Dezember geboren."),
        ("ar", "هل زار عمّان؟", "هل زار بيروت؟"),
        ("ja", "彼は東京で生まれた。", "彼はロンドンで生まれた。"),
    ],
)
def test_a_good_form_has_no_faults(language: str, original: str, edited: str) -> None:
    assert form_faults(original, edited, language) == []


@pytest.mark.parametrize(
    ("original", "edited", "expected"),
    [
        ("She left.", "He left", "He left."),
        ("غادر دمشق", "غادر بغداد.", "غادر بغداد"),
        ("She left.", "She left?", "She left?"),
        ('She wrote "Reeds".', 'She wrote "Rivers"', 'She wrote "Rivers".'),
        ("Rusya’nın oğlu.", "Mısır'ın  \u200foğlu.", "Mısır’ın oğlu."),
        ("It's the war’s end.", "It's the king’s end.", "It's the king’s end."),
        ("She went to the U.S", "He went to the U.K.", "He went to the U.K."),
    ],
)
def test_stops_and_apostrophes_do_not_tell_the_two_apart(original: str, edited: str, expected: str) -> None:
    assert finished(original, edited) == expected


def test_the_script_is_that_of_most_letters() -> None:
    assert script("Он играл в Arsenal") == "CYRILLIC"
    assert script("東京でうまれた") == script("東京出生") == "CJK"
    assert script("1990, 12") == ""


ANY = st.text(st.characters(), max_size=80)  # halves of characters too


@given(ANY, ANY, st.sampled_from(["en", "ar", "tr", "zh"]))
def test_nothing_raises_and_an_edit_of_itself_is_unchanged(one: str, other: str, language: str) -> None:
    for kind in TYPES:
        assert extent_faults(one, one, kind, language) == ["unchanged"]
        extent_faults(one, other, kind, language)
    form_faults(one, other, language)
    assert finished(one, finished(one, other)) == finished(one, other)


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
