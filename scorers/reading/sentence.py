"""A sentence of a reply with the phrases of a lexicon in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import attrgetter

from halu_tasks.scorers.reading.clauses import Clause, split_clauses
from halu_tasks.scorers.reading.lexicon import Token

FILLERS = {
    *("filler", "whole", "conclude", "declare", "comma", "stop", "turn", "field", "bound", "say", "question"),
    *("retract", "strong", "modal", "copula"),
}
"""The kinds of tokens that add nothing to a label."""
_START = attrgetter("start")
_WORD = re.compile(r"\w")


class ParsedSentence:
    """A folded sentence, with its tokens and its clauses.

    Args:
        text: The sentence.
        scan: Finds its tokens, from left to right, when they are first needed.
        starts_line: Whether it begins a line of the reply.
        is_item: Whether that is an item of a list.
        line: The line that it stands on, as the model wrote it.
    """

    def __init__(
        self,
        text: str,
        scan: Callable[[str], list[Token]],
        *,
        starts_line: bool = True,
        is_item: bool = False,
        line: str = "",
    ) -> None:
        self.text, self._scan = text, scan
        self.starts_line, self.is_item, self.line = starts_line, is_item, line

    @cached_property
    def tokens(self) -> list[Token]:
        """The phrases of the lexicon in the sentence, from left to right."""
        return self._scan(self.text)

    @cached_property
    def clauses(self) -> list[Clause]:
        """The clauses that the tokens divide it into."""
        return split_clauses(self.tokens, self.text)

    @cached_property
    def mention(self) -> tuple[int, int]:
        """The part of the sentence that only mentions what could be said ("I was about to say …"), up to a turn."""
        start = next((token.start for token in self.tokens if token.kind == "mention"), len(self.text))
        turns = (token.start for token in self.tokens if token.kind == "turn" and token.start > start)
        return start, next(turns, len(self.text))

    @property
    def only_mentions(self) -> bool:
        """Whether the sentence mentions what could be said, and turns to nothing else."""
        start, end = self.mention
        return start < end == len(self.text)

    def says_nothing(self, place: int) -> bool:
        """Return whether what begins at a place is only mentioned, or announced ("Sure, here is my answer.")."""
        start, end = self.mention
        return start <= place < end or (not place and any(token.kind == "announce" for token in self.tokens))

    @property
    def asks(self) -> bool:
        """Whether the sentence is a question."""
        return self.text.endswith("?")

    def part(self, start: int, end: int | None = None) -> ParsedSentence:
        """Return a part of the sentence as one that begins a line."""
        return ParsedSentence(self.text[start:end], self._scan, is_item=self.is_item, line=self.line)

    def tokens_after(self, place: int) -> Iterator[Token]:
        """Yield the tokens that begin at a place or after it."""
        tokens = self.tokens
        return map(tokens.__getitem__, range(bisect_left(tokens, place, key=_START), len(tokens)))

    def kind_after(self, place: int) -> str:
        """Return the kind of the token directly behind a place; empty if there is none."""
        token = next(self.tokens_after(place), None)
        return token.kind if token and token.start <= place + 2 else ""

    def has_content(self, start: int, end: int | None = None) -> bool:
        """Return whether a part of the sentence says anything but words that add nothing."""
        end = len(self.text) if end is None else end
        position = start
        for token in self.tokens_after(start):
            if token.start >= end:
                break
            if token.kind not in FILLERS or _WORD.search(self.text, position, token.start):
                return True
            position = token.end
        return bool(_WORD.search(self.text, position, end))
