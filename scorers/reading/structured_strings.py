"""Read the strings that a reply gives as data: in a list, an object or a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from halu_tasks.scorers.reading.fields import stands_alone, values
from halu_tasks.scorers.reading.lines import MOST_LINES, Unit, bare, kinds
from halu_tasks.scorers.reading.passage import Passage
from halu_tasks.text.marks import QUOTES

_YES, _NO = ("yes", "true", "ok", "✓", "✔", "✅"), ("no", "false", "✗", "✘", "❌")


def strings_in(text: str, source: Passage, unit: Unit) -> list[str] | None:
    """Return the strings of the last list, object or table of a text that has some; None if none has.

    Args:
        text: The text.
        source: What strings are looked up in; the field that holds some of it is read, whatever its name.
        unit: What was asked for, after which fields are named.
    """
    result = None
    if not any(char in text for char in "[{|"):
        return None
    end = -1
    for value in values(text):
        if stands_alone(text, value) and text[value.start : value.end] not in source.text:
            strings = _of_value(value.content, source, unit)
            is_next = isinstance(value.content, dict) and not text[end : value.start].strip(" ,\n")
            if strings is not None:
                result = result + strings if result and is_next else strings  # one object on each line
            end = value.end
    for table in _tables(text, source):
        strings = _of_value(table, source, unit)
        result = result if strings is None else strings
    return result


def is_data(text: str) -> bool:
    """Return whether a text is a list or an object, and nothing else."""
    text = text.strip("` \n")
    return text[:1] in ("[", "{") and any(value.end - value.start == len(text) for value in values(text))


def _tables(text: str, source: Passage) -> Iterator[list[Any]]:
    """Yield the tables of a text as lists of rows; rows that are a part of the source are strings."""
    stripped_lines = (line.strip() for line in text.splitlines()[:MOST_LINES]) if "|" in text else ()
    for is_table, group in groupby(stripped_lines, key=lambda line: "|" in line[1:]):
        rows = [row for row in group if is_table and set(row) - set("|-:= ")]
        cells = [[cell.strip("*`_ ") for cell in row.strip("|").split("|")] for row in rows]
        if rows and all(row in source.text for row in rows):
            yield rows
        elif len(cells) > 1 and {len(row) for row in cells} == {len(cells[0])} != {1}:
            yield [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


def _of_value(value: Any, source: Passage, unit: Unit) -> list[str] | None:
    if isinstance(value, dict):
        return _of_record({str(key): entry for key, entry in value.items()}, source, unit)
    if isinstance(value, list):
        return _joined(_of_value(entry, source, unit) for entry in value)
    string = "" if value is None else str(value)
    return [] if string.lower() in ("null", "none", "") and unit != "replacement" else [string]


def _of_record(record: dict[str, Any], source: Passage, unit: Unit) -> list[str] | None:
    """Return the strings of the fields that were asked for or hold a part of the text.

    Of a mapping of wrong to right strings, these are the names or the values.
    """
    if unit != "replacement" and any(_calls_right(name, entry) for name, entry in record.items()):
        return []
    fits = {name: _fit(name, unit) for name in record}
    best = max(fits.values(), default=0)
    chosen = [name for name in record if fits[name] == best > 0]
    if not any(_is_held(record[name], source) for name in chosen):
        held = [name for name, entry in record.items() if fits[name] >= 0 and _is_held(entry, source)]
        # the text has the number of a row, too
        chosen = [max(held, key=lambda name: len(str(record[name])))] if held else chosen
    lists = [name for name, entry in record.items() if fits[name] >= 0 and isinstance(entry, list)]
    if not chosen and len(lists) == 1:
        chosen = lists  # {"reason": "all of it is right", "found": []}
    if not chosen and len(record) == 1 and (not _are_texts(record.values()) or next(iter(record)).lower() in QUOTES):
        chosen = [*record]
    rest = [name for name in record if fits[name] >= 0]
    if unit == "replacement" and not chosen and len(rest) == 1 < len(record):
        chosen = rest  # {"quote": "chalk", "reason": "it is white"}
    if chosen:
        return _joined(_of_value(record[name], source, unit) for name in chosen)
    if not any(fits.values()) and _are_texts(record.values()):
        return [*(record.values() if unit == "replacement" else record)]
    return None


def _is_held(entry: Any, source: Passage) -> bool:
    entries = entry if isinstance(entry, list) else [entry]
    return any(isinstance(each, str) and source.holds(bare(each)) for each in entries)


def _are_texts(entries: Iterable[Any]) -> bool:
    return all(isinstance(entry, str) for entry in entries)


def _calls_right(name: str, entry: Any) -> bool:
    """Return whether a field says that its record is right ("status": "correct", "OK?": "yes", "wrong": "no")."""
    about, plain = kinds(name), str(entry).strip().lower()
    if plain in _YES or plain in _NO:
        return ("right" if plain in _YES else "wrong") in about and not {"right", "wrong"} <= about
    return "field" in about and "right" in (entry_kinds := kinds(plain)) and "wrong" not in entry_kinds


def _joined(parts: Iterable[list[str] | None]) -> list[str] | None:
    lists = [*parts]
    return None if None in lists else [string for part in lists for string in part or []]


def _fit(name: str, unit: Unit) -> int:
    """Return how well the name of a field fits what was asked for: 3 to -1; 0 if it says nothing."""
    name_kinds = kinds(re.sub(r"(?<=[a-z])(?=[A-Z\d])", " ", name))
    wanted, avoided = {"wrong", "original"}, {"right", "corrected"}
    if unit == "replacement":
        wanted, avoided = avoided | {"replacement"}, wanted
    if name_kinds & {"aside", "field", "analysis"}:
        return -1
    if name_kinds & wanted:
        return 3
    if name_kinds & avoided:
        return -1
    if name_kinds & {unit, "entity"}:
        return 2
    return 1 if name_kinds & {"mask", "final"} else 0
