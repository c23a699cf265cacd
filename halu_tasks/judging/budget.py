"""A limit on what judges cost, which is not passed.

Before a call, what it may cost at most is reserved, retries included; afterwards, what it cost is spent and the rest is
free again. A call for which there is no room waits for calls on their way. If there is none, the budget is spent.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
from inspect_ai.model import Model, ModelUsage, get_model_info

from halu_tasks.core.errors import BudgetError, UsageError
from halu_tasks.core.options import token_price

_MILLION = 1_000_000
_OVERHEAD = 64
"""Input tokens that a provider may add to the bytes of a prompt and its schema."""


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

    Attributes:
        spent: What calls have cost.
        calls: The number of calls that were answered.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self.calls = 0
        self._reserved = 0.0
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
        most = attempt * attempts
        async with self._line:
            await self._wait_for_room(most)
            self._reserved += most
            self._under_way += 1
        call = Call(attempt)
        try:
            yield call
        finally:
            self._reserved -= most
            self._under_way -= 1
            self.spent += call.cost
            self.calls += 1
            self._settled.set()

    async def _wait_for_room(self, most: float) -> None:
        while self._over or self.spent + self._reserved + most > self.limit:
            if self._over or not self._under_way:
                # no later call gets through, however small, so that none is on its way when the run stops
                self._over = True
                raise BudgetError(
                    f"judging stopped before it could cost more than judge_max_cost: spent {dollars(self.spent)} of "
                    f"{dollars(self.limit)}, and the next question may cost up to {dollars(most)}"
                )
            self._settled = anyio.Event()
            await self._settled.wait()

    def estimate(self, questions: int) -> float | None:
        """Return what further questions may cost at the average price so far; None if none was answered."""
        return self.spent / self.calls * questions if self.calls else None


def dollars(amount: float) -> str:
    """Format an amount with four digits after the point, or more if it would be 0."""
    digits = 4 if amount == 0 or amount >= 0.001 else 3 - math.floor(math.log10(amount))
    return f"${amount:.{digits}f}"
