"""Read the strings that a reply quotes from a passage, or gives for its masks (mode `strict`).

The prompts of ReFACT (appendix C.3 to C.5) and HaluEval's localization ask for bare lines; models add headings,
reasons, corrections and markup. What a line quotes is looked up: it is the longest part, between marks, that occurs in
the passage. The rules, in order:

 1. Reasoning and markup around the answer are removed. A list, an object or a table is read as data, by the names of
    its fields.
 2. Headings divide the reply. The last part whose heading names what was asked for is the answer, or else the text
    before the first heading; what is under "Explanation:" or "The correct sentence:" is not.
 3. If lines have list marks, these are read; otherwise, lines that quote the passage and short ones. Of "wrong →
    right", "wrong (should be right)" and the like, the wrong part is read, for masks the right one.
 4. A string that does not occur in the passage is kept, without quotes, marks and reasons, if it is a line alone.
 5. A reply that says that nothing is wrong gives the empty list; one that only declines gives no answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.declining import only_declines
from halu_tasks.scorers.reading.lexicon import lexicon
from halu_tasks.scorers.reading.questions import NO, hallucinates_multilingual
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.records import data_of
from halu_tasks.scorers.reading.sections import (
    CROSSES,
    LONGEST,
    MOST_LINES,
    SPACE,
    TICKS,
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
_STOPS = " ,.;:!?،؛。，；：、！？"
_SIGNS = CROSSES + TICKS + "⚠\ufe0f"
_QUOTES = str.maketrans({**dict.fromkeys("‘’‚′`´ʼ‹›", "'"), **dict.fromkeys("“”„«»＂「」『』", '"')})
# where a quotation may begin and end in a line
_BEGINS = re.compile(
    r"\A|(?<!\w)['‘](?=\S)|[\"“«`*_(\[<~]+(?=\S)|(?<!\d)[:,]|[:,](?!\d)\s*|[：;،，、；|•]\s*|(?:-+>|=+>|[→⇒➜])\s*|(?<=\s)(?:\(?\d{1,2}[.)]|[-–—/&])\s+"
    r"|\b(?:is|are|and|or|was|were|says|replace|calls|states|mentions|und|to|with)\s+(?:that\s+)?"
)
_ENDS = re.compile(
    r"[.!?]?(?:[\"”»`*_)\]>~]|['’](?!\w))|[.!?]?\s*(?:[,:](?!\d)|[;：،，、；|•])|\s*(?:-+>|=+>|[→⇒➜←])|\s[-–—(\[/&]|[.!?。]*\s*\Z"
    r"|[.!?。]\s|\s(?:\(?\d{1,2}[.)])\s|,?\s(?:is|are|was|were|and|or|should|must|instead|rather|because|since|which|to"
    r"|with|by|in place|isn't|aren't|und)\b"
)
_RIGHT_BEFORE = re.compile(
    r"(?:should (?:be|read|say|have been)|must be|instead of|rather than|in place of"
    r"|correct(?: \w+){0,2}(?: is| are)?:?|\bnot|actually|originally|-+>|=+>|[→⇒➜✅✓✔]\ufe0f?|\bto|\bwith|\bby)"
    r"[\s:\"“'*`_(]*\Z",
    re.IGNORECASE,
)
_CORRECTION = r"(?:should|must|instead of|rather than|in place of|originally|with|by|to|not)\b"
_GAP = re.compile(
    rf"[\"”'’`*>~\s.]*(?:\([^()]{{0,200}}\)|(?:-+>|=+>|[→⇒➜])[^,;•|\n(]{{0,120}}?|{_CORRECTION}[^,;•\n(]{{0,120}}?)?"
    r"(?:[\s.\"”'’*`]*[,;،，、；|•/&>]+|\s*(?:\(?\d{1,2}[.)]|\b(?:and|or|und|et|y))(?=\s))\s*(?:\d{1,2}[.)]\s*)?"
    r"(?:(?:and|or|und)\b)?(?:\s*(?:replace|change)\b)?[\W_]*",
    re.IGNORECASE,
)
_WRONG_AFTER = re.compile(
    r"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|isn't|aren't) (?:\w+ly )?(?:the )?"
    r"(?:wrong|incorrect|false|inaccurate|erroneous|untrue|not|[\W_]|\Z)",
    re.IGNORECASE,
)
_RIGHT_AFTER = re.compile(
    r"[\W_]*(?:(?:this|it|which|that) )?(?:is|are|was|were|seems|looks|sounds?) (?:\w+ly )?"
    r"(?:correct|right|accurate|true|fine|ok)\b",
    re.IGNORECASE,
)
_WRONG_BEFORE = re.compile(
    r"\b(?:wrong|incorrect|false|inaccurate|erroneous|untrue|error)\b[^.\"“«]{0,60}?(?:\bis|:|\bhere)[\s:\"“«'*`]*\Z",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\s*(?:-+>|=+>|[→⇒➜⟶⟹➡➔←])|\s+[-–—]+\s+|—|:\s+|\s+[(\[]"
    r"|[,;]?\s+(?:should (?:be|read|have)|instead of|rather than|in place of"
    r"|(?:is|are|was|were) (?:factually )?(?:incorrect|wrong|inaccurate|swapped|replaced)|ha(?:s|ve) replaced)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"([^\"\n]{1,2000})\"|“([^“”\n]{1,2000})”|«([^«»\n]{1,2000})»|`([^`\n]{1,300})`|\*\*([^*\n]{1,300})\*\*"
    r"|~~([^~\n]{1,2000})~~"
    r"|(?<!\w)'([^'\n]{1,300})'(?!\w)|<([^<>/\n]{1,300})>|(?<![\w*])[*_]([^*_\n]{1,300})[*_](?![\w*])"
)
_MENTIONS = re.compile(
    r"(?:the|this|in)\b(?: \w+){0,4} (?:mentions?|phrase|terms?|words?|statement|claim|uses?|sentence|says|states)\b"
    r"(?: \w+){0,2} ?[\"“*]",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?:which|who|that|where|when|because|so|but|it|it's|they|however|meaning|as|not|while|although|if|then|there|therefore"
    r"|since|is|are|was|were)\b",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?:replace|change|swap|correct|substitute)?\s*(.{1,300}?)\s*(?:(?:-+>|=+>|[→⇒➜⟶⟹➡➔])"
    r"|\b(?:should be(?: replaced (?:with|by))?|with|by|becomes)\b)\s*(.+)",
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
        self._places = Text(text)

    def holds(self, string: str) -> bool:
        """Return whether a string occurs in the text as whole words."""
        plain = _plain(string)
        at = self._plain.find(plain) if any(map(str.isalnum, plain)) else -1
        while at >= 0:
            before, after = self._plain[at - 1 : at], self._plain[at + len(plain) : at + len(plain) + 1]
            if not (before.isalnum() and plain[0].isalnum() and _spaced(before)) and not (
                after.isalnum() and plain[-1].isalnum() and _spaced(after)
            ):
                return True
            at = self._plain.find(plain, at + 1)
        return False

    def resembles(self, string: str) -> bool:
        """Return whether a string occurs in the text with at most a tenth changed."""
        return bool(self._places.place(string))


def _plain(text: str) -> str:
    return " ".join(text.translate(_QUOTES).casefold().split())


def _spaced(char: str) -> bool:
    return not "\u3040" <= char <= "\u9fff"


def quotations(reply: str, passage: str, unit: Unit) -> Answer[list[str]]:
    """Return the strings of a passage that a reply calls wrong, in its order and with repetitions.

    Args:
        reply: The reply.
        passage: The text from which the model was asked to quote; empty if it is not known.
        unit: What it was asked for: each `entity`, one `sentence`, or each `passage` of any length.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    whole = [line for raw in text.splitlines() if (line := raw.strip(SPACE))]
    if not whole:
        return Answer(None, "empty reply")
    if len(whole) == 1 and len(whole[0]) <= 8 and _says_none(whole[0]):  # "None" may be a word of the passage
        return Answer([])
    if passage and all(line in passage for line in whole[:MOST_LINES]):
        return Answer(_without_stops(_once(whole), unit))
    text = unwrapped(ends(text), unit)
    source = Passage(passage)
    data = data_of(text, unit)
    if data is not None:
        strings = [string for entry in data if (string := _bare(entry))]
        if len(strings) == 1 and unit == "entity":
            strings = _quoted(strings[0], source, unit) or strings
        is_none = len(strings) == 1 and not source.holds(strings[0]) and _says_none(strings[0], unit)
        return Answer([] if is_none else _without_stops(strings, unit))
    loose: list[str] = []
    asked = False
    for section in sections_of(text, unit):
        if loose and section.rank < (2 if asked else 0):
            break
        lines = listed(section)
        strings, quotes = _section_strings(lines, source, unit)
        if quotes:
            return Answer(_without_stops(_once(strings), unit))
        if lines and all(_says_none(line, unit) for line in (strings or [line.text for line in lines[:3]])):
            return Answer([])
        if _declines(" ".join(line.text for line in lines)):
            return Answer(None, "declines", abstained=True)
        asked = asked or (section.rank == 2 and unit != "sentence")
        loose = loose or strings or [_loose(line.text) for line in _paragraph(lines)]
    if _declines(text):
        return Answer(None, "declines", abstained=True)
    if _says_none(text, unit):
        return Answer([])
    loose = _without_stops(loose, unit)
    return Answer(loose) if loose else Answer(None, "no string found")


