"""Published files in the cache: downloaded once, verified, and safe for concurrent processes.

Files on the Hub are downloaded by the Hub's own client, and are in its cache. What a download needs is imported when
there is one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from halu_tasks.core.errors import DataError, file_errors
from halu_tasks.core.files import atomic_path
from halu_tasks.data import hub
from halu_tasks.data.hub import HOW_TO_NAME, SCHEME, HubAddress
from halu_tasks.data.sources import Source

OTHER_CACHE = "; name another folder with HALU_TASKS_CACHE=PATH"
"""How messages end about a cache that cannot be written."""


def cache_folder() -> Path:
    """Return the folder for downloads and verdicts: `HALU_TASKS_CACHE`, or `halu-tasks` in the user's cache."""
    if named := os.environ.get("HALU_TASKS_CACHE"):
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "halu-tasks"


def cached_path(source: Source, name: str) -> Path:
    """Return where this package keeps a file of a source, whether or not it has been downloaded."""
    return cache_folder() / "data" / source.name / source.revision[:25] / name


def cached_file(source: Source, name: str) -> Path | None:
    """Return the path of a published file; None if it has not been downloaded."""
    url = source.file(name).url or ""
    if url.startswith(SCHEME):
        return hub.cached(HubAddress.parse(url))
    path = cached_path(source, name)
    # what somebody put there without an address is not what was published
    return path if url and path.is_file() else None


def sha256_of(path: Path) -> str:
    """Compute the sha256 of a file, in hex.

    Raises:
        DataError: It cannot be read.
    """
    with file_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(source: Source, name: str) -> Path:
    """Download a published file into the cache, unless it is already there, and verify its checksum if that is known.

    Returns:
        Its path.

    Raises:
        DataError: There is no address to download it from, no network or no access; its checksum is not the published
            one; or the cache cannot be written.
    """
    path = cached_file(source, name) or _download(source, name)
    _verify(source, name, path)
    return path


def _verify(source: Source, name: str, path: Path) -> None:
    published = source.file(name).sha256
    if published and (sha256 := sha256_of(path)) != published:
        raise DataError(
            f"{path}: sha256 is {sha256}, expected the published {published}; delete the file and fetch it again "
            f"(halu-tasks data fetch {source.name})"
        )


def _download(source: Source, name: str) -> Path:
    url, path = source.file(name).url, cached_path(source, name)
    if url is None:
        raise DataError(
            f"{source.title}: {name} cannot be downloaded automatically, as no pinned address is known; download it "
            f"manually from {source.homepage} and {HOW_TO_NAME}"
        )
    if url.startswith(SCHEME):
        return hub.download(HubAddress.parse(url))
    import httpx
    from filelock import FileLock
    from tqdm import tqdm

    with file_errors(f"{source.title}: cannot write {path}", OTHER_CACHE):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if path.is_file():  # another process was faster
                return path
            try:
                with atomic_path(path) as partial:
                    with httpx.stream("GET", url, follow_redirects=True, timeout=30) as reply:
                        reply.raise_for_status()
                        size = int(reply.headers.get("Content-Length", 0)) or None
                        with partial.open("wb") as file, tqdm(total=size, unit="B", unit_scale=True, desc=name) as bar:
                            for part in reply.iter_bytes():
                                bar.update(file.write(part))
                    _verify(source, name, partial)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                raise DataError(f"{source.title}: cannot download {url} ({reason}); {HOW_TO_NAME}") from None
    return path
