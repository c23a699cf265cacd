"""Rows of files: JSON Lines, CSV files, workbooks and Parquet files, validated where they are read."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from halu_tasks.core.errors import DataError, HaluTasksError, file_errors, require_extra
from halu_tasks.core.hashing import short_hash
from halu_tasks.core.limits import Archive, UnpackLimit, exceeded, limit

Row = dict[str, Any]
T = TypeVar("T")
Refuse = Callable[[DataError], None]
"""Receives the error of an invalid row, instead of its being raised."""
WORKBOOK = ".xlsx"
_LONGEST_CELL = 2**31 - 1
"""The most characters that Python's reader of CSV can be told to take, on any platform."""
_ROWS, _BUFFER = 1_000, 1 << 20
"""How many rows of a Parquet file are read at a time, and bytes; row groups may take as much memory as all rows."""


def read_rows(
    lines: Iterable[tuple[int, Row]],
    place: object,
    fields: Mapping[str, type],
    make: Callable[[Row], T],
    columns: Mapping[str, str] | None = None,
    refuse: Refuse | None = None,
) -> Iterator[T]:
    """Make a value of each row; no row is skipped silently.

    Args:
        lines: The rows with their numbers.
        place: The file or dataset that they are from, for error messages.
        fields: The required fields with their types.
        make: Makes of a row what is yielded; raises ValueError with the reason if the row is invalid.
        columns: Other names of fields in the rows, by field.
        refuse: Called with the error of each invalid row, after which the next is read; by default, it is raised.

    Raises:
        DataError: A row is invalid, or there are none; the message names file, line and reason.
    """
    row = None
    for number, row in lines:
        try:
            if columns:
                row = _renamed(row, columns, fields)
            require_fields(row, fields)
            value = make(row)
        except ValueError as error:
            fault = DataError(f"{place}:{number}: {error}")
            if refuse is None:
                raise fault from None
            refuse(fault)
        else:
            yield value
    if row is None:
        raise DataError(f"{place}: contains no rows")


def _renamed(row: Row, columns: Mapping[str, str], fields: Container[str]) -> Row:
    for name, column in columns.items():
        if column not in row and name in fields:
            raise ValueError(f"column {column!r} ({name}:{column}) is missing (has {', '.join(map(repr, row))})")
    new_names = {column: name for name, column in columns.items()}
    # what is there under a name that another column gets is not read
    values = {name: value for name, value in row.items() if name in new_names or name not in columns}
    return {new_names.get(name, name): value for name, value in values.items()}


def json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """Read (number, object) of each row of JSON Lines, or of a file that is one JSON array.

    Numbers count lines, or rows of the array, from 1. A byte-order mark, blank lines and Windows line ends are ignored.

    Raises:
        DataError: The file is not UTF-8 or not JSON, or a row is not an object; the message names file and line.
    """
    # read once and line by line, since the file may be a pipe or too large for memory
    lines = text_lines(path)
    begin, first = next(((number, text) for number, text in lines if text.strip()), (1, ""))
    if first.lstrip().startswith("["):
        for number, row in enumerate(_parse(read_text(path, chain([(begin, first)], lines)), path, begin), 1):
            yield number, _object(f"{path}:{number}", row)
        return
    for number, text in chain([(begin, first)], lines):
        if text.strip():
            yield number, _object(f"{path}:{number}", _parse(text.rstrip(), path, number))


