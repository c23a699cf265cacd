"""Extract the returned string from one line of a reply, without marks, quotes, labels and explanations.

Implements rules 4 and 6 of `strings`, for replies to ReFACT's localization and correction prompts.
"""

from __future__ import annotations

import re
from itertools import islice

from halu_tasks.scorers.reading.strings.sections import Kind

LONG_LINE = 10_000  # a longer line is neither an entity nor a sentence; it is only stripped

_CLOSING = dict(zip("\"'`“”«‘「『", "\"'`””»’」』", strict=True)) | {"„": "“”"}
EDGES = " \t\n\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069"
STOPS = ".,;:!?،؛。，；：！？、" + EDGES

_NTH = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|next|other|\d{1,2}(?:st|nd|rd|th))"
_NOUN = (
    r"(?:masks?|blank|gap|tag|slot|placeholder|word|term|phrase|entity|sentence|statement|passage|replacement|error"
    r"|mistake|item|wrong|incorrect|(?:right|correct) (?:answer|word|term)|text)"
)
# "Mask 1:", "First mask:", "For the second <mask> (the river):", "Wrong word 2 –", "Second:"
_LABEL = re.compile(
    rf"[*_`]*(?:(?:and )?(?:for|in) )?(?:the )?"
    rf"(?=(?:[\w<\[]+[ *_`]+){{0,4}}[<\[]?(?:{_NTH}|{_NOUN}|mask_?\d+)\b)"
    rf"(?:(?:{_NTH}|factually|wrong|incorrect|replaced|missing|hidden|masked)[ *_`]*){{0,4}}"
    rf"(?:[<\[]?{_NOUN}[ _]?(?:\d{{1,2}})?[>\]]?(?:\d{{1,2}}</mask>)?)?(?: ?\(\d{{1,2}}\)| ?#?\d{{1,2}}"
    r"| ?(?:one|two|three|four|five|six)\b)?"
    r"(?: ?\([^()]{0,60}\))?[*_`]*\s*",
    re.IGNORECASE,
)
_LABEL_ENDS = re.compile(r"(?:[:：=]|[–—-]+(?=\s)|-+>|=+>|→)[*_`]*\s*(?=\S)")
_FILL_ENDS = re.compile(
    r"(?:[:：=]|[–—-]+(?=\s)|with\b|-+>|=+>|→|,(?=\s[\"“*`])|(?<=\][ ])"
    r"|(?:is|are|(?:should|must|would|could) be|becomes?|stands for|refers to)"
    r"(?: (?:replaced|filled)(?: in)? (?:with|by))?"
    r"\b:?)[*_`]*\s*(?=\S)",
    re.IGNORECASE,
)
# "It should be x", "basalt should be x", "I think the mask stands for x"
_STATED = re.compile(
    r"[^\"“:.\n]{1,60}?\bshould (?:be|read)\s+(?=\S+(?:\s\S+){0,3}\Z)"
    r"|I (?:think|believe|guess)(?: that)? (?:it's|it is|the (?:mask|answer|word) (?:is|stands for))\s+",
    re.IGNORECASE,
)
_MASK_BEHIND = re.compile(r"\s*(?:[-–—]\s*|\()?<?mask>? ?#?\d{1,2}\)?\Z", re.IGNORECASE)
_THINKS = re.compile(
    r"\A(?:I (?:think|believe|guess)(?: that)? (?:it's|it is)\s+"
    r"|only\s+(?=\S+(?:\s\S+){0,4} (?:is|are) (?:wrong|incorrect)))",
    re.IGNORECASE,
)
_DENIES = re.compile(r"(?:not|present|missing|unclear|unknown)\b", re.IGNORECASE)
_SIGNS = "❌✗✘✖✅✓✔☑⚠\ufe0f"
_STRUCK = re.compile(r"~~([^~\n]{1,2000})~~\s*")
_CHANGE = re.compile(
    r"(?:replace|change|swap|correct|substitute)\s+(?=[\"“'*`])(.{1,300}?)\s+(?:with|by|to|for|into)\s+(?=[\"“'*`])(.+)",
    re.IGNORECASE,
)
_EXPLANATION_MARKS = tuple("-–—:;,.(=<→[➜⟶⇒➡➔/")

