"""A limit on what judges cost, which is not passed.

Before a call, what it may cost at most is reserved, retries included; afterwards, what it cost is spent and the rest is
free again. A call for which there is no room waits for calls on their way, also those of other processes that share the
budget. If there is none, the budget is spent.
"""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from inspect_ai.model import Model, ModelUsage, get_model_info

from halu_tasks.core.errors import BudgetError, UsageError
from halu_tasks.core.options import JUDGE_COST_OPTIONS, Options, token_price
from halu_tasks.judging.ledger import FILE_VARIABLE, Ledger, variable_of

_MILLION = 1_000_000
_OVERHEAD = 64
"""Input tokens that a provider may add to the bytes of a prompt and its schema."""
_POLL = 0.5
"""Seconds between two looks at whether calls of other processes have made room."""


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
        read = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        return (read * self.input + usage.output_tokens * self.output) / _MILLION


def price_of(model: Model, stated: str | None, option: str) -> Price:
    """Return the price of a model: the stated one, or else the one that Inspect knows (`--model-cost-config`).

    Args:
        model: The model.
        stated: The price that the user stated, if any.
        option: The option that states it.

    Raises:
        UsageError: The price is unknown.
    """
    if stated is not None:
        return Price(*token_price(stated))
    info = get_model_info(model)
    if info is None or info.cost is None:
        raise UsageError(
            f"the price of {model} is unknown, so judge_max_cost cannot be kept; state what a million input and output "
            f"tokens cost in dollars, such as {option}=2.50/10"
        )
    cost = info.cost
    return Price(max(cost.input, cost.input_cache_write, cost.input_cache_read), cost.output)


class Call:
    """A call on its way.

    Attributes:
        attempt: The most that one attempt can cost.
        cost: What the call cost; the most until it is known.
    """

    def __init__(self, attempt: float) -> None:
        self.attempt = self.cost = attempt


class Budget:
    """Dollars that calls may cost.

    Args:
        limit: The limit, in dollars.
        ledger: Where costs are recorded; by default in memory, for this budget alone.

    Attributes:
        spent: What the calls of this budget have cost.
        calls: The number of these calls.
    """

    def __init__(self, limit: float, ledger: Ledger | None = None) -> None:
        self.limit = limit
        self.spent = 0.0
        self.calls = 0
        self._ledger = ledger or Ledger()
        self._under_way = 0
        self._over = False
        # waiting calls get room in the order in which they came
        self._line = anyio.Lock()
        self._settled = anyio.Event()

    @asynccontextmanager
    async def call(self, attempt: float, attempts: int) -> AsyncIterator[Call]:
        """Make a call within the budget; its `cost` is to be set when it is known.

        Args:
            attempt: The most that one attempt can cost.
            attempts: How often the call is tried at most.

        Raises:
            BudgetError: There is no room for the call, and no call is on its way.
        """
        async with self._line:
            reservation = await self._reserve(attempt * attempts)
            self._under_way += 1
        call = Call(attempt)
        try:
            yield call
        finally:
            self._under_way -= 1
            self.spent += call.cost
            self.calls += 1
            self._ledger.settle(reservation, call.cost)
            self._settled.set()

    async def _reserve(self, most: float) -> int:
        """Reserve an amount once there is room for it."""
        while self._over or (reservation := self._ledger.reserve(most, self.limit)) is None:
            if self._under_way and not self._over:
                self._settled = anyio.Event()
                await self._settled.wait()
            elif not self._over and self._ledger.awaits_calls():
                await anyio.sleep(_POLL)
            else:
                # no later call gets through, however small, so that none is on its way when the run stops
                self._over = True
                raise BudgetError(self._reason(most))
        return reservation

    def _reason(self, most: float) -> str:
        costs = self._ledger.costs()
        lost = f" ({dollars(costs.reserved)} of it for questions that were interrupted)" if costs.reserved else ""
        return (
            f"judging stopped before it could cost more than judge_max_cost: spent {dollars(costs.most)} of "
            f"{dollars(self.limit)}{lost}, and the reserve for the next question is {dollars(most)} "
            "(one token per byte, the longest reply, all retries)"
        )

    def estimate(self, questions: int) -> float | None:
        """Return what further questions may cost at the average price so far; None if none was answered."""
        return self.spent / self.calls * questions if self.calls else None


def open_budget(options: Options, file: Path | None) -> tuple[Budget | None, Options]:
    """Return the budget of the judges, and the options with their prices.

    What `options` does not say, the environment may: a variable for each of `JUDGE_COST_OPTIONS`, and `FILE_VARIABLE`.

    Args:
        options: The options of a task.
        file: Where costs are recorded; None if the environment may say it.

    Returns:
        The budget, or None if there is no limit; and the options.

    Raises:
        UsageError: A variable has no valid value.
        BudgetError: The file cannot be opened.
    """
    specs = Options.specs()
    values: dict[str, Any] = {}
    for name in JUDGE_COST_OPTIONS:
        text, kind = os.environ.get(variable_of(name)), specs[name].type
        if getattr(options, name) is None and text and kind:
            try:
                values[name] = kind.parse(text)
            except ValueError:
                raise UsageError(f"{variable_of(name)}: expected {kind.description}, got {text!r}") from None
    options = replace(options, **values)
    if options.judge_max_cost is None:
        return None, options
    named = os.environ.get(FILE_VARIABLE)
    return Budget(options.judge_max_cost, _ledger(file or (Path(named) if named else None))), options


_ledgers: dict[Path, Ledger] = {}


def _ledger(path: Path | None) -> Ledger:
    """Return the ledger of a file, which all judges of this process share."""
    if path is None:
        return Ledger()
    path = path.absolute()
    if path not in _ledgers or not path.exists():
        _ledgers[path] = Ledger(path)
    return _ledgers[path]


def dollars(amount: float) -> str:
    """Format an amount with four digits after the point, or more if it would be 0."""
    digits = 4 if amount == 0 or amount >= 0.001 else 3 - math.floor(math.log10(amount))
    return f"${amount:.{digits}f}"
