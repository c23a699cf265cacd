"""Finding and reading the data of every benchmark, from a name to validated rows.

Data come from the path in the `data` option, else from `HALU_TASKS_DATA`, else from the pinned source (downloaded
once, verified, cached). The packaged sample is only used for the word `sample`.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import hashlib
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from halu_tasks import workbooks
from halu_tasks.errors import DataError
from halu_tasks.sources import Source

Row = dict[str, Any]
Lines = Callable[[Path], Iterator[tuple[int, Row]]]
"""A function that reads a file as rows, each with the number of its first line."""
Kind = Literal["pinned", "extract", "sample", "local"]
SAMPLE = Path(__file__).parent / "sample"
HOW_TO_NAME = (
    "name a local copy with halu_data=PATH (lm-eval --metadata), -T data=PATH (Inspect), --data PATH "
    "(halu-tasks) or HALU_TASKS_DATA=PATH, or use the word sample instead of PATH for the packaged sample"
)


@dataclass(frozen=True)
class Located:
    """A data file.

    Attributes:
        path: The file.
        kind: How far results on it represent the benchmark. `pinned`: the published data, byte for byte if a checksum
            is known; `extract`: only some of the published rows; `sample`: the packaged sample; `local`: any other
            file that the user named.
        sha256: Its checksum, in hex.
    """

    path: Path
    kind: Kind
    sha256: str


def cache_folder() -> Path:
    """Return the folder for downloads and verdicts: `HALU_TASKS_CACHE`, or `halu-tasks` in the user's cache."""
    if named := os.environ.get("HALU_TASKS_CACHE"):
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "halu-tasks"


def cached_path(source: Source, name: str) -> Path:
    return cache_folder() / "data" / source.name / source.revision[:25] / name


