"""Showing untrusted strings and numbers on the page: never executed, never invisible, never outside their element."""

import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

from markupsafe import Markup, escape

from halu_tasks.text.number_format import NONE

NAME = 80
"""Maximum length in characters of a name: of a model, a task, an item or a file."""

_BIDI = dict(zip("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
                 ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"), strict=True))  # fmt: skip
_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u2028\u2029"  # line and paragraph separators, which invisibly end a bidi paragraph
    "\u202a-\u202e\u2066-\u206f"  # embeddings, overrides, isolates; deprecated shaping controls
    "\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"  # noncharacters, and interlinear annotation marks
    "\ud800-\udfff"  # lone surrogates, which UTF-8 cannot encode
    "\U000e0000-\U000e007f"  # tags: invisible text
)
_IN_TEXT = re.compile(f"[{_CONTROLS}]+")
_IN_LINE = re.compile(f"[{_CONTROLS}\t\n]+")
# where a name may break; not inside the tag of a control picture
_BREAK = re.compile(r"[_/](?![^<]*>)(?=\w)")
# maximum number of combining marks per character of a name; scripts in use need fewer
_MAX_MARKS = 6


# --- strings ----------------------------------------------------------------------------------------


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨{_BIDI.get(char) or f'U+{code:04X}'}⟩"


def _pictures(match: re.Match[str]) -> str:
    return "".join(map(_picture, match[0]))


def _limit_marks(text: str) -> str:
    if text.isascii():
        return text
    kept, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MAX_MARKS:
            kept.append(char)
    return "".join(kept)


def _start(value: Any, limit: int) -> tuple[str, bool]:
    """Return the first characters of a name, and whether they are all of it; values that are no strings are JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    reduced = _limit_marks(text[: 8 * limit])
    return reduced[:limit], len(reduced) <= limit and len(text) <= 8 * limit


def plain(value: Any, limit: int = 100_000) -> str:
    """Convert a value to one line of visible characters, without escaping it.

    For places that cannot contain elements: attributes, options, the title, and labels of a plot.
    """
    start, complete = _start(value, limit)
    return _IN_LINE.sub(_pictures, start) + ("" if complete else "…")


def characters(text: str, *, line: bool = False) -> Markup:
    """Escape a string and show control characters as pictures; with `line`, also tabs and line feeds."""
    text = text if line else text.replace("\r\n", "\n")
    # escaped first, so only the elements inserted here are markup
    pattern = _IN_LINE if line else _IN_TEXT
    return Markup(pattern.sub(lambda match: f'<span class="ctl">{_pictures(match)}</span>', str(escape(text))))


def name(value: Any, limit: int = NAME) -> Markup:
    """Show a name within a line of the page, in a bidi isolate."""
    start, complete = _start(value, limit)
    # allow line breaks in long names of tasks and files after _ and /
    breakable = Markup(_BREAK.sub(r"\g<0><wbr>", str(characters(start, line=True))))
    more = Markup("") if complete else Markup('<span class="cut">…</span>')
    return Markup('<bdi class="name" dir="auto">{}{}</bdi>').format(breakable, more)


def block(text: str, table: str, left: int = 0) -> Markup:
    """Show a string as a block.

    Args:
        text: The string.
        table: The name of the file that contains the full string.
        left: The number of characters that were left out before.
    """
    note = Markup(' <span class="cut">… {} more characters in {}</span>').format(f"{left:,}", plain(table, NAME))
    shown, more = characters(text), note if left else Markup("")
    return Markup('<div class="text"><div dir="auto">{}</div>{}</div>').format(shown, more)


# --- spans ------------------------------------------------------------------------------------------

# CSS class and description for screen readers of a segment, by whether it is gold and whether it is predicted
_SPAN_KINDS = {
    (True, True): ("both", "found"),
    (True, False): ("gold", "missed"),
    (False, True): ("predicted", "marked wrongly"),
}


def segments(
    text: str, gold: Iterable[Sequence[int]], predicted: Iterable[Sequence[int]]
) -> Iterator[tuple[int, int, bool, bool]]:
    """Split a text at the borders of spans, which may overlap, touch and repeat.

    Args:
        text: The text.
        gold: Gold spans as (start, end).
        predicted: Predicted spans as (start, end).

    Yields:
        Segments as (start, end, is_gold, is_predicted).
    """
    marks = []
    for spans in (gold, predicted):
        inside = [False] * len(text)
        for start, end in spans:
            start, end = max(0, start), min(len(text), end)
            inside[start:end] = [True] * max(0, end - start)
        marks.append(inside)
    position = 0
    for kinds, run in itertools.groupby(zip(*marks, strict=True)):
        length = len(list(run))
        yield position, position + length, *kinds
        position += length


def marked(text: str, gold: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]]) -> Markup:
    """Mark gold and predicted spans in a text.

    Marks are inline elements without padding, which preserves ligatures and the order of right-to-left text.
    """
    mark = Markup('<mark class="{}"><span class="vh"> [{}: </span>{}<span class="vh">] </span></mark>')
    out = []
    for start, end, *kinds in segments(text, gold, predicted):
        shown, kind = characters(text[start:end]), _SPAN_KINDS.get((kinds[0], kinds[1]))
        out.append(mark.format(*kind, shown) if kind else shown)
    return Markup('<div class="text"><div dir="auto">{}</div></div>').format(Markup("").join(out))


# --- numbers ----------------------------------------------------------------------------------------


def defined(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and isfinite(value)


def number(value: Any, signed: bool = False) -> str:
    """Format a figure with three decimals, or one from 10 on, and a typographic minus sign."""
    if not defined(value):
        return NONE
    text = f"{value:{'+' if signed else ''}.{3 if abs(value) < 10 else 1}f}"
    # zero after rounding has no sign
    text = text if any(char in text for char in "123456789") else text.lstrip("+-")
    return text.replace("-", "\u2212")


def interval(low: Any, high: Any, signed: bool = False) -> str:
    """Format an interval; empty if an end is missing."""
    return f"[{number(low, signed)}, {number(high, signed)}]" if defined(low) and defined(high) else ""


def percent(value: float) -> str:
    """Format a share as a percentage, with a decimal below 10%."""
    return f"{100 * value:.{0 if value >= 0.1 else 1}f}%"


def count(value: Any) -> str:
    """Format a count with commas as thousands separators."""
    return f"{value:,.0f}" if defined(value) else NONE


def rank(span: tuple[int, int]) -> str:
    """Format a range of ranks, or a single rank."""
    return str(span[0]) if span[0] == span[1] else f"{span[0]}–{span[1]}"
