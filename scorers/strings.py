"""Strings that a reply returns: wrong entities, a wrong sentence, replacements for masks (mode `strict`).

The prompts of ReFACT (appendix C.3 to C.5) ask for bare lines; models wrap them. The rules, in order:

 1. Reasoning blocks go. Lines that end in a colon, and labels such as "Wrong Entities: …", divide the
    reply into sections. What follows a heading about corrections or reasons ("The correct sentence
    should be:", "Explanation:") is no answer.
 2. The last section whose heading names what was asked for is the answer ("another wrong entity is:"
    adds to it). Without one it is the text before the first heading, or else the last section.
 3. If lines carry list marks or numbers, those lines are the strings and the rest is talk (lists inside
    lists too). Otherwise the first paragraph's lines are, and later ones until a line of comment.
 4. A string loses its list mark, markdown, surrounding quotes and, for entities and replacements, closing
    punctuation. Of a quoted or bold part followed by an explanation the part stays; so does what
    stands before a dash or colon with an explanation, or before one in parentheses.
 5. A single entity line of short parts divided by commas is split; a single line of replacements only
    when it has as many parts as there are masks. A line of parts in angle brackets (`<x> <y>`) is split.
 6. Replacements: of "X -> Y" it is Y, of '<mask> should be replaced with "Y"' it is Y; running text
    without a heading (the answer copied, not filled in) gives no string, unless there are just as many
    lines as masks.
 7. A reply that only says that there is nothing wrong is an answer, the empty list; which words say so is in
    `nothing`. One that declines to answer has none.
"""

from __future__ import annotations

import re
import unicodedata

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.cleaning import EDGES, LONG_LINE, STOPS, clean
from halu_tasks.scorers.declining import declines
from halu_tasks.scorers.nothing import LONGEST, NOTHING_WRONG, says_none
from halu_tasks.scorers.sections import Kind, Line, Section, ranked, sections

_COMMENT = re.compile(
    r"\W*(?:note|explanation|however|therefore|thus|so|these|this|those|that|it|they|also|please|i|in|while"
    r"|since|as|because|corrected|correct|overall|all|if|there|here|based|after|to|the (?:correct|other|rest"
    r"|answer|statement|question|sentence|entit|replacement|reason|given|original|above|list))\b",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"\W*(?:note|explanation|this (?:sentence|statement|is (?:incorrect|wrong|because))"
    r"|these entities|the other)\b",
    re.IGNORECASE,
)
_ABOUT_TASK = re.compile(r"\b(?:sentence|statement|answer|information|entit)", re.IGNORECASE)
_ABOUT_CHOICE = re.compile(
    r"\b(?:which|wrong|incorrect|any|the|a|your|this) (?:\w+ )?(?:sentence|statement|request|task)\b", re.IGNORECASE
)
_SPEAKS = re.compile(r"\W*(?:I|I'm|we|sorry|unfortunately|as an?|unable|it is|there is|without)\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:which|who|that|where|when|because|so|but|it|it's|they|however|meaning|as|not|while|although|if|then|there"
    r"|therefore|since|is|are|was|were)\b",
    re.IGNORECASE,
)
_COMMAS = re.compile(r"[,;]\s+|[،，、；]\s*")
_TAGS = re.compile(r"(?:<[^<>/][^<>]*>[\s,;]*(?:and )?){2,}", re.IGNORECASE)
_SHORT = 60
_BRACKETED = re.compile(r"[(\[][^()\[\]]*[)\]]\.?")


def entities(reply: str, none: re.Pattern[str] = NOTHING_WRONG) -> Answer[list[str]]:
    """The wrong entities a reply lists, in its order, repeated ones too; `none` says that there are none."""
    return _answer(reply, "entity", 0, none)


def sentence(reply: str, none: re.Pattern[str] = NOTHING_WRONG) -> Answer[list[str]]:
    """The wrong sentence a reply returns: a list of one string, or of several when it lists several. `none` says that
    no sentence is wrong."""
    return _answer(reply, "sentence", 0, none)


def replacements(reply: str, expected: int) -> Answer[list[str]]:
    """The replacements a reply gives for `expected` masks, in order, those beyond them too."""
    return _answer(reply, "replacement", expected, NOTHING_WRONG)


def normalise(string: str) -> str:
    """The form in which two strings are compared.

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
    found = sections(text, kind)
    asked = [section for section in found if section.rank == 2]
    # the reply repeats the text and leaves the place for its replacements empty
    unfilled = bool(asked) and not any(section.lines for section in asked)
    has_list = any(section.rank == 1 for section in found)
    for section in ranked(found):
        lines = _chosen(section, kind, expected, has_list=has_list, unfilled=unfilled)
        strings = [string for line in lines if (string := clean(line.text, line.marked, kind, section.rank))]
        if len(strings) == 1 and kind != "sentence" and lines:
            strings = _split(strings[0], kind, expected)
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
    """The lines of a section that are strings (rule 3)."""
    lines = [line for line in section.lines if line.text.strip("-*_=`~ ")]
    lines = [line for line in lines if not _BRACKETED.fullmatch(line.text[:LONG_LINE])] or lines
    marked = [line for line in lines if line.marked]
    if marked and (kind != "sentence" or lines[0].marked):
        level = min(line.indent for line in marked) + 1
        return [line for line in lines if line.indent <= level and (line.marked or _entry(line))]
    as_many = (
        len(lines) == expected
        and not (unfilled and section.rank == 0)
        and not any("<mask>" in line.text for line in lines)
    )
    if kind == "replacement" and not as_many and any(_prose(line.text) for line in lines):
        return []
    if section.rank == 0 and kind == "entity" and has_list and all(_prose(line.text) for line in lines):
        return []
    kept: list[Line] = []
    later = False
    for line in lines:
        later = later or (bool(kept) and line.gap)
        if kept and (_REMARK.match(line.text) or (later and (kind == "sentence" or _comment(line.text)))):
            break
        kept.append(line)
    return kept


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


def _split(text: str, kind: Kind, expected: int) -> list[str]:
    """One line of several short strings in angle brackets, or divided by commas outside parentheses (rule 5)."""
    if len(text) > 2_000:
        return [text]
    if _TAGS.fullmatch(text):
        return [tag if tag == "<mask>" else tag[1:-1] for tag in re.findall(r"<[^<>]+>", text)]
    if not _COMMAS.search(text):
        return [text]
    parts: list[str] = []
    start = 0
    for comma in _COMMAS.finditer(text):
        if text.count("(", start, comma.start()) <= text.count(")", start, comma.start()):
            parts.append(text[start : comma.start()])
            start = comma.end()
    parts.append(text[start:])
    parts = [re.sub(r"^(?:and|or)\s+", "", part.lstrip(EDGES).rstrip(STOPS)) for part in parts]
    if kind == "replacement":
        return parts if expected > 1 and len(parts) == expected and all(parts) else [text]
    if any(not part or _BRACKETED.sub("", part).count(" ") >= 8 or _CLAUSE.match(part) for part in parts):
        return [text]
    return parts
