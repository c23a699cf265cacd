"""Exact sums: those of `math.fsum`, for any order, division and repetition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.statistics.exact import ExactSums

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.integers(0, 30))
def test_parts_add_up_to_the_rounded_sum(numbers: list[float], cut: int) -> None:
    sums = ExactSums([0])
    for part in (numbers[:cut], numbers[cut:]):
        sums.add(ExactSums.of(np.array(part, dtype=np.float64).reshape(-1, 1)))
    assert sums.values()[0] == math.fsum(numbers)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 5_000)), min_size=1, max_size=8))
def test_a_row_counts_as_often_as_it_occurs(rows: list[tuple[float, int]]) -> None:
    table, times = np.array([[number] for number, _ in rows]), np.array([times for _, times in rows])
    assert ExactSums.of(table, times).values()[0] == math.fsum(x for x, n in rows for _ in range(n))


@pytest.mark.parametrize("number", [5e-324, -2.2250738585072014e-308, 0.1, 2.0**53 + 2, -0.0])
def test_the_smallest_and_largest_numbers_keep_all_their_bits(number: float) -> None:
    assert ExactSums.of(np.array([[number]])).values()[0] == number


def test_a_number_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        ExactSums.of(np.array([[math.nan]]))
