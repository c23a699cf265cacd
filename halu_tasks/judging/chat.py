"""Ask a server with OpenAI's chat completions without a provider's client, whose calls take twenty times as long.

The body and the headers are those that Inspect would send. A call is one request: nothing is tried again here, no
redirect is followed, and an answer has a largest size.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import anyio
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage

from halu_tasks.core.limits import exceeded, limit

Settings = Callable[[Any, GenerateConfig, bool], dict[str, Any]]
# the HTTP statuses that may pass, as those from 500 on
_MAY_PASS = (408, 429)
# how much of an answer that is none is shown
_SHOWN = 80


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
        self.is_transient = is_transient or (status is not None and (status in _MAY_PASS or status >= 500))


class Answered(NamedTuple):
    """What judges use of a model's output: its text, and the usage that its server reports."""

    completion: str
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
        places = model.config.max_connections or model.api.max_connections()
        self._places = anyio.Semaphore(places, fast_acquire=True)
        # by the identity of the settings of a call, which are kept: what a call sends before its prompt
        self._bodies: dict[int, tuple[GenerateConfig, str]] = {}

    async def ask(self, text: str, config: GenerateConfig) -> Answered | ModelOutput:
        """Send one request.

        Args:
            text: The prompt.
            config: Settings of the call, which take precedence over the model's.

        Raises:
            ChatError: The server does not answer in time, or with an error.
        """
        if id(config) not in self._bodies:
            merged = self._model.config.merge(config)
            body = json.dumps({**self._settings(self._model.api, merged, False), "messages": [{"role": "user"}]})
            self._bodies[id(config)] = config, body.removesuffix("}]}")
        body = f'{self._bodies[id(config)][1]}, "content": {json.dumps(text)}}}]}}'
        key = {"Authorization": f"Bearer {self._client.api_key}"}
        try:
            async with (
                self._places,
                self._session.post(self._url, data=body, headers=key, allow_redirects=False) as response,
            ):
                content = await _content(response)
        except TimeoutError:
            raise ChatError("no answer in time", is_transient=True) from None
        except (ClientError, OSError) as error:
            raise ChatError(f"{type(error).__name__}: {error}", is_transient=True) from None
        if response.status != 200:
            raise _refusal(response, content)
        return _output(content)


async def _content(response: ClientResponse) -> bytes:
    """Return the body of a response, which is not compressed: little could become much."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ChatError("the server's answer is compressed although the request does not allow it")
    most, parts = limit("max_answer"), []
    async for part in response.content.iter_any():
        most -= len(part)
        if most < 0:
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
    """Return what a server says of an error; an empty string if it says nothing."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return error if isinstance(error, str) else ""
    message, code = error.get("message") or error.get("detail"), error.get("code") or error.get("type")
    return " ".join(str(part) for part in (message, f"({code})" if code and message else "") if part)


def _output(content: bytes) -> Answered | ModelOutput:
    """Return the text and the usage of a plain answer; Inspect reads any other, such as one with reasoning or cut off.

    Raises:
        ChatError: It is no answer.
    """
    try:
        completion = json.loads(content)
    except (ValueError, RecursionError):
        completion = {}
    try:
        choice = completion["choices"][0]
        message = {**choice["message"]}
    except (LookupError, TypeError):
        if said := _stated_error(completion):
            error = completion.get("error")
            code = error.get("code") if isinstance(error, dict) else None
            raise ChatError(said, code if isinstance(code, int) and 400 <= code < 600 else None) from None
        text = content.decode("utf-8", "replace").strip()
        raise ChatError(f"the server's answer has no message: {text[:_SHOWN]!r}") from None
    if isinstance(message.get("content"), list):
        choice["message"] = message = message | {"content": "".join(map(_text, message["content"]))}
    try:
        usage = completion["usage"]
        parts = {name for name, value in message.items() if value}
        details = usage.get("prompt_tokens_details") or {}
        is_plain = parts <= {"role", "content"} and choice.get("finish_reason") in (None, "stop")
        if is_plain and "<" not in message["content"] and not any(details.values()):
            counts = ModelUsage(input_tokens=usage["prompt_tokens"], output_tokens=usage["completion_tokens"])
            return Answered(message["content"], counts)
    except (LookupError, TypeError, AttributeError, ValueError):
        pass
    from inspect_ai.model._openai import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
        chat_choices_from_openai,
        model_output_from_openai,
    )
    from openai.types.chat import ChatCompletion

    known = ChatCompletion.construct(**completion)
    return model_output_from_openai(known, chat_choices_from_openai(known, []))


def _text(part: Any) -> str:
    """Return the text of a part of a message; parts of other types, such as what a model thinks, have none."""
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
    """Return how Inspect writes the settings of a call; None if a provider is not plain chat completions."""
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
