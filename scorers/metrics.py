"""Metrics: pure functions of many scores, each with a 95% interval that respects clusters.

A metric is a ratio (or another smooth function) of *sums over items*: accuracy is right / asked, F1 is
2·tp / (2·tp + fp + fn). So one pass turns the scores of a cluster into a short vector of counts, and
all else is arithmetic on those vectors. The standard error is the delete-one-cluster jackknife, which
is deterministic, equals s/√n for a mean of independent items, and needs no resampling. The interval is
Wilson's with the effective sample size that this standard error implies, so it stays inside the
metric's range and is not empty at 0 or 1.
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
"""The scores of one cluster -> its sufficient statistics, K numbers."""
Value = Callable[[Array], Array]
"""Sums of shape (…, K) -> the metric, shape (…); NaN where it is not defined."""


class Estimate(NamedTuple):
    """A metric's value with its clustered standard error and 95% interval; `stderr`, `low` and `high`
    are None when fewer than two clusters bear on it."""

    value: float
    stderr: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Metric:
    """One named figure.

    Attributes:
        name: the name it is printed under.
        counts: scores of one cluster -> K sums.
        value: sums of shape (…, K) -> the figure, NaN where undefined.
        higher_is_better: None where neither direction is better (a bias, a share of unparsed).
        item: the figure of a single item where it has one; what a harness logs beside the item.
        tag_filter: a tag and its value: only such items bear on the metric.
        requires_option: an option without which the metric has nothing to say.
        contributes: sums of each cluster, shape (C, K) -> which clusters bear on the figure, shape (C,); by default
            those with any count.
        range: smallest and largest possible value; the largest may be infinite.
        pooled: for a figure that compares items across clusters: the clusters -> sums over all, shape (K,),
            and what goes with each cluster when it is left out, shape (C, K). `counts` then only says how
            many items there are.
        about: what the figure means, in one line, for listings.
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
        """The sums over all clusters, shape (K,), and what would go with each cluster, shape (C, K)."""
        if self.pooled:
            return self.pooled(clusters)
        table = np.array([self.counts(scores) for scores in clusters], dtype=np.float64)
        return table.sum(axis=0), table

    def only(self, tag: str, value: str, name: str) -> Metric:
        """This metric over the items whose `tag` is `value`, under another name."""
        inner = self.counts

        def counts(scores: Sequence[Score]) -> Sequence[float]:
            return inner([s for s in scores if s.tags.get(tag) == value])

        def pooled(clusters: Sequence[Sequence[Score]]) -> tuple[Array, Array]:
            assert self.pooled
            return self.pooled([[s for s in scores if s.tags.get(tag) == value] for scores in clusters])

        return replace(
            self,
            name=name,
            counts=counts,
            tag_filter=(tag, value),
            pooled=pooled if self.pooled else None,
            about=f"{self.about} ({tag}: {value})",
        )


def by_cluster(scores: Iterable[Score]) -> list[list[Score]]:
    """Scores grouped by their cluster, clusters in order of first appearance."""
    clusters: dict[str, list[Score]] = {}
    for score in scores:
        clusters.setdefault(score.cluster, []).append(score)
    return list(clusters.values())


def estimate(metric: Metric, clusters: Sequence[Sequence[Score]]) -> Estimate | None:
    """The metric over `clusters` (from `by_cluster`), or None where no item bears on it."""
    if not clusters:
        return None
    total, table = metric.sums(clusters)
    return jackknife(metric.value, total, table[metric.contributes(table)], metric.range)


def jackknife(value: Value, total: Array, table: Array, bounds: tuple[float, float] = (0.0, 1.0)) -> Estimate | None:
    """The value of `total`, shape (K,), with its error from leaving out one row of `table`, shape (C, K), at a
    time; None where the value is not defined."""
    found = float(value(total))
    if math.isnan(found):
        return None
    clusters = len(table)
    if clusters < 2:
        return Estimate(found, None, None, None)
    without_one = value(total - table)
    if np.isnan(without_one).any():
        # a figure that hangs on one cluster, such as the only one of a class, has no error to tell
        return Estimate(found, None, None, None)
    spread = np.sum((without_one - without_one.mean()) ** 2)
    stderr = math.sqrt((clusters - 1) / clusters * spread)
    low, high = wilson(found, stderr, clusters, bounds)
    return Estimate(found, stderr, low, high)


def estimates(metrics: Iterable[Metric], scores: Iterable[Score]) -> dict[str, Estimate]:
    """Every metric that some item bears on, by name, in the order of `metrics`."""
    clusters = by_cluster(scores)
    found = ((metric.name, estimate(metric, clusters)) for metric in metrics)
    return {name: value for name, value in found if value is not None}


def wilson(value: float, stderr: float, clusters: int, bounds: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """95% score interval of a figure within `bounds`.

    Wilson (1927) for a share, with the effective number of independent observations
    p(1-p)/stderr² in place of n (Korn and Graubard 1998) and Student's t for few clusters. At the ends
    of the range the standard error is zero and each cluster counts as one observation. A figure without
    an upper bound is no share: its interval is Student's t around it.
    """
    from scipy.special import stdtrit  # takes half a second to import, and listings compute no figure

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


# --- the shapes metrics come in -----------------------------------------------------------------


def ratio(sums: Array) -> Array:
    """First sum over second; NaN where the second is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan))


def mean(name: str, measurement: str, about: str = "", *, higher_is_better: bool | None = True) -> Metric:
    """The mean of one measurement over the items that have it."""
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
    """`unparsed`: the share of items whose reply says nothing that can be read."""
    return _share_of("unparsed", "share of replies that say nothing that can be read", higher_is_better=False)


def share_abstained() -> Metric:
    """`abstained`: the share of items whose reply declines to answer; such a reply is not right."""
    return _share_of("abstained", "share of replies that decline to answer", higher_is_better=None)


def share_empty() -> Metric:
    """`empty`: the share of items whose reply has no content, since a server failed or there is no reply at all; such
    a reply is not right."""
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
    """The ratio of two measurements' sums over all items (a micro average)."""
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
    """The unweighted mean of one metric over groups of items: `members` maps a value of `tag` to the
    metric of the items that carry it. Undefined while any member is. Clusters that reach into several
    members keep their correlation."""
    if any(metric.pooled for metric in members.values()):
        raise ValueError(f"{name} compares items across clusters, and its mean over members has no error here")
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


def as_json(found: Mapping[str, Estimate]) -> dict[str, Any]:
    """`{"metrics": {name: value}, "stderr": {name: se}, "intervals": {name: [low, high]}}`; a figure from
    a single cluster has no error and is left out of the latter two."""
    return {
        "metrics": {name: e.value for name, e in found.items()},
        "stderr": {name: e.stderr for name, e in found.items() if e.stderr is not None},
        "intervals": {name: [e.low, e.high] for name, e in found.items() if e.low is not None},
    }
