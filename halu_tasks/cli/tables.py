"""Tables for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halu_tasks.text.figures import format_estimate, format_interval

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Estimate

NONE = "-"
"""Shown in a table instead of a missing value."""


def width(text: str) -> int:
    """Return the number of columns of a string in a terminal: two for wide characters, none for combining marks."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Format a table whose columns are separated by two spaces.

    Args:
        head: The headings.
        rows: The cells of each row.
        right: The indices of right-aligned columns.
    """
    widths = [max(width(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = []
        for i, text in enumerate(row):
            pad = " " * (widths[i] - width(text))
            cells.append(pad + text if i in right else text + pad)
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), line(["-" * size for size in widths]), *map(line, rows)])


def estimates_table(heading: str, estimates: Mapping[str, Estimate]) -> str:
    """Format figures with their 95% intervals.

    Args:
        heading: The heading of the column of names.
        estimates: The figures by name.
    """
    rows = [[name, f"{e.value:.4f}", format_interval(e.low, e.high, ".4f", NONE)] for name, e in estimates.items()]
    return table([heading, "value", "95% interval"], rows, right=(1,))


def figure(estimate: Estimate | Mapping[str, Any] | None) -> str:
    """Format a figure, or its JSON values, with its interval for a table."""
    return format_estimate(estimate, missing=NONE)
