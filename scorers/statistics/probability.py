"""Probabilities of an answer, computed from the tokens of a reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from halu_tasks.scorers.score import Score

FACT = "probability"
"""The measurement with the probability, 0 to 1, of the first of a task's two labels."""

MISSING = "no_probability"
"""The measurement, 1, of an item without a probability in a run that asks for one."""


class TokenProbabilities(NamedTuple):
    """One token of a reply.

    Attributes:
        text: The token.
        logprobs: The natural log-probabilities of the token and its alternatives.
    """

    text: str
    logprobs: Mapping[str, float]


def probability_of(tokens: Sequence[TokenProbabilities], choices: tuple[str, str], answer: str) -> float | None:
    """Compute the probability of the first of two choices at the last token that states the answer.

    Tokens are compared with the choices without case and without surrounding white space and punctuation.

    Args:
        tokens: The tokens of the reply.
        choices: The two choices.
        answer: The choice that was read from the reply.

    Returns:
        The probability, normalised over the two choices, 0 to 1; None if no single token states the answer.
    """
    words = [choice.casefold() for choice in choices]
    for token in reversed(tokens):
        if _word(token.text) != answer.casefold():
            continue
        mass = [
            math.fsum(math.exp(logprob) for text, logprob in token.logprobs.items() if _word(text) == word)
            for word in words
        ]
        return mass[0] / sum(mass) if sum(mass) > 0 else None
    return None


def probability_of_likelihoods(first: float, second: float) -> float | None:
    """Compute the probability, 0 to 1, of the first of two answers from their log-likelihoods; None if they are NaN."""
    if math.isnan(first):
        return None
    if first == -math.inf or second == -math.inf:
        return float(first > second)
    return 1 / (1 + math.exp(min(second - first, 700.0)))


def _word(text: str) -> str:
    return text.strip(" \t\r\n\u2581\u0120\"'*_.,:;!()[]").casefold()


def with_probability(score: Score, probability: float | None) -> Score:
    """Add the probability, unless it is None, to the measurements."""
    return score if probability is None else replace(score, measurements={**score.measurements, FACT: probability})


def has_probability(score: Score) -> bool:
    """Return whether a score has a probability, or should have one."""
    return FACT in score.measurements or MISSING in score.measurements


def without_probability(score: Score) -> Score:
    """Mark the score of an item that should have a probability and has none."""
    return replace(score, measurements={**score.measurements, MISSING: 1.0})
