"""Several things asked at once."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def gather(*asked: Coroutine[Any, Any, T]) -> list[T]:
    """The results of what runs side by side, in order. As Inspect's `collect`, but without a span in the log for
    each, which for one call would hold one event."""
    found: dict[int, T] = {}

    async def run(place: int, one: Coroutine[Any, Any, T]) -> None:
        found[place] = await one

    try:
        async with anyio.create_task_group() as group:
            for place, one in enumerate(asked):
                group.start_soon(run, place, one)
    except ExceptionGroup as errors:
        # one error says what is wrong; a group of them would hide its type from Inspect
        raise errors.exceptions[0] from None
    return [found[place] for place in range(len(asked))]
