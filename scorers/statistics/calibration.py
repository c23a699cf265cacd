"""Probabilities of a label, and their metrics: ranking, calibration, and labels at a tuned threshold.

An item without a probability counts as 0.5 in the Brier score and the calibration error, ties with every other item in
the area under the ROC curve, and is never retrieved in the average precision. All metrics are undefined if no item has
a probability.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.classification import FIGURES, Figure, part_and_whole, ratio_or_zero
from halu_tasks.scorers.columns import NO_PROBABILITY, PROBABILITY, Array, Column
from halu_tasks.scorers.metrics import Metric, Terms, metric, ratio
from halu_tasks.scorers.score import ScoredReply

# --- probabilities of tokens ------------------------------------------------------------------------------

TokenProbabilities = tuple[str, Mapping[str, float]]
"""A token of a reply, and the natural log-probabilities of the token and its alternatives."""


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
    for token, logprobs in reversed(tokens):
        if _word(token) != answer.casefold():
            continue
        mass = [
            math.fsum(math.exp(logprob) for text, logprob in logprobs.items() if _word(text) == word) for word in words
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


def joint_probability(probabilities: Sequence[float | None]) -> float | None:
    """Compute the probability that all claims are right, assuming that they are independent.

    This is the product of their probabilities, computed in log space.

    Args:
        probabilities: The probability of each claim, 0 to 1; None, if it is unknown, counts as 0.5.

    Returns:
        The probability, 0 to 1; None if there are no claims or nothing is known about any of them.
    """
    if all(probability is None for probability in probabilities):
        return None
    factors = [0.5 if probability is None else probability for probability in probabilities]
    if min(factors) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, factors)))


def _word(text: str) -> str:
    return text.strip(" \t\r\n\u2581\u0120\"'*_.,:;!()[]").casefold()


def with_probability(score: ScoredReply, probability: float | None) -> ScoredReply:
    """Add the probability, unless it is None, to the measurements."""
    return score if probability is None else replace(score, facts={**score.facts, PROBABILITY: probability})


def has_probability(score: ScoredReply) -> bool:
    """Return whether a score has a probability, or should have one."""
    return not {PROBABILITY, NO_PROBABILITY}.isdisjoint(score.facts)


def without_probability(score: ScoredReply) -> ScoredReply:
    """Mark the score of an item that should have a probability and has none."""
    return replace(score, facts={**score.facts, NO_PROBABILITY: 1.0})


# --- metrics ----------------------------------------------------------------------------------------------


BINS = 10
"""The number of bins of equal width in the calibration error."""
TRAIN, TEST = "train", "test"
"""The values of the tag that says whether an item is a training or a test item."""
# probabilities this close to the threshold are equal to it, since averages are subject to rounding errors
_ROUNDING = 1e-12


def probability_metrics(label: str) -> tuple[Metric, ...]:
    """Create all metrics of the probability of `label`.

    These are `roc_auc`, `auprc`, `brier`, `ece`, `ece_by_chance`, `no_probability`, and those of a tuned threshold.
    """
    ranking = roc_auc(label), auprc(label)
    return *ranking, brier(label), ece(label), ece_by_chance, no_probability, *tuned_metrics(label)


def _with_and_without(label: str) -> Callable[[Column], list[Column]]:
    return lambda target: [target == label, target != label]


def _if_any(sums: Array) -> Array:
    return np.asarray(np.where(sums[..., 2] > 0, ratio(sums), np.nan))


def roc_auc(label: str) -> Metric:
    """Create the share of pairs of an item with the label and one without in which the former is more probable.

    Ties count as half.
    """

    @metric(
        form="figure",
        about=f"area under the ROC curve of the probability of {label}",
        classes=_with_and_without(label),
        requires_option="probability",
    )
    def roc_auc(probability: Column, target: Column) -> Terms:
        has_label, has_probability = target == label, ~np.isnan(probability)
        if not has_probability.any():
            return math.nan
        lower = np.sort(probability[~has_label & has_probability])
        higher = probability[has_label & has_probability]
        won = (np.searchsorted(lower, higher, "left") + np.searchsorted(lower, higher, "right")).sum() / 2
        pairs = has_label.sum() * (~has_label).sum()
        ties = pairs - len(higher) * len(lower)
        return (won + ties / 2) / pairs if pairs else math.nan

    return roc_auc


def auprc(label: str) -> Metric:
    """Create the sum over thresholds of the precision at each times the increase in recall.

    Equal probabilities share a threshold. It estimates the area under the precision-recall curve without interpolation.
    """

    @metric(
        form="figure",
        about=f"average precision of the probability of {label}",
        classes=_with_and_without(label),
        requires_option="probability",
    )
    def auprc(probability: Column, target: Column) -> Terms:
        has_label, has_probability = target == label, ~np.isnan(probability)
        if not has_probability.any() or not has_label.any():
            return math.nan
        return precision_sum(probability[has_probability], has_label[has_probability]) / has_label.sum()

    return auprc


def precision_sum(degrees: Array, positive: Column, above: int = 0) -> float:
    """Compute the sum over thresholds of the precision at each times the number of positives that it adds.

    Divided by the number of positives, this is the average precision. Equal degrees share a threshold.

    Args:
        degrees: The degrees, by which items are retrieved.
        positive: Which items are positive.
        above: The number of further items, none of them positive, that are retrieved at every threshold.
    """
    order = np.argsort(-degrees, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(degrees[order]) != 0, True))
    hits = np.cumsum(positive[order])[ends].astype(np.float64)
    return float((np.diff(hits, prepend=0) * hits / (ends + 1.0 + above)).sum())


@metric(
    form="sums",
    about="share of items without a probability",
    requires_option="probability",
    higher_is_better=False,
    value=_if_any,
)
def no_probability(probability: Column, no_probability: Column) -> Terms:
    """Compute the share, which is undefined unless the run asked for probabilities."""
    missing = np.isnan(probability)
    return missing, 1.0, ~missing | (no_probability == 1)


def brier(label: str) -> Metric:
    """Create the Brier score. A constant probability of 0.5 scores 0.25."""

    @metric(
        form="sums",
        about=f"mean squared difference between the probability of {label} and 1 if it is the target, else 0",
        higher_is_better=False,
        value=_if_any,
        requires_option="probability",
    )
    def brier(probability: Column, target: Column) -> Terms:
        has_probability = ~np.isnan(probability)
        return (np.where(has_probability, probability, 0.5) - (target == label)) ** 2, 1.0, has_probability

    return brier


def ece(label: str) -> Metric:
    """Create the mean over bins of the absolute difference between average probability and share of the label.

    The bins have equal width (Naeini et al. 2015), and are weighted by their items.

    Absolute differences do not cancel, so that calibrated probabilities have an error too, which falls only with the
    root of the number of items: `ece_by_chance` is that part. An interval around the error would leave out the true
    one, so it has none.
    """

    @metric(
        form="figure",
        about=f"expected calibration error of the probability of {label}, in {BINS} bins",
        higher_is_better=False,
        has_interval=False,
        requires_option="probability",
    )
    def ece(probability: Column, target: Column) -> Terms:
        if np.isnan(probability).all():
            return math.nan
        filled, bins = _binned(probability)
        gaps = np.abs(_sums(filled - (target == label), bins))
        return gaps.sum() / len(filled)

    return ece


@metric(
    form="figure",
    about="expected ece of calibrated probabilities, which is the part of ece that is due to chance",
    requires_option="probability",
    higher_is_better=None,
    has_interval=False,
)
def ece_by_chance(probability: Column) -> Terms:
    """Compute the mean over bins of the expected absolute difference.

    The items of a bin that have the label are taken for independent draws with the items' probabilities. Their number
    has about the binomial distribution with the same mean and variance, whose mean absolute deviation is
    2 (1 - p) k C(n, k) pᵏ (1 - p)ⁿ⁻ᵏ with k = ⌊n p⌋ + 1 (de Moivre 1730).
    """
    if np.isnan(probability).all():
        return math.nan
    filled, bins = _binned(probability)
    items, expected, squares = np.bincount(bins, minlength=BINS), _sums(filled, bins), _sums(filled**2, bins)
    # of the items with and without the label, the rarer ones are counted
    rest = items - expected
    of_rest = items - 2 * expected + squares
    gaps = _mean_deviation(np.minimum(expected, rest), np.where(expected <= rest, squares, of_rest))
    return gaps.sum() / len(filled)


def _binned(probability: Column) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the probabilities, 0.5 for a missing one, and the bin of each."""
    filled = np.where(np.isnan(probability), 0.5, probability)
    return filled, np.minimum((filled * BINS).astype(np.int64), BINS - 1)


