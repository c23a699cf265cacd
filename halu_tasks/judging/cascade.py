"""The judges of a run: one of all replies and, if it was named, a stronger one of some drawn at random.

Both share the budget of the run.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
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
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.judging.budget import open_budget, price_of
from halu_tasks.judging.failures import describe_error
from halu_tasks.judging.judge import Judge, Spending
from halu_tasks.scorers.reading.judge import Judgement, JudgeSpec

try:
    import uvloop
except ImportError:  # not available for Windows; only a speed-up
    uvloop = None

T = TypeVar("T")


class Judges:
    """The judges of a run.

    Args:
        judge: Judges all replies.
        strong: Judges the replies to the items that are drawn, too; None if there is no stronger judge.
        share: The share of the items that are drawn.
        seed: The seed by which they are drawn.
    """

    def __init__(self, judge: Judge, strong: Judge | None = None, share: float = 1.0, seed: int = 0) -> None:
        self.judge, self.strong = judge, strong
        self._share, self._seed = share, seed

    def draws(self, item: Item) -> bool:
        """Return whether the stronger judge judges an item, which depends on its id and the seed alone."""
        number = int(stable_hash("judge_strong", str(self._seed), item.id, surrogates="surrogatepass")[:13], 16)
        return self.strong is not None and number < self._share * 16**13

    async def of_reply(self, item: Item, reply: str) -> Judgement:
        """Judge one reply; see `Judge.of_reply`."""
        verdicts = await self.judge.of_reply(item, reply)
        strong = self.strong if self.draws(item) else None
        return Judgement(verdicts, await strong.of_reply(item, reply) if strong else None)

    async def of_replies(
        self, replies: Sequence[tuple[Item, str]], each: Callable[[], object] = lambda: None
    ) -> list[Judgement]:
        """Judge many replies; see `Judge.of_replies`.

        Args:
            replies: Items with the replies to them.
            each: Called after each question to the judge of all replies.
        """
        verdicts = await self.judge.of_replies(replies, each)
        drawn = [number for number, (item, _) in enumerate(replies) if self.draws(item)]
        strong = await self.strong.of_replies([replies[number] for number in drawn]) if self.strong else []
        by_number = dict(zip(drawn, strong, strict=True))
        return [Judgement(of_judge, by_number.get(number)) for number, of_judge in enumerate(verdicts)]

    async def reach(self) -> None:
        """Ask each judge a trivial question; see `Judge.reach`."""
        await self.judge.reach()
        if self.strong:
            await self.strong.reach()


def open_judges(options: Options, judging: JudgeSpec, model: Model | None = None, costs: Path | None = None) -> Judges:
    """Create the judges that the options name.

    Args:
        options: Name the judges, and how they are asked.
        judging: What to ask about a reply.
        model: The judge of all replies, if it is not the one in the options.
        costs: The file in which costs are recorded, as in `open_budget`.

    Raises:
        JudgeError: A model does not exist, or its client is not installed.
        UsageError: A model has no batch mode or no price, although the options ask for it.
    """
    budget, options = open_budget(options, costs)

    def judge(model: Model, price: str | None, option: str) -> Judge:
        spending = Spending(budget, price_of(model, price, option)) if budget else None
        return Judge(model, judging, options.judge_max_failures, batch=options.judge_batch, spending=spending)

    model = model or _open_model(str(options.judge), options.judge_base_url)
    first = judge(model, options.judge_price, "judge_price")
    if options.judge_strong is None:
        return Judges(first)
    strong = _open_model(options.judge_strong, options.judge_strong_base_url)
    return Judges(
        first,
        judge(strong, options.judge_strong_price, "judge_strong_price"),
        options.judge_strong_share,
        options.judge_strong_seed,
    )


def _open_model(name: str, address: str | None) -> Model:
    # self-hosted servers often need no key, but clients insist on one
    key = os.environ.get("OPENAI_API_KEY", "none") if address else None
    # compatible servers have chat completions, but rarely the newer responses API
    settings: dict[str, Any] = {"responses_api": False} if address and name.startswith("openai/") else {}
    try:
        return get_model(name, base_url=address, api_key=key, memoize=False, **settings)
    except Exception as error:
        raise JudgeError(f"judge {name!r}: {describe_error(error)}") from None


def judge_now(
    options: Options,
    judging: JudgeSpec,
    replies: Sequence[tuple[Item, str]],
    each: Callable[[], object],
    costs: Path | None = None,
) -> list[Judgement]:
    """Judge replies from outside an event loop, or inside another one's; see `Judges.of_replies`.

    Args:
        options: Name the judges and their settings.
        judging: What to ask about a reply.
        replies: Items with the replies to them.
        each: Called after each question.
        costs: The file in which costs are recorded, as in `open_budget`.
    """
    return _run_with_judges(options, judging, lambda judges: judges.of_replies(replies, each), costs)


def reach_now(options: Options, judging: JudgeSpec, costs: Path | None = None) -> None:
    """Check from outside an event loop that the judges answer; see `Judge.reach` and `open_budget`."""
    _run_with_judges(options, judging, Judges.reach, costs)


def _run_with_judges(
    options: Options, judging: JudgeSpec, act: Callable[[Judges], Coroutine[Any, Any, T]], costs: Path | None
) -> T:
    """Open the judges in a new event loop, and call `act` with them."""

    async def run() -> T:
        judges = open_judges(options, judging, costs=costs)
        async with judges.judge.model, judges.strong.model if judges.strong else nullcontext():
            return await _with_batches(act(judges))

    return _run_in_new_loop(run)


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


def _run_in_new_loop(run: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a new event loop, whether or not one is already running."""
    loop = uvloop.new_event_loop if uvloop else asyncio.new_event_loop
    running: list[asyncio.AbstractEventLoop] = []

    def work() -> T:
        with asyncio.Runner(loop_factory=loop) as runner:
            running.append(runner.get_loop())
            return runner.run(run())

    # in a separate thread, since a notebook already runs a loop in this one
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            # pending questions are dropped; answered ones are cached
            for running_loop in running:
                for task in asyncio.all_tasks(running_loop):
                    running_loop.call_soon_threadsafe(task.cancel)
            raise
