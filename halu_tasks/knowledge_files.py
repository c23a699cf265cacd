"""What a user names as knowledge, read as passages: JSON Lines, or texts that are split here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from halu_tasks.data import Row, json_lines, require_fields, require_text, text_lines
from halu_tasks.errors import DataError
from halu_tasks.words import SPACELESS

_ROWS = (".jsonl", ".jsonl.gz")
_TEXTS = (".txt", ".md")
_READ = f"what is read are files ending in {', '.join(_ROWS + _TEXTS)}"
_TEXT_FIELDS = ("text", "contents")
_ID_FIELDS = ("id", "_id")

_LONGEST = 200
"""Words of a passage that is made here."""
# a word, two characters of a script without spaces, or a part of something longer than any word
_UNIT = re.compile(rf"[{SPACELESS}]{{1,2}}|[^\s{SPACELESS}]{{1,40}}")
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥][\"'”’»)\]]*\s+|[。！？；][”’」』）]*|\n+")
_HEADING = re.compile(r"#{1,6}\s.{0,100}\n*")


class Read(NamedTuple):
    """A passage as it was read; the title is empty where there is none."""

    id: str
    text: str
    title: str


def named_files(named: Path) -> dict[str, Path]:
    """The files to read, by the name that they have in ids, in the order of these names: the file that is
    named, or those in the folder that is named and in the folders in it. Hidden ones, and files of other
    kinds, are passed over.

    Raises:
        DataError: it does not exist, cannot be read, or holds no file of a kind that is read.
    """
    try:
        named.stat()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise DataError(f"knowledge {str(named)!r} {reason}; {_READ}, and folders of them") from None
    if not named.is_dir():
        if not _is_kind(named, _ROWS + _TEXTS):
            raise DataError(f"{named}: cannot be read as knowledge; {_READ}")
        return {named.name: named}
    found = {
        path.relative_to(named).as_posix(): path
        for path in named.rglob("*")
        if _is_kind(path, _ROWS + _TEXTS) and path.is_file()
    }
    visible = {name: found[name] for name in sorted(found) if "/." not in f"/{name}"}
    if not visible:
        raise DataError(f"{named}: holds no file that can be read as knowledge; {_READ}")
    return visible


def _is_kind(path: Path, endings: tuple[str, ...]) -> bool:
    return path.name.lower().endswith(endings)


def read_passages(files: Mapping[str, Path]) -> Iterator[Read]:
    """The passages of the files, in their order, each with an id of its own.

    Raises:
        DataError: naming file, line and reason: a row without text, an id that occurs again, or a file that
            cannot be read.
    """
    seen: set[str] = set()
    for name, path in files.items():
        rows = _is_kind(path, _ROWS)
        for number, passage in _rows(name, path) if rows else _parts(name, path):
            if passage.id in seen:
                where = f"{path}:{number}" if rows else f"{path}, passage {number}"
                raise DataError(f"{where}: id {passage.id!r} occurs a second time; every passage needs its own")
            seen.add(passage.id)
            yield passage


def _rows(name: str, path: Path) -> Iterator[tuple[int, Read]]:
    """(line, passage) of each row of a JSON Lines file."""
    for number, row in json_lines(path):
        try:
            yield number, _passage(row, f"{name}#{number}")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None


def _passage(row: Row, otherwise: str) -> Read:
    """The passage of a row, with the id `otherwise` if it has none. A blank text is one that no search finds:
    published corpora hold some. Raises ValueError with the reason when the row is bad."""
    # an id may be a number, and what is null is not there
    given = {
        field: str(value) if field in _ID_FIELDS and type(value) is int else value
        for field, value in row.items()
        if value is not None
    }
    text = next((field for field in _TEXT_FIELDS if field in given), _TEXT_FIELDS[0])
    id = next((field for field in _ID_FIELDS if field in given), _ID_FIELDS[0])
    used = [field for field in (id, "title") if field in given]
    require_fields(given, dict.fromkeys([text, *used], str))
    require_text(given, *(field for field in (text, *used) if field == id or given[field].strip()))
    return Read(given.get(id, otherwise), given[text], given.get("title", ""))


def _parts(name: str, path: Path) -> Iterator[tuple[int, Read]]:
    """(number, passage) of each passage that a text is split into."""
    for number, text in enumerate(split(line for _, line in text_lines(path)), 1):
        yield number, Read(f"{name}#{number}", text, "")


# --- splitting texts ----------------------------------------------------------------------------


def split(lines: Iterable[str]) -> Iterator[str]:
    """Passages of at most about 200 words, which hold all of the text but some white space. They end where a
    paragraph does, or, in one that is too long, a sentence or at worst a word. Short paragraphs that follow
    each other share a passage; a Markdown heading goes with what it is the heading of."""
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
    """Paragraphs, and what paragraphs too long for one passage are divided into, each with the white space
    behind it."""
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
    """The paragraphs that blank lines divide, each with a blank line behind it."""
    paragraph: list[str] = []
    for line in lines:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            yield "\n".join(paragraph) + "\n\n"
            paragraph = []
    if paragraph:
        yield "\n".join(paragraph) + "\n\n"
