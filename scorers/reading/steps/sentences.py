"""Plain sentences of a reply and their clauses, for readers that work with expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.text import sentences


def sentences_of(reply: str) -> list[str]:
    """Return the plain sentences of a reply; empty if its reasoning is never closed."""
    return [sentence.text for sentence in sentences((strip_reasoning(reply) or "").strip())]


def clauses(sentence: str, begins: re.Pattern[str]) -> Iterable[str]:
    """Return the clauses of a sentence; each but the first begins with a match of `begins`."""
    cuts = [0, *(found.start() for found in begins.finditer(sentence)), len(sentence)]
    return (sentence[start:end] for start, end in pairwise(cuts))
