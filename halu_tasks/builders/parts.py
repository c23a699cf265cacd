"""A corpus in parts: by the hash of a document's id, so that a part is the same whoever works on it, and in which
order documents are listed does not matter."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.errors import DataError, UsageError

_BITS = 64
_BUFFERED = 8 << 20
"""Characters of documents that are held before they are written to their parts."""


class Part(NamedTuple):
    """One of `of` equal ranges of hashes, counted from 0."""

    number: int
    of: int

    @staticmethod
    def named(text: str) -> Part:
        """The part that `number/of` names. Raises UsageError where it names none."""
        number, slash, of = str(text).partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and int(number) < int(of)):
            raise UsageError(f"{text!r} names no part; write 0/4 for the first of four")
        return Part(int(number), int(of))

    def holds(self, id: str) -> bool:
        return part_of(id, self.of) == self.number


def place(id: str) -> str:
    """Where a document stands in the order of all: the sha256 of its id, in hex."""
    return hashlib.sha256(id.encode()).hexdigest()


def part_of(id: str, parts: int) -> int:
    """The part, of `parts` equal ranges of hashes, that a document falls into."""
    return int(place(id)[: _BITS // 4], 16) * parts >> _BITS


def split(documents: Iterable[Document], folder: Path, parts: int) -> int:
    """Write each document to its part's file in `folder` (`00000.jsonl` and so on), each in the order of all. Returns
    the number of documents.

    Holds a few million characters and one part at a time in memory; `folder` appears when it is whole.

    Raises:
        DataError: two documents have one id, or the files cannot be written.
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
    return f"{number:05}.jsonl"


def _spread(documents: Iterable[Document], folder: Path, parts: int) -> int:
    waiting: dict[int, list[str]] = {}
    count = size = 0
    for document in documents:
        # JSON escapes make a line of it, whatever the text holds, halves of characters included
        line = json.dumps({"id": document.id, "text": document.text, **document.fields})
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
        raise DataError(f"two documents have the id {twice!r}; ids must differ")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line for _, line in rows)


def in_order(documents: Iterable[Document]) -> list[Document]:
    """Documents in the order of all. Raises DataError where two have one id."""
    found = sorted(documents, key=lambda document: place(document.id))
    ids = [document.id for document in found]
    if twice := next((id for id, other in itertools.pairwise(ids) if id == other), None):
        raise DataError(f"two documents have the id {twice!r}; ids must differ")
    return found


def of_part(documents: Iterable[Document], part: str | None) -> Iterator[Document]:
    """The documents of a part, all where none is named. Raises UsageError where `part` names none."""
    wanted = Part.named(part) if part else None
    return (document for document in documents if wanted is None or wanted.holds(document.id))


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a build folder. Raises DataError where it is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise DataError(f"{path}: is no JSON") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: holds no JSON object")
    return found
