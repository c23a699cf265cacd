"""Reading and writing Parquet files row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halu_tasks.core.errors import DataError
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
