"""Ask a server with OpenAI's chat completions without a provider's client, whose calls take ten times as long.

This is the first attempt at the call that Inspect would make, with the same body and headers. If it fails, Inspect
makes the call, and for a while all others, since it knows what to try again, and when.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import anyio
from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage

Settings = Callable[[Any, GenerateConfig, bool], dict[str, Any]]
# seconds for which only Inspect makes calls after one has failed
_PAUSE = 60.0


class FailedAttemptError(Exception):
    """An attempt has failed: `status_code` is the HTTP status; None if there was none, so that it may be charged."""

    def __init__(self, status_code: int | None = None) -> None:
        super().__init__(status_code)
        self.status_code = status_code


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
        self._paused_until = 0.0

    @property
    def is_paused(self) -> bool:
        """Whether a call has failed a short time ago."""
        return time.monotonic() < self._paused_until

    async def ask(self, text: str, config: GenerateConfig) -> Answered | ModelOutput:
        """Ask the model once.

        Args:
            text: The prompt.
            config: Settings of the call, which take precedence over the model's.

        Raises:
            FailedAttemptError: The server does not answer in time, or with an error.
        """
        if id(config) not in self._bodies:
            merged = self._model.config.merge(config)
            body = json.dumps({**self._settings(self._model.api, merged, False), "messages": [{"role": "user"}]})
            self._bodies[id(config)] = config, body.removesuffix("}]}")
        body = f'{self._bodies[id(config)][1]}, "content": {json.dumps(text)}}}]}}'
        key = {"Authorization": f"Bearer {self._client.api_key}"}
        status = None
        try:
            async with self._places, self._session.post(self._url, data=body, headers=key) as response:
                status, content = response.status, await response.read()
            if status == 200:
                return _output(json.loads(content))
        except (ClientError, OSError, ValueError):  # TimeoutError is an OSError, and what is no JSON is a ValueError
            pass
        self._paused_until = time.monotonic() + _PAUSE
        raise FailedAttemptError(None if status == 200 else status)


def _output(completion: dict[str, Any]) -> Answered | ModelOutput:
    """Return the text and the usage of a plain answer; Inspect reads any other, such as one with reasoning."""
    try:
        message, usage = completion["choices"][0]["message"], completion["usage"]
        parts = {name for name, value in message.items() if value}
        details = usage.get("prompt_tokens_details") or {}
        if parts <= {"role", "content"} and "<" not in message["content"] and not any(details.values()):
            counts = ModelUsage(input_tokens=usage["prompt_tokens"], output_tokens=usage["completion_tokens"])
            return Answered(message["content"], counts)
    except (LookupError, TypeError, AttributeError):
        pass
    from inspect_ai.model._openai import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
        chat_choices_from_openai,
        model_output_from_openai,
    )
    from openai.types.chat import ChatCompletion

    known = ChatCompletion.construct(**completion)
    return model_output_from_openai(known, chat_choices_from_openai(known, []))


@asynccontextmanager
async def chat_server(model: Model) -> AsyncIterator[ChatServer | None]:
    """Open connections to the server of a model.

    Yields None if it has another protocol, is behind a proxy, or is asked in batches.
    """
    api: Any = model.api
    settings = None if model.config.batch else _settings_of(api)
    if settings is None or _has_proxy(api):
        yield None
        return
    headers = {name: value for name, value in api.client.default_headers.items() if isinstance(value, str)}
    connector, timeout = TCPConnector(limit=0), ClientTimeout(total=model.config.attempt_timeout)
    async with ClientSession(connector=connector, timeout=timeout, headers=headers) as session:
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
