"""One model that judges replies: any model that Inspect can call.

Verdicts are cached on disk with the judge's reasons. The key is the judge's name, address and settings and the whole
prompt, so no question is asked twice: one that comes again before it is answered, in any process, waits for the same
verdict. A question without a verdict counts as a failure; it is never cached and never becomes a score.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from inspect_ai.hooks import ModelRetry
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ResponseSchema, get_model
from inspect_ai.util import JSONSchema, LimitExceededError

from halu_tasks.core.concurrency import gather
from halu_tasks.core.credentials import key_of
from halu_tasks.core.errors import BudgetError, JudgeError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import JUDGE_OPTIONS, Options
from halu_tasks.data.cache import cache_folder
from halu_tasks.judging.chat import Answered, ChatServer, FailedAttemptError, chat_server
from halu_tasks.judging.reaching import REJECTED, before_retry, describe_error, log_retries, run_blocking, status_of
from halu_tasks.judging.stores import Budget, VerdictStore, dollars, open_budget
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict, verdict_schema

logger = logging.getLogger(__name__)
T = TypeVar("T")

CONNECTIONS = 64
# how often a question is asked before a reply without a verdict counts as a failure
_TRIES = 2
# failures needed before their share is checked while replies are being judged
_MIN_FAILURES = 10
_PROBE = "Reply with the single word: ready"

SETTINGS = GenerateConfig(
    temperature=0.0, max_tokens=1024, max_connections=CONNECTIONS, max_retries=3, attempt_timeout=120
)
"""The settings of a judge, unless its model has its own."""

_judges: WeakKeyDictionary[AbstractEventLoop, dict[tuple[object, ...], Judge]] = WeakKeyDictionary()


class Judge:
    """Asks a model for verdicts. It is not bound to an event loop before the first question.

    Args:
        model: The Inspect model that judges; None for the one that the options name.
        judging: What to ask about a reply.
        options: How it is asked, and what it may cost.
        costs: The file in which costs are recorded, as in `open_budget`.

    Raises:
        JudgeError: The model that the options name does not exist, or its client is not installed.
        UsageError: The model's price is not known although its cost is limited.
        BudgetError: The file of the costs cannot be opened.
    """

    def __init__(self, model: Model | None, judging: JudgeSpec, options: Options, costs: Path | None = None) -> None:
        model = model or _open_model(str(options.judge), options.judge_base_url)
        self.name = str(model)
        self.budget = open_budget(options, self.name, costs)
        # a copy, so the caller's model keeps its settings; merged here once rather than at every call
        self.model = copy(model)
        # an attempt lasts as long as its batch, which the more questions share, the better
        in_batches = {"max_connections": None, "attempt_timeout": None} if model.config.batch else {}
        self.model.config = SETTINGS.model_copy(update=in_batches).merge(model.config)
        self.max_failures = options.judge_max_failures
        self.server: ChatServer | None = None
        self._judging = judging
        self._store = VerdictStore(cache_folder() / "verdicts.sqlite3")
        self._failures: dict[str, Verdict] = {}
        # those of a run, which Inspect prefers to those of its judge, do not fit what is reserved
        self._call = GenerateConfig(max_retries=self.model.config.max_retries if self.budget else None)
        schema = JSONSchema.model_validate(verdict_schema(judging.read))
        asked_for = ResponseSchema(
            name="verdict", description="The reason, then the verdict", json_schema=schema, strict=True
        )
        self._schema = self._call.model_copy(update={"response_schema": asked_for})
        self._takes_schema = self.model.config.response_schema is None
        # what a verdict depends on besides the question: the model, its address and its settings
        operational = {"max_connections", "max_retries", "attempt_timeout", "timeout", "batch"}
        settings = self.model.config.model_dump_json(exclude_none=True, exclude=operational)
        self._identity = "\0".join([self.name, str(self.model.api.base_url or ""), settings])
        if self.budget:
            log_retries()

    async def of_reply(self, item: Item, reply: str) -> list[Verdict]:
        """Judge one reply.

        Returns:
            A verdict for each question about the reply, `failed` if there is none.
        """
        return await self._verdicts(self._judging.questions(item, reply))

    async def of_replies(self, replies: Sequence[tuple[Item, str]], each: Callable[[], object]) -> list[list[Verdict]]:
        """Judge many replies concurrently.

        Args:
            replies: Items with the replies to them.
            each: Called after each reply.

        Returns:
            For each reply, a verdict for each question about it.

        Raises:
            JudgeError: As in `Failures`.
        """
        by_reply = [self._judging.questions(item, reply) for item, reply in replies]
        failures, waiting = Failures(len(replies)), iter(enumerate(by_reply))
        found: dict[int, list[Verdict]] = {}

        async def judge_next() -> None:
            for place, questions in waiting:
                found[place] = await self._verdicts(questions)
                failures.count(found[place], self)
                each()

        try:
            # not a task for each reply, which would cost more processor time
            await gather(*(judge_next() for _ in range(min(CONNECTIONS, len(by_reply)))))
            return [found[place] for place in range(len(by_reply))]
        except BudgetError as error:
            assert self.budget
            keys = {self._key(self._judging.text(fields)) for questions in by_reply for fields in questions}
            left, total = sum(self._cached(key) is None for key in keys), sum(map(len, by_reply))
            cost = self.budget.spent / max(self.budget.calls, 1) * left
            price = f", for about {dollars(cost)} at the average cost so far" if cost else ""
            raise BudgetError(
                f"{error}; {left:,} of {total:,} questions are left for judge {self.name}{price}; verdicts are cached, "
                "so the same command with a higher amount asks only these"
            ) from None

    async def _verdicts(self, questions: Sequence[Mapping[str, str]]) -> list[Verdict]:
        return await gather(*map(self._verdict, questions))

    async def _verdict(self, fields: Mapping[str, str]) -> Verdict:
        """Return the verdict on a question, which is asked once even if it comes again before it is answered."""
        text = self._judging.text(fields)
        key = self._key(text)
        verdict = self._cached(key)
        if verdict is None:
            async with self._store.asking(key):
                verdict = self._cached(key) or self._failures.get(key) or await self._ask(text)
                if verdict.label == FAILED:
                    self._failures[key] = verdict
                else:
                    self._store.put(key, verdict)
        return verdict._replace(about=fields.get("about", ""))

    def _key(self, text: str) -> str:
        return stable_hash(self._identity, text)

    def _cached(self, key: str) -> Verdict | None:
        verdict = self._store.get(key)
        # a verdict with an unknown label was not stored by this package
        return verdict if verdict and verdict.label in self._judging.read.labels else None

    async def _ask(self, text: str) -> Verdict:
        reason = ""
        for _ in range(_TRIES):
            # whatever a provider or the reader raises counts as a failure, and the reply is not dropped
            try:
                output = await self._generate(text)
                answer = self._judging.read(output.completion)
            except BudgetError:
                raise
            except Exception as error:
                return Verdict(FAILED, describe_error(error))
            if answer.value:
                return Verdict(answer.value, answer.reason)
            reason = f"no verdict in the reply {output.completion[:80]!r} ({answer.reason})"
        return Verdict(FAILED, reason)

    async def _generate(self, text: str) -> ModelOutput | Answered:
        """Call the judge with a response schema if the provider supports one.

        Some providers ignore the schema; those that reject it are asked without.
        """
        if self._takes_schema:
            try:
                return await self._paid(text, self._schema)
            except Exception as error:
                if status_of(error) not in REJECTED:
                    raise
                # raises if the question, not the schema, is at fault
                output = await self._paid(text, self._call)
                logger.info("asking judge %s without a response schema: %s", self.name, describe_error(error))
                self._takes_schema = False
                return output
        return await self._paid(text, self._call)

    async def _paid(self, text: str, config: GenerateConfig) -> ModelOutput | Answered:
        """Call the judge within its budget, if it has one."""
        if self.budget is None:
            return await self._output(text, config)
        settings = self.model.config.merge(config)
        schema = settings.response_schema.model_dump_json() if settings.response_schema else ""
        most = self.budget.most(text + schema, (settings.max_tokens or 0) + (settings.reasoning_tokens or 0))
        await self.budget.reserve(most)
        retries = before_retry.set(partial(_pay_attempt, self.budget, most))
        cost = most
        try:
            output = await self._output(text, config, partial(_pay_attempt, self.budget, most))
            cost = self.budget.cost(output.usage, most)
            return output
        except Exception as error:
            # an attempt may be charged unless it failed with an HTTP status
            cost = 0.0 if status_of(error) else most
            raise
        finally:
            self.budget.settle(most, cost)
            before_retry.reset(retries)

    async def _output(
        self, text: str, config: GenerateConfig, failed: Callable[[FailedAttemptError], None] = lambda error: None
    ) -> ModelOutput | Answered:
        """Ask the server itself, if possible; after a failure Inspect, which tries again as often as is left."""
        if self.server and not self.server.is_paused:
            try:
                return await self.server.ask(text, config)
            except FailedAttemptError as error:
                failed(error)
            retries = self.model.config.merge(config).max_retries
            config = config.merge(GenerateConfig(max_retries=retries and retries - 1))
        return await self.model.generate(text, config=config)

    async def reach(self) -> None:
        """Ask the judge a trivial question, unless there is no room for it in the budget.

        Verdicts may be cached, and cost nothing; a question that is not cached stops the run.

        Raises:
            JudgeError: It does not answer; the message says why.
        """
        try:
            await self._paid(_PROBE, self._call.merge(GenerateConfig(max_tokens=64, max_retries=1, batch=False)))
        except BudgetError as error:
            logger.info("judge %s was not asked whether it answers: %s", self.name, error)
        except Exception as error:
            raise JudgeError(f"judge {self.name} cannot be reached: {describe_error(error)}") from None


class Failures:
    """Counts the questions of a run on which its judge gave no verdict: one rule in all harnesses.

    The run ends if they are more than the allowed share (`judge_max_failures`) of its questions: of all of them after
    the last reply and, from the tenth failure on, of the number to be expected from the replies so far.

    Args:
        replies: The number of replies in the run, judged or not; None if it is not known.
    """

    def __init__(self, replies: int | None) -> None:
        self._replies = replies
        self._counted = self._asked = self._failed = 0
        self._reasons = [""]

    def count(self, verdicts: Sequence[Verdict], judge: Judge | None) -> None:
        """Count a reply.

        Args:
            verdicts: The verdicts on it; none if it was not judged.
            judge: Who gave them.

        Raises:
            JudgeError: The judge has failed too often.
        """
        reasons = [verdict.reason for verdict in verdicts if verdict.label == FAILED]
        self._reasons = reasons or self._reasons
        self._counted += 1
        self._asked += len(verdicts)
        self._failed += len(reasons)
        at_end = self._replies is not None and self._counted >= self._replies
        expected = self._asked if at_end or not self._replies else self._asked * self._replies / self._counted
        if judge and (at_end or self._failed >= _MIN_FAILURES) and self._failed > judge.max_failures * expected:
            raise JudgeError(
                f"judge {judge.name} gave no verdict on {self._failed} of {self._asked} questions (allowed: "
                f"{judge.max_failures:.0%}, judge_max_failures); last failure: {self._reasons[-1]}; verdicts so far "
                "are cached, so run again to ask only the rest, or allow a larger share"
            )


def _pay_attempt(budget: Budget, most: float, failed: ModelRetry | FailedAttemptError) -> None:
    if failed.status_code is None:
        try:
            budget.spend_and_reserve(most)
        except BudgetError as error:
            raise LimitExceededError("cost", value=most, limit=budget.limit, message=str(error)) from None


# --- judges by their names --------------------------------------------------------------------------


def _open_model(name: str, address: str | None) -> Model:
    # compatible servers have chat completions, but rarely the newer responses API
    settings: dict[str, Any] = {"responses_api": False} if address and name.startswith("openai/") else {}
    try:
        return get_model(name, base_url=address, api_key=key_of(name, address)[1], memoize=False, **settings)
    except Exception as error:
        raise JudgeError(f"judge {name!r}: {describe_error(error)}") from None


def judge_of_loop(model: Model | None, judging: JudgeSpec, options: Options) -> Judge:
    """Return the judge of a run, which has an event loop of its own and so its own connections and failures.

    Args:
        model: As in `Judge`.
        judging: As in `Judge`.
        options: As in `Judge`.
    """
    judges = _judges.setdefault(get_running_loop(), {})
    key = (str(model), id(judging), *(getattr(options, name) for name in JUDGE_OPTIONS))
    if key not in judges:
        judges[key] = Judge(model, judging, options)
    return judges[key]


def with_judge(
    options: Options, judging: JudgeSpec, act: Callable[[Judge], Coroutine[Any, Any, T]], costs: Path | None = None
) -> T:
    """Call `act` with a judge from outside an event loop, or inside another one's.

    Args:
        options: Name the judge and its settings.
        judging: What to ask about a reply.
        act: Such as `Judge.reach`.
        costs: The file in which costs are recorded, as in `open_budget`.
    """

    async def run() -> T:
        judge = Judge(None, judging, options, costs=costs)
        async with judge.model, chat_server(judge.model) as judge.server:
            return await act(judge)

    return run_blocking(run)
