"""Rates that a judge measures, corrected for the judge's errors, and how large these are.

With better labels of some replies, the rate is the prediction-powered estimate of Angelopoulos, Duchi and Zrnic (PPI++,
2023) of the mean value of an item: the labels say how far the judge is off, its verdicts on everything else make the
estimate precise, and a factor λ, chosen for the least variance, says how much they count. A reply counts as often as it
stands for others, 1 / the probability with which it was drawn. Without labels, an assumed sensitivity and specificity
give the rate of Rogan and Gladen (1978).

Each estimate is a function of sums over clusters, λ included, so its error is that of `metrics.jackknife`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.metrics import ErrorModel, Metric, Terms, metric, of_columns, ratio
from halu_tasks.scorers.reference import FEWEST
from halu_tasks.scorers.statistics.jackknife import Value

Column = npt.NDArray[np.float64]


def ppi_mean(items: Array, sums: Array, labelled: Array, weighted: Array) -> Array:
    """Compute the prediction-powered mean, with the power-tuned λ between 0 and 1 (PPI++).

    Args:
        items: The number of items.
        sums: The sums of the judge's values and of their squares over all items, shape (2, …).
        labelled: The number of items with a better value, y.
        weighted: The sums of the weights of these items, and with these weights of y, of the judge's value f, and of
            y·f, shape (4, …).

    Returns:
        The means, NaN where no item is labelled. They are not confined to the range of the values.
    """
    weight, y, f, both = weighted
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums[0] / items
        variance = (sums[1] / items - mean**2) * items / (items - 1)
        covariance = both / weight - (y / weight) * (f / weight)
        others = (items - labelled) / items
        tuned = np.clip(np.where(variance > 0, covariance / variance * others, 0.0), 0.0, 1.0)
        # the mean of the other items minus that of the labelled ones
        difference = np.where(others > 0, (mean - f / weight) / np.where(others > 0, others, 1.0), 0.0)
        return np.asarray(np.where(labelled > 0, y / weight + tuned * difference, np.nan))


def rogan_gladen(share: Array, sensitivity: Array, specificity: Array) -> Array:
    """Compute the true share from the share that a judge with known errors calls positive; not confined to 0 to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((share + specificity - 1) / (sensitivity + specificity - 1))


def judge_error_metrics(rate: str, measurement: str, top: float = 1.0) -> tuple[Metric, ...]:
    """Create the corrected figures of a rate, and the judge's errors.

    Args:
        rate: The name of the rate, the mean of `measurement` over replies.
        measurement: The number of hallucinations of a reply: those that the judge reports, one for each positive
            verdict, and those that need no judge.
        top: The highest possible value of the rate; may be infinite.

    Returns:
        `<rate>_ppi`, `judge_sensitivity`, `judge_specificity` and `judge_kappa`, which need a reference, and
        `<rate>_assumed_low` and `…_high`, which need an assumed sensitivity and specificity.
    """
    # a more sensitive judge misses less, and a less specific one reports more that is not there
    low, high = (_assumed(rate, measurement, top, *ends) for ends in (("low", "high"), ("high", "low")))
    return _corrected(rate, measurement, top), judge_sensitivity, judge_specificity, judge_kappa, low, high


def _corrected(rate: str, measurement: str, top: float) -> Metric:
    def judged(columns: Columns) -> npt.NDArray[np.bool_]:
        return _known(columns, measurement, "labels") & (columns["verdicts"] > 0)

    def terms(columns: Columns) -> Terms:
        items, own = _known(columns, measurement, "labels"), judged(columns)
        labelled = own & _known(columns, "reference")
        f, y, weight = columns[measurement], columns["reference"], columns["reference_weight"]
        return (
            np.where(own, columns["labels"], 0.0),
            items,
            np.where(items & ~own, f, 0.0),
            own,
            *(np.where(own, term, 0.0) for term in (f, f**2)),
            labelled,
            *(np.where(labelled, term, 0.0) for term in (weight, weight * y, weight * f, weight * y * f)),
        )

    def uncut(sums: Array) -> Array:
        _, items, without_judge, judged, *others = np.moveaxis(sums, -1, 0)
        corrected = ppi_mean(judged, np.array(others[:2]), others[2], np.array(others[3:]))
        return ratio(np.stack([without_judge + corrected * judged, items], axis=-1))

    return Metric(
        f"{rate}_ppi",
        terms,
        f"{rate} corrected by the reference's labels, the prediction-powered estimate (PPI++)",
        higher_is_better=False,
        range=(0.0, top),
        value=lambda sums: np.clip(uncut(sums), 0.0, top),
        requires_option="reference",
        error=ErrorModel(
            lambda columns: [judged(columns) & (columns["labels"] > 0)],
            supported=lambda total: bool(total[0] >= FEWEST) and _within(uncut, total, top),
        ),
    )


