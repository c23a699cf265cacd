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
from collections.abc import Callable, Iterable

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.lexicon import lexicon
from halu_tasks.scorers.reading.pieces import Piece, bare, called_wrong, divided, quoted, right_part, wrong_part
from halu_tasks.scorers.reading.questions import NO, hallucinates
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.records import data_of
from halu_tasks.scorers.reading.reply import ends
from halu_tasks.scorers.reading.sections import LONGEST, MOST_LINES, SPACE, Line, Unit, sections_of, unwrapped
from halu_tasks.scorers.reading.steps import only_declines
from halu_tasks.text.folding import fold
from halu_tasks.text.spans import Text

_SHORT = 400  # a longer text says more than that there is nothing
_SENTENCE_END = re.compile(r"(?<=[.!?。])[\"”»’')]*\s+(?![a-z])|\n+")
_STOPS = " ,.;:!?،؛。，；：、！？"
_MARKS = ' "“”«»*_`'
_LANGUAGES = ("en", "zh", "tr", "ar", "hi")


class Passage:
    """A text in which quotations are looked up; case, quotes and runs of white space do not count.

    Args:
        text: The text; empty if it is not known.
    """

    def __init__(self, text: str) -> None:
        self._text = Text(text)
        self._held: dict[str, bool] = {}  # an endless reply repeats its strings
        self.sentences = [part for part in _SENTENCE_END.split(text) if part.count(" ") > 3]

    def holds(self, string: str) -> bool:
        """Return whether a string occurs in the text as whole words."""
        string = string.strip()
        if string not in self._held:
            self._held[string] = any(map(str.isalnum, string)) and any(
                not _in_word(self._text.text, start, string[0]) and not _in_word(self._text.text, end, string[-1])
                for start, end in self._text.place(string, fuzzy=False)
            )
        return self._held[string]

    def resembles(self, string: str) -> bool:
        """Return whether a string of some length occurs in the text with at most a tenth changed."""
        return len(string) > 20 and bool(self._text.place(string))


def _in_word(text: str, at: int, char: str) -> bool:
    """Return whether a place is inside a word of the text; Chinese and Japanese have no spaces between words."""
    around = text[max(0, at - 1) : at + 1] + char
    return len(around) == 3 and around.isalnum() and not re.search("[\u3040-\u9fff]", around)


