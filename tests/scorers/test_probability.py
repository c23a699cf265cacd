"""Probabilities: read from tokens, and the area under their ROC curve."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import estimate
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import (
    TokenProbabilities,
    no_probability,
    probability_of,
    roc_auc,
    with_probability,
)

YES_NO = ("Yes", "No")
AUC, MISSING = roc_auc("Yes"), no_probability


def token(text: str, **logprobs: float) -> TokenProbabilities:
    return text, logprobs or {text: -0.1}


def scores(rows: list[tuple[bool, float | None]], *, sources: int | None = None) -> list[ScoredReply]:
    return [
        with_probability(
            ScoredReply(str(i), str(i % sources if sources else i), "Yes", "Yes" if positive else "No"), probability
        )
        for i, (positive, probability) in enumerate(rows)
    ]


def by_pairs(rows: list[tuple[bool, float | None]]) -> float:
    """The definition, a pair at a time."""
    won = [
        0.5 if None in (p, q) or p == q else float(p > q)
        for positive, p in rows
        for other, q in rows
        if positive and not other
    ]
    return sum(won) / len(won)


def test_the_answer_is_weighed_against_the_other_choice() -> None:
    tokens = [token("No"), token("."), token("ĠYes", ĠYes=math.log(0.6), No=math.log(0.2), Maybe=-2.0)]
    assert probability_of(tokens, YES_NO, "Yes") == pytest.approx(0.75)
    # the answer is weighed where it stands, not where the other word is used in passing
    assert probability_of([*tokens, token("no")], YES_NO, "Yes") == pytest.approx(0.75)


@pytest.mark.parametrize("text", ["Yes", " yes", "▁YES", '"Yes', "**Yes**", "Yes."])
def test_case_space_and_marks_around_a_choice_do_not_matter(text: str) -> None:
    tokens = [token(text, **{text: math.log(0.5), "Yes!": math.log(0.25), " no": math.log(0.25)})]
    assert probability_of(tokens, YES_NO, "Yes") == pytest.approx(0.75)


def test_a_reply_that_says_neither_has_no_probability() -> None:
    assert probability_of([token("Maybe"), token("Yesterday")], YES_NO, "Yes") is None
    assert probability_of([], YES_NO, "No") is None


def test_an_impossible_choice_has_no_probability() -> None:
    assert probability_of([token("Yes", Yes=-math.inf)], YES_NO, "Yes") is None


ROWS = st.lists(
    st.tuples(st.booleans(), st.none() | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])), min_size=2, max_size=40
).filter(lambda rows: len({positive for positive, _ in rows}) == 2 and any(p is not None for _, p in rows))


@given(ROWS, st.integers(2, 20))
def test_the_area_and_its_error_are_those_of_their_definitions(
    rows: list[tuple[bool, float | None]], sources: int
) -> None:
    own = by_cluster(scores(rows, sources=sources))
    found = estimate(AUC, own)
    assert found and found.value == pytest.approx(by_pairs(rows))
    without: list[float] = []
    clusters = [[row for i, row in enumerate(rows) if i % sources == c] for c in range(own.clusters)]
    for left_out in range(own.clusters):
        rest = [row for number, cluster in enumerate(clusters) if number != left_out for row in cluster]
        defined = len({positive for positive, _ in rest}) == 2 and any(p is not None for _, p in rest)
        without.append(by_pairs(rest) if defined else math.nan)
    holding = [sum(any(positive == has for positive, _ in cluster) for cluster in clusters) for has in (True, False)]
    if min(holding) < 5 or any(map(math.isnan, without)):
        assert found.stderr is None and found.low is None and found.high is None
    else:
        spread = (own.clusters - 1) / own.clusters * np.sum((np.array(without) - np.mean(without)) ** 2)
        assert found.stderr == pytest.approx(math.sqrt(spread), abs=1e-9)
        assert found.low is not None and found.high is not None and found.low <= found.value <= found.high
