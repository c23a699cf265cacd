"""Read the strings that a reply quotes from a passage, or gives for its masks (mode `strict`).

The prompts of ReFACT (appendix C.3 to C.5) and HaluEval's localization ask for bare lines; models add headings,
reasons, corrections and markup. The rules, in order:

 1. Reasoning and markup around the answer are removed. A list, an object or a table is read as data, by the names of
    its fields.
 2. Headings divide the reply. The last part whose heading names what was asked for is the answer, or else the text
    before the first heading; what is under "Explanation:" or "The correct sentence:" is not.
 3. If lines have list marks, these are read; otherwise, lines that quote the passage and short ones. Of "wrong →
    right", "wrong (should be right)" and the like, the wrong part is read, for masks the right one.
 4. What a line quotes is looked up: the line, its parts, or what it sets off in quotation marks occurs in the passage.
    A string that does not occur there is kept, without quotes, marks and remarks, if it is a line alone.
 5. A reply that says that nothing is wrong gives the empty list; one that only declines gives no answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.declining import only_declines
from halu_tasks.scorers.reading.lexicon import lexicon
from halu_tasks.scorers.reading.pieces import bare, divided, quoted, sides, without_remark, without_stops
from halu_tasks.scorers.reading.questions import NO, hallucinates_multilingual
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.records import data_of
from halu_tasks.scorers.reading.sections import (
    LONGEST,
    MOST_LINES,
    SPACE,
    Line,
    Unit,
    kinds,
    listed,
    sections_of,
    unwrapped,
)
from halu_tasks.scorers.reading.text import ends
from halu_tasks.text.folding import fold
from halu_tasks.text.spans import Text

_SHORT = 400  # a longer text says more than that there is nothing
_QUOTES = str.maketrans({**dict.fromkeys("‘’‚′`´ʼ‹›", "'"), **dict.fromkeys("“”„«»＂「」『』", '"')})
_SENTENCE_END = re.compile(r"(?<=[.!?。])[\"”»’')]*\s+|\n+")
_RIGHT_BEFORE = re.compile(
    r"(?:should (?:be|read|say|have been)|must be|instead of|rather than|in place of"
    r"|correct(?: \w+){0,2}(?: is| are)?:?|\bnot|actually|originally|-+>|=+>|[→⇒➜✅✓✔]\ufe0f?|\bto|\bwith|\bby)"
    r"[\s:\"“'*`_(]*\Z",
    re.IGNORECASE,
)
_VERDICT = r"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|looks|sounds?) (?:\w+ly )?(?:the )?"
_RIGHT_AFTER = re.compile(_VERDICT + r"(?:correct|right|accurate|true|fine|ok)\b", re.IGNORECASE)
_WRONG_AFTER = re.compile(_VERDICT + r"(?:wrong|incorrect|false|inaccurate|erroneous|untrue|not)\b", re.IGNORECASE)
_WRONG_BEFORE = re.compile(
    r"\b(?:wrong|incorrect|false|inaccurate|erroneous|untrue|error)\b[^.\"“«]{0,60}?(?:\bis|:|\bhere)[\s:\"“«'*`]*\Z",
    re.IGNORECASE,
)
_MASK_LABEL = re.compile(
    r"([^:：=\n]{1,60}?)[*_`]*\s*(?:[:：=]|[–—-](?=\s)|-+>|=+>|[→⇒])[*_`]*\s*(?=\S)"
    r"|(?=[\[<])(\W*mask\W?\d{1,2}[\]>])\s+(?=[\w\"“*])",
    re.IGNORECASE,
)
_LANGUAGES = ("en", "zh", "tr", "ar", "hi")


class Passage:
    """A text in which quotations are looked up; case, quotes and runs of white space do not count.

    Args:
        text: The text; empty if it is not known.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = _plain(text)

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of the text, without the shortest."""
        return [part for part in _SENTENCE_END.split(self.text) if part.count(" ") > 3]

    @cached_property
    def _places(self) -> Text:
        return Text(self.text)

    def holds(self, string: str) -> bool:
        """Return whether a string occurs in the text as whole words."""
        return len(string) <= len(self.text) + 100 and _occurs(_plain(string), self._plain)

    def resembles(self, string: str) -> bool:
        """Return whether a string occurs in the text with at most a tenth changed."""
        return bool(self._places.place(string))


def _plain(text: str) -> str:
    return " ".join(text.translate(_QUOTES).casefold().split())


def _occurs(string: str, text: str) -> bool:
    """Return whether a string occurs in a text as whole words; both are plain."""
    at = text.find(string) if any(map(str.isalnum, string)) else -1
    while at >= 0:
        if not _joined(text[at - 1 : at], string[0]) and not _joined(string[-1], text[at + len(string) :][:1]):
            return True
        at = text.find(string, at + 1)
    return False


def _joined(one: str, other: str) -> bool:
    """Return whether two characters belong to one word; Chinese and Japanese have no spaces between words."""
    return one.isalnum() and other.isalnum() and not ("\u3040" <= one <= "\u9fff" or "\u3040" <= other <= "\u9fff")


def quotations(reply: str, passage: str, unit: Unit) -> Answer[list[str]]:
    """Return the strings of a passage that a reply calls wrong, in its order and with repetitions.

    Args:
        reply: The reply.
        passage: The text from which the model was asked to quote; empty if it is not known.
        unit: What it was asked for: each `entity`, one `sentence`, or each `passage` of any length.
    """
    reading = _text(reply)
    if reading.value is None:
        return Answer(None, reading.reason)
    whole = [line for raw in reading.value.splitlines() if (line := raw.strip(SPACE))]
    if len(whole) == 1 and len(whole[0]) <= 8 and _says_none(whole[0]):  # "None" may be a word of the passage
        return Answer([])
    if all(line in passage for line in whole[:MOST_LINES]):
        return Answer(_strings(_once(whole), unit))
    text = unwrapped(ends(reading.value), unit)
    source = Passage(passage)
    data = data_of(text, unit)
    if data is not None:
        strings = [string for entry in data if (string := bare(entry))]
        if len(strings) == 1:
            strings = _quoted(strings[0], source, unit) or ([] if _says_none(strings[0], unit) else strings)
        return Answer(_strings(strings, unit))
    loose: list[str] = []
    for section in sections_of(text, unit):
        if loose and section.rank < 0:
            break
        lines = listed(section)
        strings, quotes = _section_strings(lines, source, unit)
        if quotes:
            return Answer(_strings(_once(strings), unit))
        if lines and all(_says_none(line, unit) for line in (strings or [line.text for line in lines[:3]])):
            return Answer([])
        if _declines(" ".join(line.text for line in lines)):
            return Answer(None, "declines", abstained=True)
        loose = loose or strings or [_loose(line.text) for line in _paragraph(lines)]
    if _declines(text):
        return Answer(None, "declines", abstained=True)
    loose = _strings(loose, unit)
    if _says_none(text, unit):
        return Answer([])
    return Answer(loose) if loose else Answer(None, "no string found")


def replacements(reply: str, expected: int) -> Answer[list[str]]:
    """Return the replacements that a reply gives for masks, in order.

    Args:
        reply: The reply.
        expected: The number of masks; surplus replacements are returned, too.
    """
    reading = _text(reply)
    if reading.value is None:
        return Answer(None, reading.reason)
    text = unwrapped(ends(reading.value), "replacement")
    data = data_of(text, "replacement")
    found = (
        [[_replacement(entry) for entry in data]]
        if data is not None
        else (_filled(listed(section), expected) for section in sections_of(text, "replacement"))
    )
    strings = next(filter(None, (_strings(strings, "replacement") for strings in found)), [])
    if _declines(strings[0] if len(strings) == 1 else "" if strings else text):
        return Answer(None, "declines", abstained=True)
    if len(strings) == 2 * expected:
        strings = _once(strings)
    return Answer(strings) if strings else Answer(None, "no string found")


def normalise(string: str) -> str:
    """Return the form in which two strings are compared.

    The string is normalised to NFKC and case-folded, white space becomes single spaces, and surrounding punctuation is
    removed, except for signs that carry meaning (%, #, &, @, a minus before a digit). A string of punctuation only is
    kept. A string of more than 10,000 characters is only stripped and case-folded, since it is compared with shorter
    ones.
    """
    if len(string) > 10_000:  # normalising a long run of combining marks takes quadratic time
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
    category = unicodedata.category(char)
    return char in " `" or category in ("Cf", "Cc") or (category[0] == "P" and char not in "%‰#&@")


def _text(reply: str) -> Answer[str]:
    """Return a reply without reasoning."""
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    return Answer(text) if text.strip(SPACE + "\n") else Answer(None, "empty reply")


def _strings(strings: Iterable[str], unit: Unit) -> list[str]:
    """Return the strings that are not empty, those shorter than a sentence without the stops behind them."""
    if unit in ("entity", "replacement"):
        strings = map(without_stops, strings)
    return [string for string in strings if string]


def _once(strings: list[str]) -> list[str]:
    half = len(strings) // 2
    return strings[:half] if half > 1 and strings[:half] == strings[half:] else strings


def _paragraph(lines: list[Line]) -> list[Line]:
    """Return the lines before the first blank line."""
    end = next((at for at, line in enumerate(lines) if at and line.gap and line.indent < 0), len(lines))
    return lines[:end]


def _section_strings(lines: list[Line], passage: Passage, unit: Unit) -> tuple[list[str], bool]:
    """Return the strings on the lines of a section, and whether some occur in the passage."""
    strings: list[str] = []
    quotes = False
    for line in lines:
        found = _quoted(line.text, passage, unit)
        is_whole = len(found) == 1 and len(found[0]) > 0.8 * len(line.text)
        is_comment = (
            bool(strings) and line.indent < 0 and line.is_prose and not is_whole and (line.gap or not lines[0].is_prose)
        )
        if unit == "entity":
            if is_comment and line.gap:
                break
            if not is_comment:
                is_loose = line.indent >= 0 or not line.is_prose
                strings += found or (_loose_entities(line.text) if is_loose else [_loose(line.text)] if strings else [])
                quotes = quotes or bool(found)
        elif found and (not strings or line.indent >= 0 or is_whole):
            strings += found
            quotes = True
        elif unit == "passage" and line.indent >= 0:
            strings.append(_loose(line.text))
    return [string for string in strings if string], quotes


def _quoted(text: str, passage: Passage, unit: Unit) -> list[str]:
    """Return what a line quotes from the passage: the line, parts of a list, or what it sets off."""
    text = text[:LONGEST].strip(SPACE)
    whole = _held_form(text, passage, unit)
    for parts in divided(text) if unit == "entity" else ():
        strings = [_held_form(part, passage, unit) or _wrong_part(part) for part in parts]
        is_list = all(part.count(" ") < 8 for part in parts) and len(strings[0]) >= len(whole)
        if is_list and sum(map(passage.holds, strings)) > 1:
            return strings
    if whole:
        return [whole]
    pieces = [piece for piece in quoted(text) if passage.holds(piece[0])]
    if unit != "entity":
        places = ((sentence, text.rfind(sentence)) for sentence in passage.sentences)
        pieces += [(sentence, at, at + len(sentence)) for sentence, at in places if at >= 0]
    strings = _called_wrong(text, pieces, unit)
    if not strings and unit != "entity" and len(text) > 20 and passage.resembles(bare(text)):
        return [bare(text)]
    return strings


def _held_form(text: str, passage: Passage, unit: Unit) -> str:
    """Return the form of a line that occurs in the passage: as it is, without quotes, or without what follows it."""
    forms = (text, text.strip(' "“”«»*_`'), bare(text), "" if unit == "sentence" else _wrong_part(text))
    return next(filter(passage.holds, forms), "")


def _wrong_part(text: str) -> str:
    return without_remark(sides(bare(text))[0])


def _called_wrong(text: str, pieces: list[tuple[str, int, int]], unit: Unit) -> list[str]:
    """Return the pieces of a line that it calls wrong, or else those that it does not call right."""
    wrong: list[str] = []
    other: list[str] = []
    for string, start, end in pieces:
        before, after = text[max(0, start - 100) : start], text[end : end + 60]
        if unit != "entity" and string.count(" ") < 3:
            continue
        if _WRONG_BEFORE.search(before) or _WRONG_AFTER.match(after):
            wrong.append(string)
        elif not _RIGHT_AFTER.match(after) and not _RIGHT_BEFORE.search(before):
            other.append(string)
    return (wrong or other) if unit == "entity" else (wrong[-1:] or other[:1])


def _loose(text: str) -> str:
    """Return the string of a line that quotes nothing from the passage: a long quotation in it, or its beginning."""
    return next((string for string, _, _ in quoted(text) if string.count(" ") >= 4), "") or _wrong_part(text)


def _loose_entities(text: str) -> list[str]:
    for parts in divided(bare(text)):
        if all(part.count(" ") < 4 for part in parts):
            return [_wrong_part(part) for part in parts]
    return [_loose(text)]


def _declines(text: str) -> bool:
    return len(text) <= LONGEST and only_declines(text)


def _says_none(text: str, unit: Unit = "entity") -> bool:
    """Return whether a text says that there is nothing to quote.

    A long sentence must also be about the task, since a sentence of the passage may deny something about its subject.
    """
    plain = fold(text[:_SHORT]).strip(" \n*_`\"'([{<>}])")
    if not plain.strip("-–—∅"):
        return True
    words = lexicon(*(f"strings.{language}" for language in _LANGUAGES)).scan(plain)
    if words and words[0].kind == "none" and not words[0].start:
        rest = plain[words[0].end :]
        if text.lstrip()[:1] in ("(", "[") or (not rest[:1].strip(".,;:") and (unit != "sentence" or rest[:1] != " ")):
            return True
    about = {word.kind for word in words} & {"wrong", "sentence", "passage", "entity"}
    is_about_task = unit != "sentence" or len(text) < 40 or about
    return bool(len(text) < _SHORT and is_about_task and hallucinates_multilingual(text).value == NO)


def _filled(lines: list[Line], expected: int) -> list[str]:
    """Return the replacements on the lines of a section; empty if they are running text."""
    given = [(line, _replacement(line.text)) for line in lines]
    marked = any(line.indent >= 0 for line in lines)
    short = [
        string
        for line, string in given
        if string and (marked or not line.is_prose or not bare(line.text).startswith(string))
    ]
    if len(lines) == 1 and not short:
        return _named(lines[0].text, expected)
    if len(lines) == 1 and expected > 1:
        return next(([*map(_replacement, parts)] for parts in divided(lines[0].text) if len(parts) == expected), short)
    if marked or len(short) == expected or not any(line.is_prose for line in lines):
        return short
    if len(lines) == expected > 1 and not any("<mask>" in line.text for line in lines):
        return [string for _, string in given]
    end = next(at for at, line in enumerate(lines) if line.is_prose or (at and line.gap))
    return [string for _, string in given[:end]] if end == expected else []


def _named(text: str, expected: int) -> list[str]:
    """Return the replacements that running text sets off, in bold in the text filled in or quoted in a remark."""
    pieces = [piece for piece in quoted(text) if piece[0].strip("<> ").lower() != "mask"]
    is_filled_in = "<mask>" not in text and all(text.startswith("**", start) for _, start, _ in pieces)
    is_about_masks = "replac" in text.lower()
    return [string for string, _, _ in pieces] if len(pieces) == expected and (is_filled_in or is_about_masks) else []


def _replacement(text: str) -> str:
    """Return the replacement on a line: of "Mask 1: chalk" and "stone → chalk", what is behind the mark."""
    text = text.strip(SPACE)[:LONGEST]
    label = _MASK_LABEL.match(text)
    if label and kinds(label[1] or label[2]) & {"mask", "first", "replacement"}:
        text = text[label.end() :]
    if text.count(" ") < 9 or text.lower().startswith("<mask>"):
        text = sides(text)[1] or text
    return without_remark(text)
