"""The tuned threshold and the figures at it: by hand, against the definitions and a few items."""

from fractions import Fraction
from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.metrics import Estimate, estimates
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import tuned_metrics, with_probability

METRICS = tuned_metrics("Yes")
NAMES = ["threshold", "acc_tuned", "precision_tuned", "recall_tuned", "f1_tuned"]

Row = tuple[str, bool, float | None]
"""Part, whether the item has the label, probability."""


def scores(rows: list[Row], *, sources: int | None = None) -> list[ScoredReply]:
    return [
        with_probability(
            ScoredReply(str(i), str(i % sources if sources else i), None, "Yes" if has else "No", tags={"part": part}),
            p,
        )
        for i, (part, has, p) in enumerate(rows)
    ]


def found(rows: list[Row], *, sources: int | None = None) -> dict[str, Estimate]:
    return estimates(METRICS, scores(rows, sources=sources))


def values(rows: list[Row]) -> dict[str, float]:
    return {name: e.value for name, e in found(rows).items()}


TRAINING: list[Row] = [("train", True, 0.9), ("train", True, 0.7), ("train", False, 0.2), ("train", False, None)]


def test_by_hand() -> None:
    # the class averages are 0.8 and 0.2, so the threshold is 0.5; 0.5 itself is not above it
    test: list[Row] = [
        ("test", True, 0.6),  # hit
        ("test", True, 0.5),  # miss
        ("test", True, None),  # wrong, and a miss
        ("test", False, 0.9),  # false alarm
        ("test", False, 0.5),  # right
        ("test", False, None),  # wrong, and no false alarm
    ]
    expected = [0.5, 2 / 6, 1 / 2, 1 / 3, 2 / 5]
    assert values(TRAINING + test) == pytest.approx(dict(zip(NAMES, expected, strict=True)))


def test_equal_to_the_threshold_is_equal_whatever_the_rounding_of_an_average() -> None:
    rows: list[Row] = [("train", has, p) for has, p in ((True, 0.1), (False, 0.1)) for _ in range(9)]
    # added one after the other; `sum` makes up for the rounding from Python 3.12 on
    assert reduce(add, [0.1] * 9) / 9 != 0.1
    assert values([*rows, ("test", True, 0.1), ("test", False, 0.1)])["acc_tuned"] == 0.5


@pytest.mark.parametrize(
    ("rows", "defined"),
    [
        ([("", True, 0.9), ("", False, 0.1)], []),
        ([("test", True, 0.9), ("test", False, 0.1)], []),
        (TRAINING, NAMES[:1]),
        # a class that has no probability in the training part
        ([("train", True, 0.9), ("train", False, None), ("test", True, 0.9)], []),
        ([("train", True, 0.9), ("train", False, 0.1), ("test", True, None)], NAMES),
    ],
)
def test_what_is_not_defined_is_no_figure(rows: list[Row], defined: list[str]) -> None:
    assert list(found(rows)) == defined


def test_a_part_of_the_items_has_its_own_threshold() -> None:
    tagged = [
        ScoredReply(s.id, f"{tag}{s.id}", None, s.target, s.facts, {**s.tags, "language": tag})
        for tag, rows in (
            ("en", [*TRAINING, ("test", True, 0.6)]),
            ("tr", [("train", True, 1.0), ("train", False, 0.6), ("test", True, 0.6)]),
        )
        for s in scores(rows)  # type: ignore[arg-type]
    ]
    by_language = [m.only("language", tag, f"{m.name} {tag}") for tag in ("en", "tr") for m in METRICS[:2]]
    assert {name: e.value for name, e in estimates(by_language, tagged).items()} == pytest.approx(
        {"threshold en": 0.5, "acc_tuned en": 1.0, "threshold tr": 0.8, "acc_tuned tr": 0.0}
    )


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["train", "test", "other"]),
        st.booleans(),
        st.none() | st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]),
    ),
    max_size=40,
)


@given(ROWS, st.integers(1, 8))
def test_the_figures_are_those_of_their_definitions(rows: list[Row], sources: int) -> None:
    ours = found(rows, sources=sources)
    by_class = [
        [Fraction(str(p)) for part, has, p in rows if part == "train" and has == of and p is not None]
        for of in (True, False)
    ]
    if not all(by_class):
        assert not ours
        return
    averages = [sum(known) / len(known) for known in by_class]
    threshold = sum(averages) / 2
    assert min(averages) <= threshold <= max(averages)
    assert ours["threshold"].value == pytest.approx(float(threshold))
    test = [(has, None if p is None else Fraction(str(p)) > threshold) for part, has, p in rows if part == "test"]
    if not test:
        assert list(ours) == ["threshold"]
        return
    hits = sum(has and called is True for has, called in test)
    predicted, actual = sum(called is True for _, called in test), sum(has for has, _ in test)
    expected = {
        "threshold": float(threshold),
        "acc_tuned": sum(has == called for has, called in test) / len(test),
        "precision_tuned": hits / predicted if predicted else 0.0,
        "recall_tuned": hits / actual if actual else 0.0,
        "f1_tuned": 2 * hits / (predicted + actual) if predicted + actual else 0.0,
    }
    assert {name: e.value for name, e in ours.items()} == pytest.approx(expected)
    for e in ours.values():
        assert e.low is None or e.high is None or 0 <= e.low <= e.value + 1e-9 <= e.high + 2e-9 <= 1 + 2e-9


def test_many_training_items_do_not_make_a_few_test_items_certain() -> None:
    training: list[Row] = [("train", i % 2 == 0, (i % 2 == 0) * 0.6 + i % 7 / 20) for i in range(1_000)]
    e = found([*training, *[("test", True, 0.9)] * 5])["acc_tuned"]  # type: ignore[list-item]
    assert e.value == e.high == 1.0 and e.low is not None and e.low < 0.6


def test_what_hangs_on_one_cluster_has_no_error() -> None:
    e = found([("train", True, 0.9), ("train", False, 0.1), ("train", False, 0.2), ("test", True, 0.7)])
    assert e["acc_tuned"] == Estimate(1.0, None, None, None)
    only_one_predicted: list[Row] = [*TRAINING * 3, ("test", True, 0.7), ("test", True, 0.1), ("test", False, 0.1)]
    assert found(only_one_predicted)["precision_tuned"] == Estimate(1.0, None, None, None)
