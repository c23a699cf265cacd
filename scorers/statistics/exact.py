"""Sums that do not depend on the order of their terms, so that parts computed anywhere add up to the same bits.

A float is an integer times a power of two. The terms are added as integers, which is exact, and only the final sum is
rounded, to the nearest float. It is therefore the same as that of `math.fsum`, however the terms are ordered or
divided into parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_LOWEST = 1126
"""Sums are counted in units of 2 to the power of minus this, of which every float is a multiple."""
_HALF = 27
"""The number of lower bits of a float's 53 that are added apart from the upper ones."""
_LONGEST = 1 << 26
"""The largest number of terms that are added at a time, so that sums of 27 bits fit into a float's 53."""
_EXACT = float(1 << 53)


class ExactSums:
    """The sums of K columns.

    Attributes:
        units: The sum of each column, as a multiple of 2**-1126.
    """

    def __init__(self, units: Sequence[int]) -> None:
        self.units = list(units)

    @classmethod
    def of(cls, table: Array, times: npt.NDArray[np.int64] | None = None) -> ExactSums:
        """Sum up the columns of a table.

        Args:
            table: The terms, shape (N, K); finite.
            times: How often each row counts, shape (N,); None if each counts once.

        Raises:
            ValueError: A term is not finite.
        """
        if not np.isfinite(table).all():
            raise ValueError("a sum has a term that is not a finite number")
        counted = np.ones(len(table), dtype=np.int64) if times is None else times
        sums = cls([0] * table.shape[1])
        rows = max(_LONGEST // int(counted.max(initial=1)), 1)
        for begin in range(0, len(table), rows):
            part, repeats = table[begin : begin + rows], counted[begin : begin + rows]
            bounds = np.abs(part).max(axis=0) * float(repeats.sum())
            integers = (bounds < _EXACT) & (part == np.rint(part)).all(axis=0)
            for column, is_integer in enumerate(integers):
                if is_integer:
                    sums.units[column] += int(part[:, column] @ repeats.astype(np.float64)) << _LOWEST
                else:
                    sums.units[column] += _units(part[:, column], repeats)
        return sums

    def add(self, other: ExactSums) -> None:
        """Add the sums of other terms."""
        self.units = [one + another for one, another in zip(self.units, other.units, strict=True)]

    def values(self) -> Array:
        """Return the sums, each rounded to the nearest float, shape (K,)."""
        # the division of two integers is rounded correctly
        return np.array([units / (1 << _LOWEST) for units in self.units], dtype=np.float64)


def _units(column: Array, times: npt.NDArray[np.int64]) -> int:
    """Sum up a column in units of 2**-1126.

    Args:
        column: The terms, shape (N,).
        times: How often each counts, shape (N,).
    """
    fractions, exponents = np.frexp(column)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    places = exponents - int(exponents.min())
    upper = np.bincount(places, (mantissas >> _HALF) * times)
    lower = np.bincount(places, (mantissas & ((1 << _HALF) - 1)) * times)
    # the least exponent of a float is -1073, so no bit is lost to the right
    first = int(exponents.min()) - 53 + _LOWEST
    return sum(
        ((int(high) << _HALF) + int(low)) << (first + place)
        for place, (high, low) in enumerate(zip(upper, lower, strict=True))
        if high or low
    )
