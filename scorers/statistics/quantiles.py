"""Quantiles of the distributions behind intervals.

`scipy.special` has them too, but takes half a second to import, in which two thousand replies are scored.

A quantile is found by Newton's method on the logarithm of a tail, as a function of the log odds or the logarithm of the
value. The density of that variable is log-concave, and so is its tail. Newton's method then converges from any start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

TAIL = 0.025
"""The probability below the lower and above the upper end of an interval."""

_PRECISION = 1e-15
_LOG_2PI = math.log(2 * math.pi)


def beta_quantile(a: float, b: float) -> float:
    """Compute the 0.025 quantile of a beta distribution; the 0.975 quantile is one minus that for `b` and `a`.

    Args:
        a: The first parameter, above 0.
        b: The second parameter, 0.5 or more.
    """
    return 1 / (1 + math.exp(min(-_beta_log_odds(a, b, TAIL), 700.0)))


def t_quantile(degrees: float) -> float:
    """Compute the 0.975 quantile of Student's t distribution from its degrees of freedom, above 0."""
    return math.sqrt(degrees * math.exp(-_beta_log_odds(degrees / 2, 0.5, 2 * TAIL)))


def gamma_quantile(a: float, *, is_upper: bool = False) -> float:
    """Compute the 0.025 quantile of a gamma distribution with scale 1, or the 0.975 quantile.

    Args:
        a: The shape, above 0; 1 or more for the upper quantile.
        is_upper: Whether it is the 0.975 quantile.
    """
    tail_at = _gamma_log_upper_tail if is_upper else _gamma_log_lower_tail
    distance = 2 / math.sqrt(a)
    return math.exp(_solve(lambda z: tail_at(a, z), TAIL, math.log(a) + (distance if is_upper else -distance)))


def _solve(log_tail: Callable[[float], tuple[float, float]], tail: float, z: float) -> float:
    """Solve `log_tail(z) = log(tail)`; `log_tail` returns the value and the derivative."""
    step = math.inf
    while abs(step) > 1e-9 * max(abs(z), 1.0):
        value, slope = log_tail(z)
        step = (math.log(tail) - value) / slope
        z += step
    return z


def _beta_log_odds(a: float, b: float, tail: float) -> float:
    start = math.log(a / b) - 2 * math.sqrt(1 / a + 1 / b)
    return _solve(lambda z: _beta_log_tail(a, b, z), tail, start)


def _beta_log_tail(a: float, b: float, z: float) -> tuple[float, float]:
    """Compute the logarithm of the lower tail of a beta distribution at log odds, and its derivative."""
    log_x, log_y = (value - math.log1p(math.exp(-abs(z))) for value in (min(z, 0.0), min(-z, 0.0)))
    fraction = _beta_fraction(a, b, math.exp(log_x))
    return a * log_x + b * log_y - _log_beta(a, b) + math.log(fraction / a), a / fraction


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Compute the continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8)."""
    d = value = 1 / (1 - (a + b) * x / (a + 1))
    c = 1.0
    for m in count(1):
        k = a + 2 * m
        for term in (m * (b - m) * x / (k * (k - 1)), -(a + m) * (a + b + m) * x / (k * (k + 1))):
            c, d = 1 + term / c, 1 / (1 + term * d)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _log_beta(a: float, b: float) -> float:
    """Compute the logarithm of the beta function, also where the gamma functions are much larger than it."""
    n = a + b
    # the logarithm of the larger share is precise only from the smaller one
    log_a, log_b = (math.log(a / n), math.log1p(-a / n)) if a < b else (math.log1p(-b / n), math.log(b / n))
    powers = (a - 0.5) * log_a + (b - 0.5) * log_b
    return (_LOG_2PI - math.log(n)) / 2 + powers + _stirling_error(a) + _stirling_error(b) - _stirling_error(n)


def _stirling_error(a: float) -> float:
    """Compute the logarithm of the gamma function minus Stirling's formula for it."""
    if a < 20:
        return math.lgamma(a) - (a - 0.5) * math.log(a) + a - _LOG_2PI / 2
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / a**2) / a**2) / a**2) / a


def _gamma_log_density(a: float, z: float) -> float:
    """Compute the logarithm of the density of the logarithm of a gamma distribution."""
    return a * (z - math.log(a)) + a - math.exp(z) + (math.log(a) - _LOG_2PI) / 2 - _stirling_error(a)


def _gamma_log_lower_tail(a: float, z: float) -> tuple[float, float]:
    x = math.exp(z)
    total, term, k = 1.0, 1.0, a
    while term > _PRECISION * total:
        k += 1
        term *= x / k
        total += term
    return _gamma_log_density(a, z) + math.log(total / a), a / total


def _gamma_log_upper_tail(a: float, z: float) -> tuple[float, float]:
    """Compute the logarithm of the upper tail at a logarithm, by a continued fraction, and its derivative."""
    x = math.exp(z)
    b = x + 1 - a
    d = value = 1 / b
    c = math.inf
    for m in count(1):
        b += 2
        term = m * (a - m)
        c, d = b + term / c, 1 / (b + term * d)
        value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return _gamma_log_density(a, z) + math.log(value), -1 / value
