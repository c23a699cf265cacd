"""Where downloads are kept, and whether a file is the published one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.data.hub import SCHEME, HubAddress, cached
from halu_tasks.data.sources import Source

HOW_TO_NAME = (
    "name a local copy with halu_data=PATH (lm-eval --metadata), -T data=PATH (Inspect), --data PATH "
    "(halu-tasks) or HALU_TASKS_DATA=PATH, or use the word sample instead of PATH for the packaged sample"
)


def cache_folder() -> Path:
    """Return the folder for downloads and verdicts: `HALU_TASKS_CACHE`, or `halu-tasks` in the user's cache."""
    if named := os.environ.get("HALU_TASKS_CACHE"):
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "halu-tasks"


def cached_path(source: Source, name: str) -> Path:
    """Return where this package keeps a file of a source, whether or not it has been downloaded."""
    return cache_folder() / "data" / source.name / source.revision[:25] / name


def cached_file(source: Source, name: str) -> Path | None:
    """Return the path of a published file; None if it has not been downloaded.

    Files of the Hub are in the Hub's own cache.
    """
    url = source.file(name).url or ""
    if url.startswith(SCHEME):
        return cached(HubAddress.parse(url))
    path = cached_path(source, name)
    return path if path.is_file() else None


def sha256_of(path: Path) -> str:
    """Compute the sha256 of a file, in hex.

    Raises:
        DataError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def verify(source: Source, name: str, path: Path) -> str:
    """Verify a file's checksum, if the published one is known.

    Args:
        source: The source that publishes the file.
        name: Its name in the source.
        path: The file.

    Returns:
        Its sha256, in hex.

    Raises:
        DataError: It differs from the published one; the message gives both.
    """
    sha256 = sha256_of(path)
    published = source.file(name).sha256
    if published and sha256 != published:
        raise DataError(
            f"{path}: sha256 is {sha256}, expected the published {published}; delete the file and fetch it again "
            f"(halu-tasks data fetch {source.name})"
        )
    return sha256
