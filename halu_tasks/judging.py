"""A judge: any model that Inspect can call.

Verdicts are kept on disk with the judge's reasons, under the judge's name, its address and settings, and the whole
prompt, so a second run asks nothing again. A question that gets no verdict is a failure, is counted, is never cached,
and never becomes a score.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import os
import random
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model, ModelOutput, ResponseSchema, get_model
from inspect_ai.util import JSONSchema, collect
from tenacity import RetryError

from halu_tasks.credentials import redacted
from halu_tasks.data import cache_folder
from halu_tasks.errors import JudgeError
from halu_tasks.items import Item
from halu_tasks.options import Options
from halu_tasks.scorers.judge import FAILED, Judging, Verdict
from halu_tasks.solvers.prompting import fill, prompt_for

try:
    import uvloop
except ImportError:  # not for Windows, and only as fast as it is optional
    uvloop = None

logger = logging.getLogger(__name__)

CONNECTIONS = 64
_TRIES = 2
"""How often a question is put before a reply without a verdict is a failure."""
_AT_ONCE = 2_000
"""Questions waiting at one time, for a bound on memory."""
_OFTEN = 10
"""Failures needed, where the number of replies is not known beforehand, before their share means anything."""
_PROBE = "Reply with the single word: ready"

SETTINGS = GenerateConfig(
    temperature=0.0, max_tokens=1024, max_connections=CONNECTIONS, max_retries=3, attempt_timeout=120
)


class Judge:
    """Asks one model for verdicts. Not bound to an event loop until it is first asked.

    Args:
        model: the Inspect model that judges.
        judging: what is asked about a reply.
        max_failures: the share of questions that may fail.
        store: the SQLite file that verdicts are kept in.
    """

    def __init__(self, model: Model, judging: Judging, max_failures: float = 0.05, store: Path | None = None) -> None:
        # a copy, since the caller's model keeps its own settings; set once, they are not merged at every call
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
        # None until the judge has answered a question that asks for an object of that form
        self._takes_schema: bool | None = None if self.model.config.response_schema is None else False
        shown = self.model.config.model_copy(
            update={"max_connections": None, "max_retries": None, "attempt_timeout": None, "timeout": None}
        )
        self._identity = "\0".join([self.name, str(model.api.base_url or ""), shown.model_dump_json(exclude_none=True)])

    async def of_reply(self, item: Item, reply: str) -> list[Verdict]:
        """What the judge says of `reply`, which answers `item`, question by question. Never raises for a judge that
        fails on it; raises JudgeError once it has failed often, and on more than the allowed share so far."""
        found = await collect(*(self._verdict(fields) for fields in self._judging.questions(item, reply)))
        self._asked += len(found)
        failed = [verdict for verdict in found if verdict.label == FAILED]
        self._failed += len(failed)
        if self._failed >= _OFTEN and self._failed > self.max_failures * self._asked:
            raise self._too_many(self._failed, self._asked, failed[-1].reason if failed else "")
        return found

    async def of_replies(
        self, replies: Sequence[tuple[Item, str]], each: Callable[[], object] = lambda: None
    ) -> list[list[Verdict]]:
        """The verdicts on every (item, reply), asked side by side; `each` is called after each question. Raises
        JudgeError as soon as more than the allowed share of all have failed."""
        asked = [self._judging.questions(item, reply) for item, reply in replies]
        flat = [fields for own in asked for fields in own]
        failed = 0

        async def one(fields: Mapping[str, str]) -> Verdict:
            nonlocal failed
            found = await self._verdict(fields)
            failed += found.label == FAILED
            if failed > self.max_failures * len(flat):
                raise self._too_many(failed, len(flat), found.reason)
            each()
            return found

        found: list[Verdict] = []
        for start in range(0, len(flat), _AT_ONCE):
            found += await asyncio.gather(*(one(fields) for fields in flat[start : start + _AT_ONCE]))
            gc.collect()
        given = iter(found)
        return [[next(given) for _ in own] for own in asked]

    async def _verdict(self, fields: Mapping[str, str]) -> Verdict:
        text = fill(self._prompt["user"], fields)
        key = hashlib.sha256(f"{self._identity}\0{text}".encode("utf-8", "replace")).hexdigest()
        found = self._store.get(key)
        # what is no label of the question was not stored by this package
        if found is None or found.label not in self._judging.read.labels:
            found = await self._ask(text)
            if found.label != FAILED:
                self._store.put(key, found)
        return found._replace(about=fields.get("about", ""))

    async def _ask(self, text: str) -> Verdict:
        reason = ""
        for _ in range(_TRIES):
            # whatever a provider or the reader raises, the reply keeps its place and the failure is counted
            try:
                output = await self._generate(text)
                answer = self._judging.read(output.completion)
            except Exception as error:
                return Verdict(FAILED, _one_line(error))
            if answer.value:
                return Verdict(answer.value, answer.reason)
            reason = f"no verdict in the reply ({answer.reason})"
        return Verdict(FAILED, reason)

    async def _generate(self, text: str) -> ModelOutput:
        """The judge's reply, as an object of the stated form where the provider takes that wish. Some ignore it, and
        some refuse a request that has it: these are asked without."""
        if self._takes_schema is not False:
            try:
                output = await self.model.generate(text, config=self._schema)
            except Exception as error:
                if self._takes_schema:
                    raise
                output = await self.model.generate(text)
                if self._takes_schema is None:
                    logger.info("judge %s is asked without a response schema: %s", self.name, _one_line(error))
                    self._takes_schema = False
                return output
            self._takes_schema = True
            return output
        return await self.model.generate(text)

    def _too_many(self, failed: int, of: int, reason: str) -> JudgeError:
        return JudgeError(
            f"judge {self.name} gave no verdict on {failed} of {of} questions (allowed: {self.max_failures:.0%}, "
            f"judge_max_failures); last: {reason}; verdicts given so far are kept"
        )

    async def reach(self) -> None:
        """Raise JudgeError, saying why, unless the judge answers a trivial question."""
        try:
            await self.model.generate(_PROBE, config=GenerateConfig(max_tokens=64, max_retries=1))
        except Exception as error:
            raise JudgeError(f"judge {self.name} cannot be reached: {_one_line(error)}") from None


class VerdictStore:
    """Verdicts with their reasons by key, in one SQLite file that processes may share. A file of an earlier version,
    which has no reasons, is taken over with its verdicts. Raises JudgeError where it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._told = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            _when_free(self._prepare)
        except (OSError, sqlite3.Error) as error:
            raise JudgeError(
                f"verdicts cannot be kept in {path} ({error}); name a folder that can be written: HALU_TASKS_CACHE=PATH"
            ) from None

    def _prepare(self) -> None:
        if self._db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        if "reason" in self._columns():
            return
        # one process makes the table, and the others wait for it
        self._db.execute("BEGIN IMMEDIATE")
        try:
            columns = self._columns()
            if not columns:
                self._db.execute(
                    "CREATE TABLE verdicts (key TEXT PRIMARY KEY, label TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '')"
                )
            elif "reason" not in columns:
                self._db.execute("ALTER TABLE verdicts ADD COLUMN reason TEXT NOT NULL DEFAULT ''")
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def _columns(self) -> set[str]:
        return {str(row[1]) for row in self._db.execute("PRAGMA table_info(verdicts)")}

    def get(self, key: str) -> Verdict | None:
        row = self._run("SELECT label, reason FROM verdicts WHERE key = ?", key)
        return Verdict(str(row[0]), str(row[1])) if row else None

    def put(self, key: str, verdict: Verdict) -> None:
        # a reply may hold halves of characters, which SQLite cannot keep
        reason = verdict.reason.encode("utf-8", "replace").decode()
        self._run("INSERT OR REPLACE INTO verdicts (key, label, reason) VALUES (?, ?, ?)", key, verdict.label, reason)

    def _run(self, statement: str, *values: str) -> Any:
        """The first row, or None; also where the file fails, since a verdict that was paid for counts
        whether it can be kept or not."""
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            if not self._told:
                logger.warning("verdicts are not kept: %s", error)
            self._told = True
            return None