def quotations(reply: str, passage: str, unit: Unit) -> Answer[list[str]]:
    """Return the strings of a passage that a reply calls wrong, in its order and with repetitions.

    Args:
        reply: The reply.
        passage: The text from which the model was asked to quote; empty if it is not known.
        unit: What it was asked for: each `entity`, one `sentence`, or each `passage` of any length.
    """
    text = strip_reasoning(reply)
    lines = [line for raw in (text or "").splitlines()[:MOST_LINES] if (line := raw.strip(SPACE).strip())]
    if len(lines) == 1 and len(lines[0]) <= 8 and _says_none(lines[0], unit):  # "None" may be a word of the passage
        return Answer([])
    if lines and all(line in passage for line in lines):
        return Answer(_strings(_once(lines, max(2, len(lines) // 2)), unit))
    source = Passage(passage)
    return _answer(text, unit, bare, lambda lines: _quoted_on(lines, source, unit))


def replacements(reply: str, expected: int) -> Answer[list[str]]:
    """Return the replacements that a reply gives for masks, in order.

    Args:
        reply: The reply.
        expected: The number of masks; surplus replacements are returned, too.
    """

    def read_lines(lines: list[Line]) -> tuple[list[str], bool]:
        strings = _strings(_filled(lines, expected), "replacement")
        return _once(strings, expected), len(strings) > 1 or any(not _declines(string) for string in strings)

    return _answer(strip_reasoning(reply), "replacement", right_part, read_lines)


def _answer(
    text: str | None,
    unit: Unit,
    read_entry: Callable[[str], str],
    read_lines: Callable[[list[Line]], tuple[list[str], bool]],
) -> Answer[list[str]]:
    """Return the strings of a reply.

    Args:
        text: The reply without reasoning; None if the reasoning does not end.
        unit: What was asked for.
        read_entry: Reads a string that is given as data.
        read_lines: Returns the strings on the lines of a section, and whether they are surely the answer.
    """
    if text is None:
        return Answer(None, "unclosed reasoning")
    if not text.strip(SPACE + "\n").strip():
        return Answer(None, "empty reply")
    text = unwrapped(ends(text), unit)
    loose: list[str] = []
    data = data_of(text, unit)
    if data is not None:
        strings = _strings(map(read_entry, data), unit)
        is_none = unit != "replacement" and (not strings or (len(strings) == 1 and _says_none(strings[0], unit)))
        return Answer([]) if is_none else Answer(strings) if strings else Answer(None, "no string found")
    for rank, lines in sections_of(text, unit):
        if loose and rank < 0:
            break
        strings, is_sure = read_lines(lines)
        if is_sure:
            return Answer(_strings(strings, unit))
        if _declines("\n".join(strings or [line.text for line in lines])):
            return Answer(None, "declines", abstained=True)
        if unit != "replacement" and all(_says_none(string, unit) for string in strings or [lines[0].text]):
            return Answer([])
        loose = loose or strings
    if _declines(text):
        return Answer(None, "declines", abstained=True)
    if unit != "replacement" and _says_none(text, unit):
        return Answer([])
    loose = _strings(loose, unit)
    return Answer(loose) if loose else Answer(None, "no string found")


def _strings(strings: Iterable[str], unit: Unit) -> list[str]:
    """Return the strings that are not empty, those shorter than a sentence without the stops behind them."""
    if unit in ("entity", "replacement"):
        strings = map(_without_stops, strings)
    return [string for string in strings if string]


def _without_stops(string: str) -> str:
    """Return a string without the stops behind it and a quotation mark without another; 6'2" keeps its inches."""
    string = string.rstrip(_STOPS)
    return string.strip('"') if string.count('"') == 1 and not string[-2:-1].isdigit() else string


def _once(strings: list[str], half: int) -> list[str]:
    """Return strings that are given twice only once."""
    return strings[:half] if strings == 2 * strings[:half] else strings


def _quoted_on(lines: list[Line], passage: Passage, unit: Unit) -> tuple[list[str], bool]:
    """Return the strings on the lines of a section, and whether some occur in the passage."""
    strings: list[str] = []
    is_held = False
    for line in lines:
        found = _quoted(line.text, passage, unit)
        is_item = line.indent >= 0 or (len(found) == 1 and len(found[0]) > 0.8 * len(line.text))
        is_comment = line.is_prose and (line.gap or not lines[0].is_prose) if unit == "entity" else True
        if strings and is_comment and not is_item:
            if unit == "entity" and line.gap:  # a remark after the list
                break
            continue
        is_held = is_held or bool(found)
        if found or unit == "entity":
            strings += found or _loose_entities(line.text)
        elif unit == "passage" and is_item:
            strings.append(wrong_part(line.text))
    paragraph = next((at for at, line in enumerate(lines) if at and line.gap), len(lines))
    strings = _once(strings, max(2, len(strings) // 2))
    loose = bare if unit == "sentence" else wrong_part
    return strings or [loose(line.text) for line in lines[:paragraph]], is_held


def _quoted(text: str, passage: Passage, unit: Unit) -> list[str]:
    """Return what a line quotes from the passage: the line, parts of a list, or what it sets off."""
    text = text[:LONGEST].strip(SPACE)
    whole = _held_form(text, passage, unit)
    for parts in divided(text) if unit == "entity" else ():
        strings = [_held_form(part, passage, unit) or wrong_part(part) for part in parts]
        # of '"a" → b; "c" → d' only "a" occurs before a mark, but "a and c" may be one string of the passage
        is_list = all(part.count(" ") < 8 for part in parts) and len(strings[0]) >= len(whole)
        if is_list and sum(map(passage.holds, strings)) > 1:
            return strings
    if whole:
        return [whole]
    marked = quoted(text)
    pieces = [piece for piece in marked if passage.holds(piece.string)]
    if unit == "entity":
        # what only a remark quotes is no answer
        is_list = pieces[:1] == marked[:1] and bool(pieces) and pieces[0].string in wrong_part(text)
        wrong, other = called_wrong(text, pieces if is_list else [])
        return wrong or other
    pieces = [piece for piece in pieces if piece.string.count(" ") > 2]
    places = ((sentence, text.rfind(sentence)) for sentence in passage.sentences)
    pieces += [Piece(sentence, at, at + len(sentence)) for sentence, at in places if at >= 0]
    wrong, other = called_wrong(text, pieces)
    if not wrong and not other and passage.resembles(stripped := text.strip(_MARKS)):
        return [stripped]
    return wrong[-1:] or other[:1]


def _held_form(text: str, passage: Passage, unit: Unit) -> str:
    """Return the form of a line that occurs in the passage: as it is, without quotes, or without what follows it."""
    forms = (bare(text), text, text.strip(_MARKS), "" if unit == "sentence" else wrong_part(text))
    return next(filter(passage.holds, forms), "")


def _loose_entities(text: str) -> list[str]:
    """Return the strings of a line that quotes nothing from the passage."""
    lists = (parts for parts in divided(bare(text)) if all(part.count(" ") < 4 for part in parts))
    return [wrong_part(part) for part in next(lists, [text])]


def _declines(text: str) -> bool:
    return len(text) <= LONGEST and only_declines(text)


def _says_none(text: str, unit: Unit) -> bool:
    """Return whether a text says that there is nothing to quote.

    A long sentence must also be about the task, since a sentence of the passage may deny something about its subject.
    """
    plain = fold(text[:_SHORT]).strip(" \n*_`\"'([{<>}])")
    if not plain.strip("-–—∅"):
        return True
    words = list(lexicon(*(f"strings.{language}" for language in _LANGUAGES)).scan(plain))
    if words and words[0].kind == "none" and not words[0].start:
        rest = plain[words[0].end :]
        if text.lstrip()[:1] in ("(", "[") or (not rest[:1].strip(".,;:") and (unit != "sentence" or rest[:1] != " ")):
            return True
    about = {word.kind for word in words} & {"wrong", "sentence", "passage", "entity"}
    is_about_task = unit != "sentence" or len(text) < 40 or about
    return bool(len(text) < _SHORT and is_about_task and hallucinates(text).value == NO)


def _filled(lines: list[Line], expected: int) -> list[str]:
    """Return the replacements on the lines of a section; empty if they are running text."""
    given = [right_part(line.text) for line in lines]
    is_marked = any(line.indent >= 0 for line in lines)
    short = [
        string
        for line, string in zip(lines, given, strict=True)
        if is_marked or not line.is_prose or not bare(line.text).startswith(string)
    ]
    if len(short) == len(lines) == 1 < expected:
        divisions = (parts for parts in divided(lines[0].text) if len(parts) == expected)
        return next(([*map(right_part, parts)] for parts in divisions), short)
    if len(short) in (len(lines), expected):
        return short
    if len(lines) == 1:
        return _named(lines[0].text, expected)
    return given if len(lines) == expected and not any("<mask>" in line.text for line in lines) else []


def _named(text: str, expected: int) -> list[str]:
    """Return the replacements that running text sets off, in bold in the text filled in or quoted in a remark."""
    pieces = [piece for piece in quoted(text) if piece.string.lower() != "mask"]
    is_filled_in = "<mask>" not in text and all(text.startswith("**", piece.start) for piece in pieces)
    is_named = len(pieces) == expected and (is_filled_in or "replac" in text.lower())
    return [piece.string for piece in pieces] if is_named else []
