"""Predictions: replies made anywhere, as JSON Lines of `{"id", "output"}`, scored without a harness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.data import json_lines
from halu_tasks.errors import DataError
from halu_tasks.items import Item, Reply
from halu_tasks.options import Options
from halu_tasks.tasks import Task


class Prediction(NamedTuple):
    """A reply, and the line of the file that has it."""

    reply: Reply
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
            raise DataError(f'{path}:{number}: expected {{"id": text, "output": text}}, found {_fields(row)}')
        if target is not None and not isinstance(target, str):
            raise DataError(f"{path}:{number}: target is {type(target).__name__}, expected a text")
        if (fault := _no_probability(row.get("probability"))) is not None:
            raise DataError(f"{path}:{number}: probability is {fault}, expected a number from 0 to 1")
        if id in found:
            raise DataError(f"{path}:{number}: id {id!r} is given twice (first in line {found[id].line})")
        found[id] = Prediction(Reply(output, target, row.get("probability")), number)
    return found


def _no_probability(value: object) -> str | None:
    """What a value is that is neither a probability nor absent; else None."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1):
        return None
    return repr(value)


def _fields(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{key!r}: {type(value).__name__}" for key, value in row.items()) or "an empty object"


def check_targets(path: Path, found: dict[str, Prediction], task: Task, options: Options) -> None:
    """Raise DataError at the first prediction whose target, or probability, the task cannot have."""
    labels = () if options.both_orders else task.labels
    none = "none, since the id says the order" if task.labels else f"none, since {task.name} has no order"
    for prediction in found.values():
        reply = prediction.reply
        if reply.target is not None and reply.target not in labels:
            allowed = " or ".join(labels) or none
            raise DataError(f"{path}:{prediction.line}: target is {reply.target!r}, expected {allowed}")
        if reply.probability is not None and not task.choices:
            raise DataError(f"{path}:{prediction.line}: {task.name} has no use for a probability; leave it out")


def unknown_id(path: Path, unknown: dict[str, Prediction], task: Task) -> DataError:
    """The error for predictions that are left over when every item has been looked up."""
    id, first = next(iter(unknown.items()))
    return DataError(
        f"{path}:{first.line}: unknown id {id!r} ({len(unknown)} such ids in all); the ids of this data: "
        f"halu-tasks items {task.name}"
    )


def aimed(item: Item, target: str | None) -> Item:
    """The item with another target, for a reply to another order of its answers."""
    return item if target in (None, item.target) else replace(item, target=target)
