"""The documents that pipelines work on: reading them, refusing unsuitable ones, their order, and copies from them."""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import visible_files
from halu_tasks.core.hashing import stable_hash
from halu_tasks.data.rows import Row, json_lines, read_text, require_fields, require_text
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.ngrams import tokens
from halu_tasks.text.sentences import sentences
from halu_tasks.text.spans import occurrences

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


def read_documents(path: Path) -> Iterator[Document]:
    """Read documents one at a time.

    Args:
        path: A JSON Lines file (`id`, `text` and any other fields), or a folder of `.txt` and `.md` files, whose ids
            are their paths relative to the folder; hidden ones are left out.

    Yields:
        The documents; only the current one is held in memory.

    Raises:
        DataError: Nothing was found, a row is invalid, or a file is not UTF-8; the message names file and line.
    """
    rows = _texts(path) if path.is_dir() else ((f"{path}:{line}", row) for line, row in json_lines(path))
    for where, row in rows:
        try:
            yield document_of(row)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from None


def text_files(folder: Path) -> list[Path]:
    """Return the `.txt` and `.md` files of a folder, without hidden ones."""
    return [file for file in visible_files(folder) if file.suffix.lower() in (".txt", ".md")]


def _texts(folder: Path) -> Iterator[tuple[str, Row]]:
    """Yield the texts of a folder as rows, each with its place for error messages."""
    files = text_files(folder)
    if not files:
        raise DataError(f"{folder}: contains no .txt or .md files")
    for file in files:
        text = read_text(file).replace("\r\n", "\n")
        yield repr(str(file)), {"id": file.relative_to(folder).as_posix(), "text": text, "title": file.stem}


def document_of(row: Row) -> Document:
    """Convert a row to a document.

    Raises:
        ValueError: `id` or `text` is missing or invalid.
    """
    row = {**row, "id": str(row["id"])} if isinstance(row.get("id"), int) else row
    require_text(row, "id")
    require_fields(row, {"text": str})
    return Document(row["id"], row["text"], {key: value for key, value in row.items() if key not in ("id", "text")})


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


# --- what is copied from a document -----------------------------------------------------------------

_ENDS = ".!?…؟۔。！？।"
_CLOSERS = "\"'”’»›)]）」』"
# soft hyphens and directional marks; the joiners U+200C and U+200D are part of the spelling
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"))
_UNSEEN |= dict.fromkeys(range(0x2066, 0x206A))
_REFERENCE = re.compile(r"\[(?:\d{1,3}|[a-z])\]")
# one character for one character, so that offsets stay the same
_RETYPED = str.maketrans("’‘ʼ＇“”„«»‐‑–—", "''''" + '"' * 5 + "-" * 4)
_ENDED = re.compile(rf"[{_ENDS}][{re.escape(_CLOSERS)}]*\Z")
_MORE_ENDS = re.compile(rf"[{_ENDS}]+")
_GOES_ON = ",;،؛、，-–—(（[/&"
_LONGEST_SENTENCE = 2_000


def plain(text: str) -> str:
    """Normalize a text to form C, without reference marks ("[3]") and invisible characters.

    Lone surrogates become U+FFFD. Line ends are kept.
    """
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _REFERENCE.sub("", unicodedata.normalize("NFC", text.translate(_UNSEEN)))


def one_line(text: str) -> str:
    """Normalize a text with `plain`, and replace every run of white space with one space."""
    return " ".join(plain(text).split())


def sentence_count(text: str, language: str) -> int:
    """Return the number of sentences of a text, without reference marks."""
    return len(sentences(plain(text), language))


def words(text: str) -> list[str]:
    """Return the words of a text, folded; in Chinese and Japanese each character is a word."""
    return [token for token in tokens(text) if any(char.isalnum() for char in token)]


def ends_sentence(text: str) -> bool:
    """Whether a text ends in a mark that ends a sentence, possibly followed by closing quotes or brackets."""
    return bool(_ENDED.search(text))


class SourceText:
    """A document's text, prepared for finding many sentences in it.

    `text.spans.Text` locates strings as readers of replies need it: in the text as it is, in any case. A copied
    sentence must match in case, but white space may differ anywhere, as documents wrap lines even inside words of
    scripts without spaces, and reference marks are left out.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = plain(text)
        self._places = [place for place, char in enumerate(self.text) if not char.isspace()]
        self._compact = _compact(self.text)

    def holds(self, text: str) -> bool:
        """Whether the document contains a text, ignoring white space and the style of quotation marks and dashes."""
        compact = _compact(plain(text))
        return bool(compact) and compact in self._compact

    def sentence(self, text: str) -> Answer[str]:
        """Return a copied sentence as the document writes it, on one line, with the full stop the copy may lack.

        Otherwise the reason is `not in the document`, `part of a sentence` or `too long`.
        """
        if len(text) > _LONGEST_SENTENCE:
            return Answer(None, "too long")
        compact = _compact(plain(text))
        reason = "not in the document"
        for at in occurrences(self._compact, compact):
            start, end = self._places[at], self._places[at + len(compact) - 1] + 1
            if self._begins(start) and (end := self._end(start, end)):
                return Answer(" ".join(self.text[start:end].split()))
            reason = "part of a sentence"
        return Answer(None, reason)

    def _begins(self, start: int) -> bool:
        """Whether a sentence can begin here: not after a word or comma, unless a line ends between them."""
        before = self.text[max(start - 200, 0) : start]
        char = before.rstrip()[-1:]
        if not char or not (char.isalnum() or char in _GOES_ON):
            return True
        wrapped = "\n" in before[len(before.rstrip()) :]
        return wrapped and not self.text[start].islower()

    def _end(self, start: int, end: int) -> int:
        """Return where the sentence copied up to `end` ends; 0 if it continues."""
        if ends_sentence(self.text[start:end]):
            return end
        if more := _MORE_ENDS.match(self.text, end):
            return more.end()
        following = self.text[end : end + 200].lstrip(" \t\u00a0")
        return end if not following or following[0] in "\r\n\v\f\u2028\u2029\x85" else 0


def _compact(text: str) -> str:
    """Remove white space, and unify quotation marks and dashes."""
    return "".join(text.split()).translate(_RETYPED)
