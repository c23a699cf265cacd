"""Opening a judge by its name, and asking it from outside an event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
from inspect_ai._util.background import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
    set_background_task_group,
)
from inspect_ai.model import Model, get_model
from inspect_ai.model._providers.util.batch_log import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
    set_batch_log_callback,
    set_batch_status_callback,
)
from tqdm import tqdm

from halu_tasks.core.errors import HaluTasksError, JudgeError
from halu_tasks.core.items import Item
from halu_tasks.core.options import JudgeOptions
from halu_tasks.judging.failures import describe_error
from halu_tasks.judging.judge import Judge
from halu_tasks.scorers.judge import JudgeSpec, Verdict

try:
    import uvloop
except ImportError:  # not available for Windows; only a speed-up
    uvloop = None

T = TypeVar("T")

_CANCELLING = 10.0
"""Seconds in which calls that are cancelled have to end."""


def open_judge(options: JudgeOptions, judging: JudgeSpec, costs: Path | None = None) -> Judge:
    """Create the judge that the options name.

    Args:
        options: Name the judge, and how it is asked.
        judging: What to ask about a reply.
        costs: The file in which costs are recorded, as in `open_budget`.

    Raises:
        JudgeError: The model does not exist, or its client is not installed.
        UsageError: The model has no batch mode or no price, although the options ask for it.
    """
    return Judge(_open_model(str(options.judge), options.judge_base_url), judging, options, costs=costs)


def _open_model(name: str, address: str | None) -> Model:
    # clients insist on a key, which self-hosted servers often do not need; no provider's key goes to another's address
    provider, _, rest = name.partition("/")
    provider = rest.partition("/")[0] if provider == "openai-api" else provider
    key = os.environ.get(f"{provider.replace('-', '_').upper()}_API_KEY", "none") if address else None
    # compatible servers have chat completions, but rarely the newer responses API
    settings: dict[str, Any] = {"responses_api": False} if address and name.startswith("openai/") else {}
    try:
        return get_model(name, base_url=address, api_key=key, memoize=False, **settings)
    except Exception as error:
        raise JudgeError(f"judge {name!r}: {describe_error(error)}") from None


def judge_now(
    options: JudgeOptions,
    judging: JudgeSpec,
    replies: Sequence[tuple[Item, str]],
    each: Callable[[], object],
    costs: Path | None = None,
) -> list[list[Verdict]]:
    """Judge replies from outside an event loop, or inside another one's; see `Judge.of_replies`.

    Args:
        options: Name the judge and its settings.
        judging: What to ask about a reply.
        replies: Items with the replies to them.
        each: Called after each question.
        costs: The file in which costs are recorded, as in `open_budget`.
    """
    return _run_with_judge(options, judging, lambda judge: judge.of_replies(replies, each), costs)


def reach_now(options: JudgeOptions, judging: JudgeSpec, costs: Path | None = None) -> None:
    """Check from outside an event loop that the judge answers; see `Judge.reach` and `open_budget`."""
    _run_with_judge(options, judging, Judge.reach, costs)


def _run_with_judge(
    options: JudgeOptions, judging: JudgeSpec, act: Callable[[Judge], Coroutine[Any, Any, T]], costs: Path | None
) -> T:
    """Open the judge in a new event loop, and call `act` with it."""

    async def run() -> T:
        judge = open_judge(options, judging, costs)
        async with judge.model:
            return await _with_batches(act(judge))

    return run_blocking(run)


async def _with_batches(work: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine, and stop it if batches fail.

    Inspect sends batches in a background task. Where nobody waits for this task, calls whose batch cannot be sent would
    never end. What Inspect prints of batches goes to standard error, without the status that it repeats.

    Raises:
        JudgeError: Inspect cannot send a batch.
    """
    result: list[T] = []
    set_batch_log_callback(lambda line: tqdm.write(line, file=sys.stderr))
    set_batch_status_callback(lambda status: None)
    try:
        async with anyio.create_task_group() as group:
            set_background_task_group(group)
            try:
                result.append(await work)
            finally:
                # requests that nobody waits for
                group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        for error in errors.exceptions:
            if isinstance(error, HaluTasksError):
                raise error from None
        reason = errors.exceptions[0].__cause__ or errors.exceptions[0]
        raise JudgeError(f"the batch mode of the judge failed: {describe_error(reason)}") from None
    finally:
        set_batch_log_callback(None)
        set_batch_status_callback(None)
    return result[0]


def run_blocking(run: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a new event loop, whether or not one is already running, as in a notebook."""
    results: list[T] = []
    errors: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop if uvloop else None) as runner:
                loops.append(runner.get_loop())
                results.append(runner.run(run()))
        except BaseException as error:
            errors.append(error)

    # a daemon, so Ctrl-C does not wait for a server that does not answer
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
    except KeyboardInterrupt:
        # pending questions are dropped; answered ones are cached
        for loop in loops:
            for task in asyncio.all_tasks(loop):
                loop.call_soon_threadsafe(task.cancel)
        thread.join(_CANCELLING)
        raise
    if errors:
        raise errors[0]
    return results[0]
