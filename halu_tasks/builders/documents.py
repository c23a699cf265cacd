"""The documents that pipelines work on: reading them, refusing unsuitable ones, and their order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.data.rows import Row, json_lines, require_text
from halu_tasks.text.folding import language_of

_LETTER = re.compile(r"[^\W\d_]")
_END = re.compile(r"[.!?。！？؟…।]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SHORTEST = 20
"""Minimum number of letters of a document; shorter ones contain no fact."""
_LONGEST_ID = 10_000
"""Maximum length of an id in bytes; ids become file names inside logs, which are archives."""
_SURE = 200
"""Minimum number of letters for the language of a text to be detected reliably."""

NO_LICENCE = "unknown"
"""The licence of a document that does not state one."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document to make items of.

    Attributes:
        id: Unique within the corpus; a document's items depend only on its id and text.
        text: The text itself.
        fields: The other fields of its row: `title`, `source` and `licence` for the card, and those a pipeline uses.
    """

    id: str
    text: str
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def licence(self) -> str:
        """The licence stated in the field `licence` or `license`; `unknown` if there is none."""
        stated = self.fields.get("licence") or self.fields.get("license")
        return " ".join(stated.split()) if isinstance(stated, str) and stated.strip() else NO_LICENCE

    def as_row(self) -> Row:
        """Return the document as a row of JSON Lines, which `document_of` reads."""
        return {"id": self.id, "text": self.text, **self.fields}


def read_documents(path: Path) -> Iterator[Document]:
    """Read documents one at a time.

    Args:
        path: A JSON Lines file (`id`, `text` and any other fields), or a folder of `.txt` and `.md` files, whose ids
            are their paths relative to the folder.

    Yields:
        The documents; only the current one is held in memory.

    Raises:
        DataError: Nothing was found, a row is invalid, or a file is not UTF-8; the message names file and line.
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in (".txt", ".md") and file.is_file())
        if not files:
            raise DataError(f"{path}: contains no .txt or .md files")
        for file in files:
            try:
                text = file.read_text(encoding="utf-8-sig")
            except (OSError, ValueError) as error:
                raise DataError(f"{file}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
            id = file.relative_to(path).as_posix()
            try:
                _check_id(id)
            except ValueError as error:
                raise DataError(f"{str(file)!r}: {error}") from None
            yield Document(id, text, {"title": file.stem})
        return
    for line, row in json_lines(path):
        try:
            yield document_of(row)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}:{line}: {error}") from None


def document_of(row: Row) -> Document:
    """Convert a row to a document.

    Raises:
        ValueError: `id` or `text` is missing or invalid.
    """
    for name in ("id", "text"):
        if name not in row:
            raise ValueError(f"field {name!r} is missing")
    id = str(row["id"]) if isinstance(row["id"], int) else row["id"]
    _check_id(id)
    if not isinstance(row["text"], str):
        raise ValueError(f"field 'text': expected a string, got {type(row['text']).__name__}")
    return Document(id, row["text"], {key: value for key, value in row.items() if key not in ("id", "text")})


def _check_id(id: str) -> None:
    require_text({"id": id}, "id")
    # file names in archives end at a NUL character, so two documents could become one
    if "\0" in id:
        raise ValueError("field 'id' contains a NUL character")
    if len(id.encode()) > _LONGEST_ID:
        raise ValueError(f"field 'id' is longer than {_LONGEST_ID:,} bytes")


def refusal(
    document: Document, language: str | None, max_chars: int, shortest: int = _SHORTEST
) -> tuple[str, str] | None:
    """Return why a document cannot be used; None if it can.

    Args:
        document: The document to check.
        language: The expected language (ISO 639-1); None skips the check.
        max_chars: Maximum length in characters.
        shortest: Minimum number of letters.

    Returns:
        A reason, which is counted, and a detail. Documents are refused if they are too long, contain lone surrogates,
        have fewer than `shortest` letters or no end of a sentence, or seem to be in another language.
    """
    text = document.text
    if len(text) > max_chars:
        return "too long", f"{len(text)} characters, more than max_chars={max_chars}; split it or raise the limit"
    if _SURROGATE.search(text):
        return "invalid characters", "a lone surrogate"
    letters = len(_LETTER.findall(text))
    if letters < shortest or not _END.search(text):
        return "no sentence", f"{letters} letters and {len(_END.findall(text))} ends of sentences"
    if language is not None and letters >= _SURE and (detected := language_of(text)) != language:
        return "another language", f"looks like {detected!r}, expected {language!r}"
    return None


def place(id: str) -> str:
    """Return a document's sort key: the sha256 of its id, in hex, which no listing of documents can change."""
    return stable_hash(id)


def in_order(documents: Iterable[Document]) -> list[Document]:
    """Sort documents by `place`.

    Raises:
        DataError: Two documents have the same id.
    """
    ordered = sorted(documents, key=lambda document: place(document.id))
    if twice := next((one.id for one, other in itertools.pairwise(ordered) if one.id == other.id), None):
        raise DataError(f"two documents have the id {twice!r}; ids must be unique")
    return ordered
