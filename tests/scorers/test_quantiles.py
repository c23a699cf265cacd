"""Quantiles of our own equal those of scipy."""

import numpy as np
import pytest
from scipy.special import betaincinv, gammaincinv, stdtrit

from halu_tasks.scorers.statistics.quantiles import beta_quantile, gamma_quantile, t_quantile

DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("size", [0.1, 1, 30, 1e3, 1e7])
def test_quantiles_are_scipys(size: float) -> None:
    for a, b in size * DRAW.uniform(0.01, 2, (200, 2)):
        assert beta_quantile(a, b + 1) == pytest.approx(betaincinv(a, b + 1, 0.025), rel=1e-10, abs=1e-12)
        assert 1 - beta_quantile(b, a + 1) == pytest.approx(betaincinv(a + 1, b, 0.975), rel=1e-10)
        assert gamma_quantile(a) == pytest.approx(gammaincinv(a, 0.025), rel=1e-10, abs=1e-12)
        assert gamma_quantile(a + 1, is_upper=True) == pytest.approx(gammaincinv(a + 1, 0.975), rel=1e-10)
        assert t_quantile(a + 1) == pytest.approx(stdtrit(a + 1, 0.975), rel=1e-9)


def test_quantiles_of_a_share_that_is_a_rounding_error() -> None:
    assert beta_quantile(1e-18, 1e6) == pytest.approx(0.0, abs=1e-300) == gamma_quantile(1e-18)
    assert 1 - beta_quantile(1e6, 1 + 1e-18) == pytest.approx(betaincinv(1 + 1e-18, 1e6, 0.975), rel=1e-9)
