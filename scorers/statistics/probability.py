"""Probabilities of an answer, computed from the tokens of a reply, and their ROC-AUC."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Array, Items, Metric, Pooled, ratio
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

    def sums(pooled: Items) -> tuple[Array, Array]:
        items = Probabilities.of(pooled)
        if np.isnan(items.probability).all():
            return np.zeros(3), np.zeros((pooled.clusters, 3))
        return pair_sums(items, pooled.clusters)

    def value(sums: Array) -> Array:
        return ratio(np.stack([sums[..., 0], sums[..., 1] * sums[..., 2]], axis=-1))

    def without(pooled: Items) -> tuple[Array, Array]:
        missing, asked = pooled.columns.T
        one = np.ones(len(missing)) * bool(asked.any())
        columns = [np.bincount(pooled.cluster, of * one, pooled.clusters) for of in (missing, one)]
        table = np.stack(columns, axis=1).astype(np.float64)
        return table.sum(axis=0), table

    return (
        Metric(
            "roc_auc",
            counts,
            value,
            pooled=Pooled(PROBABILITY_COLUMNS, partial(probability_row, label=label), sums),
            classes=lambda table: np.asarray(table[:, 1:] > 0),
            requires_option="probability",
            about=f"area under the ROC curve of the probability of {label}",
        ),
        Metric(
            "no_probability",
            counts,
            ratio,
            higher_is_better=False,
            pooled=Pooled(("missing", "asked"), _missing_row, without),
            requires_option="probability",
            about="share of items without a probability",
        ),
    )


def _missing_row(score: Score) -> tuple[float, float]:
    known = FACT in score.measurements
    return float(not known), float(known or MISSING in score.measurements)


PROBABILITY_COLUMNS = ("has", "probability")
"""What metrics that compare probabilities keep of an item."""


def probability_row(score: Score, label: str) -> tuple[float, float]:
    """Return whether an item has the label, and the probability of it; NaN for a missing one."""
    return float(score.target == label), score.measurements.get(FACT, math.nan)


class Probabilities(NamedTuple):
    """N items with the probability of a label.

    Attributes:
        cluster: The number of each item's cluster, shape (N,).
        has: Whether each item has the label, shape (N,).
        probability: The probability of the label for each item, shape (N,); NaN for a missing one.
    """

    cluster: npt.NDArray[np.int64]
    has: npt.NDArray[np.bool_]
    probability: Array

    @classmethod
    def of(cls, items: Items) -> Probabilities:
        """Name the columns of items (`PROBABILITY_COLUMNS`)."""
        return cls(items.cluster, items.columns[:, 0] > 0, items.columns[:, 1])


def pair_sums(items: Probabilities, clusters: int) -> tuple[Array, Array]:
    """Count pairs that are in the right order, items with the label, and items without it.

    Args:
        items: The items.
        clusters: The number C of clusters.

    Returns:
        The counts over all clusters, shape (3,), and the part of them that is lost with each cluster, shape (C, 3).
    """
    rank = np.unique(items.probability, return_inverse=True)[1]
    rank[np.isnan(items.probability)] = -1
    has, cluster = items.has, items.cluster
    everywhere = np.zeros_like(cluster)
    won = _wins(everywhere[has], rank[has], everywhere[~has], rank[~has])
    lost = has.sum() - _wins(everywhere[~has], rank[~has], everywhere[has], rank[has])
    within = _wins(cluster[has], rank[has], cluster[~has], rank[~has])
    # lost with a cluster are its pairs with other clusters and, counted once, those within it
    pairs = np.bincount(cluster[has], won - within, clusters) + np.bincount(cluster[~has], lost, clusters)
    with_label, without_label = (np.bincount(cluster[one], minlength=clusters) for one in (has, ~has))
    total = np.array([won.sum(), has.sum(), (~has).sum()], dtype=np.float64)
    return total, np.stack([pairs, with_label, without_label], axis=1).astype(np.float64)


Numbers = npt.NDArray[np.int64]


def _wins(group: Numbers, rank: Numbers, other_group: Numbers, other_rank: Numbers) -> Array:
    """Count for each item the others of its group that are lower; ties and missing probabilities count as half.

    Args:
        group: The number of each item's group, shape (N,).
        rank: The rank of each item's probability among all items, shape (N,); -1 for a missing one.
        other_group: The numbers of the other items' groups, shape (M,).
        other_rank: The ranks of the other items, shape (M,).

    Returns:
        The counts, shape (N,).
    """
    groups = max(group.max(initial=0), other_group.max(initial=0)) + 1
    ranks = max(rank.max(initial=0), other_rank.max(initial=0)) + 1
    missing = other_rank < 0
    others = np.bincount(other_group, minlength=groups)[group]
    unknown = np.bincount(other_group[missing], minlength=groups)[group]
    keys = np.sort(other_group[~missing] * ranks + other_rank[~missing])
    key = group * ranks + rank
    lower = (np.searchsorted(keys, key, "left") + np.searchsorted(keys, key, "right")) / 2
    lower -= np.searchsorted(keys, group * ranks, "left")
    return np.asarray(np.where(rank < 0, others / 2, lower + unknown / 2))
