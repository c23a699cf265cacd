"""Take a line apart that gives strings: quotation marks, dividers, corrections ("wrong → right") and remarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from halu_tasks.scorers.reading.sections import CROSSES, LONGEST, SPACE, TICKS, kinds

_ARROW = r"(?:-+>|=+>|[→⇒➜⟶⟹➡➔])"
_QUOTED = re.compile(
    r"\"([^\"\n]{1,2000})\"|“([^“”\n]{1,2000})”|«([^«»\n]{1,2000})»|`([^`\n]{1,300})`|\*\*([^*\n]{1,300})\*\*"
    r"|~~([^~\n]{1,2000})~~"
    r"|(?<!\w)'([^'\n]{1,300})'(?!\w)|<(?!mask>)([^<>/\n]{1,300})>(?! ?\w)|(?<![\w*])[*_]([^*_\n]{1,300})[*_](?![\w*])"
)
_BETWEEN = re.compile(r"(?:[\s,;/&|.•]|and|or|und)*")
_DIVIDERS = (
    re.compile(r"(?:^|(?<=[\s,;]))\(?\d{1,2}[.)]\s+(?=\S)|\s+[•◦▪·]\s+"),
    re.compile(r"(?:;\s*|[،，、；]\s*|,\s+)(?:and\s+|or\s+)?(?![^()]*\))"),
    re.compile(r"\s(?:\||/{1,2})\s|\t"),
    re.compile(r",?\s+(?:and|&)\s+(?![^()]*\))"),
)
_MASK_LABEL = re.compile(r"([^:：=\n]{1,60}?)[*_`]*\s*(?:[:：=]|[–—-](?=\s)|(?<=\d[\]>])\s)[*_`→\s]*(?=\S)")
_TURN = re.compile(
    rf"\s*({_ARROW})\s*|\s+(?:(?:should be |is |are )?replaced (?:with|by)|should be|becomes)\s+"
    r"|(?<=[>\"”’'`*])\s(?:with|by)\s",
    re.IGNORECASE,
)
_INSTEAD = (
    r"(?:should (?:be|read|say|have been)(?: replaced (?:with|by))?|must be|becomes|instead of|rather than|in place of)"
)
_CORRECTION = re.compile(
    rf"\s*{_ARROW}\s*|(?:[,;]|\s[-–—]+)?\s+(?:{_INSTEAD}|ha(?:s|ve) replaced)(?!\w)\s*", re.IGNORECASE
)
_REMARK = re.compile(
    rf"{_CORRECTION.pattern}|\s+[-–—]+\s+|—|\s*(?:<-|←)|:\s+|\s+[(\[](?![^()\[\]]*[)\]] ?\w)"
    r"|[,;]?\s+(?:is|are|was|were) (?:factually )?(?:incorrect|wrong|inaccurate|swapped|replaced)\b",
    re.IGNORECASE,
)
_OPEN = r"[\s:\"“«'*`_(]*\Z"
_RIGHT_BEFORE = re.compile(rf"(?:{_INSTEAD}|{_ARROW}|\b(?:not|to|with|by)){_OPEN}", re.IGNORECASE)
_WRONG_BEFORE = re.compile(
    rf"\b(?:wrong|incorrect|false|inaccurate|erroneous|untrue|error)\b[^.\"“«]{{0,60}}?(?:\bis|:|\bhere){_OPEN}",
    re.IGNORECASE,
)
_RIGHT_AFTER = re.compile(
    r"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|looks|sounds?) (?:\w+ly )?"
    r"(?:correct|right|accurate|true|fine|ok)\b",
    re.IGNORECASE,
)


class Piece(NamedTuple):
    """A string in a line, and its place there with its quotation marks."""

    string: str
    start: int
    end: int


def bare(text: str) -> str:
    """Return a string without the quotes and emphasis around it."""
    text = text.strip(SPACE + CROSSES + TICKS + "⚠\ufe0f")
    while (piece := _QUOTED.fullmatch(text.rstrip(" .,;:"))) and _content(piece):
        text = _content(piece)
    return text


def quoted(text: str) -> list[Piece]:
    """Return the strings in quotation marks or emphasis."""
    return [Piece(_content(piece), *piece.span()) for piece in _QUOTED.finditer(text) if _content(piece)]


def _content(piece: re.Match[str]) -> str:
    return next(group for group in piece.groups() if group is not None).strip(SPACE)


def divided(text: str) -> Iterator[list[str]]:
    """Yield the ways to divide a line into several parts, the surest first."""
    contents = [piece.string for piece in quoted(text)]
    if len(contents) > 1 and _BETWEEN.fullmatch(_QUOTED.sub("", text)):
        yield contents
    for divider in _DIVIDERS:
        parts = [part.strip(" ,;") for part in divider.split(text.rstrip(" .,;"))]
        if sum(map(bool, parts)) > 1:
            yield [part for part in parts if part]


def wrong_part(text: str) -> str:
    """Return the string that a line begins with or names, without quotation marks, corrections and remarks."""
    text = bare(text)
    first = next(iter(quoted(text)), None)
    if first and not first.start and (first.string.count(" ") < 8 or _REMARK.match(text, first.end)):
        return first.string
    remark = _REMARK.search(text, 1)
    text = text[: remark.start()] if remark else text
    is_named = first and first.end <= len(text) and kinds(text[: first.start]) & {"entity", "sentence"}
    return first.string if first and is_named else bare(text)


def right_part(text: str) -> str:
    """Return the replacement on a line: of "Mask 1: chalk" and "stone → chalk", what is behind the mark."""
    text = text.strip(SPACE)[:LONGEST]
    label = _MASK_LABEL.match(text)
    if label and kinds(label[1]) & {"mask", "first", "replacement"}:
        text = text[label.end() :]
    turn = _TURN.search(text, 1)
    if turn and (turn[1] or text.count(" ") < 9 or text.startswith("<mask>")):  # running text has such words, too
        text = text[turn.end() :]
    return wrong_part(text)


def called_wrong(text: str, pieces: list[Piece]) -> tuple[list[str], list[str]]:
    """Return the pieces of a line that it calls wrong, and the others that it does not call right."""
    wrong: list[str] = []
    other: list[str] = []
    for string, start, end in pieces:
        before = text[max(0, start - 100) : start]
        if _WRONG_BEFORE.search(before):
            wrong.append(string)
        elif not _RIGHT_AFTER.match(text, end) and not _RIGHT_BEFORE.search(before):
            other.append(string)
    return wrong, other
