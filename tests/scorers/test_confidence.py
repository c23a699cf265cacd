"""Stated confidence as it is read, and the figures of risk and coverage against their definitions."""

import math
import time
from itertools import permutations
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.attempts import LabelAttempts, attempts_of
from halu_tasks.scorers.metrics import Estimate, estimates
from halu_tasks.scorers.reading.stated_confidence import stated_confidence
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.confidence import confidence_metrics, with_shown_confidence

REPLIES = yaml.safe_load((Path(__file__).parent / "stated_confidence.yaml").read_text("utf-8"))
DEGREES = st.sampled_from([0.1, 0.5, 0.9, None])


@pytest.mark.parametrize(("reply", "confidence", "rest"), REPLIES)
def test_what_a_reply_states_is_read_and_taken_off(reply: str, confidence: float | None, rest: str) -> None:
    assert stated_confidence(reply) == (rest, pytest.approx(confidence))


@pytest.mark.parametrize("part", ["(confidence, ", "confidence of my ", "confidence:" + " " * 50, "- ", "I am very "])
def test_no_reply_takes_long_to_read(part: str) -> None:
    begin = time.monotonic()
    stated_confidence(part * (20_000 // len(part)) + "confidence")
    assert time.monotonic() - begin < 3


def scores(rows: list[tuple[float, float | None, Outcome]]) -> list[ScoredReply]:
    """Return scores of (right, confidence, outcome)."""
    return [
        ScoredReply(str(i), str(i), "A" if outcome == "answered" else None, "A", facts, outcome=outcome)
        for i, (right, confidence, outcome) in enumerate(rows)
        for facts in [
            {"correct": right} | ({"no_confidence": 1.0} if confidence is None else {"confidence": confidence})
        ]
    ]


def figures(rows: list[tuple[float, float | None, Outcome]]) -> dict[str, Estimate]:
    return estimates(confidence_metrics(LabelAttempts()), scores(rows))


def mean_risk(kept: list[tuple[float, float]]) -> float:
    """The mean over coverages of the share of wrong answers, by confidence, averaged over the orders of ties."""
    orders = [order for order in permutations(kept) if sorted(order, key=lambda one: -one[1]) == [*order]]
    risks = [sum(1 - right for right, _ in order[:n]) / n for order in orders for n in range(1, len(kept) + 1)]
    return sum(risks) / len(risks)


def most_covered(kept: list[tuple[float, float]], risk: float) -> int:
    thresholds = {confidence for _, confidence in kept}
    sets = [[right for right, confidence in kept if confidence >= each] for each in thresholds]
    return max((len(rights) for rights in sets if rights.count(0.0) <= risk * len(rights) + 1e-12), default=0)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), DEGREES), min_size=1, max_size=6), st.integers(0, 2))
def test_risk_and_coverage_are_those_of_the_definition(rows: list[tuple[float, float | None]], silent: int) -> None:
    found = figures([(*row, "answered") for row in rows] + [(0.0, 0.9, "abstained")] * silent)
    kept = [(right, confidence) for right, confidence in rows if confidence is not None]
    assert found["no_confidence"].value == pytest.approx(1 - len(kept) / len(rows))
    assert found["coverage_at_risk"].value == pytest.approx(most_covered(kept, 0.05) / (len(rows) + silent))
    assert ("aurc" in found) == ("brier_confidence" in found) == bool(kept)
    if kept:
        assert found["aurc"].value == pytest.approx(mean_risk(kept))
        rights, sure = zip(*kept, strict=True)
        assert found["brier_confidence"].value == pytest.approx(brier_score_loss(rights, sure, pos_label=1))


def test_confidence_that_says_nothing_has_the_risk_of_all_answers_at_any_coverage() -> None:
    found = figures([(1.0, 0.8, "answered")] * 15 + [(0.0, 0.8, "answered")] * 5)
    assert found["aurc"].value == pytest.approx(0.25) and found["coverage_at_risk"].value == 0
    assert found["ece_confidence"].value == pytest.approx(0.05)
    low, high = found["aurc"].low, found["aurc"].high
    assert low is not None and high is not None and 0 < low < 0.25 < high
    assert found["coverage_at_risk"].low is found["ece_confidence"].low is None


def test_silence_covers_nothing() -> None:
    assert figures([(0.0, 0.9, "abstained")] * 9 + [(1.0, 0.9, "answered")])["coverage_at_risk"].value == 0.1
    assert figures([(0.0, 0.9, "abstained")] * 9).keys() == {"coverage_at_risk"}


def test_the_risk_that_is_allowed_can_be_chosen() -> None:
    rows: list[tuple[float, float | None, Outcome]] = [
        (1.0, 0.9, "answered"),
        (0.0, 0.5, "answered"),
        (1.0, 0.4, "answered"),
    ]
    allowed = [ScoredReply(s.id, s.cluster, s.answer, s.target, {**s.facts, "risk": 0.4}) for s in scores(rows)]
    found = estimates(confidence_metrics(LabelAttempts()), allowed)
    assert (figures(rows)["coverage_at_risk"].value, found["coverage_at_risk"].value) == (pytest.approx(1 / 3), 1.0)


def test_a_judge_says_what_is_right_and_a_neutral_label_is_neither() -> None:
    verdicts = [(1.0, 0.0, 0.9), (0.0, 1.0, 0.5), (0.0, 0.0, 0.9), (math.nan, math.nan, 0.9)]
    judged = [
        ScoredReply(str(i), str(i), "text", "", {"good": good, "bad": bad, "confidence": sure})
        for i, (good, bad, sure) in enumerate(verdicts)
    ]
    found = {
        name: each.value for name, each in estimates(confidence_metrics(attempts_of({"good", "bad"})), judged).items()
    }
    assert (found["aurc"], found["coverage_at_risk"]) == (0.25, 0.25)
    assert found["brier_confidence"] == pytest.approx((0.1**2 + 0.5**2) / 2)
    # passages are neither right nor wrong
    assert [metric.name for metric in confidence_metrics(attempts_of({"iou"}))] == ["no_confidence"]


def test_a_probability_or_votes_show_how_sure_an_answer_is_unless_it_was_to_state_it() -> None:
    def shown(answer: str | None, facts: dict[str, float], **others: object) -> float | None:
        score = ScoredReply("i", "c", answer, "Yes", facts, **others)  # type: ignore[arg-type]
        return with_shown_confidence(score, ("Yes", "No")).facts.get("confidence")

    assert shown("Yes", {"probability": 0.8}) == 0.8 and shown("No", {"probability": 0.8}) == pytest.approx(0.2)
    assert shown(None, {"probability": 0.8}) is None and shown("Yes", {}) is None
    assert shown("Maybe", {"agreement": 0.6}, counts=["agreement"]) == 0.6
    assert shown("Yes", {"probability": 0.8, "no_confidence": 1.0}) is None
    assert shown("Yes", {"probability": 0.8, "confidence": 0.3}) == 0.3


def test_with_fewer_than_five_wrong_answers_the_area_has_no_interval() -> None:
    def of(wrong: int) -> Estimate:
        return figures([(float(n >= wrong), n % 10 / 10, "answered") for n in range(60)])["aurc"]

    assert of(4).value > 0 and of(4).low is None
    low, high = of(5).low, of(5).high
    assert low is not None and high is not None and low < of(5).value < high
