"""Whether a model answers, found out before work begins, and a line now and then while calls to one fail.

Inspect tries a call that fails again and again, and says nothing of it for a long while.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context, ContextVar
from urllib.parse import urlsplit

import anyio
from inspect_ai.hooks import Hooks, ModelRetry, hooks
from inspect_ai.model import GenerateConfig, Model, get_model, model_roles
from inspect_ai.util import display_type
from tenacity import RetryError

from halu_tasks.credentials import redacted
from halu_tasks.errors import HaluTasksError, ModelError

PROBE = "Reply with the one word: ready"
PATIENCE = 60
"""Seconds that a model has to answer it."""
_TOKENS = 64

_IN_PROCESS = ("halu", "mockllm", "none", "hf", "transformer_lens", "nnterp")
"""Providers whose models run in this process."""
_STARTED = ("vllm", "vllm-completions", "sglang")
"""Providers that start a server, which takes minutes, where no address is named."""

_probing = ContextVar("_probing", default=False)

_reached: set[tuple[str, str]] = set()
"""Models, by name and address, that have answered in this process."""


def reach(models: Iterable[Model], *, again: bool = False, timeout: int | None = None) -> None:
    """Ask each model one short question; those that run in this process, or answered before, are left out.

    For callers without an event loop, or inside another one's: the models are copied, as connections belong to a loop.

    Args:
        models: what to ask.
        again: also ask models that answered before.
        timeout: seconds that calls are given, where that is more than `PATIENCE`.

    Raises:
        ModelError: one gives no answer; the message says why and what to do.
    """
    asked = {_identity(model): model for model in models if _served(model)}
    copies = [copy for key, model in asked.items() if again or key not in _reached if (copy := _copy(model))]
    if copies:
        _in_thread(lambda: _reach_all(copies, timeout))


def reach_active() -> None:
    """`reach` for the models of the eval that a task is made for, the judge aside; nothing where it is made for none.

    Raises:
        ModelError: one gives no answer.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # tasks are made in Inspect's event loop where they are going to be run
        return
    tell_retries()
    try:
        active = get_model()
    except Exception:
        # no model is named, which Inspect tells
        return
    roles = [named for role, named in model_roles().items() if role != "grader"]
    reach([active, *(model for named in roles for model in (named if isinstance(named, list) else [named]))])


async def reach_here(model: Model) -> None:
    """Ask a model one short question on the connections of the running loop. Neither the log nor the usage of the
    sample that is being worked on knows of it.

    Raises:
        ModelError: it gives no answer.
    """
    found: list[HaluTasksError] = []

    async def ask() -> None:
        try:
            await _reach(model)
        except HaluTasksError as error:
            found.append(error)

    if _served(model):
        async with anyio.create_task_group() as group:
            # transcript and usage are variables of the context
            Context().run(group.start_soon, ask)
    if found:
        raise found[0]


def exhausted(error: BaseException) -> bool:
    """Whether a call was given up after it was tried again and again."""
    return isinstance(error, RetryError)


def address_of(model: Model) -> str:
    """Where a model is served, without credentials; empty where that is not known."""
    url = str(getattr(model.api, "base_url", None) or "")
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else url


def _identity(model: Model) -> tuple[str, str]:
    return str(model), address_of(model)


def _served(model: Model) -> bool:
    """Whether there is a server, already started, to ask."""
    provider = str(model).partition("/")[0]
    if provider in _STARTED:
        return bool(address_of(model) or os.environ.get(f"{provider.partition('-')[0].upper()}_BASE_URL"))
    return provider not in _IN_PROCESS


def _copy(model: Model) -> Model | None:
    """The same model with its own connections; None if the provider cannot create another one."""
    named = {name: getattr(model.api, name, None) for name in ("base_url", "api_key")}
    try:
        return get_model(str(model), config=model.config, memoize=False, **{**named, **model.model_args})
    except Exception:
        return None


async def _reach_all(models: Iterable[Model], timeout: int | None) -> None:
    for model in models:
        async with model:
            await _reach(model, timeout)


