"""Metrics of the probability of a label other than ROC-AUC: average precision, Brier score, calibration error.

An item without a probability counts as 0.5 in the Brier score and the calibration error, and is never retrieved in the
average precision. All metrics are undefined if no item has a probability.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Array, Metric, Value, ratio
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.probability import FACT, roc_auc
from halu_tasks.scorers.statistics.threshold import tuned_metrics

BINS = 10
"""The number of bins of equal width in the calibration error."""
_GROUPS = 200
"""The maximum number of groups in which clusters are left out, since each needs a new average precision."""


def probability_metrics(label: str) -> tuple[Metric, ...]:
    """Create all metrics of the probability of `label`.

    These are `roc_auc`, `auprc`, `brier`, `ece`, `no_probability`, and those of a tuned threshold.
    """
    area, missing = roc_auc(label)
    return area, auprc(label), brier(label), ece(label), missing, *tuned_metrics(label)


def auprc(label: str) -> Metric:
    """Create the average precision of the probability of `label`, 0 to 1.

    It is the sum over thresholds of the precision at each times the increase in recall, where equal probabilities share
    a threshold. It estimates the area under the precision-recall curve without interpolation.
    """

    def pooled(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        number = np.repeat(np.arange(len(clusters)) % _GROUPS, [len(scores) for scores in clusters])
        flat = [s for scores in clusters for s in scores]
        has = np.array([s.target == label for s in flat], dtype=bool)
        probability = np.array([s.measurements.get(FACT, np.nan) for s in flat])
        if np.isnan(probability).all():
            return np.array([np.nan]), np.zeros((len(clusters), 1))
        order = np.argsort(-probability, kind="stable")  # NaN comes last
        has, probability, number = has[order], probability[order], number[order]
        whole = _average_precision(has, probability)
        groups = min(len(clusters), _GROUPS)
        without = [_average_precision(has[keep], probability[keep]) for keep in (number != g for g in range(groups))]
        return np.array([whole]), (whole - np.array(without))[:, None]

    return Metric(
        "auprc",
        lambda scores: (len(scores),),
        lambda sums: np.asarray(sums[..., 0]),
        pooled=pooled,
        requires_option="probability",
        contributes=lambda table: np.ones(len(table), dtype=bool),
        about=f"average precision of the probability of {label}",
    )


def _average_precision(has: npt.NDArray[np.bool_], probability: Array) -> float:
    """Compute the average precision of items in descending order of probability, NaN last."""
    positives = has.sum()
    if not positives:
        return float("nan")
    scored = int((~np.isnan(probability)).sum())
    hits = np.cumsum(has[:scored])
    ends = np.flatnonzero(np.append(np.diff(probability[:scored]) != 0, True)) if scored else np.array([], dtype=int)
    steps = np.diff(hits[ends], prepend=0)
    return float((steps * hits[ends] / (ends + 1)).sum() / positives)


def brier(label: str) -> Metric:
    """Create the Brier score, 0 to 1: the mean squared difference between the probability and 1 or 0.

    The difference is to 1 if the item has the label and to 0 if not. A constant probability of 0.5 scores 0.25.
    """

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        errors = sum((s.measurements.get(FACT, 0.5) - (s.target == label)) ** 2 for s in scores)
        return errors, len(scores), sum(FACT in s.measurements for s in scores)

    return Metric(
        "brier",
        counts,
        _if_any(lambda sums: ratio(sums[..., :2])),
        higher_is_better=False,
        requires_option="probability",
        about=f"mean squared difference between the probability of {label} and 1 if it is the target, else 0",
    )


def ece(label: str) -> Metric:
    """Create the expected calibration error (Naeini et al. 2015), 0 to 1.

    It is the mean over ten bins of equal width, weighted by their items, of the absolute difference between the average
    probability in the bin and the share of its items that have the label.
    """

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        gaps = [0.0] * BINS
        for s in scores:
            probability = s.measurements.get(FACT, 0.5)
            gaps[min(int(probability * BINS), BINS - 1)] += probability - (s.target == label)
        return *gaps, len(scores), sum(FACT in s.measurements for s in scores)

    def value(sums: Array) -> Array:
        return ratio(np.stack([np.abs(sums[..., :BINS]).sum(axis=-1), sums[..., BINS]], axis=-1))

    about = f"expected calibration error of the probability of {label}, in {BINS} bins"
    return Metric("ece", counts, _if_any(value), higher_is_better=False, requires_option="probability", about=about)


def _if_any(value: Value) -> Value:
    """Make a metric undefined if the last sum, the number of probabilities, is 0."""
    return lambda sums: np.asarray(np.where(sums[..., -1] > 0, value(sums), np.nan))
