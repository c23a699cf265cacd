"""Metrics and intervals: against hand-worked cases, textbook formulae and simulation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.benchmarks import fave
from halu_tasks.scorers.classification import both_right, label_metric, macro_metric, pairs_of
from halu_tasks.scorers.metrics import (
    Estimate,
    Metric,
    as_json,
    by_cluster,
    estimate,
    estimates,
    mean,
    mean_of,
    micro,
    share_free_of,
    share_unparsed,
)
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.intervals import Moments, mean_interval, score_interval


def right(*values: float, clusters: Sequence[str] | None = None) -> list[Score]:
    names = clusters or [str(n) for n in range(len(values))]
    return [Score(str(n), c, "x", "x", {"v": v}) for n, (v, c) in enumerate(zip(values, names, strict=True))]


def labelled(*pairs: tuple[str, str | None]) -> list[Score]:
    return [Score(f"{n}/x", str(n), answer, target) for n, (target, answer) in enumerate(pairs)]


def found(metric: Metric, scores: Sequence[Score]) -> Estimate:
    result = estimate(metric, by_cluster(scores))
    assert result is not None
    return result


VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=40)


@given(VALUES)
def test_the_error_of_a_mean_of_independent_items_is_the_textbook_one(values: list[float]) -> None:
    e = found(mean("v", "v"), right(*values))
    assert e.value == pytest.approx(statistics.fmean(values))
    assert e.stderr == pytest.approx(statistics.stdev(values) / math.sqrt(len(values)), abs=1e-9)


@given(VALUES)
def test_an_interval_holds_its_value_and_stays_in_range(values: list[float]) -> None:
    e = found(mean("v", "v"), right(*values))
    assert e.low is not None and e.high is not None
    assert 0.0 <= e.low <= e.value + 1e-9 and e.value - 1e-9 <= e.high <= 1.0


@given(VALUES)
def test_repeating_every_item_in_its_cluster_adds_no_certainty(values: list[float]) -> None:
    names = [str(n) for n in range(len(values))]
    once = found(mean("v", "v"), right(*values, clusters=names))
    thrice = found(mean("v", "v"), right(*values * 3, clusters=names * 3))
    assert thrice == pytest.approx(once)


def test_all_right_leaves_room_below_one_and_nothing_known_leaves_nothing() -> None:
    e = found(mean("v", "v"), right(*[1.0] * 24))
    assert e.value == e.high == 1.0 and e.low is not None and 0.83 < e.low < 0.90
    assert found(mean("v", "v"), right(1.0)) == Estimate(1.0, None, None, None)
    assert estimate(mean("v", "v"), []) is None
    assert estimate(mean("other", "other"), by_cluster(right(1.0, 0.0))) is None


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """2,000 simulated runs of 150 clusters of one to four correlated items."""
    metrics = {
        "acc": mean("v", "v"),
        "f1": label_metric("f1", "T", "f1"),
        "ratio": micro("r", "part", "whole"),
    }
    rng = np.random.default_rng(1)
    covered, runs, size = dict.fromkeys(metrics, 0), 2_000, 150
    for _ in range(runs):
        scores = []
        skill = rng.beta(7, 3, size)
        for c, (p, items) in enumerate(zip(skill, rng.integers(1, 5, size), strict=True)):
            for n in range(items):
                hit = bool(rng.random() < p)
                target = "T" if rng.random() < 0.5 else "F"
                answer = target if hit else {"T": "F", "F": "T"}[target]
                whole = float(rng.integers(1, 30))
                facts = {"v": float(hit), "part": whole * hit, "whole": whole}
                scores.append(Score(f"{c}.{n}", str(c), answer, target, facts))
        for name, metric in metrics.items():
            e = found(metric, scores)
            # tp = fp rate symmetry makes the true F1 of both classes, like the other two, the mean skill 0.7
            covered[name] += e.low <= 0.7 <= e.high  # type: ignore[operator]
    assert all(0.935 <= number / runs <= 0.965 for number in covered.values()), covered


def test_precision_recall_and_f1_by_hand() -> None:
    scores = labelled(("T", "T"), ("T", "T"), ("T", "F"), ("F", "T"), ("F", None), ("T", None))
    values = {f: found(label_metric(f, "T", f), scores).value for f in ("precision", "recall", "f1")}  # type: ignore[arg-type]
    assert values == pytest.approx({"precision": 2 / 3, "recall": 2 / 4, "f1": 4 / 7})
    # unparsed as the wrong label: the unparsed F counts as T, the unparsed T as F
    wrong = label_metric("precision", "T", "p", unparsed="wrong_label")
    assert found(wrong, scores).value == pytest.approx(2 / 4)
    assert found(wrong, labelled(("T", "T"), ("F", None), ("F", None))).value == pytest.approx(1 / 3)
    assert found(label_metric("f1", "never", "f"), scores).value == 0.0


LABELS = st.sampled_from(["A", "B", None])


@given(st.lists(st.tuples(st.sampled_from(["A", "B"]), LABELS), min_size=1, max_size=30))
@pytest.mark.slow
def test_macro_averages_are_scikit_learns(pairs: list[tuple[str, str | None]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    gold = [target for target, _ in pairs]
    said = [answer or "unparsed" for _, answer in pairs]
    for figure, position in (("precision", 0), ("recall", 1), ("f1", 2)):
        ours = found(macro_metric(figure, "AB", "m", unparsed_is_label=True), labelled(*pairs))  # type: ignore[arg-type]
        theirs = metrics.precision_recall_fscore_support(gold, said, average="macro", zero_division=0)[position]
        assert ours.value == pytest.approx(theirs)


def test_pairs_join_by_id_and_an_item_alone_is_none() -> None:
    scores = [
        Score("r1/a", "c", "x", "x", {"correct": 1.0}),
        Score("r2/b", "c", "x", "x", {"correct": 0.0}),
        Score("r2/a", "c", "x", "x", {"correct": 1.0}),
        Score("r1/b", "c", "x", "x", {"correct": 1.0}),
        Score("r3/a", "c", "x", "x", {"correct": 1.0}),
        Score("alone", "c", "x", "x", {"correct": 1.0}),
    ]
    assert sorted(tuple(sorted(s.id for s in pair)) for pair in pairs_of(scores, ("a", "b"))) == [
        ("r1/a", "r1/b"),
        ("r2/a", "r2/b"),
    ]
    assert found(both_right("acc_pair", ("a", "b")), scores).value == 0.5


def test_a_group_mean_is_undefined_while_a_member_is() -> None:
    members = {"one": mean("v", "v"), "two": mean("v", "v")}
    scores = [
        Score("1", "c", "x", "x", {"v": 1.0}, {"task": "one"}),
        Score("2", "d", "x", "x", {"v": 0.5}, {"task": "two"}),
    ]
    assert found(mean_of("v", members, "task"), scores).value == 0.75
    assert estimate(mean_of("v", members, "task"), by_cluster(scores[:1])) is None


def test_members_that_share_sources_do_not_count_as_independent() -> None:
    members = {"one": mean("v", "v"), "two": mean("v", "v")}
    values = [0.0, 1.0] * 20
    shared = [Score(f"{t}{n}", str(n), "x", "x", {"v": v}, {"task": t}) for t in members for n, v in enumerate(values)]
    apart = [
        Score(f"{t}{n}", f"{t}{n}", "x", "x", {"v": v}, {"task": t}) for t in members for n, v in enumerate(values)
    ]
    group = mean_of("v", members, "task")
    assert found(group, shared).stderr == pytest.approx(math.sqrt(2) * found(group, apart).stderr, rel=0.02)  # type: ignore[operator]


def test_unparsed_counts_answers_that_are_none() -> None:
    assert found(share_unparsed(), labelled(("A", None), ("A", "B"))).value == 0.5
    assert share_unparsed().higher_is_better is False


def test_a_share_without_hallucinations_is_of_the_items_that_were_judged() -> None:
    counts = {"a": 0.0, "b": 3.0, "c": 0.0, "d": 1.0}
    scores = [Score(id, id, "text", "text", {"hallucinations": count}) for id, count in counts.items()]
    unjudged = Score("e", "e", "text", "text", {})
    metric = share_free_of("acc", "hallucinations", "")
    found = estimates([metric], [*scores, unjudged])["acc"]
    assert found.value == 0.5 and metric.higher_is_better
    assert metric.item and [metric.item(score) for score in scores] == [1.0, 0.0, 1.0, 0.0]
    assert math.isnan(metric.item(unjudged)) and not estimates([metric], [unjudged])


def test_estimates_leave_out_what_no_item_bears_on_and_keep_the_order() -> None:
    metrics = [mean("b", "missing"), mean("v", "v"), mean("v", "v").only("type", "t", "v_t"), share_unparsed()]
    assert list(estimates(metrics, right(1.0, 0.0))) == ["v", "unparsed"]


def test_precision_rests_on_what_was_predicted_and_not_on_all_items() -> None:
    """Three predictions among a thousand items, all right: near to nothing is known."""
    scores = labelled(*[("T", "T")] * 3, *[("F", "F")] * 997)
    e = found(label_metric("precision", "T", "p"), scores)
    assert e.value == 1.0 and e.low is not None and e.low < 0.5
    assert found(label_metric("precision", "never", "p"), scores) == Estimate(0.0, None, None, None)


def test_one_unparsed_reply_does_not_blow_up_the_error_of_a_macro_average() -> None:
    pairs: list[tuple[str, str | None]] = [("A", "A"), ("B", "B"), ("A", "B")] * 100
    metric = macro_metric("f1", "AB", "f1", unparsed_is_label=True)
    one = found(metric, labelled(*pairs, ("A", None))).stderr
    two = found(metric, labelled(*pairs, ("A", None), ("B", None))).stderr
    assert one is not None and two is not None and one == pytest.approx(two, rel=0.1)


@pytest.mark.parametrize(
    "metric", [label_metric("f1", "A", "f"), macro_metric("f1", "AB", "m", unparsed_is_label=False)]
)
def test_figures_of_classes_have_an_interval_from_five_clusters_of_each_on(metric: Metric) -> None:
    common: list[tuple[str, str | None]] = [("B", "B"), ("B", "A"), ("B", "B")] * 30
    for rare in range(8):
        e = found(metric, labelled(*[("A", "A"), ("A", "B")] * (rare // 2), *[("A", "A")] * (rare % 2), *common))
        # without any item of a class, its F1 is unknown; the average is that of the others
        assert (e.low is None) == (e.stderr is None) == (rare < 5 and not (rare == 0 and metric.averages_classes))
    # clusters count, not items
    together = [replace(s, cluster="one") if s.target == "A" else s for s in labelled(*[("A", "A")] * 20, *common)]
    assert found(metric, together).low is None


def test_shares_of_a_rare_class_keep_their_wide_interval() -> None:
    recall = found(label_metric("recall", "A", "r"), labelled(("A", "A"), ("A", "A"), *[("B", "B")] * 100))
    assert recall.value == 1 and recall.low is not None and recall.low < 0.05


def members_of(*values: Sequence[float], shared: bool = False) -> tuple[Metric, list[Score]]:
    """A mean over members with these values, one a cluster; clusters are the same in all members if `shared`."""
    names = [str(n) for n in range(len(values))]
    scores = [
        Score(f"{name}/{i}", str(i) if shared else f"{name}/{i}", "x", "x", {"v": value}, {"task": name})
        for name, own in zip(names, values, strict=True)
        for i, value in enumerate(own)
    ]
    return mean_of("v", {name: mean("v", "v") for name in names}, "task"), scores


def test_the_interval_of_a_mean_is_recovered_from_those_of_its_members() -> None:
    """A member of five items that are all right is not known to be perfect."""
    small, large = [1.0] * 5, [1.0, 0.0] * 500
    e = found(*members_of(small, large))
    ends = [found(mean("v", "v"), right(*values)) for values in (small, large)]
    assert e.value == 0.75
    for end, sign in (("low", -1), ("high", 1)):
        reach = math.hypot(*[getattr(member, end) - member.value for member in ends]) / 2
        assert getattr(e, end) == pytest.approx(0.75 + sign * reach)
    assert e.low is not None and e.low < 0.55 and e.high is not None and e.high < 0.77
    # leaving out a cluster of a member says nothing of the other's number of clusters
    assert e.stderr == pytest.approx(math.hypot(*[member.stderr or 0 for member in ends]) / 2)


def test_the_interval_of_a_mean_of_equal_members_is_theirs() -> None:
    values = [1.0, 1.0, 0.0, 1.0] * 10
    alone = found(mean("v", "v"), right(*values))
    assert found(*members_of(values, values, shared=True)) == pytest.approx(alone)
    opposite = [1 - value for value in values]
    e = found(*members_of(values, opposite, shared=True))
    assert e.value == 0.5 and e.stderr == pytest.approx(0, abs=1e-9) and e.low is not None and 0.35 < e.low < 0.5


def test_a_mean_has_no_interval_if_a_member_has_none() -> None:
    assert found(*members_of([1.0], [1.0, 0.0] * 10)) == Estimate(0.75, None, None, None)


def judged(metric: Metric, error: float) -> Metric:
    """The metric, which changes by `error` if a judge's rate is a standard error higher."""
    return replace(metric, shared=lambda sums: np.full(np.shape(sums)[:-1], error))


