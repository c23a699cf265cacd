"""Read the strings that a reply quotes from a text, or gives for its masks (mode `strict`).

Prompts ask for bare lines; models add headings, list marks, quotation marks, remarks and corrections, or write data.
These steps are tried in order, and the first that has an answer gives it:

1. *listed*: every line has a list mark and a few words, and nothing else;
2. *copied*: every line occurs in the text as it is;
3. *data*: a list, an object or a table, of which the fields are read that are named after what was asked for, or else
   those that hold a part of the text;
4. *lines*: the strings on the lines under the heading that fits best. These are the parts of a line that occur in the
   text: the line, what precedes a remark or a correction, the parts between separators, or what is in quotation marks
   and not called right. Without any, it is what is on the lines, unless they are running text that occurs nowhere;
5. *nothing*: the reply says that there is nothing to quote, or declines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from halu_tasks.scorers.answer import ABSTAINED, Answer
from halu_tasks.scorers.reading.lexicon import LANGUAGES, expression_of
from halu_tasks.scorers.reading.lines import (
    ENCLOSING,
    LONGEST,
    MOST_LINES,
    SPACE,
    Line,
    Piece,
    Unit,
    bare,
    kinds,
    labelled,
    quoted,
    sections,
    unquoted,
    words,
)
from halu_tasks.scorers.reading.passage import SPACELESS_LETTER, Passage
from halu_tasks.scorers.reading.questions import NO, hallucinates
from halu_tasks.scorers.reading.reply import MARKUP, QUOTED, ReplyText
from halu_tasks.scorers.reading.steps import only_declines
from halu_tasks.scorers.reading.structured_strings import is_data, strings_in
from halu_tasks.text.folding import fold

Strings = Answer[list[str]]


def _any_of(*kinds: str) -> str:
    return expression_of([f"remarks.{language}" for language in LANGUAGES], kinds)


_NONE = re.compile(rf"[\W_]*(?:{_any_of('none')})[\W_]*|[\W_]*", re.IGNORECASE)
_BEGINS = re.compile(rf"(?=[A-Z])(?i:{_any_of('begins', 'to', 'this')})")
_SHORT = 400  # a longer text says more than that there is nothing
_STOPS = " ,.;:!?،؛。，；：、！？।"
_ENDS, _QUESTION = tuple(".!?。！？।؟"), tuple("?？؟")
_MARKS = ' "“”„«»‹›‚‘’「」『』*_`'

_ARROW = r"(?:-+>|=+>|[→⇒➜⟶⟹➡➔])"
_AND, _OR = _any_of("and"), _any_of("or")
_BETWEEN = re.compile(rf"(?:[\s,;/&|.•،、，；]|{_AND}|{_OR}|{_any_of('between')})*")
_DIVIDERS = (
    re.compile(r"(?:^|(?<=[\s,;]))\(?\d{1,2}[.)]\s+(?=\S)|\s+[•◦▪·]\s+"),
    re.compile(rf"[;；]\s*(?:(?:{_AND}|{_OR})\s+)?(?![^()]*\))"),
    re.compile(rf"(?:;\s*|[،，、；]\s*|,\s+)(?:(?:{_AND}|{_OR})\s+)?(?![^()]*\))"),
    re.compile(r"\s(?:\||/{1,2})\s|\t"),
    re.compile(rf",?\s+(?:{_AND}|&)\s+(?![^()]*\))"),
)
_MASK_LABEL = re.compile(r"([^:：=\n]{1,60}?)[*_`]*\s*(?:[:：=]|[–—-](?=\s)|(?<=\d[\]>])\s)[*_`→\s]*(?=\S)")
_TURN = re.compile(
    rf"\s*({_ARROW})\s*|(?<![(\[（【])(?:{_any_of('becomes')})\s*|(?<=[>\"”’'`*])\s(?:{_any_of('to')})\s", re.IGNORECASE
)
_INSTEAD = f"(?:{_any_of('becomes', 'instead')})"
_REMARK = re.compile(
    rf"\s*{_ARROW}\s*|{_INSTEAD}\s*|\s+[-–—]+\s+|—|\s*(?:<-|←)|:\s+|\s+[(\[](?![^()\[\]]*[)\]] ?\w)"
    rf"|(?<=\S)[（【]|[,;]?\s+(?:{_any_of('be')}) (?:factually )?(?:{_any_of('wrong', 'changed')})",
    re.IGNORECASE,
)
# "Carbon dioxide (CO₂)"
_ALIAS = re.compile(r"[^,;:.()\[\]\n]{1,60} [(\[]([^()\[\]\n]{1,60})[)\]][\s*_.,;]*")
_MOST_REMARKS = 12
_OPEN = r"[\s:\"“„«「'*`_(]*\Z"
_RIGHT_BEFORE = re.compile(rf"(?:{_INSTEAD}|{_ARROW}|{_any_of('not', 'to')}){_OPEN}", re.IGNORECASE)
_DENIED = re.compile(rf"(?:{_any_of('not', 'instead')}){_OPEN}", re.IGNORECASE)
_DENIED_OR_NEXT = re.compile(rf"{_DENIED.pattern}|{_ARROW}{_OPEN}", re.IGNORECASE)
# what stands before a colon and not in the text is no string of it
_LABEL = re.compile(r"[^:：\n]{1,60}[:：](?:\s|$)")
_WRONG_BEFORE = re.compile(
    rf"(?:{_any_of('wrong', 'false', 'changed')})[^.\"“«]{{0,60}}?(?:{_any_of('be', 'here')}|:){_OPEN}", re.IGNORECASE
)
_RIGHT_AFTER = re.compile(
    rf"[\W_]*(?:too,? )?(?:and |but )?(?:(?:{_any_of('this')}) )?"
    rf"(?:{_any_of('be', 'seems')}) (?:\w+ly )?(?:all )?(?:{_any_of('right')})"
    # a status alone: "Paris – correct", not "Paris – correct is Rome"
    rf"|[\s\"'”*_`]*[-–—:：(✓✔✅]+\s*(?:\w+ly )?(?:{_any_of('right')})"
    r"(?=[*_`]*(?:\Z|[.,;!)\]。，；]|\s\(|\s(?:in|as|because|since)\b))",
    re.IGNORECASE,
)


def quotations(reply: str, passage: str, unit: Unit) -> Strings:
    """Return the strings of a passage that a reply calls wrong, in its order and with repetitions.

    Args:
        reply: The reply.
        passage: The text from which the model was asked to quote; empty if it is not known.
        unit: What it was asked for: each `entity`, one `sentence`, or each `passage` of any length.
    """
    return _answer(ReplyText(reply), Passage(passage), unit, 0)


def replacements(reply: str, expected: int) -> Strings:
    """Return the replacements that a reply gives for masks, in order.

    Args:
        reply: The reply.
        expected: The number of masks; surplus replacements are returned, too.
    """
    return _answer(ReplyText(reply), Passage(""), "replacement", expected)


def _answer(reply: ReplyText, source: Passage, unit: Unit, expected: int) -> Strings:
    if _is_echo(reply, source):
        return Answer(None, "repeats the prompt")
    if reply.missing:
        return reply.missing
    for step in _STEPS:
        answer = step(reply, source, unit, expected)
        if answer is not None:
            return answer
    return Answer(None, "no string found")


def _is_echo(reply: ReplyText, source: Passage) -> bool:
    """Return whether lines of the prompt are all that a reply has, some of them none of the text that it is about."""
    reply_lines = [plain for line in reply.text.split("\n") if (plain := line.strip(MARKUP))]
    if len(reply_lines) < 2 or reply_lines[0] not in reply.prompt:
        return False
    return not reply.without_prompt.strip() and any(line not in source.text for line in reply_lines)


def _strings(strings: Iterable[str], unit: Unit) -> list[str]:
    if unit in ("entity", "replacement"):
        strings = (string.rstrip(_STOPS) for string in strings)
    nonempty = [string for string in strings if string]
    return [*dict.fromkeys(nonempty)] if unit == "sentence" else nonempty


def _once(strings: list[str], half: int) -> list[str]:
    return strings[:half] if strings == 2 * strings[:half] else strings


# --- listed -----------------------------------------------------------------------------------------------

_SAYS = _any_of("and", "or", "be", "none", "says", "becomes", "changed")
_WORD = r"\w[\w'’%°.-]*"
_ENTRY = rf"[ \t]*(?:\d{{1,3}}[.)]|[-*•])[ \t]+(?![^\n]*(?:{_SAYS}))({_WORD}(?: {_WORD}){{0,3}})[ \t]*(?:\n+|\Z)"
_ENTRIES, _ENTRY_OF = re.compile(rf"(?i)(?:{_ENTRY}){{2,}}"), re.compile(f"(?i){_ENTRY}")


def _listed(reply: ReplyText, source: Passage, unit: Unit, expected: int) -> Strings | None:
    text = reply.text.strip("\n")
    if unit not in ("entity", "replacement") or len(text) > LONGEST or not _ENTRIES.fullmatch(text):
        return None
    strings = [string.rstrip(_STOPS) for string in _ENTRY_OF.findall(text)]
    return Answer(_once(strings, expected or max(2, len(strings) // 2)))


# --- copied -----------------------------------------------------------------------------------------------


def _copied(reply: ReplyText, source: Passage, unit: Unit, expected: int) -> Strings | None:
    if unit == "replacement" or not source.text:
        return None
    reply_lines = [line for raw in reply.text.splitlines()[:MOST_LINES] if (line := raw.strip(SPACE).strip())]
    if not reply_lines:
        return Answer(None, "empty")
    if (
        len(reply_lines) == 1 and len(reply_lines[0]) <= 8 and _NONE.fullmatch(reply_lines[0])
    ):  # it may be a word of the text
        return Answer([])
    is_within_word = (
        len(reply_lines) == 1 and reply_lines[0].isalpha() and not source.holds(reply_lines[0])
    )  # "Nic", of Nicolas
    if is_within_word or not all(line in source.text for line in reply_lines):
        return None
    return Answer(_strings(_once(reply_lines, max(2, len(reply_lines) // 2)), unit))


def _data(reply: ReplyText, source: Passage, unit: Unit, expected: int) -> Strings | None:
    texts = strings_in(reply.plain, source, unit)
    if texts is None:
        # its lines are no strings
        return Answer(None, "no string found") if is_data(reply.plain) else None
    strings = _strings(map(_replacement if unit == "replacement" else bare, texts), unit)
    return Answer(strings) if strings or unit != "replacement" else Answer(None, "no string found")


# --- lines ------------------------------------------------------------------------------------------------


def _lines(reply: ReplyText, source: Passage, unit: Unit, expected: int) -> Strings | None:
    if unit == "replacement" and len(reply.lines) == 1 and _declines(reply.plain):
        return Answer(None, "declines", ABSTAINED)
    # what stands in the text is no title, though it is in bold and about truth
    given_lines = [
        line._replace(is_title=False) if line.is_title and source.holds(bare(line.text)) else line
        for line in reply.lines
    ]
    if given_lines and given_lines[-1].text.endswith((":", "：")) and reply.is_of_prompt(given_lines[-1].text):
        return Answer(None, "nothing behind the cue of the prompt")
    loose: list[str] = []
    is_list = False
    for rank, section_lines in sections(given_lines, unit):
        new_lines = [line for line in section_lines if not _repeats(line, reply, source, unit)]
        if loose and rank < 0:
            break
        if not new_lines:
            continue
        if unit == "replacement":
            strings = _once(_strings(_filled(new_lines, expected), unit), expected)
            is_sure = len(strings) > 1 or (len(strings) == 1 and not _declines(strings[0]))
            if len(strings) == 1 and new_lines[0].indent < 0 and _BEGINS.fullmatch(strings[0]):
                return None  # the reply breaks off
        else:
            strings, is_sure = _strings_on(new_lines, source, unit)
            strings = _strings(strings, unit)
        if is_sure and unit != "replacement" and _is_none_with_remarks(new_lines):
            return Answer([])
        if is_sure:
            return Answer(strings)
        is_list = len(strings) > 1 and new_lines[0].indent >= 0
        texts = strings[:2] or [new_lines[0].text.partition(":")[0]]
        if unit != "replacement" and all(_says_nothing(string, unit) for string in texts):
            return Answer([])
        loose = loose or strings
    if not loose:
        return None
    if not is_list and (answer := _nothing(reply, source, unit, expected)):
        return answer
    is_off_topic = source.text and unit in ("entity", "passage") and all(_is_running(string, reply) for string in loose)
    return Answer(None, "no string of the text") if is_off_topic else Answer(loose)


def _is_none_with_remarks(section_lines: list[Line]) -> bool:
    """Return whether the first of several lines is a "none" alone, and no list follows."""
    first = fold(section_lines[0].text).strip(" .。!*_`\"'")
    is_none = any((word.start, word.end, word.kind) == (0, len(first), "none") for word in words().scan(first))
    return (
        is_none
        and len(section_lines) > 1
        and section_lines[0].gap < section_lines[1].gap
        and all(line.indent < 0 for line in section_lines)
    )


def _repeats(line: Line, reply: ReplyText, source: Passage, unit: Unit) -> bool:
    """Return whether a line repeats the prompt and not the text that it is about."""
    is_bare = line.indent < 0 and unit != "replacement"
    return is_bare and reply.is_of_prompt(line.text) and not source.holds(line.text)


def _is_running(string: str, reply: ReplyText) -> bool:
    """Return whether a string is running text of a reply, which it does not set off in quotation marks."""
    before, _, behind = reply.plain.partition(string)
    if before and before[-1] in _MARKS.strip():
        return False
    length = string.count(" ") + len(SPACELESS_LETTER.findall(string)) / 2
    end = (string[-1:] + behind[:1]).strip()[:1]
    return length > 8 or (length > 4 and end in _ENDS) or (length > 1 and end in _QUESTION)


def _strings_on(section_lines: list[Line], source: Passage, unit: Unit) -> tuple[list[str], bool]:
    strings: list[str] = []
    is_held = False
    for line in section_lines:
        text = line.text[:LONGEST].strip(SPACE)
        if line.indent >= 0 and not source.holds(text):
            rank, text = labelled(text, unit)
            if rank < 0:
                continue
        if line.indent >= 0 and _is_called_right(text, source):
            continue
        parts = _parts_of(text, source, unit, is_item=line.indent >= 0)
        is_item = line.indent >= 0 or _gives(text, parts, unit)
        is_comment = line.is_prose and (line.gap or not section_lines[0].is_prose) if unit == "entity" else True
        if strings and is_comment and not is_item:
            if unit == "entity" and line.gap:  # a remark after the list
                break
            continue
        is_held = is_held or bool(parts)
        if not parts and line.indent < 0 and _LABEL.match(text):
            continue
        if parts or unit == "entity":
            strings += parts or _loose_entities(text)
        elif unit == "passage" and is_item:
            strings.append(_wrong_part(text))
    paragraph = next((at for at, line in enumerate(section_lines) if at and line.gap), len(section_lines))
    strings = _once(strings, max(2, len(strings) // 2))
    loose = bare if unit == "sentence" else _wrong_part
    return strings or [loose(line.text) for line in section_lines[:paragraph] if not _LABEL.match(line.text)], is_held


def _is_called_right(text: str, source: Passage) -> bool:
    held = _held(text, source)
    return bool(held) and bool(_RIGHT_AFTER.match(text, text.find(held) + len(held)))


def _gives(text: str, parts: list[str], unit: Unit) -> bool:
    """Return whether a line without a list mark gives strings, and does not speak of them."""
    if unit == "sentence":
        return len(parts) == 1 and len(parts[0]) > 0.8 * len(text)
    return bool(parts) and text.lstrip(_MARKS).startswith(parts[0])


def _parts_of(text: str, source: Passage, unit: Unit, *, is_item: bool) -> list[str]:
    line_string = _as_it_is(text, source) if unit == "sentence" else _held(text, source)
    for parts in _divided(text) if unit != "sentence" else ():
        held = [_held(part, source) for part in parts]
        held_count = sum(map(bool, held))
        is_strong = text.count(";") + 1 == len(parts) <= 2 * held_count
        is_short = unit == "entity" and all(part.count(" ") < 8 for part in parts)
        # "a and c" may be one string of the text, and a sentence with a changed word consists of parts that are not
        is_list = is_strong or is_short or (held_count == len(parts) and not source.resembles(text))
        if held_count > 1 and is_list and len(held[0]) >= len(line_string):
            return [string or _wrong_part(part) for string, part in zip(held, parts, strict=True)]
    if not line_string and unit != "sentence" and (alias := _ALIAS.fullmatch(text)):
        line_string = _as_it_is(alias[1], source)
    return [line_string] if line_string else _set_off(text, source, unit, is_item=is_item)


def _held(text: str, source: Passage) -> str:
    """Return the longest beginning of a line before a remark that occurs in the text, without quotes around it."""
    for part in _before_remarks(text):
        if form := _as_it_is(part, source):
            return form
    return ""


def _as_it_is(text: str, source: Passage) -> str:
    inner = [text[1:-1]] if text[:1] + text[-1:] in ENCLOSING else []
    return next(filter(source.holds, (bare(text), text, *inner, text.strip(_MARKS))), "")


def _before_remarks(text: str) -> Iterator[str]:
    yield text
    remarks = [remark.start() for remark in _REMARK.finditer(text, 1)]
    for start in reversed(remarks[:_MOST_REMARKS]):
        yield text[:start]


def _set_off(text: str, source: Passage, unit: Unit, *, is_item: bool) -> list[str]:
    """Return what a line sets off in quotation marks or emphasis, in a sentence also what it quotes without them."""
    marked = quoted(text)
    any_part = unit == "passage"  # quotation marks say where a passage begins, which may be within a word
    pieces = [piece for piece in marked if source.holds(piece.string, as_words=not any_part or len(piece.string) < 4)]
    # what only a remark quotes is no answer
    is_list = unit == "entity" or (unit == "passage" and is_item)
    if is_list and pieces and (pieces[0] != marked[0] or pieces[0].string not in _wrong_part(text)):
        pieces = []
    is_short = unit == "passage" and sum(len(piece.string) for piece in pieces) < len(text) / 2
    if is_short and source.resembles(stripped := text.strip(_MARKS)):
        return [stripped]
    if unit == "sentence":
        pieces = [piece for piece in pieces if piece.string.count(" ") > 2]
        places = ((sentence, text.rfind(sentence)) for sentence in source.sentences)
        pieces += [Piece(sentence, at, at + len(sentence)) for sentence, at in places if at >= 0]
    wrong, other = _called_wrong(text, pieces)
    if not wrong and not other:
        # "lead, not **bismuth**": a correction hardly stands in the text
        wrong = [
            piece.string for piece in pieces if _DENIED_OR_NEXT.search(text[max(0, piece.start - 40) : piece.start])
        ]
    if unit == "sentence":
        wrong, other = wrong[-1:], other[:1]
    if not wrong and not other and unit == "sentence" and source.resembles(stripped := text.strip(_MARKS)):
        return [stripped]
    return wrong or other


def _called_wrong(text: str, pieces: list[Piece]) -> tuple[list[str], list[str]]:
    wrong: list[str] = []
    other: list[str] = []
    for group in _coordinated(text, pieces):
        before = text[max(0, group[0].start - 100) : group[0].start]
        if _WRONG_BEFORE.search(before):
            wrong += [piece.string for piece in group]
        elif not _RIGHT_AFTER.match(text, group[-1].end) and not _RIGHT_BEFORE.search(before):
            other += [piece.string for piece in group]
    return wrong, other


def _coordinated(text: str, pieces: list[Piece]) -> list[list[Piece]]:
    """Return groups of pieces with nothing but commas and conjunctions between them: what is said of one, is of all."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and _BETWEEN.fullmatch(text, groups[-1][-1].end, piece.start):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return groups


