"""Published files in the cache: downloaded once, with retries, verified, and safe for concurrent processes.

Files on the Hub are downloaded by the Hub's own client, and are in its cache. What a download needs is imported when
there is one.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_path
from halu_tasks.data import hub
from halu_tasks.data.hub import HOW_TO_NAME, SCHEME, HubAddress
from halu_tasks.data.sources import Source

_ATTEMPTS = 3


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


def fetch(source: Source, name: str) -> Path:
    """Download a data file into the cache, unless it is already there.

    Returns:
        Its path.

    Raises:
        DataError: There is no address to download it from, no network or no access; its checksum is not the published
            one; or the cache cannot be written.
    """
    url = source.file(name).url
    if url is None:
        raise DataError(
            f"{source.title}: {name} cannot be downloaded automatically, as no pinned address is known; download it "
            f"manually from {source.homepage} and {HOW_TO_NAME}"
        )
    if url.startswith(SCHEME):
        path = hub.download(HubAddress.parse(url), gated=source.gated)
        verify(source, name, path)
        return path
    from filelock import FileLock

    path = cached_path(source, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not path.is_file():
                with atomic_path(path) as partial:
                    _download(source.title, url, partial)
                    verify(source, name, partial)
    except OSError as error:
        raise DataError(
            f"{source.title}: cannot write {error.filename or path} ({error.strerror or error}); "
            "name another folder with HALU_TASKS_CACHE=PATH"
        ) from None
    verify(source, name, path)
    return path


def _download(title: str, url: str, target: Path) -> None:
    import httpx
    from tqdm import tqdm

    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with httpx.stream("GET", url, follow_redirects=True, timeout=30) as reply:
                reply.raise_for_status()
                size = int(reply.headers.get("Content-Length", 0)) or None
                with (
                    target.open("wb") as file,
                    tqdm(total=size, unit="B", unit_scale=True, desc=f"{title} {url.rpartition('/')[2]}") as bar,
                ):
                    for part in reply.iter_bytes():
                        bar.update(file.write(part))
            return
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            status = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else None
            permanent = isinstance(error, httpx.InvalidURL) or (status and status < 500 and status != 429)
            if permanent or attempt == _ATTEMPTS:
                raise DataError(f"{title}: cannot download {url} ({_reason(error)}); {HOW_TO_NAME}") from None
            time.sleep(attempt)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
