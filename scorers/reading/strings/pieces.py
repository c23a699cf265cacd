"""Split a line into several strings: numbered, quoted or bold one by one, or separated by commas and similar marks."""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.strings.cleaning import EDGES, STOPS, gives_one, states
from halu_tasks.scorers.reading.strings.sections import Kind

_LONGEST = 2_000
_NUMBER = re.compile(r"(?:^|(?<=[\s,;]))\(?(\d{1,2})[.)]\s+(?=\S)")
_BULLET = re.compile(r"\s+[•◦▪·]\s+")
_PIECE = re.compile(
    r"\"([^\"\n]{1,300})\"|“([^“”\n]{1,300})”|«([^«»\n]{1,300})»|`([^`\n]{1,300})`|\*\*([^*\n]{1,300})\*\*"
    r"|(?<!\w)'([^'\n]{1,300})'(?!\w)|\[([^\[\]\n]{1,300})\](?!\()"
)
_BETWEEN = re.compile(r"[\s,;/&|]*(?:(?:and|or|und|et|y)\b[\s,]*)?")
_TAGS = re.compile(r"(?:<[^<>/][^<>]*>[\s,;]*(?:and )?){2,}", re.IGNORECASE)
_COMMAS = re.compile(r"[,]\s+|;\s*|[،，、；]\s*")
_DIVIDERS = (re.compile(r";\s*"), re.compile(r",\s+(?:and\s+)?"), re.compile(r"\.\s+"))
_BARS = re.compile(r"\s(?:\||/{1,2})\s|\t")
_AND = re.compile(r",?\s+and\s+|\s+&\s+")
_CLAUSE = re.compile(
    r"(?:which|who|that|where|when|because|so|but|it|it's|they|however|meaning|as|not|while|although|if|then|there"
    r"|therefore|since|is|are|was|were)\b",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"[(\[][^()\[\]]*[)\]]\.?")
