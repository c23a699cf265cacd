"""Where a returned string stands in an answer, and how two sets of characters overlap.

Spans are (start, end) code-point offsets in the original text, end excluded. The definitions are the
IoU of ReFACT's localization tasks (section 4.2) and this project's rule for placing a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz

Span = tuple[int, int]

FUZZY_LENGTH = 12  # shorter strings must occur as they are: too much is 90% like them
FUZZY_SCORE = 90.0
# Bound on approximate search per text, in characters of the strings times characters of the text. The
# strings read from one reply (100,000 characters at most) stay below it for texts of 2,000 characters.
_FUZZY_BUDGET = 200_000_000

_SPACE = re.compile(r"\s+")
_DOT = "\u0307"
_DOTTED = re.compile("i\u0307+")
_QUOTES = str.maketrans({**dict.fromkeys("‘’‚‛′`´ʼ＇‹›", "'"), **dict.fromkeys("“”„‟″«»＂「」『』", '"')})


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    """One character with case and quote style taken away; may be longer than one (ß, ﬁ).

    The Turkish İ and ı count as i, and so does an i with a dot above as a character of its own: that is
    what İ becomes in other programs' lower case.
    """
    return "i" if char in "İı" else char.casefold().translate(_QUOTES)


def _fold(string: str) -> str:
    """Case, quote style and white-space runs taken away; as Text folds its text."""
    string = _SPACE.sub(" ", string.strip()).replace("İ", "i").replace("ı", "i")
    return _DOTTED.sub("i", string.casefold().translate(_QUOTES))


def _occurrences(text: str, string: str) -> list[int]:
    """Starts of every occurrence of `string`, overlapping ones too."""
    starts = []
    at = text.find(string)
    while at >= 0:
        starts.append(at)
        at = text.find(string, at + 1)
    return starts


class Text:
    """One text in which many strings are placed: the folded copy and its index map are made once."""

    def __init__(self, text: str) -> None:
        self.text = text
        folded: list[str] = []
        # origin[i]: the character of the text from which folded character i came.
        self._origin: list[int] = []
        space = False
        for index, char in enumerate(text):
            if (char.isspace() and space) or (char == _DOT and folded and folded[-1].endswith("i")):
                continue
            if char.isspace():
                piece, space = " ", True
            else:
                piece, space = _fold_char(char), False
            folded.append(piece)
            self._origin.extend([index] * len(piece))
        self._folded = "".join(folded)
        self._budget = _FUZZY_BUDGET
        self._placed: dict[tuple[str, bool], list[Span]] = {}

    def place(self, string: str, *, fuzzy: bool = True) -> list[Span]:
        """Every span at which `string` stands, sorted; empty when it is nowhere (unplaced).

        Every exact occurrence; else every one with case, white-space runs and quote style ignored;
        else, for strings of at least 12 characters, the window most like it if rapidfuzz gives it 90
        or more (on the folded text), unless `fuzzy` is off. White space around the string does not count.
        """
        string = string.strip()
        if (string, fuzzy) not in self._placed:
            self._placed[string, fuzzy] = self._search(string, fuzzy)
        return list(self._placed[string, fuzzy])

    def _search(self, string: str, fuzzy: bool) -> list[Span]:
        if not string:
            return []
        if len(string) <= len(self.text) and (starts := _occurrences(self.text, string)):
            return [(start, start + len(string)) for start in starts]
        folded = _fold(string)
        if not folded:
            return []
        spans = []
        if len(folded) <= len(self._folded):
            for start in _occurrences(self._folded, folded):
                if self._whole(start, start + len(folded)):
                    spans.append(self._span(start, start + len(folded)))
        if spans or not fuzzy or len(string) < FUZZY_LENGTH:
            return spans
        return self._nearest(folded)

    def _nearest(self, folded: str) -> list[Span]:
        """The window most like the folded string, if it is near enough."""
        size, room = len(folded), len(self._folded)
        if size > room:
            # rapidfuzz would look for the text in the string; what is asked is whether they are alike.
            # 200 * room / (size + room) is the best ratio that two such lengths can have.
            possible = 200 * room >= FUZZY_SCORE * (size + room)
            near = possible and fuzz.ratio(folded, self._folded, score_cutoff=FUZZY_SCORE) >= FUZZY_SCORE
            return [self._span(0, room)] if near else []
        self._budget -= size * room
        if self._budget < 0:
            return []
        found = fuzz.partial_ratio_alignment(folded, self._folded, score_cutoff=FUZZY_SCORE)
        if found is None or found.dest_start == found.dest_end:
            return []
        return [self._span(found.dest_start, found.dest_end)]

    def _whole(self, start: int, end: int) -> bool:
        """Do these folded characters begin and end where characters of the text do?"""
        origin = self._origin
        return (start == 0 or origin[start - 1] != origin[start]) and (
            end == len(origin) or origin[end] != origin[end - 1]
        )

    def _span(self, start: int, end: int) -> Span:
        return self._origin[start], self._origin[end - 1] + 1


def place(text: str, string: str) -> list[Span]:
    """`Text(text).place(string)`, for one string."""
    return Text(text).place(string)


class CharCounts(NamedTuple):
    """Sizes of character sets, in characters: what IoU and micro precision and recall are made of."""

    gold: int
    predicted: int
    intersection: int
    union: int

    @property
    def iou(self) -> float:
        """Intersection over union; 1.0 when both sets are empty."""
        return self.intersection / self.union if self.union else 1.0


def merge(spans: Iterable[Span]) -> list[Span]:
    """The same characters as sorted spans that neither overlap nor touch; empty spans vanish."""
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = merged[-1][0], end
        else:
            merged.append((start, end))
    return merged


def char_counts(gold: Iterable[Span], predicted: Iterable[Span], extra_predicted: int = 0) -> CharCounts:
    """Compare two sets of characters given as spans, in any order and overlapping or not.

    `extra_predicted` is the summed length of the predicted strings that were not placed: they are
    predicted characters that no gold character can meet, so they count in `predicted` and `union`.
    """
    wanted, found = merge(gold), merge(predicted)
    shared = i = j = 0
    while i < len(wanted) and j < len(found):
        shared += max(0, min(wanted[i][1], found[j][1]) - max(wanted[i][0], found[j][0]))
        if wanted[i][1] <= found[j][1]:
            i += 1
        else:
            j += 1
    gold_size = sum(end - start for start, end in wanted)
    predicted_size = sum(end - start for start, end in found) + extra_predicted
    return CharCounts(gold_size, predicted_size, shared, gold_size + predicted_size - shared)


def iou(gold: Iterable[Span], predicted: Iterable[Span], extra_predicted: int = 0) -> float:
    """Size of the shared characters over size of all, 0 to 1; both empty 1.0, one empty 0.0."""
    return char_counts(gold, predicted, extra_predicted).iou
