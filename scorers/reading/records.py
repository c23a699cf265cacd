"""Read strings that a reply gives as data: a list, an object or a table.

The field is chosen by its name, whose words are in the lexicon `strings`: if what is wrong was asked for, the field
`wrong`, `entity` or `original` is used and `correct` is not; if replacements were asked for, it is the other way round.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any

import yaml

from halu_tasks.core.files import yaml_loader
from halu_tasks.scorers.reading.sections import MOST_LINES, Unit, kinds, rank_of

_OPENING = re.compile(r"(?m)^([^\n\[{]{0,80}[:=])?[ \t`*_>-]*(?=[\[{]|\([\"'“])")
_CLOSING = re.compile(r"[\]})](?=[ \t`*_.,;]*(?:\n|\Z))")
_GENERAL_FIELDS = ("answer", "answers", "list", "items", "result")


def data_of(text: str, unit: Unit) -> list[str] | None:
    """Return the strings of the last list, object or table of a reply that has some; None if none has."""
    found: list[str] | None = None
    for heading, value in (*_values(text), *_tables(text)):
        strings = _value_strings(value, unit)
        if strings is not None and rank_of(heading, unit) >= 0:
            found = strings
    return found


def _values(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the lists and objects that are lines of their own, as JSON, Python or YAML, with their headings."""
    at = 0
    for opening in islice(_OPENING.finditer(text), 20):
        start = opening.end()
        for closing in islice(_CLOSING.finditer(text, start, start + 20_000), 10 if start >= at else 0):
            try:
                value = _parsed(text[start : closing.end()])
            except (yaml.YAMLError, RecursionError, ValueError):
                continue
            yield opening[1] or text[:start].rstrip().rsplit("\n", 1)[-1], value
            at = closing.end()
            break


def _parsed(source: str) -> Any:
    try:
        return json.loads(source, parse_int=str, parse_float=str)
    except ValueError:
        if "&" in source and "*" in source:  # YAML would repeat what is between them
            raise
    source = source.replace("“", '"').replace("”", '"')
    if source[0] == "(" or (source[0] == "{" and ":" not in source):
        source = f"[{source[1:-1]}]"
    return yaml_loader(source, "reply", "BaseLoader").get_single_data()


def _tables(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the tables of a text as lists of rows."""
    lines = (line.strip() for line in text.splitlines()[:MOST_LINES])
    for is_table, rows in groupby(lines, key=lambda line: "|" in line[1:]):
        cells = [[cell.strip("*`_ ") for cell in row.strip("|").split("|")] for row in rows if set(row) - set("|-:= ")]
        if is_table and len(cells) > 1 and {len(row) for row in cells} == {len(cells[0])} != {1}:
            yield "", [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


def _value_strings(value: Any, unit: Unit) -> list[str] | None:
    """Return the strings of a value; None if it has fields but not the one that was asked for."""
    if isinstance(value, str):
        return [] if value.lower() in ("null", "none", "") and unit != "replacement" else [value]
    if isinstance(value, dict):
        return _record_strings({str(key): entry for key, entry in value.items()}, unit)
    if not isinstance(value, list):
        return []
    if len(value) > 1 and all(isinstance(entry, list) and len(entry) == 2 for entry in value):
        return [str(entry[-1 if unit == "replacement" else 0]) for entry in value]
    return _joined([_value_strings(entry, unit) for entry in value])


def _record_strings(record: dict[str, Any], unit: Unit) -> list[str] | None:
    """Return the strings of the field that was asked for; of a mapping of wrong to right strings, those asked for."""
    verdicts = [kinds(str(entry)) for name, entry in record.items() if "field" in kinds(name)]
    if unit != "replacement" and any("right" in verdict and "wrong" not in verdict for verdict in verdicts):
        return []
    fits = {name: _fit(name, unit) for name in record}
    best = max(fits.values(), default=0)
    if best > 0:
        return _joined([_value_strings(entry, unit) for name, entry in record.items() if fits[name] == best])
    if len(record) == 1 and not all(isinstance(entry, str) for entry in record.values()):
        return _joined([_value_strings(entry, unit) for entry in record.values()])
    if not any(fits.values()) and all(isinstance(entry, str) for entry in record.values()):
        return [*(record.values() if unit == "replacement" else record)]
    return None


def _joined(parts: list[list[str] | None]) -> list[str] | None:
    return None if None in parts else [string for part in parts for string in part or []]


def _fit(name: str, unit: Unit) -> int:
    """Return how well the name of a field fits what was asked for: 3 to -1; 0 if it says nothing."""
    found = kinds(re.sub(r"(?<=[a-z])(?=[A-Z\d])", " ", name))
    wanted, avoided = {"wrong", "original"}, {"right", "corrected"}
    if unit == "replacement":
        wanted, avoided = avoided | {"replacement"}, wanted
    if found & {"aside", "field", "analysis"}:
        return -1
    if found & wanted:
        return 3
    if found & avoided:
        return -1
    if found & {unit, "entity"}:
        return 2
    return 1 if found & {"mask", "final"} or name.lower() in _GENERAL_FIELDS else 0
