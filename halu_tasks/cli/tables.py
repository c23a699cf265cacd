"""Plain tables for a terminal."""

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
    """Columns that `text` takes in a terminal: wide characters two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows under a head, columns two spaces apart; columns in `right` (by index) are right-aligned."""
    widths = [max(width(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = []
        for i, text in enumerate(row):
            pad = " " * (widths[i] - width(text))
            cells.append(pad + text if i in right else text + pad)
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), line(["-" * size for size in widths]), *map(line, rows)])


def estimates_table(title: str, found: Mapping[str, Estimate]) -> str:
    """Figures by name with their 95% intervals, under a column called `title`."""
    rows = [[name, f"{e.value:.4f}", format_interval(e.low, e.high, ".4f", NONE)] for name, e in found.items()]
    return table([title, "value", "95% interval"], rows, right=(1,))


def figure(estimate: Estimate | Mapping[str, Any] | None) -> str:
    """Format a figure, or its JSON values, with its interval for a table."""
    return format_estimate(estimate, missing=NONE)
