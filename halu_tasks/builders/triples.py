"""Facts as a pipeline's input: triples of a knowledge graph, and texts that state a fact, in files and folders."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from halu_tasks.data import Row, json_lines, require_text, text_lines
from halu_tasks.errors import DataError

_TABLES = {".csv": ",", ".tsv": "\t"}


class Triple(NamedTuple):
    """A fact of a knowledge graph."""

    head: str
    relation: str
    tail: str


class Files(NamedTuple):
    """The files that a path names, by what they hold; `texts` are files of JSON Lines, or a folder of `.txt` ones."""

    triples: tuple[Path, ...]
    texts: tuple[Path, ...]


def files_of(path: Path) -> Files:
    """What a file or folder holds. In a folder `triples.*` are triples; its other `.jsonl` and its `.txt` and `.md`
    files are texts. A file is told by its name's end (`.tsv`, `.csv`) or by the fields of its first row.

    Raises:
        DataError: there is nothing of either kind, or the first row is of neither.
    """
    if not path.is_dir():
        return Files((path,), ()) if _holds_triples(path) else Files((), (path,))
    triples = tuple(sorted(file for file in path.glob("triples.*") if file.is_file()))
    if unknown := [file for file in triples if file.stat().st_size and not _holds_triples(file)]:
        raise DataError(
            f"{unknown[0]}: its rows have no fields head, relation and tail; name a file of texts otherwise"
        )
    texts = sorted({file for end in ("*.jsonl", "*.jsonl.gz") for file in path.glob(end)} - set(triples))
    if any(file.suffix in (".txt", ".md") and file.is_file() for file in path.rglob("*")):
        texts.append(path)
    if not triples and not texts:
        raise DataError(f"{path}: holds neither triples.* nor .jsonl, .txt or .md files of texts")
    return Files(triples, tuple(texts))


def _holds_triples(path: Path) -> bool:
    if _table_of(path):
        return True
    for line, row in json_lines(path):
        if "text" in row:
            return False
        if "head" in row or "tail" in row:
            return True
        raise DataError(f"{path}:{line}: neither a triple (head, relation, tail) nor a text (id, text)")
    return False


def _table_of(path: Path) -> str | None:
    """The mark between the columns of a table; None where the file is none."""
    return _TABLES.get(Path(path.name.removesuffix(".gz")).suffix.lower())


def read_triples(path: Path) -> Iterator[Triple]:
    """The triples of a file of JSON Lines, or of a table of three columns whose first row may name them.

    Raises:
        DataError: naming file and line, at the first row that is no triple.
    """
    mark = _table_of(path)
    for line, row in _of_table(path, mark) if mark else json_lines(path):
        try:
            yield triple_of(row)
        except ValueError as error:
            raise DataError(f"{path}:{line}: {error}") from None


def triple_of(row: Row) -> Triple:
    """A row as a triple, white space at its ends and runs of it taken off. Raises ValueError where it is none."""
    for name in Triple._fields:
        if name not in row:
            raise ValueError(f"field {name!r} is missing")
        if isinstance(row[name], int | float) and not isinstance(row[name], bool):
            row = {**row, name: str(row[name])}
    require_text(row, *Triple._fields)
    return Triple(*(" ".join(row[name].split()) for name in Triple._fields))


def _of_table(path: Path, mark: str) -> Iterator[tuple[int, Row]]:
    lines = (text for _, text in text_lines(path))
    # what a tab-separated file puts in quotes is meant to have them
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if mark == "," else csv.QUOTE_NONE
    rows = csv.reader(lines, delimiter=mark, quoting=quoting, strict=True)
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
        raise DataError(f"{path}:{begin}: not a table ({str(error).partition(' - ')[0]})") from None


def all_triples(paths: tuple[Path, ...]) -> list[Triple]:
    """The triples of files, sorted and each once: held in memory, as a graph has to be."""
    return sorted(set(chain.from_iterable(map(read_triples, paths))))
