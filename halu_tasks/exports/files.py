"""Writing files that replace no others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_write_text


def write_new(texts: Mapping[Path, str]) -> None:
    """Write files, in order, unless one of them exists and differs.

    Raises:
        DataError: One of them does, in which case none is written; or a file cannot be written.
    """
    for path, text in texts.items():
        _check_new(path, text)
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{path.parent}: {error.strerror or error}") from None
        atomic_write_text(path, text)


def _check_new(path: Path, text: str) -> None:
    """Check that a file can be written: that there is none, or an equal one.

    Raises:
        DataError: There is another file.
    """
    if not path.exists():
        return
    if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
        raise DataError(f"{path}: exists and differs; choose another folder with -o, or remove the file")
