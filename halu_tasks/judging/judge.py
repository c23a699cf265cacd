"""One model that judges replies: any model that Inspect can call.

Verdicts are cached on disk with the judge's reasons. The key is the judge's name, address and settings and the whole
prompt, so no question is asked twice: one that comes again before it is answered waits for the same verdict. A question
without a verdict counts as a failure; it is never cached and never becomes a score.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import anyio
from inspect_ai.model import GenerateConfig, Model, ModelAPI, ModelOutput, ResponseSchema
from inspect_ai.util import JSONSchema, collect

from halu_tasks.core.errors import BudgetError, JudgeError, UsageError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import JudgeOptions
from halu_tasks.core.prompting import fill, prompt_for
from halu_tasks.data.cache import cache_folder
from halu_tasks.judging.budget import dollars, open_budget, price_of
from halu_tasks.judging.failures import describe_error, log_retries, status_of, unanswered
from halu_tasks.judging.verdict_store import VerdictStore
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict

logger = logging.getLogger(__name__)

CONNECTIONS = 64
_PENDING_IN_BATCHES = 10_000
"""Maximum number of questions that wait for batches, to bound memory."""
_BATCH_PROVIDERS = ("anthropic", "google", "grok", "openai", "together")
"""The providers for which Inspect has a `Batcher`; others ignore `GenerateConfig.batch`."""
_TRIES = 2
"""How often a question is asked before a reply without a verdict counts as a failure."""
_MIN_FAILURES = 10
"""Failures needed before their share is checked, if the total number of replies is not known."""
_PROBE = "Reply with the single word: ready"

SETTINGS = GenerateConfig(
    temperature=0.0, max_tokens=1024, max_connections=CONNECTIONS, max_retries=3, attempt_timeout=120
)
"""The settings of a judge, unless its model has its own."""
# an attempt lasts as long as its batch
BATCH_SETTINGS = GenerateConfig(temperature=0.0, max_tokens=1024, max_retries=3, batch=True)
"""The settings of a judge that is asked in batches."""
DEFAULTS = JudgeOptions()


class _Pending:
    """A question that is being asked.

    Attributes:
        settled: Set when its call has ended.
        verdict: The verdict; None until the call has ended, or if it was not completed.
    """

    def __init__(self) -> None:
        self.settled = anyio.Event()
        self.verdict: Verdict | None = None


class Judge:
    """Asks a model for verdicts. It is not bound to an event loop before the first question.

    Args:
        model: The Inspect model that judges.
        judging: What to ask about a reply.
        options: How it is asked, and what it may cost; its model and address are not read.
        store: The SQLite file to cache verdicts in; by default, one in the cache folder.
        costs: The file in which costs are recorded, as in `open_budget`.

    Raises:
        UsageError: The model's provider has no batch mode, or its price is not known although its cost is limited.
        BudgetError: The file of the costs cannot be opened.
    """

    def __init__(
        self,
        model: Model,
        judging: JudgeSpec,
        options: JudgeOptions = DEFAULTS,
        store: Path | None = None,
        costs: Path | None = None,
    ) -> None:
        self.name = str(model)
        self.batch = options.judge_batch or bool(model.config.batch)
        if self.batch and self.name.partition("/")[0] not in _BATCH_PROVIDERS:
            raise UsageError(
                f"judge {self.name}: Inspect has no batch mode for this provider; leave judge_batch out, or name a "
                f"judge of {', '.join(_BATCH_PROVIDERS)}"
            )
        self.budget, options = open_budget(options, costs)
        self._price = price_of(model, options.judge_price) if self.budget else None
        # a copy, so the caller's model keeps its settings; merged here once rather than at every call
        self.model = copy(model)
        self.model.config = (BATCH_SETTINGS if self.batch else SETTINGS).merge(model.config)
        if self.batch:
            _forget_tracebacks(self.model.api)
        self.max_failures = options.judge_max_failures
        self._asked = self._failed = 0
        self._pending: dict[str, _Pending] = {}
        self._judging = judging
        self._prompt = prompt_for(judging.prompt, "judge")
        self._store = VerdictStore(store or cache_folder() / "verdicts.sqlite3")
        # settings of a run, which Inspect prefers to those of its judge, do not fit batches, nor what is reserved
        self._call = GenerateConfig(
            max_connections=_PENDING_IN_BATCHES if self.batch else None,
            max_retries=self.model.config.max_retries if self.budget else None,
        )
        self._schema = self._call.model_copy(update={"response_schema": self._response_schema()})
        # None until the judge has answered a question with a response schema
        self._takes_schema: bool | None = None if self.model.config.response_schema is None else False
        self._identity = self._identify()
        if self.budget:
            log_retries()

    def _response_schema(self) -> ResponseSchema:
        judging = self._judging
        return ResponseSchema(
            name=judging.prompt,
            description="The reason, then the verdict",
            json_schema=JSONSchema.model_validate(judging.read.schema),
            strict=True,
        )

    def _identify(self) -> str:
        """Return what a verdict depends on besides the question: the model, its address and its settings."""
        operational = ("max_connections", "max_retries", "attempt_timeout", "timeout", "batch")
        settings = self.model.config.model_copy(update=dict.fromkeys(operational))
        return "\0".join([self.name, str(self.model.api.base_url or ""), settings.model_dump_json(exclude_none=True)])

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
        verdicts: list[Verdict | None] = [None] * len(questions)
        numbered = iter(enumerate(questions))
        failed = 0

        async def ask(remaining: Iterator[tuple[int, Mapping[str, str]]]) -> None:
            nonlocal failed
            for number, fields in remaining:
                verdict = await self._verdict(fields)
                failed += verdict.label == FAILED
                if failed > self.max_failures * len(questions):
                    raise self._too_many(failed, len(questions), verdict.reason)
                verdicts[number] = verdict
                each()

        workers = _PENDING_IN_BATCHES if self.batch else CONNECTIONS
        try:
            await asyncio.gather(*(ask(numbered) for _ in range(min(workers, len(questions)))))
        except BudgetError as error:
            unknown = [fields for fields, verdict in zip(questions, verdicts, strict=True) if verdict is None]
            left = sum(self._cached(key) is None for key in {self._key(self._text(fields)) for fields in unknown})
            raise self._out_of_budget(error, left, len(questions)) from None
        given = (verdict for verdict in verdicts if verdict)
        return [[next(given) for _ in reply_questions] for reply_questions in by_reply]

    def _out_of_budget(self, error: BudgetError, left: int, of: int) -> BudgetError:
        """Return the error with how many questions are left, and what these may cost."""
        assert self.budget
        cost = self.budget.spent / max(self.budget.calls, 1) * left
        price = f", for about {dollars(cost)} at the average cost so far" if cost else ""
        return BudgetError(
            f"{error}; {left:,} of {of:,} questions are left for judge {self.name}{price}; verdicts are cached, so the "
            "same command with a higher amount asks only these"
        )

    async def _verdict(self, fields: Mapping[str, str]) -> Verdict:
        verdict = await self._shared(self._text(fields))
        return verdict._replace(about=fields.get("about", ""))

    async def _shared(self, text: str) -> Verdict:
        """Return the verdict on a question, which is asked once even if it comes again before it is answered."""
        key = self._key(text)
        while (verdict := self._cached(key)) is None and (pending := self._pending.get(key)):
            await pending.settled.wait()
            # None if the call was cancelled or the budget is spent: then this one asks
            if pending.verdict:
                return pending.verdict
        if verdict:
            return verdict
        pending = self._pending[key] = _Pending()
        try:
            pending.verdict = verdict = await self._ask(text)
            if verdict.label != FAILED:
                self._store.put(key, verdict)
            return verdict
        finally:
            del self._pending[key]
            pending.settled.set()

    def _text(self, fields: Mapping[str, str]) -> str:
        return fill(self._prompt["user"], fields)

    def _key(self, text: str) -> str:
        return stable_hash(self._identity, text, surrogates="replace")

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
            reason = f"no verdict in the reply ({answer.reason})"
        return Verdict(FAILED, reason)

    async def _generate(self, text: str) -> ModelOutput:
        """Call the judge with a response schema if the provider supports one.

        Some providers ignore the schema; those that reject it are asked without.
        """
        if self._takes_schema is not False:
            try:
                output = await self._paid(text, self._schema)
            except BudgetError:
                raise
            except Exception as error:
                if self._takes_schema:
                    raise
                output = await self._paid(text, self._call)
                if self._takes_schema is None:
                    logger.info("asking judge %s without a response schema: %s", self.name, describe_error(error))
                    self._takes_schema = False
                return output
            self._takes_schema = True
            return output
        return await self._paid(text, self._call)

    async def _paid(self, text: str, config: GenerateConfig) -> ModelOutput:
        """Call the judge within its budget, if it has one."""
        if self.budget is None or self._price is None:
            return await self.model.generate(text, config=config)
        settings = self.model.config.merge(config)
        schema = settings.response_schema.model_dump_json() if settings.response_schema else ""
        attempt = self._price.most(text + schema, (settings.max_tokens or 0) + (settings.reasoning_tokens or 0))
        reservation = await self.budget.reserve(attempt * (1 + (settings.max_retries or 0)))
        failed = unanswered.set([])
        cost = attempt
        try:
            output = await self.model.generate(text, config=config)
            cost = self._price.cost(output.usage) if output.usage else attempt
            return output
        except Exception as error:
            # an attempt may be charged unless it failed with an HTTP status
            cost = 0.0 if status_of(error) else attempt
            raise
        finally:
            self.budget.settle(reservation, cost + attempt * len(unanswered.get() or ()))
            unanswered.reset(failed)

    def _too_many(self, failed: int, of: int, reason: str) -> JudgeError:
        return JudgeError(
            f"judge {self.name} gave no verdict on {failed} of {of} questions (allowed: {self.max_failures:.0%}, "
            f"judge_max_failures); last failure: {reason}; verdicts so far are cached"
        )

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


def _forget_tracebacks(api: ModelAPI) -> None:
    """Let a model raise and return errors without the traceback that they have from other calls.

    The calls of a batch that fails share one error. Inspect formats the traceback of each of them, to which each adds
    its own: without this, a failed batch of thousands of questions takes hours.
    """
    generate = api.generate
    if getattr(generate, "forgets_tracebacks", False):
        return

    async def forgetful(*args: Any, **kwargs: Any) -> Any:
        try:
            result = await generate(*args, **kwargs)
        except Exception as error:
            _forget_traceback(error)
            raise
        if isinstance(result, tuple) and isinstance(result[0], Exception):
            _forget_traceback(result[0])
        return result

    forgetful.forgets_tracebacks = True  # type: ignore[attr-defined]
    api.generate = forgetful  # type: ignore[method-assign]


def _forget_traceback(error: BaseException | None) -> None:
    while error:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
