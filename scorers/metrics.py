"""Metrics: functions of many scores, each with a clustered standard error and a 95% interval.

A metric is a ratio (or another smooth function) of *sums over items*: accuracy is right / asked, F1 is
2·tp / (2·tp + fp + fn). One pass therefore reduces the scores of a cluster to a short vector of sums, and everything
else is arithmetic on these vectors (`statistics.jackknife`).

Sums over items and over clusters are rounded once, so that a figure does not depend on their order, nor on how they
are divided among processes (`statistics.exact`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.exact import column_sums
from halu_tasks.scorers.statistics.intervals import NORMAL, mean_interval, score_interval, support
from halu_tasks.scorers.statistics.jackknife import Chunk, Chunks, LeftOut, Rule, Value, leave_out

Array = npt.NDArray[np.float64]
Counts = Callable[[Sequence[Score]], Sequence[float]]
"""Reduces the scores of one cluster to its sufficient statistics, K numbers that add up over clusters."""

_ROUNDING = 1e-9
"""A bias up to this is a rounding error."""


class Items(NamedTuple):
    """Numbers of N items, from which a metric is computed that compares items across clusters.

    Attributes:
        cluster: The number of each item's cluster, shape (N,).
        columns: The numbers of each item, shape (N, J).
        clusters: The number C of clusters.
    """

    cluster: npt.NDArray[np.int64]
    columns: Array
    clusters: int


@dataclass(frozen=True)
class Pooled:
    """How a metric that compares items across clusters is computed.

    Attributes:
        columns: The names of the numbers that are kept of each item.
        item: Function that determines these numbers; None for an item that does not count.
        sums: Function that computes the sums over all clusters, shape (K,), and the part of them that is lost with each
            cluster, shape (C, K).
    """

    columns: tuple[str, ...]
    item: Callable[[Score], Sequence[float] | None]
    sums: Callable[[Items], tuple[Array, Array]]

    def of(self, clusters: Sequence[Sequence[Score]]) -> Items:
        """Collect the items of C clusters, which are numbered in order."""
        rows = [(number, row) for number, scores in enumerate(clusters) for s in scores if (row := self.item(s))]
        columns = np.array([row for _, row in rows], dtype=np.float64).reshape(len(rows), len(self.columns))
        return Items(np.array([number for number, _ in rows], dtype=np.int64), columns, len(clusters))


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
        by_item: Whether the counts of a cluster are the sums of the counts of its items alone. If so, each different
            score is only counted once, which is faster for millions of replies.
        endings: For a metric that counts the items of a row together, such as pairs, the endings of their ids after a
            slash. Items with other ids do not count, and what precedes the slash only says which items share a row.
        pooled: How a metric is computed that compares items across clusters; `counts` then only counts items.
        classes: For a metric that compares or averages classes, the function that determines from each cluster's sums,
            shape (C, K), which classes it has items of, shape (C, L). An interval needs five clusters of each class.
        averages_classes: Whether the metric is an average over these classes.
        supported: Function that determines from the sums over all clusters, shape (K,), whether there is enough for an
            error; by default there is.
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
    by_item: bool = False
    endings: tuple[str, ...] = ()
    pooled: Pooled | None = None
    classes: Callable[[Array], npt.NDArray[np.bool_]] | None = None
    averages_classes: bool = False
    supported: Callable[[Array], bool] = lambda total: True
    has_error: bool = True
    members: tuple[Metric, ...] = ()
    shared: Value | None = None
    about: str = ""

    def sums(self, clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
        """Compute the sums over all clusters, shape (K,), and the part lost with each cluster, shape (C, K)."""
        if self.pooled:
            return self.pooled.sums(self.pooled.of(clusters))
        table = np.array([self.counts(scores) for scores in clusters], dtype=np.float64)
        return column_sums(table), table

    @property
    def width(self) -> int:
        """The number K of sums."""
        return len(self.counts([]))

    def rule(self, columns: slice = slice(None)) -> Rule:
        """Return how the metric is computed without each cluster, from some columns of a table."""
        return Rule(self.value, self.contributes, self.classes, columns)

    def only(self, tag: str, value: str, name: str) -> Metric:
        """Restrict the metric to the items whose `tag` is `value`, under a new name."""
        pooled = self.pooled

        def tagged(scores: Sequence[Score]) -> list[Score]:
            return [s for s in scores if s.tags.get(tag) == value]

        def item(score: Score) -> Sequence[float] | None:
            assert pooled
            return pooled.item(score) if score.tags.get(tag) == value else None

        return replace(
            self,
            name=name,
            counts=lambda scores: self.counts(tagged(scores)),
            tag_filter=(tag, value),
            pooled=replace(pooled, item=item) if pooled else None,
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
    return estimate_of_sums(metric, total, lambda: [Chunk(table)])


def estimate_of_sums(metric: Metric, total: Array, chunks: Chunks) -> Estimate | None:
    """Estimate a metric from its sums; None if it is undefined.

    Args:
        metric: The metric.
        total: The sums over all clusters, shape (K,).
        chunks: The part of them that is lost with each cluster, in any division and order.
    """
    known = _mean_estimate(metric, total, chunks) if metric.members else _estimate(metric, total, chunks)
    if known is None or metric.shared is None:
        return known
    return _with_shared_error(known, float(metric.shared(total)), metric)


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
    if math.isnan(point):
        return None
    every = Rule(value, lambda table: np.ones(len(table), dtype=bool), None, slice(None))
    left_out = leave_out([every], total, lambda: [Chunk(table)])[0]
    rests_on = len(table) if classes is None else support(classes.sum(axis=0), averaged=averaged)
    return _with_error(point, left_out, bounds, rests_on)


def _with_error(point: float, left_out: LeftOut, bounds: tuple[float, float], rests_on: int | None) -> Estimate:
    """Estimate a value from the values without each cluster.

    Args:
        point: The value.
        left_out: The values without each cluster.
        bounds: The lowest and the highest possible value.
        rests_on: The number of clusters on which the value rests; None if they are too few for an interval.
    """
    if left_out.clusters < 2 or rests_on is None or left_out.moments is None:
        return Estimate(point, None, None, None)
    low, high = score_interval(point, left_out.moments, bounds, rests_on)
    # the interval reaches as far as the bias, which is 0 for a mean
    if abs(left_out.bias) > _ROUNDING:
        low, high = max(low - max(left_out.bias, 0.0), bounds[0]), min(high - min(left_out.bias, 0.0), bounds[1])
    return Estimate(point, math.sqrt(left_out.moments.second), low, high)


def _estimate_of(metric: Metric, total: Array, left_out: LeftOut) -> Estimate | None:
    """Estimate a metric that is not a mean of others from the values without each cluster; None if it is undefined."""
    point = float(metric.value(total))
    if metric.tag_filter and not metric.pooled and not left_out.clusters:
        return None  # a part of the items without any that the metric counts, such as one without the class
    rests_on: int | None = left_out.clusters
    if metric.classes:
        rests_on = support(left_out.of_classes, averaged=metric.averages_classes)
    return _with_error(point, left_out, metric.range, rests_on if metric.supported(total) else None)


def _estimate(metric: Metric, total: Array, chunks: Chunks) -> Estimate | None:
    point = float(metric.value(total))
    if math.isnan(point):
        return None
    if not metric.has_error:
        return Estimate(point, None, None, None)
    return _estimate_of(metric, total, leave_out([metric.rule()], total, chunks)[0])


def _mean_estimate(metric: Metric, total: Array, chunks: Chunks) -> Estimate | None:
    """Estimate the mean of a metric's members from their estimates; clusters in several members stay correlated."""
    ends = np.cumsum([0, *(member.width for member in metric.members)])
    columns = [slice(begin, end) for begin, end in pairwise(ends)]
    points = np.array([float(m.value(total[part])) for m, part in zip(metric.members, columns, strict=True)])
    if np.isnan(points).any():
        return None
    point = float(points.mean())
    if not all(member.has_error for member in metric.members):
        return Estimate(point, None, None, None)
    rules = [member.rule(part) for member, part in zip(metric.members, columns, strict=True)]
    left_out = leave_out(rules, total, chunks, together=True)
    known = [
        _estimate_of(member, total[part], values)
        for member, part, values in zip(metric.members, columns, left_out, strict=True)
    ]
    members = [member for member in known if member]
    if len(members) < len(known):
        return None
    if any(member.stderr is None for member in members):
        return Estimate(point, None, None, None)
    covariance = np.array([values.covariances for values in left_out])
    sizes = np.sqrt(np.diag(covariance))
    # a member without variance is correlated with none
    correlation = covariance / np.outer(*[np.where(sizes > 0, sizes, 1.0)] * 2)
    np.fill_diagonal(correlation, 1.0)
    ends_of_members = np.array([[m.low for m in members], [m.high for m in members]], dtype=np.float64)
    low, high = mean_interval(ends_of_members, points, correlation)
    return Estimate(point, math.sqrt(max(float(covariance.sum()), 0.0)) / len(members), low, high)


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
            math.fsum(s.measurements.get(measurement, 0.0) for s in scores),
            sum(measurement in s.measurements for s in scores),
        ),
        ratio,
        higher_is_better,
        by_item=True,
        item=lambda s: s.measurements.get(measurement, math.nan),
        about=about,
    )


