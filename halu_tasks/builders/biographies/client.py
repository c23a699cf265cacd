"""Requests to public services: with a contact, at a limited rate, repeated when a service is busy."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, Self

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from halu_tasks import __version__
from halu_tasks.core.errors import DataError

ATTEMPTS = 6
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_BUSY_ERRORS = ("maxlag", "ratelimited", "readonly")
"""Errors of the MediaWiki API, which answers with status 200, after which a request can be repeated."""
_MOST_PATIENCE = 300.0
"""Maximum number of seconds to wait although a service asks for more."""
_backoff = wait_exponential(multiplier=2, max=60)

logger = logging.getLogger(__name__)


class _Busy(Exception):
    """A service that cannot answer now; `after` is the number of seconds that it asks to wait."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Client:
    """Sends one request at a time.

    Args:
        contact: An address of the user (e-mail or web page), by which services can reach whoever burdens them.
        rate: Maximum number of requests per second.
    """

    def __init__(self, contact: str, rate: float) -> None:
        agent = f"halu-tasks/{__version__} ({contact}) python-httpx/{httpx.__version__}"
        self._http = httpx.Client(headers={"User-Agent": agent}, follow_redirects=True, timeout=90)
        self._pause = 1 / rate
        self._next = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get_json(self, url: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return the JSON object at an address.

        Raises:
            DataError: The service refuses the request, or does not answer after several attempts.
        """
        retrying = Retrying(
            retry=retry_if_exception_type(_Busy),
            stop=stop_after_attempt(ATTEMPTS),
            wait=_wait,
            before_sleep=_log,
            reraise=True,
        )
        try:
            return retrying(self._get, url, parameters)
        except _Busy as error:
            raise DataError(f"{url}: no answer after {ATTEMPTS} attempts ({error}); try again later") from None

    def _get(self, url: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + self._pause
        try:
            reply = self._http.get(url, params=dict(parameters))
        except httpx.InvalidURL as error:
            raise DataError(f"{url}: {error}") from None
        except httpx.TransportError as error:
            raise _Busy(str(error) or type(error).__name__) from None
        if reply.status_code in _BUSY:
            raise _Busy(f"status {reply.status_code}", _retry_after(reply))
        if reply.is_error:
            raise DataError(f"{url}: refused with status {reply.status_code}: {' '.join(reply.text.split())[:200]}")
        try:
            content = reply.json()
        except ValueError:
            # the query service ends an answer that takes too long in the middle
            raise _Busy("the answer is not JSON") from None
        if not isinstance(content, dict):
            raise DataError(f"{url}: expected a JSON object")
        return _checked(content, url, reply)


def _checked(content: dict[str, Any], url: str, reply: httpx.Response) -> dict[str, Any]:
    """Return the content of a reply; raise an error if it is one of the MediaWiki API."""
    error = content.get("error")
    if not isinstance(error, dict):
        return content
    if error.get("code") in _BUSY_ERRORS:
        raise _Busy(str(error["code"]), _retry_after(reply))
    raise DataError(f"{url}: {error.get('code')}: {error.get('info')}")


def _retry_after(reply: httpx.Response) -> float | None:
    stated = reply.headers.get("Retry-After", "")
    return min(float(stated), _MOST_PATIENCE) if stated.isdecimal() else None


def _wait(state: RetryCallState) -> float:
    """Return the seconds to wait: as many as the service asks for, or else longer each time."""
    error = state.outcome.exception() if state.outcome else None
    return error.after if isinstance(error, _Busy) and error.after is not None else _backoff(state)


def _log(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    seconds = state.next_action.sleep if state.next_action else 0
    logger.warning("%s: %s; trying again in %.0f s", state.args[0], error, seconds)
