"""Probabilities of an answer, computed from the tokens of a reply, and their ROC-AUC."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from halu_tasks.scorers.metrics import Array, Metric, ratio
from halu_tasks.scorers.score import Score

FACT = "probability"
"""The measurement with the probability, 0 to 1, of the first of a task's two labels."""

MISSING = "no_probability"
"""The measurement, 1, of an item without a probability in a run that asks for one."""


class Token(NamedTuple):
    """One token of a reply.

    Attributes:
        text: The token.
        logprobs: The natural log-probabilities of the token and its alternatives.
    """

    text: str
    logprobs: Mapping[str, float]


def probability_of(tokens: Sequence[Token], choices: tuple[str, str], answer: str) -> float | None:
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
            sum(math.exp(logprob) for text, logprob in token.logprobs.items() if _word(text) == word) for word in words
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


def roc_auc(label: str) -> tuple[Metric, Metric]:
    """Create `roc_auc`, the area under the ROC curve of the probability of `label`, and `no_probability`.

    The area, 0 to 1, is the share of pairs of an item with the label and one without in which the former has the higher
    probability, where ties count as half. An item without a probability ties with every other item; `no_probability` is
    the share of such items. The area is undefined if no item has a probability, and so is the share, unless the run
    asked for probabilities.

    The jackknife error is computed by counting the pairs of each cluster, in O(n log n) time.
    """

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        return (len(scores),)

    def pooled(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        if not any(FACT in s.measurements for scores in clusters for s in scores):
            return np.zeros(3), np.zeros((len(clusters), 3))
        return _pair_sums([_split(scores, label) for scores in clusters])

    def value(sums: Array) -> Array:
        return ratio(np.stack([sums[..., 0], sums[..., 1] * sums[..., 2]], axis=-1))

    def without(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        table = np.array([(sum(FACT not in s.measurements for s in scores), len(scores)) for scores in clusters], float)
        asked = any(name in s.measurements for scores in clusters for s in scores for name in (FACT, MISSING))
        return (table.sum(axis=0), table) if asked else (np.zeros(2), table * 0)

    return (
        Metric(
            "roc_auc",
            counts,
            value,
            pooled=pooled,
            requires_option="probability",
            about=f"area under the ROC curve of the probability of {label}",
        ),
        Metric(
            "no_probability",
            counts,
            ratio,
            higher_is_better=False,
            pooled=without,
            requires_option="probability",
            about="share of items without a probability",
        ),
    )


def _pair_sums(clusters: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Count pairs that are in the right order, items with the label, and items without it.

    Args:
        clusters: The probabilities of the items with the label and of those without it, in each of C clusters.

    Returns:
        The counts over all clusters, shape (3,), and the part of them that is lost with each cluster, shape (C, 3).
    """
    positive, negative = (np.concatenate(parts) for parts in zip(*clusters, strict=True))
    won = _wins(positive, negative)
    lost = len(positive) - _wins(negative, positive)
    table = np.zeros((len(clusters), 3))
    begin = [0, 0]
    for row, (with_label, without_label) in zip(table, clusters, strict=True):
        ends = begin[0] + len(with_label), begin[1] + len(without_label)
        within = _wins(with_label, without_label).sum()
        # lost with the cluster are its pairs with other clusters and, counted once, those within it
        pairs = won[begin[0] : ends[0]].sum() + lost[begin[1] : ends[1]].sum() - within
        row[:] = pairs, len(with_label), len(without_label)
        begin = [*ends]
    return np.array([won.sum(), len(positive), len(negative)]), table


def _split(scores: Sequence[Score], label: str) -> tuple[Array, Array]:
    """Return the probabilities of the items with the label and of those without; NaN for a missing one."""
    parts: tuple[list[float], list[float]] = ([], [])
    for score in scores:
        parts[score.target != label].append(score.measurements.get(FACT, math.nan))
    return np.array(parts[0]), np.array(parts[1])


def _wins(ones: Array, others: Array) -> Array:
    """Count for each of `ones` the `others` that are lower, where ties count as half and NaN ties with everything."""
    defined = np.sort(others[~np.isnan(others)])
    above = (np.searchsorted(defined, ones, "left") + np.searchsorted(defined, ones, "right")) / 2
    return np.asarray(np.where(np.isnan(ones), len(others) / 2, above + (len(others) - len(defined)) / 2))
