"""Writing untrusted strings as Markdown, so that nothing in them is rendered as markup."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table whose cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(value: object) -> str:
    """Escape Markdown and HTML in a value and put it on one line."""
    visible = "".join(
        " "
        if char.isspace()
        else "\N{REPLACEMENT CHARACTER}"
        if unicodedata.category(char) in ("Cc", "Cf", "Cs")
        else char
        for char in str(value)
    )
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&~])", r"\\\1", " ".join(visible.split()))


def code_block(text: str, language: str = "") -> str:
    """Put a string in a code block whose fence it cannot close; control characters are replaced."""
    shown = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" else char
        for char in text.replace("\r\n", "\n")
    )
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown.rstrip()}\n{fence}"
