"""Finding near-duplicates among any number of texts, one text at a time, with earlier texts kept on disk.

Two texts are near-duplicates if rapidfuzz gives their folded forms a ratio of at least `threshold`. MinHash selects the
earlier texts to compare with: those that agree in at least one band (Broder 1997; Leskovec et al., Mining of Massive
Datasets, chapter 3). It may miss a near-duplicate, but the less likely the more similar two texts are.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import tempfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from halu_tasks.core.errors import UsageError
from halu_tasks.core.hashing import stable_number
from halu_tasks.text.folding import fold

THRESHOLD = 90.0
"""Default ratio from which on two texts are near-duplicates, 0 to 100."""

_BANDS, _ROWS = 40, 5
"""Two texts whose shingles have a Jaccard similarity s are compared with a probability of 1 - (1 - s^_ROWS)^_BANDS:
0.9999 at 0.75, 0.96 at 0.6, 0.72 at 0.5, 0.013 at 0.2, 0.0004 at 0.1."""
_SHINGLE = 3
"""Characters of a shingle. Shingles of characters also work in scripts without spaces, and most of them stay the same
if one word differs. Ideographs carry as much meaning as words, so two of them make a shingle."""

_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPHS = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class Near(Protocol):
    """Finds near-duplicates; see `NearDuplicates`."""

    def add(self, id: str, text: str, group: str = "") -> str | None:
        """Return the id of an earlier text that `text` nearly equals, or keep it and return None."""
        ...


class Filter(Near, Protocol):
    """Finds near-duplicates, and must be closed."""

    def close(self) -> None:
        """Release files and memory."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class NearDuplicates:
    """A filter that finds near-duplicates by spelling.

    A text that is a near-duplicate is not kept: a later text that is similar only to it is not a near-duplicate. The
    result depends only on the texts and their order.
    """

    def __init__(self, threshold: float = THRESHOLD, folder: Path | None = None) -> None:
        """Create an empty filter.

        Args:
            threshold: Ratio from which on two texts are near-duplicates.
            folder: Where to put the temporary file; None for the default folder of temporary files.

        Raises:
            UsageError: The threshold is out of range.
        """
        if not 0 < threshold <= 100:
            raise UsageError(f"near-duplicates: expected a threshold above 0 and up to 100, got {threshold}")
        self.threshold = threshold
        self._file = tempfile.TemporaryDirectory(prefix="near-", dir=folder)
        self._store = sqlite3.connect(Path(self._file.name) / "texts.sqlite", isolation_level=None)
        self._store.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536;"
            # texts in a band are sorted by length, so that those too short or too long to be similar are skipped
            "CREATE TABLE texts (place INTEGER PRIMARY KEY, id TEXT, team TEXT, text TEXT);"
            "CREATE TABLE bands (band INTEGER, length INTEGER, place INTEGER, PRIMARY KEY (band, length, place))"
            " WITHOUT ROWID; BEGIN"
        )
        self._next = 0

    def add(self, id: str, text: str, group: str = "") -> str | None:
        """Return the id of the earliest text that `text` nearly equals; None if there is none, and `text` is kept.

        Args:
            id: Id of the text.
            text: The text.
            group: If not empty, texts of the same group are similar on purpose, and duplicates only if equal.
        """
        folded = " ".join(_WORD.findall(fold(text))) or text
        # if only equal texts count, a single hash is enough
        bands = [_whole(folded)] if self.threshold == 100 else _bands(folded)
        if (earlier := self._find(folded, bands, group)) is not None:
            return earlier
        self._store.execute("INSERT INTO texts VALUES (?, ?, ?, ?)", (self._next, id, group, folded))
        rows = ((band, len(folded), self._next) for band in bands)
        self._store.executemany("INSERT OR IGNORE INTO bands VALUES (?, ?, ?)", rows)
        self._next += 1
        return None

    def _find(self, folded: str, bands: list[int], group: str) -> str | None:
        """Return the id of the earliest near-duplicate among the texts that share a band."""
        # a ratio is at most twice the shorter length over the sum of both
        share = self.threshold / 100
        shortest, longest = int(len(folded) * share / (2 - share)), int(len(folded) * (2 - share) / share) + 1
        near = self._store.execute(
            "SELECT id, team, text FROM texts WHERE place IN (SELECT place FROM bands WHERE band IN "
            f"({', '.join('?' * len(bands))}) AND length BETWEEN ? AND ?) ORDER BY place",
            (*bands, shortest, longest),
        )
        for id, other_group, text in near:
            alike = (not group or other_group != group) and fuzz.ratio(folded, text, score_cutoff=self.threshold)
            if text == folded or alike >= self.threshold:
                return str(id)
        return None

    def close(self) -> None:
        """Forget all texts and remove the temporary file."""
        self._store.close()
        self._file.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _whole(folded: str) -> int:
    """Return a hash of the whole text, as an SQLite integer."""
    number = stable_number(folded, surrogates="surrogatepass")
    return number - 2**64 if number >= 2**63 else number


# --- MinHash --------------------------------------------------------------------------------------


def _numbers(name: bytes, count: int) -> NDArray[np.uint64]:
    """Return odd 64-bit numbers that are the same on every machine."""
    return np.frombuffer(hashlib.shake_256(name).digest(8 * count), dtype="<u8").astype(np.uint64) | np.uint64(1)


_TIMES, _PLUS = _numbers(b"times", _BANDS * _ROWS), _numbers(b"plus", _BANDS * _ROWS)
_MIX = _numbers(b"mix", _ROWS)
_SHIFT = np.uint64(32)
_OF_BAND = _numbers(b"band", _BANDS)
_AT_ONCE = 4096


def _bands(folded: str) -> list[int]:
    """Return the hashes of a text's bands, as SQLite integers."""
    size = _SHINGLE if not _IDEOGRAPHS.search(folded) else _SHINGLE - 1
    shingles = {folded[start : start + size] for start in range(max(len(folded) - size + 1, 1))}
    codes = sorted(zlib.crc32(shingle.encode("utf-8", "surrogatepass")) for shingle in shingles)
    hashes = np.array(codes, dtype=np.uint64)
    least = np.full(_BANDS * _ROWS, np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, len(hashes), _AT_ONCE):
        # multiply, add and take the high half; numpy computes modulo 2 ** 64
        mixed = (_TIMES[:, None] * hashes[None, start : start + _AT_ONCE] + _PLUS[:, None]) >> _SHIFT
        least = np.minimum(least, mixed.min(axis=1))
    bands = ((least.reshape(_BANDS, _ROWS) * _MIX).sum(axis=1, dtype=np.uint64) * _OF_BAND) ^ _OF_BAND
    return [int(band) for band in bands.view(np.int64)]