_EXPLAINS = re.compile(
    r"[\W_]*(?:incorrect|correct|wrong|false|not|should|actually|this|these|it|in|is|are|was|were|which|because"
    r"|instead|fits|belongs|works|the (?:correct|actual|answer))\b",
    re.IGNORECASE,
)
_IS_WRONG = re.compile(
    r"[\W_]*(?:this|because|(?:is|are|was) (?:the )?(?:factually )?(?:incorrect|wrong|false|inaccurate|not))\b",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"[\W_]*(?:incorrect|wrong|not|should|actually|this|correct(?:ed|ion|ly)?|right|again|because|since|must|ought"
    r"|instead of|rather than|originally|in place of|swapped|replac(?:es|ed|ing)|the (?:correct|right|proper|actual)"
    r"|(?:as )?(?:it|they) (?:is|are|should|was)|as (?:it's|this|the))\b",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"[,;]?\s+(?:should (?:be|read|have)|(?:must|ought to) (?:be|read)(?=(?:\s\S+){1,4}\Z)"
    r"|(?:is|are|was|were) (?:factually )?(?:incorrect|wrong|inaccurate)|instead of|rather than|in place of"
    r"|(?:was|were|is|are) (?:swapped|replaced|substituted) (?:for|with|by)|ha(?:s|ve) replaced)\b"
    r"|;\s+correct(?:ed|ion)?\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"(?:the|this|in)\b.{0,80}?\b(?:mention|answer|question|term|phrase|statement|word|claim|use|sentence)",
    re.IGNORECASE,
)
# "… (This is wrong: …)" after a sentence
_ASIDE = re.compile(
    r"(?<=[.!?\"”*])\s*[(\[](?:should|this is|incorrect|wrong|correct(?:ed|ion)?\b|the correct|actually|because)"
    r"[^()\[\]]*[)\]]\.?\Z",
    re.IGNORECASE,
)
_CALLED_WRONG = re.compile(r"\b(?:sentence|statement)\b", re.IGNORECASE)
_FAULTY = r"(?:wrong|incorrect|false|inaccurate|erroneous|untrue)"
# "the wrong sentence is: …" in the middle of a line; without a colon, the sentence must be quoted.
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
_IS_CORRECT = re.compile(r"\b(?:is|are|would be) (?:correct|right|meant)\b", re.IGNORECASE)
_DASH = re.compile(r"\s+[-–—]+\s+|(?<=\w)\s*—\s*(?=\w)|\s/\s(?=correct)")
_COLON = re.compile(r":\s+")
_ARROW = re.compile(r"\s*(?:-+>|=+>|[→⇒➜⟶➡➔⟹]\ufe0f?)\s*")
_INTO = re.compile(r"\b(?:replac\w+|becomes?|changed|filled)\b.{0,60}?\b(?:with|by|to|as)\b:?\s*", re.IGNORECASE)
_OPENING_QUOTE = re.compile(r"(?:^|(?<=[\s(:]))[\"“«](?=\S)")
_TAGGED = re.compile(r"<([^<>/]+)>|<\w+>([^<>]+)</\w+>")


def clean(text: str, listed: bool, kind: Kind, rank: int) -> str:
    """Return the string on a line (rules 4 and 6); empty if nothing is left.

    Args:
        text: The line without its list mark.
        listed: Whether the line is an item of a list.
        kind: What was asked for.
        rank: The rank of the line's section, as in `Section`.
    """
    text = text.strip(EDGES)
    if len(text) > LONG_LINE:
        return text
    text = _without_labels(_without_signs(text), kind)
    text = _right_part(text) if kind == "replacement" else _wrong_part(text, kind)
    text = _without_emphasis(text, explained=kind != "sentence")
    part, rest = _split_quoted(text)
    if kind == "sentence":
        return _clean_sentence(text, part, rest, rank)
    if part and (not rest.strip(STOPS + "*_") or rest.lstrip()[:1] in _EXPLANATION_MARKS or _EXPLAINS.match(rest)):
        text = part
    elif kind == "entity" and text.count(" ") >= 7 and _TALK.match(text) and (inner := _first_quoted(text, 1)):
        text = inner
    else:
        text = _without_explanation(text, listed)
    text = _without_emphasis(_without_stops(text))
    if text.lower() != "<mask>" and (tag := _TAGGED.fullmatch(text)):
        text = str(tag[1] or tag[2])
    part, rest = _split_quoted(text)
    if part and not rest.strip(STOPS):
        text = part
    if text.count('"') == 1 and (text[0] == '"' or (text[-1] == '"' and not text[-2:-1].isdigit())):
        text = text.strip('"')
    return _without_stops(text)


