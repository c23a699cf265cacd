"""Calls of models that fail: a question before work begins, errors in one line, and a line about retries."""

import asyncio
import logging
import random
import re
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextvars import Context, ContextVar
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from anyio.from_thread import start_blocking_portal
from inspect_ai.hooks import Hooks, ModelRetry, hooks
from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.util import display_type
from tenacity import RetryError

from halu_tasks.core.credentials import redacted
from halu_tasks.core.errors import ModelError, RejectedError, is_refused

logger = logging.getLogger(__name__)

T = TypeVar("T")

PROBE = "Reply with the one word: ready"
PATIENCE = 60
"""Seconds within which a model must answer the probe."""
# the HTTP statuses by which a server rejects a field or a value of a request
_INVALID = (400, 422)
_TOKENS = 64
# maximum number of characters of the description of an error
_LONGEST = 300
# seconds for which a call waits in all because its server says that there are too many, and the longest other pause
_RATE_LIMIT_PATIENCE, _LONGEST_PAUSE = 600.0, 30.0
_MARKUP = re.compile(r"\[/?[a-z]+\]")

# providers whose models run in this process
_IN_PROCESS = ("halu", "mockllm", "none", "hf", "transformer_lens", "nnterp")
# providers that start a server, which takes minutes, unless an address is named
_STARTS_SERVER = ("vllm", "vllm-completions", "sglang")

# models that have answered in this process, by name and address; also with the form of a request that they have taken
_reached: set[tuple[str, ...]] = set()


