"""Passages of a text that a reply returns, one a line: `passages`.

A reply whose lines all stand in the text is taken as it is: what looks like a list mark or a heading is then the
text's own. Else headings, list marks, quotes and talk are recognised as in `strings`, whose rules for sentences
hold; a line that stands in the text is never changed or taken for talk.
"""

from __future__ import annotations

import re

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.cleaning import EDGES, clean
from halu_tasks.scorers.sections import Section, ranked, sections

_MOST = 100_000  # characters that are looked at line by line; no real reply is longer
_TALK = re.compile(
    r"\W*(?:note|explanation|reason|however|therefore|these|this|those|they|please|I|because|since|overall|all of|both"
    r"|the (?:document|answer|response|text|rest|other|above|reason|correct|passage))\b",
    re.IGNORECASE,
)
_EXPLAINS = re.compile(r"\s\(|\s[-–—→]|\s?:\s|\s?->")
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|nothing|no (?:\w+ ){0,3}(?:hallucinat\w+|passages?|errors?|content|information)"
    r"|(?:there|I)\b.{0,40}\b(?:no|not|any)\b.{0,40}\b(?:hallucinat\w+|passages?|errors?|information))\b.{0,100}",
    re.IGNORECASE,
)


def passages(reply: str, text: str) -> Answer[list[str]]:
    """The passages of `text` that `reply` returns, in its order, repeated ones too; a passage that is nowhere in
    the text is kept as it was written."""
    reply_text = strip_reasoning(reply)
    if reply_text is None:
        return Answer(None, "reasoning never ends")
    lines = [line for raw in reply_text[:_MOST].splitlines() if (line := raw.strip(EDGES))]
    if not lines:
        return Answer(None, "empty reply")
    if len(reply_text) <= _MOST and all(line in text for line in lines):
        return Answer(lines)
    for section in ranked(sections(reply_text, "passage")):
        found = _passages(section, text)
        if len(found) == 1 and found[0] not in text and len(found[0]) < 300 and _NOTHING.fullmatch(found[0]):
            return Answer(None, "says that there is none")
        if found:
            return Answer(found)
    return Answer(None, "no passage found")


def _copied(line: str, text: str) -> str:
    """The longest part of a line before an explanation that stands in the text; empty where none does."""
    parts = (line[: found.start()].rstrip() for found in reversed([*_EXPLAINS.finditer(line)]))
    return next((part for part in parts if part and part in text), "")


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
