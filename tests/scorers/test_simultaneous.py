"""Adjusting p-values for many differences: against distributions in scipy, statsmodels, by hand, and by simulation."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm, studentized_range
from statsmodels.stats.multitest import multipletests

from halu_tasks.scorers.metrics import Metric, mean, mean_of
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.differences import (
    Contrast,
    Influence,
    adjusted_p_values,
    holm,
    influence,
    rank_ranges,
    without_clusters,
)

ACC = mean("acc", "correct")
NAMES = [str(i) for i in range(60)]
RNG = np.random.default_rng(3)
ORTHOGONAL = np.linalg.qr(RNG.normal(size=(60, 60)))[0]
"""Influences of 60 figures that do not depend on each other and have the same error."""


def figure(values: object, scope: str = "a") -> Influence:
    return Influence(scope, NAMES, np.asarray(values, dtype=float))


def nothing(scope: str = "a") -> Influence:
    return figure(np.zeros(60), scope)


def deviate(p: float) -> float:
    return float(norm.isf(p / 2))


# --- known distributions ------------------------------------------------------------------------


@pytest.mark.parametrize("models", [3, 10])
def test_all_pairs_of_equally_uncertain_runs_are_as_in_the_studentized_range(models: int) -> None:
    runs = [figure(ORTHOGONAL[i]) for i in range(models)]
    p_values = [0.003, *[0.9] * (models * (models - 1) // 2 - 1)]
    contrasts = [Contrast(1.0, p, *pair) for p, pair in zip(p_values, combinations(runs, 2), strict=True)]
    exact = studentized_range.sf(deviate(0.003) * np.sqrt(2), models, np.inf)
    adjusted = adjusted_p_values(contrasts, draws=40_000)[0]
    assert adjusted == pytest.approx(exact, abs=4 * np.sqrt(exact / 40_000))
    assert adjusted < holm(p_values)[0]  # type: ignore[operator]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_two_differences_are_as_in_the_bivariate_normal_distribution(correlation: float) -> None:
    other = correlation * ORTHOGONAL[0] + np.sqrt(1 - correlation**2) * ORTHOGONAL[1]
    contrasts = [Contrast(1.0, 0.02, figure(ORTHOGONAL[0]), nothing()), Contrast(1.0, 0.5, figure(other), nothing())]
    z = deviate(0.02)
    joint = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    exact = 1 - joint.cdf([z, z], lower_limit=[-z, -z])
    assert adjusted_p_values(contrasts, draws=40_000)[0] == pytest.approx(exact, abs=0.003)


def test_independent_differences_step_down_with_the_opposites_of_those_before() -> None:
    p_values = [0.001, 0.008, 0.03]
    contrasts = [Contrast(1.0, p, figure(ORTHOGONAL[i]), nothing()) for i, p in enumerate(p_values)]
    exact = [1 - norm.cdf(deviate(p)) ** k * (2 * norm.cdf(deviate(p)) - 1) ** (3 - k) for k, p in enumerate(p_values)]
    adjusted = adjusted_p_values(contrasts, draws=60_000)
    assert adjusted == pytest.approx(exact, abs=0.002)
    # in one scope or in several, and in any order
    apart = [Contrast(1.0, p, figure(ORTHOGONAL[0], str(i)), nothing(str(i))) for i, p in enumerate(p_values)]
    assert adjusted_p_values(apart[::-1], draws=60_000) == pytest.approx(exact[::-1], abs=0.002)


def test_clear_differences_do_not_make_it_harder_to_find_others() -> None:
    """Beside forty differences of ten standard errors, the last two are two of two, and not two of forty-two."""
    p_values = [float(2 * norm.sf(10.0))] * 40 + [0.02, 0.9]
    contrasts = [Contrast(1.0, p, figure(ORTHOGONAL[i]), nothing()) for i, p in enumerate(p_values)]
    adjusted = adjusted_p_values(contrasts, draws=40_000)
    assert adjusted[-2] == pytest.approx(1 - 0.98**2, abs=0.004)


def test_holm_is_that_of_statsmodels() -> None:
    p_values = RNG.random(40) ** 3
    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


# --- properties ---------------------------------------------------------------------------------

FAMILY = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=40)
@given(FAMILY, st.randoms(use_true_random=False))
def test_adjusted_p_values_lie_between_their_own_and_those_of_holm(
    rows: list[tuple[float, int, int]], shuffling: random.Random
) -> None:
    runs = [figure(ORTHOGONAL[i] + ORTHOGONAL[5]) for i in range(5)]
    contrasts = [Contrast(1.0, p, runs[i], runs[j]) for p, i, j in rows]
    adjusted = adjusted_p_values(contrasts, draws=200)
    one_sided = holm([p / 2 for p, *_ in rows] + [1 - p / 2 for p, *_ in rows])
    for (p, *_), limit, own in zip(rows, one_sided, adjusted, strict=False):
        assert own is not None and limit is not None and p <= own <= max(limit, p)
    by_size = sorted((p, own) for (p, *_), own in zip(rows, adjusted, strict=True) if own is not None)
    assert [own for _, own in by_size] == sorted(own for _, own in by_size)
    assert adjusted_p_values([*contrasts, Contrast(1.0, None, runs[0], runs[1])], draws=200) == [*adjusted, None]


def test_one_difference_keeps_its_p_value_however_small() -> None:
    for p in (1.0, 0.04, 1e-9, 0.0):
        assert adjusted_p_values([Contrast(1.0, p, figure(ORTHOGONAL[0]), nothing())]) == [p]
    assert adjusted_p_values([]) == [] and adjusted_p_values([Contrast(1.0, None, nothing(), nothing())]) == [None]


def test_the_same_difference_twice_is_one_and_small_p_values_need_no_more_draws() -> None:
    own = figure(ORTHOGONAL[0]), nothing()
    assert adjusted_p_values([Contrast(1.0, 0.01, *own)] * 6, draws=20_000) == pytest.approx([0.01] * 6, abs=0.003)
    tiny, _ = adjusted_p_values([Contrast(1.0, 1e-9, *own), Contrast(1.0, 0.5, figure(ORTHOGONAL[1]), own[1])])
    assert tiny == pytest.approx(2e-9)


def test_equal_runs_do_not_dominate_the_maximum() -> None:
    """Two equal runs differ in no cluster; the other difference is one of two that do not depend on each other."""
    contrasts = [
        Contrast(1.0, 0.02, figure(ORTHOGONAL[0]), nothing()),
        Contrast(0.0, 1.0, figure(RNG.random(60)), nothing()),
    ]
    contrasts[1] = contrasts[1]._replace(second=contrasts[1].first)
    assert adjusted_p_values(contrasts, draws=40_000) == pytest.approx([1 - 0.98**2, 1.0], abs=0.003)


# --- metrics of runs ----------------------------------------------------------------------------


def run(rights: object, task: str = "", clusters: int = 60) -> list[Score]:
    return [
        Score(f"{task}{i}", str(i % clusters), "x", "x", {"correct": float(right)}, tags={"task": task})
        for i, right in enumerate(np.asarray(rights))
    ]


def influenced(metric: Metric, scores: list[Score], scope: str) -> Influence:
    return influence(without_clusters(metric, scores), sorted({score.cluster for score in scores}), scope)


def test_influences_are_what_a_figure_loses_without_a_cluster() -> None:
    scores = run([1, 0, 0, 1, 1, 1], clusters=3)
    own = influenced(ACC, scores[::-1], "a")
    assert list(own.clusters) == ["0", "1", "2"]
    assert own.values == pytest.approx([2 / 4 - 4 / 6, 3 / 4 - 4 / 6, 3 / 4 - 4 / 6])


def test_a_mean_depends_on_its_members() -> None:
    """The mean of two tasks on the same documents, and one of the tasks: 0.71 or more correlated."""
    tasks = {name: RNG.random((2, 60)) < 0.6 for name in ("s", "t")}
    metric = mean_of("acc", {"s": ACC, "t": ACC}, "task")
    of_mean = [influenced(metric, run(tasks["s"][m], "s") + run(tasks["t"][m], "t"), "a") for m in (0, 1)]
    of_task = [influenced(ACC, run(tasks["s"][m], "s"), "a") for m in (0, 1)]
    means = of_mean[0].values - of_mean[1].values
    member = of_task[0].values - of_task[1].values
    assert np.corrcoef(means, member)[0, 1] > 0.5
    adjusted = adjusted_p_values([Contrast(1.0, 0.01, *of_mean), Contrast(1.0, 0.02, *of_task)], draws=20_000)
    assert adjusted[0] is not None and 0.01 < adjusted[0] < 1 - 0.99**2


def test_a_comparison_that_could_not_be_tested_is_none_of_those_corrected_for() -> None:
    assert holm([0.01, None, 0.04]) == pytest.approx([0.02, None, 0.04])
    assert holm([None]) == [None] and holm([]) == []


# --- ranks --------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    """Run 0 is better than both others, which are not told apart; run 3 was compared with run 0 alone."""
    assert rank_ranges([(0, 1), (0, 2), (0, 3)], 4) == [(1, 1), (2, 4), (2, 4), (2, 4)]
    assert rank_ranges([(2, 0), (2, 1), (1, 0)], 3) == [(3, 3), (2, 2), (1, 1)]
    assert rank_ranges([], 3) == [(1, 3)] * 3
