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
        with remote_errors(self.address):
            filesystem, path = _filesystem(self.address)
            return cast(BinaryIO, filesystem.open(path, mode))


File = Path | RemoteFile


class Shard(NamedTuple):
    """One of several files that are read as one.

    Attributes:
        address: Its path or address.
        size: Its size in bytes; 0 if it has none, such as a pipe.
        version: Changes when the file does.
    """

    address: str
    size: int
    version: str

    @property
    def file(self) -> File:
        """The file."""
        return file_at(self.address)


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
    if not place.is_dir():
        yield _local_shard(place)
        return
    paths = sorted(path for path in place.rglob("*") if path.is_file())
    for path in _readable(address, paths, [path.relative_to(place).as_posix() for path in paths]):
        yield _local_shard(path)


def _local_shard(path: Path) -> Shard:
    try:
        found = path.stat()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    return Shard(str(path), found.st_size if path.is_file() else 0, f"{found.st_size}-{found.st_mtime_ns}")


def _remote(address: str) -> Iterator[Shard]:
    with remote_errors(address):
        filesystem, root = _filesystem(address)
        pattern = _WILDCARD.search(root)
        found: dict[str, Any] = filesystem.glob(root, detail=True) if pattern else filesystem.find(root, detail=True)
        folder = root[: root.rfind("/", 0, pattern.start()) + 1] if pattern else root
        names = [path.removeprefix(folder).lstrip("/") for path in found]
        if not found:
            raise FileNotFoundError(2, "No such file or folder")
        single = list(found) == [root]
        for path in found if single else _readable(address, list(found), names):
            facts = found[path]
            version = facts.get("ETag") or filesystem.ukey(path)
            yield Shard(filesystem.unstrip_protocol(path), int(facts.get("size") or 0), str(version).strip('"'))


def _readable(address: str, paths: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the files of a folder, without hidden ones.

    Args:
        address: The folder.
        paths: Its files.
        names: Their names, relative to the folder.
    """
    shown = [
        (name, path)
        for name, path in sorted(zip(names, paths, strict=True), key=lambda pair: pair[0])
        if not any(part.startswith((".", "_")) for part in name.split("/"))
    ]
    if not shown:
        raise DataError(f"{address}: contains no files")
    for name, _ in shown:
        if not name.lower().endswith(_SUFFIXES):
            raise DataError(
                f"{address}: contains {name}, which is not {', '.join(_SUFFIXES[:5])}; name the files instead"
            )
    return [path for _, path in shown]


def _filesystem(address: str) -> tuple[Any, str]:
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(address)
    return filesystem, path.rstrip("/")


@contextmanager
def remote_errors(address: str) -> Iterator[None]:
    """Turn the errors of a file system into errors of one line."""
    try:
        yield
    except DataError:
        raise
    except ImportError as error:
        raise DataError(f"{address}: {' '.join(str(error).split())} (s3:// needs halu-tasks[s3])") from None
    except Exception as error:
        # each file system has its own errors
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{address}: cannot be read ({reason})") from None
