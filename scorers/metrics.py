"""Metrics: functions of many scores, each with a clustered standard error and a 95% interval.

A metric is a ratio (or another smooth function) of *sums over items*: accuracy is right / asked, F1 is
2·tp / (2·tp + fp + fn). One pass therefore reduces the scores of a cluster to a short vector of sums, and everything
else is arithmetic on these vectors. The standard error is that of the delete-one-cluster jackknife, which is
deterministic, equals s/√n for a mean of independent items, and needs no resampling. `statistics.intervals` computes
the interval from the same values without each cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.intervals import NORMAL, deviations, mean_interval, score_interval, support

Array = npt.NDArray[np.float64]
Counts = Callable[[Sequence[Score]], Sequence[float]]
"""Reduces the scores of one cluster to its sufficient statistics, K numbers that add up over clusters."""
Value = Callable[[Array], Array]
"""Computes the metric, shape (…), from sums of shape (…, K); NaN where it is undefined."""

_ROUNDING = 1e-9
"""A bias up to this is a rounding error."""


class Estimate(NamedTuple):
    """A metric's value with its error.

    Attributes:
        value: The value, in the metric's unit.
        stderr: The clustered standard error; None, as are `low` and `high`, if it cannot be estimated: fewer than two
            clusters contribute, a class has items in fewer than five, the value is undefined without one of them, or
            the metric has no error (`Metric.has_error`).
        low: The lower end of the 95% interval.
        high: The upper end of the 95% interval.
    """

    value: float
    stderr: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Metric:
    """A named metric.

    Attributes:
        name: The name under which the metric is reported.
        counts: Function that reduces the scores of one cluster to K sums.
        value: Function that computes the metric from sums of shape (…, K); NaN where it is undefined.
        higher_is_better: Whether higher values are better; None if neither direction is (a bias, a count).
        item: Function that computes the metric of a single item, which harnesses log with the item; None if the metric
            has no value for single items.
        tag_filter: A tag and its value, if the metric is computed only over the items with this tag.
        requires_option: The option without which the metric is undefined, if any.
        contributes: Function that determines from each cluster's sums, shape (C, K), which clusters contribute to the
            metric, shape (C,). By default, those with a sum other than 0.
        range: The lowest and the highest possible value; the highest may be infinite.
        pooled: For a metric that compares items across clusters, the function that computes from all clusters the sums
            over all, shape (K,), and the part of them that is lost with each cluster, shape (C, K). `counts` then only
            counts items.
        classes: For a metric that compares or averages classes, the function that determines from each cluster's sums,
            shape (C, K), which classes it has items of, shape (C, L). An interval needs five clusters of each class.
        averages_classes: Whether the metric is an average over these classes.
        has_error: Whether the jackknife estimates the metric's error. It does not if the metric is biased by chance, as
            a sum of absolute differences is.
        members: The metrics whose mean this one is (`mean_of`).
        shared: For a metric that depends on a number estimated elsewhere, such as an adjustment factor, the function
            that computes from sums how much the metric changes, with its sign, if this number is one standard error
            higher. Runs share the number, and so its error.
        about: One line that explains the metric in listings.
    """

    name: str
    counts: Counts
    value: Value
    higher_is_better: bool | None = True
    item: Callable[[Score], float] | None = None
    tag_filter: tuple[str, str] | None = None
    requires_option: str | None = None
    contributes: Callable[[Array], npt.NDArray[np.bool_]] = lambda table: np.abs(table).sum(axis=1) > 0
    range: tuple[float, float] = (0.0, 1.0)
    pooled: Callable[[Sequence[Sequence[Score]]], tuple[Array, Array]] | None = None
    classes: Callable[[Array], npt.NDArray[np.bool_]] | None = None
    averages_classes: bool = False
    has_error: bool = True
    members: tuple[Metric, ...] = ()
    shared: Value | None = None
    about: str = ""

    def sums(self, clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        """Compute the sums over all clusters, shape (K,), and the part lost with each cluster, shape (C, K)."""
        if self.pooled:
            return self.pooled(clusters)
        table = np.array([self.counts(scores) for scores in clusters], dtype=np.float64)
        return table.sum(axis=0), table

    def only(self, tag: str, value: str, name: str) -> Metric:
        """Restrict the metric to the items whose `tag` is `value`, under a new name."""

        def tagged(scores: Sequence[Score]) -> list[Score]:
            return [s for s in scores if s.tags.get(tag) == value]

        def pooled(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
            assert self.pooled
            return self.pooled([tagged(scores) for scores in clusters])

        return replace(
            self,
            name=name,
            counts=lambda scores: self.counts(tagged(scores)),
            tag_filter=(tag, value),
            pooled=pooled if self.pooled else None,
            about=f"{self.about} ({tag}: {value})",
        )


def by_cluster(scores: Iterable[Score]) -> list[list[Score]]:
    """Group scores by cluster, in order of first appearance."""
    clusters: dict[str, list[Score]] = {}
    for score in scores:
        clusters.setdefault(score.cluster, []).append(score)
    return list(clusters.values())


def estimate(metric: Metric, clusters: Sequence[Sequence[Score]]) -> Estimate | None:
    """Estimate a metric over the scores of each cluster (see `by_cluster`); None if it is undefined."""
    if not clusters:
        return None
    known = _mean_estimate(metric, clusters) if metric.members else _estimate(metric, clusters)[0]
    if known is None or metric.shared is None:
        return known
    return _with_shared_error(known, float(metric.shared(metric.sums(clusters)[0])), metric)


def _with_shared_error(known: Estimate, shared: float, metric: Metric) -> Estimate:
    """Add an error that does not come from the clusters, by the squares of the distances (Zou and Donner 2008).

    Args:
        known: The estimate with the error of its clusters.
        shared: The standard error to add (`Metric.shared`).
        metric: The metric; if it has no error of its own, the added one is all of it.
    """
    if not shared:
        return known
    value, stderr, low, high = known
    if not metric.has_error:
        stderr, low, high = 0.0, value, value
    if stderr is None or low is None or high is None:
        return known
    reach = NORMAL * abs(shared)
    low, high = value - math.hypot(value - low, reach), value + math.hypot(high - value, reach)
    return Estimate(value, math.hypot(stderr, shared), max(low, metric.range[0]), min(high, metric.range[1]))


def jackknife(
    value: Value,
    total: Array,
    table: Array,
    bounds: tuple[float, float] = (0.0, 1.0),
    classes: npt.NDArray[np.bool_] | None = None,
    *,
    averaged: bool = False,
) -> Estimate | None:
    """Estimate a value with its delete-one-cluster jackknife error.

    Args:
        value: The function that computes the value from sums.
        total: The sums over all clusters, shape (K,).
        table: The part of the sums that is lost with each cluster, shape (C, K).
        bounds: The lowest and the highest possible value.
        classes: For a value that compares or averages classes, whether each cluster has items of each, shape (C, L).
        averaged: Whether the value is an average over the classes.

    Returns:
        The estimate; None if the value is undefined.
    """
    point = float(value(total))
    return None if math.isnan(point) else _with_error(point, value, total, table, bounds, classes, averaged)[0]


def _with_error(
    point: float,
    value: Value,
    total: Array,
    table: Array,
    bounds: tuple[float, float],
    classes: npt.NDArray[np.bool_] | None,
    averaged: bool,
) -> tuple[Estimate, Array]:
    """Estimate a value, with the deviation of each cluster, shape (C,), which is 0 if the error is unknown."""
    unknown = Estimate(point, None, None, None), np.zeros(len(table))
    rests_on = len(table) if classes is None else support(classes, averaged=averaged)
    if len(table) < 2 or rests_on is None:
        return unknown
    without_one = value(total - table)
    if np.isnan(without_one).any():
        # undefined without one of the clusters, such as the only one with items of a class
        return unknown
    errors = deviations(without_one)
    low, high = score_interval(point, errors, bounds, rests_on)
    # the jackknife's estimate of the bias, which is 0 for a mean; the interval reaches as far as it
    bias = (len(table) - 1) * (float(without_one.mean()) - point)
    if abs(bias) > _ROUNDING:
        low, high = max(low - max(bias, 0.0), bounds[0]), min(high - min(bias, 0.0), bounds[1])
    return Estimate(point, math.sqrt(float(errors @ errors)), low, high), errors


def _estimate(metric: Metric, clusters: Sequence[Sequence[Score]]) -> tuple[Estimate | None, Array]:
    """Estimate a metric, with the deviation of each cluster, shape (C,), which is 0 if the error is unknown."""
    total, table = metric.sums(clusters)
    point = float(metric.value(total))
    every = np.zeros(len(table))
    if math.isnan(point):
        return None, every
    if not metric.has_error:
        return Estimate(point, None, None, None), every
    contributes = metric.contributes(table)
    if metric.tag_filter and not metric.pooled and not contributes.any():
        return None, every  # a part of the items without any that the metric counts, such as one without the class
    table = table[contributes]
    classes = metric.classes(table) if metric.classes else None
    known, every[contributes] = _with_error(
        point, metric.value, total, table, metric.range, classes, metric.averages_classes
    )
    return known, every


def _mean_estimate(metric: Metric, clusters: Sequence[Sequence[Score]]) -> Estimate | None:
    """Estimate the mean of a metric's members from their estimates; clusters in several members stay correlated."""
    pairs = [_estimate(member, clusters) for member in metric.members]
    members = [member for member, _ in pairs if member]
    if len(members) < len(pairs):
        return None
    values = np.array([member.value for member in members])
    point = float(values.mean())
    if any(member.stderr is None for member in members):
        return Estimate(point, None, None, None)
    errors = np.array([errors for _, errors in pairs])
    covariance = errors @ errors.T
    sizes = np.sqrt(np.diag(covariance))
    # a member without variance is correlated with none
    correlation = covariance / np.outer(*[np.where(sizes > 0, sizes, 1.0)] * 2)
    np.fill_diagonal(correlation, 1.0)
    ends = np.array([[member.low for member in members], [member.high for member in members]], dtype=np.float64)
    low, high = mean_interval(ends, values, correlation)
    return Estimate(point, math.sqrt(float(covariance.sum())) / len(members), low, high)


