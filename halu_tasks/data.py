"""Data: one way from a name to validated rows, for every benchmark.

The order is: what the user named, else `HALU_TASKS_DATA`, else the pinned source (downloaded once,
verified, cached). The packaged sample is used only when it is asked for by the word `sample`.
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
"""Reads a file as rows, each with the number of the line that it begins in."""
Kind = Literal["pinned", "extract", "sample", "local"]
SAMPLE = Path(__file__).parent / "sample"
HOW_TO_NAME = (
    "name a local copy with halu_data=PATH (lm-eval --metadata), -T data=PATH (Inspect), --data PATH "
    "(halu-tasks) or HALU_TASKS_DATA=PATH, or the word sample for the packaged sample"
)


@dataclass(frozen=True)
class Located:
    """A file that rows are read from. `kind` says what a result on it is worth: `pinned` data are the
    published ones, byte for byte where a checksum is known; `extract` are published rows too, but only some
    of the benchmark's; `sample` is the packaged sample; `local` is whatever the user named."""

    path: Path
    kind: Kind
    sha256: str


def cache_folder() -> Path:
    """Where downloads and verdicts are kept: `HALU_TASKS_CACHE`, else `halu-tasks` in the user's cache."""
    if named := os.environ.get("HALU_TASKS_CACHE"):
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "halu-tasks"


def cached_path(source: Source, name: str) -> Path:
    return cache_folder() / "data" / source.name / source.revision[:25] / name


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex. Raises DataError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def locate(source: Source, name: str, data: str | None = None) -> Located:
    """The file `name` of `source`, from what the user named or from the pinned source.

    Raises:
        DataError: it is not there and cannot be fetched, or its checksum is not the published one.
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
        found = sha256_of(path)
        kind: Kind = "pinned" if found == file.sha256 else "extract" if found in file.extracts else "local"
        return Located(path, kind, found)
    path = cached_path(source, name)
    if not path.is_file() or source.file(name).url is None:
        from halu_tasks.download import fetch

        fetch(source, name)
    return Located(path, "pinned", verify(source, name, path))


def verify(source: Source, name: str, path: Path) -> str:
    """The sha256 of `path`, which must be the published one where that is known.

    Raises:
        DataError: it is another; both sums are named and the file is not used.
    """
    found = sha256_of(path)
    published = source.file(name).sha256
    if published and found != published:
        raise DataError(
            f"{path}: sha256 is {found}, published is {published}; delete the file and fetch it again "
            f"(halu-tasks data fetch {source.name})"
        )
    return found


def _named_file(source: Source, name: str, named: Path) -> Path:
    try:
        named.stat()
    except OSError as error:
        # nothing there, or a name that no file can have
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise DataError(f"{source.title}: data {str(named)!r} {reason}; {HOW_TO_NAME}") from None
    if named.is_file():
        others = [known for file in source.files if file.name != name for known in file.names]
        if any(named.match(known) for known in others):
            raise DataError(f"{named}: this task reads {name}, not {named.name}; name the folder that holds both")
        return named
    if found := in_folder(source, name, named):
        return found
    also = [known for known in source.file(name).names if known != name]
    others_named = f" (or {', '.join(also)} for it)" if also else ""
    raise DataError(f"{source.title}: {named} holds neither {name} nor {source.name}/{name}{others_named}")


def in_folder(source: Source, name: str, folder: Path) -> Path | None:
    """The file `name` of `source`, under that name or another it goes by, in a folder of the benchmark's files
    or a root of such folders; None where there is none.

    Raises:
        DataError: several files may be it.
    """
    for place in (folder, folder / source.name):
        for known in source.file(name).names:
            # the lock files that spreadsheet programs leave begin with ~
            found = [path for path in place.glob(known) if path.is_file() and path.name[0] not in "~."]
            if len(found) > 1:
                listed = ", ".join(sorted(path.name for path in found))
                raise DataError(
                    f"{source.title}: {found[0].parent} holds several files for {name} ({listed}); name one"
                )
            if found:
                return found[0]
    return None


def is_sample(data: str | None) -> bool:
    """Whether what the user named is the packaged sample."""
    return (data or os.environ.get("HALU_TASKS_DATA")) == "sample"


def find_beside(source: Source, name: str, data: str | None) -> Path | None:
    """As `locate`, for a file that a task can do without: None where what the user named has it not, and for
    the packaged sample."""
    named = data or os.environ.get("HALU_TASKS_DATA")
    if named is None:
        return locate(source, name).path
    return None if is_sample(data) else in_folder(source, name, Path(named).expanduser())


# --- rows ---------------------------------------------------------------------------------------


def read_rows(path: Path, fields: Mapping[str, type], check: Callable[[Row], None], lines: Lines) -> Iterator[Row]:
    """The rows that `lines` reads, each with the fields and types of `fields` and passing `check`, which
    raises ValueError with the reason when a row is bad.

    Raises:
        DataError: naming file, line and reason, at the first bad row; no row is ever skipped.
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
        raise DataError(f"{path}: holds no rows")