def _sums(column: Array, bins: npt.NDArray[np.int64]) -> Array:
    return np.array([math.fsum(column[bins == number].tolist()) for number in range(BINS)])


def _mean_deviation(expected: Array, squares: Array) -> Array:
    """Compute the mean absolute deviation of the number of hits of independent items, from sums of probabilities.

    Args:
        expected: The sum of the probabilities.
        squares: The sum of their squares.
    """
    from scipy.special import gammaln, xlog1py, xlogy  # imported here because listings do not need it

    expected = np.maximum(expected, 0.0)
    p = np.clip(np.where(expected > 0, squares / np.where(expected > 0, expected, 1.0), 0.0), 0.0, 1.0)
    n = np.where(p > 0, expected / np.where(p > 0, p, 1.0), 0.0)
    k = np.floor(expected) + 1
    rest = np.maximum(n - k, 0.0)
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(rest + 1) + xlogy(k, p) + xlog1py(rest, -p)
    return np.asarray(np.where(expected > 0, 2 * (1 - p) * k * np.exp(log), 0.0))


# --- at a tuned threshold -------------------------------------------------------------------------------


def tuned_metrics(label: str) -> tuple[Metric, ...]:
    """Create the metrics of the probability of `label` at a threshold tuned on a training part of the items, 0 to 1.

    This is the method of Factored Verification (George and Stuhlmüller 2023, arXiv 2310.10627, section 2.3). The
    threshold is the mean of two averages over the training items: the average probability of the items with a label
    and that of the items without it. A test item is predicted to have the label if its probability is above it. The
    paper uses the probability that a summary is correct, which is one minus that of a hallucination: "below the
    threshold" there is above it here, and an item at the threshold does not have the label.

    Training items without a probability are ignored; test items without one are wrong: misses of their class, and false
    alarms of none.

    The metrics are `threshold`, and `acc_tuned`, `precision_tuned`, `recall_tuned` and `f1_tuned` over the test items;
    the latter three are of `label`. All are undefined unless there are probabilities of training items with the label
    and of others. Precision, recall and F1 are 0 if their denominator is. Their errors are given the threshold: in
    simulations, that of the threshold hardly adds to them (docs/decisions/0006-metrics-as-functions.md).
    """
    figures: tuple[Figure | Literal["acc"], ...] = ("acc", *FIGURES)
    return threshold(label), *(_at_threshold(figure, label) for figure in figures)


