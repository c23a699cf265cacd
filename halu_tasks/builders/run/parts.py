"""Splitting a corpus into parts by the hashes of document ids.

The parts are the same in every process, and do not depend on the order in which documents are listed.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import stable_hash

_BITS = 64
_BUFFERED = 8 << 20
"""Characters of documents to hold before writing them to their parts."""


class Part(NamedTuple):
    """One of `of` equal ranges of hashes; `number` counts from 0."""

    number: int
    of: int

    @staticmethod
    def named(text: str) -> Part:
        """Parse `number/of`, for example `0/4`.

        Raises:
            UsageError: The string does not name a part.
        """
        number, slash, of = str(text).partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and int(number) < int(of)):
            raise UsageError(f"expected a part such as 0/4 (the first of four), got {text!r}")
        return Part(int(number), int(of))

    def holds(self, id: str) -> bool:
        """Whether the document with this id belongs to the part."""
        return part_of(id, self.of) == self.number


def place(id: str) -> str:
    """Return a document's sort key: the sha256 of its id, in hex."""
    return stable_hash(id)


def part_of(id: str, parts: int) -> int:
    """Return which of `parts` equal ranges of hashes a document belongs to."""
    return int(place(id)[: _BITS // 4], 16) * parts >> _BITS


def split(documents: Iterable[Document], folder: Path, parts: int) -> int:
    """Write each document to the file of its part (`00000.jsonl` and so on), sorted by `place`.

    Holds a few million characters and one part at a time in memory; `folder` appears only when it is complete.

    Args:
        documents: The documents.
        folder: The folder to create.
        parts: The number of parts.

    Returns:
        The number of documents.

    Raises:
        DataError: Two documents have the same id, or a file cannot be written.
    """
    partial = folder.with_name(folder.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        count = _spread(documents, partial, parts)
        for number in range(parts):
            _sort(partial / part_name(number))
        partial.rename(folder)
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror or error}") from None
    return count


def part_name(number: int) -> str:
    """Return the name of a part's file."""
    return f"{number:05}.jsonl"


def _spread(documents: Iterable[Document], folder: Path, parts: int) -> int:
    waiting: dict[int, list[str]] = {}
    count = size = 0
    for document in documents:
        # JSON escapes keep any text on one line, lone surrogates included
        line = json.dumps(document.as_row())
        waiting.setdefault(part_of(document.id, parts), []).append(line)
        count, size = count + 1, size + len(line)
        if size > _BUFFERED:
            _write(waiting, folder)
            size = 0
    _write(waiting, folder)
    for number in range(parts):
        (folder / part_name(number)).touch()
    return count


def _write(waiting: dict[int, list[str]], folder: Path) -> None:
    for number, lines in waiting.items():
        with (folder / part_name(number)).open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in lines)
    waiting.clear()


def _sort(path: Path) -> None:
    rows: list[tuple[str, str]] = []
    with path.open(encoding="utf-8", newline="\n") as file:
        rows = [(str(json.loads(line)["id"]), line) for line in file]
    rows.sort(key=lambda row: place(row[0]))
    if twice := next((id for (id, _), (other, _) in itertools.pairwise(rows) if id == other), None):
        raise DataError(f"two documents have the id {twice!r}; ids must be unique")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line for _, line in rows)


def in_order(documents: Iterable[Document]) -> list[Document]:
    """Sort documents by `place`.

    Raises:
        DataError: Two documents have the same id.
    """
    in_place = sorted(documents, key=lambda document: place(document.id))
    ids = [document.id for document in in_place]
    if twice := next((id for id, other in itertools.pairwise(ids) if id == other), None):
        raise DataError(f"two documents have the id {twice!r}; ids must be unique")
    return in_place


def of_part(documents: Iterable[Document], part: str | None) -> Iterator[Document]:
    """Return the documents of a part such as `0/4`; all documents if `part` is None.

    Raises:
        UsageError: `part` does not name a part.
    """
    selected = Part.named(part) if part else None
    return (document for document in documents if selected is None or selected.holds(document.id))
