"""One returned string out of one line of a reply: marks, quotes, labels and explanations taken off.

The line-level rules (4 and 6) of `strings`, for replies to ReFACT's localization and correction prompts.
"""

from __future__ import annotations

import re
from itertools import islice

from halu_tasks.scorers.sections import Kind

LONG_LINE = 10_000  # a line beyond this is no entity and no sentence: it is stripped, nothing more

_CLOSING = dict(zip("\"'`“”«‘「『", "\"'`””»’」』", strict=True)) | {"„": "“”"}
EDGES = " \t\n\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069"
STOPS = ".,;:!?،؛。，；：！？、" + EDGES

_EXPLAINS = re.compile(
    r"[\W_]*(?:incorrect|correct|wrong|false|not|should|actually|this|these|it|in|is|are|was|were|which|because"
    r"|instead|the (?:correct|actual|answer))\b",
    re.IGNORECASE,
)
_IS_WRONG = re.compile(
    r"[\W_]*(?:this|because|(?:is|are|was) (?:factually )?(?:incorrect|wrong|false|inaccurate|not))\b",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"[\W_]*(?:incorrect|wrong|not|should|actually|this|correct|again|because|since"
    r"|(?:as )?(?:it|they) (?:is|are|should|was)|as (?:it's|this|the))\b",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"\s+(?:should (?:be|read|have)|(?:is|are) (?:factually )?(?:incorrect|wrong|inaccurate))\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"(?:the|this|in)\b.{0,80}?\b(?:mention|answer|question|term|phrase|statement|word|claim|use|sentence)",
    re.IGNORECASE,
)
_CALLED_WRONG = re.compile(r"\b(?:sentence|statement)\b", re.IGNORECASE)
_FAULTY = r"(?:wrong|incorrect|false|inaccurate|erroneous|untrue)"
# "the wrong sentence is: …" in the middle of a line; without a colon the sentence must be quoted
_NAMES_WRONG = re.compile(
    rf"\b{_FAULTY} (?:sentence|statement|one)\b[^.:\"“«]{{0,60}}(?: is|:)\s*(?::\s*(?=\S)|(?=[\"“«]))", re.IGNORECASE
)
_IS_RIGHT = re.compile(
    r"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|looks) (?:\w+ly )?(?:correct|right|accurate"
    r"|true|fine|ok)\b",
    re.IGNORECASE,
)
_IS_FAULTY = re.compile(
    rf"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|isn't|aren't) (?:\w+ly )?(?:{_FAULTY}|not)\b",
    re.IGNORECASE,
)
_DASH = re.compile(r"\s+[-–—]+\s+|(?<=\w)\s*—\s*(?=\w)|\s+-+>\s*|\s*→\s*")
_COLON = re.compile(r":\s+")
_ARROW = re.compile(r"\s*(?:-+>|=+>|→|⇒)\s*")
_INTO = re.compile(r"\b(?:replac\w+|becomes?|changed|filled)\b.{0,60}?\b(?:with|by|to|as)\b:?\s*", re.IGNORECASE)
_MASK = re.compile(
    r"`?(?:<mask>|\[mask\]|mask(?= ?#?\d))`?(?:\s*#?\d+)?\s*(?:[:=]|[–—-]+(?=\s)|with\b)\s*(?=\S)",
    re.IGNORECASE,
)
_OPENING_QUOTE = re.compile(r"(?:^|(?<=[\s(:]))[\"“«](?=\S)")
_TAGGED = re.compile(r"<([^<>/]+)>|<\w+>([^<>]+)</\w+>")
_ITEM_LABEL = re.compile(
    r"(?:factually )?(?:wrong |incorrect )?(?:entity|sentence|replacement)(?: ?#?\d+)?\s*:\s+", re.IGNORECASE
)


def clean(text: str, listed: bool, kind: Kind, rank: int) -> str:
    """One string out of one line (rules 4 and 6); empty when nothing is left."""
    text = text.strip(EDGES)
    if len(text) > LONG_LINE:
        return text
    text = _ITEM_LABEL.sub("", text, count=1) if _ITEM_LABEL.match(text) else text
    if kind == "replacement":
        text = _filled_in(text)
    text = _without_emphasis(text)
    part, rest = _quoted(text)
    if kind == "sentence":
        return _clean_sentence(text, part, rest, rank)
    if part and (not rest.strip(STOPS + "*_") or rest.lstrip()[:1] in tuple("-–—:;,.(=<→") or _EXPLAINS.match(rest)):
        text = part
    elif kind == "entity" and text.count(" ") >= 7 and _TALK.match(text) and (inner := _first_quoted(text, 1)):
        text = inner
    else:
        text = _without_explanation(text, listed)
    text = _without_emphasis(_unstopped(text))
    if text.lower() != "<mask>" and (tag := _TAGGED.fullmatch(text)):
        text = str(tag[1] or tag[2])
    part, rest = _quoted(text)
    if part and not rest.strip(STOPS):
        text = part
    if text.count('"') == 1 and (text[0] == '"' or (text[-1] == '"' and not text[-2:-1].isdigit())):
        text = text.strip('"')
    return _unstopped(text)


