"""Predictions: replies from any source, each with an id and an output, that are scored without a harness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.data import workbooks
from halu_tasks.data.json_arrays import array_lines
from halu_tasks.data.rows import Row
from halu_tasks.data.tables import table_lines
from halu_tasks.tasks import Task

ID_FIELD, OUTPUT_FIELD = "id", "output"
_OPTIONAL = ("target", "probability")
_OTHER_NAMES = "; other names: halu-tasks score --id-field NAME --output-field NAME"


class Prediction(NamedTuple):
    """A reply, and its line in the file."""

    reply: Reply
    line: int


def read_predictions(path: Path, id_field: str = ID_FIELD, output_field: str = OUTPUT_FIELD) -> dict[str, Prediction]:
    """Read predictions by id from JSON Lines, a JSON array of objects, or a table (`.csv` or `.xlsx`).

    Text files may be compressed, with a name that ends in `.gz`.

    Args:
        path: The file.
        id_field: The field or column of the ids.
        output_field: The field or column of the replies.

    Raises:
        DataError: A row is malformed, an id is repeated, or the file contains no predictions.
    """
    predictions: dict[str, Prediction] = {}
    rows = _table_rows(path, id_field, output_field) if _is_table(path) else array_lines(path)
    for number, row in rows:
        id, output, target = row.get(id_field), row.get(output_field), row.get("target")
        if not isinstance(id, str) or not isinstance(output, str):
            expected = f'{{"{id_field}": string, "{output_field}": string}}'
            hint = "" if {id_field, output_field} <= row.keys() else _OTHER_NAMES
            raise DataError(f"{path}:{number}: expected {expected}, found {_fields(row)}{hint}")
        if target is not None and not isinstance(target, str):
            raise DataError(f"{path}:{number}: target is {type(target).__name__}, expected a string")
        if (invalid := _invalid_probability(row.get("probability"))) is not None:
            raise DataError(f"{path}:{number}: probability is {invalid}, expected a number from 0 to 1")
        if id in predictions:
            raise DataError(f"{path}:{number}: duplicate id {id!r} (first in line {predictions[id].line})")
        predictions[id] = Prediction(Reply(output, target, row.get("probability")), number)
    if not predictions:
        raise DataError(f"{path}: contains no predictions")
    return predictions


def _is_table(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".csv", workbooks.SUFFIX))


def _table_rows(path: Path, id_field: str, output_field: str) -> Iterator[tuple[int, Row]]:
    """Read the rows of a table; an empty cell of an optional column counts as missing."""
    try:
        for number, cells in table_lines(path, {id_field: (), output_field: ()}):
            row: Row = {id_field: cells[id_field], output_field: cells[output_field]}
            for column, cell in cells.items():
                name = column.casefold()
                if name in _OPTIONAL and name not in row and cell.strip():
                    row[name] = _as_number(cell) if name == "probability" else cell.strip()
            yield number, row
    except DataError as error:
        raise DataError(f"{error}{_OTHER_NAMES if 'is missing' in str(error) else ''}") from None


def _as_number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _invalid_probability(value: object) -> str | None:
    """Return the `repr` of a value that is neither a probability nor None; otherwise None."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1):
        return None
    return repr(value)


def _fields(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{key!r}: {type(value).__name__}" for key, value in row.items()) or "an empty object"


def check_targets(path: Path, predictions: dict[str, Prediction], task: Task, options: Options) -> None:
    """Check that the task can use the targets and probabilities of predictions.

    Args:
        path: The file that the predictions were read from.
        predictions: The predictions by id.
        task: The task that they are replies to.
        options: The options that the task was built with.

    Raises:
        DataError: A target or probability does not fit the task.
    """
    labels = () if options.both_orders else task.labels
    none = "none, as the id gives the order" if task.labels else f"none, as the answers of {task.name} have no order"
    for prediction in predictions.values():
        reply = prediction.reply
        if reply.target is not None and reply.target not in labels:
            allowed = " or ".join(labels) or none
            raise DataError(f"{path}:{prediction.line}: target is {reply.target!r}, expected {allowed}")
        if reply.probability is not None and not task.choices:
            raise DataError(f"{path}:{prediction.line}: {task.name} does not use probabilities; leave it out")


def unknown_id(path: Path, unknown: dict[str, Prediction], task: Task) -> DataError:
    """Make the error for predictions whose ids no item of the task has.

    Args:
        path: The file that the predictions were read from.
        unknown: These predictions by id.
        task: The task.
    """
    id, first = next(iter(unknown.items()))
    return DataError(
        f"{path}:{first.line}: unknown id {id!r} (number of unknown ids: {len(unknown)}); list the ids of this data "
        f"with: halu-tasks items {task.name}"
    )


def with_target(item: Item, target: str | None) -> Item:
    """Return the item with another target, for a reply to another order of its answers."""
    return item if target in (None, item.target) else replace(item, target=target)
