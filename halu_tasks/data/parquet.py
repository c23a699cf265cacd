"""Reading and writing Parquet files without holding all rows in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder
from halu_tasks.data.rows import Row
from halu_tasks.data.shards import File

_ROWS, _BUFFER = 1_000, 1 << 20
"""How many rows are read at a time, and of how many bytes; whole row groups may take as much memory as all rows."""


def parquet_rows(file: File, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Read (number from 1, row) of each row of a Parquet file; a null counts as missing.

    Args:
        file: The file.
        columns: The columns to read; those that the file lacks are left out.

    Raises:
        DataError: It is not a Parquet file.
    """
    from pyarrow import ArrowException, parquet  # takes half a second to import

    try:
        with file.open("rb") as opened:
            table = parquet.ParquetFile(opened, buffer_size=_BUFFER)
            known = [name for name in columns if name in table.schema_arrow.names]
            number = 0
            for batch in table.iter_batches(_ROWS, columns=known):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {name: value for name, value in row.items() if value is not None}
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or 'not a Parquet file'}") from None
    except ArrowException as error:
        raise DataError(f"{file}: not a Parquet file ({' '.join(str(error).split())})") from None


def write_shards(folder: Path, rows: Iterable[Row], size: int, what: str) -> int:
    """Write rows to Parquet files of a new folder, which appears when all are written.

    Args:
        folder: The folder.
        rows: The rows, all with the same fields.
        size: The number of rows of a file.
        what: What the rows are, for the error message.

    Returns:
        The number of rows.

    Raises:
        DataError: The folder exists already, or cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    if folder.exists():
        raise DataError(f"{what} {folder}: exists already; name a new folder")
    iterator, number, shard = iter(rows), 0, 0
    with atomic_folder(folder, what) as partial:
        while some := list(islice(iterator, size)):
            parquet.write_table(pyarrow.Table.from_pylist(some), partial / f"part-{shard:05d}.parquet")
            number, shard = number + len(some), shard + 1
    return number