def _divided(text: str) -> Iterator[list[str]]:
    """Yield the ways to divide a line into several parts, the surest first."""
    contents = [piece.string for piece in quoted(text)]
    if len(contents) > 1 and _BETWEEN.fullmatch(unquoted(text)):
        yield contents
    for divider in _DIVIDERS:
        parts = [part.strip(" ,;") for part in divider.split(text.rstrip(" .,;"))]
        if sum(map(bool, parts)) > 1:
            yield [part for part in parts if part]


def _wrong_part(text: str) -> str:
    """Return the string that a line begins with or names, without quotation marks, corrections and remarks."""
    text = bare(text)
    first = next(iter(quoted(text)), None)
    if first and not first.start and (first.string.count(" ") < 8 or _REMARK.match(text, first.end)):
        return first.string
    remark = _REMARK.search(text, 1)
    text = text[: remark.start()] if remark else text
    is_named = first and first.end <= len(text) and kinds(text[: first.start]) & {"entity", "sentence", "passage"}
    return first.string if first and is_named else bare(text)


def _loose_entities(text: str) -> list[str]:
    lists = (parts for parts in _divided(bare(text)) if all(part.count(" ") < 4 for part in parts))
    return [_wrong_part(part) for part in next(lists, [text])]


# --- replacements -----------------------------------------------------------------------------------------