def _clean_sentence(text: str, part: str, rest: str, rank: int) -> str:
    """Return the sentence on a line, with its closing punctuation and the quotes that are part of it.

    Args:
        text: The line.
        part: The quoted part at its start; empty if there is none.
        rest: The text after that part.
        rank: The rank of the line's section.
    """
    if aside := _ASIDE.search(text):
        return _clean_sentence(
            text[: aside.start()].strip(EDGES), *_split_quoted(text[: aside.start()].strip(EDGES)), rank
        )
    if wrong := _sentence_called_wrong(text):
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


def _sentence_called_wrong(text: str) -> str:
    """Return the sentence that a line with several sentences calls the wrong one; empty if it calls none wrong."""
    mentions = [*islice(_NAMES_WRONG.finditer(text), 20)]
    if mentions and mentions[-1].start() > 30:
        following = text[mentions[-1].end() :].strip(EDGES)
        return (_split_quoted(following)[0] or following).strip(EDGES)
    quoted = [
        (opening.start(), part)
        for opening in islice(_OPENING_QUOTE.finditer(text), 20)
        if (part := _split_quoted(text[opening.start() :])[0]).count(" ") >= 3
    ]
    after = [(part, text[start + len(part) + 2 :]) for start, part in quoted]
    wrong = [part for part, rest in after if _IS_FAULTY.match(rest)]
    right = [part for part, rest in after if _IS_RIGHT.match(rest)]
    if len(wrong) == 1 and len(quoted) > 1:
        return wrong[0].strip(EDGES)
    not_right = [part for _, part in quoted if part not in right]
    return not_right[0].strip(EDGES) if right and len(not_right) == 1 else ""


def gives_one(text: str, kind: Kind) -> bool:
    """Return whether a part of a line gives a string by itself: with a label, an arrow, quotes or bold type."""
    return states(text, kind) or bool(_split_quoted(text)[0]) or text.startswith("**")


def states(text: str, kind: Kind) -> bool:
    """Return whether a label or an arrow shows which part of the text is the string."""
    return bool(_label_end(text, kind) or _ARROW.search(text, 1))


def _without_signs(text: str) -> str:
    """Return the text without the ticks and crosses around it."""
    return text.strip(_SIGNS + EDGES)


def _label_end(text: str, kind: Kind) -> int:
    """Return where the string after a label such as "Mask 1:" begins; 0 if there is no label."""
    label = _LABEL.match(text[:200])
    if not label or not label.end():
        return 0
    label_end = (_FILL_ENDS if kind == "replacement" else _LABEL_ENDS).match(text, label.end())
    if not label_end or (
        label_end[0][:1].isalpha() and (text.count(" ", label_end.end()) > 5 or _DENIES.match(text, label_end.end()))
    ):
        return 0
    return label_end.end()


def _without_labels(text: str, kind: Kind) -> str:
    """Return the text without the labels at its start."""
    while at := _label_end(text, kind):
        text = text[at:]
    return text


def _wrong_part(text: str, kind: Kind) -> str:
    """Return the wrong part of "wrong → right", "~~wrong~~ right", "replace wrong with right"."""
    if kind == "entity":
        text = _THINKS.sub("", text, count=1)
    if struck := _STRUCK.match(text):
        return struck[1].strip(EDGES)
    if change := _CHANGE.match(text[:2_000]):
        return change[1]
    arrow = _ARROW.search(text, 1)
    long_enough = arrow and (kind == "entity" or text.count(" ", 0, arrow.start()) >= 2)
    return text[: arrow.start()].strip(EDGES + _SIGNS) if arrow and long_enough else text


