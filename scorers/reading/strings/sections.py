"""Divide a reply at its headings, and order the sections by how well they fit as the answer (mode `strict`).

Used for replies that return strings (ReFACT's localization and correction prompts, appendix C.3 to C.5, and
HaluEval's localization): models write "Here are the factually wrong entities:" before the list and "The correct
sentence should be:" after it.
"""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Literal, NamedTuple

Kind = Literal["entity", "sentence", "replacement", "passage"]

# No requested list or sentence is this long. Of a longer reply, only the last lines are read, and only sections whose
# heading names what was asked for.
_LONG_REPLY = 100_000
_LONG_HEADING = 300

_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_MARK = re.compile(
    r"(?:[-*+–—●]\s+|[•◦▪‣·]\s*)(?:\[[ xX]?\]\s+)?|[◆◇■□▶►➤🔹🔸🔴🔵🟢]\ufe0f?\s*|[→➜➔]\s+"
    r"|\(?\d{1,3}[.)](?:\s+|(?=[^\W\d]|[\"“*`<])|$)|\(?[a-z]\)\s+|\d\ufe0f?\u20e3\s*",
    re.IGNORECASE,
)
# Numbers that may be part of a string; they are list marks only if they count 1, 2, …
_COUNT = re.compile(r"(?:\[(\d{1,2})\]:?|#(\d{1,2})[:.)]?|(\d{1,2})\s?(?:[:|\t]|[-–—](?=\s)))\s*(?<=\s)(?=\S)")

# "A. basalt" and "I. basalt" may be names; the letters are list marks only if they are in order.
_LETTER = re.compile(r"\(?([a-z]|[ivx]{1,5})[.):]\s+(?=\S)", re.IGNORECASE)
_ROMAN = [
    "I",
    "II",
    "III",
    "IV",
    "V",
    "VI",
    "VII",
    "VIII",
    "IX",
    "X",
    "XI",
    "XII",
    "XIII",
    "XIV",
    "XV",
    "XVI",
    "XVII",
    "XVIII",
    "XIX",
    "XX",
]
_BOLD_NUMBER = re.compile(r"\*\*(\(?\d{1,3}[.):])\*\*(?=\s)")
_QUOTED_LINE = re.compile(r"^(?:[#>]|&gt;)+\s*")

_WRONG = (
    r"(?:wrong|incorrect(?:ly)?|inaccura\w+|false|err\w+|not (?:factually )?correct|changed|swapped"
    r"|hallucinated|confabulated|replaced|altered|mistaken|falsch\w*|incorrect[ao]s?|erron\w+)"
)
_FINAL = r"|\bfinal answer\b|\bso the answer is$"
_REQUESTED: dict[Kind, re.Pattern[str]] = {
    "entity": re.compile(
        rf"\b{_WRONG}\b.*\b(?:entit\w+|entidad(?:es)?|words?|terms?|phrases?)\b"
        rf"|\b(?:entit\w+|entidad(?:es)?)\b.*\b{_WRONG}\b"
        rf"|\b(?:words?|terms?|phrases?)\b.*\b{_WRONG}\b|^(?:the |list of )*entit(?:y|ies)(?: (?:are|is))?$"
        r"|\b(?:contains|has|are|following|two|three|\d) (?:errors?|mistakes?)$|^(?:errors?|mistakes?|incorrect|wrong)$"
        + _FINAL,
        re.IGNORECASE,
    ),
    "sentence": re.compile(
        rf"\bsentences?\b|^(?:the )?{_WRONG} statement$|\b(?:frase|oración|phrase) {_WRONG}|\bfalscher satz\b"
        r"|^(?:it's |it is )?this one$" + _FINAL,
        re.IGNORECASE,
    ),
    "replacement": re.compile(
        r"\b(?:replac|remplac|reempla|ersetz)\w+|\b(?:masked|missing|hidden|filled[- ]in) (?:words?|terms?|texts?"
        r"|entit\w+|phrases?|parts?|values?)\b" + _FINAL,
        re.IGNORECASE,
    ),
    "passage": re.compile(r"\bhallucinat\w+|\bpassages?\b" + _FINAL, re.IGNORECASE),
}
_REASONS = r"\b(?:because|why|explanations?|explained|notes?|reason(?:s|ing)?|breakdown)\b"
_ASIDE: dict[Kind, re.Pattern[str]] = {
    "entity": re.compile(
        _REASONS + r"|(?<!not )(?<!not factually )\bcorrect(?:ed|ions?)?\b|\bother\b|\bshould\b",
        re.IGNORECASE,
    ),
    "replacement": re.compile(_REASONS, re.IGNORECASE),
}
_ASIDE["passage"] = _ASIDE["entity"]
_ASIDE["sentence"] = re.compile(
    _ASIDE["entity"].pattern + r"|\bthis (?:sentence|statement)\b|\bof each sentence\b|\b(?:first|second|third)\b",
    re.IGNORECASE,
)
_ANALYSIS = re.compile(r"^(?:the |my |correct )*analys[ie]s\b", re.IGNORECASE)
_PLAN = re.compile(r"\blet's\b|\blet us\b|\bI(?:'ll| will) analy[sz]e\b", re.IGNORECASE)
_MORE = re.compile(r"\b(?:another|additional(?:ly)?|also)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;.]\s|\bbut\b|\bhowever\b", re.IGNORECASE)
_INLINE = re.compile(r"([^:：\"“\n]{1,240}?)[*_\s]*[:：](?:[*_]{1,3}(?=\s|$)|(?=[\s\"“*`A-Z<]))\s*")
_READS = re.compile(r"([^:\"“\n]{0,200}\bsentence\b[^:\"“\n]{0,100}\b(?:is|reads))\s+(?=[\"“])", re.IGNORECASE)
_BARE = re.compile(
    r"(?:(?:so|thus|therefore|hence),? )?(?:the )?(?:final |whole )?(?:factually )?(?:wrong |incorrect )?"
    r"(?:answer|entities|entity|sentence|replacements?)(?: (?:is|are))?",
    re.IGNORECASE,
)


