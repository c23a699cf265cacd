"""A text in which the strings of a reply are looked up."""

from __future__ import annotations

import re
from functools import cached_property

from halu_tasks.text.folding import SPACELESS
from halu_tasks.text.spans import Text

_SENTENCE_END = re.compile(r"(?<=[.!?。।؟])[\"”»’')]*\s+(?![a-z])|\n+")
_DATE = re.compile(r"\b\d{1,2}\.\Z")
SPACELESS_LETTER = re.compile(f"[{SPACELESS}]")


class Passage:
    """A text in which quotations are looked up; case, quotes and runs of white space do not count.

    Args:
        text: The text; empty if it is not known.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._text = Text(text)
        self._held: dict[str, tuple[bool, bool]] = {}  # an endless reply repeats its strings

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of some length; the day of a date ("am 3. Oktober") does not end one."""
        parts: list[str] = []
        for part in _SENTENCE_END.split(self.text):
            if parts and _DATE.search(parts[-1]):
                parts[-1] += f" {part}"
            else:
                parts.append(part)
        return [part for part in parts if part.count(" ") > 3]

    def holds(self, string: str, *, as_words: bool = True) -> bool:
        """Return whether a string occurs in the text, as whole words or anywhere."""
        string = string.strip()
        if string not in self._held:
            has_words = bool(self.text) and any(map(str.isalnum, string))
            spans = self._text.place(string, fuzzy=False) if has_words else []
            self._held[string] = bool(spans), any(self._is_words(string, *span) for span in spans)
        return self._held[string][as_words]

    def _is_words(self, string: str, start: int, end: int) -> bool:
        return not _in_word(self.text, start, string[0]) and not _in_word(self.text, end, string[-1])

    def resembles(self, string: str) -> bool:
        """Return whether a string of some length occurs in the text with at most a tenth changed."""
        return len(string) > 20 and bool(self.text) and bool(self._text.place(string))


def _in_word(text: str, at: int, char: str) -> bool:
    around = text[max(0, at - 1) : at + 1] + char
    return len(around) == 3 and around.isalnum() and not SPACELESS_LETTER.search(around)
