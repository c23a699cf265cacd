"""The way of a reply and of a row through the package, counted: what is called, how deep, and in how many modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import halu_tasks
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import build

PACKAGE = str(Path(halu_tasks.__file__).resolve().parent)


class Way(NamedTuple):
    """What a call ran of the package.

    Attributes:
        result: What the call returned.
        calls: The number of calls of functions of the package, each resumption of a generator included.
        depth: The most of them that were within each other.
        modules: The number of its modules that they are in.
    """

    result: Any
    calls: int
    depth: int
    modules: int


def one(task: str, reply: str) -> Callable[[], ScoredReply]:
    """Return what scores a reply to the first item of a task's sample, with everything else done before."""
    evaluation = build(task, Options(data="sample"))
    item, mode = evaluation.items[0], evaluation.options.scoring
    for other in ("A first reply.", f"{reply} "):  # a reply that was read before is not read again
        evaluation.task.score(mode, item, Reply(other))
    return lambda: evaluation.task.score(mode, item, Reply(reply))


def items(task: str) -> Callable[[], list[Item]]:
    """Return what makes all items of a task's sample anew."""
    evaluation = build(task, Options(data="sample"))
    return lambda: list(evaluation.stream())


def traced(run: Callable[[], Any]) -> Way:
    """Run a function, and count what it calls of the package."""
    calls, within, deepest, modules = 0, list[bool](), 0, set[str]()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls, deepest
        if event == "call":
            is_own = frame.f_code.co_filename.startswith(PACKAGE)
            within.append(is_own)
            if is_own:
                calls += 1
                deepest = max(deepest, sum(within))
                modules.add(frame.f_code.co_filename)
        elif event == "return" and within:
            within.pop()

    sys.setprofile(profile)
    try:
        result = run()
    finally:
        sys.setprofile(None)
    return Way(result, calls, deepest, len(modules))
