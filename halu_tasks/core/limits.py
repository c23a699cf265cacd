"""Limits of what is read, so that a small file cannot take all memory.

The environment may raise each of them: `HALU_TASKS_MAX_LINE=1000000000` is for `max_line`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO
from zipfile import ZipFile

from halu_tasks.core.errors import DataError, UsageError

_STEP = 4096
"""How many bytes of an archive are unpacked at a time; zstd makes at most 128 MiB of these."""
_RATIO = (128 << 20) // _STEP
"""How many bytes zstd makes of one at most."""
LIMITS = {
    "max_line": (1 << 26, "bytes in a line of a text file"),
    "max_text": (
        1 << 28,
        "bytes in a text that is read as a whole, in a cell of a table, or in a part of an archive, unpacked",
    ),
    "max_ratio": (200, "bytes unpacked of each byte of a compressed file, where these are more than `max_text`"),
    "max_cells": (2_000_000, "cells in a workbook, with empty ones in between"),
    "max_values": (100_000, "values in a YAML file, with what its aliases repeat"),
    "max_depth": (100, "levels of nesting in a YAML file"),
    "max_answer": (1 << 24, "bytes in the answer of a judge's server"),
    "max_prompt": (1 << 24, "characters in a filled template"),
}
"""The most that is accepted of each kind, and what that is."""


class LimitError(DataError, UsageError):
    """A file that exceeds a limit."""


def limit(name: str) -> int:
    """Return the value of a limit.

    Raises:
        UsageError: The environment has a value that is not a positive integer.
    """
    variable = f"HALU_TASKS_{name.upper()}"
    text = os.environ.get(variable) or str(LIMITS[name][0])
    if not text.isdecimal() or not int(text):
        raise UsageError(f"{variable}: expected an integer greater than 0, got {text!r}")
    return int(text)


def exceeded(name: str, place: object) -> LimitError:
    """Make the error for something that exceeds a limit.

    Args:
        name: The limit.
        place: Where that is, such as `file:line`.
    """
    how = f"to allow more, set HALU_TASKS_{name.upper()}=N"
    return LimitError(f"{place}: more than {limit(name):,} {LIMITS[name][1]}; {how}")


class UnpackLimit:
    """Counts what is unpacked of a compressed file, whose size says little about it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.left = max(limit("max_text"), limit("max_ratio") * path.stat().st_size)

    def add(self, size: int) -> None:
        """Count bytes.

        Raises:
            LimitError: They are too many in all.
        """
        self.left -= size
        if self.left < 0:
            raise exceeded("max_ratio", self._path)


def read_member(archive: ZipFile, name: str, place: object) -> bytes:
    """Unpack a part of an archive, whatever size the archive says that it has.

    Raises:
        LimitError: It is larger than `max_text`.
    """
    left, parts, member = limit("max_text"), [], archive.getinfo(name)
    stated = member.file_size
    if stated <= left:
        # what cannot become too large is unpacked at once
        step = left + 1 if member.compress_size * _RATIO <= left else _STEP
        member.file_size = left + 2 * _STEP
        try:
            with archive.open(member) as file:
                while left >= 0 and (part := file.read(step)):
                    parts.append(part)
                    left -= len(part)
        finally:
            member.file_size = stated
        if left >= 0:
            return b"".join(parts)
    raise exceeded("max_text", f"{place}: {name}")


def check_archive(file: str | IO[bytes], place: object, unread: str | tuple[str, ...] = ()) -> None:
    """Check that all parts of an archive can be unpacked.

    Args:
        file: The archive.
        place: What error messages call it.
        unread: The beginning of the names of parts of which only the stated size is checked.

    Raises:
        LimitError: One is larger than `max_text`.
    """
    most = limit("max_text")
    with ZipFile(file) as archive:
        for member in archive.infolist():
            if member.file_size > most or not member.filename.startswith(unread):
                read_member(archive, member.filename, place)
