"""Marks in a text: spans with a degree and a category, as annotators and detectors give them.

They come as records of offsets in the shapes of several benchmarks, detectors and annotation tools, or as a text with
tags around what is marked. White space at the ends of what is marked does not count, for the gold as for predictions.

Offsets count characters (code points). Tools that run in a browser, such as Label Studio and Argilla, count UTF-16 code
units, of which an emoji has two: a record that also quotes what it marks says which of the two it counts
(`match_quote`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from halu_tasks.text.folding import folded_with_places
from halu_tasks.text.spans import Span, merge

OFFSETS = (("start", "end"), ("start_offset", "end_offset"))
QUOTES = ("text", "quote", "span", "passage", "string")
DEGREES = ("prob", "probability", "confidence", "score")
CATEGORIES = ("category", "label", "labels", "label_type", "type")
"""The keys of a record under which offsets, quotation, degree and category stand; the first that it has counts."""
HARD = 0.5
"""The degree above which a character counts as marked."""
TAGS = ("hal", "hallucination", "hallucinated", "mark", "error", "err", "wrong")
"""The names of the tags around what is marked, in angle or square brackets, in any case."""
_TAG = re.compile(r"[\[<](/?)([^\W\d][\w.]*)(?:\s[^\]>\n]{0,80})?[\]>]")


class Mark(NamedTuple):
    """A marked span of a text.

    Attributes:
        start: The offset of its first character.
        end: The offset after its last character.
        prob: The degree to which it is marked, 0 to 1: a probability, or the share of annotators.
        category: The category; may be empty.
    """

    start: int
    end: int
    prob: float = 1.0
    category: str = ""

    @property
    def is_hard(self) -> bool:
        """Whether the span counts as marked where there are no degrees."""
        return self.prob > HARD


def _as_it_is(category: Any) -> str:
    """Return a category that is a string, or the only one in a list; otherwise an empty string."""
    (only,) = category if isinstance(category, list) and len(category) == 1 else (category,)
    return only if isinstance(only, str) else ""


def marks_of(values: Any, named: Callable[[Any], str] = _as_it_is) -> list[Mark] | None:
    """Return the marks that a JSON value lists: [start, end], [start, end, category], or records with offsets.

    Args:
        values: The value.
        named: Returns the category of what a record states as such.

    Returns:
        The marks; None if the value is not such a list.

    Raises:
        ValueError: An offset or a degree is impossible.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        return None
    marks = [_mark(value, named) for value in values]
    return None if None in marks else [mark for mark in marks if mark]


def _mark(value: Any, named: Callable[[Any], str]) -> Mark | None:
    record: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    first, last = OFFSETS[0] if OFFSETS[0][0] in record else OFFSETS[1]
    start, end = record.get(first), record.get(last)
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) in (2, 3):
        start, end, *category = value
        if category and not isinstance(category[0], str):
            return None
        record = {"category": category[0]} if category else {}
    if type(start) is not int or type(end) is not int:
        return None
    if not 0 <= start <= end:
        raise ValueError(f"expected 0 <= start <= end, got {start} and {end}")
    return Mark(start, end, *degree_and_category(record, named))


def degree_and_category(record: Mapping[str, Any], named: Callable[[Any], str] = _as_it_is) -> tuple[float, str]:
    """Return the degree of a record, 1 if it states none, and its category, empty if it states none.

    Raises:
        ValueError: The degree is not a number from 0 to 1.
    """
    prob: Any = 1.0
    for key in DEGREES:
        if record.get(key) is not None:
            prob = record[key]
            break
    if isinstance(prob, bool) or not isinstance(prob, int | float) or not 0 <= prob <= 1:
        raise ValueError(f"the degree of a span is {prob!r}, expected a number from 0 to 1")
    for key in CATEGORIES:
        if record.get(key) not in (None, "", []):
            return float(prob), named(record[key])
    return float(prob), ""


def quoted(record: Any) -> str:
    """Return the string that a record of a span quotes; empty if it quotes none."""
    if isinstance(record, Mapping):
        for key in QUOTES:
            if isinstance(quote := record.get(key), str):
                return quote
    return ""


def match_quote(text: str, mark: Mark, quote: str) -> Mark | None:
    """Return a mark at the offsets that its record means; None if what the record quotes stands at neither of them.

    Args:
        text: The text.
        mark: The mark, whose offsets may count UTF-16 code units.
        quote: What its record quotes; empty if it quotes nothing, and its offsets count characters.
    """
    if not quote.strip() or text[mark.start : mark.end] == quote or _is_quoted(text[mark.start : mark.end], quote):
        return mark
    units = text.encode("utf-16-le", "surrogatepass")
    before, passage = units[: 2 * mark.start], units[2 * mark.start : 2 * mark.end]
    start, string = (part.decode("utf-16-le", "ignore") for part in (before, passage))
    return mark._replace(start=len(start), end=len(start) + len(string)) if _is_quoted(string, quote) else None


def _is_quoted(passage: str, quote: str) -> bool:
    """Return whether a record quotes a passage; some tools write line ends as two characters."""
    folded, *same = (folded_with_places(each).text.strip() for each in (passage, quote, quote.replace("\\n", "\n")))
    return folded in same


def parse_tags(marked: str, categories: Iterable[str] = ()) -> tuple[str, list[Mark]]:
    """Return a text without the tags around what is marked in it, such as [HAL] and [/HAL], and the marks.

    Args:
        marked: The text with tags.
        categories: The categories, which may stand in the place of the names in `TAGS`.

    Raises:
        ValueError: A tag is not closed, or was not opened.
    """
    names = {**dict.fromkeys(TAGS, ""), **{category.casefold(): category for category in categories}}
    text, marks, opened, at = "", list[Mark](), list[tuple[int, str]](), 0
    for tag in _TAG.finditer(marked):
        name = tag[2].casefold()
        if name not in names:
            continue
        text += marked[at : tag.start()]
        at = tag.end()
        if not tag[1]:
            opened.append((len(text), name))
        elif not opened or opened[-1][1] != name:
            raise ValueError(f"{tag[0]} closes no tag")
        else:
            marks.append(Mark(opened.pop()[0], len(text), category=names[name]))
    if opened:
        raise ValueError(f"the tag {opened[-1][1]!r} is not closed")
    return text + marked[at:], marks


def shift_marks(bare: str, marks: Iterable[Mark], text: str) -> list[Mark] | None:
    """Return the marks of a text that occurs in another, as marks of this one; None if it does not occur in it."""
    by = text.find(bare.strip()) - (len(bare) - len(bare.lstrip()))
    moved = [mark._replace(start=max(mark.start + by, 0), end=mark.end + by) for mark in marks]
    return moved if bare.strip() in text else None


def bare(text: str, mark: Mark) -> Mark:
    """Return a mark without white space at its ends."""
    string = text[mark.start : mark.end]
    start = mark.start + len(string) - len(string.lstrip())
    return mark._replace(start=start, end=start + len(string.strip()))


def trimmed(text: str, marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks that count where there are no degrees, without white space at their ends.

    Marks of one category that overlap or touch are merged; the order is the order of the text. Both the gold and what
    is returned are trimmed in this way, so that the gold itself always has a full score.
    """
    by_category, own = dict[str, list[Span]](), list[Mark]()
    for mark in marks:
        if mark.is_hard:
            by_category.setdefault(mark.category, []).append((mark.start, mark.end))
    for category, spans in by_category.items():
        for start, end in merge(spans):
            mark = bare(text, Mark(start, end, category=category))
            if mark.start < mark.end:
                own.append(mark)
    return sorted(own)
