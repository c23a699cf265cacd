"""Documents: what pipelines read, one after the other, and which of them they do not work on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halu_tasks.data import Row, json_lines, require_text
from halu_tasks.errors import DataError

_LETTER = re.compile(r"[^\W\d_]")
_END = re.compile(r"[.!?。！？؟…।]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SHORTEST = 20
"""Letters of the shortest document that can hold a fact and its sentence."""
_LONGEST_ID = 10_000
"""Bytes of the longest id: with it are named the files in logs, which are archives."""
_SURE = 200
"""Letters from which on the language of a text is told with some certainty."""


NO_LICENCE = "unknown"
"""What stands for the licence of a document that tells none."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that items are made of.

    Attributes:
        id: unique within the corpus; a document's items depend on it and on the text alone.
        text: the text itself.
        fields: what else its row holds: `title`, `source` and `licence` for the card, and what a pipeline asks for.
    """

    id: str
    text: str
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def licence(self) -> str:
        """What the document says of its licence, in a field `licence` or `license`; `unknown` where it says nothing."""
        named = self.fields.get("licence") or self.fields.get("license")
        return " ".join(named.split()) if isinstance(named, str) and named.strip() else NO_LICENCE


def read_documents(path: Path) -> Iterator[Document]:
    """The documents of a file of JSON Lines (`id`, `text`, and whatever else), or of a folder of `.txt` and `.md`
    files, whose ids are their paths within it. Nothing but the document at hand is held in memory.

    Raises:
        DataError: naming file and line: nothing there, a bad row, or bytes that are not UTF-8.
    """
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix in (".txt", ".md") and file.is_file())
        if not found:
            raise DataError(f"{path}: holds no .txt or .md files")
        for file in found:
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
    """A row as a document. Raises ValueError where it has no id or no text."""
    for name in ("id", "text"):
        if name not in row:
            raise ValueError(f"field {name!r} is missing")
    id = str(row["id"]) if isinstance(row["id"], int) else row["id"]
    _check_id(id)
    if not isinstance(row["text"], str):
        raise ValueError(f"field 'text' is {type(row['text']).__name__}, expected a text")
    return Document(id, row["text"], {key: value for key, value in row.items() if key not in ("id", "text")})


def _check_id(id: str) -> None:
    require_text({"id": id}, "id")
    # an archive's names end there, and two documents would be one
    if "\0" in id:
        raise ValueError("field 'id' holds a NUL character")
    if len(id.encode()) > _LONGEST_ID:
        raise ValueError(f"field 'id' is longer than {_LONGEST_ID:,} bytes")


def refusal(
    document: Document, language: str | None, max_chars: int, shortest: int = _SHORTEST
) -> tuple[str, str] | None:
    """Why a document is not worked on, as a reason that is counted and a detail; None where it is.

    It is not where it is too long, holds halves of characters, no sentence or fewer than `shortest` letters, or is of
    another language than `language`.
    """
    text = document.text
    if len(text) > max_chars:
        return "too long", f"{len(text)} characters, more than max_chars={max_chars}; split it or raise the limit"
    if _SURROGATE.search(text):
        return "characters that are no text", "a lone surrogate"
    letters = len(_LETTER.findall(text))
    if letters < shortest or not _END.search(text):
        return "no sentence", f"{letters} letters and {len(_END.findall(text))} ends of sentences"
    if language is not None and letters >= _SURE and (found := language_of(text)) != language:
        return "another language", f"looks like {found!r}, expected {language!r}"
    return None


def language_of(text: str) -> str:
    """The ISO 639-1 code of the language that a text is most likely in; varieties of Chinese are `zh`."""
    from py3langid.langid import classify  # it takes memory, and most commands do not need it

    found = str(classify(text[:5_000])[0])
    return "zh" if found in ("wuu", "yue", "lzh", "gan", "hak", "nan") else found
