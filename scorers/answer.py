"""The answer that a reader extracts from a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")

Outcome = Literal["answered", "inferred", "abstained", "unparsed", "empty", "failed"]
"""The outcome of asking for a reply and reading it.

- `answered`: it declares an answer;
- `inferred`: it declares none, and the answer is inferred from what it says;
- `abstained`: it declines to give one;
- `unparsed`: no answer can be read from it;
- `empty`: it has no content, because a server failed or there is no reply;
- `failed`: there is none, because the request was refused, filtered or ended in an error.
"""
ANSWERED: Final = "answered"
INFERRED: Final = "inferred"
ABSTAINED: Final = "abstained"
UNPARSED: Final = "unparsed"
EMPTY: Final = "empty"
REQUEST_FAILED: Final = "failed"
NO_ANSWER: Mapping[Outcome, str] = {
    UNPARSED: "contains no readable answer",
    ABSTAINED: "declines to answer",
    EMPTY: "has no content, as when a server fails",
    REQUEST_FAILED: "is missing, because the request was refused, filtered or ended in an error",
}
"""The outcomes without an answer, and what such a reply does; figures count it as wrong."""


class Answer(NamedTuple, Generic[T]):
    """The answer read from a reply.

    Attributes:
        value: The answer; None if there is none.
        reason: Why there is no value; empty if there is one.
        unanswered: The outcome if there is no value.
        inferred: Whether the value is inferred from the reply's prose. A declared answer ("Final verdict: True") takes
            precedence over an inferred one, even if it comes later.
        step: The step of reading that found the value; empty if there is none.
        place: Where the line or sentence that it stands on is in the reply, as offsets in characters; None if it
            stands on no one of them.
    """

    value: T | None
    reason: str = ""
    unanswered: Outcome = UNPARSED
    inferred: bool = False
    step: str = ""
    place: tuple[int, int] | None = None

    @property
    def outcome(self) -> Outcome:
        """How the reply was read."""
        if self.value is not None:
            return INFERRED if self.inferred else ANSWERED
        return self.unanswered
