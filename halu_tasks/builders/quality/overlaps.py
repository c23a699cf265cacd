"""Finding items that duplicate each other, or that overlap with a published benchmark.

Compared is the text of `Pipeline.key` (a question, a sentence), as folded words without punctuation. Two such texts are
the same if all words are equal. A key overlaps with a text of a benchmark if they share a run of 13 words (the
contamination measure of Brown et al. 2020, GPT-3, appendix C), or of 26 characters if the key is Chinese or Japanese;
shorter keys overlap if the whole texts are the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.builders.quality.leaks import words
from halu_tasks.builders.quality.near_duplicates import Near
from halu_tasks.builders.quality.sampling import hash_of

RUN, RUN_OF_CHARACTERS = 13, 26
_EXAMPLES = 20
_MASK = (1 << 64) - 1


class Compared(NamedTuple):
    """The texts of a benchmark's file.

    Attributes:
        source: Name of the benchmark.
        file: Name of the file.
        of: Where the file was found: `cache`, or `named` by the user.
        texts: Its texts, read on iteration.
    """

    source: str
    file: str
    of: str
    texts: Iterable[str]


class Examples(NamedTuple):
    """The number of duplicates, and the first ones as (item, earlier item)."""

    n: int
    examples: Sequence[tuple[str, str]]

    def to_json(self) -> dict[str, Any]:
        """Return the number and the examples as in `quality.json`."""
        return {"n": self.n, "examples": [list(pair) for pair in self.examples]}


class Dropped(NamedTuple):
    """Duplicates that were dropped when the items were collected.

    Attributes:
        near: The similarity in percent from which on items were dropped.
        n: The number of dropped items.
    """

    near: float
    n: int


class Duplicates(NamedTuple):
    """Duplicates among the items of a dataset.

    Attributes:
        items: The number of items.
        same: Items whose key equals an earlier one.
        similar: Items whose key nearly equals an earlier one; None if this was not checked.
        dropped: Duplicates that are no longer in the dataset; None if this is not known.
    """

    items: int
    same: Examples
    similar: Examples | None
    dropped: Dropped | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the duplicates as in `quality.json`."""
        return {
            "items": self.items,
            "same": self.same.to_json(),
            "similar": self.similar and self.similar.to_json(),
            "dropped": self.dropped and self.dropped._asdict(),
        }

    def describe_similar(self) -> str:
        """Describe the near-duplicates, or say what is known of them if they were not checked."""
        if self.similar is not None:
            return f"{self.similar.n:,}"
        if self.dropped is None:
            return "not checked"
        near, n = self.dropped
        if near >= 100:
            return f"not checked (equal items dropped when collected: {n:,})"
        return f"not checked again (dropped when collected, at {near:g}% similarity or more: {n:,})"


class SharedText(NamedTuple):
    """The items that share text with a file of a benchmark.

    Attributes:
        source: Name of the benchmark.
        file: Name of the file.
        of: Where the file was found: `cache`, or `named` by the user.
        texts: The number of texts in the file.
        n: The number of items that share text with it.
        examples: The ids of some of them.
    """

    source: str
    file: str
    of: str
    texts: int
    n: int
    examples: Sequence[str]


