"""Near duplicates among any number of texts, told one by one; what is known of earlier texts lies on disk.

Two texts are near duplicates where rapidfuzz gives their folded forms a ratio of `threshold` or more. Which earlier
texts are compared at all, MinHash decides: those that agree in one of its bands (Broder 1997; Leskovec et al., Mining
of Massive Datasets, chapter 3). Bands may miss a near duplicate, the seldomer the more alike two texts are.
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

from halu_tasks.errors import UsageError
from halu_tasks.scorers.folding import fold

THRESHOLD = 90.0
"""Ratio from which on two texts are near duplicates, 0 to 100."""

_BANDS, _ROWS = 40, 5
"""Where the shingles of two texts have a Jaccard similarity s, 1 - (1 - s^_ROWS)^_BANDS is the probability that they
are compared: 0.9999 at 0.75, 0.96 at 0.6, 0.72 at 0.5, 0.013 at 0.2, 0.0004 at 0.1."""
_SHINGLE = 3
"""Characters of a shingle: one word that differs leaves most shingles as they are, and scripts without spaces have
them too. Ideographs say as much as words do, so that two make a shingle there."""

_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPHS = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class Filter(Protocol):
    """What finds near duplicates."""

    def add(self, id: str, text: str, group: str = "") -> str | None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class NearDuplicates:
    """Texts seen so far, and whether a new one is nearly one of them.

    A text that is a near duplicate is not kept itself: a third that is like it alone is none. The result depends on the
    texts and their order alone.
    """

    def __init__(self, threshold: float = THRESHOLD, folder: Path | None = None) -> None:
        """`folder` is where the temporary file lies, by default where temporary files are. Raises UsageError for a
        threshold that is none."""
        if not 0 < threshold <= 100:
            raise UsageError(f"a threshold of near duplicates is above 0 and at most 100, found {threshold}")
        self.threshold = threshold
        self._file = tempfile.TemporaryDirectory(prefix="near-", dir=folder)
        self._store = sqlite3.connect(Path(self._file.name) / "texts.sqlite", isolation_level=None)
        self._store.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536;"
            # a band has its texts by length, so that those too short or too long to be near are not looked at
            "CREATE TABLE texts (place INTEGER PRIMARY KEY, id TEXT, team TEXT, text TEXT);"
            "CREATE TABLE bands (band INTEGER, length INTEGER, place INTEGER, PRIMARY KEY (band, length, place))"
            " WITHOUT ROWID; BEGIN"
        )
        self._next = 0

    def add(self, id: str, text: str, group: str = "") -> str | None:
        """The id of the earliest text that `text` nearly is; None where there is none, and it is kept under `id`.

        Texts of one `group`, where it is not empty, are alike on purpose, and duplicates of each other only where they
        are equal.
        """
        folded = " ".join(_WORD.findall(fold(text))) or text
        # where only equal texts count, one hash of the whole is enough
        bands = [_whole(folded)] if self.threshold == 100 else _bands(folded)
        if (found := self._find(folded, bands, group)) is not None:
            return found
        self._store.execute("INSERT INTO texts VALUES (?, ?, ?, ?)", (self._next, id, group, folded))
        rows = ((band, len(folded), self._next) for band in bands)
        self._store.executemany("INSERT OR IGNORE INTO bands VALUES (?, ?, ?)", rows)
        self._next += 1
        return None

    def _find(self, folded: str, bands: list[int], group: str) -> str | None:
        # a ratio is at most twice the shorter length over the sum of both
        share = self.threshold / 100
        shortest, longest = int(len(folded) * share / (2 - share)), int(len(folded) * (2 - share) / share) + 1
        near = self._store.execute(
            "SELECT id, team, text FROM texts WHERE place IN (SELECT place FROM bands WHERE band IN "
            f"({', '.join('?' * len(bands))}) AND length BETWEEN ? AND ?) ORDER BY place",
            (*bands, shortest, longest),
        )
        for id, own, text in near:
            alike = (not group or own != group) and fuzz.ratio(folded, text, score_cutoff=self.threshold)
            if text == folded or alike >= self.threshold:
                return str(id)
        return None

    def close(self) -> None:
        """Forget all texts, and remove the temporary file."""
        self._store.close()
        self._file.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _whole(folded: str) -> int:
    digest = hashlib.sha256(folded.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


# --- MinHash --------------------------------------------------------------------------------------


def _numbers(name: bytes, count: int) -> NDArray[np.uint64]:
    """Odd numbers of 64 bits that are the same everywhere and always."""
    return np.frombuffer(hashlib.shake_256(name).digest(8 * count), dtype="<u8").astype(np.uint64) | np.uint64(1)


_TIMES, _PLUS = _numbers(b"times", _BANDS * _ROWS), _numbers(b"plus", _BANDS * _ROWS)
_MIX = _numbers(b"mix", _ROWS)
_SHIFT = np.uint64(32)
_OF_BAND = _numbers(b"band", _BANDS)
_AT_ONCE = 4096


def _bands(folded: str) -> list[int]:
    """The hashes of a text's bands, as SQLite's integers."""
    size = _SHINGLE if not _IDEOGRAPHS.search(folded) else _SHINGLE - 1
    shingles = {folded[start : start + size] for start in range(max(len(folded) - size + 1, 1))}
    codes = sorted(zlib.crc32(shingle.encode("utf-8", "surrogatepass")) for shingle in shingles)
    hashes = np.array(codes, dtype=np.uint64)
    least = np.full(_BANDS * _ROWS, np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, len(hashes), _AT_ONCE):
        # multiply, add and take the high half: arithmetic modulo 2 ** 64 is what numpy does
        mixed = (_TIMES[:, None] * hashes[None, start : start + _AT_ONCE] + _PLUS[:, None]) >> _SHIFT
        least = np.minimum(least, mixed.min(axis=1))
    bands = ((least.reshape(_BANDS, _ROWS) * _MIX).sum(axis=1, dtype=np.uint64) * _OF_BAND) ^ _OF_BAND
    return [int(band) for band in bands.view(np.int64)]
