"""Overlaps: items that are duplicates of each other, or that stand in a published benchmark already.

What is compared is the text of `Pipeline.key` (a question, a sentence), as folded words without punctuation. Two such
texts are the same where all words are. A key overlaps with a text of a benchmark where the two share a run of 13 words
(the contamination measure of Brown et al. 2020, GPT-3, appendix C), or of 26 characters where the key is Chinese or
Japanese; or, for keys below that, where the whole texts are the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halu_tasks.builders.leaks import words
from halu_tasks.builders.sampling import hash_of

RUN, RUN_OF_CHARACTERS = 13, 26
_EXAMPLES = 20
_MASK = (1 << 64) - 1


class Near(Protocol):
    """Finds near-duplicates."""

    def add(self, id: str, text: str, group: str = "") -> str | None:
        """Takes a text, and gives the id of an earlier one that it nearly is, and that is alike by no purpose as those
        of one group are."""
        ...


class Compared(NamedTuple):
    """The texts of a file of a benchmark.

    Attributes:
        source, file: the benchmark and the file's name.
        of: where the file was found: `cache`, or `named` by the user.
        texts: its texts, read as they are asked for.
    """

    source: str
    file: str
    of: str
    texts: Iterable[str]


class Overlaps:
    """Takes the keys of all items, then compares them with benchmarks."""

    def __init__(self, near: Near | None = None) -> None:
        self._near = near
        self._ids: list[str] = []
        self._first: dict[int, int] = {}
        self._same: list[tuple[str, str]] = []
        self._similar: list[tuple[str, str]] = []
        self._counts = {"same": 0, "similar": 0}
        self._whole, self._runs = _Places(), _Places()

    def add(self, id: str, key: str, group: str = "") -> None:
        """Take an item's key, and the group of items that are alike on purpose."""
        place, own = len(self._ids), words(key)
        self._ids.append(id)
        whole = _hash(own)
        if whole in self._first:
            self._count("same", self._same, (id, self._ids[self._first[whole]]))
        else:
            self._first[whole] = place
            if self._near and (earlier := self._near.add(id, key, group)) is not None:
                self._count("similar", self._similar, (id, earlier))
        if len(own) < (length := run_length(own)):
            self._whole.add(whole, place)
        for run in set(_runs(own, length)):
            self._runs.add(run, place)

    def within(self) -> dict[str, Any]:
        """The items whose key is that of an earlier item, `same`, or nearly so, `similar` (None where that was not
        looked for): their number `n` and some `examples` as [item, earlier item]."""
        similar = {"n": self._counts["similar"], "examples": [list(pair) for pair in self._similar]}
        same = {"n": self._counts["same"], "examples": [list(pair) for pair in self._same]}
        return {"items": len(self._ids), "same": same, "similar": similar if self._near else None}

    def against(self, files: Iterable[Compared]) -> dict[str, Any]:
        """The items that overlap with texts of benchmarks: how many in all, and by file, with some examples.

        Raises:
            DataError: a file has a bad row.
        """
        everywhere: set[int] = set()
        compared = []
        for file in files:
            number, found = 0, set[int]()
            for text in file.texts:
                number += 1
                found |= self._overlapping(words(text))
            everywhere |= found
            compared.append(
                {
                    "source": file.source,
                    "file": file.file,
                    "of": file.of,
                    "texts": number,
                    "n": len(found),
                    "examples": [self._ids[place] for place in sorted(found)[:_EXAMPLES]],
                }
            )
        return {"items": len(self._ids), "n": len(everywhere), "compared": compared}

    def _overlapping(self, own: Sequence[str]) -> set[int]:
        runs = [run for length in (RUN, RUN_OF_CHARACTERS) for run in _runs(own, length)]
        return self._whole.of([_hash(own)]) | self._runs.of(runs)

    def _count(self, name: str, examples: list[tuple[str, str]], pair: tuple[str, str]) -> None:
        self._counts[name] += 1
        if len(examples) < _EXAMPLES:
            examples.append(pair)


class _Places:
    """Which items have a hash: twelve bytes for each, since there are many."""

    def __init__(self) -> None:
        self._hashes, self._places = array("Q"), array("I")
        self._sorted: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]] | None = None

    def add(self, hashed: int, place: int) -> None:
        self._hashes.append(hashed)
        self._places.append(place)
        self._sorted = None

    def of(self, hashes: Sequence[int]) -> set[int]:
        """The items that have one of the hashes."""
        if not hashes or not self._hashes:
            return set()
        if self._sorted is None:
            every, places = np.array(self._hashes, dtype=np.uint64), np.array(self._places, dtype=np.uint32)
            order = np.argsort(every, kind="stable")
            self._sorted = every[order], places[order]
        every, places = self._sorted
        wanted = np.array(hashes, dtype=np.uint64)
        begins, ends = np.searchsorted(every, wanted, "left"), np.searchsorted(every, wanted, "right")
        return {int(place) for hit in np.flatnonzero(begins < ends) for place in places[begins[hit] : ends[hit]]}


def run_length(own: Sequence[str]) -> int:
    """How long a run of these words is no coincidence: 13, or 26 where most are single characters of a script that
    writes no spaces."""
    single = sum(len(word) == 1 and word >= "\u3041" for word in own)
    return RUN_OF_CHARACTERS if 2 * single > len(own) else RUN


def _runs(own: Sequence[str], length: int) -> Iterator[int]:
    return (hash(tuple(own[start : start + length])) & _MASK for start in range(len(own) - length + 1))


def _hash(own: Sequence[str]) -> int:
    return hash_of(0, *own)
