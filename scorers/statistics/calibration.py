"""What probabilities of a label are worth beside their ranking: average precision, Brier score, calibration error.

An item without a probability counts as 0.5 in the Brier score and the calibration error, and is never retrieved
in the average precision. No figure is defined where no item has a probability.
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
_GROUPS = 200
"""Clusters are left out in at most so many groups: average precision has to be computed anew for each."""


def probability_metrics(label: str) -> tuple[Metric, ...]:
    """All metrics of the probability of `label`: `roc_auc`, `auprc`, `brier`, `ece`, `no_probability`, and those of a
    tuned threshold."""
    area, missing = roc_auc(label)
    return area, auprc(label), brier(label), ece(label), missing, *tuned_metrics(label)


def auprc(label: str) -> Metric:
    """Average precision: the sum over thresholds of the precision there times the step in recall, equal
    probabilities being one threshold; an area under the precision-recall curve that interpolates nothing."""

    def pooled(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        number = np.repeat(np.arange(len(clusters)) % _GROUPS, [len(scores) for scores in clusters])
        flat = [s for scores in clusters for s in scores]
        has = np.array([s.target == label for s in flat], dtype=bool)
        probability = np.array([s.measurements.get(FACT, np.nan) for s in flat])
        if np.isnan(probability).all():
            return np.array([np.nan]), np.zeros((len(clusters), 1))
        order = np.argsort(-probability, kind="stable")  # those without one come last
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
    """Of items sorted by falling probability, NaN last."""
    positives = has.sum()
    if not positives:
        return float("nan")
    known = int((~np.isnan(probability)).sum())
    hits = np.cumsum(has[:known])
    ends = np.flatnonzero(np.append(np.diff(probability[:known]) != 0, True)) if known else np.array([], dtype=int)
    steps = np.diff(hits[ends], prepend=0)
    return float((steps * hits[ends] / (ends + 1)).sum() / positives)


def brier(label: str) -> Metric:
    """Mean squared difference of the probability and whether the item has the label (0 or 1); 0.25 for always
    0.5."""

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        errors = sum((s.measurements.get(FACT, 0.5) - (s.target == label)) ** 2 for s in scores)
        return errors, len(scores), sum(FACT in s.measurements for s in scores)

    return Metric(
        "brier",
        counts,
        _where_any(lambda sums: ratio(sums[..., :2])),
        higher_is_better=False,
        requires_option="probability",
        about=f"mean squared difference of the probability of {label} and whether it is the target",
    )


def ece(label: str) -> Metric:
    """Expected calibration error (Naeini et al. 2015): over ten bins of equal width, the mean difference of the
    bin's average probability and its share of items with the label, weighted by its items."""

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        gaps = [0.0] * BINS
        for s in scores:
            probability = s.measurements.get(FACT, 0.5)
            gaps[min(int(probability * BINS), BINS - 1)] += probability - (s.target == label)
        return *gaps, len(scores), sum(FACT in s.measurements for s in scores)

    def value(sums: Array) -> Array:
        return ratio(np.stack([np.abs(sums[..., :BINS]).sum(axis=-1), sums[..., BINS]], axis=-1))

    about = f"expected calibration error of the probability of {label}, in {BINS} bins"
    return Metric("ece", counts, _where_any(value), higher_is_better=False, requires_option="probability", about=about)


def _where_any(value: Value) -> Value:
    """The figure where the last sum, the number of probabilities, is not 0."""
    return lambda sums: np.asarray(np.where(sums[..., -1] > 0, value(sums), np.nan))
