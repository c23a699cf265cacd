"""Tests of differences: against scipy, hand-worked cases, the definitions, and simulation."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_rel

from halu_tasks.scorers.classification import macro_metric
from halu_tasks.scorers.metrics import Metric, mean, share_unparsed
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.bootstrap import Paired, paired_bootstrap
from halu_tasks.scorers.statistics.paired import difference
from halu_tasks.scorers.statistics.probability import roc_auc
from halu_tasks.scorers.statistics.significance import McNemar, holm, items_needed, mcnemar, not_estimated, rank_ranges

ACC = mean("acc", "correct")
CLAIMS = replace(mean("claims", "correct"), range=(0.0, math.inf))
MACRO = macro_metric("f1", ["Yes", "No"], "macro_f1", unparsed_is_label=True)
AUC, _ = roc_auc("Yes")


def run(rights: Sequence[float], clusters: Sequence[str] | None = None) -> list[Score]:
    names = clusters or [str(i) for i in range(len(rights))]
    return [
        Score(str(i), c, "Yes" if r == (i % 3 > 0) else "No", "Yes" if i % 3 else "No", {"correct": r})
        for i, (r, c) in enumerate(zip(rights, names, strict=True))
    ]


def compared(metric: Metric, ones: Sequence[Score], others: Sequence[Score], draws: int = 1_000) -> Paired:
    return paired_bootstrap(metric, [ones, others], draws)[0, 1]


# --- McNemar's test -----------------------------------------------------------------------------

RIGHTS = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), max_size=40)


@given(RIGHTS, st.randoms(use_true_random=False))
def test_mcnemar_is_a_binomial_test_of_the_items_that_flip(
    rights: list[tuple[float, float]], shuffling: random.Random
) -> None:
    ones, others = ([pair[which] for pair in rights] for which in (0, 1))
    shuffled = shuffling.sample(run(others), len(others))
    found = mcnemar(ACC, run(ones), shuffled)
    assert found
    higher, lower = rights.count((1.0, 0.0)), rights.count((0.0, 1.0))
    assert found[:4] == (higher, lower, len(rights), 0)
    assert found.p == (binomtest(higher, higher + lower, 0.5).pvalue if higher + lower else 1.0)
    other_way = mcnemar(ACC, shuffled, run(ones))
    assert other_way == McNemar(lower, higher, len(rights), 0, found.p)


def test_the_run_that_leaves_more_unparsed_is_the_higher_one() -> None:
    own = run([1.0] * 8)
    silent = [replace(s, answer=None, outcome="unparsed") for s in own]
    assert mcnemar(share_unparsed(), silent, own) == McNemar(8, 0, 8, 0, 2 / 2**8)


def test_an_item_that_a_judge_failed_on_is_counted_and_no_flip() -> None:
    ones, others = run([1.0, 1.0, 0.0, 0.0]), run([0.0, 1.0, 0.0, 0.0])
    ones[1] = replace(ones[1], measurements={})
    others[2] = replace(others[2], measurements={})
    assert mcnemar(ACC, ones, others) == McNemar(1, 0, 2, 2, 1.0)


def test_items_with_another_tag_do_not_count() -> None:
    ones, others = run([1.0, 0.0]), run([0.0, 1.0])
    ones[0], others[0] = (replace(scores[0], tags={"type": "a"}) for scores in (ones, others))
    assert mcnemar(ACC.only("type", "a", "acc_a"), ones, others) == McNemar(1, 0, 1, 0, 1.0)


def test_repeated_items_have_no_mcnemar() -> None:
    """One item that the models always answer differently is one event, however often it is asked."""
    ones, others = ([replace(s, id="0") for s in run([right] * 10)] for right in (1.0, 0.0))
    assert mcnemar(ACC, ones, others) is None
    found = compared(ACC, *([replace(s, cluster=s.id) for s in scores] for scores in (ones, others)))
    assert (found.items, found.clusters) == (1, 1)


def test_what_is_not_right_or_wrong_item_by_item_has_no_mcnemar() -> None:
    assert mcnemar(ACC, run([0.5, 1.0]), run([1.0, 1.0])) is None
    assert mcnemar(MACRO, run([1.0]), run([1.0])) is None
    with pytest.raises(ValueError, match="1 only in the first run, such as 1"):
        mcnemar(ACC, run([1.0, 1.0]), run([1.0]))


# --- Holm's correction --------------------------------------------------------------------------


def test_holm_by_hand() -> None:
    """Of four: 0.005·4, 0.01·3 and 0.03·2, and the largest, 0.04·1, is raised to the one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_comparison_that_could_not_be_tested_is_none_of_those_corrected_for() -> None:
    assert holm([0.01, None, 0.04]) == pytest.approx([0.02, None, 0.04])
    assert holm([None]) == [None]


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.5])
def test_what_is_no_p_value_has_no_correction(wrong: float) -> None:
    with pytest.raises(ValueError, match="expected p-values from 0 to 1"):
        holm([0.5, wrong])


