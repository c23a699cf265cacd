"""Adjusting p-values for many differences: against statsmodels, and ranks by hand."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from halu_tasks.scorers.statistics.differences import holm, rank_ranges


def test_holm_is_that_of_statsmodels() -> None:
    p_values = np.random.default_rng(3).random(40) ** 3
    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


def test_a_comparison_that_could_not_be_tested_is_none_of_those_corrected_for() -> None:
    assert holm([0.01, None, 0.04]) == pytest.approx([0.02, None, 0.04])
    assert holm([None]) == [None] and holm([]) == []


def test_one_difference_keeps_its_p_value_however_small() -> None:
    for p in (1.0, 0.04, 1e-9, 0.0):
        assert holm([p]) == [p]


# --- ranks --------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    """Run 0 is better than both others, which are not told apart; run 3 was compared with run 0 alone."""
    assert rank_ranges([(0, 1), (0, 2), (0, 3)], range(4)) == [(1, 1), (2, 4), (2, 4), (2, 4)]
    assert rank_ranges([(2, 0), (2, 1), (1, 0)], range(3)) == [(3, 3), (2, 2), (1, 1)]
    assert rank_ranges([], range(3)) == [(1, 3)] * 3
