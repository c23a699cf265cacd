"""Removing credentials from settings, addresses and messages before they are logged or written to a file.

All settings, addresses and messages that this package writes pass through here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

# names of settings that hold credentials: `api_key`, `auth_token`, `Authorization`, `default_headers` …
_NAME = re.compile(
    r"(?:\A|[_\W])(?:keys?|token|secrets?|passwords?|passwd|pwd|auth|authorization|bearer|credentials?|headers?"
    r"|cookies?)\Z|api[_-]?keys?\Z",
    re.IGNORECASE,
)

_HIDDEN = "***"
_IN_TEXT = (
    # http://user:password@host, ?api_key=…, {"Authorization": "Bearer …"}
    (re.compile(r"(?<=://)[^\s/?#'\"]+@"), ""),
    (re.compile(r"(?<=[?&])([\w-]*(?:key|token|secret|password|auth|sig)=)[^&#\s'\"]+", re.I), rf"\1{_HIDDEN}"),
    (re.compile(r"(\bauthorization['\"]?\s*[:=]\s*['\"]?(?:\w+\s+)?)[^\s'\",}]+", re.I), rf"\1{_HIDDEN}"),
    (re.compile(r"(\bBearer\s+)[\w.~+/=-]{8,}"), rf"\1{_HIDDEN}"),
)
# minimum length of an environment variable's value to redact; shorter ones, such as `none`, are not secrets
_SHORTEST = 8


def is_secret(name: str) -> bool:
    """Return whether a setting with this name may hold credentials."""
    return bool(_NAME.search(name))


def redacted(text: str) -> str:
    """Remove credentials from a string.

    These are credentials in addresses, authorization headers, and the values of environment variables with secret
    names (a server's error may repeat a key). The shell's `PWD` is the working directory and no password.
    """
    for pattern, instead in _IN_TEXT:
        text = pattern.sub(instead, text)
    for name, value in os.environ.items():
        if name != "PWD" and len(value) >= _SHORTEST and value in text and is_secret(name):
            text = text.replace(value, _HIDDEN)
    return text


def public(value: Any) -> Any:
    """Copy a nested value without settings that hold credentials and with all strings redacted."""
    if isinstance(value, Mapping):
        return {key: public(entry) for key, entry in value.items() if not is_secret(str(key))}
    if isinstance(value, list | tuple):
        return [public(element) for element in value]
    return redacted(value) if isinstance(value, str) else value


def in_address(address: Any) -> bool:
    """Return whether an address holds credentials."""
    return isinstance(address, str) and ("@" in urlsplit(address).netloc or redacted(address) != address)
