"""Compile the expressions of the lexicons.

A long expression may be written over several lines. Line breaks, the indentation after them, and lines that begin with
"#" are not part of the expression; all other spaces are.
"""

from __future__ import annotations

import re

from halu_tasks.text.folding import fold

_LINES = re.compile(r"\s*\n(?:\s*#[^\n]*\n)*\s*")
# Escapes and group names are not folded, since folding would change `\S` to `\s`.
_UNFOLDED = re.compile(r"(\\.|\(\?P<\w+>)")


def expression(text: str) -> str:
    """Return a multi-line expression as one line."""
    return _LINES.sub("", text)


def pattern(text: str) -> re.Pattern[str]:
    """Compile a multi-line expression."""
    return re.compile(expression(text))


def ignoring_case(text: str) -> re.Pattern[str]:
    """Compile a multi-line expression that ignores case."""
    return re.compile(expression(text), re.IGNORECASE)


def folded(text: str) -> str:
    """Return a multi-line expression for folded text (`halu_tasks.text.folding`), with its words folded.

    The words may therefore be written in their usual spelling.
    """
    parts = _UNFOLDED.split(expression(text))
    return "".join(part if keep else fold(part) for keep, part in zip([False, True] * len(parts), parts, strict=False))


def folded_pattern(text: str) -> re.Pattern[str]:
    """Compile a multi-line expression for folded text, with its words folded."""
    return re.compile(folded(text))
