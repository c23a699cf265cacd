"""Searching users' passages with BM25, in an index that is built once and cached."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import numpy as np
from filelock import FileLock
from tqdm import tqdm

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.extras import require_extra
from halu_tasks.core.hashing import stable_hash
from halu_tasks.data.cache import cache_folder, sha256_of
from halu_tasks.data.rows import text_id
from halu_tasks.knowledge.passages import Snippet, named_files, read_passages
from halu_tasks.text.tokens import tokens

_VERSION = "2"
"""Version of how files are split and tokenized and how the index is stored; part of the index's key."""
_PASSAGES, _PLACES = "passages.jsonl", "places.npy"
_LONGEST_QUERY = 10_000
"""Characters of a query that are used; no real query is longer, but a model caught in a loop may produce one."""


class Knowledge:
    """A searchable collection of passages; `len` gives their number.

    `sha256` identifies the passages independently of where their files are. Any number of threads may search at once,
    since nothing changes after opening.

    The index is held in memory. Passages stay in their file, which is not memory-mapped: if another process truncated
    a mapped file, this one would crash without an error message.
    """

    def __init__(self, folder: Path, sha256: str) -> None:
        import bm25s

        self.sha256 = sha256
        self._file = folder / _PASSAGES
        try:
            self._passages = self._file.open("rb", buffering=0)
            self._index = bm25s.BM25.load(folder, mmap=False)
            self._places = np.load(folder / _PLACES)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise DataError(f"{folder}: the index is damaged ({error}); delete the folder and run again") from None
        self._reading = threading.Lock()

    def __len__(self) -> int:
        return len(self._places) - 1

    def search(self, query: str, top: int = 5) -> list[Snippet]:
        """Search for passages that share a token with the query.

        Args:
            query: The query.
            top: The maximum number of passages.

        Returns:
            The best passages, best first. Equally good ones are in the order in which they were read.

        Raises:
            UsageError: `top` is less than 1.
        """
        if top < 1:
            raise UsageError(f"top must be at least 1, got {top}")
        words = list(dict.fromkeys(tokens(query[:_LONGEST_QUERY])))
        if not words:
            return []
        scores = self._index.get_scores(words)
        # a token's weight is above 0 even if all passages contain it
        least = np.partition(scores, -top)[-top] if top < len(scores) else 0.0
        candidates = np.flatnonzero((scores >= least) & (scores > 0))
        best = candidates[np.argsort(-scores[candidates], kind="stable")][:top]
        return [self._passage(int(number), float(scores[number])) for number in best]

    def _passage(self, number: int, score: float) -> Snippet:
        start, end = int(self._places[number]), int(self._places[number + 1])
        with self._reading:
            self._passages.seek(start)
            row = self._passages.read(end - start)
        try:
            id, title, text = json.loads(row)
            return Snippet(id, title, text, score)
        except ValueError:
            raise DataError(f"{self._file} was changed or truncated while it was in use; run again") from None


def open_knowledge(path: str | Path) -> Knowledge:
    """Open the passages in a file or folder, building their index or loading it from the cache.

    Raises:
        UsageError: The extra `knowledge` is not installed.
        DataError: A file cannot be read as knowledge, or the cache cannot be written.
    """
    require_extra("knowledge", f"searching {path}")
    named = Path(path).expanduser()
    files = named_files(named)
    sha256 = _sha256(files)
    folder = cache_folder() / "knowledge" / _key(sha256)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                part = folder.with_name(f"{folder.name}.part")
                shutil.rmtree(part, ignore_errors=True)
                try:
                    part.mkdir()
                    _write(part, named, files)
                    part.rename(folder)
                finally:
                    shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise DataError(
            f"{named}: cannot store the index in {error.filename or folder} ({error.strerror or error}); "
            "name another folder with HALU_TASKS_CACHE=PATH"
        ) from None
    return Knowledge(folder, sha256)


def _sha256(files: Mapping[str, Path]) -> str:
    """Compute the sha256 of the names and contents of files, in hex."""
    sums = [[name, sha256_of(path)] for name, path in files.items()]
    return stable_hash(json.dumps(sums))


def _key(sha256: str) -> str:
    # imported here and below only when needed, since it may load even jax
    import bm25s

    return text_id(_VERSION, bm25s.__version__, unicodedata.unidata_version, sha256)


def _write(folder: Path, named: Path, files: Mapping[str, Path]) -> None:
    import bm25s

    # assigns the next number to each new word
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    passages: list[list[int]] = []
    places = [0]
    with (folder / _PASSAGES).open("wb") as file:
        # disable=None shows the progress bar only on a terminal
        for passage in tqdm(read_passages(files), desc=f"reading {named.name}", unit=" passages", disable=None):
            words = tokens(passage.title) + tokens(passage.text)
            passages.append([vocabulary[word] for word in words])
            # the name of a file, and thus an id, may contain surrogates
            row = json.dumps(passage[:3], ensure_ascii=False).encode("utf-8", "surrogatepass")
            places.append(places[-1] + file.write(row + b"\n"))
    if not vocabulary:
        raise DataError(f"{named}: contains no passages" + (" with searchable words" if passages else ""))
    np.save(folder / _PLACES, np.array(places))
    index = bm25s.BM25(method="lucene", backend="numpy")
    index.index((passages, dict(vocabulary)), create_empty_token=False, show_progress=sys.stderr.isatty())
    index.save(folder)
