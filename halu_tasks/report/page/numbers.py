"""Formatting numbers for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from halu_tasks.text.figures import NONE, format_interval, format_p_value


def defined(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def number(value: Any, signed: bool = False) -> str:
    """Format a figure with three decimals, or one from 10 on, and a typographic minus sign."""
    if not defined(value):
        return NONE
    digits = 3 if abs(value) < 10 else 1
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    # zero after rounding has no sign
    if not any(char in text for char in "123456789"):
        text = text.lstrip("+-")
    return text.replace("-", "\u2212")


def interval(low: Any, high: Any, signed: bool = False) -> str:
    """Format an interval; empty if an end is missing."""
    if not (defined(low) and defined(high)):
        return ""
    return format_interval(low, high, partial(number, signed=signed))


def percent(value: Any) -> str:
    """Format a share as a percentage, with a decimal below 10%."""
    return f"{100 * value:.{0 if value >= 0.1 else 1}f}%" if defined(value) else NONE


def count(value: Any) -> str:
    """Format a count with commas as thousands separators."""
    return f"{value:,.0f}" if defined(value) else NONE


def p_value(value: Any) -> str:
    """Format a p value with three decimals, or as less than 0.001."""
    return format_p_value(value if defined(value) else None).replace("<", "<\u202f")


def rank(span: Sequence[int] | None) -> str:
    """Format a range of ranks, or a single rank."""
    if not span:
        return ""
    return str(span[0]) if span[0] == span[-1] else f"{span[0]}–{span[-1]}"
