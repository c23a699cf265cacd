"""Files that a command writes: whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from halu_tasks.errors import DataError


@contextmanager
def written(path: Path, what: str) -> Iterator[Path]:
    """Where to write what shall stand in `path`: a file beside it that is gone afterwards, or `path` itself
    where it is no file (`/dev/stdout`). What goes wrong is a DataError that calls the file `what`."""
    partial = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            partial = path
        yield partial
    except OSError as error:
        raise DataError(f"{what} {path}: {error.strerror or error}") from None
    finally:
        if partial != path:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
