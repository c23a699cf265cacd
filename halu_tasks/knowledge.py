"""Users' passages, from JSON Lines or text files that are split here, in an index for BM25 that is built once."""

import json
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from halu_tasks.core.errors import DataError, file_errors, require_extra
from halu_tasks.core.files import atomic_folder, visible_files
from halu_tasks.core.hashing import short_hash, stable_hash
from halu_tasks.data.cache import OTHER_CACHE, cache_folder, sha256_of
from halu_tasks.data.rows import Row, json_lines, read_text, require_fields, require_text
from halu_tasks.text.folding import SPACELESS, tokens

# version of how files are split and tokenized and how the index is stored; part of the index's key
_VERSION = "4"
_PASSAGES = "passages.parquet"
# characters of a query that are used; no real query is longer, but a model caught in a loop may produce one
_LONGEST_QUERY = 10_000

_ROWS = (".jsonl", ".jsonl.gz")
_ENDINGS = (*_ROWS, ".txt", ".md")
_SUPPORTED = f"supported are files ending in {', '.join(_ENDINGS)}"
_TEXT_FIELDS = ("text", "contents")
_ID_FIELDS = ("id", "_id")

# maximum number of words of a passage that a text is split into
_LONGEST = 200
# two characters of a script without spaces count as a word, and a long string as several
_WORD = re.compile(rf"[{SPACELESS}]{{1,2}}|[^\s{SPACELESS}]{{1,40}}")
_PIECE = re.compile(rf"(?>(?>{_WORD.pattern})\s*){{1,{_LONGEST}}}")


class Snippet(NamedTuple):
    """A passage, or another text that was looked up.

    Attributes:
        id: What identifies it.
        title: The title; may be empty.
        text: The text; may be empty.
    """

    id: str
    title: str
    text: str


def named_files(named: Path) -> dict[str, Path]:
    """List the files to read, sorted by the name that they have in ids.

    Hidden files and files of other kinds are ignored.

    Args:
        named: A file, or a folder that is searched recursively.

    Raises:
        DataError: It does not exist, cannot be read, or contains no supported file.
    """
    with file_errors(f"knowledge {str(named)!r}", f"; {_SUPPORTED}, and folders of them"):
        named.stat()
    if not named.is_dir():
        if not named.name.lower().endswith(_ENDINGS):
            raise DataError(f"{named}: cannot be read as knowledge; {_SUPPORTED}")
        return {named.name: named}
    files = [path for path in visible_files(named) if path.name.lower().endswith(_ENDINGS)]
    if not files:
        raise DataError(f"{named}: contains no file that can be read as knowledge; {_SUPPORTED}")
    return {path.relative_to(named).as_posix(): path for path in files}


def hash_of_files(files: Mapping[str, Path]) -> str:
    """Return a sha256 of the names and contents of files, which does not depend on where they are.

    Raises:
        DataError: A file cannot be read.
    """
    return stable_hash(json.dumps([[name, sha256_of(file)] for name, file in files.items()]))


def read_passages(files: Mapping[str, Path]) -> Iterator[Snippet]:
    """Read the passages of files, in order, each with a unique id.

    Raises:
        DataError: A row has no text, an id is repeated, or a file cannot be read.
    """
    seen: set[str] = set()
    for name, path in files.items():
        for where, passage in _read_file(name, path):
            if passage.id in seen:
                raise DataError(f"{where}: duplicate id {passage.id!r}; every passage needs a unique id")
            seen.add(passage.id)
            yield passage


def _read_file(name: str, path: Path) -> Iterator[tuple[str, Snippet]]:
    if not path.name.lower().endswith(_ROWS):
        for number, text in enumerate(split(read_text(path)), 1):
            yield f"{path}, passage {number}", Snippet(f"{name}#{number}", "", text)
        return
    for number, row in json_lines(path):
        try:
            yield f"{path}:{number}", _passage(row, f"{name}#{number}")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None


def _passage(row: Row, default_id: str) -> Snippet:
    """Convert a row to a passage; blank texts, which some published corpora contain, are found by no search."""
    values = {field: value for field, value in row.items() if value is not None}
    text = next((field for field in _TEXT_FIELDS if field in values), _TEXT_FIELDS[0])
    id = next((field for field in _ID_FIELDS if field in values), "")
    if type(values.get(id)) is int:
        values[id] = str(values[id])
    used = [field for field in (id, "title") if field in values]
    require_fields(values, dict.fromkeys([text, *used], str))
    require_text(values, *(field for field in (text, *used) if field == id or values[field].strip()))
    return Snippet(values.get(id, default_id), values.get("title", ""), values[text])


