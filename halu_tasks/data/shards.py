"""Files that are read as one: local, or at an address that fsspec knows, such as `s3://bucket/folder`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

from halu_tasks.core.errors import DataError

_SUFFIXES = (".jsonl", ".json", ".csv", ".xlsx", ".parquet", ".jsonl.gz", ".json.gz", ".csv.gz")
"""The files that are read from a folder; a file that is named may have any name."""
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address of fsspec, with what readers of files use of `pathlib.Path`.

    Attributes:
        address: The address, such as `s3://bucket/folder/part-00000.jsonl`.
    """

    address: str

    def __str__(self) -> str:
        return self.address

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.address).name

    @property
    def suffix(self) -> str:
        """The suffix of the name."""
        return PurePosixPath(self.address).suffix

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open the file."""
        with _errors(self.address):
            filesystem, path = _filesystem(self.address)
            return cast(BinaryIO, filesystem.open(path, mode))


File = Path | RemoteFile


class Shard(NamedTuple):
    """One of several files that are read as one.

    Attributes:
        address: Its path or address.
        version: Changes when the file does.
    """

    address: str
    version: str


def file_at(address: str) -> File:
    """Return the file at a path or an address."""
    return RemoteFile(address) if is_remote(address) else Path(address)


def is_remote(address: str) -> bool:
    """Return whether an address is one of fsspec."""
    return "://" in address


def shards_at(addresses: Sequence[str]) -> list[Shard]:
    """Return the files at paths or addresses, in order; those of a folder sorted by name, with its subfolders.

    Files and folders of a folder whose names begin with a dot or an underscore are left out, as Spark and Hive do.

    Raises:
        DataError: A file does not exist, a folder contains none, or a folder contains a file that cannot be read.
    """
    return [shard for address in addresses for shard in (_remote(address) if is_remote(address) else _local(address))]


def _local(address: str) -> Iterator[Shard]:
    place = Path(address)
    names = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    for path in [place / name for name in _readable(address, names)] if place.is_dir() else [place]:
        try:
            stat = path.stat()
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or error}") from None
        yield Shard(str(path), f"{stat.st_size}-{stat.st_mtime_ns}")


def _remote(address: str) -> Iterator[Shard]:
    with _errors(address):
        filesystem, root = _filesystem(address)
        pattern = _WILDCARD.search(root)
        files: dict[str, Any] = filesystem.glob(root, detail=True) if pattern else filesystem.find(root, detail=True)
        if not files:
            raise FileNotFoundError(2, "No such file or folder")
        folder = root[: root.rfind("/", 0, pattern.start()) + 1] if pattern else f"{root}/"
        names = sorted(path.removeprefix(folder) for path in files)
        for path in [root] if list(files) == [root] else [folder + name for name in _readable(address, names)]:
            version = files[path].get("ETag") or filesystem.ukey(path)
            yield Shard(filesystem.unstrip_protocol(path), str(version).strip('"'))


def _readable(address: str, names: Sequence[str]) -> list[str]:
    """Return the files of a folder that are not hidden, of which each must be readable."""
    shown = [name for name in names if not any(part.startswith((".", "_")) for part in name.split("/"))]
    if not shown:
        raise DataError(f"{address}: contains no files")
    for name in shown:
        if not name.lower().endswith(_SUFFIXES):
            kinds = ", ".join(_SUFFIXES[:5])
            raise DataError(f"{address}: contains {name}, which is not {kinds}; name the files instead")
    return shown


def _filesystem(address: str) -> tuple[Any, str]:
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(address)
    return filesystem, path.rstrip("/")


@contextmanager
def _errors(address: str) -> Iterator[None]:
    """Turn the errors of a file system into errors of one line."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        # each file system has its own errors
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        how = " (s3:// needs halu-tasks[s3])" if isinstance(error, ImportError) else ""
        raise DataError(f"{address}: cannot be read ({reason}){how}") from None
