"""Limits of what is read, so that a small file cannot take all memory.

The environment may raise each of them: `HALU_TASKS_MAX_LINE=1000000000` is for `max_line`.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING
from zipfile import BadZipFile, ZipFile, ZipInfo

from halu_tasks.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from zstandard import ZstdDecompressor

_LOCAL_HEADER = struct.Struct("<26xHH")
"""What precedes a part of an archive: it ends with the sizes of the name and the further fields that follow."""
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


class Archive(ZipFile):
    """A zip archive of which no part is unpacked to more than `max_text`, whatever size the archive says that it has.

    `ZipFile.open`, which limits nothing, takes twice as long for parts as small as the samples of a log.

    Args:
        file: The archive.
        place: What error messages call it.
    """

    def __init__(self, file: str | IO[bytes], place: object) -> None:
        super().__init__(file)
        self._place, self._most = place, limit("max_text")

    @cached_property
    def _zstd(self) -> ZstdDecompressor:
        from zstandard import ZstdDecompressor  # only logs of Inspect need it, with which it comes

        return ZstdDecompressor()

    def unpack(self, name: str) -> bytes:
        """Unpack a part.

        Raises:
            LimitError: It is too large.
            BadZipFile: It is damaged.
        """
        member, file = self.getinfo(name), self.fp
        assert file
        if max(member.file_size, member.compress_size) <= self._most:
            file.seek(member.header_offset)
            name_size, fields_size = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            file.seek(name_size + fields_size, os.SEEK_CUR)
            content = self._unpacked(file.read(member.compress_size), member)
            if len(content) <= self._most:
                if zlib.crc32(content) != member.CRC:
                    raise BadZipFile(f"Bad CRC-32 for file {name!r}")
                return content
        raise exceeded("max_text", f"{self._place}: {name}")

    def _unpacked(self, packed: bytes, member: ZipInfo) -> bytes:
        """Unpack all of a part, or more than is allowed of it."""
        match member.compress_type:
            case zipfile.ZIP_STORED:
                return packed
            case zipfile.ZIP_DEFLATED:
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, self._most + 1)
            case 93:  # zstd, which Python knows from 3.14 on; more than the archive says is damage
                return self._zstd.stream_reader(packed, read_across_frames=True).read(member.file_size + 1)
        raise NotImplementedError(f"{member.filename}: compressed by method {member.compress_type}")

    def check(self, unread: str | tuple[str, ...] = ()) -> None:
        """Check that all parts can be unpacked.

        Args:
            unread: The beginning of the names of parts of which only the stated size is checked.

        Raises:
            LimitError: One is too large.
        """
        for member in self.infolist():
            if member.file_size > self._most or not member.filename.startswith(unread):
                self.unpack(member.filename)
