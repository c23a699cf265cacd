"""Average precision, Brier score and calibration error, against scikit-learn and the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import probability_metrics, with_probability
from halu_tasks.scorers.statistics.differences import difference

METRICS = probability_metrics("Yes")


def scores(rows: list[tuple[bool, float | None]]) -> list[ScoredReply]:
    return [
        with_probability(ScoredReply(str(i), str(i), "Yes", "Yes" if positive else "No"), p)
        for i, (positive, p) in enumerate(rows)
    ]


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.05, 0.3, 0.31, 0.5, 0.99, 1.0])), min_size=2, max_size=40)
)
@pytest.mark.slow
def test_the_figures_are_scikit_learns(rows: list[tuple[bool, float]]) -> None:
    targets, probabilities = np.array([y for y, _ in rows]), np.array([p for _, p in rows])
    found = {name: e.value for name, e in estimates(METRICS, scores(list(rows))).items()}
    assert found["brier"] == pytest.approx(brier_score_loss(targets, probabilities, pos_label=True))
    bins = np.minimum((probabilities * 10).astype(int), 9)
    gaps = [abs((probabilities[bins == b] - targets[bins == b]).sum()) for b in range(10)]
    assert found["ece"] == pytest.approx(sum(gaps) / len(rows))
    if targets.any():
        assert found["auprc"] == pytest.approx(average_precision_score(targets, probabilities))
    if targets.any() and not targets.all():
        assert found["roc_auc"] == pytest.approx(roc_auc_score(targets, probabilities))
    assert found["no_probability"] == 0


def test_an_item_without_a_probability_is_counted_and_helps_nothing() -> None:
    found = estimates(METRICS, scores([(True, 1.0), (False, 0.0), (True, None), (False, None)]))
    # half of the positives are never retrieved; two squared errors of a quarter; 0.5 against half of the two
    assert {name: e.value for name, e in found.items()} == {
        "roc_auc": (1 + 0.5 * 3) / 4, "auprc": 0.5, "brier": 0.125, "ece": 0.0,
        # by chance, of the two items at 0.5 none, one or both have the label
        "ece_by_chance": 0.125, "no_probability": 0.5,
    }  # fmt: skip


def test_without_any_probability_there_is_no_figure() -> None:
    assert estimates(METRICS, scores([(True, None), (False, None)])) == {}


def test_the_order_of_items_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    rows = [
        ScoredReply(
            f"{c}/{i}", str(c), "Yes", "Yes" if rng.random() < 0.3 else "No", {"probability": float(rng.random())}
        )
        for c in range(600)
        for i in range(1 + c % 3)
    ]
    first = estimates(METRICS, rows)["auprc"]
    assert first.stderr
    for _ in range(5):
        shuffled = [rows[i] for i in rng.permutation(len(rows))]
        assert estimates(METRICS, shuffled)["auprc"] == pytest.approx(first, rel=1e-12)


def test_rankings_have_an_interval_from_five_clusters_of_each_class_on() -> None:
    for rare in range(1, 8):
        found = estimates(METRICS, scores([(i < rare, (i * 7919 % 1000) / 1000) for i in range(100)]))
        for name in ("roc_auc", "auprc"):
            assert (found[name].low is None) == (found[name].stderr is None) == (rare < 5)


@pytest.mark.parametrize("n", [20, 300, 2_000])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.9, 4), (0.05, 0.5), (0.1, 0.1), (30, 30)])
def test_calibrated_probabilities_have_the_error_that_is_stated(n: int, a: float, b: float) -> None:
    rng = np.random.default_rng(n)
    p = rng.beta(a, b, n)
    has = rng.random((400, n)) < p
    bins = np.eye(10)[np.minimum((p * 10).astype(int), 9)]
    simulated = np.abs((has - p) @ bins).sum(axis=1) / n
    found = estimates(METRICS, scores(list(zip(has[0].tolist(), p.tolist(), strict=True))))
    assert found["ece_by_chance"].value == pytest.approx(simulated.mean(), rel=0.01, abs=4 * simulated.std() / 20)
    assert found["ece"].value == pytest.approx(simulated[0])


def test_the_calibration_error_has_no_interval() -> None:
    rows = [(i % 3 == 0, (i * 7919 % 1000) / 1000) for i in range(300)]
    for name in ("ece", "ece_by_chance"):
        e = estimates(METRICS, scores(list(rows)))[name]
        assert e.stderr is None and e.low is None and e.high is None
    metric = next(metric for metric in METRICS if metric.name == "ece")
    pair = difference(metric, scores(list(rows)), scores([(y, p / 2) for y, p in rows]))
    assert pair and pair.value and pair.low is None and pair.p is None