def share_free_of(name: str, measurement: str, about: str) -> Metric:
    """Create the share (0 to 1) of items without any of what a measurement counts, such as hallucinations.

    Items without the measurement do not count.

    Args:
        name: The metric's name.
        measurement: The measurement's name.
        about: One line that explains the metric.
    """

    def item(score: Score) -> float:
        counted = score.measurements.get(measurement)
        return math.nan if counted is None else float(counted == 0)

    return Metric(
        name,
        lambda scores: (
            sum(s.measurements.get(measurement) == 0 for s in scores),
            sum(measurement in s.measurements for s in scores),
        ),
        ratio,
        item=item,
        by_item=True,
        about=about,
    )


def share_unparsed() -> Metric:
    """Create `unparsed`, the share (0 to 1) of items from whose reply no answer can be read."""
    return _share_of("unparsed", "share of replies from which no answer can be read", higher_is_better=False)


def share_abstained() -> Metric:
    """Create `abstained`, the share (0 to 1) of items whose reply declines to answer."""
    return _share_of("abstained", "share of replies that decline to answer", higher_is_better=None)


def share_inferred() -> Metric:
    """Create `inferred`, the share (0 to 1) of items whose answer is inferred from a reply that declares none."""
    about = "share of replies that declare no answer, so that it is inferred from what they say"
    return _share_of("inferred", about, higher_is_better=None)


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
        by_item=True,
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
            math.fsum(s.measurements.get(part, 0.0) for s in scores),
            math.fsum(s.measurements.get(whole, 0.0) for s in scores),
        ),
        ratio,
        higher_is_better,
        by_item=True,
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
    widths = [metric.width for metric in parts]
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
        by_item=all(metric.by_item for metric in parts),
        endings=first.endings,
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