def test_the_error_of_a_judge_is_added_by_squares_and_the_interval_stays_in_range() -> None:
    metric, scores = mean("v", "v"), right(*[1.0, 0.0, 1.0, 1.0] * 10)
    alone, both = found(metric, scores), found(judged(metric, -0.05), scores)
    assert both.value == alone.value and both.stderr == pytest.approx(math.hypot(alone.stderr or 0, 0.05))
    for end, sign in (("low", -1), ("high", 1)):
        reach = math.hypot(getattr(alone, end) - alone.value, 1.959964 * 0.05)
        assert getattr(both, end) == pytest.approx(both.value + sign * reach)
    assert found(judged(metric, 5.0), scores)[2:] == (0.0, 1.0)
    assert found(judged(metric, 0.0), scores) == alone


def test_a_metric_without_an_error_of_its_own_has_that_of_the_judge() -> None:
    metric = replace(mean("v", "v"), has_error=False)
    e = found(judged(metric, 0.05), right(1.0, 0.0))
    reach = 1.959964 * 0.05
    assert e == pytest.approx((0.5, 0.05, 0.5 - reach, 0.5 + reach))
    # of a metric whose error cannot be estimated, the judge's error is not all of it
    assert found(judged(mean("v", "v"), 0.05), right(1.0)) == Estimate(1.0, None, None, None)


