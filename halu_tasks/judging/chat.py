"""Asks servers that have OpenAI's chat completions, without Inspect's client.

Inspect's client takes ten times as much processor time per call, which slows 64 calls at once
(docs/decisions/0013-what-the-harness-does.md). Requests are those that Inspect would send. A call is one request: it is
not retried, redirects are not followed, and the size of the response is limited.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import anyio
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector
from inspect_ai.model import GenerateConfig, Model, ModelUsage

from halu_tasks.core.limits import exceeded, limit

Settings = Callable[[Any, GenerateConfig, bool], dict[str, Any]]
# the HTTP statuses below 500 after which the same request may be answered
_TRANSIENT = (408, 429)
# characters of an unreadable response that an error quotes
_LONGEST_QUOTE = 80


class ChatError(Exception):
    """A request without an answer.

    Attributes:
        status_code: The HTTP status, or the one that the server states in an error; None if there is none, so that the
            request may be charged.
        is_transient: Whether the same request may be answered later.
        retry_after: The seconds after which the server asks to be asked again, as a header says them.
    """

    def __init__(
        self, message: str, status: int | None = None, *, is_transient: bool = False, retry_after: str | None = None
    ) -> None:
        super().__init__(f"HTTP {status}: {message}" if status else message)
        self.status_code, self.retry_after = status, retry_after
        self.is_transient = is_transient or (status is not None and (status in _TRANSIENT or status >= 500))


class ChatReply(NamedTuple):
    """A reply of a chat server: its text, Inspect's word for why it ended, and its usage if the server reports one."""

    completion: str
    stop_reason: str
    usage: ModelUsage | None


class ChatServer:
    """The server of a model.

    Args:
        model: The model, with the settings of all calls.
        settings: Returns the settings of a call as the server knows them.
        session: The connections.
    """

    def __init__(self, model: Model, settings: Settings, session: ClientSession) -> None:
        self._model, self._settings, self._session = model, settings, session
        self._client: Any = model.api.client  # type: ignore[attr-defined]
        self._url = f"{str(self._client.base_url).rstrip('/')}/chat/completions"
        connections = model.config.max_connections or model.api.max_connections()
        self._connections = anyio.Semaphore(connections, fast_acquire=True)

    async def ask(self, text: str, config: GenerateConfig) -> ChatReply:
        """Send one request.

        Args:
            text: The prompt.
            config: Settings of the call, which take precedence over the model's.

        Raises:
            ChatError: The server does not answer in time, or with an error.
        """
        settings = self._settings(self._model.api, self._model.config.merge(config), False)
        body = {**settings, "messages": [{"role": "user", "content": text}]}
        key = {"Authorization": f"Bearer {self._client.api_key}"}
        try:
            async with (
                self._connections,
                self._session.post(self._url, json=body, headers=key, allow_redirects=False) as response,
            ):
                content = await _content(response)
        except TimeoutError:
            raise ChatError("no answer in time", is_transient=True) from None
        except (ClientError, OSError) as error:
            raise ChatError(f"{type(error).__name__}: {error}", is_transient=True) from None
        if response.status != 200:
            raise _refusal(response, content)
        return _reply(content)


async def _content(response: ClientResponse) -> bytes:
    """Read the body of a response. Compressed ones are refused: a small one could unpack to any size."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ChatError("the server's answer is compressed although the request does not allow it")
    left, parts = limit("max_answer"), []
    async for part in response.content.iter_any():
        left -= len(part)
        if left < 0:
            raise ChatError(str(exceeded("max_answer", "the server's answer")))
        parts.append(part)
    return b"".join(parts)


def _refusal(response: ClientResponse, content: bytes) -> ChatError:
    if address := response.headers.get("Location"):
        # whoever is there must not get the prompts and the key
        return ChatError(f"redirects to {address}, which is not followed: name that address", response.status)
    try:
        message = _stated_error(json.loads(content)) or content.decode("utf-8", "replace")
    except ValueError:
        message = content.decode("utf-8", "replace")
    return ChatError(message or "without a reason", response.status, retry_after=response.headers.get("Retry-After"))


def _stated_error(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return error if isinstance(error, str) else ""
    message, code = error.get("message") or error.get("detail"), error.get("code") or error.get("type")
    return " ".join(str(part) for part in (message, f"({code})" if code and message else "") if part)


def _reply(content: bytes) -> ChatReply:
    try:
        completion = json.loads(content)
    except (ValueError, RecursionError):
        completion = {}
    try:
        choice = completion["choices"][0]
        message = {**choice["message"]}
    except (LookupError, TypeError):
        if stated := _stated_error(completion):
            error = completion.get("error")
            code = error.get("code") if isinstance(error, dict) else None
            raise ChatError(stated, code if isinstance(code, int) and 400 <= code < 600 else None) from None
        text = content.decode("utf-8", "replace").strip()
        raise ChatError(f"the server's answer has no message: {text[:_LONGEST_QUOTE]!r}") from None
    parts = message.get("refusal") or message.get("content")
    text = "".join(map(_text, parts)) if isinstance(parts, list) else _text(parts)
    try:
        tokens = completion["usage"]
        usage = ModelUsage(input_tokens=tokens["prompt_tokens"], output_tokens=tokens["completion_tokens"])
    except (LookupError, TypeError, ValueError):
        usage = None
    reason = choice.get("finish_reason")
    return ChatReply(text, "max_tokens" if reason == "length" else str(reason), usage)


def _text(part: Any) -> str:
    """Return the text of a part of a message; other parts, such as reasoning, have none."""
    text = part.get("text") if isinstance(part, dict) and part.get("type") in ("text", "output_text") else part
    return text if isinstance(text, str) else ""


@asynccontextmanager
async def chat_server(model: Model) -> AsyncIterator[ChatServer | None]:
    """Open connections to the server of a model.

    Yields None if it has another protocol, an address with a password, is behind a proxy, or is asked in batches.
    """
    api: Any = model.api
    settings = None if model.config.batch else _settings_of(api)
    if settings is None or api.client.base_url.userinfo or _has_proxy(api):
        yield None
        return
    headers = {name: value for name, value in api.client.default_headers.items() if isinstance(value, str)}
    headers["Accept-Encoding"] = "identity"
    connector, timeout = TCPConnector(limit=0), ClientTimeout(total=model.config.attempt_timeout)
    async with ClientSession(connector=connector, timeout=timeout, headers=headers, auto_decompress=False) as session:
        yield ChatServer(model, settings, session)


def _has_proxy(api: Any) -> bool:
    url, proxies = api.client.base_url, getproxies()
    return bool({url.scheme, "all"} & proxies.keys()) and not proxy_bypass(url.host)


def _settings_of(api: Any) -> Settings | None:
    """Return Inspect's function for the settings of a call; None unless the provider has plain chat completions."""
    try:
        from inspect_ai.model._providers.openai import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
            OpenAIAPI,
        )
        from inspect_ai.model._providers.openai_compatible import (  # inspect-evals-lint: ignore[IECQ001] -- private
            OpenAICompatibleAPI,
        )
        from inspect_ai.model._providers.openai_completions import (  # inspect-evals-lint: ignore[IECQ001] -- private
            completion_params_completions,
        )
    except ImportError:  # without the package openai, or in another version of Inspect
        return None
    # other providers are derived from these, and change what is sent
    if type(api) is OpenAIAPI and not (api.service or api.responses_api or api.streaming):
        return completion_params_completions
    if type(api) is OpenAICompatibleAPI and not (
        api.responses_api or api.stream or api.emulate_tools or api.client_timeout
    ):
        return OpenAICompatibleAPI.completion_params
    return None
