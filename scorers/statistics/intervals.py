"""95% intervals of a value, from its values without each cluster of items.

One rule gives the interval of every metric. It is a score interval: the variance changes with the value, as that of a
share, v(1-v), or that of a rate without an upper bound, v. Its scale is taken from the jackknife, which accounts for
clusters and for metrics that are not means (Wilson 1927; Korn and Graubard 1998). Four things are added to this.

*The scale is itself estimated.* If few clusters carry the variance, the scale is uncertain, and Student's t replaces
the normal distribution, with Satterthwaite's degrees of freedom (1946). Only that part of the uncertainty counts which
the value does not explain: right and wrong answers of single items have the variance v(1-v) whatever the sample.

*Clusters that were not seen.* In a sample without any variance, up to t²/(n + t²) of all clusters may differ from those
seen, the upper end of Wilson's interval for 0 of n. If one cluster differs a little, hardly more is known. This part of
the interval is therefore not dropped at once, but in proportion to the square of the number of clusters that carry the
variance, and is added to the other by the squares of the two distances (Zou and Donner 2008).

*One to three events.* There, the end of a score interval that is nearer to 0 is too far from it (`_scored`).

*Counts with a long tail.* If few clusters have most of the events, the upper end has to be further away
(`_skewed_end`).

`docs/statistics.md` explains this with an example, and `tests/coverage_of_intervals.py` measures it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.statistics.exact import ExactSums

Array = npt.NDArray[np.float64]

FEWEST = 5
"""The least number of clusters with items of a class at which a metric that compares classes has an interval."""

NORMAL = 1.959963984540054
"""The 0.975 quantile of the normal distribution."""

_NO_VARIANCE = 1e-18
"""A variance up to this, on the scale of a share, is a rounding error."""


Interval = Callable[["float", "Moments", "tuple[float, float]", "int | None"], "tuple[float, float]"]
"""Computes a 95% interval: (value, moments, bounds, clusters that it rests on) -> (low, high)."""


class Moments(NamedTuple):
    """The sums over clusters of the powers of their deviations, on which the interval of a value rests.

    Attributes:
        number: The number of clusters.
        second: The sum of the squares, which is the squared standard error.
        third: The sum of the third powers.
        fourth: The sum of the fourth powers.
    """

    number: int
    second: float
    third: float
    fourth: float

    @classmethod
    def of(cls, deviations: Array) -> Moments:
        """Compute the moments of the deviation of each cluster, shape (C,)."""
        powers = ExactSums.of(np.stack([deviations**2, deviations**3, deviations**4], axis=1))
        return cls(len(deviations), *powers.values().tolist())

    @classmethod
    def of_values(cls, number: int, powers: Array) -> Moments:
        """Compute the moments of the deviations (`deviations`) from sums over the values without each cluster.

        Args:
            number: The number of clusters.
            powers: The sums of the values minus any number close to them, and of the second, third and fourth powers
                of that difference, shape (4,).
        """
        mean, second, third, fourth = (float(power) / number for power in powers)
        scale = (number - 1) / number
        variance = scale * number * max(second - mean**2, 0.0)
        fourth_power = scale**2 * number * (fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4)
        return cls(
            number,
            variance,
            -(scale**1.5) * number * (third - 3 * mean * second + 2 * mean**3),
            # it is never lower, except by rounding
            max(fourth_power, variance**2 / number),
        )

    def in_units(self, unit: float) -> Moments:
        """Return the moments of the deviations divided by a number."""
        return Moments(self.number, self.second / unit**2, self.third / unit**3, self.fourth / unit**4)


class Carriers(NamedTuple):
    """How a variance is spread over the clusters.

    Attributes:
        variance: The sum of the clusters' squared deviations, which is the squared standard error.
        number: The number of clusters that carry the variance: k if k clusters deviate equally and the others do not,
            about a third of the clusters if deviations have a normal distribution; 1 if the variance is 0.
        degrees: The degrees of freedom of the variance.
    """

    variance: float
    number: float
    degrees: float


def deviations(without_one: Array) -> Array:
    """Compute the deviation of each cluster, shape (C,), whose squares sum up to the jackknife variance.

    Args:
        without_one: The value without each of C clusters, shape (C,).
    """
    clusters = len(without_one)
    mean = math.fsum(without_one.tolist()) / clusters
    return np.asarray(math.sqrt((clusters - 1) / clusters) * (mean - without_one))


def carriers(moments: Moments, slope: float = 0.0) -> Carriers:
    """Compute how a variance is spread over the clusters.

    The degrees of freedom are Satterthwaite's, 2·V²/Var(V), with the variance of V from the contributions of the
    clusters (Pan and Wall 2002), at most the number of clusters minus one and at least one.

    Args:
        moments: The moments of the clusters' deviations.
        slope: The derivative by the value of the logarithm of the variance that the value implies; 0 if it implies
            none.
    """
    clusters, variance, third, fourth = moments
    if variance <= _NO_VARIANCE:
        return Carriers(0.0, 1.0, clusters - 1.0)
    # the sum of the squares of each cluster's share of the variance, minus 1/C, minus slope times deviation
    unexplained = fourth / variance**2 - 1 / clusters + slope**2 * variance - 2 * slope * third / variance
    degrees = min(clusters - 1.0, 2 / unexplained) if unexplained > 0 else clusters - 1.0
    return Carriers(variance, variance**2 / fourth, max(degrees, 1.0))


def unseen_weight(spread: Carriers, scale: float) -> float:
    """Compute the weight, 0 to 1, of clusters that were not seen.

    Args:
        spread: How the variance is spread over the clusters.
        scale: The variance if each cluster were a single observation, 0 or 1; infinite for other values.
    """
    return max(1 - spread.variance / scale, 0.0) / spread.number**2 if scale > 0 else 0.0


def unseen_share(clusters: int, t: float) -> float:
    """Compute the share of all clusters, at most, that are unlike each of those seen."""
    return 1 / (1 + clusters / t / t) if t else 0.0


def quantile(degrees: float) -> float:
    """Compute the 0.975 quantile of Student's t."""
    from scipy.special import stdtrit  # imported here because it takes half a second, which listings do not need

    return float(stdtrit(degrees, 0.975))


