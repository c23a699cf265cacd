"""The published reading of HalluVerse25's binary task.

The paper does not say how replies are read. `paper` therefore accepts only a reply that is yes or no and nothing else,
in any case, with or without a full stop.
"""

from __future__ import annotations

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.questions import NO, YES


def yes_no_alone(reply: str) -> Answer[str]:
    """Read a reply that is yes or no and nothing else (`paper`)."""
    word = reply.strip().removesuffix(".").capitalize()
    return Answer(word) if word in (YES, NO) else Answer(None, "not yes or no alone")
