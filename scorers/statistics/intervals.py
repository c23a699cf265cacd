"""95% intervals of a value, from its values without each cluster of items.

One rule gives the interval of every metric, that of Korn and Graubard (1998, "Confidence Intervals for Proportions with
Small Expected Number of Positive Counts Estimated from Survey Data", Survey Methodology 24): the exact binomial
interval (Clopper and Pearson 1934) of as many independent observations as would have the jackknife's standard error,
which accounts for clusters and for metrics that are not means. For a rate without an upper bound, it is the exact
interval of a Poisson rate (Garwood 1936). Three things are added to it.

*The standard error is itself estimated.* If few clusters carry the variance, it is uncertain, and Student's t reduces
the number of observations, with Satterthwaite's degrees of freedom (1946). Only the part of the uncertainty that the
value does not explain counts: right and wrong answers of single items have the variance v(1-v) whatever the sample.

*Clusters that were not seen.* Without any event, each cluster is an observation. In a sample of any other value
without variance, up to t²/(n + t²) of all clusters, the upper end of Wilson's interval for 0 of n, may differ from
those seen. If one cluster differs a little, hardly more is known: this part decreases with the number of clusters that
carry the variance, and is added to the other by the squares of the two distances (Zou and Donner 2008).

*Counts with a long tail.* If few clusters have most of the events, the upper end has to be further away
(`_skewed_end`).

`docs/statistics.md` explains this with an example, and `tests/coverage_of_intervals.py` measures it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FEWEST = 5
"""The least number of clusters with items of a class at which a metric that compares classes has an interval."""

BELOW, ABOVE = 0.025, 0.975
"""The probabilities below the lower and below the upper end of an interval."""

NORMAL = 1.959963984540054
"""The 0.975 quantile of the normal distribution."""

NO_VARIANCE = 1e-18
"""A variance up to this, on the scale of a share, is a rounding error."""

_MOST = 1e16
"""The largest number of observations; from twice as many on, scipy does not find some quantiles of a beta."""


class Moments(NamedTuple):
    """The sums over clusters of the powers of their deviations, on which the interval of a value rests.

    Attributes:
        number: The number of clusters.
        second: The sum of the squares, which is the squared standard error.
        third: The sum of the third powers.
        fourth: The sum of the fourth powers.
        bias: The jackknife's estimate of the value's bias.
    """

    number: int
    second: float
    third: float
    fourth: float
    bias: float = 0.0

    @classmethod
    def of(cls, number: int, powers: Sequence[float]) -> Moments:
        """Compute the moments of the deviations of clusters, whose squares sum up to the jackknife variance.

        Args:
            number: The number of clusters.
            powers: The sums of the values without each cluster minus any number close to them, and of the second, third
                and fourth powers of that difference.
        """
        mean, second, third, fourth = (power / number for power in powers)
        scale = (number - 1) / number
        variance = scale * number * max(second - mean**2, 0.0)
        fourth_power = scale**2 * number * (fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4)
        return cls(
            number,
            variance,
            -(scale**1.5) * number * (third - 3 * mean * second + 2 * mean**3),
            # it is never lower, except by rounding
            max(fourth_power, variance**2 / number),
            (number - 1) * powers[0] / number,
        )

    def in_units(self, unit: float) -> Moments:
        """Return the moments of the deviations divided by a number."""
        return Moments(self.number, self.second / unit**2, self.third / unit**3, self.fourth / unit**4)


def degrees_of_freedom(moments: Moments, slope: float = 0.0) -> float:
    """Compute the degrees of freedom of a variance, from one to the number of clusters minus one.

    They are Satterthwaite's, 2·V²/Var(V), with the variance of V from the contributions of the clusters (Pan and Wall
    2002).

    Args:
        moments: The moments of the clusters' deviations.
        slope: The derivative by the value of the logarithm of the variance that the value implies; 0 if it implies
            none.
    """
    clusters, variance, third, fourth, _ = moments
    if variance <= NO_VARIANCE:
        return clusters - 1.0
    # the sum of the squares of each cluster's share of the variance, minus 1/C, minus slope times deviation
    unexplained = fourth / variance**2 - 1 / clusters + slope**2 * variance - 2 * slope * third / variance
    return max(min(clusters - 1.0, 2 / unexplained) if unexplained > 0 else clusters - 1.0, 1.0)


def t_quantile(degrees: float, below: float = ABOVE) -> float:
    """Compute a quantile of Student's t distribution, by default the 0.975 one, from its degrees of freedom (> 0)."""
    from scipy.special import stdtrit  # takes long to import, and many commands compute no interval

    return float(stdtrit(min(degrees, _MOST), below))