def _section_strings(lines: list[Line], passage: Passage, unit: Unit) -> tuple[list[str], bool]:
    """Return the strings on the lines of a section, and whether some occur in the passage."""
    strings: list[str] = []
    quotes = False
    for line in lines:
        quoted = _quoted(line.text, passage, unit)
        is_whole = len(quoted) == 1 and len(quoted[0]) > 0.8 * len(line.text)
        is_comment = (
            bool(strings) and line.indent < 0 and line.is_prose and not is_whole and (line.gap or not lines[0].is_prose)
        )
        if unit == "entity":
            if is_comment and line.gap:
                break
            if not is_comment:
                is_loose = line.indent >= 0 or not line.is_prose
                strings += quoted or (
                    _pieces(line.text, passage) if is_loose else [_loose(line.text)] if strings else []
                )
                quotes = quotes or bool(quoted)
        elif quoted and (not strings or line.indent >= 0 or is_whole):
            strings += quoted
            quotes = True
        elif unit == "passage" and line.indent >= 0:
            strings.append(_loose(line.text))
    return [string for string in strings if string], quotes


def replacements(reply: str, expected: int) -> Answer[list[str]]:
    """Return the replacements that a reply gives for masks, in order.

    Args:
        reply: The reply.
        expected: The number of masks; surplus replacements are returned, too.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    if not text.strip(SPACE):
        return Answer(None, "empty reply")
    text = unwrapped(ends(text), "replacement")
    data = data_of(text, "replacement")
    if data is not None:
        strings = _without_stops(map(_replacement, data), "replacement")
        return Answer(strings) if strings else Answer(None, "no string found")
    for section in sections_of(text, "replacement"):
        strings = _without_stops(_filled(listed(section), expected), "replacement")
        if strings:
            declined = len(strings) == 1 and _declines(strings[0])
            if len(strings) == 2 * expected and strings[:expected] == strings[expected:]:
                strings = strings[:expected]
            return Answer(None, "declines", abstained=True) if declined else Answer(strings)
    if _declines(text):
        return Answer(None, "declines", abstained=True)
    return Answer(None, "no string found")


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


def _paragraph(lines: list[Line]) -> list[Line]:
    """Return the lines before the first blank line."""
    end = next((at for at, line in enumerate(lines) if at and line.gap and line.indent < 0), len(lines))
    return lines[:end]


def _once(strings: list[str]) -> list[str]:
    half = len(strings) // 2
    return strings[:half] if half > 1 and strings[:half] == strings[half:] else strings


def _quoted(text: str, passage: Passage, unit: Unit) -> list[str]:
    """Return what a line quotes from the passage: its longest parts between marks that occur there."""
    text = text[:LONGEST].strip(SPACE + _SIGNS)
    parts = _separated(text) if unit == "entity" else []
    if len(parts) > 1 and all(part.count(" ") < 3 and passage.holds(part) for part in parts):
        return parts
    forms = (text, text.strip(' "“”«»*_`'), _bare(text))[:: -1 if unit == "entity" else 1]
    if whole := next((form for form in forms if passage.holds(form)), ""):
        return [whole]
    sentence = [] if unit == "entity" else _quoted_sentence(text, passage)
    if any(mark + sentence[0] in text for mark in '"“«' if sentence):
        return sentence
    if len(forms[1]) > 20 and passage.resembles(forms[1]):
        return [forms[1]]
    if unit != "entity":
        return sentence
    if len(parts) > 1 and any(map(passage.holds, parts)):
        return [part if passage.holds(part) else _loose(part) for part in parts]
    strings: list[str] = []
    last = 0
    for start, end in _held(text, passage, 1):
        before = text[last:start]
        if _RIGHT_BEFORE.search(text[max(0, start - 60) : start]):
            continue
        if strings and not _GAP.fullmatch(before):
            break
        if strings or (not _REASON.search(before) and _introduces(before, text, unit)):
            strings.append(text[start:end])
            last = end
    rest = text[last:].lstrip("\"”»'’`*_)]>~").rstrip(_STOPS)
    goes_on = rest.strip(_STOPS) and (text[last] == " " or rest.count(" ") > 3) and not _REASON.match(rest)
    return [] if goes_on else strings


def _introduces(before: str, text: str, unit: Unit) -> bool:
    """Return whether the beginning of a line announces the string after it, or the string is marked."""
    if not before.strip("\"“«'‘`*_([<~ ") or before[-1] in "\"“«'‘`*>":
        return True
    return before[-1] in " :：" and bool(kinds(before) & {"wrong", "entity", "final"}) and not _says_none(text, unit)


def _quoted_sentence(text: str, passage: Passage) -> list[str]:
    """Return the sentence that a line quotes: the one that it calls wrong, or the first that it does not call right."""
    wrong: list[str] = []
    other: list[str] = []
    for start, end in _held(text, passage, 4):
        before, after, sentence = text[max(0, start - 100) : start], text[end : end + 60], _bare(text[start:end])
        if not _is_set_off(text, start, end):
            continue
        if _WRONG_BEFORE.search(before) or _WRONG_AFTER.match(after):
            wrong.append(sentence)
        elif not _RIGHT_AFTER.match(after) and not _RIGHT_BEFORE.search(before):
            other.append(sentence)
    return wrong[-1:] or other[:1]


def _is_set_off(text: str, start: int, end: int) -> bool:
    """Return whether a part of a line is quoted, follows a colon, or is most of the line."""
    return (
        text[start - 1 : start] in tuple("\"“«'‘`*:：")
        or text[start - 2 : start] == ": "
        or 2 * (end - start) > len(text)
    )


def _separated(text: str) -> list[str]:
    """Return the short parts of a line between commas and similar marks; only the line if a part is a clause."""
    parts = [
        re.sub(r"^(?:and|or)\s+", "", part.strip())
        for part in re.split(r",\s+(?![^()]*\))|;\s*|[،，、；]\s*|\s[|/]{1,2}\s", text.rstrip(" .,;"))
    ]
    is_list = all(part and part.count(" ") < 8 and not _CLAUSE.match(part) for part in parts)
    return [_bare(part) if _QUOTED.fullmatch(part) else part for part in parts] if is_list else [text]


def _held(text: str, passage: Passage, least: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the longest parts of a line between marks that occur in the passage.

    Args:
        text: The line.
        passage: The passage.
        least: The number of words that a part must have.
    """
    if not passage.text:
        return
    starts = sorted({match.end() for match in _BEGINS.finditer(text)})[:60]
    stops = sorted(
        {match.start() for match in _ENDS.finditer(text)}
        | {match.end() for match in re.finditer(r"[.!?。](?!\w)", text)}
    )[:80]
    at = 0
    for start in starts:
        if start < at:
            continue
        for stop in reversed(stops):
            if stop <= start:
                break
            part = text[start:stop]
            if part.count(" ") + 1 >= least and len(part) <= len(passage.text) + 100 and passage.holds(part.strip()):
                yield start, stop
                at = stop
                break