def _middle(sums: Array) -> Array:
    return np.asarray(np.stack([ratio(sums[..., :2]), ratio(sums[..., 2:])], axis=-1).mean(axis=-1))


def threshold(label: str) -> Metric:
    """Create the threshold that `tuned_metrics` describes."""

    @metric(
        form="sums",
        about=f"probability of {label} above which items are predicted as {label}, tuned on the training part",
        higher_is_better=None,
        value=_middle,
        requires_option="probability",
    )
    def threshold(probability: Column, target: Column, tag_part: Column) -> Terms:
        return _training_sums(probability, target == label, tag_part)

    return threshold


def _training_sums(probability: Column, has_label: Column, part: Column) -> tuple[Column, ...]:
    """Return the terms of the two averages: a sum and a number for the items with the label, and for those without."""
    trains = (part == TRAIN) & ~np.isnan(probability)
    with_label, without = trains & has_label, trains & ~has_label
    return probability * with_label, with_label, probability * without, without


def _at_threshold(figure: Figure | Literal["acc"], label: str) -> Metric:
    of = "" if figure == "acc" else f" of {label}"
    about = f"{figure}{of} over the test items at the tuned threshold"

    def classes(target: Column, tag_part: Column) -> list[Column]:
        return [(target == label) & (tag_part == TEST)] if figure == "f1" else []

    @metric(
        name=f"{figure}_tuned",
        form="figure",  # whose threshold rests on all items
        about=about,
        value=ratio_or_zero,
        classes=classes,
        requires_option="probability",
    )
    def tuned(probability: Column, target: Column, tag_part: Column) -> Terms:
        has_label, test = target == label, tag_part == TEST
        terms = _training_sums(probability, has_label, tag_part)
        sums = [math.fsum(np.nan_to_num(column).tolist()) for column in terms]
        threshold = float(_middle(np.array(sums)))
        if math.isnan(threshold) or not test.any():
            return math.nan
        called = 1.0 * (test & (probability > threshold + _ROUNDING))  # NaN is not
        actual = 1.0 * (test & has_label)
        if figure == "acc":
            return test & (called == actual) & ~np.isnan(probability), test
        return part_and_whole(figure, called * actual, called, actual)

    return tuned
