"""What can be known about a published file without downloading it."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import httpx

from halu_tasks.core.errors import DataError
from halu_tasks.data.hub import SCHEME, HubAddress, hub_errors
from halu_tasks.data.sources import Source

ADVICE = "name a copy with --data PATH (docs/local-data.md), or --data sample to try the task"

_PATIENCE = 15
"""Seconds within which the publisher's server must answer."""


def remote_size(source: Source, name: str) -> int | None:
    """Ask for the size of a published file, in bytes; None if the server does not say.

    Raises:
        DataError: The file has no address, or the server cannot be reached or refuses it.
    """
    url = source.file(name).url
    if url is None:
        raise DataError(f"{name} has no pinned address; download it manually from {source.homepage}, and {ADVICE}")
    if url.startswith(SCHEME):
        return _hub_size(HubAddress.parse(url), gated=source.gated)
    try:
        reply = httpx.head(url, follow_redirects=True, timeout=_PATIENCE, headers={"Accept-Encoding": "identity"})
        reply.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{urlsplit(url).netloc} cannot be reached ({what}); {ADVICE}") from None
    size = reply.headers.get("Content-Length")
    return int(size) if size else None


def _hub_size(address: HubAddress, *, gated: bool) -> int | None:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    assert address.path
    with hub_errors(address, ADVICE, gated=gated):
        if os.environ.get("HF_HUB_OFFLINE") in ("1", "true", "True"):
            # this call of the client ignores the setting
            raise DataError(f"{address}: HF_HUB_OFFLINE is set; unset it, or {ADVICE}")
        url = hf_hub_url(address.repository, address.path, repo_type="dataset", revision=address.revision)
        return get_hf_file_metadata(url, timeout=_PATIENCE).size
