"""How the lexicons are written: expressions of several lines, and words in any spelling.

A long expression is written over several lines. A line break, the indentation behind it, and lines that begin with
"#" are no part of it; all other spaces are.
"""

from __future__ import annotations

import re

from halu_tasks.text.folding import fold

_LINES = re.compile(r"\s*\n(?:\s*#[^\n]*\n)*\s*")
# What folding would damage: `\S` would become `\s`.
_KEPT = re.compile(r"(\\.|\(\?P<\w+>)")


def expression(text: str) -> str:
    """Return an expression that is written over several lines as one line."""
    return _LINES.sub("", text)


def pattern(text: str) -> re.Pattern[str]:
    """Compile an expression that is written over several lines."""
    return re.compile(expression(text))


def ignoring_case(text: str) -> re.Pattern[str]:
    """Compile an expression that is written over several lines, for text in small letters or capitals."""
    return re.compile(expression(text), re.IGNORECASE)


def folded(text: str) -> str:
    """Return an expression for folded text (`folding`): its words may be written in their usual spelling."""
    parts = _KEPT.split(expression(text))
    return "".join(part if kept else fold(part) for kept, part in zip([False, True] * len(parts), parts, strict=False))


def folded_pattern(text: str) -> re.Pattern[str]:
    """Compile an expression for folded text."""
    return re.compile(folded(text))