def sha256_of(path: Path) -> str:
    """Compute the sha256 of a file, in hex.

    Raises:
        DataError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def locate(source: Source, name: str, data: str | None = None) -> Located:
    """Locate a data file, downloading it if necessary.

    Args:
        source: The source that publishes it.
        name: Its name in the source.
        data: The user's file or folder, or `sample`; by default, `HALU_TASKS_DATA` or the pinned source.

    Raises:
        DataError: It does not exist and cannot be downloaded, or its checksum is not the published one.
    """
    named = data or os.environ.get("HALU_TASKS_DATA")
    if named == "sample":
        path = SAMPLE / source.name / name
        if not path.is_file():
            raise DataError(f"{source.title}: the packaged sample has no {name}")
        return Located(path, "sample", sha256_of(path))
    if named:
        file = source.file(name)
        path = _named_file(source, name, Path(named).expanduser())
        sha256 = sha256_of(path)
        kind: Kind = "pinned" if sha256 == file.sha256 else "extract" if sha256 in file.extracts else "local"
        return Located(path, kind, sha256)
    path = cached_path(source, name)
    if not path.is_file() or source.file(name).url is None:
        from halu_tasks.download import fetch

        fetch(source, name)
    return Located(path, "pinned", verify(source, name, path))


def verify(source: Source, name: str, path: Path) -> str:
    """Verify a file's checksum, if the published one is known.

    Args:
        source: The source that publishes the file.
        name: Its name in the source.
        path: The file.

    Returns:
        Its sha256, in hex.

    Raises:
        DataError: It differs from the published one; the message gives both.
    """
    sha256 = sha256_of(path)
    published = source.file(name).sha256
    if published and sha256 != published:
        raise DataError(
            f"{path}: sha256 is {sha256}, expected the published {published}; delete the file and fetch it again "
            f"(halu-tasks data fetch {source.name})"
        )
    return sha256


def _named_file(source: Source, name: str, named: Path) -> Path:
    try:
        named.stat()
    except OSError as error:
        # the file does not exist, or no file can have this name
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise DataError(f"{source.title}: data {str(named)!r} {reason}; {HOW_TO_NAME}") from None
    if named.is_file():
        others = [known for file in source.files if file.name != name for known in file.names]
        if any(named.match(known) for known in others):
            raise DataError(f"{named}: this task reads {name}, not {named.name}; name the folder that contains both")
        return named
    if path := in_folder(source, name, named):
        return path
    alternatives = [known for known in source.file(name).names if known != name]
    also = f"; the file may also be named {', '.join(alternatives)}" if alternatives else ""
    raise DataError(f"{source.title}: {named} contains neither {name} nor {source.name}/{name}{also}")


def in_folder(source: Source, name: str, folder: Path) -> Path | None:
    """Look for a data file in a folder.

    Args:
        source: The source that publishes it.
        name: Its name in the source; alternative names are tried, too.
        folder: A folder of the benchmark's files, or a folder of such folders.

    Returns:
        The file, or None if the folder does not contain it.

    Raises:
        DataError: Several files match.
    """
    for place in (folder, folder / source.name):
        for known in source.file(name).names:
            # spreadsheet programs leave lock files whose names begin with ~
            matches = [path for path in place.glob(known) if path.is_file() and path.name[0] not in "~."]
            if len(matches) > 1:
                listed = ", ".join(sorted(path.name for path in matches))
                raise DataError(
                    f"{source.title}: {matches[0].parent} contains several files for {name} ({listed}); name one of "
                    "them"
                )
            if matches:
                return matches[0]
    return None


def is_sample(data: str | None) -> bool:
    """Return whether the user asked for the packaged sample."""
    return (data or os.environ.get("HALU_TASKS_DATA")) == "sample"


def find_beside(source: Source, name: str, data: str | None) -> Path | None:
    """Locate an optional data file, as `locate` does.

    Args:
        source: The source that publishes it.
        name: Its name in the source.
        data: The user's folder, or `sample`; by default, `HALU_TASKS_DATA` or the pinned source.

    Returns:
        The file; None for the packaged sample, or if the user's folder does not contain it.
    """
    named = data or os.environ.get("HALU_TASKS_DATA")
    if named is None:
        return locate(source, name).path
    return None if is_sample(data) else in_folder(source, name, Path(named).expanduser())


# --- rows ---------------------------------------------------------------------------------------


def read_rows(path: Path, fields: Mapping[str, type], check: Callable[[Row], None], lines: Lines) -> Iterator[Row]:
    """Read and validate the rows of a file; no row is ever skipped.

    Args:
        path: The file.
        fields: The required fields with their types.
        check: Called with each row; raises ValueError with the reason if a row is invalid.
        lines: Reads the file as rows.

    Raises:
        DataError: A row is invalid, or there are none; the message names file, line and reason.
    """
    row = None
    for number, row in lines(path):
        try:
            require_fields(row, fields)
            check(row)
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        yield row
    if row is None:
        raise DataError(f"{path}: contains no rows")


def json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """Read (line number from 1, object) of each non-blank line of a JSON Lines file.

    A byte-order mark and Windows line ends are ignored.

    Raises:
        DataError: A line is not UTF-8, not JSON or not an object; the message names file and line.
    """
    for number, text in text_lines(path):
        if text.strip():
            yield number, json_object(f"{path}:{number}", text)


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


_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""The first bytes of new and old spreadsheet files."""


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


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read (number from 1, text) of each line of a file.

    Lines include their end; a byte-order mark is removed. A file whose name ends in `.gz` is decompressed.

    Raises:
        DataError: The file cannot be read or is not UTF-8; the message names the file and, if possible, the line.
    """
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            # decoded line by line, since a decoder that reads ahead cannot say where an invalid byte is
            for number, line in enumerate(file, 1):
                if number == 1 and line.startswith(_WORKBOOKS):
                    raise DataError(f"{path}:1: an Excel workbook, not text; export the sheet in the expected format")
                yield number, _decode(f"{path}:{number}", line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except (EOFError, zlib.error):
        raise DataError(f"{path}: the compressed file is truncated or damaged") from None


def _decode(where: str, line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 ({error.reason})") from None


def json_object(where: str, text: str) -> Row:
    """Parse a line as a JSON object.

    Args:
        where: File and line, for error messages.
        text: The line.

    Raises:
        DataError: It is not a JSON object.
    """
    try:
        row = json.loads(text.rstrip())
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not JSON ({error.msg.removesuffix(' at')} at column {error.colno})") from None
    except RecursionError:
        raise DataError(f"{where}: JSON nested too deeply") from None
    except ValueError:
        # Python refuses to parse integers of more than 4,300 digits
        raise DataError(f"{where}: contains a number with too many digits") from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: expected a JSON object, found {type(row).__name__}")
    return row


def require_fields(row: Row, fields: Mapping[str, type]) -> None:
    """Raise ValueError unless the row has all fields with the right types."""
    for field, type_ in fields.items():
        if field not in row:
            raise ValueError(f"field {field!r} is missing (has {', '.join(map(repr, row)) or 'none'})")
        if not isinstance(row[field], type_):
            raise ValueError(f"field {field!r} is {type(row[field]).__name__}, expected {type_.__name__}")


def require_text(row: Row, *fields: str) -> None:
    """Raise ValueError unless each field is a non-blank string of valid Unicode."""
    for field in fields:
        value = row[field]
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"field {field!r} is empty")
        with contextlib.suppress(UnicodeEncodeError):
            value.encode()
            continue
        raise ValueError(f"field {field!r} contains a lone surrogate, which is not valid Unicode")


def text_id(*texts: str) -> str:
    """Make an id from strings, for rows that have none."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def with_ids(rows: Iterable[Row], *fields: str) -> Iterator[tuple[str, Row]]:
    """Pair each row with an id made from its text, for published rows that have none.

    Ids do not depend on the order of the rows. A repeated row gets a number appended to its id.

    Args:
        rows: The rows.
        *fields: The fields that ids are made from.
    """
    seen: Counter[str] = Counter()
    for row in rows:
        id = text_id(*(str(row[field]) for field in fields))
        seen[id] += 1
        yield (id if seen[id] == 1 else f"{id}-{seen[id]}"), row
