"""Credentials: which key a model is asked with, and one filter for all that this package writes or prints."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

# names of settings that hold credentials: `api_key`, `auth_token`, `Authorization`, `default_headers` …
_NAME = re.compile(
    r"(?:\A|[_\W])(?:keys?|token|secrets?|passwords?|pass_?phrases?|passcode|passwd|pwd|auth|authorization|bearer|credentials?|headers?"
    r"|cookies?)\Z|api[_-]?keys?\Z",
    re.IGNORECASE,
)

_HIDDEN = "***"
# names that hold credentials wherever they stand; a `key` is one only in an address
_IN_WORDS = r"api[_-]?key|token|secret|passw(?:or)?d|pass_?phrase|passcode|pwd"
_IN_TEXT = (
    # http://user:password@host, ?api_key=…, {"Authorization": "Bearer …"}, token=…, {"token": "…"}, sk-…
    (re.compile(r"(?<=://)[^\s/?#'\"]+@"), ""),
    (re.compile(r"(?<=[?&])([\w-]*(?:key|auth|sig|signature|credential|" + _IN_WORDS + r")=)[^&#\s'\"]+", re.I),
     rf"\1{_HIDDEN}"),
    (re.compile(r"(\bauthorization['\"]?\s*[:=]\s*['\"]?(?:\w+\s+)?)[^\s'\",}]+", re.I), rf"\1{_HIDDEN}"),
    (re.compile(r"(\bBearer\s+)[\w.~+/=-]{8,}"), rf"\1{_HIDDEN}"),
    # in quotes, a passphrase has spaces
    (re.compile(rf"(?<![^\W_])((?:{_IN_WORDS})['\"]?\s*[:=]\s*(['\"]))(?!none\b)(?:\\.|(?!\2)[^\\\n])+", re.I),
     rf"\1{_HIDDEN}"),
    (re.compile(rf"(?<![^\W_])((?:{_IN_WORDS})(?:=|['\"]\s*:\s*)['\"]?)(?!none\b)[^&#\s'\",;)}}\]]+", re.I),
     rf"\1{_HIDDEN}"),
    # keys by their form: only OpenAI's contain - and _, so hf_OWNER_NAME, a folder of a run, is none
    (re.compile(r"\bsk-(?=[\w-]*\d)[\w-]{20,}"), _HIDDEN),
    (re.compile(r"\b(?:hf_|gsk_|xai-|ghp_)[A-Za-z0-9]{30,}(?![\w-])"), _HIDDEN),
)  # fmt: skip
# minimum length of an environment variable's value to redact; shorter ones, such as `none`, are not secrets
_SHORTEST = 8
# what a terminal would obey instead of showing it: all control characters but tab and line feed, marks of direction
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_OPENAI = "OPENAI_API_KEY"
_USERS = "HALU_TASKS_"
"""The prefix of the variable that keeps the user's key while its usual variable has the key of another server."""


# --- keys -----------------------------------------------------------------------------------------


def key_of(model: str, address: str | None) -> tuple[str, str | None]:
    """Return the environment variable of the key of a model's provider, and the key that the model is asked with.

    A key goes only to its provider, or to an address that the user gave for a model of that provider.

    Args:
        model: The model, named as in Inspect; `openai-api/local/NAME` has its key in LOCAL_API_KEY.
        address: The address of its server, if the user gave one.

    Returns:
        The variable, and the key: a placeholder if the server may need none, since clients insist on one; None if the
        client finds it.
    """
    provider, _, rest = model.partition("/")
    provider = rest.partition("/")[0] if provider == "openai-api" else provider
    variable = f"{provider.replace('-', '_').upper()}_API_KEY"
    key = os.environ.get(_USERS + variable) or (os.environ.get(variable) if address else None)
    return variable, key or ("none" if address else None)


def key_variables(model: str, address: str | None, *, in_lm_eval: bool) -> dict[str, str]:
    """Return the environment variables by which a harness's client has the key of a model; none if it finds it.

    Args:
        model: As in `key_of`.
        address: As in `key_of`; for Inspect, the environment may name one instead.
        in_lm_eval: Whether the harness is lm-eval, whose client asks any server with the key of OpenAI. That of Inspect
            asks none without a key.
    """
    variable, _ = key_of(model, None)
    address = address or (None if in_lm_eval else os.environ.get(variable.removesuffix("API_KEY") + "BASE_URL"))
    key, users = key_of(model, address)[1], os.environ.get(_OPENAI)
    if key is None or (variable == _OPENAI if in_lm_eval else os.environ.get(variable)):
        return {}
    return {_OPENAI: key, **({_USERS + _OPENAI: users} if users else {})} if in_lm_eval else {variable: key}


# --- what is written and printed ------------------------------------------------------------------


def is_secret(name: str) -> bool:
    """Whether a setting with this name may hold credentials."""
    return bool(_NAME.search(name))


def redacted(text: str) -> str:
    """Remove credentials from a string.

    These are credentials in addresses, authorization headers and settings, and the values of environment variables with
    secret names (a server's error may repeat a key). The shell's `PWD` is the working directory and no password.
    """
    for pattern, instead in _IN_TEXT:
        text = pattern.sub(instead, text)
    for name, value in os.environ.items():
        if name != "PWD" and len(value) >= _SHORTEST and value in text and is_secret(name):
            text = text.replace(value, _HIDDEN)
    return text


def escaped(text: str) -> str:
    """Escape control characters, which a terminal would obey."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def printable(text: str) -> str:
    """Remove credentials from a message and escape its control characters."""
    return escaped(redacted(text))


def public(value: Any) -> Any:
    """Copy a nested value without settings that hold credentials and with all strings redacted."""
    if isinstance(value, Mapping):
        return {key: public(entry) for key, entry in value.items() if not is_secret(str(key))}
    if isinstance(value, list | tuple):
        return [public(element) for element in value]
    return redacted(value) if isinstance(value, str) else value


def secret_in(value: Any) -> str | None:
    """Return where a nested value holds credentials, such as `client_args: headers`; None if it holds none."""
    if isinstance(value, str):
        return None if redacted(value) == value else ""
    entries = dict(enumerate(value)) if isinstance(value, list | tuple) else value
    for key, entry in entries.items() if isinstance(entries, Mapping) else ():
        if (within := "" if is_secret(str(key)) else secret_in(entry)) is not None:
            return f"{key}: {within}" if within else str(key)
    return None
