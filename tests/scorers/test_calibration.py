"""Average precision, Brier score and calibration error, against scikit-learn and the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import probability_metrics
from halu_tasks.scorers.statistics.probability import with_probability

METRICS = probability_metrics("Yes")


def scores(rows: list[tuple[bool, float | None]]) -> list[Score]:
    return [
        with_probability(Score(str(i), str(i), "Yes", "Yes" if positive else "No"), p)
        for i, (positive, p) in enumerate(rows)
    ]


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.05, 0.3, 0.31, 0.5, 0.99, 1.0])), min_size=2, max_size=40)
)
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
        "roc_auc": (1 + 0.5 * 3) / 4, "auprc": 0.5, "brier": 0.125, "ece": 0.0, "no_probability": 0.5,
    }  # fmt: skip


def test_without_any_probability_there_is_no_figure() -> None:
    assert estimates(METRICS, scores([(True, None), (False, None)])) == {}


@pytest.mark.slow
def test_intervals_cover_the_figures_of_a_population() -> None:
    rng = np.random.default_rng(11)

    def draw(n: int) -> list[tuple[bool, float | None]]:
        p = rng.beta(1.2, 1.2, n)
        return [(bool(y), float(x)) for y, x in zip(rng.random(n) < p, p, strict=True)]

    covered = dict.fromkeys(("auprc", "brier"), 0)
    metrics = [metric for metric in METRICS if metric.name in covered]
    truth = {name: e.value for name, e in estimates(metrics, scores(draw(60_000))).items()}
    for _ in range(200):
        found = estimates(metrics, scores(draw(150)))
        for name in covered:
            low, high = found[name].low, found[name].high
            assert low is not None and high is not None
            covered[name] += low <= truth[name] <= high
    assert all(0.90 <= number / 200 <= 0.995 for number in covered.values()), covered


def test_many_clusters_are_left_out_in_groups() -> None:
    rows = [(i % 2 == 0, (i * 7919 % 1000) / 1000) for i in range(20_000)]
    assert estimates(METRICS, scores(rows))["auprc"].stderr is not None
