"""Locating returned strings in an answer, and measuring how two sets of characters overlap.

Spans are (start, end) code-point offsets in the original text; the end is exclusive. IoU is defined as in ReFACT's
localization tasks (section 4.2); the rule for locating a string is this project's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

from halu_tasks.text.folding import FoldedText, folded, folded_with_places

Span = tuple[int, int]

FUZZY_LENGTH = 12
"""Minimum length of a string for approximate search; too much is 90% similar to shorter ones."""
FUZZY_SCORE = 90.0
"""Minimum similarity in percent."""
# limits approximate search in a text, in characters of the strings times characters of the text; the strings read from
# one reply (at most 100,000 characters) stay below it for texts of 2,000 characters
_FUZZY_BUDGET = 200_000_000


def occurrences(text: str, string: str) -> list[int]:
    """Return the starts of all occurrences of `string`, including overlapping ones; none if it is empty."""
    starts, at = list[int](), text.find(string) if string else -1
    while at >= 0:
        starts.append(at)
        at = text.find(string, at + 1)
    return starts


_folded_text = lru_cache(maxsize=16)(folded_with_places)  # several strings, and replies, are about one text


class Text:
    """A text, prepared for locating many strings in it.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._budget = _FUZZY_BUDGET

    @cached_property
    def _folded(self) -> FoldedText:
        return _folded_text(self.text)

    def place(self, string: str, *, fuzzy: bool = True) -> list[Span]:
        """Locate a string; white space around it is ignored.

        Args:
            string: The string.
            fuzzy: Whether to search approximately if the string does not occur.

        Returns:
            The spans of all exact occurrences; if there are none, of all occurrences that are the same when folded
            (`folded_with_places`); if there are none either and the string has at least 12 characters, of the most
            similar part of the folded text, if rapidfuzz rates it 90 or more. Sorted; empty if nothing was found.
        """
        string = string.strip()
        if not string:
            return []
        size, starts = len(string), occurrences(self.text, string)
        if starts:
            return [(start, start + size) for start in starts]
        plain = folded(string)
        size, starts = len(plain), occurrences(self._folded.text, plain)
        spans = [self._span(at, at + size) for at in starts if self._whole(at, at + size)] if starts else []
        if spans or not fuzzy or len(string) < FUZZY_LENGTH:
            return spans
        return self._nearest(plain)

    def _nearest(self, plain: str) -> list[Span]:
        from rapidfuzz import fuzz  # has forty modules, and most tasks compare no texts

        text = self._folded.text
        size, room = len(plain), len(text)
        if size > room:
            # rapidfuzz would look for the text in the string, so the two are compared as a whole; the ratio of
            # strings of these lengths is at most 200 * room / (size + room)
            possible = 200 * room >= FUZZY_SCORE * (size + room)
            similar = possible and fuzz.ratio(plain, text, score_cutoff=FUZZY_SCORE) >= FUZZY_SCORE
            return [self._span(0, room)] if similar else []
        self._budget -= size * room
        if self._budget < 0:
            return []
        alignment = fuzz.partial_ratio_alignment(plain, text, score_cutoff=FUZZY_SCORE)
        if alignment is None or alignment.dest_start == alignment.dest_end:
            return []
        return [self._span(alignment.dest_start, alignment.dest_end)]

    def _whole(self, start: int, end: int) -> bool:
        """Whether a range of folded characters begins and ends at the boundaries of characters of the text."""
        _, starts, _ = self._folded
        return (start == 0 or starts[start - 1] != starts[start]) and (
            end == len(starts) or starts[end] != starts[end - 1]
        )

    def _span(self, start: int, end: int) -> Span:
        return self._folded.starts[start], self._folded.ends[end - 1]


class CharCounts(NamedTuple):
    """The sizes of two sets of characters, of their intersection and of their union; see `char_counts`."""

    gold: int
    predicted: int
    intersection: int
    union: int

    @property
    def iou(self) -> float:
        """Intersection over union, from 0 to 1; 1.0 if both sets are empty."""
        return self.intersection / self.union if self.union else 1.0


def merge(spans: Iterable[Span]) -> list[Span]:
    """Return the same characters as sorted, nonempty spans that neither overlap nor touch."""
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def char_counts(gold: Iterable[Span], predicted: Iterable[Span], extra_predicted: int = 0) -> CharCounts:
    """Compare two sets of characters, given as spans in any order that may overlap.

    Args:
        gold: The gold spans.
        predicted: The predicted spans.
        extra_predicted: The total length of predicted strings that do not occur in the text. No gold character can
            match them, so they count as predicted characters and in the union.
    """
    gold_chars, predicted_chars = ({at for span in merge(spans) for at in range(*span)} for spans in (gold, predicted))
    shared = len(gold_chars & predicted_chars)
    either = len(gold_chars | predicted_chars) + extra_predicted
    return CharCounts(len(gold_chars), len(predicted_chars) + extra_predicted, shared, either)
