"""Intervals: against statsmodels where the definitions coincide, and where a standard error is 0 or nearly 0."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.rates import confint_poisson

from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import estimate, mean
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import difference
from halu_tasks.scorers.statistics.intervals import Moments, exact_interval

ACC = mean("acc", "correct")
COUNT = replace(mean("count", "correct"), range=(0.0, math.inf))


def run(*clusters: Sequence[float]) -> list[ScoredReply]:
    """Scores of the items of each cluster."""
    return [
        ScoredReply(f"{c}/{i}", str(c), "x", "x", {"correct": float(value)})
        for c, values in enumerate(clusters)
        for i, value in enumerate(values)
    ]


def ends(scores: list[ScoredReply], metric: object = ACC) -> tuple[float, float]:
    found = estimate(metric, by_cluster(scores))  # type: ignore[arg-type]
    assert found and found.low is not None and found.high is not None
    return found.low, found.high


def moments(deviations: npt.NDArray[np.float64]) -> Moments:
    """The moments of deviations whose mean is 0; that of the values without each cluster is their opposite."""
    without = -deviations / math.sqrt((len(deviations) - 1) / len(deviations))
    return Moments.of(len(deviations), np.array([(without**power).sum() for power in (1, 2, 3, 4)]))


def test_a_share_of_single_items_has_the_exact_interval() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        n = int(rng.integers(20, 500))
        values = (rng.random(n) < rng.random()).astype(float)
        # the jackknife divides by n - 1, as an unbiased variance does, and t has n - 1 degrees of freedom
        known = proportion_confint(values.sum() / n * (n - 1), n - 1, method="beta")
        if 10 < values.sum() < n - 10:
            assert ends(run(*values[:, None])) == pytest.approx(known, abs=0.7 / n)
    for right in (0.0, 1.0):
        known = proportion_confint(40 * right, 40, method="beta")
        assert ends(run(*[[right]] * 40)) == pytest.approx(known, abs=0.007)


def of_events(events: int, n: int) -> tuple[float, float]:
    values = np.arange(n) < events
    return exact_interval(events / n, moments((values - events / n) / math.sqrt(n * (n - 1))))


@pytest.mark.parametrize("n", [20, 50, 200, 1_000])
def test_shares_near_0_and_1_are_covered_whatever_they_are(n: int) -> None:
    """Wilson's interval covers 84% of some shares near 0.2 / n, 89% near 0.5 / n and 92% near 1 / n."""
    low, high = np.array([of_events(events, n) for events in range(n + 1)]).T
    for p in [*np.arange(0.02, 8, 0.02) / n, *np.arange(0.1, 0.5, 0.05)]:
        for share in (p, 1 - p):
            covers = (low <= share) & (share <= high)
            assert binom.pmf(np.arange(n + 1), n, share)[covers].sum() > 0.925


def test_intervals_move_with_the_events() -> None:
    low, high = np.array([of_events(events, 100) for events in range(101)]).T
    assert (np.diff(low) > 0).all() and (np.diff(high) > 0).all()


def test_a_rate_has_the_exact_interval_of_a_poisson_rate() -> None:
    # as many clusters below the mean as above it, by its root: the variance is the mean
    for n, rate in ((200, 1.0), (300, 20.0)):
        values = rate + math.sqrt(rate) * np.resize([1.0, -1.0], 2 * n)
        found = exact_interval(rate, moments((values - rate) / (2 * n)), (0.0, math.inf))
        assert found == pytest.approx(confint_poisson(2 * n * rate, 2 * n, method="exact-c"), rel=0.003)


def test_no_event_in_forty_summaries_has_an_upper_bound() -> None:
    low, high = ends(run(*[[0.0]] * 40), COUNT)
    assert low == 0 and high == pytest.approx(-math.log(0.025) / 40, rel=0.07)


@pytest.mark.parametrize(("half", "clusters"), [([1.0, 0.0], 1_001), ([1.0, 0.0] * 5, 60)])
def test_one_item_that_differs_does_not_narrow_an_interval(half: list[float], clusters: int) -> None:
    """A reply that is always "False" gets one of the two items of every pair right."""
    widths = []
    for differ in (0, 1, 2, 3, 5, 10):
        low, high = ends(run(*[half] * (clusters - differ), *[[1.0, 1.0, *half[2:]]] * differ))
        middle = estimate(ACC, by_cluster(run(*[half] * (clusters - differ), *[[1.0, 1.0, *half[2:]]] * differ)))
        assert middle and low < middle.value < high
        widths.append(high - low)
    assert widths[0] < 0.1
    assert all(0.45 < later / earlier < 2 for earlier, later in pairwise(widths)), widths


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
@given(size=st.floats(1e-12, 1e-3))
def test_an_interval_is_continuous_where_its_standard_error_is_0(value: float, size: float) -> None:
    still = exact_interval(value, moments(np.zeros(200)))
    moved = exact_interval(abs(value - size / 200), moments(np.array([size / 200] + [0.0] * 199)))
    assert moved == pytest.approx(still, abs=0.001 + 3 * size)


@given(size=st.floats(1e-12, 1e-3))
@pytest.mark.slow
def test_a_difference_is_continuous_where_its_standard_error_is_0(size: float) -> None:
    same = run(*[[0.5]] * 200)
    still = difference(ACC, same, same)
    moved = difference(ACC, same, run([0.5 + size], *[[0.5]] * 199))
    assert still and moved
    assert (moved.low, moved.high) == pytest.approx((still.low, still.high), abs=3e-4 + 3 * size)


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=1, max_size=4), min_size=2, max_size=30),
    st.sampled_from([ACC, COUNT]),
)
def test_an_interval_holds_its_value_within_the_range(values: list[list[float]], metric: object) -> None:
    low, high = ends(run(*values), metric)
    value = sum(map(sum, values)) / sum(map(len, values))
    assert 0 <= low <= value + 1e-9 and value - 1e-9 <= high <= (1 if metric is ACC else math.inf)
    assert low < high


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=4), min_size=2, max_size=30))
def test_the_interval_of_wrong_answers_mirrors_that_of_right_ones(values: list[list[float]]) -> None:
    low, high = ends(run(*values))
    other = ends(run(*[[1 - value for value in cluster] for cluster in values]))
    assert other == pytest.approx((1 - high, 1 - low), abs=1e-9)
