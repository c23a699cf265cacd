"""Rows of tables: CSV files and workbooks."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.data import workbooks
from halu_tasks.data.rows import Row, text_lines


def table_lines(path: Path, columns: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Row]]:
    """Read (number of its first line, cells by column) of each row of a table with a header row.

    The table is a CSV file, or the first sheet of a workbook if the file's name ends in `.xlsx`. Quoted cells of a CSV
    file may contain line ends; blank lines are ignored.

    Args:
        path: The file.
        columns: The required columns, each with its alternative names. Case, spaces and underscores are ignored, and
            the table may have other columns, too.

    Raises:
        DataError: The file is not UTF-8, CSV or a workbook; a column is missing or repeated; or a row has more or
            fewer cells than there are columns. The message names file and line.
    """
    workbook = path.suffix.lower() == workbooks.SUFFIX
    rows = workbooks.workbook_cells(path) if workbook else _csv_cells(path)
    number, head = next(rows, (1, []))
    try:
        names = _named_columns([cell.strip() for cell in head], columns) if head else []
    except ValueError as error:
        raise DataError(f"{path}:{number}: {error}") from None
    for number, cells in rows:
        # a workbook omits empty cells at the end of a row
        cells += [""] * (len(names) - len(cells)) if workbook else []
        if len(cells) != len(names):
            raise DataError(f"{path}:{number}: row has {len(cells)} cells for {len(names)} columns")
        yield number, dict(zip(names, cells, strict=True))


def _named_columns(head: list[str], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Name the columns of a table, replacing alternative names by the keys of `columns`."""
    keys = [_column_key(name) for name in head]
    names = list(head)
    for column, others in columns.items():
        accepted = [_column_key(name) for name in (column, *others)]
        places = [place for place, key in enumerate(keys) if key in accepted]
        if len(places) != 1:
            fault = "occurs more than once" if places else "is missing"
            also = f"; it may also be named {', '.join(others)}" if others else ""
            raise ValueError(f"column {column!r} {fault}{also} (has {', '.join(map(repr, head))})")
        names[places[0]] = column
    return names


def _column_key(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


def _csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    begin = 1
    rows = csv.reader((text for _, text in text_lines(path)), strict=True)
    try:
        for cells in rows:
            if any(cell.strip() for cell in cells) or len(cells) > 1:
                yield begin, cells
            begin = rows.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{begin}: not CSV ({str(error).partition(' - ')[0]})") from None