def split(text: str) -> Iterator[str]:
    """Split a text into passages of at most 200 words.

    Only white space is lost. Consecutive short paragraphs share a passage, and a paragraph that is too long is divided
    after every 200 words.
    """
    passage, length = "", 0
    for paragraph in re.split(r"\n\s*\n", text):
        for piece in _PIECE.findall(paragraph.strip()):
            size = len(_WORD.findall(piece))
            if passage and length + size > _LONGEST:
                yield passage
                passage, length = "", 0
            passage = f"{passage}\n\n{piece.strip()}" if passage else piece.strip()
            length += size
    if passage:
        yield passage


# --- the index --------------------------------------------------------------------------------------


class Knowledge:
    """A searchable collection of passages in memory.

    `sha256` identifies the passages independently of where their files are. Any number of threads may search at once,
    since nothing changes after opening.
    """

    def __init__(self, folder: Path, sha256: str) -> None:
        import bm25s
        from pyarrow import parquet

        self.sha256 = sha256
        try:
            self._passages = parquet.read_table(folder / _PASSAGES)
            self._index = bm25s.BM25.load(folder, mmap=False)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise DataError(f"{folder}: the index is damaged ({error}); delete the folder and run again") from None

    def search(self, query: str, top: int = 5) -> list[Snippet]:
        """Search for passages that share a token with the query.

        Args:
            query: The query.
            top: The maximum number of passages, 1 or more.

        Returns:
            The best passages, best first. Equally good ones are in the order in which they were read.
        """
        words = list(dict.fromkeys(tokens(query[:_LONGEST_QUERY])))
        if not words:
            return []
        scores = self._index.get_scores(words)
        # a token's weight is above 0 even if all passages contain it
        least = np.partition(scores, -top)[-top] if top < len(scores) else 0.0
        candidates = np.flatnonzero((scores >= least) & (scores > 0))
        best = candidates[np.argsort(-scores[candidates], kind="stable")][:top]
        return [Snippet(**self._passages.slice(number, 1).to_pylist()[0]) for number in best.tolist()]


def open_knowledge(path: str | Path) -> Knowledge:
    """Open the passages in a file or folder, building their index or loading it from the cache.

    Raises:
        UsageError: The extra `knowledge` is not installed.
        DataError: A file cannot be read as knowledge, or the cache cannot be written.
    """
    require_extra("knowledge", f"searching {path}")
    import bm25s  # it may load even jax
    from filelock import FileLock

    named = Path(path).expanduser()
    files = named_files(named)
    sha256 = hash_of_files(files)
    key = short_hash(_VERSION, bm25s.__version__, unicodedata.unidata_version, sha256)
    folder = cache_folder() / "knowledge" / key
    with file_errors(f"{named}: cannot store the index in {folder}", OTHER_CACHE):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                with atomic_folder(folder, "index") as partial:
                    _write(partial, named, files)
    return Knowledge(folder, sha256)


def _write(folder: Path, named: Path, files: Mapping[str, Path]) -> None:
    import bm25s
    from pyarrow import parquet, table
    from tqdm import tqdm

    # assigns the next number to each new word
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    columns: dict[str, list[str]] = {"id": [], "title": [], "text": []}
    words: list[list[int]] = []
    # disable=None shows the progress bar only on a terminal
    for passage in tqdm(read_passages(files), desc=f"reading {named.name}", unit=" passages", disable=None):
        words.append([vocabulary[word] for word in tokens(passage.title) + tokens(passage.text)])
        for name, values in columns.items():
            values.append(getattr(passage, name))
    if not vocabulary:
        raise DataError(f"{named}: contains no passages" + (" with searchable words" if words else ""))
    parquet.write_table(table(columns), folder / _PASSAGES)
    index = bm25s.BM25(method="lucene", backend="numpy")
    index.index((words, dict(vocabulary)), create_empty_token=False, show_progress=sys.stderr.isatty())
    index.save(folder)
