"""Which papers a sentence cites: `cited`.

Citations are what stands before a year, and numbers:

- "Ling (2009)", "Ling and Benton [2009]", "Ling et al.'s (2009)", "Ling's study (2009)"; the names may be unknown;
- "(Ling, 2009; see also Benton and Roy 2010, 2011a, b)", "[Ling 2009]"; the names may be unknown where nothing but
  "see" and its like stands before them;
- "Ling 2009", "Ling, 2009", "Ling's 2009 trial", "the 2009 trial by Ling" in running text: only if a paper fits, or
  with "et al." or "&";
- "Paper 3", "Papers 1, 2 and 4", "[3]", "[1-3]", counted from 1.

A paper fits if the first name is that of its first author and the year is its own; else one whose other authors
include the first name. Whoever is named beside it only decides between several that fit. A year alone is no
citation, nor is a name alone. "n.d." is the year of papers that have none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from halu_tasks.scorers.citations.names import REACH, Names, names_before, names_behind
from halu_tasks.scorers.citations.references import Reference
from halu_tasks.scorers.citations.resolution import Index, index

# No real sentence is longer; the rest of a longer one is not read.
_LONGEST = 20_000


class Citations(NamedTuple):
    """The papers that a sentence cites: their places in the list, each once, in the order of their first citation.
    `unknown` are citations, as written, that fit no paper; `ambiguous` those that fit several, all of which are
    among the known."""

    known: list[int]
    unknown: list[str]
    ambiguous: list[str]


class _Found(NamedTuple):
    at: int
    papers: list[int]
    written: str


_CLEAN = str.maketrans(
    {
        **dict.fromkeys(map(ord, "*`~\\_\u200b\u200c\u200d\u2060\ufeff\u00ad"), ""),
        **dict(zip(map(ord, "（）【】［］，；：＆"), "()[][],;:&", strict=True)),
        **dict.fromkeys(map(ord, "‐‑‒–—−"), "-"),
        **dict.fromkeys(map(ord, "’‘ʼ′"), "'"),
        **dict.fromkeys(map(ord, "\u00a0\u202f\u2009\n\r\t"), " "),
    }
)
_SPACES = re.compile(r"  +")
_TAG = re.compile(r"</?[a-zA-Z]{1,10}>")
# where white space is missing: "根据Ling (2009)", "[Ling2009]"
_GAP = re.compile(r"(?<=[\u3040-\u9fff])(?=[A-Za-z])|(?<=[^\W\d_]{3})(?=(?:19|20)\d\d[a-z]?\b)")

_YEAR = r"(?:(?:1[5-9]|20)\d\d(?!\d)|n\. ?d\.|no date|undated)"
_LETTERS = r"(?:(?:-?[a-z](?![\w'])| [a-z](?= ?[)\];,]))(?:(?: ?[,/&-] ?| and )[a-z](?= ?[)\];,/&]))*)?"
_YEARS = re.compile(
    rf"(?<![\w./$£€-]){_YEAR}{_LETTERS}"
    rf"(?:(?:,? ?[;/&] ?|, ?(?:and )?| and ){_YEAR}{_LETTERS}(?= ?(?:[)\],;:.&/']|and\b|\Z)))*"
    r"(?![\w%]|\.\d| ?-+ ?\d| (?:to|until|through)\b)",
    re.IGNORECASE,
)
_ONE_YEAR = re.compile(rf"(?P<year>{_YEAR})(?P<letters>\D*?)(?={_YEAR}|\Z)", re.IGNORECASE)
_ONE_LETTER = re.compile(r"(?<![a-z])[a-z](?![a-z])", re.IGNORECASE)
_DATED = re.compile(r"[(\[] ?(?:(?:published|in|from|year|dated|c\.|ca\.|circa):? ){0,3}\Z", re.IGNORECASE)
_STUDY = re.compile(r"'s?(?: [a-z-]{2,20}){1,4} ?\Z")
_CLOSES = re.compile(r"[^()\[\]]{0,60}[)\]]")
_AGAIN = re.compile(r"[\s,;&)\](\[]{0,9}(?:(?:and|or|also|as well as)[\s,;&(\[]{0,9})?", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:\s|[,:\"'“]|\b(?:see|also|but|e\.?g\b\.?|i\.?e\b\.?|cf\b\.?|for|(?:an )?(?:reviews?|example|instance|overview)"
    r"|(?:reviewed|as|cited|reported|shown|described|discussed|found) (?:in|by)|as|and|from|studies|study|work|citing"
    r"|sources?|adapted|according|to|both|by|compare|contra|unlike|like|similar)\b)*+",
    re.IGNORECASE,
)
_BY = re.compile(r"(?: [a-z-]{2,20}){1,4} (?:by|from|of) (?:the )?")
_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December),? ?\Z"
)
_NUMBERS = r"\d{1,3}(?: ?(?:,|;|&|and|or|-|to|,? and) ?(?:papers? )?#?\d{1,3}(?![\d%]|\.\d|\w)){0,30}"
_PAPER = re.compile(
    r"\b(?:(?:papers|abstracts|references|refs\.?) ?(?:nos\.? |numbers )?[#\[(]?(?P<many>" + _NUMBERS + r")"
    r"|(?:paper|abstract|reference|ref\.?) ?(?:no\.? ?|number )?[#\[]?(?:(?P<listed>" + _NUMBERS + r")(?= ?[)\]])"
    r"|(?P<one>\d{1,3})))(?![\w%]|\.\d)",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"\[ ?#?(?P<numbers>" + _NUMBERS + r") ?(?:, ?pp?\. ?[\d-]{1,9})?\]")
# an interval: "95% CI [1, 5]", "4 [3, 5]"
_INTERVAL = re.compile(r"(?:\b(?:CI|CrI|IQR|interval|range|scale|median|mean)\b.{0,12}|[\d%=,:] ?)\Z", re.IGNORECASE)
_PART = re.compile(r"(\d+)(?: ?(?:-|to) ?#?(\d+))?")


def cited(sentence: str, references: Sequence[Reference]) -> Citations:
    """The citations of a sentence, resolved. In time linear in its length."""
    text = (
        unicodedata.normalize("NFC", sentence[:_LONGEST]).translate(_CLEAN).replace("&amp;", "&").replace("&nbsp;", " ")
    )
    text = _GAP.sub(" ", _SPACES.sub(" ", _TAG.sub("", text)))
    found = [*_by_number(text, len(references)), *_by_year(text, index(tuple(references)))]
    found.sort(key=lambda one: one.at)
    return Citations(
        list(dict.fromkeys(paper for one in found for paper in one.papers)),
        list(dict.fromkeys(one.written for one in found if not one.papers)),
        list(dict.fromkeys(one.written for one in found if len(one.papers) > 1)),
    )


def _by_number(text: str, count: int) -> Iterator[_Found]:
    for found in _PAPER.finditer(text):
        yield from _numbered(found, found["many"] or found["listed"] or found["one"], count)
    for found in _BRACKET.finditer(text):
        numbers = found["numbers"]
        pair = re.search(r"[,;]", numbers) and _INTERVAL.search(text, max(found.start() - 20, 0), found.start())
        if not pair and not re.search(r"\b0", numbers):
            yield from _numbered(found, numbers, count)


def _numbered(found: re.Match[str], numbers: str, count: int) -> Iterator[_Found]:
    wanted: list[int] = []
    for part in _PART.finditer(numbers):
        first, last = int(part[1]), int(part[2] or part[1])
        wanted += range(first, last + 1) if first <= last <= first + 30 else [first, last]
    for number in wanted:
        alone = len(wanted) == 1
        written = found[0] if alone else f"[{number}]" if found[0][0] == "[" else f"Paper {number}"
        yield _Found(found.start(), [number - 1] if 1 <= number <= count else [], written)


class _Place(NamedTuple):
    """Where the years of a citation stand: the text before them without an opening bracket ends at `end`, and its
    names begin at `floor` or later."""

    floor: int
    end: int
    opened: bool  # directly behind a bracket
    inside: bool  # in a bracket behind other words
    sure: bool  # a citation even if no paper fits


def _by_year(text: str, papers: Index) -> Iterator[_Found]:
    previous = 0
    inside = False
    last: Names | None = None
    for years in _YEARS.finditer(text):
        between = text[previous : years.start()]
        opener = max(between.rfind("("), between.rfind("["))
        closer = max(between.rfind(")"), between.rfind("]"))
        goes_on = inside and closer < 0
        inside = opener > closer or (goes_on and opener < 0)
        place = _place(text, previous, years.start(), inside)
        names = names_before(text, place.end, place.floor)
        if names is None and last and (goes_on or place.opened) and _AGAIN.fullmatch(between):
            names = last
        elif not (inside or place.opened or (names and names.credible)) and (by := _BY.match(text, years.end())):
            # "the 2009 trial by Ling"
            names = names_behind(text, by.end())
        last = names
        yield from _dated(text, years, names, place, papers)
        previous = years.end()


def _place(text: str, floor: int, start: int, inside: bool) -> _Place:
    floor = max(floor, start - REACH)
    dated = _DATED.search(text, max(floor, start - 40), start)
    if dated:
        end = dated.start()
        study = _STUDY.search(text, max(floor, end - 90), end)
        return _Place(floor, study.start() if study else end, True, inside, not study and len(dated[0]) < 3)
    if inside:
        floor = max(floor, *(text.rfind(sign, floor, start) + 1 for sign in "([;"))
    return _Place(floor, start, False, inside, inside)


def _dated(text: str, years: re.Match[str], names: Names | None, place: _Place, papers: Index) -> Iterator[_Found]:
    """The citations that names and years make."""
    before = text[place.floor : place.end]
    alone = not place.opened and not place.inside
    if alone and _MONTH.search(before[-12:]):
        return
    sure = names is not None and names.credible and (place.sure or names.several)
    if names and sure and place.inside and not place.opened:
        sure = names.several or bool(_LEAD.fullmatch(text, place.floor, max(names.at, place.floor)))
    for year, letter, one in _each(years[0]):
        fit = papers.named(names, year, letter) if names else []
        if not fit and (names is None or place.floor <= names.at < place.end):
            fit = papers.called(before, names.size if names else int(alone), year, letter)
        if fit or sure:
            yield _Found(years.start(), fit, _written(text, years, one, names, place))


def _each(years: str) -> list[tuple[int | None, str, str]]:
    """Each year and letter of a list, and both as written: "2009a, b and 2011" has three."""
    found = [
        (int(one["year"]) if one["year"].isdigit() else None, letter.lower(), one["year"] + letter)
        for one in _ONE_YEAR.finditer(years)
        for letter in _ONE_LETTER.findall(one["letters"]) or [""]
    ]
    return found if len(found) > 1 else [(*found[0][:2], years)]


def _written(text: str, years: re.Match[str], one: str, names: Names | None, place: _Place) -> str:
    """The citation of one year as it is written; where it stands apart from its names, put together."""
    if names and (one != years[0] or not place.floor <= names.at < place.end):
        return f"{names.written} ({one})"
    closes = _CLOSES.match(text, years.end()) if place.opened else None
    written = text[names.at if names else place.floor : closes.end() if closes else years.end()]
    return written.strip(" ,;" if place.opened else " ,;()[]")
