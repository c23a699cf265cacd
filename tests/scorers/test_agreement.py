"""Agreement of raters: against worked examples of the literature, and against the definitions."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.statistics.agreement import (
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_agreement,
)


def test_cohens_kappa_of_a_table_worked_by_hand() -> None:
    # 20 both yes, 5 and 10 apart, 15 both no: p_o 0.7, p_e 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(one, other)
    assert found and found.value == pytest.approx(0.4)
    assert found.low is not None and found.high is not None and found.low < 0.4 < found.high


def test_agreement_of_the_table_of_fleiss_1971_as_reprinted() -> None:
    # 14 raters, 10 subjects, 5 categories: the table that textbooks work through
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    rows = [[str(label) for label, count in enumerate(row) for _ in range(count)] for row in table]
    raters = list(zip(*rows, strict=True))
    share = pairwise_agreement(raters)
    assert share and share.value == pytest.approx(0.378, abs=0.0005)
    kappa = fleiss_kappa(raters)
    assert kappa and kappa.value == pytest.approx(0.210, abs=0.0005)


def test_fleiss_kappa_is_that_of_statsmodels_on_the_items_with_the_most_labels() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa as theirs

    draw = Random(3)
    rows = [[draw.choice("aabc") for _ in range(3)] for _ in range(80)]
    table = [[row.count(label) for label in "abc"] for row in rows]
    found = fleiss_kappa(list(zip(*rows, strict=True)))
    assert found and found.value == pytest.approx(theirs(table)) and found.low is not None
    # groups of three raters that share the items give every item three labels, too; an item with two is left out
    apart = [[*row, None, None, None] if place < 40 else [None, None, None, *row] for place, row in enumerate(rows)]
    assert fleiss_kappa(list(zip(*apart, ["a", "b", *[None] * 4], strict=True))) == found
    assert fleiss_kappa([["a"] * 4] * 3) is None is fleiss_kappa([[None], [None], ["a"]])


def test_a_missing_label_agrees_with_nothing() -> None:
    first, second = ["a", "b", "a", None, None, "a"], ["a", "b", "b", None, "a", None]
    share = pairwise_agreement([first, second])
    assert share and share.value == pytest.approx(2 / 3)
    assert cohen_kappa(first, second) == cohen_kappa(["a", "b", "a"], ["a", "b", "b"])
    assert pairwise_agreement([["a", None], [None, "b"]]) is None is cohen_kappa(["a", None], [None, "b"])


def test_each_figure_has_the_items_that_it_rests_on() -> None:
    found = agreement({"a": ["x", "y", None, "x"], "b": ["x", "y", "y", None], "c": ["x", "x", "y", None]})
    assert {name: items for name, (items, _) in found.items() if "kappa" in name or "alpha" in name} == {
        "krippendorff_alpha": 3, "fleiss_kappa": 2, "cohen_kappa (a, b)": 2, "cohen_kappa (a, c)": 2,
        "cohen_kappa (b, c)": 3,
    }  # fmt: skip


def test_where_all_say_the_same_of_everything_kappa_is_not_defined() -> None:
    same = ["yes"] * 4
    assert cohen_kappa(same, same) is None
    defined = [name for name, (_, estimate) in agreement({"a": same, "b": same}).items() if estimate]
    assert defined == ["pairwise_agreement", "agreement (a, b)"]


TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from("abcd"), min_size=raters, max_size=raters), min_size=2, max_size=40
    )
)


@given(TABLES, st.randoms(use_true_random=False))
def test_missing_labels_are_left_out_as_by_the_libraries(rows: list[list[str]], random: Random) -> None:
    from krippendorff import alpha

    labels = [[None if random.random() < 0.3 else label for label in row] for row in rows]
    pairable = [row for row in labels if sum(label is not None for label in row) > 1]
    raters = [list(given) for given in zip(*labels, strict=True)]
    both = [(a, b) for a, b, *_ in labels if a and b]
    if len({label for pair in both for label in pair}) > 1:
        from sklearn.metrics import cohen_kappa_score

        found = cohen_kappa(raters[0], raters[1])
        assert found and found.value == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)), abs=1e-9)
    found = krippendorff_alpha(raters)
    if len({label for row in pairable for label in row if label is not None}) < 2:
        assert found is None
        return
    codes = [[np.nan if label is None else float("abcd".index(label)) for label in given] for given in raters]
    assert found and found.value == pytest.approx(alpha(codes, level_of_measurement="nominal"), abs=1e-9)


def test_a_kappa_has_an_interval_from_five_clusters_off_the_most_common_label_on() -> None:
    for rare in range(8):
        one = ["b"] * rare + ["a"] * 60
        other = ["b"] * (rare // 2) + ["c"] * (rare - rare // 2) + ["a"] * 60
        for kappa in (cohen_kappa(one, other), krippendorff_alpha([one, other])):
            assert (kappa is None) == (rare == 0)
            assert kappa is None or (kappa.low is None) == (kappa.stderr is None) == (rare < 5)
        assert pairwise_agreement([one, other]).low is not None


@pytest.mark.parametrize(
    ("one", "other", "known"),
    [
        (10, 0, False),  # one rater never gives the label: kappa is 0 whatever the sample
        (10, 4, False),
        (10, 5, True),
        (5, 10, True),
    ],
)
def test_a_kappa_needs_the_rare_label_from_both_raters(one: int, other: int, known: bool) -> None:
    raters = [["b"] * number + ["a"] * (200 - number) for number in (one, other)]
    for kappa in (cohen_kappa(*raters), krippendorff_alpha(raters)):
        assert kappa and (kappa.low is not None) == known


def test_a_kappa_of_raters_who_never_agree_on_the_rare_label_has_no_interval() -> None:
    one, other = ["b"] * 10 + ["a"] * 190, ["a"] * 190 + ["b"] * 10
    assert all(kappa and kappa.low is None for kappa in (cohen_kappa(one, other), krippendorff_alpha([one, other])))
    other[0] = "b"
    assert all(kappa and kappa.low is not None for kappa in (cohen_kappa(one, other), krippendorff_alpha([one, other])))