def json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """(line number from 1, object) of each non-blank line; a byte-order mark and Windows line ends are
    read as the text they frame.

    Raises:
        DataError: naming file and line: not UTF-8, not JSON, not an object, or text that is not Unicode.
    """
    for number, text in text_lines(path):
        if text.strip():
            yield number, json_object(f"{path}:{number}", text)


def table_lines(path: Path, columns: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Row]]:
    """(number of the line it begins in, cells by column) of each row of a table whose first row names the
    columns: a CSV file, or the first sheet of a workbook where the file's name ends in `.xlsx`.

    `columns` are those that must be there, each with the other names that it may have; case, spaces and
    underscores make no difference. Further columns may be among them. Cells of a CSV file may hold line ends
    when quoted; blank lines are no rows.

    Raises:
        DataError: naming file and line: not UTF-8, not CSV, no workbook, a column that is missing or there
            twice, or a row with more or fewer cells than there are columns.
    """
    workbook = path.suffix.lower() == workbooks.SUFFIX
    rows = workbooks.workbook_cells(path) if workbook else _csv_cells(path)
    number, head = next(rows, (1, []))
    try:
        names = _named_columns([cell.strip() for cell in head], columns) if head else []
    except ValueError as error:
        raise DataError(f"{path}:{number}: {error}") from None
    for number, cells in rows:
        # a workbook does not keep the empty cells at a row's end
        cells += [""] * (len(names) - len(cells)) if workbook else []
        if len(cells) != len(names):
            raise DataError(f"{path}:{number}: row has {len(cells)} cells for {len(names)} columns")
        yield number, dict(zip(names, cells, strict=True))


def _named_columns(head: list[str], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of the columns, those of `columns` under the name that they have there."""
    keys = [_column_key(name) for name in head]
    names = list(head)
    for column, others in columns.items():
        accepted = [_column_key(name) for name in (column, *others)]
        found = [place for place, key in enumerate(keys) if key in accepted]
        if len(found) != 1:
            fault = "occurs more than once" if found else "is missing"
            also = f"; it may also be named {', '.join(others)}" if others else ""
            raise ValueError(f"column {column!r} {fault}{also} (has {', '.join(map(repr, head))})")
        names[found[0]] = column
    return names


def _column_key(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How the files of spreadsheet programs begin, new and old."""


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
    """(number from 1, text) of each line of a file, its end included, without a byte-order mark; a file whose
    name ends in `.gz` is unpacked.

    Raises:
        DataError: naming the file, and the line where one is at fault: it cannot be read or is not UTF-8.
    """
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            # decoded line by line, since a decoder that reads ahead cannot say where a bad byte stands
            for number, line in enumerate(file, 1):
                if number == 1 and line.startswith(_WORKBOOKS):
                    raise DataError(f"{path}:1: an Excel workbook, not text; export the sheet in the expected format")
                yield number, _decoded(f"{path}:{number}", line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except (EOFError, zlib.error):
        raise DataError(f"{path}: its compressed content is cut off or damaged") from None


def _decoded(where: str, line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 ({error.reason})") from None


def json_object(where: str, text: str) -> Row:
    """The JSON object that a line holds. Raises DataError, which names `where`, if it holds none."""
    try:
        row = json.loads(text.rstrip())
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not JSON ({error.msg.removesuffix(' at')} at column {error.colno})") from None
    except RecursionError:
        raise DataError(f"{where}: JSON nested too deeply") from None
    except ValueError:
        # what Python says of a whole number of more than 4,300 digits
        raise DataError(f"{where}: holds a number of too many digits") from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: expected a JSON object, found {type(row).__name__}")
    return row


def require_fields(row: Row, fields: Mapping[str, type]) -> None:
    """Raise ValueError unless the row has each field, of its type."""
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
        raise ValueError(f"field {field!r} holds a lone surrogate, which is not text")


def text_id(*texts: str) -> str:
    """An id made from texts, for rows that have none."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def with_ids(rows: Iterable[Row], *fields: str) -> Iterator[tuple[str, Row]]:
    """Each row with an id made from its text, where the published rows have none: the same whatever
    the order of the rows; a row that occurs again gets a number."""
    seen: Counter[str] = Counter()
    for row in rows:
        id = text_id(*(str(row[field]) for field in fields))
        seen[id] += 1
        yield (id if seen[id] == 1 else f"{id}-{seen[id]}"), row
