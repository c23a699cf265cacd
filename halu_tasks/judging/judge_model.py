"""One model that judges replies: any model that Inspect can call.

Verdicts are cached on disk with the judge's reasons. The key is the judge's name, address and settings and the whole
prompt, so no question is asked twice: one that comes again before it is answered waits for the same verdict. Only
processes that ask it at the same moment may each pay for it. A question without a verdict counts as a failure; it is
never cached and never becomes a score.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable, Coroutine, Sequence
from copy import copy
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import anyio
from anyio import to_thread
from inspect_ai.model import GenerateConfig, Model, ModelAPI, ModelOutput, ResponseSchema, get_model
from inspect_ai.util import JSONSchema

from halu_tasks.core.concurrency import gather
from halu_tasks.core.credentials import key_of, redacted
from halu_tasks.core.errors import REFUSED, BudgetError, JudgeError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import JUDGE_OPTIONS, Options
from halu_tasks.data.cache import cache_folder
from halu_tasks.judging.chat import ChatError, ChatReply, ChatServer, chat_server
from halu_tasks.judging.reaching import (
    Retries,
    describe_error,
    is_transient,
    last_error,
    report_retry,
    run_blocking,
    status_of,
)
from halu_tasks.judging.stores import VerdictStore, dollars, open_budget
from halu_tasks.knowledge import open_knowledge
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Question, Verdict, claims_of, verdict_schema

logger = logging.getLogger(__name__)
T = TypeVar("T")

CONNECTIONS = 64
# how often a question is asked before a reply without a verdict counts as a failure
_TRIES = 2
# the HTTP statuses with which servers answer a request with a response schema that they do not support
_WITHOUT_SCHEMA = (400, 404, 415, 422, 500, 501)
# failures needed before their share is checked while replies are being judged
_MIN_FAILURES = 10
# characters of a server's message that a failed verdict quotes
_LONGEST_REASON = 300
_PROBE = "Reply with the single word: ready"

SETTINGS = GenerateConfig(
    temperature=0.0, max_tokens=1024, max_connections=CONNECTIONS, max_retries=3, attempt_timeout=120
)
"""The settings of a judge, unless its model or the options have others."""
LIST_TOKENS = 4096
"""The most tokens of a list of claims, which is longer than a verdict, unless the options have a number."""
# providers whose clients try again by themselves, which cannot be turned off
_TRY_AGAIN = ("azureai", "bedrock", "grok", "sagemaker")

# judges that have answered in this process, by name and address
_reached: set[tuple[str, str]] = set()
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
        DataError: The passages that it is to be shown cannot be read.
    """

    def __init__(self, model: Model | None, judging: JudgeSpec, options: Options, costs: Path | None = None) -> None:
        model = model or _open_model(str(options.judge), options.judge_base_url)
        self.name = str(model)
        self.budget = open_budget(options, self.name, costs)
        if self.budget and self.name.partition("/")[0] in _TRY_AGAIN:
            logger.warning("the client of judge %s repeats failed calls, which judge_max_cost does not see", self.name)
        # a copy: the caller's model keeps its settings
        self.model = copy(model)
        self.model.api = _without_retries(model.api)
        # an attempt lasts as long as its batch, and the more questions share a batch, the better
        in_batches = {"max_connections": None, "attempt_timeout": None} if model.config.batch else {}
        stated = GenerateConfig(temperature=options.judge_temperature, max_tokens=options.judge_max_tokens)
        self.model.config = SETTINGS.model_copy(update=in_batches).merge(model.config).merge(stated)
        self._retries = self.model.config.max_retries or 0
        self.max_failures = options.judge_max_failures
        self.server: ChatServer | None = None
        self._judging = judging
        looks_up = judging.claims is not None and judging.claims.looks_up
        knowledge = options.judge_knowledge if looks_up else None
        self._knowledge = open_knowledge(knowledge) if knowledge else None
        self._store = VerdictStore(cache_folder() / "verdicts.sqlite3")
        self._failures: dict[str, Verdict] = {}
        # locks of the questions in flight, by key
        self._in_flight = WeakValueDictionary[str, anyio.Lock]()
        self._max_characters = options.judge_max_characters
        self._answers = 0
        # Judge makes every attempt itself, so that the budget counts it
        self._call_settings = GenerateConfig(max_retries=0)
        self._list_settings = self._call_settings.merge(
            GenerateConfig(max_tokens=options.judge_max_tokens or LIST_TOKENS)
        )
        schema = JSONSchema.model_validate(verdict_schema(judging.read))
        response_schema = ResponseSchema(
            name="verdict", description="The reason, then the verdict", json_schema=schema, strict=True
        )
        self._schema_settings = self._call_settings.model_copy(update={"response_schema": response_schema})
        self._takes_schema = self.model.config.response_schema is None and not options.judge_without_schema
        self._used_schema = False
        # the part of a cache key that is the same for all questions
        operational = {"max_connections", "max_retries", "attempt_timeout", "timeout", "batch"}
        settings = self.model.config.model_dump_json(exclude_none=True, exclude=operational)
        address = str(self.model.api.base_url or "")
        self._server_key = self.name, address
        self._identity = "\0".join([self.name, address, settings])

    async def judge_reply(self, item: Item, reply: str) -> list[Verdict]:
        """Judge one reply.

        Returns:
            A verdict for each question about the reply, `failed` if there is none. If it lists the claims first, a
            verdict for each claim, or one that is `failed` if there is no list.
        """
        return await self._verdicts(item, self._first_questions(item, reply))

    async def judge_replies(
        self, replies: Sequence[tuple[Item, str]], each: Callable[[], object]
    ) -> list[list[Verdict]]:
        """Judge many replies concurrently.

        Args:
            replies: Items with the replies to them.
            each: Called after each reply.

        Returns:
            For each reply, a verdict for each question about it.

        Raises:
            JudgeError: As in `JudgeFailures`, or the judge does not answer although something is left to ask.
        """
        by_reply = [self._first_questions(item, reply) for item, reply in replies]
        if self._server_key not in _reached and self._count_unanswered(by_reply):
            await self.reach()
        failures, waiting = JudgeFailures(len(replies)), iter(enumerate(by_reply))
        verdicts: dict[int, list[Verdict]] = {}

        async def judge_next() -> None:
            for place, questions in waiting:
                verdicts[place] = await self._verdicts(replies[place][0], questions)
                failures.count(verdicts[place], self)
                each()

        try:
            # not a task for each reply, which would cost more processor time
            await gather(*(judge_next() for _ in range(min(CONNECTIONS, len(by_reply)))))
            return [verdicts[place] for place in range(len(by_reply))]
        except BudgetError as error:
            left, total, what = self._count_unanswered(by_reply), sum(map(len, by_reply)), "questions"
            cost = self._mean_cost() * left
            price = f", for about {dollars(cost)} at the average cost so far" if cost else ""
            if self._judging.claims:  # how many claims the others have is not known
                left, total, what, price = len(by_reply) - len(verdicts), len(by_reply), "replies", ""
            raise BudgetError(
                f"{error}; {left:,} of {total:,} {what} are left for judge {self.name}{price}; verdicts are cached, "
                "so the same command with a higher amount asks only these"
            ) from None

    @property
    def _first_spec(self) -> JudgeSpec:
        """The questions that are asked first: for the list of claims, if the judge makes one."""
        return self._judging.claims.listing if self._judging.claims else self._judging

    def _first_questions(self, item: Item, reply: str) -> list[Question]:
        return self._first_spec.questions(item, reply, self._max_characters)

    def _count_unanswered(self, by_reply: Sequence[Sequence[Question]]) -> int:
        keys = {self._key(self._first_spec.text(question)) for questions in by_reply for question in questions}
        return sum(self._cached(key, self._first_spec) is None for key in keys)

    def _mean_cost(self) -> float:
        return self.budget.spent / self._answers if self.budget and self._answers else 0.0

    async def _verdicts(self, item: Item, first: Sequence[Question]) -> list[Verdict]:
        """Ask the first questions about a reply, then those about each claim if the answer is a list of claims."""
        verdicts = await gather(*(self._verdict(question, self._first_spec) for question in first))
        if self._judging.claims is None or not verdicts or verdicts[0].label == FAILED:
            return verdicts
        (listed,) = verdicts
        return await gather(*(self._of_claim(item, claim, listed.left_out) for claim in claims_of(listed)))

    async def _of_claim(self, item: Item, claim: str, left_out: int) -> Verdict:
        assert self._judging.claims
        passages = await to_thread.run_sync(self._knowledge.search, claim) if self._knowledge else ()
        question = self._judging.claims.question(item, claim, passages)
        return await self._verdict(question._replace(left_out=left_out), self._judging)

    async def _verdict(self, question: Question, judging: JudgeSpec) -> Verdict:
        """Return the cached verdict on a question, or ask it; a question in flight is not asked a second time."""
        text = judging.text(question)
        key = self._key(text)
        verdict = self._cached(key, judging)
        if verdict is None:
            async with self._in_flight.setdefault(key, anyio.Lock()):
                verdict = self._cached(key, judging) or self._failures.get(key) or await self._ask(text, judging)
                if verdict.label == FAILED:
                    self._failures[key] = verdict
                else:
                    self._store.put(key, verdict)
        return verdict._replace(about=question.about, left_out=question.left_out)

    def _key(self, text: str) -> str:
        return stable_hash(self._identity, text)

    def _cached(self, key: str, judging: JudgeSpec) -> Verdict | None:
        verdict = self._store.get(key)
        # an unknown label would be counted as one of the known ones
        return verdict if verdict and verdict.label in judging.read.labels else None

    async def _ask(self, text: str, judging: JudgeSpec) -> Verdict:
        """Ask a question and, if there is no verdict, ask again without a response schema.

        Servers that cannot follow a schema fail in many ways: with any status, or with a reply that is empty or prose.
        One that has returned a verdict by the schema can follow it. Lists of claims are text, so they have no schema.
        """
        reason = ""
        is_list = judging is not self._judging
        for number in range(_TRIES):
            config = self._schema_settings if self._takes_schema and number == 0 else self._call_settings
            config = self._list_settings if is_list else config
            try:
                output = await self._answer(text, config, self._retries)
                self._answers += 1
                verdict = self._read(output, judging)
            except BudgetError:
                raise
            except Exception as error:
                verdict = Verdict(FAILED, describe_error(error))
                if is_transient(error) and not self._may_reject(config, error):
                    return verdict
            if verdict.label != FAILED:
                if config is self._schema_settings:
                    self._used_schema = True
                elif number and self._takes_schema and not self._used_schema and not is_list:
                    logger.info("asking judge %s without a response schema: %s", self.name, reason)
                    self._takes_schema = False
                return verdict
            reason = verdict.reason
        return verdict

    def _read(self, output: ModelOutput | ChatReply, judging: JudgeSpec) -> Verdict:
        text = output.completion
        stop = output.stop_reason
        if stop in ("content_filter", "model_length"):
            return Verdict(FAILED, redacted(f"no reply ({stop}): {text}")[:_LONGEST_REASON])
        if stop == "max_tokens" and judging is not self._judging:
            return Verdict(FAILED, "the list of claims is cut off; raise judge_max_tokens=N")
        answer = judging.read(text)
        if answer.value:
            # judges repeat what they read, and servers the key that they are asked with
            return Verdict(answer.value, redacted(answer.reason))
        return Verdict(FAILED, f"no verdict in the reply {redacted(text)[:80]!r} ({answer.reason})")

    def _may_reject(self, config: GenerateConfig, error: BaseException) -> bool:
        return config is self._schema_settings and status_of(error) in _WITHOUT_SCHEMA

    async def _answer(
        self, text: str, config: GenerateConfig, most: int, *, waits: bool = True
    ) -> ModelOutput | ChatReply:
        """Call the judge until it answers, or after more than `most` retries raise its error.

        `waits` says whether to wait for a server that has too many calls.
        """
        retries = Retries(most)
        while True:
            try:
                return await self._attempt(text, config)
            except BudgetError:
                raise
            except Exception as error:
                limited = status_of(error) == 429 and not waits
                if limited or self._may_reject(config, error) or (pause := retries.pause(error)) is None:
                    raise
                why = f"HTTP {status}" if (status := status_of(error)) else type(last_error(error)).__name__
            report_retry(self.name, why, pause)
            await anyio.sleep(pause)

    async def _attempt(self, text: str, config: GenerateConfig) -> ModelOutput | ChatReply:
        if self.budget is None:
            return await self._send(text, config)
        settings = self.model.config.merge(config)
        schema = settings.response_schema.model_dump_json() if settings.response_schema else ""
        most = self.budget.highest_cost(text + schema, (settings.max_tokens or 0) + (settings.reasoning_tokens or 0))
        await self.budget.admit(lambda: min(most, self._mean_cost() or most))
        cost = most
        try:
            output = await self._send(text, config)
            cost = self.budget.cost(output.usage, most)
            return output
        except Exception as error:
            # an attempt may be charged unless it failed with an HTTP status
            cost = 0.0 if status_of(error) else most
            raise
        finally:
            self.budget.settle(cost)

    async def _send(self, text: str, config: GenerateConfig) -> ModelOutput | ChatReply:
        if self.server:
            return await self.server.ask(text, config)
        try:
            return await self.model.generate(text, config=config)
        except (AssertionError, AttributeError, LookupError, TypeError) as error:
            # Inspect's providers take for granted that there is a message with text
            raise ChatError(f"Inspect cannot read the server's answer ({type(error).__name__}: {error})") from error

    async def reach(self) -> None:
        """Ask the judge a trivial question, unless there is no room for it in the budget.

        Verdicts may be cached, and cost nothing; a question that is not cached stops the run. A judge whose server has
        too many calls is there.

        Raises:
            JudgeError: It does not answer; the message says why.
        """
        try:
            await self._answer(_PROBE, self._call_settings.merge(GenerateConfig(batch=False)), 1, waits=False)
        except BudgetError as error:
            logger.info("judge %s was not asked whether it answers: %s", self.name, error)
        except Exception as error:
            if status_of(error) != 429 or not is_transient(error):
                if status_of(error) in REFUSED:
                    raise JudgeError(
                        f"judge {self.name} rejects the request: {describe_error(error)}; set what it names with "
                        "--judge-temperature, --judge-max-tokens or --judge-without-schema"
                    ) from None
                raise JudgeError(f"judge {self.name} cannot be reached: {describe_error(error)}") from None
        _reached.add(self._server_key)


