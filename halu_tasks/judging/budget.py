"""A limit on what judges cost, which is not passed, in an SQLite file that the processes of a command share.

Before a call, the most that it may cost is reserved, retries included; afterwards, what it cost is spent and the rest
is free again. A call for which there is no room waits for calls on their way. The reservation of a process that was
killed stays, and counts as spent.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
from inspect_ai.model import Model, ModelUsage, get_model_info

from halu_tasks.core.errors import BudgetError, UsageError
from halu_tasks.core.options import JUDGE_COST_OPTIONS, JudgeOptions, option_specs, token_price
from halu_tasks.judging.shared_budget import FILE_VARIABLE, variable_of

logger = logging.getLogger(__name__)

_MILLION = 1_000_000
_OVERHEAD = 64
"""Input tokens that a provider may add to the bytes of a prompt and its schema."""
_POLL = 0.05
"""Seconds between two looks at whether calls on their way have made room."""
_PATIENCE = 60.0
"""Seconds without any change of the file after which the processes of other reservations are taken to have ended."""
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS spent (dollars REAL NOT NULL)",
    "INSERT INTO spent SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM spent)",
    "CREATE TABLE IF NOT EXISTS reserved (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, dollars REAL NOT NULL)",
)
_ENDED = "ended"
"""The owner of reservations that nobody waits for."""

_Options = TypeVar("_Options", bound=JudgeOptions)


class Price(NamedTuple):
    """What a million tokens cost in dollars."""

    input: float
    output: float

    def most(self, prompt: str, max_tokens: int) -> float:
        """Return the most that one attempt to answer a prompt can cost: a token is at least one byte."""
        tokens = len(prompt.encode("utf-8", "replace")) + _OVERHEAD
        return (tokens * self.input + max_tokens * self.output) / _MILLION

    def cost(self, usage: ModelUsage) -> float:
        """Return what a call cost; cached input counts in full."""
        counts = (usage.input_tokens, usage.input_tokens_cache_read, usage.input_tokens_cache_write)
        read, written = sum(max(count or 0, 0) for count in counts), max(usage.output_tokens, 0)
        return (read * self.input + written * self.output) / _MILLION


def price_of(model: Model, stated: str | None) -> Price:
    """Return the price of a judge: the stated one, or else the one that Inspect knows (`--model-cost-config`).

    Raises:
        UsageError: The price is unknown.
    """
    if stated is not None and (prices := token_price(stated)):
        return Price(*prices)
    info = get_model_info(model)
    if info is None or info.cost is None:
        raise UsageError(
            f"the price of {model} is unknown, so judge_max_cost cannot be kept; state what a million input and output "
            "tokens cost in dollars, such as judge_price=2.50/10"
        )
    cost = info.cost
    return Price(max(cost.input, cost.input_cache_write, cost.input_cache_read), cost.output)


class Budget:
    """Dollars that calls may cost.

    The file has no write-ahead log, which machines that share a folder could not use.

    Args:
        limit: The most that all calls may cost, in dollars.
        path: The file in which costs are recorded; None for a budget of this object alone.

    Attributes:
        spent: What the calls of this object have cost.
        calls: The number of these calls.

    Raises:
        BudgetError: The file cannot be opened.
    """

    def __init__(self, limit: float, path: Path | None = None) -> None:
        self.limit, self.spent, self.calls = limit, 0.0, 0
        self._path, self._owner = path, uuid.uuid4().hex
        self._open: set[int] = set()
        self._over = False
        # waiting calls get room in the order in which they came
        self._line = anyio.Lock()
        with self._reporting():
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", timeout=60, isolation_level=None, check_same_thread=False)
            with self._transaction() as db:
                for statement in _SCHEMA:
                    db.execute(statement)

    async def reserve(self, most: float) -> int:
        """Reserve an amount for a call once there is room for it.

        Args:
            most: The most that the call can cost.

        Returns:
            The number of the reservation, for `settle`.

        Raises:
            BudgetError: There is no room and no call on its way, or the file cannot be written.
        """
        async with self._line:
            before, since = None, 0.0
            while not self._over:
                with self._reporting(), self._transaction() as db:
                    costs = self._costs(db)
                    if costs.spent + costs.reserved + most <= self.limit:
                        sql = "INSERT INTO reserved (owner, dollars) VALUES (?, ?)"
                        number = int(db.execute(sql, (self._owner, most)).lastrowid or 0)
                        self._open.add(number)
                        return number
                if costs != before:
                    before, since = costs, time.monotonic()
                waits_for_others = costs.others and time.monotonic() - since < _PATIENCE
                # no later call gets through, however small, so that none is on its way when the run stops
                self._over = not self._open and not waits_for_others
                if not self._over:
                    await anyio.sleep(_POLL)
            raise self._spent_error(most)

    def settle(self, number: int, dollars: float) -> None:
        """Replace a reservation by what the call cost.

        If the file cannot be written, a warning is logged, and the reservation stays.
        """
        self._open.discard(number)
        self.spent += dollars
        self.calls += 1
        try:
            with self._transaction() as db:
                db.execute("DELETE FROM reserved WHERE id = ?", (number,))
                db.execute("UPDATE spent SET dollars = dollars + ?", (dollars,))
        except sqlite3.Error as error:
            logger.warning("%s: %s; the most that a call of the judge can cost counts as spent", self._path, error)

    def costs(self) -> Costs:
        """Return what calls have cost.

        Raises:
            BudgetError: The file cannot be read.
        """
        with self._reporting(), self._transaction() as db:
            return self._costs(db)

    def _costs(self, db: sqlite3.Connection) -> Costs:
        others = f"(SELECT count(*) FROM reserved WHERE owner NOT IN (?, '{_ENDED}'))"
        sql = f"SELECT dollars, (SELECT total(dollars) FROM reserved), {others} FROM spent"
        return Costs(*db.execute(sql, (self._owner,)).fetchone())

    def _spent_error(self, most: float) -> BudgetError:
        with self._reporting(), self._transaction() as db:
            db.execute("UPDATE reserved SET owner = ? WHERE owner <> ?", (_ENDED, self._owner))
            costs = self._costs(db)
        lost = f" ({dollars(costs.reserved)} of it for questions that were interrupted)" if costs.reserved else ""
        return BudgetError(
            f"judging stopped before it could cost more than judge_max_cost: spent "
            f"{dollars(costs.spent + costs.reserved)} of {dollars(self.limit)}{lost}, and the reserve for the next "
            f"question is {dollars(most)} (one token per byte, the longest reply, all retries)"
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise BudgetError(
                f"{self._path}: what judges cost cannot be recorded ({error}), so none is asked; make the file "
                "writable, or remove it if it is damaged"
            ) from None


class Costs(NamedTuple):
    """What calls have cost.

    Attributes:
        spent: Dollars that finished calls have cost.
        reserved: Dollars that are reserved for calls on their way, or for calls whose process has ended.
        others: The number of reservations of other processes that may still run.
    """

    spent: float
    reserved: float
    others: int


def open_budget(options: _Options, file: Path | None) -> tuple[Budget | None, _Options]:
    """Return the budget of a judge, and the options with its price.

    What `options` does not say, the environment may: a variable for each of `JUDGE_COST_OPTIONS`, and one for the file.

    Args:
        options: The options.
        file: Where costs are recorded; None if the environment may say it.

    Returns:
        The budget, or None if there is no limit; and the options.

    Raises:
        UsageError: A variable has no valid value.
        BudgetError: The file cannot be opened.
    """
    values: dict[str, Any] = {}
    for name in JUDGE_COST_OPTIONS:
        variable, kind = variable_of(name), option_specs(JudgeOptions)[name].type
        text = os.environ.get(variable)
        if getattr(options, name) is not None or not text or not kind:
            continue
        try:
            values[name] = kind.parse(text)
        except ValueError:
            values[name] = None
        if values[name] is None or not kind.accepts_value(values[name]):
            raise UsageError(f"{variable}: expected {kind.description}, got {text!r}")
    options = replace(options, **values)
    if options.judge_max_cost is None:
        return None, options
    named = os.environ.get(FILE_VARIABLE)
    return Budget(options.judge_max_cost, file or (Path(named) if named else None)), options


def dollars(amount: float) -> str:
    """Format an amount with four digits after the point, or more if it would be 0."""
    digits = 4 if amount == 0 or amount >= 0.001 else 3 - math.floor(math.log10(amount))
    return f"${amount:.{digits}f}"
