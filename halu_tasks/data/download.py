"""Downloading published files: with retries, verified, written atomically, safe for concurrent processes."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import httpx
from filelock import FileLock
from huggingface_hub import get_token
from tqdm import tqdm

from halu_tasks.core.errors import DataError
from halu_tasks.data.cache import HOW_TO_NAME, cached_path, verify
from halu_tasks.data.sources import Source

_ATTEMPTS = 3
_HUB = "https://huggingface.co/"


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
    headers = {}
    if url.startswith(_HUB):
        url = os.environ.get("HF_ENDPOINT", _HUB).rstrip("/") + "/" + url.removeprefix(_HUB)
        if token := get_token():
            headers["Authorization"] = f"Bearer {token}"
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=30) as reply:
                if reply.status_code in (401, 403) and source.gated:
                    raise DataError(_gated_message(source, name))
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


def _gated_message(source: Source, name: str) -> str:
    return (
        f"{source.title}: {name} is gated; accept the terms at {source.homepage} and set HF_TOKEN to a token of "
        f"that account, or {HOW_TO_NAME}"
    )
