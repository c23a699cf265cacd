"""Judging replies with any model that Inspect can call.

Verdicts are cached on disk with the judge's reasons. The key is the judge's name, address and settings and the whole
prompt, so no question is asked twice. A question without a verdict counts as a failure; it is never cached and never
becomes a score.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model, ModelOutput, ResponseSchema, get_model
from inspect_ai.util import JSONSchema, collect

from halu_tasks.core.errors import JudgeError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import fill, prompt_for
from halu_tasks.data.cache import cache_folder
from halu_tasks.judging.failures import describe_error
from halu_tasks.judging.verdict_store import VerdictStore
from halu_tasks.scorers.reading.judge import FAILED, JudgeSpec, Verdict

try:
    import uvloop
except ImportError:  # not available for Windows; only a speed-up
    uvloop = None

logger = logging.getLogger(__name__)

CONNECTIONS = 64
_TRIES = 2
"""How often a question is asked before a reply without a verdict counts as a failure."""
_BATCH_SIZE = 2_000
"""Maximum number of pending questions, to bound memory."""
_MIN_FAILURES = 10
"""Failures needed before their share is checked, if the total number of replies is not known."""
_PROBE = "Reply with the single word: ready"

SETTINGS = GenerateConfig(
    temperature=0.0, max_tokens=1024, max_connections=CONNECTIONS, max_retries=3, attempt_timeout=120
)


class Judge:
    """Asks a model for verdicts. It is not bound to an event loop before the first question.

    Args:
        model: The Inspect model that judges.
        judging: What to ask about a reply.
        max_failures: The share of questions that may fail.
        store: The SQLite file to cache verdicts in; by default, one in the cache folder.
    """

    def __init__(self, model: Model, judging: JudgeSpec, max_failures: float = 0.05, store: Path | None = None) -> None:
        # a copy, so the caller's model keeps its settings; merged here once rather than at every call
        self.model = copy(model)
        self.model.config = SETTINGS.merge(model.config)
        self.name = str(model)
        self.max_failures = max_failures
        self._asked = self._failed = 0
        self._judging = judging
        self._prompt = prompt_for(judging.prompt, "judge")
        self._store = VerdictStore(store or cache_folder() / "verdicts.sqlite3")
        self._schema = GenerateConfig(
            response_schema=ResponseSchema(
                name=judging.prompt,
                description="The reason, then the verdict",
                json_schema=JSONSchema.model_validate(judging.read.schema),
                strict=True,
            )
        )
        # None until the judge has answered a question with a response schema
        self._takes_schema: bool | None = None if self.model.config.response_schema is None else False
        shown = self.model.config.model_copy(
            update={"max_connections": None, "max_retries": None, "attempt_timeout": None, "timeout": None}
        )
        self._identity = "\0".join([self.name, str(model.api.base_url or ""), shown.model_dump_json(exclude_none=True)])

    async def of_reply(self, item: Item, reply: str) -> list[Verdict]:
        """Judge one reply.

        A failure on this reply alone never raises.

        Returns:
            A verdict for each question about the reply.

        Raises:
            JudgeError: The judge has failed several times, and on more than the allowed share of questions so far.
        """
        verdicts = await collect(*(self._verdict(fields) for fields in self._judging.questions(item, reply)))
        self._asked += len(verdicts)
        failures = [verdict for verdict in verdicts if verdict.label == FAILED]
        self._failed += len(failures)
        if self._failed >= _MIN_FAILURES and self._failed > self.max_failures * self._asked:
            raise self._too_many(self._failed, self._asked, failures[-1].reason if failures else "")
        return verdicts

    async def of_replies(
        self, replies: Sequence[tuple[Item, str]], each: Callable[[], object] = lambda: None
    ) -> list[list[Verdict]]:
        """Judge many replies concurrently.

        Args:
            replies: Items with the replies to them.
            each: Called after each question.

        Returns:
            For each reply, a verdict for each question about it.

        Raises:
            JudgeError: More than the allowed share of all questions have failed.
        """
        by_reply = [self._judging.questions(item, reply) for item, reply in replies]
        questions = [fields for reply_questions in by_reply for fields in reply_questions]
        failed = 0

        async def ask(fields: Mapping[str, str]) -> Verdict:
            nonlocal failed
            verdict = await self._verdict(fields)
            failed += verdict.label == FAILED
            if failed > self.max_failures * len(questions):
                raise self._too_many(failed, len(questions), verdict.reason)
            each()
            return verdict

        verdicts: list[Verdict] = []
        for start in range(0, len(questions), _BATCH_SIZE):
            verdicts += await asyncio.gather(*(ask(fields) for fields in questions[start : start + _BATCH_SIZE]))
        remaining = iter(verdicts)
        return [[next(remaining) for _ in reply_questions] for reply_questions in by_reply]

    async def _verdict(self, fields: Mapping[str, str]) -> Verdict:
        text = fill(self._prompt["user"], fields)
        key = stable_hash(self._identity, text, surrogates="replace")
        verdict = self._store.get(key)
        # a verdict with an unknown label was not stored by this package
        if verdict is None or verdict.label not in self._judging.read.labels:
            verdict = await self._ask(text)
            if verdict.label != FAILED:
                self._store.put(key, verdict)
        return verdict._replace(about=fields.get("about", ""))

    async def _ask(self, text: str) -> Verdict:
        reason = ""
        for _ in range(_TRIES):
            # whatever a provider or the reader raises counts as a failure, and the reply is not dropped
            try:
                output = await self._generate(text)
                answer = self._judging.read(output.completion)
            except Exception as error:
                return Verdict(FAILED, describe_error(error))
            if answer.value:
                return Verdict(answer.value, answer.reason)
            reason = f"no verdict in the reply ({answer.reason})"
        return Verdict(FAILED, reason)

    async def _generate(self, text: str) -> ModelOutput:
        """Call the judge with a response schema if the provider supports one.

        Some providers ignore the schema; those that reject it are asked without.
        """
        if self._takes_schema is not False:
            try:
                output = await self.model.generate(text, config=self._schema)
            except Exception as error:
                if self._takes_schema:
                    raise
                output = await self.model.generate(text)
                if self._takes_schema is None:
                    logger.info("asking judge %s without a response schema: %s", self.name, describe_error(error))
                    self._takes_schema = False
                return output
            self._takes_schema = True
            return output
        return await self.model.generate(text)

    def _too_many(self, failed: int, of: int, reason: str) -> JudgeError:
        return JudgeError(
            f"judge {self.name} gave no verdict on {failed} of {of} questions (allowed: {self.max_failures:.0%}, "
            f"judge_max_failures); last failure: {reason}; verdicts so far are cached"
        )

    async def reach(self) -> None:
        """Ask the judge a trivial question.

        Raises:
            JudgeError: It does not answer; the message says why.
        """
        try:
            await self.model.generate(_PROBE, config=GenerateConfig(max_tokens=64, max_retries=1))
        except Exception as error:
            raise JudgeError(f"judge {self.name} cannot be reached: {describe_error(error)}") from None


def open_judge(options: Options, judging: JudgeSpec) -> Judge:
    """Create the judge that the options name.

    Raises:
        JudgeError: The model does not exist, or its client is not installed.
    """
    name = str(options.judge)
    address = options.judge_base_url
    # self-hosted servers often need no key, but clients insist on one
    key = os.environ.get("OPENAI_API_KEY", "none") if address else None
    # compatible servers have chat completions, but rarely the newer responses API
    settings: dict[str, Any] = {"responses_api": False} if address and name.startswith("openai/") else {}
    try:
        model = get_model(name, base_url=address, api_key=key, memoize=False, **settings)
    except Exception as error:
        raise JudgeError(f"judge {name!r}: {describe_error(error)}") from None
    return Judge(model, judging, options.judge_max_failures)


def judge_now(
    options: Options, judging: JudgeSpec, replies: Sequence[tuple[Item, str]], each: Callable[[], object]
) -> list[list[Verdict]]:
    """Judge replies from outside an event loop, or inside another one's; see `Judge.of_replies`.

    Args:
        options: Name the judge and its settings.
        judging: What to ask about a reply.
        replies: Items with the replies to them.
        each: Called after each question.
    """

    async def run() -> list[list[Verdict]]:
        judge = open_judge(options, judging)
        async with judge.model:
            return await judge.of_replies(replies, each)

    return _run_in_new_loop(run)


def reach_now(options: Options, judging: JudgeSpec) -> None:
    """Check from outside an event loop that the judge answers; see `Judge.reach`."""

    async def run() -> list[list[Verdict]]:
        judge = open_judge(options, judging)
        async with judge.model:
            await judge.reach()
        return []

    _run_in_new_loop(run)


def _run_in_new_loop(run: Callable[[], Coroutine[Any, Any, list[list[Verdict]]]]) -> list[list[Verdict]]:
    """Run a coroutine in a new event loop, whether or not one is already running."""
    loop = uvloop.new_event_loop if uvloop else asyncio.new_event_loop
    running: list[asyncio.AbstractEventLoop] = []

    def work() -> list[list[Verdict]]:
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