def _assumed(rate: str, measurement: str, top: float, sensitivity: str, specificity: str) -> Metric:
    """Create the rate at one end of what an assumption allows; the end of the rate is that of the specificity."""
    end = "low" if specificity == "low" else "high"
    names = [f"assumed_sensitivity_{sensitivity}", f"assumed_specificity_{specificity}"]

    def terms(columns: Columns) -> Terms:
        known, counted = _known(columns, names[0]), _known(columns, names[0], measurement)
        return (
            *(np.where(known, columns[name], 0.0) for name in ("verdicts_positive", "verdicts_read", *names)),
            known,
            np.where(counted, columns[measurement] - columns["verdicts_positive"], 0.0),
            np.where(counted, columns["verdicts"], 0.0),
            counted,
        )

    def uncut(sums: Array) -> Array:
        without_judge, verdicts, replies = np.moveaxis(sums[..., -3:], -1, 0)
        share = rogan_gladen(ratio(sums), ratio(sums[..., [2, 4]]), ratio(sums[..., [3, 4]]))
        # without any verdict, there is still what needs no judge
        judged = np.where(verdicts > 0, share * verdicts, 0.0)
        return ratio(np.stack([without_judge + judged, replies], axis=-1))

    return Metric(
        f"{rate}_assumed_{end}",
        terms,
        f"{rate} at the {end} end of what the assumed sensitivity and specificity allow (Rogan and Gladen)",
        higher_is_better=False,
        range=(0.0, top),
        value=lambda sums: np.clip(uncut(sums), 0.0, top),
        requires_option="assume",
        error=ErrorModel(
            lambda columns: [_known(columns, names[0])], supported=lambda total: _within(uncut, total, top)
        ),
    )


def _known(columns: Columns, *names: str) -> npt.NDArray[np.bool_]:
    """Return which items have all of some measurements."""
    return np.asarray(np.all([~np.isnan(columns[name]) for name in names], axis=0), dtype=bool)


def _within(uncut: Value, total: Array, top: float) -> bool:
    """Return whether a value is not cut at 0 or `top`; the jackknife of one that is cut says nothing."""
    return 0 <= float(uncut(total)) <= top


@metric(requires_option="reference")
def judge_sensitivity(both_positive: Column, label_positive: Column) -> Terms:
    """Of what the reference calls a hallucination, the share that the judge calls one."""
    return both_positive, label_positive


@metric(requires_option="reference")
def judge_specificity(
    label_weight: Column, label_positive: Column, labelled_positive: Column, both_positive: Column
) -> Terms:
    """Of everything else, the share that the judge does not call a hallucination."""
    return label_weight - label_positive - labelled_positive + both_positive, label_weight - label_positive


def _kappa(sums: Array) -> Array:
    weight, positive, judge, both, _ = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (weight - positive - judge + 2 * both) / weight
        expected = (positive * judge + (weight - positive) * (weight - judge)) / weight**2
        return np.asarray(np.where(expected < 1, (observed - expected) / (1 - expected), math.nan))


@of_columns
def _both_classes(label_weight: Column, label_positive: Column) -> list[npt.ArrayLike]:
    return [label_positive > 0, label_weight > label_positive]


@metric(
    requires_option="reference",
    range=(-1.0, 1.0),
    value=_kappa,
    error=ErrorModel(_both_classes, supported=lambda total: bool(total[4] >= FEWEST)),
)
def judge_kappa(
    label_weight: Column, label_positive: Column, labelled_positive: Column, both_positive: Column, labels: Column
) -> Terms:
    """Cohen's kappa of the judge and the reference."""
    return label_weight, label_positive, labelled_positive, both_positive, labels
