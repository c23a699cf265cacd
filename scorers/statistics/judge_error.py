"""Rates that a judge measures, corrected for the judge's errors, and how large these are.

With people's labels of some verdicts, the rate is the prediction-powered estimate of Angelopoulos, Duchi and Zrnic
(PPI++, 2023): the labels say how far the judge is off, its verdicts on everything else make the estimate precise, and
a factor λ, chosen for the least variance, says how much they count. Labels have to be drawn at random. Without labels,
an assumed sensitivity and specificity give the rate of Rogan and Gladen (1978).

The verdicts of a stronger judge can stand for labels. The estimate is then of what this judge would find in all
replies, which is not the truth either; its name ends in `_strong`.

Each estimate is a function of sums over clusters, λ included, so its error is that of `metrics.jackknife`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.human_labels import FEWEST, HUMAN, STRONG, Reference
from halu_tasks.scorers.metrics import ErrorModel, Metric, Terms, ratio
from halu_tasks.scorers.statistics.jackknife import Value

_VERDICTS = ("verdicts_read", "verdicts_positive")
"""The measurements, see `human_labels.with_judge_error`, of which all estimates are functions."""


def ppi_mean(verdicts: Array, positive: Array, labels: Array, human: Array, judge: Array, both: Array) -> Array:
    """Compute the prediction-powered share of positives, with the power-tuned λ between 0 and 1 (PPI++).

    Args:
        verdicts: The number of verdicts, those with a label included.
        positive: The number of positive ones among them.
        labels: The number of labels.
        human: The number of positive labels.
        judge: The number of labelled verdicts that are positive.
        both: The number of those whose label is positive, too.

    Returns:
        The shares, NaN where there are no labels. They are not confined to 0 to 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        others = verdicts - labels
        covariance = both / labels - (human / labels) * (judge / labels)
        share = positive / verdicts
        variance = share * (1 - share) * verdicts / (verdicts - 1)
        tuned = np.where(variance > 0, covariance / variance * others / verdicts, 0.0)
        weight = np.clip(tuned, 0.0, 1.0)
        elsewhere = np.where(others > 0, (positive - judge) / np.maximum(others, 1), 0.0)
        value = human / labels + weight * (elsewhere - judge / labels)
        return np.asarray(np.where(labels > 0, value, np.nan))


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
        `<rate>_ppi`, `judge_sensitivity`, `judge_specificity` and `judge_kappa`, which need human labels, the same with
        `_strong` at the end of their names, which need a stronger judge, and `<rate>_assumed_low` and `…_high`, which
        need an assumed sensitivity and specificity.
    """

    def predicted(sums: Array) -> Array:
        return ppi_mean(*np.moveaxis(sums[..., :6], -1, 0))

    return (
        _corrected(
            f"{rate}_ppi",
            measurement,
            predicted,
            "human",
            top,
            f"{rate} corrected by human labels, the prediction-powered estimate (PPI++)",
        ),
        *_errors(HUMAN, "human", "", "people call a hallucination", "the human labels"),
        _corrected(
            f"{rate}_ppi_strong",
            measurement,
            predicted,
            "judge_strong",
            top,
            f"{rate} that the stronger judge would find in all replies, estimated from both judges' verdicts (PPI++)",
            reference=STRONG,
        ),
        *_errors(STRONG, "judge_strong", "_strong", "the stronger judge calls a hallucination", "the stronger judge"),
        *(
            _corrected(
                f"{rate}_assumed_{end}",
                measurement,
                lambda sums: rogan_gladen(ratio(sums[..., [1, 0]]), ratio(sums[..., [6, 8]]), ratio(sums[..., [7, 8]])),
                "judge_sensitivity",
                top,
                f"{rate} at the {word} end of what the assumed sensitivity and specificity allow (Rogan and Gladen)",
                # a more sensitive judge misses less, and a less specific one reports more that is not there
                assumed=("high", "low") if end == "low" else ("low", "high"),
            )
            for end, word in (("low", "lower"), ("high", "upper"))
        ),
    )


def _corrected(
    name: str,
    measurement: str,
    share: Value,
    option: str,
    top: float,
    about: str,
    assumed: tuple[str, str] | None = None,
    reference: Reference = HUMAN,
) -> Metric:
    """Create a mean number of hallucinations of a reply, in which the share of positive verdicts is corrected.

    Args:
        name: The metric's name.
        measurement: As in `judge_error_metrics`.
        share: Computes the corrected share of positive verdicts.
        option: The option that the metric requires.
        top: The highest possible value.
        about: One line that explains the metric.
        assumed: Which ends of the assumed sensitivity and specificity count; None if the correction rests on human
            labels, of which an interval needs `FEWEST`.
        reference: Where the labels are from.
    """
    names = [*_VERDICTS, *reference]
    if assumed:
        names += [f"assumed_sensitivity_{assumed[0]}", f"assumed_specificity_{assumed[1]}"]
    marker = names[6] if assumed else reference.labels

    def terms(columns: Columns) -> Terms:
        known, counted = ~np.isnan(columns[marker]), ~np.isnan(columns[marker]) & ~np.isnan(columns[measurement])
        return (
            *(np.where(known, columns[name], 0.0) for name in names),
            known,
            np.where(counted, columns[measurement] - columns["verdicts_positive"], 0.0),
            np.where(counted, columns["verdicts"], 0.0),
            counted,
        )

    def uncut(sums: Array) -> Array:
        without_judge, verdicts, replies = np.moveaxis(sums[..., -3:], -1, 0)
        # without any verdict, labels correct nothing, but assumptions leave what needs no judge
        judged = np.where(verdicts > 0, share(sums) * verdicts, 0.0 if assumed else np.nan)
        return ratio(np.stack([without_judge + judged, replies], axis=-1))

    def supported(total: Array) -> bool:
        # the jackknife of a value that is cut says nothing
        return 0 <= float(uncut(total)) <= top and (assumed is not None or bool(total[2] >= FEWEST))

    return Metric(
        name,
        terms,
        about,
        higher_is_better=False,
        range=(0.0, top),
        value=lambda sums: np.clip(uncut(sums), 0.0, top),
        requires_option=option,
        error=ErrorModel(lambda columns: [columns[marker] > (-1 if assumed else 0)], supported=supported),
    )


def _errors(reference: Reference, option: str, suffix: str, calls: str, whose: str) -> tuple[Metric, ...]:
    """Create the metrics of how far the judge agrees with a reference.

    Args:
        reference: The measurements that compare both.
        option: The option that the metrics require.
        suffix: The end of their names.
        calls: What is positive, for the explanations: "people call a hallucination".
        whose: The reference, for the explanation of kappa.
    """

    def cells(columns: Columns) -> tuple[Array, ...]:
        return tuple(np.nan_to_num(np.asarray(columns[name], dtype=np.float64)) for name in reference)

    def hits(columns: Columns) -> Terms:
        _, positive, _, both = cells(columns)
        return both, positive

    def rejections(columns: Columns) -> Terms:
        labels, positive, judge, both = cells(columns)
        return labels - positive - judge + both, labels - positive

    def classes(columns: Columns) -> list[npt.ArrayLike]:
        labels, positive, *_ = cells(columns)
        return [positive > 0, labels > positive]

    return (
        Metric(
            f"judge_sensitivity{suffix}",
            hits,
            f"of what {calls}, the share that the judge calls one",
            requires_option=option,
        ),
        Metric(
            f"judge_specificity{suffix}",
            rejections,
            f"of everything except what {calls}, the share that the judge does not call one",
            requires_option=option,
        ),
        Metric(
            f"judge_kappa{suffix}",
            cells,
            f"Cohen's kappa of the judge and {whose}",
            range=(-1.0, 1.0),
            value=_kappa,
            requires_option=option,
            error=ErrorModel(classes, supported=lambda total: bool(total[0] >= FEWEST)),
        ),
    )


def _kappa(sums: Array) -> Array:
    labels, human, judge, both = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (labels - human - judge + 2 * both) / labels
        expected = (human * judge + (labels - human) * (labels - judge)) / labels**2
        return np.asarray(np.where(expected < 1, (observed - expected) / (1 - expected), math.nan))
