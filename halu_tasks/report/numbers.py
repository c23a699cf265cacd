"""Numbers as the page prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

NONE = "–"
"""What stands where there is no number."""


def defined(value: Any) -> bool:
    """Whether it is a number that can be printed."""
    return isinstance(value, int | float) and math.isfinite(value)


def number(value: Any, signed: bool = False) -> str:
    """A figure: three decimals, fewer from 10 on; a true minus sign."""
    if not defined(value):
        return NONE
    digits = 3 if abs(value) < 10 else 1
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    # a rounded nothing has no sign
    if not any(char in text for char in "123456789"):
        text = text.lstrip("+-")
    return text.replace("-", "\u2212")


def interval(low: Any, high: Any, signed: bool = False) -> str:
    """Both ends of an interval, or nothing where it has none."""
    if not (defined(low) and defined(high)):
        return ""
    return f"[{number(low, signed)}, {number(high, signed)}]"


def count(value: Any) -> str:
    """A number of things, thousands divided by commas."""
    return f"{value:,.0f}" if defined(value) else NONE


def p_value(value: Any) -> str:
    """Three decimals; what is less than they can say is said to be less."""
    if not defined(value):
        return NONE
    return "<\u202f0.001" if value < 0.001 else f"{value:.3f}"


def rank(span: Sequence[int] | None) -> str:
    """A range of ranks, or the one rank."""
    if not span:
        return ""
    return str(span[0]) if span[0] == span[-1] else f"{span[0]}–{span[-1]}"
