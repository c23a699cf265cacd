"""Planning: against statsmodels, the definition of the variances, and simulated runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES
from scipy.special import ndtri
from statsmodels.stats.power import TTestPower

from halu_tasks.scorers.classification import macro_metric
from halu_tasks.scorers.metrics import mean, micro
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import Difference, difference
from halu_tasks.scorers.statistics.planning import (
    Design,
    Variances,
    affordable,
    assumed,
    clusters_needed,
    differences_of,
    items_needed,
    looks_at,
    needed,
    not_estimated,
    of_difference,
    power_reached,
    share_of_replies,
    smallest,
    variances_of,
)

ACC = mean("acc", "correct")


def answered(
    rng: np.random.Generator, shares: np.ndarray[tuple[int], np.dtype[np.float64]], epochs: int, size: int = 1
) -> list[ScoredReply]:
    """Replies to items that are right with these probabilities, in clusters of `size`."""
    return [
        ScoredReply(str(item), str(item // size), None, "", {"correct": float(rng.random() < share)})
        for _ in range(epochs)
        for item, share in enumerate(shares)
    ]


@pytest.mark.parametrize("clusters", [5, 40, 1_000])
@pytest.mark.parametrize("difference", [0.5, 0.1, 0.02])
def test_power_is_that_of_statsmodels(clusters: int, difference: float) -> None:
    known = TTestPower().power(difference, clusters, 0.05, alternative="two-sided")
    # statsmodels also counts significant differences in the wrong direction
    wrong = TTestPower().power(-difference, clusters, 0.05, alternative="larger") if difference < 0.1 else 0.0
    assert power_reached(difference * math.sqrt(clusters), clusters) == pytest.approx(known - wrong / 2, abs=0.02)


def test_the_number_needed_is_the_least_with_that_power() -> None:
    for variance, size in ((1.0, 0.3), (0.2, 0.01), (1e-6, 0.5), (100.0, 0.5)):
        clusters = clusters_needed(variance, size)
        assert clusters_needed(variance, -size) == clusters
        powers = [power_reached(size / math.sqrt(variance / number), number) for number in (clusters - 1, clusters)]
        assert powers[1] >= 0.8 and (clusters == 2 or powers[0] < 0.8)
        detected = smallest(Variances(variance, 0.0, 1.0), Design(clusters, clusters, 1))
        assert detected is not None
        assert detected <= abs(size) * (1 + 1e-6) or clusters == 2


def test_assumptions_by_hand() -> None:
    """0.7 and 0.75 with 20% discordance: variance 0.2 - 0.05²; 0.06 of it for the replies of both models."""
    correlation = (0.625 - 0.7 * 0.75) / math.sqrt(0.7 * 0.3 * 0.75 * 0.25)
    assert assumed(0.7, 0.05, correlation=correlation) == pytest.approx(Variances(0.1975, None, 1.0))
    found = assumed(0.7, 0.05, correlation=correlation, within=0.03, cluster_size=4, intraclass=0.2)
    assert found == pytest.approx(Variances((0.1975 - 0.06) * 1.6, 0.06, 4.0))
    assert found.stderr(100, 2) == pytest.approx(math.sqrt((0.22 + 0.03) / 100))
    assert assumed(0.5, 0.0, correlation=0.5).between == pytest.approx(0.25)
    assert of_difference(Variances(0.1, 0.05, 2.0), 0.5) == pytest.approx(Variances(0.1, 0.1, 2.0))


@pytest.mark.parametrize(
    ("share", "difference", "assumptions", "reason"), CASES["assumptions_that_contradict_each_other"]
)
def test_assumptions_that_contradict_each_other(
    share: float, difference: float, assumptions: dict[str, float], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        assumed(share, difference, **assumptions)


def test_calls_buy_as_many_items_as_there_are_and_then_repeats() -> None:
    variances = Variances(0.1, 0.2, 1.0)
    assert affordable(variances, 600)[0] == Design(600, 600, 1)
    assert affordable(variances, 600, 200)[0] == Design(200, 200, 3)
    assert [design.epochs for design in affordable(variances, 600, 200)][:3] == [3, 2, 4]
    assert affordable(variances._replace(within=None), 600, 200) == [Design(200, 200, 1)]
    detects = [smallest(variances, design) for design in affordable(variances, 600, 200)]
    assert detects == sorted(detects, key=lambda size: size or math.inf)


def test_repeats_save_items_but_not_below_the_variance_between_them() -> None:
    runs = [needed(Variances(0.1, 0.2, 2.0), 0.05, epochs) for epochs in (1, 4, 1_000)]
    items = [design.items for design in runs if design]
    assert items == sorted(items, reverse=True) and items[-1] == pytest.approx(items[0] / 3, rel=0.02)
    assert all(design and design.items == 2 * design.clusters for design in runs)
    assert needed(Variances(0.0, 0.0, 1.0), 0.05, 1) is None


@pytest.mark.parametrize("epochs", [2, 5])
def test_the_split_is_found_in_repeated_runs(epochs: int) -> None:
    """Shares uniform over items: variance 1/12 between, 1/6 within; of two models independently, twice as much."""
    rng = np.random.default_rng(4)
    shares = rng.random((2, 4_000))
    ones, others = (answered(rng, own, epochs) for own in shares)
    assert variances_of(ACC, ones) == pytest.approx(Variances(1 / 12, 1 / 6, 1.0), abs=0.01)
    assert variances_of(ACC, ones, others) == pytest.approx(Variances(1 / 6, 1 / 3, 1.0), abs=0.02)
    once = ones[:4_000]
    assert variances_of(ACC, once) == pytest.approx(Variances(0.25, None, 1.0), abs=0.01)


@pytest.mark.parametrize("epochs", [2, 5])
def test_the_share_of_the_variance_that_is_due_to_replies(epochs: int) -> None:
    rng = np.random.default_rng(epochs)
    ones = answered(rng, rng.random(3_000), epochs)
    # 1/12 is between items, 1/6 within them
    share = 1 / 6 / epochs / (1 / 12 + 1 / 6 / epochs)
    assert share_of_replies(ACC, ones) == pytest.approx(share, rel=0.1)
    ratio = micro("ratio", "correct", "one")
    counted = [replace(score, facts={**score.facts, "one": 1.0}) for score in ones]
    assert share_of_replies(ratio, counted) == pytest.approx(share_of_replies(ACC, ones), rel=1e-3)
    same = [replace(score, facts={"correct": float(int(score.id) % 2)}) for score in ones]
    assert share_of_replies(ACC, same) == 0.0
    assert share_of_replies(ACC, answered(rng, rng.random(300), 1)) is None


def test_clusters_of_equal_items_count_once() -> None:
    rng = np.random.default_rng(5)
    found = variances_of(ACC, answered(rng, np.repeat(rng.random(1_500), 4), 3, size=4))
    assert found == pytest.approx(Variances(4 / 12, 1 / 6, 4.0), abs=0.03)


def test_what_has_no_variance_of_items() -> None:
    scores = answered(np.random.default_rng(6), np.full(10, 0.5), 1)
    with pytest.raises(ValueError, match="macro_f1 has no value for single items"):
        variances_of(macro_metric("f1", ["Yes", "No"], "macro_f1", unparsed_is_label=True), scores)
    with pytest.raises(ValueError, match="the runs differ in their items"):
        variances_of(ACC, scores, scores[1:])
    assert variances_of(ACC, [replace(score, cluster="0") for score in scores]) is None


def test_items_needed_are_those_of_a_t_test() -> None:
    """0.05 with an error of 0.02 in 300 clusters: an effect of 0.05 / (0.02·√300) standard deviations."""
    found = Difference(-0.05, -0.09, -0.01, 0.01, 0.02, 1_200, 300)
    clusters = [
        math.ceil(TTestPower().solve_power(size / (0.02 * math.sqrt(300)), alpha=0.05, power=0.8))
        for size in (0.05, 0.09, 0.01)
    ]
    assert items_needed(found) == (4 * clusters[0], clusters[0], 4 * clusters[1], 4 * clusters[2])
    assert not_estimated(found) == ""
    for nothing, why in (
        (found._replace(value=0.0), "is 0"),
        (found._replace(stderr=None), "no interval"),
        (found._replace(low=None, high=None, stderr=0.0), "no interval"),
        (found._replace(stderr=0.0), "the same in all clusters"),
    ):
        assert items_needed(nothing) is None and not_estimated(nothing).endswith(why)


def test_a_difference_among_many_needs_the_items_of_holms_first_step() -> None:
    found = Difference(-0.05, -0.09, -0.01, 0.01, 0.02, 1_200, 300)
    among_many = items_needed(found, 270)
    known = TTestPower().solve_power(0.05 / (0.02 * math.sqrt(300)), alpha=0.05 / 270, power=0.8)
    assert among_many and among_many.clusters == pytest.approx(known, rel=0.005)
    # the pairs of ten models on five tasks and their mean
    assert differences_of(10, 5) == 270 and differences_of(2, 1) == 1


@pytest.mark.parametrize(
    ("looks", "constant", "inflation"), [(2, 1.977, 1.008), (3, 2.004, 1.017), (5, 2.040, 1.028), (10, 2.087, 1.040)]
)
def test_looks_have_the_bounds_of_o_brien_and_fleming(looks: int, constant: float, inflation: float) -> None:
    """Against the tables 2.3 and 2.4 of Jennison and Turnbull (2000), for 5% and a power of 80%."""
    levels, found = looks_at(looks)
    z = [-float(ndtri(level / 2)) for level in levels]
    assert z == pytest.approx([constant * math.sqrt(looks / k) for k in range(1, looks + 1)], rel=3e-4)
    assert found == pytest.approx(inflation, abs=6e-4)


def test_one_look_is_the_test_itself_and_the_bounds_of_many_tests_stay_below_their_level() -> None:
    assert looks_at(1, level=0.01) == ([0.01], 1.0)
    levels, _ = looks_at(5, level=0.05 / 50_000)
    assert levels == sorted(levels) and 0.8e-6 < levels[-1] < 1e-6


def test_a_difference_that_may_be_0_needs_items_without_bound() -> None:
    needed = items_needed(Difference(0.03, -0.01, 0.07, 0.14, 0.02, 600, 300))
    assert needed and needed.high is None and needed.low < needed.items == 2 * needed.clusters


def test_repeats_of_items_do_not_raise_the_number_that_is_needed() -> None:
    rng = np.random.default_rng(12)
    ones, others = ((rng.random(60) < share).astype(float).tolist() for share in (0.7, 0.55))

    def run(rights: list[float], epochs: int) -> list[ScoredReply]:
        return [
            ScoredReply(str(i), str(i), None, "", {"correct": r}) for _ in range(epochs) for i, r in enumerate(rights)
        ]

    once, repeated = (difference(ACC, run(ones, epochs), run(others, epochs)) for epochs in (1, 4))
    assert once and repeated and items_needed(once) == items_needed(repeated)