def _parse(text: str, path: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"{error.msg.removesuffix(' at')} at column {error.colno}"
        raise DataError(f"{path}:{line + error.lineno - 1}: not JSON ({reason})") from None
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, or brackets in brackets
        raise DataError(f"{path}:{line}: not JSON ({error})") from None


def _object(where: str, row: Any) -> Row:
    if not isinstance(row, dict):
        raise DataError(f"{where}: expected a JSON object, found {type(row).__name__}")
    return row


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read (number from 1, text) of each line of a file.

    Lines include their end; a byte-order mark is removed. A file whose name ends in `.gz` is decompressed.

    Raises:
        DataError: The file cannot be read or is not UTF-8, or a line is longer than `max_line`; the message names the
            file and, if possible, the line.
    """
    most = limit("max_line")
    try:
        gz = path.suffix.lower() == ".gz"
        with file_errors(path), path.open("rb") as raw, gzip.open(raw) if gz else raw as file:
            unpacked = UnpackLimit(path) if gz else None
            # decoded line by line, since a decoder that reads ahead cannot say where an invalid byte is
            for number, line in enumerate(iter(partial(file.readline, most + 1), b""), 1):
                if len(line) > most:
                    raise exceeded("max_line", f"{path}:{number}")
                if unpacked:
                    unpacked.add(len(line))
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: not UTF-8 ({error.reason})") from None
    except (EOFError, zlib.error):
        raise DataError(f"{path}: the compressed file is truncated or damaged") from None


def read_text(path: Path, lines: Iterable[tuple[int, str]] | None = None) -> str:
    """Read a whole file, as `text_lines` reads its lines.

    Args:
        path: The file.
        lines: Its lines, if reading them has begun.

    Raises:
        DataError: It cannot be read, is not UTF-8, or exceeds a limit.
    """
    left, parts = limit("max_text"), []
    for _, line in lines or text_lines(path):
        parts.append(line)
        left -= len(line)
        if left < 0:
            raise exceeded("max_text", path)
    return "".join(parts)


def read_json(path: Path) -> Any:
    """Read a file with a single JSON value.

    Raises:
        DataError: It cannot be read or is not valid JSON.
    """
    return _parse(read_text(path), path, 1)


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a file with a single JSON object.

    Raises:
        DataError: It cannot be read or is not a JSON object.
    """
    return _object(str(path), read_json(path))


def json_records(path: Path, records: str) -> Iterator[tuple[int, Row]]:
    """Read (number from 1, object) of each row of a list within a JSON file.

    Args:
        path: The file.
        records: Where the list is, as a dotted path.

    Raises:
        DataError: The file is not JSON, or has no list of objects there.
    """
    content = read_json_object(path)
    try:
        rows = value_at(content, records)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    if not isinstance(rows, list):
        raise DataError(f"{path}: {records!r} is {type(rows).__name__}, expected a list of rows")
    for number, row in enumerate(rows, 1):
        yield number, _object(f"{path}:{number}", row)


def value_at(row: Row, path: str) -> Any:
    """Return the value of a field, or of one within other fields and lists, as `metadata.model` or `notes.0.label`.

    A name after a list is a field of all its records: `notes.label` is the list of their labels.

    Raises:
        ValueError: There is none.
    """
    value: Any = row
    for part in [path] if path in row else path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, list) and not part.isdecimal() and all(isinstance(each, dict) for each in value):
            value = [value_at(each, part) for each in value]
        else:
            keys = ", ".join(map(repr, value)) if isinstance(value, dict) else type(value).__name__
            raise ValueError(f"field {path!r} is missing (has {keys or 'none'})")
    return value


def require_fields(row: Row, fields: Mapping[str, type]) -> None:
    """Raise ValueError unless the row has all fields with the right types."""
    for field, type_ in fields.items():
        if field not in row:
            raise ValueError(f"field {field!r} is missing (has {', '.join(map(repr, row)) or 'none'})")
        if not isinstance(row[field], type_):
            raise ValueError(f"field {field!r} is {type(row[field]).__name__}, expected {type_.__name__}")


def require_text(row: Row, *fields: str) -> None:
    """Raise ValueError unless the row has each field, a non-blank string of valid Unicode."""
    require_fields(row, dict.fromkeys(fields, str))
    for field in fields:
        if not row[field].strip():
            raise ValueError(f"field {field!r} is empty")
        try:
            row[field].encode()
        except UnicodeEncodeError:
            raise not_unicode(field) from None


def not_unicode(field: str) -> ValueError:
    """Make the error for a field whose text is not valid Unicode."""
    return ValueError(f"field {field!r} contains a lone surrogate, which is not valid Unicode")


