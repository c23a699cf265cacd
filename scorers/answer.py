"""What one reply says: the value every parser returns, and the step before any parsing."""

from __future__ import annotations

import re
from typing import Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")

Outcome = Literal["answered", "abstained", "unparsed", "empty"]
"""What became of a reply: it gives an answer, declines to give one, says nothing that can be read, or has no content
at all (a server failed, or there is no reply)."""
NO_ANSWER: tuple[Outcome, ...] = ("unparsed", "abstained", "empty")

# The names models give their reasoning blocks, as tags.
_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|reflection|analysis)>", re.IGNORECASE)


class Answer(NamedTuple, Generic[T]):
    """The answer read from a reply.

    Attributes:
        value: what the reply says; None if it declines to answer or says nothing that can be read.
        reason: why there is no value; empty if there is one.
        abstained: whether the reply declines to answer ("I cannot determine whether this is correct").
        inferred: whether the value is gathered from what the reply says, and not declared as its answer ("Final
            verdict: True"), so that a declaration further on would count instead.
    """

    value: T | None
    reason: str = ""
    abstained: bool = False
    inferred: bool = False

    @property
    def outcome(self) -> Outcome:
        """`answered`, `abstained` or `unparsed`; whether a reply is `empty` is decided where the reply is at hand."""
        if self.value is not None:
            return "answered"
        return "abstained" if self.abstained else "unparsed"


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