def run_blocking(run: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a new event loop, whether or not one is already running, as in a notebook.

    On Ctrl-C, pending questions are cancelled; answered ones are cached.
    """
    with start_blocking_portal() as portal:
        # a new context hides the transcript and the usage of a sample
        return Context().run(portal.call, run)


# --- a question before work begins ------------------------------------------------------------------


class FirstRequest(NamedTuple):
    """What a task asks a model first.

    Attributes:
        task: The name of the task.
        messages: The messages.
        config: The settings of the call.
        advice: What to do if the server refuses the system role, and if it refuses a setting.
        schema_optional: Whether the task is asked without its response schema if the server refuses that.
    """

    task: str
    messages: list[ChatMessage]
    config: GenerateConfig
    advice: tuple[str, str]
    schema_optional: bool = False

    @property
    def form(self) -> tuple[str, ...]:
        """What it has in common with requests that a server takes or refuses alike, whatever their content."""
        return (*dict.fromkeys(m.role for m in self.messages), self.config.model_dump_json(exclude_none=True))


def reach(
    models: Iterable[Model], first: Sequence[FirstRequest] = (), *, again: bool = False, timeout: int | None = None
) -> None:
    """Ask each model a question, unless it runs in this process or has answered before.

    For callers outside an event loop, or inside another one's.

    Args:
        models: The models to ask.
        first: What tasks ask first, which is then asked, once for each form; otherwise, a short question is.
        again: Also ask models that have answered before.
        timeout: The timeout of calls in seconds, if it is longer than `PATIENCE`.

    Raises:
        ModelError: A model does not answer, or refuses a request; the message says why and what to do.
    """
    forms = {request.form: request for request in first}
    for key, model in {_identity(model): model for model in models if has_server(model)}.items():
        new: dict[tuple[str, ...], FirstRequest | None]
        new = {(*key, *form): request for form, request in forms.items()} or {key: None}
        due = [request for identity, request in new.items() if again or identity not in _reached]
        # connections belong to an event loop, so a copy is asked
        if due and (copy := _copy(model)):
            run_blocking(partial(_reach, copy, due, timeout))
            _reached.update({key, *new})


def _copy(model: Model) -> Model | None:
    """Create the same model with its own connections; None if the provider cannot."""
    arguments = {name: getattr(model.api, name, None) for name in ("base_url", "api_key")}
    try:
        return get_model(str(model), config=model.config, memoize=False, **{**arguments, **model.model_args})
    except Exception:
        return None


def reach_active(first: Sequence[FirstRequest] = ()) -> None:
    """Check that the models of the current eval answer; does nothing outside of an eval.

    Args:
        first: What the main model is asked first.

    Raises:
        ModelError: A model does not answer, or refuses a request.
    """
    if models := active_models():
        log_retries()
        reach(models[:1], first)
        reach(models[1:])


def active_models() -> list[Model]:
    """Return the models of the current eval, the main one first; none outside of an eval."""
    try:
        # tasks that are going to be run are created inside Inspect's event loop
        asyncio.get_running_loop()
        active = get_model()
    except Exception:
        # or no model is named, which Inspect reports
        return []
    roles = model_roles().values()
    return [active, *(model for models in roles for model in (models if isinstance(models, list) else [models]))]


def has_server(model: Model) -> bool:
    """Whether a model has a server that is already running."""
    name, address = _identity(model)
    provider = name.partition("/")[0]
    return bool(address) if provider in _STARTS_SERVER else provider not in _IN_PROCESS


def _identity(model: Model) -> tuple[str, str]:
    return str(model), str(getattr(model.api, "base_url", None) or "")


async def _reach(model: Model, requests: Sequence[FirstRequest | None], timeout: int | None) -> None:
    """Send requests to a model, a short question for None. A model whose server is overloaded counts as reached."""
    _probing.set(True)
    patience = max(PATIENCE, timeout or model.config.timeout or 0)
    config = GenerateConfig(max_retries=1, timeout=patience, attempt_timeout=patience, batch=False, cache=False)
    try:
        async with model:
            for request in requests:
                await (_ask_first(model, request, config) if request else _ask_shortly(model, config))
    except ModelError:
        raise
    except Exception as error:
        if status_of(error) != 429:
            _reached.difference_update({identity for identity in _reached if identity[:2] == _identity(model)})
            # servers repeat the key that they reject
            key = getattr(model.api, "api_key", None)
            raise model_error(*_identity(model), last_error(error), patience, key) from None


async def _ask_shortly(model: Model, config: GenerateConfig) -> None:
    if await _refusal(model, [ChatMessageUser(content=PROBE)], config.merge(GenerateConfig(max_tokens=_TOKENS))):
        # reasoning models reject a token limit that is too low
        await model.generate(PROBE, config=config)


async def _ask_first(model: Model, request: FirstRequest, config: GenerateConfig) -> None:
    """Send the first request of a task.

    If it is rejected, a short question with the same system text and settings tells whether its content is the reason,
    which concerns one item; and one without the system text, whether that role is.

    Raises:
        RejectedError: The server rejects the system role or a setting.
    """
    settings = request.config.merge(config)
    try:
        error = await _refusal(model, request.messages, settings)
    except Exception as late:
        if "Timeout" not in type(last_error(late)).__name__:
            raise
        # a long reply takes its time, while a setting is rejected at once
        await _ask_shortly(model, config)
        return
    if error and request.schema_optional:
        settings = settings.model_copy(update={"response_schema": None})
        error = await _refusal(model, request.messages, settings)
    if not error:
        return
    key = str(getattr(model.api, "api_key", None) or "")
    system = [message for message in request.messages if message.role == "system"]
    question = ChatMessageUser(content=PROBE)
    of_form = await _refusal(model, [*system, question], settings)
    if of_form and status_of(of_form) not in _INVALID:
        raise of_form
    if not of_form:
        logger.warning("%s: %s rejects the first item (%s)", request.task, model, describe_error(error, key))
        return
    takes_no_system = bool(system) and not await _refusal(model, [question], settings)
    problem, advice = "the system role" if takes_no_system else "the settings", request.advice[not takes_no_system]
    name, address = _identity(model)
    raise RejectedError(
        f"model {name}{f' at {address}' if address else ''} rejects {problem} of {request.task} "
        f"({describe_error(of_form, key)}); {advice}"
    )


async def _refusal(model: Model, messages: list[ChatMessage], config: GenerateConfig) -> Exception | None:
    """Send a request; return the error by which the server rejects it, None if it does not."""
    try:
        await model.generate(list(messages), config=config)
    except Exception as error:
        if not is_refusal(error):
            raise
        return error
    return None


# --- errors -----------------------------------------------------------------------------------------


def last_error(error: BaseException) -> BaseException:
    """Return the error of the last attempt of a retried call, which says more than the error of the retries."""
    return (error.last_attempt.exception() or error) if isinstance(error, RetryError) else error


def describe_error(error: BaseException, secret: str | None = None) -> str:
    """Return the type and the message of an error in one line, without credentials.

    Args:
        error: The error of a model call.
        secret: An API key that the message may repeat.
    """
    error = last_error(error)
    # Inspect's own text of an error has the whole request before the server's message
    message = getattr(error, "provider_message", None)
    error = (error.__cause__ or error) if message else error
    text = " ".join(_MARKUP.sub("", str(message or error)).split())
    if secret:
        text = text.replace(secret, "…")
    return redacted(f"{type(error).__name__}: {text}")[:_LONGEST]


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of the last attempt of a call that failed, if it had one."""
    error = last_error(error)
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def is_refusal(error: BaseException) -> bool:
    """Whether a call failed because the server refuses the request and would refuse it again."""
    return is_refused(status_of(error), describe_error(error))


def refusal(error: BaseException, model: str) -> ModelOutput | None:
    """Return the output of a request that the server refuses and would refuse again; None for any other error.

    Args:
        error: The error of the call, after which no schema of the reply is left to leave out.
        model: The model's name.
    """
    if not is_refusal(error):
        return None
    return ModelOutput.from_content(model, "", stop_reason="unknown", error=describe_error(error))


def failure_of(output: ModelOutput) -> str:
    """Return why an output is not a reply of the model; empty if it is.

    Inspect's providers return the server's message about a request that was filtered or too long as if it were the
    reply. A reply that was cut off because the context was full has used tokens, unlike such a message.
    """
    if not output.choices:
        return output.error or ""
    stop, details = output.stop_reason, output.choices[0].stop_details
    stops = [stop] if stop == "content_filter" or (stop == "model_length" and output.usage is None) else []
    if not stops and not output.error:
        return ""
    why = output.error or (details and details.explanation) or ("" if output.usage else output.completion)
    return redacted(": ".join([*stops, *([" ".join(why.split())[:_LONGEST]] if why else [])]))


def is_transient(error: BaseException) -> bool:
    """Whether a call failed in a way that may pass, so that it is worth a retry.

    Inspect says so by the error that ends its retries. A quota that is used up does not fill again.
    """
    passes = isinstance(error, RetryError) or getattr(error, "is_transient", False)
    return passes and "insufficient_quota" not in str(last_error(error))


class Retries:
    """When a call is made again that failed in a way that may pass.

    A server that has too many calls is waited for, and that is no failure.

    Args:
        most: The most retries after other failures.
    """

    def __init__(self, most: int) -> None:
        self._left, self._failures, self._waited = most, 0, 0.0

    def pause(self, error: BaseException) -> float | None:
        """Return after how many seconds to try again; None to give up.

        Args:
            error: The error of the last attempt.
        """
        if not is_transient(error):
            return None
        is_limited, retry_after = status_of(error) == 429, _retry_after(last_error(error))
        if not is_limited:
            self._left -= 1
        self._failures += 1
        pause = max(retry_after, min(2.0 ** (self._failures - 1), _LONGEST_PAUSE) * random.uniform(0.5, 1.0))
        self._waited += pause
        return None if self._left < 0 or self._waited > _RATE_LIMIT_PATIENCE else pause


def _retry_after(error: BaseException) -> float:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(float(getattr(error, "retry_after", None) or headers.get("retry-after") or 0), 0.0)
    except (TypeError, ValueError):  # a date
        return 0.0


def model_error(
    model: str, address: str, error: BaseException, patience: int = PATIENCE, key: object = None
) -> ModelError:
    """Make the error that says why a model does not answer, and what to do.

    Args:
        model: The model's name.
        address: The address of its server; empty if unknown.
        error: The error of the call.
        patience: The timeout of the call in seconds.
        key: The API key, which the message must not repeat.
    """
    why, status = describe_error(error, str(key) if key else None), status_of(error)
    if status in (401, 403):
        problem, advice = f"rejects the API key ({why})", "set the API key of its provider"
    elif status == 404:
        problem, advice = f"was not found ({why})", _correction(model, address, error)
    elif "Timeout" in type(error).__name__:
        problem = f"did not reply within {patience} seconds"
        advice = "check its server, or wait longer with --timeout SECONDS"
    else:
        problem = f"cannot be reached ({why})"
        advice = (
            "start its server, or correct its base URL (--base-url, --model-base-url or --judge-base-url, or the "
            "environment variable of its provider)"
        )
    return ModelError(f"model {model}{f' at {address}' if address else ''} {problem}; {advice}")


def _correction(model: str, address: str, error: BaseException) -> str:
    """Return advice about a 404: the server has no such model, or no such path."""
    name, server, where = model.partition("/")[2], urlsplit(address.removesuffix("/chat/completions")), "the address"
    if server.netloc and not server.path.strip("/"):
        where += f", which usually ends with /v1: {server.scheme}://{server.netloc}/v1"
    path = getattr(getattr(getattr(error, "request", None), "url", None), "path", "")
    # a server that has the path says which model it does not have
    if model.startswith("openai/") and path.endswith("/responses") and name not in str(error):
        return (
            f"its server has no Responses API (404 for {path}), so name the model openai-api/local/{name}, with its "
            f"key in LOCAL_API_KEY ('none' if it needs none), and check {where}"
        )
    return f"correct its name or {where}"


# --- retries ----------------------------------------------------------------------------------------

# whether the current call only checks that a model answers; its retries are not reported
_probing = ContextVar("probing", default=False)

# seconds between two lines
_INTERVAL = 30.0
# Inspect displays that show retries themselves, and that printed lines would break
_SHOWS_RETRIES = ("full", "rich")


@cache
def log_retries() -> None:
    """Start reporting calls that are retried: Inspect retries them many times, and for a long time reports nothing.

    Call it after a model was created. By then, Inspect has announced the hooks that it knows; otherwise it would
    announce this one before every run of everybody who installs the package.
    """
    hooks(name="heartbeat", description="reports calls that are retried")(RetryReport)


class RetryReport(Hooks):
    """Reports on standard error that calls are retried."""

    async def on_model_retry(self, data: ModelRetry) -> None:
        """Report a retry, unless Inspect's display shows it."""
        why = f"HTTP {data.status_code}" if data.status_code else data.exception_type or "no reply"
        report_retry(data.model_name, why, data.wait_time, " (limit them with --max-retries and --timeout)")


_retries, _reported = 0, -_INTERVAL


def report_retry(model: str, why: str, pause: float, advice: str = "") -> None:
    """Print that a call is retried, at most every half minute, unless Inspect's display shows it.

    Args:
        model: The model's name.
        why: What failed.
        pause: The seconds until the retry.
        advice: How the line ends.
    """
    global _retries, _reported
    if _probing.get() or (sys.stderr.isatty() and display_type() in _SHOWS_RETRIES):
        return
    _retries += 1
    if time.monotonic() - _reported < _INTERVAL:
        return
    _reported = time.monotonic()
    print(
        f"halu-tasks: calls to {model} fail ({why}) and are retried; retries so far: {_retries}, "
        f"this one in {max(pause, 1):,.0f} seconds{advice}",
        file=sys.stderr,
        flush=True,
    )
