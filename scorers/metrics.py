"""Metrics: functions of many scores, each with a clustered standard error and a 95% interval.

A metric is a ratio (or another smooth function) of *sums over items*: accuracy is right / asked, F1 is
2·tp / (2·tp + fp + fn). One pass therefore reduces the scores of a cluster to a short vector of sums, and everything
else is arithmetic on these vectors. The standard error is that of the delete-one-cluster jackknife, which is
deterministic, equals s/√n for a mean of independent items, and needs no resampling. The interval is Wilson's with the
effective sample size that this standard error implies, so it stays within the metric's range and is not empty at
0 or 1.
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

Array = npt.NDArray[np.float64]
Counts = Callable[[Sequence[Score]], Sequence[float]]
"""Reduces the scores of one cluster to its sufficient statistics, K numbers that add up over clusters."""
Value = Callable[[Array], Array]
"""Computes the metric, shape (…), from sums of shape (…, K); NaN where it is undefined."""


class Estimate(NamedTuple):
    """A metric's value with its error.

    Attributes:
        value: The value, in the metric's unit.
        stderr: The clustered standard error; None, as are `low` and `high`, if fewer than two clusters contribute.
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
    total, table = metric.sums(clusters)
    return jackknife(metric.value, total, table[metric.contributes(table)], metric.range)


def jackknife(value: Value, total: Array, table: Array, bounds: tuple[float, float] = (0.0, 1.0)) -> Estimate | None:
    """Estimate a value with its delete-one-cluster jackknife error.

    Args:
        value: The function that computes the value from sums.
        total: The sums over all clusters, shape (K,).
        table: The part of the sums that is lost with each cluster, shape (C, K).
        bounds: The lowest and the highest possible value.

    Returns:
        The estimate; None if the value is undefined.
    """
    point = float(value(total))
    if math.isnan(point):
        return None
    clusters = len(table)
    if clusters < 2:
        return Estimate(point, None, None, None)
    without_one = value(total - table)
    if np.isnan(without_one).any():
        # undefined without one of the clusters, such as the only one with items of a class: the error is unknown
        return Estimate(point, None, None, None)
    spread = np.sum((without_one - without_one.mean()) ** 2)
    stderr = math.sqrt((clusters - 1) / clusters * spread)
    low, high = wilson(point, stderr, clusters, bounds)
    return Estimate(point, stderr, low, high)


def estimates(metrics: Iterable[Metric], scores: Iterable[Score]) -> dict[str, Estimate]:
    """Estimate metrics by name, in the given order; those that are undefined are left out."""
    clusters = by_cluster(scores)
    return {metric.name: value for metric in metrics if (value := estimate(metric, clusters)) is not None}


def wilson(value: float, stderr: float, clusters: int, bounds: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """Compute the 95% score interval of a value.

    For a share, this is Wilson's interval (1927) with the effective number of independent observations, p(1-p)/stderr²,
    in place of n (Korn and Graubard 1998), and Student's t instead of the normal distribution, for few clusters. At the
    ends of the range, where the standard error is 0, each cluster counts as one observation. The interval of a value
    without an upper bound, which is not a share, is Student's t around the value.

    Args:
        value: The value.
        stderr: Its standard error.
        clusters: The number of clusters that contribute to it, 2 or more.
        bounds: The lowest and the highest possible value; the highest may be infinite.

    Returns:
        The lower and the upper end, within the bounds.
    """
    from scipy.special import stdtrit  # imported here because it takes half a second, which listings do not need

    if math.isinf(bounds[1]):
        reach = float(stdtrit(clusters - 1, 0.975)) * stderr
        return max(value - reach, bounds[0]), value + reach
    bottom, width = bounds[0], bounds[1] - bounds[0]
    p = min(max((value - bottom) / width, 0.0), 1.0)
    variance = (stderr / width) ** 2
    n = p * (1 - p) / variance if variance > 1e-18 and 0 < p < 1 else float(clusters)
    z2 = float(stdtrit(clusters - 1, 0.975)) ** 2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = 0.0 if p == 0 else max(centre - half, 0.0)
    high = 1.0 if p == 1 else min(centre + half, 1.0)
    return bottom + width * low, bottom + width * high


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

    The mean is undefined if that of any group is. Items of one cluster in several groups stay correlated.

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

    first = parts[0]
    return Metric(name, counts, value, first.higher_is_better, range=first.range)


def as_json(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Convert estimates to `{"metrics": {name: value}, "stderr": {name: se}, "intervals": {name: [low, high]}}`.

    Metrics without an error are left out of the latter two.
    """
    return {
        "metrics": {name: e.value for name, e in estimates.items()},
        "stderr": {name: e.stderr for name, e in estimates.items() if e.stderr is not None},
        "intervals": {name: [e.low, e.high] for name, e in estimates.items() if e.low is not None},
    }