def with_ids(rows: Iterable[Row], *fields: str) -> Iterator[tuple[str, Row]]:
    """Pair each row with an id made from its text, for published rows that have none.

    Ids do not depend on the order of the rows. A repeated row gets a number appended to its id.

    Args:
        rows: The rows.
        *fields: The fields that ids are made from.
    """
    seen: Counter[str] = Counter()
    for row in rows:
        yield numbered(short_hash(*(str(row[field]) for field in fields)), seen), row


def numbered(id: str, seen: Counter[str]) -> str:
    """Return an id, with a number unless it is the first of its kind; `seen` counts the ids so far."""
    seen[id] += 1
    return id if seen[id] == 1 else f"{id}-{seen[id]}"


# --- tables -----------------------------------------------------------------------------------------


def table_lines(
    path: Path, columns: Mapping[str, Sequence[str]], optional: Iterable[str] = ()
) -> Iterator[tuple[int, Row]]:
    """Read (number of its first line, cells by column) of each row of a table with a header row.

    The table is a CSV file, or the first sheet of a workbook if the file's name ends in `.xlsx`. Cells of a CSV file
    are separated by commas, semicolons or tabs, as its header shows; quoted ones may contain line ends; blank lines are
    ignored.

    Args:
        path: The file.
        columns: The required columns, each with its alternative names. Case, spaces and underscores are ignored, and
            the table may have other columns, too.
        optional: Columns that the table may lack.

    Raises:
        DataError: The file is not UTF-8, CSV or a workbook; a column is missing or repeated; or a row has more or
            fewer cells than there are columns. The message names file and line.
    """
    workbook = path.suffix.lower() == WORKBOOK
    rows = _workbook_cells(path) if workbook else _csv_cells(path)
    number, head = next(rows, (1, []))
    names = _names(f"{path}:{number}", [cell.strip() for cell in head], columns, optional) if head else []
    for number, cells in rows:
        # a workbook omits empty cells at the end of a row
        cells += [""] * (len(names) - len(cells)) if workbook else []
        if len(cells) != len(names):
            raise DataError(f"{path}:{number}: row has {len(cells)} cells for {len(names)} columns")
        yield number, dict(zip(names, cells, strict=True))


def table_rows(
    rows: Iterable[tuple[int, Row]], place: object, columns: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, Row]]:
    """Give the rows of a table that is not a file the names of its columns, and its cells as text.

    Args:
        rows: The rows with their numbers; all have the same columns.
        place: The dataset, for error messages.
        columns: The required columns, as in `table_lines`.

    Raises:
        DataError: A column is missing or repeated; the message names the dataset.
    """
    names = None
    for number, row in rows:
        if names is None:
            names = _names(f"{place}:{number}", list(row), columns, ())
        cells = (("" if value is None else str(value)) for value in row.values())
        yield number, dict(zip(names, cells, strict=True))


def _names(place: str, head: list[str], columns: Mapping[str, Sequence[str]], optional: Iterable[str]) -> list[str]:
    """Name the columns of a table, replacing alternative names by the keys of `columns` or the names in `optional`.

    Raises:
        DataError: A column is missing or repeated; the message begins with `place`.
    """
    keys, names = [_column_key(name) for name in head], [*head]
    for column, alternatives in {**dict.fromkeys(optional, ()), **columns}.items():
        accepted = [_column_key(name) for name in (column, *alternatives)]
        places = [place for place, key in enumerate(keys) if key in accepted]
        if not places and column not in columns:
            continue
        if len(places) != 1:
            fault = "occurs more than once" if places else "is missing"
            also = f"; it may also be named {', '.join(alternatives)}" if alternatives else ""
            raise DataError(f"{place}: column {column!r} {fault}{also} (has {', '.join(map(repr, head))})")
        names[places[0]] = column
    return names