def test_members_share_the_error_of_a_judge() -> None:
    members = {name: judged(mean("v", "v"), error) for name, error in (("0", 0.1), ("1", 0.04))}
    metric, scores = members_of([1.0, 0.0] * 10, [1.0, 1.0, 0.0] * 10)
    of_items, of_both = found(metric, scores), found(mean_of("v", members, "task"), scores)
    assert of_both.stderr == pytest.approx(math.hypot(of_items.stderr or 0, (0.1 + 0.04) / 2))


def test_reported_hallucinations_are_adjusted_by_the_share_that_is_real() -> None:
    """Two reports and none, half of them real: 1 - 0.5² of the first summary has one."""
    known = {"factor": 0.5, "any": 0.0, "asked": 2.0, "failed": 0.0}
    scores = [
        Score(str(n), str(n), "text", "", known | {"hallucinations": reported}) for n, reported in enumerate((2.0, 0.0))
    ]
    figures = estimates(fave.METRICS, scores)
    assert figures["hallucinations_per_summary_adjusted"].value == 0.5
    assert figures["summaries_with_any_adjusted"].value == 0.75 / 2
    assert figures["adjustment_factor"] == Estimate(0.5, None, None, None)
    item = {metric.name: metric.item for metric in fave.METRICS}["summaries_with_any_adjusted"]
    assert item and [item(score) for score in scores] == [0.75, 0.0]


def test_json_has_an_error_only_where_there_is_one() -> None:
    known, unknown = Estimate(0.5, 0.1, 0.3, 0.7), Estimate(1.0, None, None, None)
    assert as_json({"a": known, "b": unknown}) == {
        "metrics": {"a": 0.5, "b": 1.0},
        "stderr": {"a": 0.1},
        "intervals": {"a": [0.3, 0.7]},
    }


@pytest.mark.parametrize("sizes", [(5, 1_000), (20, 1_000, 1_000)])
def test_intervals_of_means_cover_with_a_small_member(sizes: tuple[int, ...]) -> None:
    """Intervals from all clusters together cover 67 and 88%, or less where the small member is all right."""
    rng = np.random.default_rng(len(sizes))
    covered = []
    for _ in range(300):
        drawn = [(rng.random(n) < 0.9).astype(float) for n in sizes]
        values = np.array([own.mean() for own in drawn])
        ends = [score_interval(float(own.mean()), Moments.of((own - own.mean()) / len(own))) for own in drawn]
        low, high = mean_interval(np.array(ends).T, values, np.eye(len(sizes)))
        covered.append(low <= 0.9 <= high)
    assert np.mean(covered) > 0.93
