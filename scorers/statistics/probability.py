"""Probabilities of an answer: from the tokens of a reply, and what they are worth (ROC-AUC)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from halu_tasks.scorers.metrics import Array, Metric, ratio
from halu_tasks.scorers.score import Score

FACT = "probability"
"""The fact that holds the probability of the label that a task looks for."""


MISSING = "no_probability"
"""The fact of an item that was asked for a probability and has none."""


class Token(NamedTuple):
    """One token of a reply, with the log-probabilities of itself and its alternatives."""

    text: str
    logprobs: Mapping[str, float]


def probability_of(tokens: Sequence[Token], choices: tuple[str, str], answer: str) -> float | None:
    """The probability of the first of two choices where the reply last says `answer`, the one that was read
    from it, normalised over the two; None where no token says it, as when it is no single token.

    A token is a choice whatever its case and the space and marks around it.
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
    """The probability of the first of two answers, from the log-likelihoods of both; None where they are not known
    (NaN)."""
    if math.isnan(first):
        return None
    if first == -math.inf or second == -math.inf:
        return float(first > second)
    return 1 / (1 + math.exp(min(second - first, 700.0)))


def _word(text: str) -> str:
    return text.strip(" \t\r\n\u2581\u0120\"'*_.,:;!()[]").casefold()


def with_probability(score: Score, probability: float | None) -> Score:
    """The score with a probability among its facts, where there is one."""
    return score if probability is None else replace(score, measurements={**score.measurements, FACT: probability})


def without_probability(score: Score) -> Score:
    """The score of an item that was asked for a probability and has none."""
    return replace(score, measurements={**score.measurements, MISSING: 1.0})


def roc_auc(label: str) -> tuple[Metric, Metric]:
    """`roc_auc`, the area under the ROC curve of the probability of `label`: the share of pairs of an item
    that has the label and one that has not in which the first is the more probable, ties being half. An item
    without a probability ties with every other; `no_probability` is the share of such items. The area is not defined
    where no item has one, and neither is the share unless one was asked for.

    The error leaves out a cluster at a time, by counting its pairs; time is n log n.
    """

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        return (len(scores),)

    def pooled(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        if not any(FACT in s.measurements for scores in clusters for s in scores):
            return np.zeros(3), np.zeros((len(clusters), 3))
        by_cluster = [_split(scores, label) for scores in clusters]
        positive, negative = (np.concatenate(parts) for parts in zip(*by_cluster, strict=True))
        won = _wins(positive, negative)
        lost = len(positive) - _wins(negative, positive)
        table = np.zeros((len(clusters), 3))
        begin = [0, 0]
        for row, (own_positive, own_negative) in zip(table, by_cluster, strict=True):
            ends = begin[0] + len(own_positive), begin[1] + len(own_negative)
            within = _wins(own_positive, own_negative).sum()
            # pairs that reach out of the cluster go with it, and those within it once
            pairs = won[begin[0] : ends[0]].sum() + lost[begin[1] : ends[1]].sum() - within
            row[:] = pairs, len(own_positive), len(own_negative)
            begin = [*ends]
        return np.array([won.sum(), len(positive), len(negative)]), table

    def value(sums: Array) -> Array:
        return ratio(np.stack([sums[..., 0], sums[..., 1] * sums[..., 2]], axis=-1))

    def without(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        table = np.array([(sum(FACT not in s.measurements for s in scores), len(scores)) for scores in clusters], float)
        told = any(fact in s.measurements for scores in clusters for s in scores for fact in (FACT, MISSING))
        return (table.sum(axis=0), table) if told else (np.zeros(2), table * 0)

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


def _split(scores: Sequence[Score], label: str) -> tuple[Array, Array]:
    """The probabilities of the items that have the label and of those that have not, NaN for none."""
    parts: tuple[list[float], list[float]] = ([], [])
    for score in scores:
        parts[score.target != label].append(score.measurements.get(FACT, math.nan))
    return np.array(parts[0]), np.array(parts[1])


def _wins(ones: Array, others: Array) -> Array:
    """For each of `ones`, how many of `others` it is above, ties being half; NaN ties with all."""
    known = np.sort(others[~np.isnan(others)])
    above = (np.searchsorted(known, ones, "left") + np.searchsorted(known, ones, "right")) / 2
    return np.asarray(np.where(np.isnan(ones), len(others) / 2, above + (len(others) - len(known)) / 2))