# A line with the markup of a title: "### Explanation", "**Replaced words**".
_TITLE = re.compile(r"#{1,6}\s+\S|\*\*[^*\n]{1,60}\*\*\s*\Z")
# An answer without a colon: "The wrong entities are x and y."
_OF = (
    r"(?: (?:here|in|of|for|the|this|that|answer|text|given|above|should|were|was|replaced|changed|altered"
    r"|<?mask>?s?)){0,6}"
)
_NAMES: dict[Kind, re.Pattern[str]] = {
    "entity": re.compile(
        rf"((?:[\w' ]{{2,20}}[, ])?the (?:\w+ ){{0,4}}(?:entit(?:y|ies)|words?|terms?){_OF} (?:is|are|were|was))\s+"
        r"(?!(?:wrong|incorrect|inaccurate|not|in|because|replaced|changed|altered|swapped|factually|likely|as|found"
        r"|identified|listed|given|correct|clear|none|that|the following)\b)",
        re.IGNORECASE,
    ),
    "replacement": re.compile(
        rf"((?:[\w' ]{{2,20}}[, ])?the (?!first|second|third|fourth|fifth|last)(?:\w+ ){{0,3}}(?:replacements?|masks?"
        rf"|<mask>s?|(?:masked|missing|hidden) \w+){_OF}"
        r" (?:is|are|be(?: (?:replaced|filled)(?: in)? (?:with|by))?))\s+"
        r"(?!(?:replaced|filled|be|not|as|in|unclear|likely|none|that|listed|given|based|the following)\b)",
        re.IGNORECASE,
    ),
}


class Line(NamedTuple):
    """A line of a reply.

    Attributes:
        text: The text without its list mark.
        indent: The indent in characters.
        marked: Whether the line has a list mark.
        gap: Whether a blank line precedes it.
    """

    text: str
    indent: int
    marked: bool
    gap: bool


class Section:
    """The lines under one heading.

    Attributes:
        heading: The heading; empty for the opening of a reply.
        rank: 2 if the heading names what was asked for, 1 for another heading, 0 for none (the opening), and -1 for a
            heading about corrections, reasons or analysis.
        inline: Whether the heading is on the same line as the answer.
        grouped: Whether the lines are under further headings.
        lines: The lines.
    """

    def __init__(self, heading: str, rank: int) -> None:
        self.heading = heading
        self.rank = rank
        self.inline = False
        self.grouped = False
        self.lines: list[Line] = []


def sections(reply: str, kind: Kind) -> list[Section]:
    """Divide a reply at its headings; the first section is the opening.

    Of an overlong reply, only sections of rank 2 near its end are returned.

    Args:
        reply: A reply without reasoning blocks.
        kind: What was asked for.
    """
    for end in _LINE_ENDS:
        reply = reply.replace(end, "\n")
    reply = reply.strip()
    cut = reply.rfind("\n", 0, max(0, len(reply) - _LONG_REPLY)) + 1
    result = [Section("", 0)]
    gap = False
    lines = reply[cut:].split("\n")
    marks = _letter_marks(lines) | _number_marks(lines)
    for number, raw in enumerate(lines):
        line = _line(raw, gap, marks.get(number))
        if not line.text:
            gap = True
            continue
        gap = False
        heading, rest, inline = _heading(line, kind, titled=bool(_TITLE.match(raw.strip())))
        if heading is None:
            _section_for(line, result).lines.append(line)
            continue
        if not _continues(result[-1], heading, inline, kind):
            result.append(Section(heading, _rank(heading, kind)))
            result[-1].inline = inline
        if rest:
            result[-1].lines.append(Line(rest, 0, False, False))
    return [section for section in result if not cut or section.rank == 2]


def _section_for(line: Line, earlier: list[Section]) -> Section:
    """Return the section that a line belongs to.

    A list continues after a remark ("Corrected: …") between its items; the section of the remark is removed.
    """
    last = earlier[-1]
    if line.marked and last.rank < 0 and last.inline and len(earlier) > 1:
        before = earlier[-2]
        if before.rank >= 0 and before.lines and before.lines[-1].marked and len(last.lines) == 1:
            del earlier[-1]
            return before
    return last


