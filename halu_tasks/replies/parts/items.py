"""The items of a task in an SQLite file, found by id, so that their number is not limited by memory."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.core.items import Item
from halu_tasks.tasks import Built

BUCKETS = 128
"""The number of groups into which clusters are divided by their hashes."""
_CACHED = 5_000
"""The number of items that are kept after they were read, for further replies to them."""
_FILE = "items.sqlite3"


class StoredItem(NamedTuple):
    """An item of the store.

    Attributes:
        number: Its place in the data, from 0.
        bucket: The group of its cluster.
        item: The item, without its prompt.
    """

    number: int
    bucket: int
    item: Item


class ItemStore:
    """The items of a task.

    Args:
        folder: The folder that `write_items` wrote.
    """

    def __init__(self, folder: Path) -> None:
        address = f"{(folder / _FILE).absolute().as_uri()}?immutable=1"
        self._db = sqlite3.connect(address, uri=True, check_same_thread=False)
        self.find = lru_cache(_CACHED)(self._find)

    def __len__(self) -> int:
        return int(self._db.execute("SELECT max(number) + 1 FROM items").fetchone()[0])

    def _find(self, id: str) -> StoredItem | None:
        """Find an item by its id; None if no item has it."""
        sql = "SELECT number, bucket, record FROM items WHERE id = ?"
        row = self._db.execute(sql, (_key(id),)).fetchone()
        return _stored(id, *row) if row else None

    def numbers(self, buckets: range) -> Iterator[int]:
        """Read the places in the data of the items of some groups of clusters."""
        sql = "SELECT number FROM items WHERE bucket >= ? AND bucket < ?"
        return (number for (number,) in self._db.execute(sql, (buckets.start, buckets.stop)))

    def of_buckets(self, buckets: range) -> Iterator[StoredItem]:
        """Read the items of some groups of clusters."""
        sql = "SELECT id, number, bucket, record FROM items WHERE bucket >= ? AND bucket < ?"
        for id, number, bucket, record in self._db.execute(sql, (buckets.start, buckets.stop)):
            yield _stored(id.decode("utf-8", "surrogatepass"), number, bucket, record)


def _key(id: str) -> bytes:
    return id.encode("utf-8", "surrogatepass")


def _stored(id: str, number: int, bucket: int, record: str) -> StoredItem:
    cluster, target, gold, tags, fields = json.loads(record)
    return StoredItem(number, bucket, Item(id, cluster, target, "", "", gold, tags, fields))


def write_items(built: Built, folder: Path) -> ItemStore:
    """Write the items of a task to a new folder.

    Raises:
        DataError: A row is malformed, two rows make the same item, or the folder cannot be written.
    """
    if not folder.exists():
        with atomic_folder(folder, "items") as partial, closing(sqlite3.connect(partial / _FILE)) as db:
            db.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                "CREATE TABLE items (number INTEGER PRIMARY KEY, id BLOB, bucket INTEGER, record TEXT);"
            )
            try:
                db.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", _rows(built))
                db.execute("CREATE INDEX by_id ON items (id)")
                db.execute("CREATE INDEX by_bucket ON items (bucket)")
                db.commit()
                repeated = db.execute("SELECT id FROM items GROUP BY id HAVING count(*) > 1 LIMIT 1").fetchone()
            except sqlite3.Error as error:
                raise DataError(f"items {folder}: {error}") from None
            if repeated:
                raise built.repeated_id(repeated[0].decode("utf-8", "surrogatepass"))
    return ItemStore(folder)


def _rows(built: Built) -> Iterator[tuple[int, bytes, int, str]]:
    for number, item in enumerate(built.unrendered()):
        bucket = zlib.crc32(_key(item.cluster)) % BUCKETS
        record = json.dumps([item.cluster, item.target, item.gold, item.tags, item.fields], default=dict)
        yield number, _key(item.id), bucket, record
