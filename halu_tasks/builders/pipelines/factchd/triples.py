"""Reading facts from files and folders: triples of a knowledge graph, and text facts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.data.rows import Row, json_lines, require_text, text_lines

_TABLES = {".csv": ",", ".tsv": "\t"}


class Triple(NamedTuple):
    """A fact of a knowledge graph."""

    head: str
    relation: str
    tail: str


class Files(NamedTuple):
    """The files of a path by content.

    Attributes:
        triples: Files of triples.
        texts: JSON Lines files of texts, or a folder of `.txt` and `.md` files.
    """

    triples: tuple[Path, ...]
    texts: tuple[Path, ...]


def files_of(path: Path) -> Files:
    """Find the files of triples and of texts.

    In a folder, `triples.*` are triples; other `.jsonl` files, and `.txt` and `.md` files, are texts. The content of a
    single file is determined by its suffix (`.tsv`, `.csv`) or by the fields of its first row.

    Raises:
        DataError: There are no files of either kind, or a first row is neither a triple nor a text.
    """
    if not path.is_dir():
        return Files((path,), ()) if _holds_triples(path) else Files((), (path,))
    triples = tuple(sorted(file for file in path.glob("triples.*") if file.is_file()))
    if unknown := [file for file in triples if file.stat().st_size and not _holds_triples(file)]:
        raise DataError(
            f"{unknown[0]}: its rows lack the fields head, relation and tail; rename it if it contains texts"
        )
    texts = sorted({file for end in ("*.jsonl", "*.jsonl.gz") for file in path.glob(end)} - set(triples))
    if any(file.suffix in (".txt", ".md") and file.is_file() for file in path.rglob("*")):
        texts.append(path)
    if not triples and not texts:
        raise DataError(f"{path}: contains neither triples.* nor .jsonl, .txt or .md files of texts")
    return Files(triples, tuple(texts))


def _holds_triples(path: Path) -> bool:
    """Whether a file contains triples rather than texts."""
    if _table_of(path):
        return True
    for line, row in json_lines(path):
        if "text" in row:
            return False
        if "head" in row or "tail" in row:
            return True
        raise DataError(f"{path}:{line}: expected a triple (head, relation, tail) or a text (id, text)")
    return False


def _table_of(path: Path) -> str | None:
    """Return the delimiter of a table's columns; None if the file is not a table."""
    return _TABLES.get(Path(path.name.removesuffix(".gz")).suffix.lower())


def read_triples(path: Path) -> Iterator[Triple]:
    """Read triples from JSON Lines, or from a table of three columns with an optional header.

    Raises:
        DataError: A row is not a triple; the message names file and line.
    """
    delimiter = _table_of(path)
    for line, row in _of_table(path, delimiter) if delimiter else json_lines(path):
        try:
            yield triple_of(row)
        except ValueError as error:
            raise DataError(f"{path}:{line}: {error}") from None


def triple_of(row: Row) -> Triple:
    """Convert a row to a triple, normalizing white space.

    Raises:
        ValueError: A field is missing, empty or not a string.
    """
    for name in Triple._fields:
        if name not in row:
            raise ValueError(f"field {name!r} is missing")
        if isinstance(row[name], int | float) and not isinstance(row[name], bool):
            row = {**row, name: str(row[name])}
    require_text(row, *Triple._fields)
    return Triple(*(" ".join(row[name].split()) for name in Triple._fields))


def _of_table(path: Path, delimiter: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a table with their line numbers."""
    lines = (text for _, text in text_lines(path))
    # quotation marks in tab-separated files are part of the text
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    names = list(Triple._fields)
    begin = 1
    try:
        for cells in rows:
            line, begin = begin, rows.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(names):
                raise DataError(f"{path}:{line}: row has {len(cells)} cells for {len(names)} columns")
            if line == 1 and sorted(cell.strip().casefold() for cell in cells) == sorted(names):
                names = [cell.strip().casefold() for cell in cells]
                continue
            yield line, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}:{begin}: cannot be read as a table ({str(error).partition(' - ')[0]})") from None


def all_triples(paths: tuple[Path, ...]) -> list[Triple]:
    """Read the different triples of files, sorted. They are held in memory, as graphs need them all."""
    return sorted(set(chain.from_iterable(map(read_triples, paths))))