def _pieces(text: str, passage: Passage) -> list[str]:
    """Return the strings of a line that quotes nothing from the passage: parts that are marked, or the line."""
    text = text.strip(SPACE + _SIGNS)
    quoted = [*_QUOTED.finditer(text)]
    between = _QUOTED.sub("\0", text)
    if len(quoted) > 1 and re.fullmatch(r"(?:\0|[\s,;/&|.]|\b(?:and|or|und)\b)+", between):
        return [_content(piece) for piece in quoted]
    if len(numbered := _numbered(text)) > 1:
        return numbered
    return [part if passage.holds(part) else _loose(part) for part in _separated(text)]


def _numbered(text: str) -> list[str]:
    parts = re.split(r"(?:^|(?<=[\s,;]))\(?\d{1,2}[.)]\s+(?=\S)|\s+[•◦▪·]\s+", text)
    return [_loose(part.strip(" ,;")) for part in parts if part.strip(" ,;")]


def _loose(text: str) -> str:
    """Return the string of a line that quotes nothing from the passage, without quotes and reasons."""
    if (piece := _QUOTED.match(text)) and _content(piece):
        rest = text[piece.end() :]
        if not rest.strip(" .,;:") or _REASON.match(rest) or _content(piece).count(" ") < 8:
            return _content(piece)
    least = 0 if _MENTIONS.match(text) else 4
    inner = next((piece for piece in _QUOTED.finditer(text) if _content(piece).count(" ") >= least), None)
    if inner:
        return _content(inner)
    reason = _REASON.search(text, 1)
    return _bare(text[: reason.start()] if reason and not text[: reason.start()].count(" ") > 11 else text)


