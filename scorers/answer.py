"""The answer that a reader extracts from a reply, and removal of reasoning blocks before reading."""

from __future__ import annotations

import re
from typing import Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")

Outcome = Literal["answered", "abstained", "unparsed", "empty"]
"""The outcome of reading a reply.

- `answered`: it gives an answer;
- `abstained`: it declines to give one;
- `unparsed`: no answer can be read from it;
- `empty`: it has no content, because a server failed or there is no reply.
"""
NO_ANSWER: tuple[Outcome, ...] = ("unparsed", "abstained", "empty")
"""The outcomes without an answer."""

# the tags in which models put their reasoning
_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|reflection|analysis)>", re.IGNORECASE)


class Answer(NamedTuple, Generic[T]):
    """The answer read from a reply.

    Attributes:
        value: The answer; None if the reply declines to answer or cannot be read.
        reason: Why there is no value; empty if there is one.
        abstained: Whether the reply declines to answer ("I cannot determine whether this is correct").
        inferred: Whether the value is inferred from the reply's prose. A declared answer ("Final verdict: True") takes
            precedence over an inferred one, even if it comes later.
    """

    value: T | None
    reason: str = ""
    abstained: bool = False
    inferred: bool = False

    @property
    def outcome(self) -> Outcome:
        """The outcome: `answered`, `abstained` or `unparsed`.

        Whether a reply is `empty` is decided by `mark_empty`, which has the reply itself.
        """
        if self.value is not None:
            return "answered"
        return "abstained" if self.abstained else "unparsed"


def strip_reasoning(reply: str) -> str | None:
    """Remove reasoning blocks (`<think>…</think>` and similar tags in any case, nested or not) from a reply.

    A closing tag without an opening one ends a block that was opened by the chat template, so everything before it is
    reasoning. Time is linear in the length of the reply.

    Returns:
        The rest of the reply; None if a block is never closed, since all that follows is reasoning and not an answer.
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
