"""What one reply says: the value every parser returns, and the step before any parsing."""

from __future__ import annotations

import re
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

# The names models give their reasoning blocks, as tags.
_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|reflection|analysis)>", re.IGNORECASE)


class Answer(NamedTuple, Generic[T]):
    """The answer read from a reply.

    `value` is what the reply says, or None when it says nothing that can be read (unparsed);
    `reason` says, for an unparsed reply, why.
    """

    value: T | None
    reason: str = ""


def strip_reasoning(reply: str) -> str | None:
    """The reply without its reasoning blocks (`<think>…</think>` and the like), any case, nested or not.

    A closing tag without an opening one ends a block that the chat template opened, so everything
    before it is reasoning. None when a block is opened and never closed: whatever follows is
    thought, not answer. Linear in the length of the reply.
    """
    kept: list[str] = []
    depth = 0
    start = 0
    for tag in _TAG.finditer(reply):
        if tag[1]:
            if depth == 0:
                kept.clear()
            depth = max(depth - 1, 0)
            start = tag.end()
        else:
            if depth == 0:
                kept.append(reply[start : tag.start()])
            depth += 1
    if depth:
        return None
    kept.append(reply[start:])
    return "".join(kept)