def _content(piece: re.Match[str]) -> str:
    return next(group for group in piece.groups() if group is not None).strip(SPACE)


def _bare(text: str) -> str:
    """Return a string without the quotes and emphasis around it."""
    text = text.strip(SPACE + _SIGNS)
    while text.lower() != "<mask>" and (piece := _QUOTED.fullmatch(text.rstrip(" .,;:"))) and _content(piece):
        text = _content(piece)
    return text


def _without_stops(strings: Iterable[str], unit: Unit) -> list[str]:
    """Return the strings that are not empty, those shorter than a sentence without the stops behind them."""
    if unit in ("entity", "replacement"):
        strings = [_unpaired(string.rstrip(_STOPS)) for string in strings]
    return [string for string in strings if string]


def _unpaired(string: str) -> str:
    """Return a string without a quotation mark at one of its ends that has no other; 6'2" keeps its sign for inches."""
    is_quote = string.count('"') == 1 and (string[0] == '"' or not string[-2:-1].isdigit())
    return string.strip('"') if is_quote else string


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
    short = [string for line, string in given if string and (marked or string != _bare(line.text) or not line.is_prose)]
    if len(lines) == 1 and not short:
        return _named(lines[0].text, expected)
    if len(lines) == 1 and expected > 1:
        divided = (parts for parts in _divisions(lines[0].text) if len(parts) == expected and all(parts))
        return next(divided, short)
    if marked or len(short) == expected or not any(line.is_prose for line in lines):
        return short
    if len(lines) == expected > 1 and not any("<mask>" in line.text for line in lines):
        return [string for _, string in given]
    end = next(at for at, line in enumerate(lines) if line.is_prose or (at and line.gap))
    return [string for _, string in given[:end]] if end == expected else []


