"""Sentences of summaries: wordings with their ends marked, what is lost, time."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.text.sentences import sentences, spans

# "|" stands where a sentence ends
MARKED = [
    "Ling et al. (2009) found gains.| Benton (2010) did not.",
    "Ling et al. found gains.| See Fig. 2 and Figs. 3 and 4 (Eq. 5).| Then Fig. 6.| Then",
    "This was shown by Ling et al.| The others disagree.",
    "As Ling et al. 2009 and Lee et al., 2010, and Roy et al. [3] say.| So it is.",
    "Herbs, oils, etc.| Trials are few.",
    "Herbs, oils, etc. were tried.",
    "Dr. Ling and Prof. Lee, e.g. in trials vs. Placebo, i.e. sugar, cf. Roy, found none.",
    "It grew in E. coli and S. aureus.| Then it died.",
    "J. Smith and A. B. Lee found it.| J.-P. Roy too.| So did M.B. Fox.",
    "They were seen in the ED.| Those with MS.| Others left.",
    "Ph.D. students and M.D. holders in the U.S. Army met.| This was in the U.S.| They left at 5 p.m. on Monday.",
    "Adults (in the U.S.) The Hague knows.",
    "Martin Luther King Jr. Boulevard.| So says Smallheer Jr.| However, not all do.",
    "Take vitamin C.| Patients with hepatitis B.| All of them.",
    "The mean was 3.5 (p < .05, d = 0.4).| It fell to .2 vs. .3.| 30 patients left.",
    "Doses of 5.5 mg/kg.| 5 of them.| No. 5 was best.| The answer is no.| Then 3.",
    "It rose by 5%.| It fell in 2009.| The rest stayed.",
    "Well... perhaps.| It rose...| Then it fell…| So.| [...] goes on.| And (?) again.",
    "Does it work?| Yes!| Really?!| Benton doubts it.",
    "“It works.”| Ling said: \"It does.\"| Then he left.| 'No.'| So.",
    "(This is one.)| Next (not this.)| Then.",
    "(This is one. And two.)| Next.",
    "Work improved (Smith et al., 2019; Lee, 2020).| Others (see p. 3) agree.",
    "It works. (Ling, 2009)| It does. (see Ling et al., 2009; Roy 2010).| Next.",
    "It works.[3]| It does. [3, 4]| So.¹²| Next.",
    "It works.| [3] shows why.| (Ling, 2009) shows how.",
    "It works (Ling, 2009; Roy, 2010. Vol. 3).| Next.",
    "It is done.|Then it was.|Smith agrees (2009).|So (Roy, 2010)(Lee).|Next.",
    "Read https://www.Nature.Com/x.Html and a@b.Org and Node.js 2.0 and file.TXT.| Next.",
    "**Finding.**| *It works.*| Next **Ling (2009).**| Done.",
    "mTOR fell.| p53 rose.| β-carotene helps.| n-3 fats too, e.g. n-3 oils.",
    "There are two: 1. Ling found it.| 2. Roy did not.| So it is.",
    "Ling (2009) found A; Benton (2010) found B: milk.| So",
    "它有效（Ling，2009）。|真的吗？|是的！|“好。”|他说。|",
    "هل يعمل؟| نعم.| یہ ہے۔| اور",
    "क्या यह सच है?| हाँ।| ठीक है।|",
    "Es hilft z.B. gegen Schmerz.| Ça va.| Élan vital.",
    "Table 1 shows it | Ling | Roy",
    "",
    "It",
]
LINES = [
    ("# Results\n\nIt works. It does.\n\n## More\nDone", ["Results", "It works.", "It does.", "More", "Done"]),
    ("- one thing\n* two things\n• three\n  - four. Five", ["one thing", "two things", "three", "four.", "Five"]),
    ("1. One.\n2) Two.\n(3) Three.\na) Four", ["One.", "Two.", "Three.", "Four"]),
    ("> It is quoted.\n> - Listed", ["It is quoted.", "Listed"]),
    ("Line one\nLine two\r\nLine three\u2028Line four", ["Line one", "Line two", "Line three", "Line four"]),
    ("Ling found\nthat it works\n(Roy, 2010). So\nit is.", ["Ling found\nthat it works\n(Roy, 2010).", "So\nit is."]),
    ("It works.\nlow doses do not.", ["It works.", "low doses do not."]),
    ("By Ling et al.\nin 2009.", ["By Ling et al.\nin 2009."]),
    ("# Title\nthe text", ["Title", "the text"]),
    ("These:\none\n\ntwo", ["These:", "one", "two"]),
    ("One.\n\n---\n\nTwo.\n***\nThree.", ["One.", "Two.", "Three."]),
    (
        "| Paper | Found |\n|---|:--|\n| Ling (2009) | It works. |",
        ["| Paper | Found |", "| Ling (2009) | It works. |"],
    ),
    ("\n \n- \n", []),
    (
        "**Key points:**\n- **Mood**: It rose (Ling, 2009). It fell.",
        ["**Key points:**", "**Mood**: It rose (Ling, 2009).", "It fell."],
    ),
    ("2009 was cold.\n5.5 mg\n-5 degrees", ["2009 was cold.", "5.5 mg", "-5 degrees"]),
]
MARK = re.compile(r"(?:\s|#{1,6}|[-*+·–—>•◦▪‣●○=_|:]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))*")


@pytest.mark.parametrize("marked", MARKED)
def test_sentences_end_where_a_reader_ends_them(marked: str) -> None:
    parts = [marked] if marked.startswith("Table") else marked.split("|")
    assert sentences("".join(parts)) == [part.strip() for part in parts if part.strip()]


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_lines_and_their_marks(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


ALPHABET = (
    "Ling|(2009)|et al.|et al. |found|. |.|...|! |? |\n|\n\n|- |* |1. |# |> |(|)|[3]|[|]|“|”|e.g. |J. |3.5|U.S. |。|؟"
    "|—|  |\t|---\n|a) |A|b|Ü|中|\u2028|\r\n|\x85|：|（|）|*|**|_"
)
PIECES = st.sampled_from(ALPHABET.split("|"))
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60)


@given(TEXTS)
def test_nothing_is_lost_but_white_space_and_marks(text: str) -> None:
    found = spans(text)
    edges = [0, *(edge for span in found for edge in span), len(text)]
    assert edges == sorted(edges)
    for start, end in found:
        assert start < end and text[start:end] == text[start:end].strip()
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        assert MARK.fullmatch(text, start, end)
        # inside a line there are no marks
        if start and "\n" not in text[:end] and not text[:start].isspace():
            assert not text[start:end].strip() or len(text[:end].splitlines()) > 1
    assert sentences(text) == [text[start:end] for start, end in found]


@given(TEXTS, TEXTS)
def test_paragraphs_are_split_on_their_own(first: str, second: str) -> None:
    assert sentences(f"{first}\n\n{second}") == sentences(first) + sentences(second)


LOOPS = [
    "It works. ",
    "a. ",
    "A. B ",
    "Ling et al. (2009) works. ",
    "(.",
    "(a.",
    ". (a",
    "x",
    " ",
    "- ",
    "\n",
    "a\n",
    ".",
]
LOOPS += [
    '."',
    "1. ",
    "。",
    "Ling\n(",
    "It. [1",
    "a.A",
    "#",
    "(",
    ".(1",
    "-",
    "a.)))",
    "*",
    "et al. ",
    ". (2009 ",
    "." * 200_000 + "1",
    "a." + "'" * 199_990 + "1",
]


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop[:20])
def test_ten_megabytes_take_no_time(loop: str) -> None:
    text = loop * (10_000_000 // len(loop)) if len(loop) < 100_000 else loop
    start = time.perf_counter()
    found = spans(text)
    # a fifth of it at most on an idle machine
    assert time.perf_counter() - start < 8
    assert not found or text[found[-1][1] :].strip("\n ") in ("", "-", "- -")


def test_what_no_summary_is_as_long_as_stays_in_one_piece() -> None:
    text = "It works. " * 30_000
    found = sentences(text)
    assert found[:20_000] == ["It works."] * 20_000
    assert len(found) == 20_001 and len(found[-1]) == 10 * 10_000 - 1


def test_real_abstracts_fall_into_sentences(shared_data: Path) -> None:
    """Of 1,600 abstracts: no sentence ends in an abbreviation of the middle of a sentence or begins in lower case,
    but for what its authors began so."""
    queries = json.loads((shared_data / "fave" / "paper_dataset.json").read_text())
    found = [sentence for query in queries for paper in query["papers"] for sentence in sentences(paper["summary"])]
    cut = [sentence for sentence in found if re.search(r"(?:\be\.g|\bi\.e|\bvs|\bcf|\bFigs?|\bDr)\.\Z", sentence)]
    lower = [sentence for sentence in found if re.match(r"[a-z]{3}", sentence)]
    assert len(found) > 10_000
    assert len(cut) <= 3 and len(lower) < len(found) / 100


def test_a_name_with_particles_begins_a_sentence() -> None:
    text = "Quarles (2015) saw it. van der Meer (2018) did not. de la Cruz (2001) agrees, as does e.g. van Dyk (2003)."
    assert len(sentences(text)) == 3