def _right_part(text: str) -> str:
    """Return the replacement in a line about a mask."""
    if (struck := _STRUCK.match(text)) and struck.end() < len(text):
        text = text[struck.end() :]
    if change := _CHANGE.match(text[:2_000]):
        return change[2]
    if len(parts := _ARROW.split(text)) > 1:
        text = _without_signs(parts[-1])
    text = _MASK_BEHIND.sub("", text) if len(text) <= 200 else text
    if statement := _STATED.match(text[:200]):
        text = text[statement.end() :]
    if ("mask" in text.lower() or '"' in text) and (verb := _INTO.search(text)):
        text = text[verb.end() :]
    return _without_labels(text, "replacement")


def _without_emphasis(text: str, *, explained: bool = False) -> str:
    """Return the text without bold or italics around it; of a bold part with an explanation after it, only the part.

    Args:
        text: The text.
        explained: Whether an explanation may also begin with a mark such as "→", or with words that correct or judge.
    """
    for mark in ("**", "__", "*", "_"):
        if text.startswith(mark) and (end := text.find(mark, len(mark) + 1)) > 0:
            part, rest = text[len(mark) : end], text[end + len(mark) :]
            has_explanation = rest.lstrip()[:1] in tuple(":-–—(") or (
                explained and (rest.lstrip()[:1] in _EXPLANATION_MARKS or _CORRECTS.match(rest) or _VERDICT.match(rest))
            )
            if not rest.strip(STOPS) or (mark == "**" and has_explanation):
                return part.strip(EDGES) if mark == "**" else part
    return text


def _split_quoted(text: str) -> tuple[str, str]:
    """Return the quoted part at the start of the text, and the text after it; two empty strings if there is none.

    Quotes inside the part are kept.
    """
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
    """Return the first quoted part of the text that has at least `words` words; empty if there is none."""
    for opening in islice(_OPENING_QUOTE.finditer(text), 20):
        part, _ = _split_quoted(text[opening.start() :])
        if part.count(" ") + 1 >= words and part:
            return part.strip(EDGES)
    return ""


def _without_explanation(text: str, listed: bool) -> str:
    """Return a line without explanations after a dash, a colon or a verdict, and in parentheses.

    In an item of a list, any rest that is long enough is an explanation. Other lines are mostly copied from the answer,
    so the rest must also be worded like an explanation.

    Args:
        text: The line.
        listed: Whether the line is an item of a list.
    """
    cut = False
    for separator, words in ((_DASH, 3), (_COLON, 4)):
        match = separator.search(text)
        if not match or not match.start():
            continue
        rest = text[match.end() :]
        short = text.count(" ", 0, match.start()) < 12
        if _CORRECTS.match(rest) or (listed and short and (rest.count(" ") + 1 >= words or _EXPLAINS.match(rest))):
            text, cut = text[: match.start()], True
    if (verdict := _VERDICT.search(text)) and verdict.start():
        text, cut = text[: verdict.start()], True
    text = _without_stops(text)
    opened = max(text.find(" ("), text.find(" ["))
    if opened > 0 and (text.endswith((")", "]")) or not {")", "]"} & {*text[opened:]}):
        inside = text[opened + 2 :].rstrip(")]")
        corrects = _CORRECTS.match(inside) or _IS_CORRECT.search(inside[:200]) or inside[:1] in _SIGNS + "→"
        if cut or (listed and inside.count(" ") >= 4) or corrects:
            text = text[:opened]
    return text


def _without_stops(text: str) -> str:
    """Return the text without closing punctuation; the "!" of "n!" is kept, since it is a factorial."""
    stripped = text.strip(EDGES)
    text = stripped.rstrip(STOPS)
    return text + "!" if stripped == text + "!" and not (len(text) > 1 and text[-2:].isalpha()) else text
