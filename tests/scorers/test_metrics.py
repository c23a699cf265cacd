"""Metrics and intervals: against hand-worked cases, textbook formulae and simulation."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.answer import UNPARSED
from halu_tasks.scorers.classification import balanced_acc, both_right, label_metric, macro_metric
from halu_tasks.scorers.columns import Columns, by_cluster
from halu_tasks.scorers.metrics import (
    Estimate,
    Metric,
    estimate,
    estimates,
    mean,
    mean_of,
    metric,
    share_free_of,
    share_of,
)
from halu_tasks.scorers.reader_metrics import with_reader
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.confidence import with_confidence
from halu_tasks.scorers.statistics.jackknife import Sums
from halu_tasks.scorers.wordings import with_wordings
from halu_tasks.tasks import registry


def right(*values: float, clusters: Sequence[str] | None = None) -> list[ScoredReply]:
    names = clusters or [str(n) for n in range(len(values))]
    return [ScoredReply(str(n), c, "x", "x", {"v": v}) for n, (v, c) in enumerate(zip(values, names, strict=True))]


def labelled(*pairs: tuple[str, str | None]) -> list[ScoredReply]:
    return [
        ScoredReply(f"{n}/x", str(n), answer, target, outcome="answered" if answer else "unparsed")
        for n, (target, answer) in enumerate(pairs)
    ]


def found(metric: Metric, scores: Sequence[ScoredReply]) -> Estimate:
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
def test_repeating_every_item_in_its_cluster_adds_no_certainty(values: list[float]) -> None:
    names = [str(n) for n in range(len(values))]
    once = found(mean("v", "v"), right(*values, clusters=names))
    thrice = found(mean("v", "v"), right(*values * 3, clusters=names * 3))
    assert thrice == pytest.approx(once)


MEAN = mean("v", "v")


@given(st.lists(st.tuples(st.sampled_from([0.0, 1e-12, 0.5, 1.0]), st.sampled_from("abc")), min_size=1, max_size=12))
@pytest.mark.parametrize(
    "metric",
    [
        MEAN,
        replace(MEAN, range=(0.0, math.inf)),
        replace(MEAN, bounds=lambda total: (0.25, 0.5)),
        mean_of("m", {"a": MEAN, "b": MEAN}, "side"),
    ],
)
def test_a_value_and_its_error_are_the_same_without_an_interval(
    metric: Metric, values: list[tuple[float, str]]
) -> None:
    scores = right(*(value for value, _ in values), clusters=[cluster for _, cluster in values])
    columns = by_cluster(score.tagged({"side": "ab"[n % 2]}) for n, score in enumerate(scores))
    whole, part = estimate(metric, columns), estimate(metric, columns, interval=False)
    assert (whole and whole[:2]) == (part and part[:2])


def test_all_right_leaves_room_below_one_and_nothing_known_leaves_nothing() -> None:
    e = found(mean("v", "v"), right(*[1.0] * 24))
    assert e.value == e.high == 1.0 and e.low is not None and 0.83 < e.low < 0.90
    assert found(mean("v", "v"), right(1.0)) == Estimate(1.0, None, None, None)
    assert estimate(mean("v", "v"), by_cluster([])) is None
    assert estimate(mean("other", "other"), by_cluster(right(1.0, 0.0))) is None


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
    ids = {"r1/a": 1.0, "r2/b": 0.0, "r2/a": 1.0, "r1/b": 1.0, "r3/a": 1.0, "alone": 1.0}
    scores = [ScoredReply(id, "c", "x", "x", {"correct": right}) for id, right in ids.items()]
    assert found(both_right("acc_pair", ("a", "b")), scores).value == 0.5
    # the same ids in another cluster are other rows, and repeats are paired in order
    other = [replace(score, cluster="d", facts={"correct": 1.0}) for score in scores]
    assert found(both_right("acc_pair", ("a", "b")), scores + other).value == 0.75
    assert found(both_right("acc_pair", ("a", "b")), scores + other[:2] + other[3:] + other[:1]).value == 2 / 3


def test_a_metric_outside_its_range_has_no_interval_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    @metric
    def median_words(v: Any) -> Any:
        """Median number of words, whose range is not declared."""
        return np.median(v) if len(v) else math.nan

    value, *others = found(median_words, right(2, 3, 4, 5, 6, 9))
    assert (value, *others) == (4.5, None, None, None)
    (told,) = caplog.messages
    assert "median_words has values outside its range 0 to 1" in told and "range=(0.0, float('inf'))" in told
    low, high = found(replace(median_words, range=(0.0, math.inf)), right(2, 3, 4, 5, 6, 9))[-2:]
    assert low is not None and low < 4.5 < (high or 0)


def test_a_metric_of_ones_own_is_a_function_of_columns() -> None:
    @metric
    def share_long(length: Any) -> Any:
        """Share of long texts."""
        return np.where(np.isnan(length), np.nan, length > 2)

    @metric(range=(0.0, math.inf))
    def words_per_line(length: Any, lines: Any) -> Any:
        """Words per line."""
        return length, lines

    @metric(range=(0.0, math.inf), higher_is_better=None)
    def median_length(length: Any, tag_kind: Any) -> Any:
        """Median length of the texts of a kind."""
        return np.median(length[tag_kind == "a"]) if (tag_kind == "a").any() else math.nan

    rows = [(1, 1), (2, 1), (3, 1), (4, 2), (9, 3)] * 8
    scores = [
        ScoredReply(
            str(i), str(i), "x", "x", {"length": float(length), "lines": float(lines)}, {"kind": "ab"[i % 5 == 4]}
        )
        for i, (length, lines) in enumerate(rows)
    ]
    values = estimates([share_long, words_per_line, median_length], [*scores, ScoredReply("z", "z", "x", "x")])
    assert {name: e.value for name, e in values.items()} == {
        "share_long": 3 / 5,
        "words_per_line": 19 / 8,
        "median_length": 2.5,
    }
    assert all(e.low is not None and e.low < e.value < (e.high or 0) for e in values.values())
    assert (share_long.about, share_long.item and share_long.item(scores[2])) == ("share of long texts", 1.0)
    assert words_per_line.item is None and words_per_line.has_sums and not median_length.has_sums
    assert median_length.tags == {"kind"}


@pytest.mark.parametrize("task", sorted(registry()[0]))
def test_metrics_declare_what_they_read_and_return(task: str) -> None:
    nothing = Columns.of([])
    for scorer in registry()[0][task].scorers.values():
        metrics = with_wordings(with_confidence(scorer.metrics, scorer.facts), ["a", "b"])
        for own in (*with_reader(metrics), *chain.from_iterable(scorer.fixed_replies.values())):
            read: list[str] = []

            def column(name: str, read: list[str] = read) -> Any:
                read.append(name)
                return nothing[name]

            columns = Columns(column, nothing.cluster, 0)
            with np.errstate(all="ignore"):
                terms = own.terms(columns)
                own.classes(columns)
            assert {*read} <= own.columns, own.name
            form = "sums" if isinstance(terms, tuple) else "mean" if np.ndim(terms) else "figure"
            assert own.form == form, own.name


@pytest.mark.parametrize("clusters", [30, 700])
def test_a_function_of_all_items_has_the_error_of_its_sums(clusters: int) -> None:
    """Above 2 million items times clusters, groups of clusters are left out."""
    rng = np.random.default_rng(1)
    scores = [
        ScoredReply(f"{i}", str(i % clusters), "x", "x", {"v": x}) for i, x in enumerate(rng.random(5_000).tolist())
    ]
    by_sums, by_items = mean("v", "v"), metric(lambda v: v.mean(), name="v")
    one, other = found(by_sums, scores), found(by_items, scores)
    assert other == pytest.approx(one, rel=1e-9 if clusters == 30 else 0.1)


def test_a_group_mean_is_undefined_while_a_member_is() -> None:
    group, scores = members_of([1.0], [0.5])
    assert found(group, scores).value == 0.75
    assert estimate(group, by_cluster(scores[:1])) is None


def test_a_part_of_a_part_is_of_the_items_with_both_tags() -> None:
    tags = [{"task": task, "type": kind} for task in "st" for kind in "ab"]
    scores = [ScoredReply(str(i), str(i), "x", "x", {"v": float(i)}, own) for i, own in enumerate(tags)]
    of_type = mean("v", "v").only("type", "b", "v_b")
    assert found(of_type.only("task", "t", "v"), scores).value == 3
    assert found(mean_of("v_b", {"s": of_type, "t": of_type}, "task"), scores).value == 2


def test_a_share_without_hallucinations_is_of_the_items_that_were_judged() -> None:
    counts = {"a": 0.0, "b": 3.0, "c": 0.0, "d": 1.0}
    scores = [ScoredReply(id, id, "text", "text", {"hallucinations": count}) for id, count in counts.items()]
    unjudged = ScoredReply("e", "e", "text", "text", {})
    acc = share_free_of("acc", "hallucinations", "")
    found = estimates([acc], [*scores, unjudged])["acc"]
    assert found.value == 0.5 and acc.higher_is_better
    assert acc.item and [acc.item(score) for score in scores] == [1.0, 0.0, 1.0, 0.0]
    assert math.isnan(acc.item(unjudged)) and not estimates([acc], [unjudged])


def test_estimates_leave_out_what_no_item_bears_on_and_keep_the_order() -> None:
    metrics = [mean("b", "missing"), mean("v", "v"), mean("v", "v").only("type", "t", "v_t"), share_of(UNPARSED)]
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
        # without any item of a class, the average is of the others, which is another quantity
        assert (e.low is None) == (e.stderr is None) == (rare < 5)
        assert math.isfinite(e.value)
    # clusters count, not items
    together = [replace(s, cluster="one") if s.target == "A" else s for s in labelled(*[("A", "A")] * 20, *common)]
    assert found(metric, together).low is None


def test_shares_of_a_rare_class_keep_their_wide_interval() -> None:
    recall = found(label_metric("recall", "A", "r"), labelled(("A", "A"), ("A", "A"), *[("B", "B")] * 100))
    assert recall.value == 1 and recall.low is not None and recall.low < 0.05


BALANCED = balanced_acc(lambda target: [target == each for each in "AB"], lambda correct: correct)


@pytest.mark.parametrize("rare", ["A", "B"], ids=["all right", "all wrong"])
@pytest.mark.parametrize(
    ("average", "figure"), [(BALANCED, "recall"), (macro_metric("f1", "AB", "m", unparsed_is_label=True), "f1")]
)
def test_an_average_knows_no_more_of_a_rare_class_than_the_class_alone(average: Metric, figure: Any, rare: str) -> None:
    """By Zou and Donner: the distances of both classes' ends, with the correlation of their errors."""
    scores = labelled(*[("A", rare)] * 6, *[("B", "B"), ("B", "A"), ("B", "B"), ("B", "B"), ("B", "B")] * 38)
    scores = [replace(s, facts={"correct": float(s.answer == s.target)}) for s in scores]
    e = found(average, scores)
    alone = [found(label_metric(figure, label, "m"), scores) for label in "AB"]
    # errors of the classes without each item
    without = np.array([
        [found(label_metric(figure, label, "m"), scores[:n] + scores[n + 1 :]).value for n in range(len(scores))]
        for label in "AB"
    ])  # fmt: skip
    sizes = np.std(without, axis=1)
    r = float(np.corrcoef(without)[0, 1]) if sizes.min() > 1e-12 else 0.0
    for end, sign in (("low", -1), ("high", 1)):
        one, other = (abs(getattr(each, end) - each.value) for each in alone)
        reach = math.sqrt(one**2 + other**2 + 2 * r * one * other) / 2
        assert getattr(e, end) == pytest.approx(e.value + sign * reach, abs=2e-3)
    assert e.low is not None and e.high is not None and e.high - e.low > 0.15


