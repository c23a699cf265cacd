"""Quantities: what the tail of a triple says as a number with its unit or as a date, so that two can be compared.

Read conservatively: what may be read in two ways is no quantity.
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
    """A number or a date as the range of what it can mean: a year is all of its days.

    `low` and `high` are numbers of one length: one number, or year, month and day. `unit` is empty where there is none.
    """

    kind: str
    unit: str
    low: tuple[Decimal, ...]
    high: tuple[Decimal, ...]


def quantity_of(text: str) -> Quantity | None:
    """The quantity that a text is as a whole: `57750 square kilometre`, `1,234.5`, `12%`, `1969-11-03`, `1969-11`.

    A number of four digits may be a year: see `as_year`. None where it is none, such as "about 20", "1,5" or "3 of 4".
    """
    text = text.strip()
    if found := _DATE.fullmatch(text):
        return _date(found)
    if not (found := _NUMBER.fullmatch(text)):
        return None
    unit = " ".join(found[2].split()).casefold()
    if unit and not _UNIT.fullmatch(unit):
        return None
    number = (Decimal(found[1].replace(",", "").replace("−", "-")),)
    return Quantity(NUMBER, unit, number, number)


def _date(found: re.Match[str]) -> Quantity | None:
    year, month, day = int(found[1]), int(found[2]), int(found[3] or 0)
    if month > 12 or day > 31 or (day and not month):
        return None
    low, high = (year, month or 1, day or 1), (year, month or 12, day or 31)
    return Quantity(DATE, "", tuple(map(Decimal, low)), tuple(map(Decimal, high)))


def as_year(text: str) -> Quantity | None:
    """The year that a text of four digits is, for a relation that has dates beside it; None where it is no such."""
    text = text.strip()
    if not _YEAR.fullmatch(text):
        return None
    year = Decimal(text)
    return Quantity(DATE, "", (year, Decimal(1), Decimal(1)), (year, Decimal(12), Decimal(31)))


def comparable(one: Quantity, other: Quantity) -> bool:
    """Whether one is certainly less than the other: of one kind and unit, and without overlap."""
    return one[:2] == other[:2] and (one.high < other.low or other.high < one.low)
