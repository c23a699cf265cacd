"""Parsing the tails of triples as quantities (numbers with a unit, or dates), so that they can be compared.

Parsing is conservative: strings with more than one possible meaning are not quantities.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

NUMBER, DATE = "number", "date"

_NUMBER = re.compile(r"([+\-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(%?|\s\S.{0,39})", re.ASCII)
_UNIT = re.compile(r"(?:[^\W\d_]|[%°µ$€£¥²³/·^ .\-])+")
_DATE = re.compile(r"\+?(-?\d{4})-(\d\d)(?:-(\d\d))?(?:T[\d:.]+Z?)?", re.ASCII)
_YEAR = re.compile(r"[1-9]\d{3}", re.ASCII)


class Quantity(NamedTuple):
    """A number or a date, as the range of its possible values: a year includes all of its days.

    Attributes:
        kind: `number` or `date`.
        unit: The unit; empty if there is none.
        low: Lower end of the range: one number, or year, month and day.
        high: Upper end of the range, in the same format.
    """

    kind: str
    unit: str
    low: tuple[Decimal, ...]
    high: tuple[Decimal, ...]


def quantity_of(text: str) -> Quantity | None:
    """Parse a string as a quantity: `57750 square kilometre`, `1,234.5`, `12%`, `1969-11-03`, `1969-11`.

    Four-digit numbers may be years, see `as_year`. None if the string is not a quantity ("about 20") or ambiguous
    ("1,5", "3 of 4").
    """
    text = text.strip()
    if match := _DATE.fullmatch(text):
        return _date(match)
    if not (match := _NUMBER.fullmatch(text)):
        return None
    unit = " ".join(match[2].split()).casefold()
    if unit and not _UNIT.fullmatch(unit):
        return None
    number = (Decimal(match[1].replace(",", "").replace("−", "-")),)
    return Quantity(NUMBER, unit, number, number)


def _date(match: re.Match[str]) -> Quantity | None:
    """Convert a matched date; None if month or day are out of range."""
    year, month, day = int(match[1]), int(match[2]), int(match[3] or 0)
    if month > 12 or day > 31 or (day and not month):
        return None
    low, high = (year, month or 1, day or 1), (year, month or 12, day or 31)
    return Quantity(DATE, "", tuple(map(Decimal, low)), tuple(map(Decimal, high)))


def as_year(text: str) -> Quantity | None:
    """Parse a four-digit year, for relations that also have dates; None if `text` is not one."""
    text = text.strip()
    if not _YEAR.fullmatch(text):
        return None
    year = Decimal(text)
    return Quantity(DATE, "", (year, Decimal(1), Decimal(1)), (year, Decimal(12), Decimal(31)))


def comparable(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities have the same kind and unit and do not overlap, so that one is certainly less."""
    return one[:2] == other[:2] and (one.high < other.low or other.high < one.low)
