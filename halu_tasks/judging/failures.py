"""Describing the errors of model calls in one line."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tenacity import RetryError

from halu_tasks.core.credentials import redacted

_LONGEST = 300
"""Maximum number of characters of a description."""
_MARKUP = re.compile(r"\[/?[a-z]+\]")


def last_error(error: BaseException) -> BaseException:
    """Return the error of the last attempt of a call that was retried, which says more than that it was retried."""
    return (error.last_attempt.exception() or error) if isinstance(error, RetryError) else error


def describe_error(error: BaseException, secret: str | None = None) -> str:
    """Return the type and the message of an error in one line, without credentials.

    Args:
        error: The error of a model call.
        secret: An API key that the message may repeat.
    """
    error = last_error(error)
    text = " ".join(_MARKUP.sub("", str(error)).split())
    if secret:
        text = text.replace(secret, "…")
    return redacted(f"{type(error).__name__}: {text}")[:_LONGEST]


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of the last attempt of a call that failed, if it had one."""
    error = last_error(error)
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def requested_path(error: BaseException) -> str:
    """Return the path of the address that a call which failed was sent to; empty if the error does not say."""
    error = last_error(error)
    request = getattr(error, "request", None) or getattr(getattr(error, "response", None), "request", None)
    return urlsplit(str(getattr(request, "url", "") or "")).path
