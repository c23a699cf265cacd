"""The lines of a reply that gives strings: list marks, headings, what is set off in quotation marks, and remarks.

Models write "Here are the wrong entities:" before a list and "The correct sentence should be:" after it; what these
words are about is in the lexicon `strings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from halu_tasks.scorers.reading.lexicon import LANGUAGES, Lexicon, lexicon
from halu_tasks.text.folding import fold

Unit = Literal["entity", "sentence", "passage", "replacement"]
SPACE = " \t\r\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069"
_SIGNS = "❌✗✘✖✅✓✔☑⚠\ufe0f"
LONGEST = 2_000  # characters of a line that are looked up; an entity or a sentence is shorter
MOST_LINES = 1_000
PAIRS = ("“”", "„“", "„”", "«»", "»«", "‹›", "›‹", "‚‘", "‚’", "‘’", "「」", "『』", "《》", "＂＂", "””", "〝〞")
"""The quotation marks that open and close in pairs, of all languages."""
ENCLOSING = frozenset((*PAIRS, '""', "''", "``"))
"""The pairs of quotation marks; of those of ASCII, some are also apostrophes and signs of inches."""
_QUOTED = re.compile(
    r"\"(?!\s)([^\"\n]{1,2000})(?<!\s)\"|"
    + "|".join(f"{pair[0]}([^{pair}\n]{{1,2000}}){pair[1]}" for pair in PAIRS)
    + r"|`([^`\n]{1,300})`|\*\*([^*\n]{1,2000})\*\*|~~([^~\n]{1,2000})~~"
    r"|(?<!\w)'([^'\n]{1,300})'(?!\w)|<(?!mask>)([^<>/\n]{1,300})>(?! ?\w)|(?<![\w*])[*_]([^*_\n]{1,300})[*_](?![\w*])"
)
BULLET = r"(?:[-*+–—●]\s+|[•◦▪‣·]\s*)|[◆◇■□▶►➤🔹🔸🔴🔵🟢]\ufe0f?\s*"
NUMBER = r"\[\d{1,2}\]:?\s+|\(?\d{1,3}[.)](?:\s+|(?=[^\W\d]|[\"“*`<])|$)|\d\ufe0f?\u20e3\s*"
"""Expressions of the marks of a list."""
TICKED = re.compile(r"\[[xX✓✔]\]")
_MARK = re.compile(rf"(?:{BULLET})(?:\[ ?\]\s+)?|{NUMBER}|\(?[a-z]\)\s+", re.IGNORECASE)
# numbers and letters that may be part of a string; they are list marks only if they count
_COUNTING = re.compile(
    r"\(?(\d{1,2}(?=\s?[:|\t–—-])|(?:[a-z]|[ivx]{2,5})(?=[.):]))\s?[.):|\t–—-]\s+(?=\S)", re.IGNORECASE
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_BEFORE_MARK = re.compile(r"^(?:[#>]|&gt;|\s)*(?:\*\*(\(?\d{1,3}[.):])\*\*(?=\s))?")
_INLINE = re.compile(r"((?:[^:：\"“„«「\n]|:(?=\w)){1,160}?)[*_`]*\s*[:：=][*_]*(?=[\s\"“„«「*`<]|[A-Z]|$)\s*")
_STATES = re.compile(
    r"([^:\"“«\n]{3,160}?\b(?:is|are|reads?|says?|were|was|be):?)\s+(?=\S)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"#{1,6}\s+\S|\*\*[^*\n]{1,60}\*\*\s*\Z")


class Line(NamedTuple):
    """A line of a reply without its list mark.

    Attributes:
        text: The text.
        indent: The indent in characters; -1 without a list mark.
        gap: Whether a blank line precedes it.
        is_title: Whether it has the markup of a title.
    """

    text: str
    indent: int
    gap: bool
    is_title: bool = False

    @property
    def is_prose(self) -> bool:
        """Whether the line is running text, not a string that was asked for."""
        words = self.text.count(" ") + 1
        return words >= 20 or (words >= 6 and self.text.endswith((".", "!", "?")))


class Piece(NamedTuple):
    """A string in a line, and its place there with its quotation marks."""

    string: str
    start: int
    end: int


def quoted(text: str) -> list[Piece]:
    """Return the strings in quotation marks or emphasis."""
    return [Piece(_content(piece), *piece.span()) for piece in _QUOTED.finditer(text) if _content(piece)]


def unquoted(text: str, piece: str = "") -> str:
    """Return a text with something in the place of what is in quotation marks or emphasis."""
    return _QUOTED.sub(piece, text)


def bare(text: str) -> str:
    """Return a string without the quotes and emphasis around it."""
    text = text.strip(SPACE + _SIGNS)
    while text and not text[0].isalnum() and (piece := _QUOTED.fullmatch(text.rstrip(" .,;:。"))) and _content(piece):
        text = _content(piece)
    return text


def _content(piece: re.Match[str]) -> str:
    return piece[piece.lastindex or 0].strip(SPACE)


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text that have words; of very many, those at either end."""
    raws = text.splitlines()
    raws = raws[: MOST_LINES // 2] + raws[MOST_LINES // 2 :][-MOST_LINES // 2 :]
    counted = _counted(raws)
    gap = False
    for number, raw in enumerate(raws):
        text = raw.strip(SPACE)
        if not text.strip("-*_=`~ #>"):
            gap = True
            continue
        is_title = bool(_TITLE.match(text))
        text = TICKED.sub("✔", _BEFORE_MARK.sub(r"\1", text[: LONGEST * 5]))
        end = counted.get(number) or ((mark := _MARK.match(text)) and mark.end()) or 0
        if body := text[end:].strip(SPACE):
            yield Line(body, len(raw) - len(raw.lstrip()) if end else -1, gap, is_title)
        gap = False


def _counted(raws: list[str]) -> dict[int, int]:
    """Return the ends of the numbers or letters before lines if they count from the first on."""
    ends: dict[int, int] = {}
    for number, line in enumerate(raws):
        mark = _COUNTING.match(line.strip(SPACE))
        at = len(ends)
        if mark and mark[1].lower() in (str(at + 1), chr(ord("a") + at), *_ROMAN[at : at + 1]):
            ends[number] = mark.end()
    return ends if len(ends) > 1 else {}


# --- headings ---------------------------------------------------------------------------------------------


def words() -> Lexicon:
    """Return the words that headings, fields and lines are about, in all languages."""
    return lexicon(*(f"strings.{language}" for language in LANGUAGES))


@lru_cache(maxsize=2**12)
def kinds(name: str) -> frozenset[str]:
    """Return what the words of a heading, a label or the name of a field are about, as kinds of the lexicon."""
    plain = name[-300:].replace("_", " ").strip("*` ")
    return frozenset(token.kind for token in words().scan(fold(plain)))


def rank_of(heading: str, unit: Unit) -> int:
    """Return how well a heading names what was asked for: 2 if it does, 1 if not, -1 before corrections or reasons."""
    asked = {"replacement", "right", "corrected", "final"} if unit == "replacement" else {"wrong", "final"}
    asked |= {unit} if unit == "sentence" or heading.count(" ") < 4 else set()
    heading_kinds = kinds(heading)
    is_right = "corrected" in heading_kinds or heading_kinds & {"right", "wrong"} == {"right"}
    if "aside" in heading_kinds or (
        unit != "replacement" and (is_right or (heading_kinds & {"analysis"} and not heading_kinds & asked))
    ):
        return -1
    return 2 if heading_kinds & asked else 1


@dataclass(eq=False)
class Section:
    """The lines under one heading, and the rank of this (`rank_of`), which is 0 without a heading."""

    rank: int
    heading: str
    lines: list[Line]


def sections(reply_lines: Iterable[Line], unit: Unit) -> list[tuple[int, list[Line]]]:
    """Return the ranks and lines of the sections of a reply in the order in which they are tried for an answer."""
    by_heading = [Section(0, "", [])]
    for line in reply_lines:
        heading, rest = _heading(line, unit)
        if heading:
            rank = rank_of(heading, unit)
            last = next((section for section in reversed(by_heading) if section.rank >= 0), by_heading[0])
            goes_on = "more" in kinds(heading) or (rest and _letters(heading) == _letters(last.heading))
            if goes_on and last.rank == 2 == rank and unit != "sentence":
                by_heading.append(last)  # "Wrong: …", "Correct: …", "Wrong: …"
            else:
                by_heading.append(Section(rank, heading, []))
        if rest or not heading:
            by_heading[-1].lines.append(Line(rest, -1, line.gap) if heading else line)
    distinct = dict.fromkeys(section for section in reversed(by_heading) if section.lines)
    ordered = sorted(distinct, key=lambda section: (2, 0, 1, -1).index(section.rank))
    return [(section.rank, _listed(section.lines)) for section in ordered]


def _listed(section_lines: list[Line]) -> list[Line]:
    marked = [line for line in section_lines if line.indent >= 0]
    if marked and (section_lines[0].indent >= 0 or section_lines[0].is_prose):
        level = min(line.indent for line in marked) + 1
        return [line for line in marked if line.indent <= level]
    return section_lines


def _heading(line: Line, unit: Unit) -> tuple[str, str]:
    plain = line.text.strip("*_ ")
    if plain.endswith((":", "：")) and plain[0] not in "\"“'`":
        heading = plain[-300:].strip(".:：*_ ")
        return (heading, "") if line.indent < 0 or rank_of(heading, unit) != 1 else ("", "")
    if line.indent >= 0:
        return "", ""
    label = _INLINE.match(plain[:400])
    if label and (label[1].count(" ") < 6 or rank_of(label[1], unit) == 2):
        heading, rest = label[1].strip("*_ "), plain[label.end() :]
        is_heading = rank_of(heading, unit) != 1 and not re.search(r"[.!?]\s|\([^)]*\Z", heading)
        if rest and "none" in kinds(heading):
            is_heading = False  # "No wrong passages: a spider has eight legs."
        return (heading, rest.strip()) if is_heading else ("", "")
    statement = _STATES.match(plain[:400])
    if statement and _names(statement[1], unit) and (unit != "sentence" or plain[statement.end()] in '"“„«「*'):
        return statement[1], plain[statement.end() :].strip()
    heading = plain[-300:].strip(".:：*_ ")
    if line.is_title and rank_of(heading, unit) != 1:
        return heading, ""
    return "", ""


def labelled(text: str, unit: Unit) -> tuple[int, str]:
    """Return the rank of the label of an item (`rank_of`; 0 without one) and what is behind it: "**Error:** Paris"."""
    label = _INLINE.match(plain := text.lstrip("*_ "))
    if not label or label[1].count(" ") > 3 or (rank := rank_of(label[1], unit)) == 1:
        return 0, text
    return rank, plain[label.end() :].strip()


def _names(statement: str, unit: Unit) -> bool:
    """Return whether the beginning of a sentence names what was asked for: "The wrong entities are"."""
    statement_kinds = kinds(statement)
    if unit == "replacement":
        named = statement_kinds & {"replacement", "mask", "final"} and not statement_kinds & {"aside", "first"}
        return bool(named) and "<mask>" not in statement
    return {"wrong", unit} <= statement_kinds and not statement_kinds & {"aside", "right"}


def _letters(heading: str) -> str:
    return re.sub(r"[\W\d]+", "", heading).lower()