def support(clusters: npt.NDArray[np.int64], *, averaged: bool = False) -> int | None:
    """Compute on how many clusters a metric rests that compares or averages classes.

    Args:
        clusters: The number of clusters with items of each class, shape (L,).
        averaged: Whether the metric is an average over the classes, each of which then only has a part in it.

    Returns:
        The number of clusters with items of the rarest class, times the number of classes if the metric is an average
        over them; None if fewer than `FEWEST` clusters have items of a class.
    """
    occurring = clusters[clusters > 0]
    if not len(occurring) or occurring.min() < FEWEST:
        return None
    return int(occurring.min()) * (len(occurring) if averaged else 1)


def score_interval(
    value: float, moments: Moments, bounds: tuple[float, float] = (0.0, 1.0), clusters: int | None = None
) -> tuple[float, float]:
    """Compute the 95% score interval of a value.

    For the share of right answers among single items, this is Wilson's interval with Student's t; for a mean count
    without an upper bound, it is the score interval of a Poisson rate.

    Args:
        value: The value.
        moments: The moments of the deviations of C clusters, two or more.
        bounds: The lowest and the highest possible value; the highest may be infinite.
        clusters: The number of clusters on which the value rests, if fewer than C.

    Returns:
        The lower and the upper end, within the bounds.
    """
    bottom, top = bounds
    bounded = math.isfinite(top)
    width = top - bottom if bounded else 1.0
    v = max((value - bottom) / width, 0.0)
    v = min(v, 1.0) if bounded else v
    clusters = min(clusters or moments.number, moments.number)
    implied = v * (1 - v) if bounded else v
    interior = implied > 0
    spread = carriers(moments.in_units(width), ((1 - 2 * v if bounded else 1.0) / implied) if interior else 0.0)
    low = high = v
    if interior and spread.variance:
        t = quantile(min(spread.degrees, clusters - 1.0))
        low, high = _scored(v, implied / spread.variance, t, bounded=bounded)
        if not bounded:
            high = max(high, _skewed_end(v, moments, t))
    weight = unseen_weight(spread, implied / clusters) if interior else 1.0
    t = quantile(clusters - 1.0)
    unseen = math.sqrt(weight) * unseen_share(clusters, t)
    # what was not seen is at an end of the range; without an upper end, one event or as many as were seen on average
    above = unseen * (1 - v) if bounded else math.sqrt(weight) * NORMAL**2 / clusters * max(v, 1.0)
    low = v - math.hypot(v - low, unseen * v)
    high = v + math.hypot(high - v, above)
    return bottom + width * max(low, 0.0), bottom + width * (min(high, 1.0) if bounded else high)


def _scored(v: float, n: float, t: float, *, bounded: bool) -> tuple[float, float]:
    """Compute Wilson's interval of a share, or the score interval of a Poisson rate, from n observations.

    Around 1 to 3 events, the lower end of a score interval is too high: it excludes rates at which these are common.
    It is lowered to the exact one-sided limit at 95%, as in the modified interval of Brown, Cai and DasGupta (2001),
    and less so up to 4 events. The same holds for the upper end of a share and the events that did not occur.
    """
    from scipy.special import betaincinv, gammaincinv

    t2 = t * t / n
    # the skewness of a count does not grow with the uncertainty of its variance; that of a share has room up to 1
    skew, variance, scale = (t2, v * (1 - v), 1 + t2) if bounded else (NORMAL**2 / n, v, 1.0)
    centre, reach = v + skew / 2, math.sqrt(t2 * variance + skew**2 / 4)
    low, high = (centre - reach) / scale, (centre + reach) / scale
    events, others = n * v, n * (1 - v)
    if events < 4:
        exact = float(betaincinv(events, others + 1, 0.05)) if bounded else float(gammaincinv(events, 0.05)) / n
        low -= min(4 - events, 1.0) * max(low - exact, 0.0)
    if bounded and others < 4:
        exact = 1 - float(betaincinv(others, events + 1, 0.05))
        high += min(4 - others, 1.0) * max(exact - high, 0.0)
    return low, high


