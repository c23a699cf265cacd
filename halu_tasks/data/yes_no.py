"""Tables in which people answered yes or no."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from halu_tasks.data.rows import Row, json_lines
from halu_tasks.data.tables import WORKBOOK as SUFFIX
from halu_tasks.data.tables import table_lines

_ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def labelled_lines(path: Path, column: str) -> Iterator[tuple[int, Row]]:
    """Read the rows of a CSV file, a workbook, JSON Lines or a JSON array, with their line numbers.

    Args:
        path: The file.
        column: The column of the answers, which a table must have, as it must have `id`.

    Raises:
        DataError: The file cannot be read, or a table lacks a column.
    """
    if path.name.lower().endswith((".csv", SUFFIX)):
        return table_lines(path, {"id": (), column: ()})
    return json_lines(path)


def id_of(row: Row, what: str) -> str:
    """Return the id of a row.

    Args:
        row: The row.
        what: What the id identifies, for the error.

    Raises:
        ValueError: The row has no id.
    """
    id = row.get("id")
    if not isinstance(id, str) or not id:
        raise ValueError(f"expected the id of {what} in 'id', got {id!r}")
    return id


def yes_or_no(row: Row, column: str) -> bool | None:
    """Read an answer; None if there is none.

    Raises:
        ValueError: It is neither yes nor no.
    """
    value = row.get(column)
    text = "" if value is None else str(value).strip().casefold()
    if text and text not in _ANSWERS:
        raise ValueError(f"{column} is {value!r}, expected yes or no")
    return _ANSWERS.get(text)
