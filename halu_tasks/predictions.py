"""Predictions: replies made anywhere, as JSON Lines of `{"id", "output"}`, scored without a harness."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from halu_tasks.data import json_lines
from halu_tasks.errors import DataError
from halu_tasks.items import Item


class Prediction(NamedTuple):
    """A reply; `target` is the gold label where the question was asked in another order than the
    item's, and `line` where the file has it."""

    output: str
    target: str | None
    line: int


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by id.

    Raises:
        DataError: naming file and line: a malformed row, or an id given twice.
    """
    found: dict[str, Prediction] = {}
    for number, row in json_lines(path):
        id, output, target = row.get("id"), row.get("output"), row.get("target")
        if not isinstance(id, str) or not isinstance(output, str):
            raise DataError(f'{path}:{number}: expected {{"id": text, "output": text}}, found {_keys(row)}')
        if target is not None and not isinstance(target, str):
            raise DataError(f"{path}:{number}: target is {type(target).__name__}, expected a text")
        if id in found:
            raise DataError(f"{path}:{number}: id {id!r} is given twice (first in line {found[id].line})")
        found[id] = Prediction(output, target, number)
    return found


def _keys(row: Iterable[str]) -> str:
    return ", ".join(map(repr, row)) or "an empty object"


def aimed(item: Item, target: str | None) -> Item:
    """The item with another target, for a reply to another order of its answers."""
    return item if target in (None, item.target) else replace(item, target=target)