def estimates(metrics: Iterable[Metric], scores: Iterable[Score]) -> dict[str, Estimate]:
    """Estimate metrics by name, in the given order; those that are undefined are left out."""
    clusters = by_cluster(scores)
    return {metric.name: value for metric in metrics if (value := estimate(metric, clusters)) is not None}


# --- metrics of common forms --------------------------------------------------------------------


def ratio(sums: Array) -> Array:
    """Divide the first sum by the second; NaN where the second is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan))


def mean(name: str, measurement: str, about: str = "", *, higher_is_better: bool | None = True) -> Metric:
    """Create the mean of a measurement over the items that have it.

    Args:
        name: The metric's name.
        measurement: The measurement's name.
        about: One line that explains the metric.
        higher_is_better: Whether higher values are better; None if neither direction is.
    """
    return Metric(
        name,
        lambda scores: (
            sum(s.measurements.get(measurement, 0.0) for s in scores),
            sum(measurement in s.measurements for s in scores),
        ),
        ratio,
        higher_is_better,
        item=lambda s: s.measurements.get(measurement, math.nan),
        about=about,
    )


def share_unparsed() -> Metric:
    """Create `unparsed`, the share (0 to 1) of items from whose reply no answer can be read."""
    return _share_of("unparsed", "share of replies from which no answer can be read", higher_is_better=False)


def share_abstained() -> Metric:
    """Create `abstained`, the share (0 to 1) of items whose reply declines to answer, which counts as wrong."""
    return _share_of("abstained", "share of replies that decline to answer", higher_is_better=None)


def share_empty() -> Metric:
    """Create `empty`, the share (0 to 1) of items whose reply has no content, which counts as wrong."""
    return _share_of("empty", "share of replies without content", higher_is_better=False)


def _share_of(outcome: Outcome, about: str, *, higher_is_better: bool | None) -> Metric:
    return Metric(
        outcome,
        lambda scores: (sum(s.outcome == outcome for s in scores), len(scores)),
        ratio,
        higher_is_better,
        item=lambda s: float(s.outcome == outcome),
        about=about,
    )


def micro(name: str, part: str, whole: str, about: str = "", *, higher_is_better: bool | None = True) -> Metric:
    """Create the ratio of the sums of two measurements over all items, a micro average.

    Args:
        name: The metric's name.
        part: The measurement in the numerator.
        whole: The measurement in the denominator.
        about: One line that explains the metric.
        higher_is_better: Whether higher values are better; None if neither direction is.
    """
    return Metric(
        name,
        lambda scores: (
            sum(s.measurements.get(part, 0.0) for s in scores),
            sum(s.measurements.get(whole, 0.0) for s in scores),
        ),
        ratio,
        higher_is_better,
        about=about,
    )


def mean_of(name: str, members: Mapping[str, Metric], tag: str) -> Metric:
    """Create the unweighted mean of a metric over groups of items.

    The mean is undefined if that of any group is, and has no interval if that of any group has none. Items of one
    cluster in several groups stay correlated.

    Args:
        name: The name of the mean.
        members: The metric of each group, by the value of `tag` that the group's items have.
        tag: The tag that tells the groups apart.

    Raises:
        ValueError: A metric is pooled, for which no error of the mean can be computed.
    """
    if any(metric.pooled for metric in members.values()):
        raise ValueError(f"{name}: cannot average a metric that compares items across clusters")
    parts = [metric.only(tag, value, metric.name) for value, metric in members.items()]
    widths = [len(metric.counts([])) for metric in parts]
    ends = np.cumsum(widths)

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        return [number for metric in parts for number in metric.counts(scores)]

    def value(sums: Array) -> Array:
        values = [
            metric.value(sums[..., end - width : end]) for metric, width, end in zip(parts, widths, ends, strict=True)
        ]
        return np.asarray(np.mean(values, axis=0))

    def shared(sums: Array) -> Array:
        errors = [
            metric.shared(sums[..., end - width : end])
            for metric, width, end in zip(parts, widths, ends, strict=True)
            if metric.shared
        ]
        return np.asarray(np.sum(errors, axis=0) / len(parts))

    first = parts[0]
    depends = any(metric.shared for metric in parts)
    return Metric(
        name,
        counts,
        value,
        first.higher_is_better,
        range=first.range,
        members=tuple(parts),
        shared=shared if depends else None,
    )


def as_json(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Convert estimates to `{"metrics": {name: value}, "stderr": {name: se}, "intervals": {name: [low, high]}}`.

    Metrics without an error are left out of the latter two.
    """
    return {
        "metrics": {name: e.value for name, e in estimates.items()},
        "stderr": {name: e.stderr for name, e in estimates.items() if e.stderr is not None},
        "intervals": {name: [e.low, e.high] for name, e in estimates.items() if e.low is not None},
    }
