"""Passages of a text that a reply returns, one a line: `passages`.

A reply whose lines all stand in the text is taken as it is: what looks like a list mark or a heading is then the
text's own. Else headings, list marks, quotes and talk are recognised as in `strings`, whose rules for sentences
hold, and so does what is read as data; a line that stands in the text is never changed or taken for talk.
"""

from __future__ import annotations

import re

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.reading.nothing import FAULTS, LONGEST, none_of, says_none
from halu_tasks.scorers.reading.steps.declining import declines
from halu_tasks.scorers.reading.strings.cleaning import EDGES, clean
from halu_tasks.scorers.reading.strings.sections import Line, Section, ranked, sections
from halu_tasks.scorers.reading.strings.structured import structured
from halu_tasks.scorers.reading.strings.wrapping import plain_text

_MOST = 100_000  # characters that are looked at line by line; no real reply is longer
_WORD = 8  # characters of a word such as "None"
_MARGIN = 10  # of white space and an explanation's mark behind a part that is as long as the text
_TALK = re.compile(
    r"\W*(?:note|explanation|reason|however|therefore|these|this|those|they|please|I|because|since|overall|all of|both"
    r"|the (?:document|answer|response|text|rest|other|above|reason|correct|passage))\b",
    re.IGNORECASE,
)
_EXPLAINS = re.compile(r"\s\(|\s[-–—→]|\s?:\s|\s?->")
NO_PASSAGE = none_of(
    FAULTS + r"|(?:problem|passage|issue)s?|hallucinat\w+|unsupported|unverif\w+|fabricat\w+|made[ -]up"
)
"""Says that no passage is hallucinated."""


def passages(reply: str, text: str, none: re.Pattern[str] = NO_PASSAGE) -> Answer[list[str]]:
    """Return the passages of `text` that `reply` returns, in its order, repeated ones too.

    A passage that is nowhere in the text is kept as it was written. `none` says that there are none.
    """
    reply_text = strip_reasoning(reply)
    if reply_text is None:
        return Answer(None, "reasoning never ends")
    lines = [line for raw in reply_text[:_MOST].splitlines() if (line := raw.strip(EDGES))]
    if not lines:
        return Answer(None, "empty reply")
    # "None" may be a word of the text
    if len(lines) == 1 and len(lines[0]) <= _WORD and says_none(lines[0], none):
        return Answer([])
    if len(reply_text) <= _MOST and all(line in text for line in lines):
        return Answer(lines)
    plain = plain_text(reply_text, "passage")
    given = structured(plain, "passage")
    if given is not None and not given:
        return Answer([])
    for section in [_section_of(given)] if given else ranked(sections(plain, "passage")):
        found = _passages(section, text)
        if len(found) == 1 and found[0] not in text:
            if says_none(found[0], none):
                return Answer([])
            if len(found[0]) <= LONGEST and declines(found[0]):
                return Answer(None, "declines", abstained=True)
        if found:
            return Answer(found)
    return Answer(None, "no passage found")


def _copied(line: str, text: str) -> str:
    """Return the longest part of a line before an explanation that stands in the text; empty where none does."""
    ends = [found.start() for found in _EXPLAINS.finditer(line, 0, len(text) + 1 + _MARGIN)]
    parts = (line[:end].rstrip() for end in reversed(ends))
    return next((part for part in parts if part and part in text), "")


def _section_of(strings: list[str]) -> Section:
    section = Section("", 2)
    section.lines = [Line(string.strip(EDGES), 0, False, False) for string in strings]
    return section


def _passages(section: Section, text: str) -> list[str]:
    listed = [line for line in section.lines if line.marked or line.text in text]
    listed = listed if any(line.marked for line in listed) else []
    found: list[str] = []
    for line in listed or section.lines:
        if line.text in text:
            found.append(line.text)
        elif found and not line.marked and _TALK.match(line.text):
            break
        elif copied := _copied(line.text, text):
            found.append(copied)
        elif string := clean(line.text, line.marked, "sentence", section.rank):
            found.append(string)
    return [string for string in found if string.strip("-*_=`~ ")]
