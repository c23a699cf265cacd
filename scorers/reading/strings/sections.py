"""A reply divided at its headings, and which part of it is the answer (mode `strict`).

Used for replies that return strings (ReFACT's localization and correction prompts, appendix C.3 to C.5, and
HaluEval's localization): models put "Here are the factually wrong entities:" before the list and "The
correct sentence should be:" after it.
"""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Literal, NamedTuple

Kind = Literal["entity", "sentence", "replacement", "passage"]

# No list or sentence that is asked for is so long. Of a longer reply only the last lines are read, and
# only for an answer under a heading that says so.
_LONG_REPLY = 100_000
_LONG_HEADING = 300

_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_MARK = re.compile(
    r"(?:[-*+–—●]\s+|[•◦▪‣·]\s*)(?:\[[ xX]?\]\s+)?|[◆◇■□▶►➤🔹🔸🔴🔵🟢]\ufe0f?\s*|[→➜➔]\s+"
    r"|\(?\d{1,3}[.)](?:\s+|(?=[^\W\d]|[\"“*`<])|$)|\(?[a-z]\)\s+|\d\ufe0f?\u20e3\s*",
    re.IGNORECASE,
)
# numbers that may be a part of a string: marks only where they count 1, 2, …
_COUNT = re.compile(r"(?:\[(\d{1,2})\]:?|#(\d{1,2})[:.)]?|(\d{1,2})\s?(?:[:|\t]|[-–—](?=\s)))\s*(?<=\s)(?=\S)")

