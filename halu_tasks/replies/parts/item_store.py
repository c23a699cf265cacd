"""The items of a task on disk, found by id, so that their number is not limited by memory.

The items are written one after the other as they are read from the data. Beside them are the position of each, and the
64-bit hashes of their ids in ascending order with the item of each, which processes map into memory.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.core.files import atomic_folder
from halu_tasks.core.items import Item
from halu_tasks.tasks import Built

Numbers = npt.NDArray[np.int64]

_BATCH = 50_000
"""The number of items whose positions are kept before they are written."""
_SORTED = 2_000_000
"""The number of hashes that are sorted at a time."""
_CACHED = 5_000
"""The number of items that are kept after they were read, for further replies to them."""
BUCKETS = 128
"""The number of groups into which clusters are divided by their hashes."""


class StoredItem(NamedTuple):
    """An item of the store.

    Attributes:
        number: Its place in the data, from 0.
        cluster: The 128-bit hash of its cluster, as two integers.
        item: The item, without its prompt.
    """

    number: int
    cluster: tuple[int, int]
    item: Item

    @property
    def bucket(self) -> int:
        """The group of its cluster."""
        return bucket_of(self.cluster)


def bucket_of(cluster: tuple[int, int]) -> int:
    """Return the group of a cluster, from the hash."""
    return cluster[0] % BUCKETS


class ItemStore:
    """The items of a task.

    Args:
        folder: The folder that `write_items` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._positions = np.load(folder / "positions.npy", mmap_mode="r")
        self._hashes = np.load(folder / "hashes.npy", mmap_mode="r")
        self._numbers = np.load(folder / "numbers.npy", mmap_mode="r")
        self._items = (folder / "items").open("rb")
        self.item = lru_cache(_CACHED)(self._read)

    def __len__(self) -> int:
        return len(self._positions) - 1

    def find(self, ids: Sequence[str]) -> list[StoredItem | None]:
        """Find items by their ids; None for an id that no item has."""
        hashes = np.array([id_hash(id) for id in ids], dtype=np.uint64)
        begins = np.searchsorted(self._hashes, hashes)
        return [self._with_id(id, hash, int(begin)) for id, hash, begin in zip(ids, hashes, begins, strict=True)]

    def _with_id(self, id: str, hash: np.uint64, place: int) -> StoredItem | None:
        while place < len(self._hashes) and self._hashes[place] == hash:
            stored = self.item(int(self._numbers[place]))
            if stored.item.id == id:
                return stored
            place += 1
        return None

    def _read(self, number: int) -> StoredItem:
        begin, end = self._positions[number : number + 2]
        self._items.seek(int(begin))
        cluster, parts = pickle.loads(self._items.read(int(end - begin)))
        id, name, target, gold, tags, fields = parts
        return StoredItem(number, cluster, Item(id, name, target, "", "", gold, tags, fields))

    def of_bucket(self, bucket: int) -> tuple[Numbers, npt.NDArray[np.uint64]]:
        """Return the items of a group of clusters: their numbers, ascending, and the hash of each's cluster, (N, 2)."""
        rows = np.fromfile(self._folder / f"bucket-{bucket:03d}", dtype=np.uint64).reshape(-1, 3)
        return rows[:, 0].astype(np.int64), rows[:, 1:]

    def repeated_id(self) -> str | None:
        """Return an id that several items have; None if all ids differ."""
        for begin in range(0, len(self._hashes), _SORTED):
            hashes = np.asarray(self._hashes[begin : begin + _SORTED + 1])
            for place in np.flatnonzero(hashes[1:] == hashes[:-1]) + begin:
                first = self._read(int(self._numbers[place])).item.id
                if first == self._read(int(self._numbers[place + 1])).item.id:
                    return first
        return None


def write_items(built: Built, folder: Path) -> ItemStore:
    """Write the items of a task to a new folder.

    Raises:
        DataError: A row is malformed, two rows make the same item, or the folder cannot be written.
    """
    if not folder.exists():
        with atomic_folder(folder, "items") as partial:
            _write_records(built.unrendered(), partial)
            _write_index(partial)
            if (repeated := ItemStore(partial).repeated_id()) is not None:
                raise built.repeated_id(repeated)
    return ItemStore(folder)


def _write_records(cases: Iterable[Item], folder: Path) -> None:
    """Write the items, and what the index is made of: their positions, hashes, and groups."""
    position, positions, hashes = 0, [0], list[int]()
    groups: list[list[tuple[int, int, int]]] = [[] for _ in range(BUCKETS)]

    def flush() -> None:
        _append(folder / "positions", positions)
        _append(folder / "hashes", hashes)
        for bucket, rows in enumerate(groups):
            _append(folder / f"bucket-{bucket:03d}", rows)
            rows.clear()
        positions.clear()
        hashes.clear()

    with (folder / "items").open("wb") as file:
        for number, case in enumerate(cases):
            cluster = cluster_hash(case.cluster)
            parts = (case.id, case.cluster, case.target, dict(case.gold), dict(case.tags), dict(case.fields))
            record = pickle.dumps((cluster, parts), pickle.HIGHEST_PROTOCOL)
            file.write(record)
            position += len(record)
            positions.append(position)
            hashes.append(id_hash(case.id))
            groups[bucket_of(cluster)].append((number, *cluster))
            if len(hashes) >= _BATCH:
                flush()
    flush()


def _append(path: Path, rows: Sequence[object]) -> None:
    with path.open("ab") as file:
        np.array(rows, dtype=np.uint64).tofile(file)


def _write_index(folder: Path) -> None:
    """Sort the hashes, a range of them at a time, so that the memory does not grow with their number."""
    number = (folder / "hashes").stat().st_size // 8
    ranges = number // _SORTED + 1
    edges = [(1 << 64) * each // ranges for each in range(ranges + 1)]
    hashes = np.lib.format.open_memmap(folder / "hashes.npy", "w+", np.uint64, (number,))
    numbers = np.lib.format.open_memmap(folder / "numbers.npy", "w+", np.int64, (number,))
    done = 0
    for low, high in pairwise(edges):
        own, places = _between(folder / "hashes", low, high - 1)
        order = np.argsort(own, kind="stable")
        hashes[done : done + len(own)], numbers[done : done + len(own)] = own[order], places[order]
        done += len(own)
    hashes.flush()
    numbers.flush()
    positions = np.fromfile(folder / "positions", dtype=np.uint64)
    np.save(folder / "positions.npy", positions)
    (folder / "hashes").unlink()
    (folder / "positions").unlink()


def _between(path: Path, low: int, high: int) -> tuple[npt.NDArray[np.uint64], Numbers]:
    """Read the hashes from `low` to `high`, with their places in the file."""
    parts = []
    for begin, hashes in _read_chunks(path):
        places = np.flatnonzero((hashes >= np.uint64(low)) & (hashes <= np.uint64(high)))
        parts.append((hashes[places], places + begin))
    return np.concatenate([part for part, _ in parts]), np.concatenate([places for _, places in parts])


def _read_chunks(path: Path) -> Iterator[tuple[int, npt.NDArray[np.uint64]]]:
    begin = 0
    with path.open("rb") as file:
        while len(hashes := np.fromfile(file, dtype=np.uint64, count=_SORTED)) or not begin:
            yield begin, hashes
            begin += max(len(hashes), 1)


def id_hash(id: str) -> int:
    """Return a 64-bit hash of an id."""
    return int.from_bytes(hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def cluster_hash(cluster: str) -> tuple[int, int]:
    """Return the 128-bit hash of a cluster, as two integers."""
    digest = hashlib.blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
