"""Checking that models answer before work begins."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextvars import Context
from urllib.parse import urlsplit

import anyio
from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model, model_roles
from tenacity import RetryError

from halu_tasks.core.errors import HaluTasksError, ModelError
from halu_tasks.judging.blocking import run_blocking
from halu_tasks.judging.failures import describe_error, last_error, log_retries, probing, requested_path, status_of

PROBE = "Reply with the one word: ready"
PATIENCE = 60
"""Seconds within which a model must answer the probe."""
_TOKENS = 64

_IN_PROCESS = ("halu", "mockllm", "none", "hf", "transformer_lens", "nnterp")
"""Providers whose models run in this process."""
_STARTS_SERVER = ("vllm", "vllm-completions", "sglang")
"""Providers that start a server, which takes minutes, unless an address is named."""

_OPENAI = "api.openai.com"

_reached: set[tuple[str, str]] = set()
"""Models that have answered in this process, by name and address."""


def reach(models: Iterable[Model], *, again: bool = False, timeout: int | None = None) -> None:
    """Ask each model a short question, unless it runs in this process or has answered before.

    For callers outside an event loop, or inside another one's. The models are copied, since connections belong to a
    loop.

    Args:
        models: The models to ask.
        again: Also ask models that have answered before.
        timeout: The timeout of calls in seconds, if it is longer than `PATIENCE`.

    Raises:
        ModelError: A model does not answer; the message says why and what to do.
    """
    served = {_identity(model): model for model in models if _served(model)}
    copies = [copy for key, model in served.items() if again or key not in _reached if (copy := _copy(model))]
    if copies:
        run_blocking(lambda: _reach_all(copies, timeout))


def probe(model: Model, settings: GenerateConfig | None = None) -> ModelOutput | None:
    """Ask a model a short question, wherever it runs, and return its reply.

    Args:
        model: The model.
        settings: Settings of the call, such as `logprobs`.

    Returns:
        The reply; None if the server is there but overloaded.

    Raises:
        ModelError: The model does not answer; the message says why and what to do.
    """
    replies: list[ModelOutput | None] = []

    async def ask() -> None:
        copy = _copy(model) or model
        async with copy:
            replies.append(await _reach(copy, settings=settings))

    run_blocking(ask)
    return replies[0]


def reach_active() -> None:
    """Check that the models of the current eval answer, except the judge; does nothing outside of an eval.

    Raises:
        ModelError: A model does not answer.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # tasks that are going to be run are created inside Inspect's event loop
        return
    log_retries()
    try:
        active = get_model()
    except Exception:
        # no model is named, which Inspect reports
        return
    roles = [models for role, models in model_roles().items() if role != "grader"]
    reach([active, *(model for models in roles for model in (models if isinstance(models, list) else [models]))])


async def reach_here(model: Model) -> None:
    """Ask a model a short question on the connections of the running event loop.

    The call appears neither in the log nor in the usage of the current sample.

    Raises:
        ModelError: It does not answer.
    """
    errors: list[HaluTasksError] = []

    async def ask() -> None:
        try:
            await _reach(model)
        except HaluTasksError as error:
            errors.append(error)

    if _served(model):
        async with anyio.create_task_group() as group:
            # transcript and usage are context variables, so a new context hides them
            Context().run(group.start_soon, ask)
    if errors:
        raise errors[0]


def exhausted(error: BaseException) -> bool:
    """Whether a call failed for good, after retries."""
    return isinstance(error, RetryError)


def address_of(model: Model) -> str:
    """Return the address that a model is served at, without credentials; empty if unknown."""
    url = str(getattr(model.api, "base_url", None) or "")
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else url


def _identity(model: Model) -> tuple[str, str]:
    return str(model), address_of(model)


def _served(model: Model) -> bool:
    """Return whether the model has a server that is already running."""
    return has_server(str(model), address_of(model))