# "A. basalt" and "I. basalt" may be names; a list of them is numbered in order.
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
_ASKED: dict[Kind, re.Pattern[str]] = {
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


# A line of its own as a title: "### Explanation", "**Replaced words**".
_TITLE = re.compile(r"#{1,6}\s+\S|\*\*[^*\n]{1,60}\*\*\s*\Z")
# "The wrong entities are x and y." states them without a colon.
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
    """A line: its text without list mark, its indent in characters, had it a mark, is there a gap before."""

    text: str
    indent: int
    marked: bool
    gap: bool


class Section:
    """The lines under one heading.

    Rank: 2 it names what was asked for, 1 any heading, 0 none (the opening), -1 corrections, reasons, analysis.
    """

    def __init__(self, heading: str, rank: int) -> None:
        self.heading = heading
        self.rank = rank
        self.inline = False  # did the heading share its line with the answer?
        self.grouped = False  # are its lines under further headings?
        self.lines: list[Line] = []


def sections(reply: str, kind: Kind) -> list[Section]:
    """Divide a reply (without reasoning blocks) at its headings; the first section is the opening.

    Of an overlong reply only sections with a heading of rank 2 near its end are returned.
    """
    for end in _LINE_ENDS:
        reply = reply.replace(end, "\n")
    reply = reply.strip()
    cut = reply.rfind("\n", 0, max(0, len(reply) - _LONG_REPLY)) + 1
    found = [Section("", 0)]
    gap = False
    lines = reply[cut:].split("\n")
    marks = _lettered(lines) | _counted(lines)
    for number, raw in enumerate(lines):
        line = _line(raw, gap, marks.get(number))
        if not line.text:
            gap = True
            continue
        gap = False
        heading, rest, inline = _heading(line, kind, titled=bool(_TITLE.match(raw.strip())))
        if heading is None:
            _place(line, found).lines.append(line)
            continue
        if not _continues(found[-1], heading, inline, kind):
            found.append(Section(heading, _rank(heading, kind)))
            found[-1].inline = inline
        if rest:
            found[-1].lines.append(Line(rest, 0, False, False))
    return [section for section in found if not cut or section.rank == 2]


def _place(line: Line, found: list[Section]) -> Section:
    """Return the section a line belongs to: a list goes on after a remark ("Corrected: …") between its items."""
    last = found[-1]
    if line.marked and last.rank < 0 and last.inline and len(found) > 1:
        before = found[-2]
        if before.rank >= 0 and before.lines and before.lines[-1].marked and len(last.lines) == 1:
            del found[-1]
            return before
    return last


def ranked(found: list[Section]) -> list[Section]:
    """Sections in the order in which they are to be tried for an answer."""
    asked = [section for section in found if section.rank == 2]
    opening = [section for section in found if section.rank == 0]
    others = [section for section in found if section.rank == 1]
    return asked[::-1] + opening + others[::-1] + [section for section in found if section.rank < 0]


def _lettered(lines: list[str]) -> dict[int, re.Match[str]]:
    """Return the marks of a list whose entries are marked A, B, C or I, II, III, at least two of them in order."""
    labels = [(number, mark) for number, line in enumerate(lines) if (mark := _LETTER.match(line.strip()))]
    found: dict[int, re.Match[str]] = {}
    for order in (ascii_uppercase, _ROMAN):
        listed: dict[int, re.Match[str]] = {}
        for number, mark in labels:
            if len(listed) < len(order) and mark[1].upper() == order[len(listed)]:
                listed[number] = mark
        found |= listed if len(listed) > 1 else {}
    return found


def _counted(lines: list[str]) -> dict[int, re.Match[str]]:
    """Return the marks of a list with entries numbered `[1]`, `#1`, `1:` or `1 -`, at least two of them in order."""
    listed: dict[int, re.Match[str]] = {}
    for number, line in enumerate(lines):
        mark = _COUNT.match(line.strip())
        if mark and int(mark[1] or mark[2] or mark[3]) == len(listed) + 1:
            listed[number] = mark
    return listed if len(listed) > 1 else {}


def _line(raw: str, gap: bool, mark: re.Match[str] | None) -> Line:
    text = raw.strip()
    indent = len(raw) - len(raw.lstrip())
    if not mark:
        text = _BOLD_NUMBER.sub(r"\1", _QUOTED_LINE.sub("", text, count=1), count=1)
        mark = _MARK.match(text)
    if mark and mark.end() == len(text) and not mark[0].endswith((".", ")")):
        mark = None
    return Line(text[mark.end() :].strip() if mark else text, indent, bool(mark), gap)


def _heading(line: Line, kind: Kind, *, titled: bool) -> tuple[str | None, str, bool]:
    """Return a heading, what follows it on the line, and whether the label shares its line with the answer.

    A line that is `titled` is a heading if its words say so.
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
        few = len(heading.split()) <= 6 and "(" not in heading.replace("(s)", "") and " / " not in heading
        if (rank == 2 and (not line.marked or (kind == "replacement" and few))) or (
            rank == -1 and few and not line.marked
        ):
            rest = plain[label.end() :].strip()
            return heading, rest if rest.count("*") != 1 else rest.lstrip("*"), True
    named = _NAMES[kind].match(start) if kind in _NAMES and not line.marked else None
    if named and _rank(named[1], kind) == 2:
        return named[1], plain[named.end() :].strip(), True
    return None, "", False


def _rank(heading: str, kind: Kind) -> int:
    clause = _CLAUSE_END.split(heading)[-1]
    asked = _ASKED[kind]
    if asked.search(clause):
        heading = clause
    if _ASIDE[kind].search(heading):
        return -1
    if asked.search(heading):
        return 1 if _PLAN.search(heading) else 2
    return -1 if _ANALYSIS.search(heading) else 1


def _continues(last: Section, heading: str, inline: bool, kind: Kind) -> bool:
    """Return whether this heading adds to the section before it.

    "Another wrong entity: …" does, and one label a line, and groups under a heading that has no lines of its own.
    """
    if last.rank != 2 or kind == "sentence":
        return False
    rank = _rank(heading, kind)
    if rank == 1 and (last.grouped or not last.lines):
        last.grouped = True
        return True
    same = inline and last.inline and _bare(heading) == _bare(last.heading)
    return rank == 2 and bool(last.lines) and (same or bool(_MORE.search(heading)))


def _bare(heading: str) -> str:
    return re.sub(r"[\W\d]+", "", heading).lower()