@given(st.lists(st.floats(0, 1), max_size=12), st.randoms(use_true_random=False))
def test_corrected_p_values_are_larger_in_the_same_order_wherever_they_stand(
    p_values: list[float], shuffling: random.Random
) -> None:
    adjusted = [p for p in holm(p_values) if p is not None]
    assert all(p <= own <= 1 for p, own in zip(p_values, adjusted, strict=True))
    by_size = sorted(zip(p_values, adjusted, strict=True))
    assert [own for _, own in by_size] == sorted(adjusted)
    order = shuffling.sample(range(len(p_values)), len(p_values))
    assert holm([p_values[i] for i in order]) == [adjusted[i] for i in order]


# --- the paired bootstrap -----------------------------------------------------------------------

MANY = st.lists(
    st.tuples(st.integers(0, 7), *[st.sampled_from([0.0, 0.5, 1.0])] * 3), min_size=1, max_size=40
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(MANY, st.sampled_from([ACC, MACRO, CLAIMS]), st.randoms(use_true_random=False))
def test_a_difference_is_the_other_way_round_for_the_other_order_whatever_the_order_of_scores(
    rows: list[tuple[int, float, float, float]], metric: Metric, shuffling: random.Random
) -> None:
    names = [f"c{row[0]}" for row in rows]
    runs = [run([row[n] for row in rows], names) for n in (1, 2, 3)]
    found = paired_bootstrap(metric, runs, draws=300)
    shuffled = [shuffling.sample(scores, len(scores)) for scores in runs[::-1]]
    turned = paired_bootstrap(metric, shuffled, draws=300)
    assert set(found) == set(combinations(range(3), 2))
    for (i, j), pair in found.items():
        other = turned[2 - j, 2 - i]
        alone = difference(metric, runs[i], runs[j])
        assert alone and (pair.value, pair.stderr, pair.items) == (alone.value, alone.stderr, alone.items)
        assert other.value == pytest.approx(-pair.value) and other.p == pytest.approx(pair.p)
        if pair.low is None or pair.high is None or pair.p is None:
            assert pair[1:4] == (None, None, None) and alone.low is None
            continue
        assert (other.low, other.high) == pytest.approx((-pair.high, -pair.low))
        assert pair.low < pair.value + 1e-9 and pair.value - 1e-9 < pair.high
        assert 0 < pair.p <= 1 and (pair.p < 0.05) == (pair.low > 0 or pair.high < 0)
        assert alone.low is not None and pair.low <= alone.low


def test_the_same_seed_gives_the_same_draws_and_another_does_not() -> None:
    rng = np.random.default_rng(0)
    runs = [run(rng.random(60).tolist()) for _ in range(2)]
    first, again, other = (paired_bootstrap(ACC, runs, seed=seed, draws=500)[0, 1] for seed in (3, 3, 4))
    assert first == again and first.value == other.value and first.p != other.p


def test_with_many_clusters_the_interval_and_p_are_those_of_a_t_test() -> None:
    rng = np.random.default_rng(2)
    ones, others = (rng.random(400) ** power for power in (1.0, 1.2))
    found = compared(ACC, run(ones.tolist()), run(others.tolist()), draws=20_000)
    known = ttest_rel(ones, others)
    assert (found.low, found.high) == pytest.approx(tuple(known.confidence_interval()), abs=0.004)
    assert found.p == pytest.approx(known.pvalue, abs=0.01)
    assert (found.by, found.clusters, found.items) == ("bootstrap", 400, 400)


def test_few_draws_do_not_hide_a_difference_from_many_comparisons() -> None:
    """No draw of a thousand is at 0 or below: p is near that of a t test with half the items differing."""
    found = compared(ACC, run([1.0] * 60), run([1.0, 0.0] * 30))
    known = ttest_rel([1.0] * 60, [1.0, 0.0] * 30)
    assert found.by == "bootstrap" and known.pvalue < 1e-8 and found.p == pytest.approx(known.pvalue, rel=0.01)


def test_rounding_breaks_no_ties() -> None:
    """Tenths are not exact and eighths are: draws in which both runs have as much credit are at 0 in either."""
    rng = np.random.default_rng(9)
    ones, others = rng.integers(0, 4, (2, 30))
    tenths, eighths = (compared(ACC, run((ones / n).tolist()), run((others / n).tolist())) for n in (10, 8))
    assert tenths.p == pytest.approx(eighths.p, rel=1e-9) and tenths.value == pytest.approx(0.8 * eighths.value)


@pytest.mark.parametrize("metric", [ACC, MACRO])
def test_equal_runs_are_not_significant_and_not_certain_to_be_equal(metric: Metric) -> None:
    own = run([1.0, 0.0] * 50)
    found = compared(metric, own, own)
    assert found.p == 1 and found.low is not None and found.high is not None
    assert found.low == -found.high and 0.03 < found.high < 0.06


def test_runs_that_differ_in_as_many_items_either_way_are_not_significant() -> None:
    found = compared(ACC, run([1.0, 0.0, *[1.0] * 98]), run([0.0, 1.0, *[1.0] * 98]))
    assert found.p == 1 and found.value == 0


@pytest.mark.parametrize("flipped", [1, 2, 3])
def test_few_clusters_that_differ_may_as_well_have_differed_the_other_way(flipped: int) -> None:
    """Of 100, one to three that differ, all one way: the share that differ the other way is up to 2% or more."""
    found = compared(ACC, run([1.0] * 100), run([0.0] * flipped + [1.0] * (100 - flipped)))
    assert found.value == pytest.approx(flipped / 100) and found.p is not None and found.p > 0.1
    assert found.low is not None and found.high is not None
    assert found.low < -0.001 and found.high > 0.05


def test_all_right_against_all_wrong_is_significant() -> None:
    found = compared(ACC, run([1.0] * 50), run([0.0] * 50))
    assert found.p is not None and found.p < 1e-6 and found.by == "jackknife" and found.high == 1
    assert found.low is not None and 0.8 < found.low < 0.9


def test_repeating_every_item_in_its_cluster_adds_no_certainty() -> None:
    rng = np.random.default_rng(5)
    ones, others = ((rng.random(40) < share).astype(float).tolist() for share in (0.7, 0.6))
    names = [str(i) for i in range(40)]
    once = compared(ACC, run(ones, names), run(others, names))
    thrice = compared(ACC, run(ones * 3, names * 3), run(others * 3, names * 3))
    assert thrice[:5] == pytest.approx(once[:5]) and (once.items, thrice.items, thrice.clusters) == (40, 120, 40)


def test_what_compares_items_across_clusters_is_by_the_jackknife() -> None:
    rng = np.random.default_rng(6)
    ones, others = (
        [
            replace(s, measurements={"probability": float(rng.beta(a, 2) if s.target == "Yes" else rng.beta(2, a))})
            for s in own
        ]
        for a, own in ((3, run([1.0] * 60)), (2.5, run([1.0] * 60)))
    )
    found, alone = compared(AUC, ones, others), difference(AUC, ones, others)
    assert alone and found[:3] == (alone.value, alone.low, alone.high) and found.by == "jackknife"
    assert found.p is not None and found.low is not None and (found.p < 0.05) == (found.low > 0)


def test_where_draws_cannot_tell_or_nothing_is_known() -> None:
    own, other = run([1.0, 0.0, 1.0]), run([0.0, 0.0, 1.0])
    assert compared(ACC, own, other).by == "jackknife"
    assert compared(ACC, own[:1], other[:1]) == Paired(1.0, None, None, None, None, 1, 1, "jackknife")
    assert compared(CLAIMS, own, own) == Paired(0.0, None, None, None, 0.0, 3, 3, "jackknife")
    assert paired_bootstrap(AUC, [own, other]) == {} == paired_bootstrap(ACC, [own]) == paired_bootstrap(ACC, [[], []])
    with pytest.raises(ValueError, match="runs 0 and 2: the runs differ in their items: 1 only in the first run"):
        paired_bootstrap(ACC, [own, own, own[:2]])


def test_draws_without_an_item_of_the_group_are_left_out() -> None:
    """Five clusters of forty have such an item; one draw in 208 has none of them, and one in 100 only the first."""
    rights = [1.0] + [0.0] * 39
    ones, others = (
        [replace(s, tags={"type": "a" if i < 5 else "b"}) for i, s in enumerate(run(own))]
        for own in (rights, [0.0] * 40)
    )
    found = compared(ACC.only("type", "a", "acc_a"), ones, others, draws=20_000)
    assert (found.value, found.items, found.clusters, found.by) == (0.2, 5, 5, "bootstrap")
    assert found.high == 1 and found.low is not None and found.low < 0


def correlated(rng: np.random.Generator, clusters: int, skills: Sequence[float]) -> list[list[Score]]:
    """A run for each skill, on clusters of one to six items that are as hard for all."""
    names = np.repeat(np.arange(clusters), rng.integers(1, 7, clusters))
    hard = rng.normal(0, 0.5, clusters)[names]
    runs = []
    for skill in skills:
        own = hard + rng.normal(0, 0.5, clusters)[names] + rng.normal(0, math.sqrt(0.5), len(names))
        runs.append(run((own < skill).astype(float).tolist(), names.astype(str).tolist()))
    return runs


@pytest.mark.slow
def test_intervals_cover_and_equal_runs_are_rarely_significant() -> None:
    rng = np.random.default_rng(7)
    truth = float(np.subtract(*[(rng.normal(size=1_000_000) < skill).mean() for skill in (0.5, 0.2)]))
    covered = significant = 0
    for _ in range(300):
        found = paired_bootstrap(ACC, correlated(rng, 40, (0.5, 0.2, 0.2)), draws=500)
        first, equal = found[0, 1], found[1, 2]
        assert first.low is not None and first.high is not None and equal.p is not None
        covered += first.low <= truth <= first.high
        significant += equal.p < 0.05
    assert 0.92 <= covered / 300 <= 0.98 and 0.02 <= significant / 300 <= 0.08


# --- the number of items needed -----------------------------------------------------------------


def test_items_needed_are_those_of_a_t_test() -> None:
    """0.05 with an error of 0.02 in 300 clusters: an effect of 0.05 / (0.02·√300) standard deviations."""
    from statsmodels.stats.power import TTestPower

    found = Paired(-0.05, -0.09, -0.01, 0.01, 0.02, 1_200, 300, "bootstrap")
    for power in (0.8, 0.9):
        clusters = [
            math.ceil(TTestPower().solve_power(size / (0.02 * math.sqrt(300)), alpha=0.05, power=power))
            for size in (0.05, 0.09, 0.01)
        ]
        assert items_needed(found, power) == (4 * clusters[0], clusters[0], 4 * clusters[1], 4 * clusters[2])
    assert not_estimated(found) == ""
    for nothing, why in (
        (found._replace(value=0.0), "is 0"),
        (found._replace(stderr=None), "no interval"),
        (found._replace(low=None, high=None, stderr=0.0), "no interval"),
        (found._replace(stderr=0.0), "the same in all clusters"),
    ):
        assert items_needed(nothing) is None and not_estimated(nothing).endswith(why)


def test_a_difference_that_may_be_0_needs_items_without_bound() -> None:
    needed = items_needed(Paired(0.03, -0.01, 0.07, 0.14, 0.02, 600, 300, "bootstrap"))
    assert needed and needed.high is None and needed.low < needed.items == 2 * needed.clusters


def test_repeats_of_items_do_not_raise_the_number_that_is_needed() -> None:
    rng = np.random.default_rng(12)
    ones, others = ((rng.random(60) < share).astype(float).tolist() for share in (0.7, 0.55))
    once = compared(ACC, run(ones), run(others))
    names = [str(i) for i in range(60)] * 4
    repeated = compared(ACC, *([replace(s, id=s.cluster) for s in run(rights * 4, names)] for rights in (ones, others)))
    assert items_needed(once) == items_needed(repeated)


# --- equality within a margin -------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.2])
def test_equality_is_claimed_where_the_90_percent_interval_is_within_the_margin(margin: float) -> None:
    from statsmodels.stats.weightstats import ttost_paired

    rng = np.random.default_rng(13)
    ones = rng.random(400)
    others = ones + rng.normal(0.01, 0.2, 400)
    found = paired_bootstrap(ACC, [run(ones.tolist()), run(others.tolist())], draws=20_000, margin=margin)[0, 1]
    known, *_ = ttost_paired(ones, others, -margin, margin)
    assert found.p_equal == pytest.approx(known, abs=0.01)


def test_equal_runs_of_few_items_are_not_shown_to_be_equal() -> None:
    for items, equal in ((20, False), (400, True)):
        own = run([1.0, 0.0] * (items // 2))
        found = paired_bootstrap(ACC, [own, own], margin=0.02)[0, 1]
        assert found.p_equal is not None and (found.p_equal < 0.05) == equal
    assert compared(ACC, own, own).p_equal is None


# --- ranks --------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    """Run 0 is better than both others, which are not told apart; run 3 was compared with run 0 alone."""
    assert rank_ranges([(0, 1), (0, 2), (0, 3)], 4) == [(1, 1), (2, 4), (2, 4), (2, 4)]
    assert rank_ranges([(2, 0), (2, 1), (1, 0)], 3) == [(3, 3), (2, 2), (1, 1)]
    assert rank_ranges([], 3) == [(1, 3)] * 3