async def _reach(model: Model, timeout: int | None = None) -> None:
    _probing.set(True)
    patience = max(PATIENCE, timeout or model.config.timeout or 0)
    config = GenerateConfig(
        max_tokens=_TOKENS, max_retries=1, timeout=patience, attempt_timeout=patience, batch=False, cache=False
    )
    try:
        await _generate(model, config)
    except Exception as error:
        _reached.discard(_identity(model))
        raise _told(model, _last(error), patience) from None
    _reached.add(_identity(model))


async def _generate(model: Model, config: GenerateConfig) -> None:
    try:
        await model.generate(PROBE, config=config)
    except Exception as error:
        status = _status(_last(error))
        if status in (400, 422):
            # models that reason refuse a limit that they cannot keep
            await model.generate(PROBE, config=config.model_copy(update={"max_tokens": None}))
        elif status != 429:
            raise
        # 429: it is there, and has more to do than it can


def _last(error: BaseException) -> BaseException:
    """What was wrong when a call was tried the last time."""
    return (error.last_attempt.exception() or error) if isinstance(error, RetryError) else error


def _status(error: BaseException) -> int | None:
    found = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    return found if isinstance(found, int) else None


def _told(model: Model, error: BaseException, patience: int) -> ModelError:
    place = f" at {address_of(model)}" if address_of(model) else ""
    text = " ".join(re.sub(r"\[/?[a-z]+\]", "", str(error)).split())
    if key := getattr(model.api, "api_key", None):
        # servers repeat the key that they refuse
        text = text.replace(str(key), "…")
    why = redacted(f"{type(error).__name__}: {text}")[:300]
    status = _status(error)
    if status in (401, 403):
        return ModelError(f"model {model}{place} refuses the key ({why}); set the API key of its provider")
    if status == 404:
        return ModelError(f"model {model}: there is no such model{place} ({why}); correct its name or the address")
    if "Timeout" in type(error).__name__:
        return ModelError(
            f"model {model}{place} gave no reply in {patience} seconds; see to its server, or wait longer with "
            "--timeout SECONDS"
        )
    return ModelError(
        f"model {model}{place} cannot be reached ({why}); start its server, or correct the address (--model-base-url, "
        "or the environment variable of its provider)"
    )


def _in_thread(run: Callable[[], Awaitable[None]]) -> None:
    """Run in an event loop of its own, whether or not one is running here."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            anyio.run(run)
        except BaseException as error:
            failed.append(error)

    # a daemon, as Ctrl-C is not to wait for a server that does not answer
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if failed:
        raise failed[0]


# --- while calls are tried again ------------------------------------------------------------------

_EVERY = 30.0
"""Seconds between two lines."""
_SHOWN = ("full", "rich")
"""Displays of Inspect that show retries, and that lines between would break."""

_heartbeats: list[type[Hooks]] = []


def tell_retries() -> None:
    """From here on tell of calls that are tried again.

    To be called when a model was made: Inspect then has announced the hooks that it found, and this one, which is there
    for everybody who installs the package, is not announced before each of their runs.
    """
    if not _heartbeats:
        _heartbeats.append(hooks(name="heartbeat", description="tells that calls are tried again")(Heartbeat))


class Heartbeat(Hooks):
    """Tells on standard error that calls are being tried again: when that begins, and every half minute until none
    waits any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._beating = False
        self._told = -_EVERY
        self._until = 0.0
        self._retries = 0
        self._last: ModelRetry | None = None

    def enabled(self) -> bool:
        return not (sys.stderr.isatty() and display_type() in _SHOWN)

    async def on_model_retry(self, data: ModelRetry) -> None:
        if _probing.get():
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
        time.sleep(max(self._told + _EVERY - time.monotonic(), 0.0))
        while True:
            with self._lock:
                last, retries, left = self._last, self._retries, self._until - time.monotonic()
                if last is None or left < 0:
                    self._beating, self._retries = False, 0
                    return
            self._told = time.monotonic()
            why = f"HTTP {last.status_code}" if last.status_code else last.exception_type or "no reply"
            print(
                f"halu-tasks: calls to {last.model_name} fail ({why}) and are tried again; retries so far: {retries}, "
                f"the last of them in {max(left, 1):,.0f} seconds (--max-retries and --timeout bound them)",
                file=sys.stderr,
                flush=True,
            )
            time.sleep(min(_EVERY, left + 1))
