"""Exact sums: those of `math.fsum`, for any order, division and repetition."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.statistics.jackknife import Sums

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(st.tuples(NUMBERS, st.booleans()), min_size=1, max_size=30), st.integers(1, 300))
def test_different_rows_add_up_to_the_rounded_sum_of_all(rows: list[tuple[float, bool]], times: int) -> None:
    table, classes = np.array([[number] for number, _ in rows]), np.array([[flag] for _, flag in rows])
    parts = [Sums(table, classes).different()] * times
    assert len(parts[0].terms) == len(set(rows))
    together = Sums(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    assert together.total == math.fsum([number for number, _ in rows] * times)
