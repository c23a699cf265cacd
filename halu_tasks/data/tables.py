"""Rows of tables: CSV files, workbooks and Parquet files."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.core.extras import require_extra
from halu_tasks.data.rows import NO_COLUMNS, Row, text_lines

WORKBOOK = ".xlsx"
_ROWS, _BUFFER = 1_000, 1 << 20
"""How many rows of a Parquet file are read at a time, and bytes; row groups may take as much memory as all rows."""


def table_lines(
    path: Path, columns: Mapping[str, Sequence[str]], named: Mapping[str, str] = NO_COLUMNS
) -> Iterator[tuple[int, Row]]:
    """Read (number of its first line, cells by column) of each row of a table with a header row.

    The table is a CSV file, or the first sheet of a workbook if the file's name ends in `.xlsx`. Quoted cells of a CSV
    file may contain line ends; blank lines are ignored.

    Args:
        path: The file.
        columns: The required columns, each with its alternative names. Case, spaces and underscores are ignored, and
            the table may have other columns, too.
        named: The columns that the user named, by the column that they stand for.

    Raises:
        DataError: The file is not UTF-8, CSV or a workbook; a column is missing or repeated; or a row has more or
            fewer cells than there are columns. The message names file and line.
    """
    workbook = path.suffix.lower() == WORKBOOK
    rows = _workbook_cells(path) if workbook else _csv_cells(path)
    number, head = next(rows, (1, []))
    names = _names(f"{path}:{number}", [cell.strip() for cell in head], columns, named) if head else []
    for number, cells in rows:
        # a workbook omits empty cells at the end of a row
        cells += [""] * (len(names) - len(cells)) if workbook else []
        if len(cells) != len(names):
            raise DataError(f"{path}:{number}: row has {len(cells)} cells for {len(names)} columns")
        yield number, dict(zip(names, cells, strict=True))


def table_rows(
    rows: Iterable[tuple[int, Row]],
    place: object,
    columns: Mapping[str, Sequence[str]],
    named: Mapping[str, str] = NO_COLUMNS,
) -> Iterator[tuple[int, Row]]:
    """Give the rows of a table that is not a file the names of its columns, and its cells as text.

    Args:
        rows: The rows with their numbers; all have the same columns.
        place: The dataset, for error messages.
        columns: The required columns, as in `table_lines`.
        named: The columns that the user named, as in `table_lines`.

    Raises:
        DataError: A column is missing or repeated; the message names the dataset.
    """
    names = None
    for number, row in rows:
        if names is None:
            names = _names(f"{place}:{number}", list(row), columns, named)
        cells = (("" if value is None else str(value)) for value in row.values())
        yield number, dict(zip(names, cells, strict=True))


def _names(place: str, head: list[str], columns: Mapping[str, Sequence[str]], named: Mapping[str, str]) -> list[str]:
    """Name the columns of a table, replacing alternative names by the keys of `columns`.

    Raises:
        DataError: A column is missing or repeated; the message begins with `place`.
    """
    keys = [_column_key(name) for name in head]
    # a column whose name the user gave to another one is not read
    names = ["" if name in named else name for name in head]
    for column, others in (dict.fromkeys(named, ()) | dict(columns)).items():
        others = [named[column]] if column in named else others
        accepted = [_column_key(name) for name in ([] if column in named else [column]) + list(others)]
        places = [place for place, key in enumerate(keys) if key in accepted]
        if len(places) != 1:
            fault = "occurs more than once" if places else "is missing"
            also = f"; it may also be named {', '.join(others)}" if others and column not in named else ""
            asked = f"{named[column]!r} ({column}:{named[column]})" if column in named else repr(column)
            raise DataError(f"{place}: column {asked} {fault}{also} (has {', '.join(map(repr, head))})")
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


def _workbook_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Read (number from 1, cells as text) of each row of the first sheet that is not empty."""
    require_extra("xlsx", f"{path}: reading Excel workbooks (instead of CSV)")
    from pandas import read_excel

    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # openpyxl warns of features that it drops (styles, validation), which do not matter here
            warnings.simplefilter("ignore")
            sheet = read_excel(file, header=None, dtype=str, na_filter=False, engine="openpyxl")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        # openpyxl passes on any error of the zip and XML readers
        raise DataError(f"{path}: not an Excel workbook ({' '.join(str(error).split())})") from None
    for number, values in enumerate(sheet.to_numpy().tolist(), 1):
        cells = [str(value) for value in values]
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield number, cells


# --- Parquet ----------------------------------------------------------------------------------------


def parquet_rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Read (number from 1, row) of each row of a Parquet file; a null counts as missing.

    Args:
        file: The file.
        columns: The columns to read; those that the file lacks are left out.

    Raises:
        DataError: It is not a Parquet file.
    """
    from pyarrow import ArrowException, parquet  # takes half a second to import

    try:
        with file.open("rb") as opened:
            table = parquet.ParquetFile(opened, buffer_size=_BUFFER)
            known = [name for name in columns if name in table.schema_arrow.names]
            rows = (row for batch in table.iter_batches(_ROWS, columns=known) for row in batch.to_pylist())
            for number, row in enumerate(rows, 1):
                yield number, {name: value for name, value in row.items() if value is not None}
    except (OSError, ArrowException) as error:
        reason = getattr(error, "strerror", None) or f"not a Parquet file ({' '.join(str(error).split())})"
        raise DataError(f"{file}: {reason}") from None
