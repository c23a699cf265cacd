"""Predictions: replies from any source, each with an id and an output, that are scored without a harness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.data.parquet import parquet_rows
from halu_tasks.data.rows import Row, json_lines
from halu_tasks.data.shards import File
from halu_tasks.data.tables import WORKBOOK, table_lines
from halu_tasks.tasks import Built, Task

ID_FIELD, OUTPUT_FIELD = "id", "output"
_OPTIONAL = ("target", "probability", "epoch", "claim")
_LAST_EPOCH = 1_000_000
_OTHER_NAMES = "; other names: halu-tasks score --id-field NAME --output-field NAME"


class Prediction(NamedTuple):
    """A reply, and its line in the file."""

    reply: Reply
    line: int


class PredictionRow(NamedTuple):
    """A row of a predictions file.

    Attributes:
        id: The item's id.
        epoch: Which of several replies to the item it is, from 1.
        reply: The reply.
        line: Its line, or the number of its row.
    """

    id: str
    epoch: int
    reply: Reply
    line: int


class Fields(NamedTuple):
    """The names of the fields of predictions.

    Attributes:
        id: The field of the ids.
        output: The field of the replies.
    """

    id: str = ID_FIELD
    output: str = OUTPUT_FIELD


DEFAULT_FIELDS = Fields()


def prediction_rows(file: File, fields: Fields = DEFAULT_FIELDS) -> Iterator[PredictionRow]:
    """Read predictions from JSON Lines, a JSON array of objects, Parquet, or a table (`.csv` or `.xlsx`).

    Text files may be compressed, with a name that ends in `.gz`. A table of drawn verdicts, which has a row for each
    claim of a reply, has one prediction for each reply.

    Args:
        file: The file.
        fields: The names of its fields.

    Raises:
        DataError: A row is malformed.
    """
    with_claims: set[tuple[object, object]] = set()
    for line, row in _rows(file, fields):
        id, output, target = row.get(fields.id), row.get(fields.output), row.get("target")
        if not isinstance(id, str) or not isinstance(output, str):
            expected = f'{{"{fields.id}": string, "{fields.output}": string}}'
            hint = "" if {*fields} <= row.keys() else _OTHER_NAMES
            raise DataError(f"{file}:{line}: expected {expected}, found {_fields(row)}{hint}")
        if row.get("claim"):
            if (id, output) in with_claims:
                continue
            with_claims.add((id, output))
        if target is not None and not isinstance(target, str):
            raise DataError(f"{file}:{line}: target is {type(target).__name__}, expected a string")
        probability, epoch = row.get("probability"), row.get("epoch")
        if probability is not None and not _is_probability(probability):
            raise DataError(f"{file}:{line}: probability is {probability!r}, expected a number from 0 to 1")
        if epoch is None:
            epoch = 1
        elif not isinstance(epoch, int) or isinstance(epoch, bool) or not 1 <= epoch <= _LAST_EPOCH:
            raise DataError(f"{file}:{line}: epoch is {epoch!r}, expected an integer from 1 to {_LAST_EPOCH:,}")
        yield PredictionRow(id, epoch, Reply(output, target, probability), line)


def read_predictions(path: File, id_field: str = ID_FIELD, output_field: str = OUTPUT_FIELD) -> dict[str, Prediction]:
    """Read predictions by id from a file with one reply to each item.

    Args:
        path: The file.
        id_field: The field or column of the ids.
        output_field: The field or column of the replies.

    Raises:
        DataError: A row is malformed, an id is repeated, or the file contains no predictions.
    """
    predictions: dict[str, Prediction] = {}
    for id, _, reply, line in prediction_rows(path, Fields(id_field, output_field)):
        if id in predictions:
            raise DataError(f"{path}:{line}: duplicate id {id!r} (first in line {predictions[id].line})")
        predictions[id] = Prediction(reply, line)
    if not predictions:
        raise no_predictions(path)
    return predictions


def no_predictions(file: object) -> DataError:
    """Make the error for a file without predictions."""
    return DataError(f"{file}: contains no predictions")


def _rows(file: File, fields: Fields) -> Iterator[tuple[int, Row]]:
    name = file.name.lower().removesuffix(".gz")
    if name.endswith((".csv", WORKBOOK)):
        return _table_rows(file, fields)
    if name.endswith(".parquet"):
        return parquet_rows(file, (*fields, *_OPTIONAL))
    return json_lines(file)


def _table_rows(file: File, fields: Fields) -> Iterator[tuple[int, Row]]:
    """Read the rows of a table; an empty cell of an optional column counts as missing."""
    try:
        for number, cells in table_lines(file, {fields.id: (), fields.output: ()}):
            row: Row = {fields.id: cells[fields.id], fields.output: cells[fields.output]}
            for column, cell in cells.items():
                name = column.casefold()
                if name in _OPTIONAL and name not in row and cell.strip():
                    row[name] = _CELLS[name](cell.strip())
            yield number, row
    except DataError as error:
        raise DataError(f"{error}{_OTHER_NAMES if 'is missing' in str(error) else ''}") from None


def _as_number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


_CELLS: Mapping[str, Callable[[str], Any]] = {
    "target": str,
    "probability": _as_number,
    "claim": str,
    "epoch": lambda cell: int(cell) if cell.isdecimal() else cell,
}


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _fields(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{key!r}: {type(value).__name__}" for key, value in row.items()) or "an empty object"


class ReplyCheck:
    """Checks that a task can use the targets and probabilities of replies.

    Args:
        task: The task.
        options: The options that it was built with.
    """

    def __init__(self, task: Task, options: Options) -> None:
        self._task = task.name
        self._labels = () if options.both_orders else task.labels
        self._takes_probability = task.choices is not None
        none = (
            "none, as the id gives the order" if task.labels else f"none, as the answers of {task.name} have no order"
        )
        self._allowed = " or ".join(self._labels) or none

    def checked(self, file: object, rows: Iterable[PredictionRow]) -> Iterator[PredictionRow]:
        """Check the rows of a file as they are read.

        Raises:
            DataError: The target or the probability of a row does not fit the task.
        """
        for row in rows:
            self(file, row.line, row.reply)
            yield row

    def __call__(self, file: object, line: int, reply: Reply) -> None:
        """Check a reply.

        Args:
            file: The file that it was read from.
            line: Its line.
            reply: The reply.

        Raises:
            DataError: The target or the probability does not fit the task.
        """
        if reply.target is not None and reply.target not in self._labels:
            raise DataError(f"{file}:{line}: target is {reply.target!r}, expected {self._allowed}")
        if reply.probability is not None and not self._takes_probability:
            raise DataError(f"{file}:{line}: {self._task} does not use probabilities; leave it out")


def check_predictions(path: File, predictions: Mapping[str, Prediction], built: Built) -> None:
    """Check that a task can use the predictions of a file.

    Args:
        path: The file.
        predictions: Its predictions by id.
        built: The task.

    Raises:
        DataError: A target or a probability does not fit the task, or no item has an id.
    """
    check = ReplyCheck(built.task, built.options)
    for prediction in predictions.values():
        check(path, prediction.line, prediction.reply)
    known = {item.id for item in built.items}
    if unknown := [id for id in predictions if id not in known]:
        raise unknown_id(f"{path}:{predictions[unknown[0]].line}", unknown[0], len(unknown), built.task)


def unknown_id(place: str, id: str, number: int, task: Task) -> DataError:
    """Make the error for predictions whose ids no item has.

    Args:
        place: The file and the line of the first of them.
        id: Its id.
        number: The number of these predictions.
        task: The task.
    """
    return DataError(
        f"{place}: unknown id {id!r} (number of unknown ids: {number}); list the ids of this data with: "
        f"halu-tasks items {task.name}"
    )


def with_target(item: Item, target: str | None) -> Item:
    """Return the item with another target, for a reply to another order of its answers."""
    return item if target in (None, item.target) else replace(item, target=target)