def has_server(model: str, address: str | None) -> bool:
    """Return whether a model has a server that is already running.

    Args:
        model: The model, named as in Inspect.
        address: The address of its server; empty or None if none is named.
    """
    provider = model.partition("/")[0]
    if provider in _STARTS_SERVER:
        return bool(address or os.environ.get(f"{provider.partition('-')[0].upper()}_BASE_URL"))
    return provider not in _IN_PROCESS


def _copy(model: Model) -> Model | None:
    """Create the same model with its own connections; None if the provider cannot."""
    arguments = {name: getattr(model.api, name, None) for name in ("base_url", "api_key")}
    try:
        return get_model(str(model), config=model.config, memoize=False, **{**arguments, **model.model_args})
    except Exception:
        return None


async def _reach_all(models: Iterable[Model], timeout: int | None) -> None:
    for model in models:
        async with model:
            await _reach(model, timeout)


async def _reach(
    model: Model, timeout: int | None = None, settings: GenerateConfig | None = None
) -> ModelOutput | None:
    probing.set(True)
    patience = max(PATIENCE, timeout or model.config.timeout or 0)
    config = GenerateConfig(
        max_tokens=_TOKENS, max_retries=1, timeout=patience, attempt_timeout=patience, batch=False, cache=False
    )
    try:
        reply = await _generate(model, config.merge(settings or GenerateConfig()))
    except Exception as error:
        _reached.discard(_identity(model))
        # servers repeat the key that they reject
        key = getattr(model.api, "api_key", None)
        raise model_error(str(model), address_of(model), last_error(error), patience, key) from None
    _reached.add(_identity(model))
    return reply


async def _generate(model: Model, config: GenerateConfig) -> ModelOutput | None:
    """Return the reply to the probe; None if the server is overloaded."""
    try:
        return await model.generate(PROBE, config=config)
    except Exception as error:
        status = status_of(error)
        if status in (400, 422):
            # reasoning models reject a token limit that is too low
            return await model.generate(PROBE, config=config.model_copy(update={"max_tokens": None}))
        if status != 429:
            raise
        # 429: the server is there, but overloaded
        return None


def model_error(
    model: str, address: str, error: BaseException, patience: int = PATIENCE, key: object = None
) -> ModelError:
    """Return the error that says why a model does not answer, and what to do.

    Args:
        model: The model's name.
        address: The address of its server; empty if unknown.
        error: The error of the call.
        patience: The timeout of the call in seconds.
        key: The API key, which the message must not repeat.
    """
    place = f" at {address}" if address else ""
    why = describe_error(error, str(key) if key else None)
    status = status_of(error)
    if status in (401, 403):
        return ModelError(f"model {model}{place} rejects the API key ({why}); set the API key of its provider")
    if status == 404:
        return _not_found(model, address, why, error)
    if "Timeout" in type(error).__name__:
        return ModelError(
            f"model {model}{place} did not reply within {patience} seconds; check its server, or wait longer with "
            "--timeout SECONDS"
        )
    return ModelError(
        f"model {model}{place} cannot be reached ({why}); start its server, or correct its base URL (--base-url, "
        "--model-base-url or --judge-base-url, or the environment variable of its provider)"
    )


def _not_found(model: str, address: str, why: str, error: BaseException) -> ModelError:
    """Return the error of a request that a server answered with 404: no such model, or no such path."""
    name = model.partition("/")[2] or model
    path = requested_path(error)
    server = urlsplit(address.removesuffix("/chat/completions"))
    if server.netloc and not server.path.strip("/"):
        corrected = f"{server.scheme}://{server.netloc}/v1"
        where = f"the address, which usually ends with /v1: {corrected}"
    else:
        where = "the address"
    # a server that has the path says which model it does not have
    if model.startswith("openai/") and server.hostname != _OPENAI and path.endswith("/responses") and name not in why:
        also = "" if where == "the address" else f"; correct {where}"
        return ModelError(
            f"the server at {address} has no Responses API (404 for {path}), by which Inspect asks {model}; name the "
            f"model openai-api/local/{name}, with its key in LOCAL_API_KEY ('none' if it needs none){also}"
        )
    place = f" at {address}" if address else ""
    return ModelError(f"model {model} was not found{place} ({why}); correct its name or {where}")
