"""A sample of pairs that is the same whatever their order, and whose size does not grow with the data."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from halu_tasks.builders.pipeline import Pair

PAIRS = 5_000
"""Most pairs of a sample: a share or an area of so many has an error below 0.01 where documents differ."""
CHARACTERS = 10_000_000
"""Most characters of a sample's pairs, which bounds time and memory where texts are long."""


class Sampled(NamedTuple):
    """A pair with what stands beside it."""

    pair: Pair
    context: Mapping[str, str]


@dataclass
class PairSample:
    """The pairs with the smallest hashes of (seed, key), as many as the limits let in.

    Attributes:
        seen: how many pairs there were to choose from.
    """

    seed: int = 0
    most: int = PAIRS
    most_characters: int = CHARACTERS
    seen: int = 0
    _heap: list[tuple[int, str, Sampled]] = field(default_factory=list)
    _characters: int = 0
    _limit: int = 1 << 64
    """The smallest hash that was turned away: none from there on is let in, or the order would matter."""

    def add(self, key: str, pair: Pair, context: Mapping[str, str]) -> None:
        """Offer a pair under a key that no other pair has."""
        self.seen += 1
        rank = hash_of(self.seed, key)
        if rank >= self._limit:
            return
        heapq.heappush(self._heap, (-rank, key, Sampled(pair, context)))
        self._characters += _size(pair)
        while len(self._heap) > self.most or (self._characters > self.most_characters and len(self._heap) > 1):
            turned_away, _, sampled = heapq.heappop(self._heap)
            self._characters -= _size(sampled.pair)
            self._limit = -turned_away

    def taken(self) -> Sequence[Sampled]:
        """The sample, in the order of the hashes."""
        return [sampled for _, _, sampled in sorted(self._heap, key=lambda own: (-own[0], own[1]))]


def hash_of(seed: int, *texts: str) -> int:
    """A number below 2^64 that depends on the seed and the texts alone."""
    text = "\0".join((str(seed), *texts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")


def _size(pair: Pair) -> int:
    return len(pair.true) + len(pair.hallucinated)
