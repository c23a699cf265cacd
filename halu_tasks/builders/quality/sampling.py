"""Sampling pairs independently of their order, with a size that does not grow with the data."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from halu_tasks.builders.pipeline import Pair
from halu_tasks.core.hashing import stable_number

PAIRS = 5_000
"""Maximum number of pairs in a sample; shares and areas over this many have a standard error below 0.01."""
CHARACTERS = 10_000_000
"""Maximum number of characters in a sample, to limit time and memory if texts are long."""


class Sampled(NamedTuple):
    """A pair and its context."""

    pair: Pair
    context: Mapping[str, str]


@dataclass
class PairSample:
    """A sample of the pairs with the smallest hashes of (seed, key), within limits.

    Attributes:
        seed: The seed.
        most: Maximum number of pairs.
        most_characters: Maximum number of characters.
        seen: Number of pairs added.
    """

    seed: int = 0
    most: int = PAIRS
    most_characters: int = CHARACTERS
    seen: int = 0
    _heap: list[tuple[int, str, Sampled]] = field(default_factory=list)
    _characters: int = 0
    _limit: int = 1 << 64
    """The smallest hash that was rejected; later pairs must be below it, or the sample would depend on the order."""

    def add(self, key: str, pair: Pair, context: Mapping[str, str]) -> None:
        """Add a pair under a unique key."""
        self.seen += 1
        rank = hash_of(self.seed, key)
        if rank >= self._limit:
            return
        heapq.heappush(self._heap, (-rank, key, Sampled(pair, context)))
        self._characters += _size(pair)
        while len(self._heap) > self.most or (self._characters > self.most_characters and len(self._heap) > 1):
            rejected, _, sampled = heapq.heappop(self._heap)
            self._characters -= _size(sampled.pair)
            self._limit = -rejected

    def taken(self) -> Sequence[Sampled]:
        """Return the sample, in the order of the hashes."""
        return [sampled for _, _, sampled in sorted(self._heap, key=lambda entry: (-entry[0], entry[1]))]


def hash_of(seed: int, *texts: str) -> int:
    """Return a number below 2^64 that depends only on the seed and the texts."""
    return stable_number(seed, *texts, surrogates="replace")


def _size(pair: Pair) -> int:
    return len(pair.true) + len(pair.hallucinated)