def _column_key(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


def _csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    begin = 1
    texts = (text for _, text in text_lines(path))
    head = next(texts, "")
    csv.field_size_limit(min(limit("max_text"), _LONGEST_CELL))
    rows = csv.reader(chain([head], texts), delimiter=_delimiter(head), strict=True)
    try:
        for cells in rows:
            if any(cell.strip() for cell in cells) or len(cells) > 1:
                yield begin, cells
            begin = rows.line_num + 1
    except csv.Error as error:
        if "field limit" in str(error):
            raise exceeded("max_text", f"{path}:{begin}: a cell") from None
        raise DataError(f"{path}:{begin}: not CSV ({str(error).partition(' - ')[0]})") from None


def _delimiter(head: str) -> str:
    unquoted = "".join(head.split('"')[::2])
    return max(",;\t", key=unquoted.count)


def _workbook_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Read (number from 1, cells as text) of each row of the first sheet that is not empty."""
    require_extra("xlsx", f"{path}: reading Excel workbooks (instead of CSV)")
    from openpyxl import load_workbook

    rows, left = [], limit("max_cells")
    try:
        with file_errors(path), path.open("rb") as file, warnings.catch_warnings():
            # openpyxl warns of features that it drops (styles, validation), which do not matter here
            warnings.simplefilter("ignore")
            with Archive(file, path) as archive:
                archive.check()
            sheet: Any = load_workbook(file, read_only=True, data_only=True, keep_links=False).worksheets[0]
            sheet.reset_dimensions()  # a file may state any
            for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
                left -= len(values) or 1
                if left < 0:
                    raise exceeded("max_cells", f"{path}:{number}")
                cells = [_cell_text(value) for value in values]
                while cells and not cells[-1].strip():
                    cells.pop()
                if cells:
                    rows.append((number, cells))
    except HaluTasksError:
        raise
    except Exception as error:
        # openpyxl passes on any error of the zip and XML readers
        raise DataError(f"{path}: not an Excel workbook ({' '.join(str(error).split())})") from None
    return iter(rows)


def _cell_text(value: Any) -> str:
    """Convert a cell to text. Workbooks keep whole numbers as floats; these have no decimal point."""
    whole = isinstance(value, float) and value.is_integer()
    return "" if value is None else str(int(value) if whole else value)


# --- Parquet ----------------------------------------------------------------------------------------


def parquet_rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Read (number from 1, row) of each row of a Parquet file; a null counts as missing.

    Args:
        file: The file.
        columns: The columns to read; those that the file lacks are left out.

    Raises:
        DataError: It is not a Parquet file, or has text that is not UTF-8.
    """
    import pyarrow as pa  # takes half a second
    from pyarrow import ArrowException, parquet

    try:
        with file.open("rb") as opened:
            schema = parquet.read_schema(opened)
            unpacked, present = UnpackLimit(file), [name for name in columns if name in schema.names]
            # a text that is stored once stays so in memory, however many rows have it
            texts = _text_columns(parquet.read_metadata(opened), unpacked.left, file)
            table = parquet.ParquetFile(opened, buffer_size=_BUFFER, read_dictionary=texts)
            stored = pa.schema([schema.field(name) for name in present])
            number = 0
            for batch in table.iter_batches(_ROWS, columns=present):
                unpacked.add(size := sum(map(_size, batch.columns)))
                step = max(batch.num_rows * _BUFFER // max(size, 1), 1)
                for begin in range(0, batch.num_rows, step):
                    # rows are made of plain texts five times as fast
                    for row in batch.slice(begin, step).select(present).cast(stored).to_pylist():
                        number += 1
                        yield number, {name: value for name, value in row.items() if value is not None}
    except (OSError, ArrowException, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or f"not a Parquet file of UTF-8 ({' '.join(str(error).split())})"
        raise DataError(f"{file}: {reason}") from None


def _text_columns(metadata: Any, most: int, file: Path) -> list[str]:
    """Return the paths of text columns, including text in lists.

    Raises:
        LimitError: A part of a column that is read at once is larger than `most`.
    """
    texts = set()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.total_uncompressed_size > most:
                raise exceeded("max_ratio", f"{file}: column {chunk.path_in_schema}")
            if chunk.physical_type == "BYTE_ARRAY":
                texts.add(chunk.path_in_schema)
    return sorted(texts)


def _size(column: Any) -> int:
    """Return the bytes of a column, counting a text that is stored once in every row that has it."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        return compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    if pa.types.is_list(column.type):
        return _size(column.flatten())
    return sum(map(_size, column.flatten())) if pa.types.is_struct(column.type) else column.nbytes
