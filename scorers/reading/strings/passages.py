"""Read the passages that a reply returns from a text, one per line: `passages`.

If all lines of a reply occur in the text, they are returned unchanged; what looks like a list mark or a heading is then
part of the text. Otherwise, headings, list marks, quotes, comments and data are recognised as in `strings`, with its
rules for sentences. A line that occurs in the text is never changed or taken for a comment.
"""

from __future__ import annotations

import re

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.declining import declines
from halu_tasks.scorers.reading.nothing import FAULTS, LONGEST, none_of, says_none
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.strings.cleaning import EDGES, clean
from halu_tasks.scorers.reading.strings.sections import Line, Section, ranked, sections
from halu_tasks.scorers.reading.strings.structured import structured
from halu_tasks.scorers.reading.strings.wrapping import plain_text

_MOST = 100_000  # characters that are read line by line; no real reply is longer
_WORD = 8  # longest word such as "None", in characters
_MARGIN = 10  # characters of white space and of the mark before an explanation, after a part as long as the text
_TALK = re.compile(
    r"\W*(?:note|explanation|reason|however|therefore|these|this|those|they|please|I|because|since|overall|all of|both"
    r"|the (?:document|answer|response|text|rest|other|above|reason|correct|passage))\b",
    re.IGNORECASE,
)
_EXPLAINS = re.compile(r"\s\(|\s[-–—→]|\s?:\s|\s?->")
NO_PASSAGE = none_of(
    FAULTS + r"|(?:problem|passage|issue)s?|hallucinat\w+|unsupported|unverif\w+|fabricat\w+|made[ -]up"
)
"""Matches a statement that no passage is hallucinated."""


def passages(reply: str, text: str, none: re.Pattern[str] = NO_PASSAGE) -> Answer[list[str]]:
    """Return the passages of `text` that a reply returns, in its order and with repetitions.

    A passage that does not occur in the text is kept as it was written.

    Args:
        reply: The reply.
        text: The text whose passages were asked for.
        none: The pattern of a statement that there are none, from `none_of`.
    """
    reply_text = strip_reasoning(reply)
    if reply_text is None:
        return Answer(None, "unclosed reasoning")
    lines = [line for raw in reply_text[:_MOST].splitlines() if (line := raw.strip(EDGES))]
    if not lines:
        return Answer(None, "empty reply")
    # "None" may be a word of the text
    if len(lines) == 1 and len(lines[0]) <= _WORD and says_none(lines[0], none):
        return Answer([])
    if len(reply_text) <= _MOST and all(line in text for line in lines):
        return Answer(lines)
    plain = plain_text(reply_text, "passage")
    data = structured(plain, "passage")
    if data is not None and not data:
        return Answer([])
    for section in [_section_of(data)] if data else ranked(sections(plain, "passage")):
        strings = _passages(section, text)
        if len(strings) == 1 and strings[0] not in text:
            if says_none(strings[0], none):
                return Answer([])
            if len(strings[0]) <= LONGEST and declines(strings[0]):
                return Answer(None, "declines", abstained=True)
        if strings:
            return Answer(strings)
    return Answer(None, "no passage found")


def _copied(line: str, text: str) -> str:
    """Return the longest part of a line before an explanation that occurs in the text; empty if none does."""
    ends = [match.start() for match in _EXPLAINS.finditer(line, 0, len(text) + 1 + _MARGIN)]
    parts = (line[:end].rstrip() for end in reversed(ends))
    return next((part for part in parts if part and part in text), "")


def _section_of(strings: list[str]) -> Section:
    """Return strings that were read as data as the lines of one section."""
    section = Section("", 2)
    section.lines = [Line(string.strip(EDGES), 0, False, False) for string in strings]
    return section


def _passages(section: Section, text: str) -> list[str]:
    """Return the passages in a section: the marked lines and those that occur in the text, or else all its lines."""
    listed = [line for line in section.lines if line.marked or line.text in text]
    listed = listed if any(line.marked for line in listed) else []
    strings: list[str] = []
    for line in listed or section.lines:
        if line.text in text:
            strings.append(line.text)
        elif strings and not line.marked and _TALK.match(line.text):
            break
        elif copied := _copied(line.text, text):
            strings.append(copied)
        elif string := clean(line.text, line.marked, "sentence", section.rank):
            strings.append(string)
    return [string for string in strings if string.strip("-*_=`~ ")]
