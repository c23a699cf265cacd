"""Read the strings that a reply returns: wrong entities, a wrong sentence, replacements for masks (mode `strict`).

The prompts of ReFACT (appendix C.3 to C.5) ask for bare lines; models add text and markup around them. The rules, in
order:

 1. Reasoning blocks are removed, and so is what is wrapped around the answer (`wrapping`). A list, an object or a table
    is read as data (`structured`). Otherwise, lines that end in a colon and labels such as "Wrong Entities: …" divide
    the reply into sections. The text under a heading about corrections or reasons ("The correct sentence should be:",
    "Explanation:") is not an answer.
 2. The last section whose heading names what was asked for is the answer ("another wrong entity is:" adds to it). If
    there is none, the answer is the text before the first heading, or else the last section.
 3. If lines have list marks or numbers, these lines are the strings and the rest is comment (in lists within lists,
    too). Otherwise, the lines of the first paragraph are the strings, and so are later lines up to a comment.
 4. List marks, markdown and surrounding quotes are removed from a string, and closing punctuation from an entity or a
    replacement. If an explanation follows a quoted or bold part, only the part is kept. If an explanation follows a
    dash or a colon, or is in parentheses, only the text before it is kept.
 5. A single line of entities is split if it consists of short parts separated by commas, or of parts that are quoted,
    bold or numbered one by one. A single line of replacements is otherwise split only if it has as many parts as there
    are masks (`pieces`).
 6. In "X -> Y", the string is X for wrong entities and sentences and Y for replacements. In '<mask> should be replaced
    with "Y"', it is Y. Running text before or after lines of replacements is comment. Running text alone (the answer
    copied, with its masks not filled in) gives no string, unless there are as many lines, or as many parts in bold, as
    masks.
 7. A reply that only says that nothing is wrong gives the empty list (`nothing` contains the wordings). A reply that
    declines to answer gives no answer.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.declining import declines
from halu_tasks.scorers.reading.nothing import LONGEST, NOTHING_WRONG, says_none
from halu_tasks.scorers.reading.reasoning import strip_reasoning
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
    """Return the wrong entities that a reply lists, in its order and with repetitions.

    Args:
        reply: The reply.
        none: The pattern of a statement that there are none, from `none_of`.
    """
    return _answer(reply, "entity", 0, none)


def sentence(reply: str, none: re.Pattern[str] = NOTHING_WRONG) -> Answer[list[str]]:
    """Return the wrong sentence of a reply as a list of one string, or of several if the reply lists several.

    Args:
        reply: The reply.
        none: The pattern of a statement that no sentence is wrong, from `none_of`.
    """
    return _answer(reply, "sentence", 0, none)


def replacements(reply: str, expected: int) -> Answer[list[str]]:
    """Return the replacements that a reply gives for masks, in order.

    Args:
        reply: The reply.
        expected: The number of masks; surplus replacements are returned, too.
    """
    return _answer(reply, "replacement", expected, NOTHING_WRONG)


def normalise(string: str) -> str:
    """Return the form in which two strings are compared.

    The string is normalised to NFKC and case-folded, white space becomes single spaces, and surrounding punctuation is
    removed, except for signs that carry meaning (%, #, &, @, a minus before a digit). A string of punctuation only is
    kept. A string of more than 10,000 characters is only stripped and case-folded, since it is compared with shorter
    ones.
    """
    if len(string) > LONG_LINE:  # normalising a long run of combining marks takes quadratic time
        return string.strip().casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", string).casefold())
    folded = " ".join(folded.split())
    start, end = 0, len(folded)
    while end > start and _is_removable(folded[end - 1]):
        end -= 1
    while start < end and _is_removable(folded[start]):
        if folded[start] == "-" and folded[start + 1 : start + 2].isdigit():
            break
        start += 1
    return folded[start:end] or folded


def _is_removable(char: str) -> bool:
    """Return whether a character is removed at the ends of a string before it is compared."""
    category = unicodedata.category(char)
    return char in " `" or category in ("Cf", "Cc") or (category[0] == "P" and char not in "%‰#&@")


def _answer(reply: str, kind: Kind, expected: int, none: re.Pattern[str]) -> Answer[list[str]]:
    """Return the strings of a reply.

    Args:
        reply: The reply.
        kind: What was asked for.
        expected: The number of masks; 0 if replacements were not asked for.
        none: The pattern of a statement that there are no such strings.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    text = plain_text(text, kind)
    if (data := structured(text, kind)) is not None:
        return _answer_from_data(data, kind, expected, none)
    all_sections = sections(text, kind)
    requested = [section for section in all_sections if section.rank == 2]
    # The reply repeats the text and has a heading for its replacements with nothing under it.
    unfilled = bool(requested) and not any(section.lines for section in requested)
    has_list = any(section.rank == 1 for section in all_sections)
    for section in ranked(all_sections):
        lines = _without_repetition(_chosen_lines(section, kind, expected, has_list=has_list, unfilled=unfilled))
        strings = _strings(lines, section, kind, expected)
        # A short line is also tested as it was, since `clean` may remove "is wrong" as an explanation.
        candidates = [*strings, *(line.text for line in lines[:1] if len(line.text) <= _SHORT)]
        if kind != "replacement" and len(strings) == 1 and any(_says_none(string, kind, none) for string in candidates):
            return Answer([])
        if len(strings) == 1 and _declines(strings[0], kind):
            return Answer(None, "declines", abstained=True)
        if strings:
            return Answer(strings)
    if not text.strip(EDGES):
        return Answer(None, "empty reply")
    if len(text) <= LONGEST and declines(text):
        return Answer(None, "declines", abstained=True)
    return Answer(None, "no string found" if all_sections else "too long, and no heading near its end")


def _answer_from_data(data: list[str], kind: Kind, expected: int, none: re.Pattern[str]) -> Answer[list[str]]:
    """Return the answer of a reply whose strings were read as data."""
    strings = [string for text in data if (string := clean(text, False, kind, 2))]
    if len(strings) == 1 and kind != "sentence":
        strings = split(strings[0], kind, expected)
    if kind == "replacement":
        return Answer(strings) if strings else Answer(None, "no string found")
    if len(strings) == 1 and _says_none(strings[0], kind, none):
        return Answer([])
    return Answer(strings)


def _strings(lines: list[Line], section: Section, kind: Kind, expected: int) -> list[str]:
    """Return the strings on the chosen lines of a section."""
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
    """Return whether there are several lines and each has an explanation after a dash."""
    return len(lines) > 1 and all(_EXPLAINED.search(line.text[:LONG_LINE]) for line in lines)


def _says_none(string: str, kind: Kind, none: re.Pattern[str]) -> bool:
    """Return whether a string only says that nothing is wrong.

    A long sentence must also mention the task, since a sentence of the text may say so about its subject.
    """
    if kind == "sentence" and len(string) >= 40 and not _ABOUT_TASK.search(string[:LONGEST]):
        return False
    return says_none(string, none)


def _declines(string: str, kind: Kind) -> bool:
    """Return whether a string only says that the model cannot or will not answer.

    A long sentence must also mention the choice, since a sentence of the text may say "I cannot". A replacement must be
    worded as a statement of the model.
    """
    if kind == "sentence" and len(string) >= 40 and not _ABOUT_CHOICE.search(string[:LONGEST]):
        return False
    if kind == "replacement" and not _SPEAKS.match(string):
        return False
    return len(string) <= LONGEST and declines(string)


def _chosen_lines(section: Section, kind: Kind, expected: int, *, has_list: bool, unfilled: bool) -> list[Line]:
    """Return the lines of a section that are strings (rule 3).

    Args:
        section: The section.
        kind: What was asked for.
        expected: The number of masks.
        has_list: Whether the reply has a section of rank 1, which may be the list.
        unfilled: Whether the reply leaves the section for its replacements empty.
    """
    lines = [line for line in section.lines if line.text.strip("-*_=`~ ")]
    lines = [line for line in lines if not _BRACKETED.fullmatch(line.text[:LONG_LINE])] or lines
    marked = [line for line in lines if line.marked]
    if marked and (kind != "sentence" or lines[0].marked):
        level = min(line.indent for line in marked) + 1
        return [line for line in lines if line.indent <= level and (line.marked or _may_be_item(line))]
    if kind == "replacement":
        return _replacement_lines(lines, expected, left_empty=unfilled and section.rank == 0)
    if section.rank == 0 and kind == "entity" and has_list and all(_is_prose(line.text) for line in lines):
        return []
    if len(lines) > 1 and lines[1].gap and _starts_with_comment(lines, kind):
        del lines[0]
    kept: list[Line] = []
    past_first_paragraph = False
    starts_short = not any(_is_prose(line.text) for line in lines[:1])
    for line in lines:
        past_first_paragraph = past_first_paragraph or (bool(kept) and line.gap)
        is_comment = _is_comment(line.text) or (
            starts_short and _is_prose(line.text) and line.text.endswith((".", "!", "?"))
        )
        if kept and (_REMARK.match(line.text) or (past_first_paragraph and (kind == "sentence" or is_comment))):
            break
        kept.append(line)
    return kept


def _replacement_lines(lines: list[Line], expected: int, *, left_empty: bool) -> list[Line]:
    """Return which of the lines, none of which has a list mark, are replacements.

    All of them are if there are as many as masks. Otherwise, those before or after running text are. A text that was
    copied with its masks gives no replacement.

    Args:
        lines: The lines of a section.
        expected: The number of masks.
        left_empty: Whether the lines are before a heading for the replacements with nothing under it.
    """
    has_masks = any("<mask>" in line.text and not _gives_replacement(line.text) for line in lines)
    if len(lines) == expected and not left_empty and not has_masks:
        return lines
    is_prose = [_is_prose(line.text) or bool(_TALKS.match(line.text) and line.gap) for line in lines]
    if not any(is_prose):
        return lines
    if len(lines) == 1:
        return lines if _gives_replacement(lines[0].text) or named(lines[0].text, "replacement", expected) else []
    if left_empty or has_masks:
        return []
    first = is_prose.index(True) or len(lines)
    before = lines[:first] if not is_prose[0] else []
    if before and (len(before) == expected or (first < len(lines) and lines[first].gap and all(is_prose[first:]))):
        return before
    short = [line for line, is_running in zip(lines, is_prose, strict=True) if not is_running]
    return short if len(short) == expected else []


def _gives_replacement(text: str) -> bool:
    """Return whether a line gives a replacement by itself, such as "Mask 1: basalt"."""
    return gives_one(text, "replacement")


def _starts_with_comment(lines: list[Line], kind: Kind) -> bool:
    """Return whether the first of the lines is a comment that introduces the others."""
    first = lines[0].text[:LONGEST]
    if kind == "sentence":
        return bool(_GREETS.match(first) and _ABOUT_TASK.search(first))
    is_comment = _TALKS.match(first) or _ABOUT_TASK.search(first)
    return bool(
        is_comment
        and _is_prose(first)
        and not _is_prose(lines[1].text)
        and not first.lower().startswith(("no", "all "))
    )


def _without_repetition(lines: list[Line]) -> list[Line]:
    """Return the lines; if they are one block repeated after blank lines, return the block once."""
    starts = [0, *(number for number, line in enumerate(lines) if line.gap and number), len(lines)]
    blocks = [[line.text for line in lines[start:end]] for start, end in pairwise(starts)]
    repeated = len(blocks) > 1 and len(blocks[0]) > 1 and all(block == blocks[0] for block in blocks)
    return lines[: len(blocks[0])] if repeated else lines


def _may_be_item(line: Line) -> bool:
    """Return whether a line without a list mark may be an item of a list whose other lines have one."""
    is_short = line.text[:LONG_LINE].count(" ") < 4 and not line.text.endswith((".", "!", "?"))
    return is_short and not line.gap and not _COMMENT.match(line.text)


def _is_prose(text: str) -> bool:
    """Return whether a line is running text, not a string that was asked for."""
    words = text[:LONG_LINE].count(" ") + 1
    return (words >= 12 and " / " not in text[:LONG_LINE]) or (words >= 6 and text.endswith((".", "!", "?")))


def _is_comment(text: str) -> bool:
    """Return whether a line is a comment on the answer."""
    words = text[:LONG_LINE].count(" ") + 1
    return (words >= 5 and bool(_COMMENT.match(text))) or (words >= 12 and text.endswith((".", "!", "?")))
