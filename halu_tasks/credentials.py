"""Credentials: what of settings, addresses and messages must not be written down. Pure; all that this package writes of
them passes here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_NAME = re.compile(
    r"(?:\A|[_\W])(?:keys?|token|secrets?|passwords?|passwd|pwd|auth|authorization|bearer|credentials?|headers?"
    r"|cookies?)\Z|api[_-]?keys?\Z",
    re.IGNORECASE,
)
"""Names of settings that hold credentials: `api_key`, `auth_token`, `Authorization`, `default_headers` …"""

_HIDDEN = "***"
_IN_TEXT = (
    # http://user:password@host, ?api_key=…, {"Authorization": "Bearer …"}
    (re.compile(r"(?<=://)[^\s/?#'\"]+@"), ""),
    (re.compile(r"(?<=[?&])([\w-]*(?:key|token|secret|password|auth|sig)=)[^&#\s'\"]+", re.I), rf"\1{_HIDDEN}"),
    (re.compile(r"(\bauthorization['\"]?\s*[:=]\s*['\"]?(?:\w+\s+)?)[^\s'\",}]+", re.I), rf"\1{_HIDDEN}"),
    (re.compile(r"(\bBearer\s+)[\w.~+/=-]{8,}"), rf"\1{_HIDDEN}"),
)
_SHORTEST = 8
"""Characters of an environment variable that can be told from other text; `none` and the like are no secrets."""


def is_secret(name: str) -> bool:
    """Whether a setting of that name may hold credentials."""
    return bool(_NAME.search(name))


def redacted(text: str) -> str:
    """A text without the credentials in its addresses, without authorization headers, and without the values of
    environment variables whose names say that they are secret (a server's error may repeat a key). The shell's `PWD` is
    the working directory and no password."""
    for pattern, instead in _IN_TEXT:
        text = pattern.sub(instead, text)
    for name, value in os.environ.items():
        if name != "PWD" and len(value) >= _SHORTEST and value in text and is_secret(name):
            text = text.replace(value, _HIDDEN)
    return text


def public(value: Any) -> Any:
    """A value, to any depth, without the settings that hold credentials, and with all texts `redacted`."""
    if isinstance(value, Mapping):
        return {key: public(own) for key, own in value.items() if not is_secret(str(key))}
    if isinstance(value, list | tuple):
        return [public(own) for own in value]
    return redacted(value) if isinstance(value, str) else value


def in_address(address: Any) -> bool:
    """Whether an address holds credentials."""
    return isinstance(address, str) and ("@" in urlsplit(address).netloc or redacted(address) != address)