_SPEAKS_OF = re.compile(
    r"\b(?:entit(?:y|ies)|wrong|incorrect|replaced|replacements?|should|instead"
    r"|(?:first|second) (?:mask|<mask>|blank))\b",
    re.IGNORECASE,
)
_NONE = re.compile(r"\W*(?:none|no|nothing|there (?:is|are) no)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"(?:[,;&]|\b(?:and|or)) *\Z")
_OF_MASKS = re.compile(
    r"\b(?:replac\w+|(?:first|second|third|masked|missing|hidden) (?:<?mask|blank|word|text|term|entit))", re.IGNORECASE
)
# Text before a quoted part of a comment, which shows that the part is the right string or the original one.
_RIGHT_FOLLOWS = re.compile(
    r"(?:should (?:be|read|have been|say)|must be|instead of|rather than|correct(?: \w+){0,2} (?:is|are|being)"
    r"|(?:replaced|swapped|changed|substituted) (?:with|by|for|to|from)?|not|actually|→|->|=>|\bto|\bwith)[\s:(*]*\Z",
    re.IGNORECASE,
)


def split_apart(text: str, numbered: bool, kind: Kind, expected: int) -> list[str]:
    """Return the parts of a line that has a mark at each of them, or only the line.

    Args:
        text: The line.
        numbered: Whether the line is an item of a list, whose mark was removed.
        kind: What was asked for.
        expected: The number of masks.
    """
    if len(text) > _LONGEST:
        return [text]
    for parts in (_by_numbers(text, numbered), [part.strip() for part in _BULLET.split(text)]):
        if len(parts) > 1 and all(parts):
            return parts
    pieces = [*_PIECE.finditer(text)]
    if len(pieces) > 1 and _consists_of(pieces, text):
        return [_content(piece) for piece in pieces]
    for divider in _DIVIDERS:
        parts = [part.strip() for part in divider.split(text) if part.strip()]
        if len(parts) > 1 and all(gives_one(part, kind) or part.endswith((")", ").")) for part in parts):
            return parts
    return named(text, kind, expected) or [text]


def named(text: str, kind: Kind, expected: int) -> list[str]:
    """Return the strings that a comment quotes; empty if it quotes nothing or is not about the task.

    For replacements, the comment must quote as many strings as there are masks. For other kinds, strings that it calls
    the right ones are left out.

    Args:
        text: The line.
        kind: What was asked for.
        expected: The number of masks.
    """
    pieces = [piece for piece in _PIECE.finditer(text) if _content(piece).strip("<> ").lower() != "mask"]
    if not pieces or text.count(" ") < 5 or states(text, kind) or _NONE.match(text):
        return []
    is_about_task = bool((_OF_MASKS if kind == "replacement" else _SPEAKS_OF).search(_PIECE.sub("", text)))
    if kind == "replacement":
        # In the answer with its masks filled in, bold type shows the replacements; quotes are often in the answer.
        is_filled_in = "<mask>" not in text and all(piece[0].startswith(("**", "[")) for piece in pieces)
        return (
            [_content(piece) for piece in pieces] if len(pieces) == expected and (is_about_task or is_filled_in) else []
        )
    if not is_about_task:
        return []
    before = [text[max(0, piece.start() - 60) : piece.start()] for piece in pieces]
    return [
        _content(piece)
        for number, piece in enumerate(pieces)
        if (not number or _GOES_ON.search(before[number])) and not _RIGHT_FOLLOWS.search(before[number])
    ]


def split(text: str, kind: Kind, expected: int, *, joined: bool = False) -> list[str]:
    """Return the strings of a line in angle brackets, or separated by commas outside parentheses (rule 5).

    Args:
        text: The line.
        kind: What was asked for.
        expected: The number of masks.
        joined: Whether the line is the end of a sentence, in which "and" may separate two strings.
    """
    if len(text) > _LONGEST:
        return [text]
    if _TAGS.fullmatch(text):
        return [tag if tag == "<mask>" else tag[1:-1] for tag in re.findall(r"<[^<>]+>", text)]
    if kind == "replacement":
        if expected > 1 and _BRACKETED.fullmatch(text) and text[1:-1].strip():
            text = text[1:-1]
        alternatives = (_divided(text, divider) for divider in (_COMMAS, _BARS, _AND))
        return next((parts for parts in alternatives if expected > 1 and len(parts) == expected and all(parts)), [text])
    for divider in (_COMMAS, _BARS):
        if divider.search(text):
            parts = _divided(text, divider)
            are_short = all(
                part and _BRACKETED.sub("", part).count(" ") < 8 and not _CLAUSE.match(part) for part in parts
            )
            if are_short:
                return parts
    parts = _divided(text, _AND)
    return parts if joined and len(parts) == 2 and all(part.count(" ") < 5 for part in parts) else [text]


def _divided(text: str, divider: re.Pattern[str]) -> list[str]:
    """Return the parts of the text between the matches of a pattern outside parentheses."""
    parts: list[str] = []
    start = 0
    for match in divider.finditer(text):
        if text.count("(", start, match.start()) <= text.count(")", start, match.start()):
            parts.append(text[start : match.start()])
            start = match.end()
    parts.append(text[start:])
    return [re.sub(r"^(?:and|or)\s+", "", part.lstrip(EDGES).rstrip(STOPS)) for part in parts]


def _by_numbers(text: str, numbered: bool) -> list[str]:
    """Return a line split at "1. …", "2. …" in order.

    If the line is `numbered`, its first number was removed as a list mark.
    """
    cuts = [(0, 0)] if numbered else []
    for number in _NUMBER.finditer(text):
        if int(number[1]) == len(cuts) + 1:
            cuts.append((number.start(), number.end()))
    if len(cuts) < 2 or cuts[0][0] > 0:
        return [text]
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return [text[begin:end].strip(" ,;") for (_, begin), end in zip(cuts, ends, strict=True)]


def _consists_of(pieces: list[re.Match[str]], text: str) -> bool:
    """Return whether the text consists only of these pieces and the separators between them."""
    at = 0
    for piece in pieces:
        between = text[at : piece.start()]
        if (at and not between) or not _BETWEEN.fullmatch(between):
            return False
        at = piece.end()
    return not text[at:].strip(STOPS)


def _content(piece: re.Match[str]) -> str:
    """Return the content of a piece without its quotes or marks."""
    return next(group for group in piece.groups() if group is not None)
