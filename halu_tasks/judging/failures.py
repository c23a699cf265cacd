"""Failing model calls: their errors in one line, and a line now and then while they are retried.

Inspect retries a failing call many times, and for a long time reports nothing.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from contextvars import ContextVar
from urllib.parse import urlsplit

from inspect_ai.hooks import Hooks, ModelRetry, hooks
from inspect_ai.util import display_type
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


# --- retries --------------------------------------------------------------------------------------

probing = ContextVar("probing", default=False)
"""Whether the current call only checks that a model answers; its retries are not reported."""

unanswered: ContextVar[list[ModelRetry] | None] = ContextVar("unanswered", default=None)
"""Collects the attempts of the current call that failed without an HTTP status: a provider may charge for these."""

_INTERVAL = 30.0
"""Seconds between two lines."""
_SHOWS_RETRIES = ("full", "rich")
"""Inspect displays that show retries themselves, and that printed lines would break."""

_heartbeats: list[type[Hooks]] = []


def log_retries() -> None:
    """Start reporting calls that are retried.

    Call it after a model was created. By then, Inspect has announced the hooks that it knows; otherwise it would
    announce this one before every run of everybody who installs the package.
    """
    if not _heartbeats:
        _heartbeats.append(hooks(name="heartbeat", description="reports calls that are retried")(Heartbeat))


class Heartbeat(Hooks):
    """Reports on standard error that calls are retried, at once and then every half minute until none is waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._beating = False
        self._reported = -_INTERVAL
        self._until = 0.0
        self._retries = 0
        self._last: ModelRetry | None = None

    async def on_model_retry(self, data: ModelRetry) -> None:
        """Record a retry, and start reporting unless a report is already running or Inspect's display shows retries."""
        failed = unanswered.get()
        if failed is not None and data.status_code is None:
            failed.append(data)
        if probing.get() or (sys.stderr.isatty() and display_type() in _SHOWS_RETRIES):
            return
        with self._lock:
            self._retries += 1
            self._last = data
            self._until = max(self._until, time.monotonic() + data.wait_time)
            if self._beating:
                return
            self._beating = True
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        time.sleep(max(self._reported + _INTERVAL - time.monotonic(), 0.0))
        while True:
            with self._lock:
                last, retries, remaining = self._last, self._retries, self._until - time.monotonic()
                if last is None or remaining < 0:
                    self._beating, self._retries = False, 0
                    return
            self._reported = time.monotonic()
            why = f"HTTP {last.status_code}" if last.status_code else last.exception_type or "no reply"
            print(
                f"halu-tasks: calls to {last.model_name} fail ({why}) and are retried; retries so far: {retries}, the "
                f"last one in {max(remaining, 1):,.0f} seconds (limit them with --max-retries and --timeout)",
                file=sys.stderr,
                flush=True,
            )
            time.sleep(min(_INTERVAL, remaining + 1))
