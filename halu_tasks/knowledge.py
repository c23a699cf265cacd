"""Looking things up: BM25 over passages that a user names, in an index that is built once and cached."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from filelock import FileLock
from tqdm import tqdm

from halu_tasks.data import cache_folder, sha256_of, text_id
from halu_tasks.errors import DataError, UsageError
from halu_tasks.knowledge_files import named_files, read_passages
from halu_tasks.words import tokens

_VERSION = "1"
"""Of how files are split, tokens made and the index kept: a change of any makes it another index."""
_PASSAGES, _PLACES, _SUMS = "passages.jsonl", "places.npy", "sums.json"
# no real query is longer, and a model caught in a loop must not hold up the others
_LONGEST_QUERY = 10_000


_TRIES = 3
"""How often an index is read that other processes change."""


class _Changed(Exception):
    """An index that is not what its checksums say."""


@dataclass(frozen=True)
class Passage:
    """A passage that was found, and its BM25 score for the query. The title is empty where it has none."""

    id: str
    text: str
    title: str
    score: float


class Knowledge:
    """Passages to search in, as many as `len` says. `sha256` tells one knowledge from another, wherever its
    files lie. Any number of threads may search at once: nothing changes after it was opened.

    The index is in memory, checked against its checksums as it is read. Passages stay in their file, which is not
    mapped: a process that ends another's run by cutting a mapped file leaves not even an error message."""

    def __init__(self, folder: Path, sha256: str) -> None:
        import bm25s

        self.sha256 = sha256
        self._file = folder / _PASSAGES
        # open before it is checked, so that what is read is what was checked, whatever happens to the name
        self._passages = self._file.open("rb", buffering=0)
        try:
            self._index = bm25s.BM25.load(folder, mmap=False)
            self._places = np.load(folder / _PLACES)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise _Changed from error
        # another process may have changed what was just read
        if not _intact(folder):
            raise _Changed
        self._reading = threading.Lock()

    def __len__(self) -> int:
        return len(self._places) - 1

    def search(self, query: str, top: int = 5) -> list[Passage]:
        """The passages that share a token with the query, the best first and at most `top` of them. Equally
        good ones keep the order that they were read in.

        Raises:
            UsageError: `top` is less than 1.
        """
        if top < 1:
            raise UsageError(f"top is {top}, but a search must be for at least 1 passage")
        words = list(dict.fromkeys(tokens(query[:_LONGEST_QUERY])))
        if not words:
            return []
        scores = self._index.get_scores(words)
        # a token's weight is above 0 even if all passages hold it
        least = np.partition(scores, -top)[-top] if top < len(scores) else 0.0
        found = np.flatnonzero((scores >= least) & (scores > 0))
        best = found[np.argsort(-scores[found], kind="stable")][:top]
        return [self._passage(int(number), float(scores[number])) for number in best]

    def _passage(self, number: int, score: float) -> Passage:
        start, end = int(self._places[number]), int(self._places[number + 1])
        with self._reading:
            self._passages.seek(start)
            row = self._passages.read(end - start)
        try:
            id, text, title = json.loads(row)
        except ValueError:
            raise DataError(f"{self._file} was changed or cut while it was in use; run again") from None
        return Passage(id, text, title, score)


def open_knowledge(path: str | Path) -> Knowledge:
    """The knowledge in a file or folder. Its index is built the first time and found in the cache later.

    Raises:
        DataError: naming what is wrong with the files, or that the cache cannot be written.
    """
    named = Path(path).expanduser()
    files = named_files(named)
    sha256 = _sha256(files)
    folder = cache_folder() / "knowledge" / _key(sha256)
    try:
        for _ in range(_TRIES):
            if not _intact(folder):
                _build(folder, named, files)
            with suppress(_Changed):
                return Knowledge(folder, sha256)
        raise DataError(f"{named}: its index in {folder} is changed by another process again and again; run again")
    except OSError as error:
        raise DataError(
            f"{named}: its index cannot be kept in {error.filename or folder} ({error.strerror or error}); "
            "HALU_TASKS_CACHE=PATH names another folder"
        ) from None


def _sha256(files: Mapping[str, Path]) -> str:
    """The sha256 of the names and contents of files, in hex."""
    sums = [[name, sha256_of(path)] for name, path in files.items()]
    return hashlib.sha256(json.dumps(sums).encode()).hexdigest()


def _key(sha256: str) -> str:
    # here and below: imported where it is needed, since it may load as much as jax
    import bm25s

    return text_id(_VERSION, bm25s.__version__, unicodedata.unidata_version, sha256)


# --- the index ----------------------------------------------------------------------------------


def _intact(folder: Path) -> bool:
    """Whether the folder holds an index just as it was written."""
    try:
        sums = json.loads((folder / _SUMS).read_bytes())
        return bool(sums) and sums == {name: sha256_of(folder / name) for name in sums}
    except (OSError, ValueError, TypeError):
        return False


def _build(folder: Path, named: Path, files: Mapping[str, Path]) -> None:
    """Write the index of `files` and move it to `folder` whole, unless another process has just done so."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if _intact(folder):
            return
        part = folder.with_name(f"{folder.name}.part")
        _remove(part)
        try:
            part.mkdir()
            _write(part, named, files)
            _remove(folder)
            part.rename(folder)
        finally:
            _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(folder: Path, named: Path, files: Mapping[str, Path]) -> None:
    import bm25s

    # gives each new word the next number
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    passages: list[list[int]] = []
    places = [0]
    with (folder / _PASSAGES).open("wb") as file:
        # no bar but on a terminal
        for passage in tqdm(read_passages(files), desc=f"reading {named.name}", unit=" passages", disable=None):
            words = tokens(passage.title) + tokens(passage.text)
            passages.append([vocabulary[word] for word in words])
            # the name of a file, and so an id, may hold what is not Unicode
            row = json.dumps(passage, ensure_ascii=False).encode("utf-8", "surrogatepass")
            places.append(places[-1] + file.write(row + b"\n"))
    if not vocabulary:
        raise DataError(f"{named}: holds no passages" + (" with a word to look up" if passages else ""))
    np.save(folder / _PLACES, np.array(places))
    index = bm25s.BM25(method="lucene", backend="numpy")
    index.index((passages, dict(vocabulary)), create_empty_token=False, show_progress=sys.stderr.isatty())
    index.save(folder)
    sums = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
    (folder / _SUMS).write_text(json.dumps(sums))