def _replacement(text: str) -> str:
    """Return the replacement on a line: of "Mask 1: chalk" and "stone → chalk", what is behind the mark."""
    text = text.strip(SPACE)[:LONGEST]
    label = _MASK_LABEL.match(text)
    if label and kinds(label[1]) & {"mask", "first", "replacement"}:
        text = text[label.end() :]
    turn = _TURN.search(text, 1)
    if turn and (turn[1] or text.count(" ") < 9 or text.startswith("<mask>")):  # running text has such words, too
        text = text[turn.end() :]
    return _wrong_part(text)


def _filled(section_lines: list[Line], expected: int) -> list[str]:
    is_marked = any(line.indent >= 0 for line in section_lines)
    if len(section_lines) > expected and not is_marked:
        section_lines = next((each for each in _paragraphs(section_lines) if len(each) == expected), section_lines)
    strings = [_replacement(line.text) for line in section_lines]
    short = [
        string
        for line, string in zip(section_lines, strings, strict=True)
        if is_marked or not line.is_prose or not bare(line.text).startswith(string)
    ]
    if len(short) == len(section_lines) == 1 < expected:
        divisions = sorted(_divided(section_lines[0].text), key=lambda parts: len(parts) != expected)
        return [*map(_replacement, divisions[0])] if divisions else short
    if len(short) in (len(section_lines), expected):
        return short
    if len(section_lines) == 1:
        return _named(section_lines[0].text, expected)
    return (
        strings if len(section_lines) == expected and not any("<mask>" in line.text for line in section_lines) else []
    )


