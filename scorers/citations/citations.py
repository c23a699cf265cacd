"""Find the papers that a sentence cites.

Citations have a name and a year, or a number:

- "Ling (2009)", "Ling and Benton [2009]", "Ling et al.'s (2009)", "Ling's study (2009)", even if no paper matches;
- "(Ling, 2009; see also Benton and Roy 2010, 2011a, b)", "[Ling 2009]"; if no paper matches, only if there is no text
  before the names except "see" and similar words;
- "Ling 2009", "Ling, 2009", "Ling's 2009 trial", "the 2009 trial by Ling" in running text; only if a paper matches, or
  with "et al." or "&";
- "Paper 3", "Papers 1, 2 and 4", "[3]", "[1-3]", counted from 1.

A paper matches if the first name is that of its first author and the year is the same. If no paper matches, those
with the name among their other authors match. Further names are used only to choose between several matches. A year
alone is not a citation, and neither is a name alone. The year of papers without one is "n.d.".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from halu_tasks.scorers.citations.names import REACH, Names, names_before, names_behind
from halu_tasks.scorers.citations.references import Reference
from halu_tasks.scorers.citations.resolution import Index, index

# Characters of a sentence that are read; no real sentence is longer.
_LONGEST = 20_000


class Citations(NamedTuple):
    """The citations of a sentence.

    Attributes:
        known: The indexes of the papers that are cited, each once, in the order of their first citation.
        unknown: The citations, as written, that match no paper.
        ambiguous: The citations, as written, that match several papers, all of which are among the known.
    """

    known: list[int]
    unknown: list[str]
    ambiguous: list[str]


class _Citation(NamedTuple):
    """A citation at a position of the text, with the indexes of the papers that match."""

    start: int
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
# Places where a space is missing: "根据Ling (2009)", "[Ling2009]"
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
# Text before a bracket with an interval: "95% CI [1, 5]", "4 [3, 5]"
_INTERVAL = re.compile(r"(?:\b(?:CI|CrI|IQR|interval|range|scale|median|mean)\b.{0,12}|[\d%=,:] ?)\Z", re.IGNORECASE)
_PART = re.compile(r"(\d+)(?: ?(?:-|to) ?#?(\d+))?")


def cited(sentence: str, references: Sequence[Reference]) -> Citations:
    """Find the citations of a sentence and the papers of a list that they match, in linear time.

    Args:
        sentence: The sentence.
        references: The papers of the list.
    """
    text = unicodedata.normalize("NFC", sentence[:_LONGEST]).translate(_CLEAN)
    text = _TAG.sub("", text.replace("&amp;", "&").replace("&nbsp;", " "))
    text = _GAP.sub(" ", _SPACES.sub(" ", text))
    citations = [*_by_number(text, len(references)), *_by_year(text, index(tuple(references)))]
    citations.sort(key=lambda citation: citation.start)
    return Citations(
        list(dict.fromkeys(paper for citation in citations for paper in citation.papers)),
        list(dict.fromkeys(citation.written for citation in citations if not citation.papers)),
        list(dict.fromkeys(citation.written for citation in citations if len(citation.papers) > 1)),
    )


# --- citations by number ------------------------------------------------------------------------------


def _by_number(text: str, count: int) -> Iterator[_Citation]:
    """Find citations such as "Paper 3" and "[3]" in a list of `count` papers."""
    for match in _PAPER.finditer(text):
        yield from _numbered(match, match["many"] or match["listed"] or match["one"], count)
    for match in _BRACKET.finditer(text):
        numbers = match["numbers"]
        before = max(match.start() - 20, 0), match.start()
        is_interval = re.search(r"[,;]", numbers) and _INTERVAL.search(text, *before)
        if not is_interval and not re.search(r"\b0", numbers):
            yield from _numbered(match, numbers, count)


def _numbered(match: re.Match[str], numbers: str, count: int) -> Iterator[_Citation]:
    """Return the citation of each number in a list with ranges, such as "1-3, 7"."""
    cited_numbers: list[int] = []
    for part in _PART.finditer(numbers):
        first, last = int(part[1]), int(part[2] or part[1])
        cited_numbers += range(first, last + 1) if first <= last <= first + 30 else [first, last]
    for number in cited_numbers:
        one_of_several = f"[{number}]" if match[0][0] == "[" else f"Paper {number}"
        written = match[0] if len(cited_numbers) == 1 else one_of_several
        yield _Citation(match.start(), [number - 1] if 1 <= number <= count else [], written)


# --- citations by name and year -----------------------------------------------------------------------


class _CitationPlace(NamedTuple):
    """The text before the years of a citation, from which its names are read.

    Attributes:
        floor: The position from which on the names may begin.
        end: The end of the text, without an opening bracket.
        opened: Whether the years directly follow an opening bracket.
        inside: Whether the years are in a bracket, after other words.
        sure: Whether names here are a citation even if no paper matches.
    """

    floor: int
    end: int
    opened: bool
    inside: bool
    sure: bool


def _by_year(text: str, papers: Index) -> Iterator[_Citation]:
    """Find citations by name and year."""
    previous = 0
    inside = False
    previous_names: Names | None = None
    for years in _YEARS.finditer(text):
        between = text[previous : years.start()]
        opener = max(between.rfind("("), between.rfind("["))
        closer = max(between.rfind(")"), between.rfind("]"))
        same_bracket = inside and closer < 0
        inside = opener > closer or (same_bracket and opener < 0)
        place = _place(text, previous, years.start(), inside)
        names = names_before(text, place.end, place.floor)
        if names is None and previous_names and (same_bracket or place.opened) and _AGAIN.fullmatch(between):
            # "Ling (2009) and (2011)"
            names = previous_names
        elif not (inside or place.opened or (names and names.credible)) and (by := _BY.match(text, years.end())):
            # "the 2009 trial by Ling"
            names = names_behind(text, by.end())
        previous_names = names
        yield from _dated(text, years, names, place, papers)
        previous = years.end()


def _place(text: str, floor: int, start: int, inside: bool) -> _CitationPlace:
    """Determine where the names of the years at `start` may be.

    Args:
        text: The text.
        floor: The end of the previous years.
        start: The start of the years.
        inside: Whether the years are in a bracket.
    """
    floor = max(floor, start - REACH)
    if bracket := _DATED.search(text, max(floor, start - 40), start):
        # "Ling's own earlier work (2009)" cites Ling, but only if a paper matches; so does "Ling (published 2009)"
        study = _STUDY.search(text, max(floor, bracket.start() - 90), bracket.start())
        end = study.start() if study else bracket.start()
        return _CitationPlace(floor, end, opened=True, inside=inside, sure=not study and len(bracket[0]) < 3)
    if inside:
        floor = max(floor, *(text.rfind(sign, floor, start) + 1 for sign in "([;"))
    return _CitationPlace(floor, start, opened=False, inside=inside, sure=inside)


def _dated(
    text: str, years: re.Match[str], names: Names | None, place: _CitationPlace, papers: Index
) -> Iterator[_Citation]:
    """Return the citations of the same names with one or several years."""
    before = text[place.floor : place.end]
    in_running_text = not place.opened and not place.inside
    if in_running_text and _MONTH.search(before[-12:]):
        return
    sure = names is not None and names.credible and (place.sure or names.several)
    if names and sure and place.inside and not place.opened:
        sure = names.several or bool(_LEAD.fullmatch(text, place.floor, max(names.at, place.floor)))
    for date in _dates(years[0]):
        matches = papers.named(names, date.year, date.letter) if names else []
        if not matches and (names is None or place.floor <= names.at < place.end):
            matches = papers.called(before, names.size if names else int(in_running_text), date.year, date.letter)
        if matches or sure:
            yield _Citation(years.start(), matches, _written(text, years, date, names, place))


class _Date(NamedTuple):
    """A year, None for "n.d.", with its letter, and both as written."""

    year: int | None
    letter: str
    written: str


def _dates(years: str) -> list[_Date]:
    """Split a list of years, of which "2009a, b and 2011" has three."""
    dates = [
        _Date(int(match["year"]) if match["year"].isdigit() else None, letter.lower(), match["year"] + letter)
        for match in _ONE_YEAR.finditer(years)
        for letter in _ONE_LETTER.findall(match["letters"]) or [""]
    ]
    return dates if len(dates) > 1 else [dates[0]._replace(written=years)]


def _written(text: str, years: re.Match[str], date: _Date, names: Names | None, place: _CitationPlace) -> str:
    """Return the citation of one year as written, or assembled if the year is not next to its names."""
    if names and (date.written != years[0] or not place.floor <= names.at < place.end):
        return f"{names.written} ({date.written})"
    closing = _CLOSES.match(text, years.end()) if place.opened else None
    written = text[names.at if names else place.floor : closing.end() if closing else years.end()]
    return written.strip(" ,;" if place.opened else " ,;()[]")
