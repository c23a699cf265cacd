"""Names of authors and of papers: tables, all real names, and what no list of papers may break."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.citations.authors import Author, author, spellings, words
from halu_tasks.scorers.citations.references import Paper, references, short_title

SURNAMES = [
    ("G. Panayi", "Panayi"),
    ("Angela  Richard-Eaglin", "Richard-Eaglin"),
    ("A. Mékinian", "Mékinian"),
    ("Ludwig van Beethoven", "van Beethoven"),
    ("I. V. D. van den Oever", "van den Oever"),
    ("Jan Van den Bossche", "Van den Bossche"),
    ("Alvaro de la Cámara", "de la Cámara"),
    ("H. V. D. Merwe", "Merwe"),
    ("J. de Rivera", "de Rivera"),
    ("de Vries GE", "de Vries"),
    ("Smith, John", "Smith"),
    ("Smith, J. K.", "Smith"),
    ("van der Berg, Jan Pieter", "van der Berg"),
    ("García López, María", "García López"),
    ("Smallheer, Jr., Benjamin", "Smallheer"),
    ("J. Smith, PhD", "Smith"),
    ("Abraham P. Greeff, Tanya De Bruyne", "Greeff"),
    ("Benjamin A Smallheer Jr.", "Smallheer"),
    ("Douglas Kwazneski Ii", "Kwazneski"),
    ("Alceu de Oliveira Toledo Júnior", "Toledo"),
    ("Dr.C K Gomathy", "Gomathy"),
    ("Dr. Muhammad Tariq Khan", "Khan"),
    ("Tony (Anthony) John Grenville Hey", "Hey"),
    ("H. Stuppner1", "Stuppner"),
    ("Deborah G. . Ancona", "Ancona"),
    ("Li Wei", "Li"),
    ("Wei Wang", "Wang"),
    ("Wang Wei", "Wang"),
    ("Liu Guoxia", "Liu"),
    ("Guoxia Liu", "Liu"),
    ("Hua Hou-jie", "Hua"),
    ("Di  Xu", "Xu"),
    ("Lin Ostrom", "Ostrom"),
    ("Yew-Kwang  Ng", "Ng"),
    ("Jong Bin Kim", "Kim"),
    ("Sun Cj", "Sun"),
    ("Archibong E P", "Archibong"),
    ("ChenAitao", "Chen"),
    ("St-MauriceJustin", "St-Maurice"),
    ("LUShan", "LU"),
    ("McDonald", "McDonald"),
    ("Nguyen", "Nguyen"),
    ("G. L.", "G. L."),
    ("王偉成", "王偉成"),
    ("古澤 慎一", "古澤"),
    ("Василь Петрович Загрийчук", "Загрийчук"),
    ("A. Al‐Momani", "Al‐Momani"),
    ("A. O'dowd", "O'dowd"),
    ("WHO Collaborating Group", "WHO Collaborating Group"),
    ("World Health Organization", "World Health Organization"),
    ("Youth Board on Children", "Youth Board on Children"),
    ("Families.", "Families"),
    ("A. Soundariya.", "Soundariya"),
    ("Un-Habitat", "Un-Habitat"),
    ("", ""),
    (" , ", ","),
]


@pytest.mark.parametrize(("name", "surname"), SURNAMES)
def test_surnames(name: str, surname: str) -> None:
    assert author(name).surname == surname


def test_given_names_are_what_is_left() -> None:
    assert author("Benjamin A Smallheer Jr.") == Author("Smallheer", "Benjamin A")
    assert author("Smith, J.") == author("J. Smith") == Author("Smith", "J.")
    assert author("de Vries GE") == Author("de Vries", "GE")


def test_names_are_compared_without_accents_case_and_marks() -> None:
    assert words("O’Dowd-Łęcki") == ["odowd", "lecki"]
    assert words("Kębłowski Đurđica Straße") == ["keblowski", "durdica", "strasse"]
    assert spellings("Rösler") == {"rosler", "roesler"}
    assert spellings("Al‐Momani") == spellings("al momani") == {"almomani"}


@pytest.mark.parametrize(
    ("papers", "keys"),
    [
        ([Paper("T", ["J. Ling", "D. Benton"], 2009)], ["Ling (2009)"]),
        ([Paper("T", ["A. Smith"], 2019), Paper("U", ["B. Smith", "C. D."], 2019)], ["Smith (2019a)", "Smith (2019b)"]),
        ([Paper("T", ["A. Smith"], 2019), Paper("U", ["A. Smith"], 2018)], ["Smith (2019)", "Smith (2018)"]),
        ([Paper("T", ["A. Rösler"], 1999), Paper("T", ["A. Roesler"], 1999)], ["Rösler (1999a)", "Roesler (1999b)"]),
        ([Paper("T", ["J. de Rivera"], 2012), Paper("T", ["J. Rivera"], 2012)], ["de Rivera (2012)", "Rivera (2012)"]),
        ([Paper("T", ["A. Smith"], None)], ["Smith (n.d.)"]),
        ([Paper("T", ["A. Smith"], 0), Paper("T", ["A. Smith"], None)], ["Smith (n.d.-a)", "Smith (n.d.-b)"]),
        ([Paper("Bites and blains.", [], 1971)], ['"Bites and blains" (1971)']),
        ([Paper('" Massage "', ["", " "], None)], ['"Massage" (n.d.)']),
        ([Paper(" ", [], 1971), Paper("", [], 1971)], ["Anonymous (1971a)", "Anonymous (1971b)"]),
        ([], []),
    ],
)
def test_keys(papers: list[Paper], keys: list[str]) -> None:
    assert [reference.key for reference in references(papers)] == keys


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("Cognitive load theory: Research that teachers need", "Cognitive load theory"),
        ("DevOps : The IBM approach", "DevOps : The IBM approach"),
        ("Social and Scientific Method or What", "Social and Scientific Method"),
        ("A Forum brief on nucleic acid vaccines.", "A Forum brief on nucleic"),
        ("The", "The"),
        ("", ""),
    ],
)
def test_short_titles(title: str, short: str) -> None:
    assert short_title(title) == short


def test_letters_are_for_26() -> None:
    assert references([Paper("T", ["A. Smith"], 2019)] * 26)[-1].key == "Smith (2019z)"
    with pytest.raises(ValueError, match="27 papers"):
        references([Paper("T", ["A. Smith"], 2019)] * 27)


@pytest.mark.parametrize(
    "name", ["J" + "." * 5_000 + "x y", "aB" * 2_000, "Wa" * 3_000, "(" * 9_000, "de " * 3_000, "A. " * 3_000]
)
def test_names_of_any_length_take_no_time(name: str) -> None:
    start = time.perf_counter()
    author(name)
    assert time.perf_counter() - start < 1


NAMES = st.sampled_from([name for name, _ in SURNAMES]) | st.text(max_size=12)
PAPERS = st.lists(
    st.builds(Paper, st.text(max_size=20), st.lists(NAMES, max_size=3), st.none() | st.integers(-1, 2200)), max_size=8
)


@given(PAPERS)
def test_every_paper_has_a_name_of_its_own(papers: list[Paper]) -> None:
    found = references(papers)
    keys = [reference.key for reference in found]
    assert len(set(keys)) == len(papers) == len(keys)
    assert all(reference.authors and reference.authors[0].surname for reference in found)
    assert all(key.endswith(")") and len(key) > len(" (n.d.)") for key in keys)


def test_names_of_real_papers(shared_data: Path) -> None:
    queries = json.loads((shared_data / "fave" / "paper_dataset.json").read_text())
    keys = []
    for query in queries:
        papers = [Paper(paper["title"], paper["authors"], paper["metadata"]["year"]) for paper in query["papers"]]
        found = [reference.key for reference in references(papers)]
        assert len(set(found)) == len(papers)
        keys += found
    assert sum(key.startswith('"') for key in keys) == 19
    assert sum(key.endswith("(n.d.)") for key in keys) == 3
    assert sum(key[-2].isalpha() for key in keys) == 104
    # no initials, titles or degrees are left
    several = {
        key.rpartition(" (")[0] for key in keys if not key.startswith('"') and key.rpartition(" (")[0].count(" ") > 1
    }
    assert several == {"van den Oever", "van der Hof", "van der Linden", "de la Cámara"}