class Benchmarks(NamedTuple):
    """The items that share text with published benchmarks.

    Attributes:
        items: The number of items of the dataset.
        n: The number of items that share text with any file.
        compared: The files.
        not_compared: The names of published files that are not available locally.
    """

    items: int
    n: int
    compared: Sequence[SharedText]
    not_compared: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as in `quality.json`."""
        compared = [file._asdict() for file in self.compared]
        return {"items": self.items, "n": self.n, "compared": compared, "not_compared": list(self.not_compared)}


class Overlaps:
    """Collects the keys of all items, and compares them with each other and with benchmarks.

    Args:
        near: Finds near-duplicates; None skips them.
    """

    def __init__(self, near: Near | None = None) -> None:
        self._near = near
        self._ids: list[str] = []
        self._first: dict[int, int] = {}
        self._same: list[tuple[str, str]] = []
        self._similar: list[tuple[str, str]] = []
        self._counts = {"same": 0, "similar": 0}
        self._whole, self._runs = _Places(), _Places()

    def add(self, id: str, key: str, group: str = "") -> None:
        """Add an item's key; items of one `group` are similar on purpose."""
        place, tokens = len(self._ids), words(key)
        self._ids.append(id)
        whole = _hash(tokens)
        if whole in self._first:
            self._count("same", self._same, (id, self._ids[self._first[whole]]))
        else:
            self._first[whole] = place
            if self._near and (earlier := self._near.add(id, key, group)) is not None:
                self._count("similar", self._similar, (id, earlier))
        if len(tokens) < (length := run_length(tokens)):
            self._whole.add(whole, place)
        for run in set(_runs(tokens, length)):
            self._runs.add(run, place)

    def within(self) -> Duplicates:
        """Return the items that duplicate an earlier one."""
        same, similar = Examples(self._counts["same"], self._same), Examples(self._counts["similar"], self._similar)
        return Duplicates(len(self._ids), same, similar if self._near else None)

    def against(self, files: Iterable[Compared]) -> Benchmarks:
        """Return the items that share text with benchmarks.

        Raises:
            DataError: A file contains an invalid row.
        """
        everywhere: set[int] = set()
        compared = []
        for file in files:
            number, overlapping = 0, set[int]()
            for text in file.texts:
                number += 1
                overlapping |= self._overlapping(words(text))
            everywhere |= overlapping
            examples = [self._ids[place] for place in sorted(overlapping)[:_EXAMPLES]]
            compared.append(SharedText(file.source, file.file, file.of, number, len(overlapping), examples))
        return Benchmarks(len(self._ids), len(everywhere), compared)

    def _overlapping(self, tokens: Sequence[str]) -> set[int]:
        """Return the positions of the items that overlap with a text."""
        runs = [run for length in (RUN, RUN_OF_CHARACTERS) for run in _runs(tokens, length)]
        return self._whole.of([_hash(tokens)]) | self._runs.of(runs)

    def _count(self, name: str, examples: list[tuple[str, str]], pair: tuple[str, str]) -> None:
        """Count a duplicate, and keep the first ones as examples."""
        self._counts[name] += 1
        if len(examples) < _EXAMPLES:
            examples.append(pair)


class _Places:
    """The positions of items by hash, in twelve bytes each because there are many."""

    def __init__(self) -> None:
        self._hashes, self._places = array("Q"), array("I")
        self._sorted: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]] | None = None

    def add(self, hashed: int, place: int) -> None:
        """Add an item under a hash."""
        self._hashes.append(hashed)
        self._places.append(place)
        self._sorted = None

    def of(self, hashes: Sequence[int]) -> set[int]:
        """Return the positions of the items with one of the hashes."""
        if not hashes or not self._hashes:
            return set()
        if self._sorted is None:
            every, places = np.array(self._hashes, dtype=np.uint64), np.array(self._places, dtype=np.uint32)
            order = np.argsort(every, kind="stable")
            self._sorted = every[order], places[order]
        every, places = self._sorted
        queried = np.array(hashes, dtype=np.uint64)
        begins, ends = np.searchsorted(every, queried, "left"), np.searchsorted(every, queried, "right")
        return {int(place) for hit in np.flatnonzero(begins < ends) for place in places[begins[hit] : ends[hit]]}


def run_length(tokens: Sequence[str]) -> int:
    """Return the length of a run that is not a coincidence: 13 words, or 26 for scripts without spaces.

    The latter applies if most words are single characters of such a script.
    """
    single = sum(len(word) == 1 and word >= "\u3041" for word in tokens)
    return RUN_OF_CHARACTERS if 2 * single > len(tokens) else RUN


def _runs(tokens: Sequence[str], length: int) -> Iterator[int]:
    """Yield the hashes of all runs of a given length."""
    return (hash(tuple(tokens[start : start + length])) & _MASK for start in range(len(tokens) - length + 1))


def _hash(tokens: Sequence[str]) -> int:
    return hash_of(0, *tokens)