def _skewed_end(v: float, moments: Moments, t: float) -> float:
    """Compute the upper end of a score interval of a rate whose variance changes with it as the sample's skewness says.

    The variance of a skewed mean grows with it by Σd³/Σd² to first order; for a Poisson rate, this is 1/n as above. It
    is more if few clusters have most of the events.
    """
    skew = NORMAL**2 * moments.third / moments.second
    return v + skew / 2 + math.sqrt(t * t * moments.second + skew**2 / 4)


class DifferenceError(NamedTuple):
    """The error of a difference between two runs.

    The interval is Student's t around the difference, limited to the differences that the metric's range allows, with
    the degrees of freedom of `carriers`. They are about 2k if k clusters differ and the others do not.

    If all clusters differ by the same amount, as in two equal runs, the standard error is 0. The interval then assumes
    that up to t²/(n + t²) of all clusters, the upper end of Wilson's interval for a share of 0 out of n, differ from
    those observed as far as the metric's range allows. Two equal runs of 100 clusters thus differ by 0 ± 0.04 in a
    share. Without an upper bound, there is no interval in this case. If k clusters differ, this part is reduced by the
    factor k, and the interval reaches as far as the root of the sum of both squares, so that one item that flips does
    not narrow it.

    Attributes:
        stderr: The jackknife standard error; 0 if all clusters differ by the same amount.
        degrees: The degrees of freedom of the standard error.
        width: The width of the metric's range, which is the largest possible difference; may be infinite.
        unseen: The weight, 0 to 1, of clusters that differ from all that were seen; 1 if the standard error is 0, and 0
            if the width is infinite.
        clusters: The number of clusters on which the difference rests (`support`).
    """

    stderr: float
    degrees: float
    width: float
    unseen: float
    clusters: int

    def interval(self, value: float) -> tuple[float, float] | None:
        """Return the 95% interval of a difference; None if there is none."""
        if not (self.stderr > 0 or self.unseen > 0):
            return None
        below, above = (self._reach(0.025, room) for room in (self.width + value, self.width - value))
        return max(value - below, -self.width), min(value + above, self.width)

    def tail(self, value: float, room: float | None = None) -> float:
        """Return the p-value of "the difference is not above 0"; below 0.025 if and only if the interval is above 0.

        Args:
            value: By how much the difference is above 0.
            room: How far unseen clusters can differ from it downwards; by default as far as the range allows.
        """
        from scipy.optimize import brentq
        from scipy.special import stdtr

        room = self.width + value if room is None else room
        if not self.unseen:
            return float(stdtr(self.degrees, -value / self.stderr)) if self.stderr else 0.5
        size, least = abs(value), 1e-100
        if not size or self._reach(least, room) <= size:
            below = 0.5 if not size else least
        else:
            below = math.exp(
                brentq(lambda log: self._reach(math.exp(log), room) - size, math.log(least), math.log(0.5))
            )
        return below if value >= 0 else 1 - below

    def outside(self, value: float, margin: float) -> float:
        """Return the p-value of "the difference is `margin` or more in either direction"."""
        above = self.tail(value + margin, self.width + value)
        return max(above, self.tail(margin - value, self.width - value))

    def _reach(self, tail: float, room: float) -> float:
        """Return how far an end of the interval is from the value.

        Args:
            tail: The probability beyond this end, up to 0.5.
            room: How far unseen clusters can differ from the value in this direction.
        """
        from scipy.special import stdtrit

        seen = abs(float(stdtrit(self.degrees, tail))) * self.stderr
        if not self.unseen:
            return seen
        t = float(stdtrit(self.clusters - 1, tail))
        return math.hypot(seen, math.sqrt(self.unseen) * room * unseen_share(self.clusters, t))


def mean_interval(ends: Array, values: Array, covariance: Array) -> tuple[float, float]:
    """Compute the 95% interval of the mean of M values from the intervals of each.

    This is the method of variance estimates recovery, MOVER (Zou and Donner 2008): each distance from a value to an end
    of its interval stands for a standard error, so that the interval of the mean is asymmetric where those of its
    members are, and not too narrow because of members with few clusters.

    Args:
        ends: The lower and the upper ends, shape (2, M).
        values: The values, shape (M,).
        covariance: The covariance of the errors of each two values, shape (M, M).

    Returns:
        The lower and the upper end.
    """
    sizes = np.sqrt(np.diag(covariance))
    # a value without variance is correlated with none
    correlation = covariance / np.outer(*[np.where(sizes > 0, sizes, 1.0)] * 2)
    np.fill_diagonal(correlation, 1.0)
    below, above = values - ends[0], ends[1] - values
    down, up = (math.sqrt(max(float(reach @ correlation @ reach), 0.0)) / len(values) for reach in (below, above))
    return float(values.mean()) - down, float(values.mean()) + up