_PATIENCE = 60.0
"""Seconds to wait for other processes that open the same file for the first time."""


def _when_free(prepare: Callable[[], None]) -> None:
    """Do what needs a database for itself, again and again while others have it: for changing the journal's mode SQLite
    does not wait by itself."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return prepare()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.005, 0.05))


def open_judge(options: Options, judging: Judging) -> Judge:
    """The judge that the options name, checked to be reachable.

    Raises:
        JudgeError: there is no such model, its client is not installed, or it does not answer.
    """
    name = str(options.judge)
    address = options.judge_base_url
    # servers of one's own often ask for no key, and clients insist on one
    key = os.environ.get("OPENAI_API_KEY", "none") if address else None
    # a compatible server has chat completions, and seldom the newer responses
    settings: dict[str, Any] = {"responses_api": False} if address and name.startswith("openai/") else {}
    try:
        model = get_model(name, base_url=address, api_key=key, memoize=False, **settings)
    except Exception as error:
        raise JudgeError(f"judge {name!r}: {_one_line(error)}") from None
    return Judge(model, judging, options.judge_max_failures)


def judge_now(
    options: Options, judging: Judging, replies: Sequence[tuple[Item, str]], each: Callable[[], object]
) -> list[list[Verdict]]:
    """`Judge.of_replies` for callers without an event loop (or inside someone else's)."""

    async def run() -> list[list[Verdict]]:
        judge = open_judge(options, judging)
        async with judge.model:
            return await judge.of_replies(replies, each)

    return _in_own_loop(run)


def reach_now(options: Options, judging: Judging) -> None:
    """`Judge.reach` for callers without an event loop: raises JudgeError before anything is generated."""

    async def run() -> list[list[Verdict]]:
        judge = open_judge(options, judging)
        async with judge.model:
            await judge.reach()
        return []

    _in_own_loop(run)


def _in_own_loop(run: Callable[[], Coroutine[Any, Any, list[list[Verdict]]]]) -> list[list[Verdict]]:
    loop = uvloop.new_event_loop if uvloop else asyncio.new_event_loop

    running: list[asyncio.AbstractEventLoop] = []

    def work() -> list[list[Verdict]]:
        with asyncio.Runner(loop_factory=loop) as runner:
            running.append(runner.get_loop())
            return runner.run(run())

    # a thread of its own, so that a notebook's running loop is no obstacle
    with ThreadPoolExecutor(1) as pool, _own_collections():
        found = pool.submit(work)
        try:
            return found.result()
        except KeyboardInterrupt:
            # what is being asked is dropped, what was answered is kept
            for own_loop in running:
                for task in asyncio.all_tasks(own_loop):
                    own_loop.call_soon_threadsafe(task.cancel)
            raise


@contextmanager
def _own_collections() -> Iterator[None]:
    """Garbage is collected only where the code within asks for it: a third of the time of many short calls
    would go into walking the objects of a loaded harness again and again."""
    enabled = gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def _one_line(error: BaseException) -> str:
    if isinstance(error, RetryError):
        # what was tried again and again says more than that it was
        error = error.last_attempt.exception() or error
    text = " ".join(re.sub(r"\[/?[a-z]+\]", "", str(error)).split())
    return redacted(f"{type(error).__name__}: {text}")[:300]
