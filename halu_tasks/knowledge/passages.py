"""Reading users' knowledge files as passages: JSON Lines, or text files that are split here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.data.rows import Row, json_lines, require_fields, require_text, text_lines
from halu_tasks.text.tokens import SPACELESS

_ROWS = (".jsonl", ".jsonl.gz")
_TEXTS = (".txt", ".md")
_SUPPORTED = f"supported are files ending in {', '.join(_ROWS + _TEXTS)}"
_TEXT_FIELDS = ("text", "contents")
_ID_FIELDS = ("id", "_id")

_LONGEST = 200
"""Maximum number of words of a passage that a text is split into."""
# a word, two characters of a script without spaces, or a part of a string longer than any word
_UNIT = re.compile(rf"[{SPACELESS}]{{1,2}}|[^\s{SPACELESS}]{{1,40}}")
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥][\"'”’»)\]]*\s+|[。！？；][”’」』）]*|\n+")
_HEADING = re.compile(r"#{1,6}\s.{0,100}\n*")


class Snippet(NamedTuple):
    """A passage, or another text that was looked up.

    Attributes:
        id: What identifies it.
        title: The title; may be empty.
        text: The text; may be empty.
        score: For the result of a search, its BM25 score for the query.
    """

    id: str
    title: str
    text: str
    score: float = 0.0


def named_files(named: Path) -> dict[str, Path]:
    """List the files to read, sorted by the name that they have in ids.

    Hidden files and files of other kinds are ignored.

    Args:
        named: A file, or a folder that is searched recursively.

    Raises:
        DataError: It does not exist, cannot be read, or contains no supported file.
    """
    try:
        named.stat()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise DataError(f"knowledge {str(named)!r} {reason}; {_SUPPORTED}, and folders of them") from None
    if not named.is_dir():
        if not _is_kind(named, _ROWS + _TEXTS):
            raise DataError(f"{named}: cannot be read as knowledge; {_SUPPORTED}")
        return {named.name: named}
    files = {
        path.relative_to(named).as_posix(): path
        for path in named.rglob("*")
        if _is_kind(path, _ROWS + _TEXTS) and path.is_file()
    }
    visible = {name: files[name] for name in sorted(files) if "/." not in f"/{name}"}
    if not visible:
        raise DataError(f"{named}: contains no file that can be read as knowledge; {_SUPPORTED}")
    return visible


def _is_kind(path: Path, endings: tuple[str, ...]) -> bool:
    return path.name.lower().endswith(endings)


def read_passages(files: Mapping[str, Path]) -> Iterator[Snippet]:
    """Read the passages of files, in order, each with a unique id.

    Raises:
        DataError: A row has no text, an id is repeated, or a file cannot be read.
    """
    seen: set[str] = set()
    for name, path in files.items():
        rows = _is_kind(path, _ROWS)
        for number, passage in _rows(name, path) if rows else _parts(name, path):
            if passage.id in seen:
                where = f"{path}:{number}" if rows else f"{path}, passage {number}"
                raise DataError(f"{where}: duplicate id {passage.id!r}; every passage needs a unique id")
            seen.add(passage.id)
            yield passage


def _rows(name: str, path: Path) -> Iterator[tuple[int, Snippet]]:
    """Read (line, passage) of each row of a JSON Lines file."""
    for number, row in json_lines(path):
        try:
            yield number, _passage(row, f"{name}#{number}")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None


def _passage(row: Row, default_id: str) -> Snippet:
    """Convert a row to a passage, with `default_id` if the row has no id.

    Blank texts, which some published corpora contain, are allowed; no search finds them.

    Raises:
        ValueError: The row is invalid; the message says why.
    """
    # an id may be a number, and null means missing
    values = {
        field: str(value) if field in _ID_FIELDS and type(value) is int else value
        for field, value in row.items()
        if value is not None
    }
    text = next((field for field in _TEXT_FIELDS if field in values), _TEXT_FIELDS[0])
    id = next((field for field in _ID_FIELDS if field in values), _ID_FIELDS[0])
    used = [field for field in (id, "title") if field in values]
    require_fields(values, dict.fromkeys([text, *used], str))
    require_text(values, *(field for field in (text, *used) if field == id or values[field].strip()))
    return Snippet(values.get(id, default_id), values.get("title", ""), values[text])


def _parts(name: str, path: Path) -> Iterator[tuple[int, Snippet]]:
    """Read (number, passage) of each passage that a text is split into."""
    for number, text in enumerate(split(line for _, line in text_lines(path)), 1):
        yield number, Snippet(f"{name}#{number}", "", text)


# --- splitting texts ----------------------------------------------------------------------------


def split(lines: Iterable[str]) -> Iterator[str]:
    """Split a text into passages of at most about 200 words.

    Only white space is lost. Passages end at the end of a paragraph; paragraphs that are too long are split after a
    sentence, or, if need be, after a word. Consecutive short paragraphs share a passage, and a Markdown heading stays
    with the text below it.
    """
    passage: list[str] = []
    length = 0
    for piece in _pieces(lines):
        size = _length(piece)
        if passage and length + size > _LONGEST:
            heading = [passage.pop()] if _HEADING.fullmatch(passage[-1]) else []
            if passage:
                yield "".join(passage).strip()
            passage, length = heading, sum(map(_length, heading))
        passage.append(piece)
        length += size
    if passage:
        yield "".join(passage).strip()


def _length(text: str) -> int:
    return sum(1 for _ in _UNIT.finditer(text))


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """Split lines into paragraphs, and long paragraphs into pieces, each with the white space that follows it."""
    for paragraph in _paragraphs(lines):
        if _length(paragraph) <= _LONGEST:
            yield paragraph
            continue
        begin = 0
        for end in (*(match.end() for match in _SENTENCE_END.finditer(paragraph)), len(paragraph)):
            sentence = paragraph[begin:end]
            cuts = [unit.start() for number, unit in enumerate(_UNIT.finditer(sentence)) if number % _LONGEST == 0]
            for start, stop in zip([0, *cuts[1:]], [*cuts[1:], len(sentence)], strict=True):
                yield sentence[start:stop]
            begin = end


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Split lines into paragraphs at blank lines; each paragraph ends with a blank line."""
    paragraph: list[str] = []
    for line in lines:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            yield "\n".join(paragraph) + "\n\n"
            paragraph = []
    if paragraph:
        yield "\n".join(paragraph) + "\n\n"
