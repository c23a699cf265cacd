"""Parse the lists and mappings in a reply, written in JSON or a similar notation: `values`.

Models that are asked for plain lines may still answer with JSON, a Python list, or a list without quotes. One tolerant
parser reads all of them: it accepts any quotes, surplus commas, words without quotes, and `None` for `null`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

Value = str | bool | None | list["Value"] | list[tuple[str, "Value"]]
"""A parsed value: a string (also for a number), a boolean, None, a list, or a mapping as a list of pairs."""

_LONGEST = 20_000  # characters of a value that are read
_MOST = 50  # values that are tried in a reply
_DEEPEST = 12
# A value is at the start of a line or follows a label on it.
_OPENING = re.compile(r"^([^\n\[{]{0,80}?[:=])?[ \t`*_>-]*(?=[\[{]|\([\"'“])", re.MULTILINE)
_BLANK = re.compile(r"[\s,]*")
_CLOSES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`"}
_STRING_ENDS = {quote: re.compile(rf"\\.|{closing}(?=\s*(?:[,\])}}:]|\Z))") for quote, closing in _CLOSES.items()}
_BARE_KEY = re.compile(r"[^\s,:\[\]{}\"“][^,:\[\]{}\n]{0,200}")
_BARE = re.compile(r"[^\s,\[\]{}\"“][^,\[\]{}\n]{0,400}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "none": None}


class Found(NamedTuple):
    """A value in a string.

    Attributes:
        value: The value.
        label: The label before it, such as "Wrong entities"; empty if there is none.
        start: The offset of the start of its line.
        end: The offset of its end.
    """

    value: Value
    label: str
    start: int
    end: int


class _Malformed(Exception):
    """The text is not a list or mapping."""


def values(text: str, *, bare: bool) -> list[Found]:
    """Return the lists and mappings in the text that have no other text on their lines, except for a label.

    Args:
        text: The text.
        bare: Whether strings may be written without quotes.
    """
    found: list[Found] = []
    end = 0
    tried = 0
    for opening in _OPENING.finditer(text):
        at = opening.end()
        if at < end:
            continue
        tried += 1
        if tried > _MOST:
            break
        try:
            value, after = _value(text[at : at + _LONGEST], 0, 0, bare)
        except _Malformed:
            continue
        rest = text[at + after : at + after + 200].split("\n", 1)[0]
        if rest.strip(" \t\r`*_.,;"):
            continue
        end = at + after
        label = (opening[1] or _line_before(text, opening.start())).strip("*_`#> \t:=-")
        found.append(Found(value, label, opening.start(), end))
    return found


def _line_before(text: str, at: int) -> str:
    """Return the line before an offset without its closing colon; empty if it does not end in a colon."""
    before = text[max(0, at - 300) : at].rstrip().rsplit("\n", 1)[-1]
    plain = before.strip("*_ ")
    return plain[:-1] if plain.endswith(":") else ""


def _value(text: str, at: int, depth: int, bare: bool) -> tuple[Value, int]:
    """Return the value at an offset, and the offset of its end; raise `_Malformed` if there is none.

    Args:
        text: The text.
        at: The offset.
        depth: The number of lists and mappings around the value.
        bare: Whether strings may be written without quotes.
    """
    if depth > _DEEPEST or at >= len(text):
        raise _Malformed
    if text[at] in "[(":
        return _list(text, at + 1, depth + 1, bare, "]" if text[at] == "[" else ")")
    if text[at] == "{":
        try:
            return _mapping(text, at + 1, depth + 1, bare)
        except _Malformed:
            # It may be a set. Only the outermost one is tried, or nested ones would be read repeatedly.
            if depth:
                raise
            return _list(text, at + 1, depth + 1, False, "}")
    if text[at] in _CLOSES:
        return _string(text, at)
    word = _BARE.match(text, at)
    if not word:
        raise _Malformed
    plain = word[0].strip()
    if plain.lower() in _WORDS:
        return _WORDS[plain.lower()], word.end()
    if not bare and not plain.replace(".", "", 1).lstrip("-").isdigit():
        raise _Malformed
    return plain, word.end()


def _list(text: str, at: int, depth: int, bare: bool, closing: str) -> tuple[Value, int]:
    """Return the list whose opening bracket is before an offset, and the offset of its end."""
    entries: list[Value] = []
    while (at := _skip_blank(text, at)) < len(text) and text[at] != closing:
        entry, at = _value(text, at, depth, bare)
        entries.append(entry)
        _expect(text, at, "," + closing)
    if at >= len(text):
        raise _Malformed
    return entries, at + 1


def _mapping(text: str, at: int, depth: int, bare: bool) -> tuple[Value, int]:
    """Return the mapping whose opening brace is before an offset, and the offset of its end."""
    pairs: list[tuple[str, Value]] = []
    while (at := _skip_blank(text, at)) < len(text) and text[at] != "}":
        key, at = _key(text, at)
        _expect(text, at, ":")
        entry, at = _value(text, _skip_blank(text, text.index(":", at) + 1), depth, bare)
        pairs.append((key, entry))
        _expect(text, at, ",}")
    if at >= len(text):
        raise _Malformed
    return pairs, at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    """Return the key at an offset, and the offset of its end."""
    if text[at] in _CLOSES:
        return _string(text, at)
    word = _BARE_KEY.match(text, at)
    if not word:
        raise _Malformed
    return word[0].strip(), word.end()


def _string(text: str, at: int) -> tuple[str, int]:
    """Return the string whose opening quote is at an offset, and the offset of its end."""
    parts: list[str] = []
    start = at + 1
    for end in _STRING_ENDS[text[at]].finditer(text, start):
        parts.append(text[start : end.start()])
        start = end.end()
        if end[0][0] != "\\":
            return "".join(parts), start
        parts.append(_ESCAPES.get(end[0][1], end[0][1]) if end[0][1] in "ntr\"'\\/" else end[0])
    raise _Malformed


def _skip_blank(text: str, at: int) -> int:
    """Return the offset after white space and commas."""
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _expect(text: str, at: int, signs: str) -> None:
    """Raise `_Malformed` unless the next character but white space is one of the signs."""
    rest = text[at : at + 200].lstrip()
    if not rest or rest[0] not in signs:
        raise _Malformed