def ranked(unordered: list[Section]) -> list[Section]:
    """Return sections in the order in which they are tried for an answer: by rank 2, 0, 1 and -1."""
    requested = [section for section in unordered if section.rank == 2]
    opening = [section for section in unordered if section.rank == 0]
    others = [section for section in unordered if section.rank == 1]
    return requested[::-1] + opening + others[::-1] + [section for section in unordered if section.rank < 0]


def _letter_marks(lines: list[str]) -> dict[int, re.Match[str]]:
    """Return by line number the list marks A, B, C or I, II, III, if at least two are in order."""
    candidates = [(number, mark) for number, line in enumerate(lines) if (mark := _LETTER.match(line.strip()))]
    marks: dict[int, re.Match[str]] = {}
    for order in (ascii_uppercase, _ROMAN):
        listed: dict[int, re.Match[str]] = {}
        for number, mark in candidates:
            if len(listed) < len(order) and mark[1].upper() == order[len(listed)]:
                listed[number] = mark
        marks |= listed if len(listed) > 1 else {}
    return marks


def _number_marks(lines: list[str]) -> dict[int, re.Match[str]]:
    """Return by line number the list marks `[1]`, `#1`, `1:` or `1 -`, if at least two are in order."""
    listed: dict[int, re.Match[str]] = {}
    for number, line in enumerate(lines):
        mark = _COUNT.match(line.strip())
        if mark and int(mark[1] or mark[2] or mark[3]) == len(listed) + 1:
            listed[number] = mark
    return listed if len(listed) > 1 else {}


def _line(raw: str, gap: bool, mark: re.Match[str] | None) -> Line:
    """Return a line without its list mark, which is `mark` or else found here."""
    text = raw.strip()
    indent = len(raw) - len(raw.lstrip())
    if not mark:
        text = _BOLD_NUMBER.sub(r"\1", _QUOTED_LINE.sub("", text, count=1), count=1)
        mark = _MARK.match(text)
    if mark and mark.end() == len(text) and not mark[0].endswith((".", ")")):
        mark = None
    return Line(text[mark.end() :].strip() if mark else text, indent, bool(mark), gap)


def _heading(line: Line, kind: Kind, *, titled: bool) -> tuple[str | None, str, bool]:
    """Return the heading on a line or None, the text after it, and whether it is on the same line as the answer.

    Args:
        line: The line.
        kind: What was asked for.
        titled: Whether the line has the markup of a title, which makes it a heading if its words are one.
    """
    plain = line.text.strip("*_ ")
    if plain.endswith((":", "：")) and plain[:1] not in "\"“'`":
        heading = plain[-_LONG_HEADING:-1].strip("*_ ")
        if not line.marked or _rank(heading, kind) not in (0, 1):
            return heading, "", False
    if len(plain) < 60 and _BARE.fullmatch(plain.strip(".")):
        return plain, "", False
    if titled and not line.marked and len(plain) < 60 and _rank(plain.strip("*_. "), kind) not in (0, 1):
        return plain.strip("*_. "), "", False
    start = plain[: 2 * _LONG_HEADING]
    label = _INLINE.match(start) or (_READS.match(start) if kind == "sentence" else None)
    if label:
        heading = label[1].strip("*_ ")
        rank = _rank(heading, kind)
        is_short = len(heading.split()) <= 6 and "(" not in heading.replace("(s)", "") and " / " not in heading
        if (rank == 2 and (not line.marked or (kind == "replacement" and is_short))) or (
            rank == -1 and is_short and not line.marked
        ):
            rest = plain[label.end() :].strip()
            return heading, rest if rest.count("*") != 1 else rest.lstrip("*"), True
    statement = _NAMES[kind].match(start) if kind in _NAMES and not line.marked else None
    if statement and _rank(statement[1], kind) == 2:
        return statement[1], plain[statement.end() :].strip(), True
    return None, "", False


def _rank(heading: str, kind: Kind) -> int:
    """Return the rank of a heading, as in `Section`."""
    clause = _CLAUSE_END.split(heading)[-1]
    requested = _REQUESTED[kind]
    if requested.search(clause):
        heading = clause
    if _ASIDE[kind].search(heading):
        return -1
    if requested.search(heading):
        return 1 if _PLAN.search(heading) else 2
    return -1 if _ANALYSIS.search(heading) else 1


def _continues(last: Section, heading: str, inline: bool, kind: Kind) -> bool:
    """Return whether a heading continues the section before it.

    "Another wrong entity: …" does, the same label on each line does, and so does the heading of a group under a heading
    without lines of its own.
    """
    if last.rank != 2 or kind == "sentence":
        return False
    rank = _rank(heading, kind)
    if rank == 1 and (last.grouped or not last.lines):
        last.grouped = True
        return True
    repeats_label = inline and last.inline and _letters(heading) == _letters(last.heading)
    return rank == 2 and bool(last.lines) and (repeats_label or bool(_MORE.search(heading)))


def _letters(heading: str) -> str:
    """Return the letters of a heading in lower case, to compare it with another."""
    return re.sub(r"[\W\d]+", "", heading).lower()
