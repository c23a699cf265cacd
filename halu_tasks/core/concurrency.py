"""Running coroutines concurrently."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def gather(*coroutines: Coroutine[Any, Any, T]) -> list[T]:
    """Run coroutines concurrently and return their results in order.

    This is Inspect's `collect` without a span in the log for each coroutine, which is of no use around a single call.
    """
    if len(coroutines) == 1:
        return [await coroutines[0]]
    results: dict[int, T] = {}

    async def run(place: int, coroutine: Coroutine[Any, Any, T]) -> None:
        results[place] = await coroutine

    try:
        async with anyio.create_task_group() as group:
            for place, coroutine in enumerate(coroutines):
                group.start_soon(run, place, coroutine)
    except ExceptionGroup as errors:
        # one error says what is wrong; a group of them would hide its type from Inspect
        raise errors.exceptions[0] from None
    return [results[place] for place in range(len(coroutines))]