def exact_interval(
    value: float,
    moments: Moments,
    bounds: tuple[float, float] = (0.0, 1.0),
    clusters: float | None = None,
    *,
    degrees: float | None = None,
) -> tuple[float, float]:
    """Compute the 95% interval of a value, exact at the effective number of observations.

    Args:
        value: The value.
        moments: The moments of the deviations of C clusters, two or more.
        bounds: The lowest and the highest possible value; the highest may be infinite.
        clusters: The number of clusters on which the value rests, if fewer than C.
        degrees: The degrees of freedom of the error; by default, they are estimated, and the interval allows for
            clusters that were not seen.

    Returns:
        The lower and the upper end, within the bounds.
    """
    from scipy.special import betaincinv, gammaincinv

    bottom, top = bounds
    is_bounded = math.isfinite(top)
    width = top - bottom if is_bounded else 1.0
    v = max((value - bottom) / width, 0.0)
    v = min(v, 1.0) if is_bounded else v
    clusters = min(clusters or moments.number, moments.number)
    in_units = moments.in_units(width)
    implied, derivative = (v * (1 - v), 1 - 2 * v) if is_bounded else (v, 1.0)
    t = t_quantile(clusters - 1.0 if degrees is None else degrees)
    n, unseen = clusters * (NORMAL / t) ** 2, unseen_share(clusters, t) if implied > 0 else 0.0
    varies = implied > 0 and in_units.second > NO_VARIANCE
    if varies:
        if degrees is None:
            t = t_quantile(min(degrees_of_freedom(in_units, derivative / implied), clusters - 1.0))
        n = min(implied / in_units.second * (NORMAL / t) ** 2, _MOST)
        unseen *= math.sqrt(unseen_weight(in_units, implied / clusters)) if degrees is None else 0.0
    low = high = v
    if is_bounded and (varies or not unseen):
        low = betaincinv(n * v, n * (1 - v) + 1, BELOW) if v > 0 else 0.0
        high = betaincinv(n * v + 1, n * (1 - v), ABOVE) if v < 1 else 1.0
    elif varies or not unseen:
        low = gammaincinv(n * v, BELOW) / n if v > 0 else 0.0
        high = gammaincinv(n * v + 1, ABOVE) / n
        high = max(high, _skewed_end(v, moments, t)) if varies else high
    # what was not seen is at an end of the range; without an upper end, one event or as many as were seen on average
    above = unseen * (1 - v if is_bounded else max(v, 1.0))
    low, high = v - math.hypot(v - low, unseen * v), v + math.hypot(high - v, above)
    return bottom + width * max(low, 0.0), bottom + width * (min(high, 1.0) if is_bounded else high)


def unseen_share(clusters: float, t: float) -> float:
    """Compute the share of all clusters, at most, that are unlike each of those seen."""
    return 1 / (1 + clusters / t / t) if t else 0.0


def unseen_weight(moments: Moments, scale: float) -> float:
    """Compute the weight, 0 to 1, of clusters that were not seen, if a variance is above 0.

    It is 1/k² if k clusters carry the variance, as k do that deviate equally while the others do not, and less if the
    variance is not far below `scale`, that of single observations, 0 or 1, in the place of clusters.
    """
    return max(1 - moments.second / scale, 0.0) * (moments.fourth / moments.second**2) ** 2


def _skewed_end(v: float, moments: Moments, t: float) -> float:
    """Compute the upper end of a score interval of a rate whose variance changes with it as the sample's skewness says.

    The variance of a skewed mean grows with it by Σd³/Σd² to first order; for a Poisson rate, this is 1/n as above. It
    is more if few clusters have most of the events.
    """
    skew = NORMAL**2 * moments.third / moments.second
    return v + skew / 2 + math.sqrt(t * t * moments.second + skew**2 / 4)


def mean_interval(ends: Array, values: Array, covariance: Array, of: int) -> tuple[float, float]:
    """Compute the 95% interval of the mean of M values, and of others that are known to be 0, from that of each.

    This is the method of variance estimates recovery, MOVER (Zou and Donner 2008): each distance from a value to an end
    of its interval stands for a standard error, so that the interval of the mean is asymmetric where those of its
    members are, and not too narrow because of members with few clusters.

    Args:
        ends: The lower and the upper ends, shape (2, M).
        values: The values, shape (M,).
        covariance: The covariance of the errors of each two values, shape (M, M).
        of: The number of all values.

    Returns:
        The lower and the upper end.
    """
    correlation, mean = correlation_of(covariance), float(values.sum()) / of
    return mean - joint_reach(values - ends[0], correlation) / of, mean + joint_reach(
        ends[1] - values, correlation
    ) / of


def correlation_of(covariance: Array) -> Array:
    """Return the correlation of errors, shape (M, M); one without variance is correlated with none."""
    sizes = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(*[np.where(sizes > 0, sizes, 1.0)] * 2)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def joint_reach(reach: Array, correlation: Array) -> float:
    """Combine the distances of M values to an end of the interval of each into that of their sum."""
    return math.sqrt(max(float(reach @ correlation @ reach), 0.0))