class JudgeFailures:
    """Counts the questions of a run on which its judge gave no verdict: one rule in all harnesses.

    The run ends if they are more than the allowed share (`judge_max_failures`) of its questions: of all of them after
    the last reply and, from the tenth failure on, of the number to be expected from the replies so far.

    Args:
        replies: The number of replies in the run, judged or not; None if it is not known.
    """

    def __init__(self, replies: int | None) -> None:
        self._replies = replies
        self._counted = self._in_flight = self._failed = 0
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
        self._in_flight += len(verdicts)
        self._failed += len(reasons)
        at_end = self._replies is not None and self._counted >= self._replies
        expected = self._in_flight if at_end or not self._replies else self._in_flight * self._replies / self._counted
        if judge and (at_end or self._failed >= _MIN_FAILURES) and self._failed > judge.max_failures * expected:
            raise JudgeError(
                f"judge {judge.name} gave no verdict on {self._failed} of {self._in_flight} questions (allowed: "
                f"{judge.max_failures:.0%}, judge_max_failures); last failure: {self._reasons[-1]}; verdicts so far "
                "are cached, so run again to ask only the rest, or allow a larger share"
            )


# --- judges by their names --------------------------------------------------------------------------


def _open_model(name: str, address: str | None) -> Model:
    if "/" not in name:
        raise JudgeError(f"judge {name!r}: expected PROVIDER/MODEL as in Inspect, such as openai/gpt-4o-mini")
    # compatible servers have chat completions, but rarely the newer responses API
    settings: dict[str, Any] = {"responses_api": False} if address and name.startswith("openai/") else {}
    try:
        model = get_model(name, base_url=address, api_key=key_of(name, address)[1], memoize=False, **settings)
    except Exception as error:
        raise JudgeError(f"judge {name!r}: {describe_error(error)}") from None
    connections: Any = getattr(model.api, "http_client", None)
    if hasattr(connections, "follow_redirects"):
        # whoever is at another address must not get the prompts and the key
        connections.follow_redirects = False
    return model


def _without_retries(api: ModelAPI) -> ModelAPI:
    """Return an API whose client makes one request per call; clients such as OpenAI's make up to three."""
    client: Any = getattr(api, "client", None)
    if hasattr(client, "max_retries") and hasattr(client, "with_options"):
        api = copy(api)
        api.client = client.with_options(max_retries=0)  # type: ignore[attr-defined]
    return api


def judge_of_loop(model: Model | None, judging: JudgeSpec, options: Options) -> Judge:
    """Return the judge of a run. Each event loop has its own judges, with their connections and failures.

    Args:
        model: As in `Judge`.
        judging: As in `Judge`.
        options: As in `Judge`.
    """
    judges = _judges.setdefault(get_running_loop(), {})
    key = (str(model), judging, *(getattr(options, name) for name in JUDGE_OPTIONS))
    if key not in judges:
        judges[key] = Judge(model, judging, options)
    return judges[key]


def with_judge(
    options: Options, judging: JudgeSpec, act: Callable[[Judge], Coroutine[Any, Any, T]], costs: Path | None = None
) -> T:
    """Call `act` with a judge, outside of an event loop or inside another one.

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