def _paragraphs(section_lines: list[Line]) -> list[list[Line]]:
    starts = [at for at, line in enumerate(section_lines) if line.gap or not at]
    return [section_lines[start:end] for start, end in zip(starts, [*starts[1:], len(section_lines)], strict=True)]


def _named(text: str, expected: int) -> list[str]:
    """Return the replacements that running text sets off, in bold in the text filled in or quoted in a remark."""
    pieces = [piece for piece in quoted(text) if piece.string.strip("<>").lower() != "mask"]
    pieces = [piece for piece in pieces if not _DENIED.search(text[max(0, piece.start - 40) : piece.start])]
    is_named = len(pieces) == expected and ("<mask>" not in text or "replac" in text.lower())
    return [piece.string for piece in pieces] if is_named else []


# --- nothing ----------------------------------------------------------------------------------------------


def _declined(reply: ReplyText, source: Passage, unit: Unit, expected: int) -> Strings | None:
    """Return no answer if a reply declines and quotes what it declines to judge, such as a title."""
    rest = unquoted(reply.plain, QUOTED)
    return Answer(None, "declines", ABSTAINED) if rest != reply.plain and _declines(rest) else None


def _nothing(reply: ReplyText, source: Passage, unit: Unit, expected: int) -> Strings | None:
    if _declines(reply.plain):
        return Answer(None, "declines", ABSTAINED)
    return Answer([]) if unit != "replacement" and _says_nothing(reply.plain, unit) else None