def _clean_sentence(text: str, part: str, rest: str, rank: int) -> str:
    """A sentence keeps its closing punctuation, and quotes that are a part of it."""
    if wrong := _called_wrong(text):
        return wrong
    if part:
        if not rest.strip(STOPS):
            return part.strip(EDGES)
        if part.count(" ") >= 3 and (rank > 0 or rest.lstrip()[:1] in tuple("-–—:(") or _IS_WRONG.match(rest)):
            return part.strip(EDGES)
    elif (inner := _first_quoted(text, 4)) and _CALLED_WRONG.search(text[: text.find(inner)]):
        return inner
    if text[:1] in '"“' and not part:
        return text[1:].strip(EDGES)
    return text


def _called_wrong(text: str) -> str:
    """The sentence that a line of several names as the wrong one; empty where it does not."""
    named = [*islice(_NAMES_WRONG.finditer(text), 20)]
    if named and named[-1].start() > 30:
        following = text[named[-1].end() :].strip(EDGES)
        return (_quoted(following)[0] or following).strip(EDGES)
    quoted = [
        (opening.start(), part)
        for opening in islice(_OPENING_QUOTE.finditer(text), 20)
        if (part := _quoted(text[opening.start() :])[0]).count(" ") >= 3
    ]
    after = [(part, text[start + len(part) + 2 :]) for start, part in quoted]
    wrong = [part for part, rest in after if _IS_FAULTY.match(rest)]
    right = [part for part, rest in after if _IS_RIGHT.match(rest)]
    if len(wrong) == 1 and len(quoted) > 1:
        return wrong[0].strip(EDGES)
    left = [part for _, part in quoted if part not in right]
    return left[0].strip(EDGES) if right and len(left) == 1 else ""


def _filled_in(text: str) -> str:
    """What a line about a mask puts in its place."""
    if len(parts := _ARROW.split(text)) > 1:
        text = parts[-1]
    if ("mask" in text.lower() or '"' in text) and (into := _INTO.search(text)):
        text = text[into.end() :]
    while mask := _MASK.match(text):
        text = text[mask.end() :]
    return text


def _without_emphasis(text: str) -> str:
    """Markdown bold or italics around the text; of a bold part and an explanation, the part."""
    for mark in ("**", "__", "*", "_"):
        if text.startswith(mark) and (end := text.find(mark, len(mark) + 1)) > 0:
            inside, rest = text[len(mark) : end], text[end + len(mark) :]
            if not rest.strip(STOPS) or (mark == "**" and rest.lstrip()[:1] in tuple(":-–—(")):
                return inside.strip(EDGES) if mark == "**" else inside
    return text


def _quoted(text: str) -> tuple[str, str]:
    """The quoted part a text begins with, and what follows it; quotes inside it are kept. Else two blanks."""
    closing = _CLOSING.get(text[:1])
    if not closing:
        return "", ""
    depth = 0
    for at in range(1, len(text)):
        if text[at] not in closing and text[at] != text[0]:
            continue
        before, after = text[at - 1], text[at + 1 : at + 2]
        if (before.isspace() or before in "([-—") and after and not after.isspace():
            depth += 1
        elif not after.isalnum() and text[at] in closing:
            if not depth:
                return text[1:at], text[at + 1 :]
            depth -= 1
    return "", ""


def _first_quoted(text: str, words: int) -> str:
    """The first quoted part of at least so many words anywhere in the text."""
    for opening in islice(_OPENING_QUOTE.finditer(text), 20):
        part, _ = _quoted(text[opening.start() :])
        if part.count(" ") + 1 >= words and part:
            return part.strip(EDGES)
    return ""


def _without_explanation(text: str, listed: bool) -> str:
    """Drop what a reader would: explanations after a dash, a colon or a verdict, and in parentheses.

    Of a listed line any long enough rest is an explanation; bare lines are mostly copied as they stand
    in the answer, so there it must sound like one.
    """
    cut = False
    for separator, words in ((_DASH, 3), (_COLON, 4)):
        found = separator.search(text)
        if not found or not found.start():
            continue
        rest = text[found.end() :]
        short = text.count(" ", 0, found.start()) < 12
        if _CORRECTS.match(rest) or (listed and short and (rest.count(" ") + 1 >= words or _EXPLAINS.match(rest))):
            text, cut = text[: found.start()], True
    if (verdict := _VERDICT.search(text)) and verdict.start():
        text, cut = text[: verdict.start()], True
    text = _unstopped(text)
    opened = text.find(" (")
    if opened > 0 and (text.endswith(")") or ")" not in text[opened:]):
        inside = text[opened + 2 :].rstrip(")")
        if cut or (listed and inside.count(" ") >= 4) or _CORRECTS.match(inside):
            text = text[:opened]
    return text


def _unstopped(text: str) -> str:
    """Without closing punctuation; "n!" is a factorial."""
    kept = text.strip(EDGES)
    text = kept.rstrip(STOPS)
    return text + "!" if kept == text + "!" and not (len(text) > 1 and text[-2:].isalpha()) else text
