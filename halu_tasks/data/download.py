"""Downloading published files: with retries, verified, written atomically, safe for concurrent processes.

Files on the Hub are downloaded by the Hub's own client.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import httpx
from filelock import FileLock
from tqdm import tqdm

from halu_tasks.core.errors import DataError
from halu_tasks.data.cache import HOW_TO_NAME, cached_path, verify
from halu_tasks.data.hub import SCHEME, HubAddress, download
from halu_tasks.data.sources import Source

_ATTEMPTS = 3


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
        path = download(HubAddress.parse(url), HOW_TO_NAME, gated=source.gated)
        verify(source, name, path)
        return path
    path = cached_path(source, name)
    try:
        return _fetch(source, name, url, path)
    except OSError as error:
        raise DataError(
            f"{source.title}: cannot write {error.filename or path} ({error.strerror or error}); "
            "name another folder with HALU_TASKS_CACHE=PATH"
        ) from None


def _fetch(source: Source, name: str, url: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if path.is_file():
            verify(source, name, path)
            return path
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f"{name}.", suffix=".part")
        os.close(handle)
        try:
            _download(source, name, url, Path(partial))
            verify(source, name, Path(partial))
            Path(partial).replace(path)
        finally:
            Path(partial).unlink(missing_ok=True)
    return path


def _download(source: Source, name: str, url: str, target: Path) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with httpx.stream("GET", url, follow_redirects=True, timeout=30) as reply:
                reply.raise_for_status()
                size = int(reply.headers.get("Content-Length", 0)) or None
                with (
                    target.open("wb") as file,
                    tqdm(total=size, unit="B", unit_scale=True, desc=f"{source.title} {name}") as bar,
                ):
                    for part in reply.iter_bytes():
                        file.write(part)
                        bar.update(len(part))
            return
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            permanent = isinstance(error, httpx.InvalidURL) or (
                isinstance(error, httpx.HTTPStatusError)
                and error.response.status_code < 500
                and error.response.status_code != 429
            )
            if permanent or attempt == _ATTEMPTS:
                what = " ".join(str(error).split()) or type(error).__name__
                raise DataError(f"{source.title}: cannot download {url} ({what}); {HOW_TO_NAME}") from None
            time.sleep(attempt)
