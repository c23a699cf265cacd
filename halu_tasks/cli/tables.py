"""Plain tables for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


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
