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
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Array, Metric, ratio
from halu_tasks.scorers.reference import FEWEST
from halu_tasks.scorers.score import Score

_CELLS = ("label_weight", "label_positive", "labelled_positive", "both_positive")
"""The measurements, see `reference.with_known_error`, that compare the judge with the labels."""


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
    return _corrected(rate, measurement, top), *_errors(), low, high


def _corrected(rate: str, measurement: str, top: float) -> Metric:
    def counts(scores: Sequence[Score]) -> Sequence[float]:
        items = [s.measurements for s in scores if {"labels", measurement} <= s.measurements.keys()]
        judged = [m for m in items if m["verdicts"]]
        f = [m[measurement] for m in judged]
        known = [(m["reference_weight"], m["reference"], m[measurement]) for m in judged if "reference" in m]
        return [
            math.fsum(m["labels"] for m in judged),
            len(items),
            math.fsum(m[measurement] for m in items if not m["verdicts"]),
            len(judged),
            math.fsum(f),
            math.fsum(value**2 for value in f),
            len(known),
            math.fsum(weight for weight, _, _ in known),
            math.fsum(weight * y for weight, y, _ in known),
            math.fsum(weight * value for weight, _, value in known),
            math.fsum(weight * y * value for weight, y, value in known),
        ]

    def uncut(sums: Array) -> Array:
        _, items, without_judge, judged, *others = np.moveaxis(sums, -1, 0)
        corrected = ppi_mean(judged, np.array(others[:2]), others[2], np.array(others[3:]))
        return ratio(np.stack([without_judge + corrected * judged, items], axis=-1))

    return _cut(
        f"{rate}_ppi",
        counts,
        uncut,
        "reference",
        top,
        f"{rate} corrected by the reference's labels, the prediction-powered estimate (PPI++)",
        lambda table: np.asarray(table[:, [0]] > 0),
        lambda total: bool(total[0] >= FEWEST),
    )


def _assumed(rate: str, measurement: str, top: float, sensitivity: str, specificity: str) -> Metric:
    """Create the rate at one end of what an assumption allows; the end of the rate is that of the specificity."""
    end = "low" if specificity == "low" else "high"
    names = [f"assumed_sensitivity_{sensitivity}", f"assumed_specificity_{specificity}"]

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        known = [s.measurements for s in scores if names[0] in s.measurements]
        counted = [values for values in known if measurement in values]
        return [
            *(math.fsum(values[name] for values in known) for name in ("verdicts_positive", "verdicts_read", *names)),
            len(known),
            math.fsum(values[measurement] - values["verdicts_positive"] for values in counted),
            math.fsum(values["verdicts"] for values in counted),
            len(counted),
        ]

    def uncut(sums: Array) -> Array:
        without_judge, verdicts, replies = np.moveaxis(sums[..., -3:], -1, 0)
        share = rogan_gladen(ratio(sums), ratio(sums[..., [2, 4]]), ratio(sums[..., [3, 4]]))
        # without any verdict, there is still what needs no judge
        judged = np.where(verdicts > 0, share * verdicts, 0.0)
        return ratio(np.stack([without_judge + judged, replies], axis=-1))

    return _cut(
        f"{rate}_assumed_{end}",
        counts,
        uncut,
        "assume",
        top,
        f"{rate} at the {end} end of what the assumed sensitivity and specificity allow (Rogan and Gladen)",
        lambda table: np.asarray(table[:, [4]] > 0),
    )


def _cut(
    name: str,
    counts: Callable[[Sequence[Score]], Sequence[float]],
    uncut: Callable[[Array], Array],
    option: str,
    top: float,
    about: str,
    classes: Callable[[Array], npt.NDArray[np.bool_]],
    supported: Callable[[Array], bool] = lambda total: True,
) -> Metric:
    """Create a metric that is cut at 0 and `top`; the jackknife of a value that is cut says nothing."""
    return Metric(
        name,
        counts,
        lambda sums: np.clip(uncut(sums), 0.0, top),
        higher_is_better=False,
        requires_option=option,
        by_item=True,
        range=(0.0, top),
        classes=classes,
        supported=lambda total: 0 <= float(uncut(total)) <= top and supported(total),
        about=about,
    )


def _errors() -> tuple[Metric, ...]:
    """Create the metrics of how far the judge agrees with the reference."""

    def cells(scores: Sequence[Score]) -> Sequence[float]:
        return [math.fsum(s.measurements.get(name, 0.0) for s in scores) for name in (*_CELLS, "labels")]

    def hits(scores: Sequence[Score]) -> Sequence[float]:
        _, positive, _, both, _ = cells(scores)
        return both, positive

    def rejections(scores: Sequence[Score]) -> Sequence[float]:
        weight, positive, judge, both, _ = cells(scores)
        return weight - positive - judge + both, weight - positive

    return (
        Metric(
            "judge_sensitivity",
            hits,
            ratio,
            requires_option="reference",
            by_item=True,
            about="of what the reference calls a hallucination, the share that the judge calls one",
        ),
        Metric(
            "judge_specificity",
            rejections,
            ratio,
            requires_option="reference",
            by_item=True,
            about="of everything else, the share that the judge does not call a hallucination",
        ),
        Metric(
            "judge_kappa",
            cells,
            _kappa,
            requires_option="reference",
            by_item=True,
            range=(-1.0, 1.0),
            classes=lambda table: np.stack([table[:, 1] > 0, table[:, 0] > table[:, 1]], axis=1),
            supported=lambda total: bool(total[4] >= FEWEST),
            about="Cohen's kappa of the judge and the reference",
        ),
    )


def _kappa(sums: Array) -> Array:
    weight, positive, judge, both, _ = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (weight - positive - judge + 2 * both) / weight
        expected = (positive * judge + (weight - positive) * (weight - judge)) / weight**2
        return np.asarray(np.where(expected < 1, (observed - expected) / (1 - expected), math.nan))
