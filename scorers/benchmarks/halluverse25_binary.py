"""HalluVerse25's binary task, as published. Nobody has published how its replies are read, so `paper` takes a reply
that is yes or no and nothing else, in any case, with or without a full stop."""

from __future__ import annotations

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.hallucination import NO, YES


def yes_no_alone(reply: str) -> Answer[str]:
    """Yes or No if the reply is that word and nothing else."""
    word = reply.strip().removesuffix(".").capitalize()
    return Answer(word) if word in (YES, NO) else Answer(None, "not yes or no alone")
