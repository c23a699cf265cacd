"""Paired differences: against textbook formulae, the definition of leaving a cluster out, and simulation."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_rel

from halu_tasks.scorers.benchmarks.judged import OPEN_ANSWER
from halu_tasks.scorers.classification import balanced_acc, both_right, label_metric, macro_metric
from halu_tasks.scorers.columns import PROBABILITY, by_cluster
from halu_tasks.scorers.judge_correction import judge_error_metrics
from halu_tasks.scorers.metrics import Metric, estimate, mean, mean_of
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import auprc, roc_auc
from halu_tasks.scorers.statistics.differences import Difference, difference, same_items
from halu_tasks.scorers.statistics.side_by_side import Pairs

ACC = mean("acc", "correct")
F1 = label_metric("f1", "Yes", "f1")
MACRO = macro_metric("f1", ["Yes", "No"], "macro_f1", unparsed_is_label=True)
AUC = roc_auc("Yes")
CLAIMS = replace(mean("claims", "correct"), range=(0.0, math.inf))
METRICS = [ACC, F1, MACRO, AUC, auprc("Yes"), both_right("pairs", ("0", "1"))]


def run(rights: Sequence[float], *, clusters: Sequence[str] | None = None) -> list[ScoredReply]:
    names = clusters or [str(i) for i in range(len(rights))]
    return [
        ScoredReply(str(i), c, "x", "x", {"correct": r}) for i, (r, c) in enumerate(zip(rights, names, strict=True))
    ]


def compared(metric: Metric, ones: Sequence[ScoredReply], others: Sequence[ScoredReply]) -> Difference:
    found = difference(metric, ones, others)
    assert found is not None
    return found


def defined(metric: Metric, scores: Sequence[ScoredReply]) -> float:
    found = estimate(metric, by_cluster(scores))
    return found.value if found else math.nan


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_pairs_in_parts_are_what_two_runs_are(metric: Metric) -> None:
    draw = random.Random(3)

    def scores(share: float) -> list[ScoredReply]:
        found = []
        for number in range(300):
            right, said = float(draw.random() < share), draw.choice(["Yes", "No"])
            known = {"correct": right, PROBABILITY: draw.random()}
            target = said if right else {"Yes": "No", "No": "Yes"}[said]
            found.append(ScoredReply(f"{number // 2}/{number % 2}", f"c{number // 6}", said, target, known))
        return found

    ones, others = scores(0.7), scores(0.6)
    pairs, cuts = Pairs([metric]), [0, 60, 66, 240, 300]
    for start, end in pairwise(cuts):
        part = (by_cluster(run[start:end]) for run in (ones, others))
        pairs.add(*part, item=np.arange(start, end))
    (found,) = pairs.figures().values()
    assert found.value == estimate(metric, by_cluster(ones)) and found.other == estimate(metric, by_cluster(others))
    assert found.difference
    known = zip(found.difference, compared(metric, ones, others), strict=True)
    assert all(own == (None if other is None else pytest.approx(other, rel=1e-9)) for own, other in known)


RIGHTS = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=2, max_size=40)


@given(RIGHTS)
def test_the_error_of_independent_items_is_that_of_a_paired_t_test(rights: list[tuple[float, float]]) -> None:
    ones, others = zip(*rights, strict=True)
    found = compared(ACC, run(ones), run(others))
    differences = np.subtract(ones, others)
    assert found.value == pytest.approx(differences.mean()) and found.items == len(rights)
    assert found.stderr == pytest.approx(differences.std(ddof=1) / math.sqrt(len(rights)), abs=1e-9)
    assert found.low is not None and found.high is not None
    assert -1 <= found.low <= found.value <= found.high <= 1 and found.low < found.high
    if found.stderr > 1e-9:
        known = ttest_rel(ones, others).confidence_interval()
        assert found.low <= max(known.low, -1) + 1e-9 and found.high >= min(known.high, 1) - 1e-9


PAIRS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["Yes", "No"]),
        *[st.sampled_from(["Yes", "No", None])] * 2,
        *[st.none() | st.sampled_from([0.0, 0.2, 0.5, 0.9])] * 2,
    ),
    min_size=1,
    max_size=25,
)


@given(PAIRS, st.sampled_from(METRICS), st.randoms(use_true_random=False))
def test_value_and_error_are_those_of_leaving_a_cluster_of_both_runs_out(
    rows: list[tuple[int, str, str | None, str | None, float | None, float | None]],
    metric: Metric,
    shuffling: random.Random,
) -> None:
    runs: tuple[list[ScoredReply], list[ScoredReply]] = ([], [])
    for i, (cluster, target, *rest) in enumerate(rows):
        for own, answer, probability in zip(runs, rest[:2], rest[2:], strict=True):
            facts = {"correct": float(answer == target)} | (
                {} if probability is None else {"probability": float(probability)}
            )
            own.append(ScoredReply(f"{i // 2}/{i % 2}", f"c{cluster}", answer, target, facts))  # type: ignore[arg-type]
    value = defined(metric, runs[0]) - defined(metric, runs[1])
    shuffled = shuffling.sample(runs[1], len(runs[1]))
    found = difference(metric, runs[0], shuffled)
    if found is None:
        assert math.isnan(value)
        return
    assert found.value == pytest.approx(value)
    if found.stderr and metric in (ACC, AUC):  # of others, not every cluster bears on the figure, or a class goes
        names = sorted({s.cluster for s in runs[0]})
        without = [
            defined(metric, [s for s in runs[0] if s.cluster != name])
            - defined(metric, [s for s in runs[1] if s.cluster != name])
            for name in names
        ]
        if any(math.isnan(value) for value in without):
            # the only probability of a run went with a cluster: with nothing known all tie, which is no figure alone
            return
        spread = np.sum((np.array(without) - np.mean(without)) ** 2)
        assert found.stderr == pytest.approx(math.sqrt((len(names) - 1) / len(names) * spread))


@pytest.mark.parametrize(("metric", "rests_on"), [(ACC, 100), (F1, 66)])
def test_equal_runs_are_not_certain_to_be_equal(metric: Metric, rests_on: int) -> None:
    """A metric that compares classes rests on the clusters of the rarer one."""
    own = [
        ScoredReply(str(i), str(i), "Yes", "Yes" if i % 3 else "No", {"correct": float(i % 3 > 0)}) for i in range(100)
    ]
    found = compared(metric, own, own)
    t2 = t.ppf(0.975, rests_on - 1) ** 2
    assert found[:7] == pytest.approx((0, -t2 / (rests_on + t2), t2 / (rests_on + t2), 1, 0, 100, 100))


def test_equal_runs_differ_in_an_average_as_far_as_the_classes_may() -> None:
    """Of n clusters of a class, unseen ones may be t²/(n + t²); the classes are combined by their squares."""
    own = [
        ScoredReply(str(i), str(i), "Yes", "Yes" if i % 3 else "No", {"correct": float(i % 3 > 0)}) for i in range(100)
    ]
    found = compared(MACRO, own, own)
    squares = [t.ppf(0.975, n - 1) ** 2 for n in (34, 66)]
    reach = math.hypot(*[square / (n + square) for n, square in zip((34, 66), squares, strict=True)]) / 2
    assert found[:7] == pytest.approx((0, -reach, reach, 1, 0, 100, 100))


def test_a_rare_class_that_both_have_right_leaves_room_for_a_difference() -> None:
    """Only the common class differs; of the six items of the other one, next to nothing is known."""
    balanced = balanced_acc(lambda target: [target == each for each in ("A", "B")], lambda correct: correct)
    runs = []
    for wrong in (20, 44):
        right = [1.0] * 6 + [0.0] * wrong + [1.0] * (194 - wrong)
        runs.append(
            [ScoredReply(str(i), str(i), "x", "A" if i < 6 else "B", {"correct": r}) for i, r in enumerate(right)]
        )
    found = compared(balanced, *runs)
    common = compared(ACC, *[own[6:] for own in runs])
    assert found.value == pytest.approx(common.value / 2) and common.p is not None and common.p < 0.001
    assert found.p is not None and found.p > 0.05 and found.low is not None and found.low < 0
    other = compared(balanced, *runs[::-1])
    assert other.p == pytest.approx(found.p) and other.high == pytest.approx(-found.low)


def test_all_right_against_all_wrong_leaves_room_below_one() -> None:
    found = compared(ACC, run([1.0] * 50), run([0.0] * 50))
    assert found.value == found.high == 1 and found.low is not None and 0.8 < found.low < 0.9


def test_equal_runs_in_what_has_no_upper_bound_say_nothing_of_the_next_cluster() -> None:
    assert compared(CLAIMS, run([3.0, 4.0]), run([3.0, 4.0])) == Difference(0, None, None, None, 0, 2, 2)
    found = compared(CLAIMS, run([30.0, 4.0, 8.0]), run([3.0, 4.0, 9.0]))
    assert found.low is not None and found.low < -1 and found.high is not None and found.high > 1


def test_one_cluster_that_differs_is_no_more_certain_than_none() -> None:
    same, one = [1.0] * 100, [0.0] + [1.0] * 99
    none, differs = compared(ACC, run(same), run(same)), compared(ACC, run(same), run(one))
    assert none.high is not None and differs.high is not None and differs.high > none.high


def test_only_items_with_the_tag_of_a_metric_count() -> None:
    tagged = [replace(s, tags={"type": "a" if i < 3 else "b"}) for i, s in enumerate(run([1.0, 0.0, 1.0, 1.0]))]
    wrong = [replace(s, facts={"correct": 0.0}) for s in tagged]
    found = compared(ACC.only("type", "a", "acc_a"), tagged, wrong)
    assert (found.value, found.items) == (pytest.approx(2 / 3), 3)


def test_what_is_not_defined_for_both_has_no_difference() -> None:
    own = run([1.0, 0.0])
    assert difference(ACC, [], []) is None
    assert difference(AUC, own, own) is None
    assert difference(mean("other", "other"), own, own) is None
    assert difference(auprc("Yes"), [replace(s, facts={"probability": 0.5}, target="Yes") for s in own], own) is None
    assert compared(ACC, own[:1], own[:1]) == Difference(0, None, None, None, None, 1, 1)


def test_a_difference_has_an_interval_only_if_both_runs_have_one() -> None:
    """A class that one run never answers, labels of one run alone, and a mean of which a member lacks a class."""

    def answered(*answers: str, **known: float) -> list[ScoredReply]:
        targets = "Yes", "No"
        return [
            ScoredReply(
                str(i), str(i), answer, targets[i % 2], known, {"task": "a" if targets[i % 2] == "Yes" else "b"}
            )
            for i, answer in enumerate(answers)
        ]

    both, never = answered(*["Yes", "Yes", "No"] * 20), answered(*["No"] * 60)
    kinds = {"said_conflict": 1.0, "labelled_conflict": 1.0, "bad_of_conflict": 1.0}
    labelled = answered(*["Yes"] * 60, labels=1.0, **kinds)
    good = [replace(score, facts={**score.facts, "bad_of_conflict": 0.0}) for score in labelled]
    sensitivity = judge_error_metrics("hallucination_rate", OPEN_ANSWER)[1]
    mean = mean_of("macro", {"a": MACRO, "b": MACRO}, "task")
    for metric, one, other in (
        (label_metric("precision", "Yes", "p"), both, never),
        (sensitivity, labelled, good),
        (mean, both, never),
    ):
        alone = [estimate(metric, by_cluster(scores)) for scores in (one, other)]
        assert None in [own and own.low for own in alone]
        found = difference(metric, one, other)
        assert found is None or (found.low is found.p is None)
    assert compared(MACRO, both, never).low is not None


def test_runs_of_other_items_are_an_error_that_tells_which() -> None:
    own = run([1.0, 0.0, 1.0])
    wrong = "the runs differ in their items: "
    cases = {
        "2 only in the first run, such as 1": (own, own[:1]),
        "1 only in the second run, such as 2": (own[:2], own),
        "1 only in the first run, such as 0; 1 only in the second run, such as 2": (own[:2], own[1:]),
        # an epoch more
        "1 only in the second run, such as 1": (own, [*own, own[1]]),
        "1 in another cluster in the second run, such as 0": (own, [replace(own[0], cluster="x"), *own[1:]]),
    }
    for reason, (ones, others) in cases.items():
        assert same_items(ones, others) == wrong + reason
        with pytest.raises(ValueError, match=reason):
            difference(ACC, ones, others)
    assert same_items(own, own[::-1]) == ""


MANY = st.lists(
    st.tuples(st.integers(0, 7), *[st.sampled_from([0.0, 0.5, 1.0])] * 3), min_size=1, max_size=40
)  # fmt: skip


@given(MANY, st.sampled_from([ACC, CLAIMS]), st.randoms(use_true_random=False))
def test_a_difference_is_the_other_way_round_for_the_other_order_whatever_the_order_of_scores(
    rows: list[tuple[int, float, float, float]], metric: Metric, shuffling: random.Random
) -> None:
    names = [f"c{row[0]}" for row in rows]
    runs = [run([row[n] for row in rows], clusters=names) for n in (1, 2, 3)]
    for one, another in combinations(runs, 2):
        pair = difference(metric, one, another)
        other = difference(metric, shuffling.sample(another, len(another)), shuffling.sample(one, len(one)))
        assert pair and other
        assert other.value == pytest.approx(-pair.value) and other.p == pytest.approx(pair.p)
        if pair.low is None or pair.high is None or pair.p is None:
            assert pair[1:4] == (None, None, None)
            continue
        assert (other.low, other.high) == pytest.approx((-pair.high, -pair.low))
        assert pair.low < pair.value + 1e-9 and pair.value - 1e-9 < pair.high
        assert 0 < pair.p <= 1 and (pair.p < 0.05) == (pair.low > 0 or pair.high < 0)


def test_with_many_clusters_the_interval_and_p_are_those_of_a_t_test() -> None:
    rng = np.random.default_rng(2)
    ones, others = (rng.random(400) ** power for power in (1.0, 1.2))
    found = compared(ACC, run(ones.tolist()), run(others.tolist()))
    known = ttest_rel(ones, others)
    assert (found.low, found.high) == pytest.approx(tuple(known.confidence_interval()), abs=0.001)
    assert found.p == pytest.approx(known.pvalue, abs=0.005)
    assert (found.clusters, found.items) == (400, 400)


@pytest.mark.parametrize("flipped", [1, 2, 3])
def test_few_clusters_that_differ_may_as_well_have_differed_the_other_way(flipped: int) -> None:
    """Of 100, one to three that differ, all one way: the share that differ the other way is up to 2% or more."""
    found = compared(ACC, run([1.0] * 100), run([0.0] * flipped + [1.0] * (100 - flipped)))
    assert found.value == pytest.approx(flipped / 100) and found.p is not None and found.p > 0.1
    assert found.low is not None and found.high is not None
    assert found.low < -0.001 and found.high > 0.05


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.2])
def test_equality_is_claimed_where_the_90_percent_interval_is_within_the_margin(margin: float) -> None:
    from statsmodels.stats.weightstats import ttost_paired

    rng = np.random.default_rng(13)
    ones = rng.random(400)
    others = ones + rng.normal(0.01, 0.2, 400)
    found = difference(ACC, run(ones.tolist()), run(others.tolist()), margin)
    known, *_ = ttost_paired(ones, others, -margin, margin)
    assert found and found.p_equal == pytest.approx(known, abs=0.01)


def test_equal_runs_of_few_items_are_not_shown_to_be_equal() -> None:
    for items, equal in ((20, False), (400, True)):
        own = run([1.0, 0.0] * (items // 2))
        found = difference(ACC, own, own, margin=0.02)
        assert found and found.p_equal is not None and (found.p_equal < 0.05) == equal
    assert compared(ACC, own, own).p_equal is None


def test_runs_that_differ_as_far_as_they_can_are_not_equal() -> None:
    for ones, others in ((1.0, 0.0), (0.0, 1.0)):
        found = difference(ACC, run([ones] * 20), run([others] * 20), margin=0.02)
        assert found and found.p_equal == 1.0
