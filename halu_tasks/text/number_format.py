"""Formatting figures, their intervals and p values, and untrusted strings as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from typing import Any

NONE = "–"
"""Shown instead of a missing figure."""


def format_estimate(figure: Any, spec: str = ".3f") -> str:
    """Format an estimate with `value`, `low` and `high` as in `0.500 [0.400, 0.600]`.

    Args:
        figure: The estimate; None if it is not defined.
        spec: The format of a number.
    """
    if figure is None:
        return NONE
    return f"{figure.value:{spec}} {format_interval(figure.low, figure.high, spec, missing='')}".rstrip()


def format_interval(low: float | None, high: float | None, spec: str = ".3f", missing: str = NONE) -> str:
    """Format an interval, as in `[0.400, 0.600]`.

    Args:
        low: The lower end.
        high: The upper end.
        spec: The format of a number.
        missing: What to return if an end is missing.
    """
    return missing if low is None or high is None else f"[{low:{spec}}, {high:{spec}}]"


def format_p_value(p: float | None) -> str:
    """Format a p value with four decimals, as in `0.0123`, or as in `<0.0001` if it is smaller."""
    if p is None:
        return NONE
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def format_needed(items: int, low: int, high: int | None) -> str:
    """Format a number of items needed with its interval, as in `1,256 [640, 3,400]` or `1,256 [310, no bound]`.

    Args:
        items: The number.
        low: The lower end of its interval.
        high: The upper end; None if there is no bound.
    """
    return f"{items:,} [{low:,}, {'no bound' if high is None else f'{high:,}'}]"


# --- Markdown, in which nothing is rendered as markup ------------------------------------------------


def escaped(value: object) -> str:
    """Escape Markdown and HTML in a value and put it on one line."""
    visible = _without(("Cc", "Cf", "Cs"), " ".join(str(value).split()))
    # an underscore inside a word is one, and a plus sign only marks a list before a space
    return re.sub(r"([\\`*\[\]<>#|&~]|(?<!\w)_|_(?!\w)|\+(?= |$))", r"\\\1", visible)


def code_block(text: str, language: str = "") -> str:
    """Put a string in a code block whose fence it cannot close; control characters are replaced."""
    visible = _without(("Cc", "Cs"), text.replace("\r\n", "\n"))
    longest = max((len(run) for run in re.findall(r"`+", visible)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{visible.rstrip()}\n{fence}"


def _without(categories: Container[str], text: str) -> str:
    """Replace the characters of some categories, except line feeds and tabs."""
    hidden = {char for char in {*text} - {"\n", "\t"} if unicodedata.category(char) in categories}
    return text.translate({ord(char): "\N{REPLACEMENT CHARACTER}" for char in hidden})