def test_the_known_interval_of_balanced_accuracy_with_ten_items_of_a_class() -> None:
    """Ten of ten right are at least 0.612 of all: Clopper and Pearson, for as many items as Student's t leaves."""
    scores = labelled(*[("A", "A")] * 10, *[("B", "B")] * 152, *[("B", "A")] * 38)
    e = found(BALANCED, [replace(s, facts={"correct": float(s.answer == s.target)}) for s in scores])
    share = found(mean("v", "v"), right(*[1.0] * 152, *[0.0] * 38))
    lowest = 0.025 ** (1 / (10 * (1.959964 / 2.262157) ** 2))
    assert lowest == pytest.approx(0.6118, abs=1e-4) and share.low is not None and share.high is not None
    assert e.value == pytest.approx(0.9)
    assert e.low == pytest.approx(0.9 - math.hypot(1 - lowest, 0.8 - share.low) / 2, abs=1e-6)
    assert e.high == pytest.approx(0.9 + (share.high - 0.8) / 2)


def members_of(*values: Sequence[float], shared: bool = False) -> tuple[Metric, list[ScoredReply]]:
    """A mean over members with these values, one a cluster; clusters are the same in all members if `shared`."""
    names = [str(n) for n in range(len(values))]
    scores = [
        ScoredReply(f"{name}/{i}", str(i) if shared else f"{name}/{i}", "x", "x", {"v": value}, {"task": name})
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


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(st.tuples(NUMBERS, st.booleans()), min_size=1, max_size=30), st.integers(1, 300))
def test_different_rows_add_up_to_the_rounded_sum_of_all(rows: list[tuple[float, bool]], times: int) -> None:
    table, classes = np.array([[number] for number, _ in rows]), np.array([[flag] for _, flag in rows])
    parts = [Sums(table, classes).unique()] * times
    assert len(parts[0].terms) == len(set(rows))
    together = Sums(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    assert together.total == math.fsum([number for number, _ in rows] * times)