def _named(text: str, expected: int) -> list[str]:
    """Return the replacements that running text sets off, in bold in the text filled in or quoted in a remark."""
    pieces = [piece for piece in _QUOTED.finditer(text) if _content(piece).strip("<> ").lower() != "mask"]
    is_filled_in = "<mask>" not in text and all(piece[0].startswith("**") for piece in pieces)
    is_about_masks = "replac" in _QUOTED.sub("", text).lower()
    return [_content(piece) for piece in pieces] if len(pieces) == expected and (is_filled_in or is_about_masks) else []


def _divisions(text: str) -> Iterator[list[str]]:
    """Yield the ways to divide a line into replacements, the surest first."""
    quoted = [_content(piece) for piece in _QUOTED.finditer(text)]
    yield [part for part in quoted if part.lower().strip("<> ") != "mask"]
    yield _numbered(text)
    for divider in (r";\s*|[،，、；]\s*|,\s+", r"\s(?:\||/{1,2})\s|\t", r",?\s+(?:and|&)\s+"):
        yield [_replacement(part) for part in re.split(divider + r"(?![^()]*\))", text)]
    yield re.findall(r"<[^<>]+>", text)


def _replacement(text: str) -> str:
    """Return the replacement on a line: of "Mask 1: chalk" and "stone → chalk", what is behind the mark."""
    text = text.strip(SPACE + _SIGNS)[:LONGEST]
    if text.lower() == "<mask>":
        return text
    if struck := re.match(r"~~[^~]*~~\s*(?=\S)", text):
        text = text[struck.end() :]
    label = re.match(r"(?=[\[<])(\W*mask\W?\d{1,2}[\]>])\s+(?=[\w\"“*])", text, re.IGNORECASE) or re.match(
        r"([^:：=\n]{1,60}?)[*_`]*\s*(?:[:：=]|[–—-](?=\s)|-+>|=+>|[→⇒])[*_`]*\s*(?=\S)", text
    )
    if label and kinds(label[1]) & {"mask", "first", "replacement"}:
        text = text[label.end() :]
    pair = _PAIR.fullmatch(text)
    if pair and (text.count(" ") < 9 or pair[1].lower().strip("<>*` 0123456789") == "mask"):
        text = pair[2]
    piece = _QUOTED.match(text)
    if piece and _content(piece) and (not text[piece.end() :].strip(" .,;") or _REASON.match(text, piece.end())):
        return _content(piece)
    reason = re.search(r"\s+[–—-]\s+|\s+\((?=[^()]*\s[^()]*\s)|:\s+", text[1:]) if text.count(" ") > 3 else None
    return _bare(text[: reason.start() + 1] if reason else text)
