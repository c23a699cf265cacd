"""Strings that a reply returns: wrong entities, a wrong sentence, replacements for masks (mode `strict`).

The prompts of ReFACT (appendix C.3 to C.5) ask for bare lines; models wrap them. The rules, in order:

 1. Reasoning blocks go, and what wraps the answer (`wrapping`). A list, an object or a table is read as data
    (`structured`). Lines that end in a colon, and labels such as "Wrong Entities: …", divide the
    reply into sections. What follows a heading about corrections or reasons ("The correct sentence
    should be:", "Explanation:") is no answer.
 2. The last section whose heading names what was asked for is the answer ("another wrong entity is:"
    adds to it). Without one it is the text before the first heading, or else the last section.
 3. If lines carry list marks or numbers, those lines are the strings and the rest is talk (lists inside
    lists too). Otherwise the first paragraph's lines are, and later ones until a line of comment.
 4. A string loses its list mark, markdown, surrounding quotes and, for entities and replacements, closing
    punctuation. Of a quoted or bold part followed by an explanation the part stays; so does what
    stands before a dash or colon with an explanation, or before one in parentheses.
 5. A single entity line of short parts divided by commas is split, and a line of parts quoted, bold or numbered
    one by one; a single line of replacements otherwise only when it has as many parts as there are masks (`pieces`).
 6. Of "X -> Y" it is X among wrong entities and sentences, Y among replacements; of '<mask> should be replaced with
    "Y"' it is Y. Running text before or behind lines of replacements is talk; alone (the answer copied, not filled
    in) it gives no string, unless there are just as many lines as masks, or as many parts in bold.
 7. A reply that only says that there is nothing wrong is an answer, the empty list; which words say so is in
    `nothing`. One that declines to answer has none.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.reading.nothing import LONGEST, NOTHING_WRONG, says_none
from halu_tasks.scorers.reading.steps.declining import declines
from halu_tasks.scorers.reading.strings.cleaning import EDGES, LONG_LINE, clean, gives_one
from halu_tasks.scorers.reading.strings.pieces import named, split, split_apart
from halu_tasks.scorers.reading.strings.sections import Kind, Line, Section, ranked, sections
from halu_tasks.scorers.reading.strings.structured import structured
from halu_tasks.scorers.reading.strings.wrapping import plain_text

_COMMENT = re.compile(
    r"\W*(?:note|explanation|however|therefore|thus|so|these|this|those|that|it|they|also|please|i|in|while"
    r"|since|as|because|corrected|correct|overall|all|if|there|here|based|after|to|the (?:correct|other|rest"
    r"|answer|statement|question|sentence|entit|replacement|reason|given|original|above|list))\b",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"\W*(?:note|explanation|this (?:sentence|statement|is (?:incorrect|wrong|because))"
    r"|these entities|(?:these|both|they) (?:are|were) (?:both |all )?(?:factually )?(?:wrong|incorrect|replaced"
    r"|swapped)|let me know|i hope|the other)\b",
    re.IGNORECASE,
)
_ABOUT_TASK = re.compile(r"\b(?:sentence|statement|answer|information|entit)", re.IGNORECASE)
_ABOUT_CHOICE = re.compile(
    r"\b(?:which|wrong|incorrect|any|the|a|your|this) (?:\w+ )?(?:sentence|statement|request|task)\b", re.IGNORECASE
)
_SPEAKS = re.compile(r"\W*(?:I|I'm|we|sorry|unfortunately|as an?|unable|it is|there is|without)\b", re.IGNORECASE)
_EXPLAINED = re.compile(r"\S\s+[-–—]\s+\S+(?:\s+\S+){2}")
_TALKS = re.compile(
    r"\W*(?:let me know|i hope|hope (?:this|that)|feel free|if you|please|sure|certainly|of course|okay|ok|thank"
    r"|is there|looking|after|here|based|i)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\b(?:two|are|by|with)(?: (?:\w+ )?(?:entities|words|terms|errors|mistakes))?$", re.IGNORECASE)
_GREETS = re.compile(r"\W*(?:sure|certainly|of course|okay|ok|here|absolutely)\b", re.IGNORECASE)
_SHORT = 60
_BRACKETED = re.compile(r"[(\[][^()\[\]]*[)\]]\.?")


def entities(reply: str, none: re.Pattern[str] = NOTHING_WRONG) -> Answer[list[str]]:
    """Return the wrong entities a reply lists, in its order, repeated ones too; `none` says that there are none."""
    return _answer(reply, "entity", 0, none)


def sentence(reply: str, none: re.Pattern[str] = NOTHING_WRONG) -> Answer[list[str]]:
    """Return the wrong sentence a reply returns: a list of one string, or of several when it lists several.

    `none` says that no sentence is wrong.
    """
    return _answer(reply, "sentence", 0, none)


def replacements(reply: str, expected: int) -> Answer[list[str]]:
    """Return the replacements a reply gives for `expected` masks, in order, those beyond them too."""
    return _answer(reply, "replacement", expected, NOTHING_WRONG)


def normalise(string: str) -> str:
    """Return the form in which two strings are compared.

    NFKC, case-folded, white-space runs as one space, surrounding punctuation removed (a sign that carries
    meaning stays: %, #, &, @, a minus before a digit). A string of punctuation alone keeps it. One of more
    than 10,000 characters is only stripped and case-folded: nothing it is compared with is so long.
    """
    if len(string) > LONG_LINE:  # normalising a long run of combining marks takes quadratic time
        return string.strip().casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", string).casefold())
    folded = " ".join(folded.split())
    start, end = 0, len(folded)
    while end > start and _droppable(folded[end - 1]):
        end -= 1
    while start < end and _droppable(folded[start]):
        if folded[start] == "-" and folded[start + 1 : start + 2].isdigit():
            break
        start += 1
    return folded[start:end] or folded


def _droppable(char: str) -> bool:
    category = unicodedata.category(char)
    return char in " `" or category in ("Cf", "Cc") or (category[0] == "P" and char not in "%‰#&@")


def _answer(reply: str, kind: Kind, expected: int, none: re.Pattern[str]) -> Answer[list[str]]:
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "reasoning never ends")
    text = plain_text(text, kind)
    if (given := structured(text, kind)) is not None:
        return _given(given, kind, expected, none)
    found = sections(text, kind)
    asked = [section for section in found if section.rank == 2]
    # the reply repeats the text and leaves the place for its replacements empty
    unfilled = bool(asked) and not any(section.lines for section in asked)
    has_list = any(section.rank == 1 for section in found)
    for section in ranked(found):
        lines = _once(_chosen(section, kind, expected, has_list=has_list, unfilled=unfilled))
        strings = _strings(lines, section, kind, expected)
        # of a short line both forms, since cleaning may take "is wrong" off as an explanation
        said = [*strings, *(line.text for line in lines[:1] if len(line.text) <= _SHORT)]
        if kind != "replacement" and len(strings) == 1 and any(_denies(string, kind, none) for string in said):
            return Answer([])
        if len(strings) == 1 and _declines(strings[0], kind):
            return Answer(None, "declines", abstained=True)
        if strings:
            return Answer(strings)
    if not text.strip(EDGES):
        return Answer(None, "empty reply")
    if len(text) <= LONGEST and declines(text):
        return Answer(None, "declines", abstained=True)
    return Answer(None, "no string found" if found else "too long, and no heading near its end")


def _given(given: list[str], kind: Kind, expected: int, none: re.Pattern[str]) -> Answer[list[str]]:
    """Return the answer that a reply gives as data."""
    strings = [string for text in given if (string := clean(text, False, kind, 2))]
    if len(strings) == 1 and kind != "sentence":
        strings = split(strings[0], kind, expected)
    if kind == "replacement":
        return Answer(strings) if strings else Answer(None, "no string found")
    if len(strings) == 1 and _denies(strings[0], kind, none):
        return Answer([])
    return Answer(strings)


def _strings(lines: list[Line], section: Section, kind: Kind, expected: int) -> list[str]:
    """Return the strings on the lines of a section that were chosen."""
    if len(lines) != 1 or kind == "sentence":
        listed = _all_explained(lines)
        cleaned = (clean(line.text, line.marked or listed, kind, section.rank) for line in lines)
        return [string for string in cleaned if string]
    line = lines[0]
    parts = split_apart(line.text, line.marked, kind, expected)
    strings = [string for part in parts if (string := clean(part, line.marked, kind, section.rank))]
    if len(strings) != 1:
        return strings
    return split(strings[0], kind, expected, joined=section.inline and bool(_SEVERAL.search(section.heading)))


def _all_explained(lines: list[Line]) -> bool:
    """Does a dash and an explanation follow on every one of these lines?"""
    return len(lines) > 1 and all(_EXPLAINED.search(line.text[:LONG_LINE]) for line in lines)


def _denies(string: str, kind: Kind, none: re.Pattern[str]) -> bool:
    """Does this string only say that nothing is wrong? A sentence may say so of its own subject."""
    if kind == "sentence" and len(string) >= 40 and not _ABOUT_TASK.search(string[:LONGEST]):
        return False
    return says_none(string, none)


def _declines(string: str, kind: Kind) -> bool:
    """Does this string only say that the model will not, or cannot, tell? Sentences of the text may say "I cannot"."""
    if kind == "sentence" and len(string) >= 40 and not _ABOUT_CHOICE.search(string[:LONGEST]):
        return False
    if kind == "replacement" and not _SPEAKS.match(string):
        return False
    return len(string) <= LONGEST and declines(string)


def _chosen(section: Section, kind: Kind, expected: int, *, has_list: bool, unfilled: bool) -> list[Line]:
    """Return the lines of a section that are strings (rule 3)."""
    lines = [line for line in section.lines if line.text.strip("-*_=`~ ")]
    lines = [line for line in lines if not _BRACKETED.fullmatch(line.text[:LONG_LINE])] or lines
    marked = [line for line in lines if line.marked]
    if marked and (kind != "sentence" or lines[0].marked):
        level = min(line.indent for line in marked) + 1
        return [line for line in lines if line.indent <= level and (line.marked or _entry(line))]
    if kind == "replacement":
        return _replacing(lines, expected, left_empty=unfilled and section.rank == 0)
    if section.rank == 0 and kind == "entity" and has_list and all(_prose(line.text) for line in lines):
        return []
    if len(lines) > 1 and lines[1].gap and _opens(lines, kind):
        del lines[0]
    kept: list[Line] = []
    later = False
    short = not any(_prose(line.text) for line in lines[:1])
    for line in lines:
        later = later or (bool(kept) and line.gap)
        remark = _comment(line.text) or (short and _prose(line.text) and line.text.endswith((".", "!", "?")))
        if kept and (_REMARK.match(line.text) or (later and (kind == "sentence" or remark))):
            break
        kept.append(line)
    return kept


def _replacing(lines: list[Line], expected: int, *, left_empty: bool) -> list[Line]:
    """Return the lines without a mark that are replacements.

    These are just as many as there are masks, or those before or behind running text. A text copied with its masks
    gives none.
    """
    copied = any("<mask>" in line.text and not _labels(line.text) for line in lines)
    if len(lines) == expected and not left_empty and not copied:
        return lines
    prose = [_prose(line.text) or bool(_TALKS.match(line.text) and line.gap) for line in lines]
    if not any(prose):
        return lines
    if len(lines) == 1:
        return lines if _labels(lines[0].text) or named(lines[0].text, "replacement", expected) else []
    if left_empty or copied:
        return []
    first = prose.index(True) or len(lines)
    before = lines[:first] if not prose[0] else []
    if before and (len(before) == expected or (first < len(lines) and lines[first].gap and all(prose[first:]))):
        return before
    short = [line for line, long in zip(lines, prose, strict=True) if not long]
    return short if len(short) == expected else []


def _labels(text: str) -> bool:
    """Does this line name a mask and what stands in its place?"""
    return gives_one(text, "replacement")


def _opens(lines: list[Line], kind: Kind) -> bool:
    """Is the first of these lines talk that leads to the others?"""
    first = lines[0].text[:LONGEST]
    if kind == "sentence":
        return bool(_GREETS.match(first) and _ABOUT_TASK.search(first))
    talks = _TALKS.match(first) or _ABOUT_TASK.search(first)
    return bool(talks and _prose(first) and not _prose(lines[1].text) and not first.lower().startswith(("no", "all ")))


def _once(lines: list[Line]) -> list[Line]:
    """Of a block of lines that is repeated after blank lines, the first."""
    starts = [0, *(number for number, line in enumerate(lines) if line.gap and number), len(lines)]
    blocks = [[line.text for line in lines[start:end]] for start, end in pairwise(starts)]
    repeated = len(blocks) > 1 and len(blocks[0]) > 1 and all(block == blocks[0] for block in blocks)
    return lines[: len(blocks[0])] if repeated else lines


def _entry(line: Line) -> bool:
    """Could this line without a mark be one of a list whose other lines have one?"""
    few = line.text[:LONG_LINE].count(" ") < 4 and not line.text.endswith((".", "!", "?"))
    return few and not line.gap and not _COMMENT.match(line.text)


def _prose(text: str) -> bool:
    """Is this line running text rather than a string asked for?"""
    words = text[:LONG_LINE].count(" ") + 1
    return (words >= 12 and " / " not in text[:LONG_LINE]) or (words >= 6 and text.endswith((".", "!", "?")))


def _comment(text: str) -> bool:
    words = text[:LONG_LINE].count(" ") + 1
    return (words >= 5 and bool(_COMMENT.match(text))) or (words >= 12 and text.endswith((".", "!", "?")))