def _declines(text: str) -> bool:
    return len(text) <= LONGEST and only_declines(text)


def _says_nothing(text: str, unit: Unit) -> bool:
    """Return whether a text says that there is nothing to quote.

    A long sentence must also be about the task, since a sentence of the passage may deny something about its subject.
    """
    plain = fold(text[:_SHORT]).strip(" \n*_`\"'([{<>}])")
    if not plain.strip("-–—∅"):
        return True
    tokens = [*words().scan(plain)]
    if tokens and tokens[0].kind == "none" and not tokens[0].start:
        rest = plain[tokens[0].end :]
        if text.lstrip()[:1] in ("(", "[") or (not rest[:1].strip(".,;:") and (unit != "sentence" or rest[:1] != " ")):
            return True
    about = {word.kind for word in tokens}
    if (
        len(text) < _SHORT / 2
        and about & {"none", "no"}
        and about & {"wrong", "passage"}
        and tokens[-1].kind != "right"
    ):
        return True
    if len(text) < _SHORT / 4 and {"all", "right"} <= about and not about & {"no", "wrong"}:
        return True
    if tokens and tokens[-1].kind == "none" and tokens[-1].end == len(plain.rstrip(" .")):
        return plain[: tokens[-1].start].rstrip().endswith(":")
    of_task = about & {"wrong", "sentence", "passage", "entity"}
    is_about_task = of_task or plain.isalpha() or ("right" in about and (unit != "sentence" or len(text) < 40))
    return bool(len(text) < _SHORT and is_about_task and hallucinates(text).value == NO)


Step = Callable[[ReplyText, Passage, Unit, int], Strings | None]
_STEPS: tuple[Step, ...] = (_listed, _copied, _data, _declined, _lines, _nothing)
