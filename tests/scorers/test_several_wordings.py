"""The headline over several wordings of a prompt, with the spread over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.core.items import WORDING
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import estimate, estimates, mean
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.wordings import with_wordings, wordings_of

ACC = mean("acc", "correct")


def scored(right: list[list[bool]]) -> list[ScoredReply]:
    """Score items in wordings: `right[w][i]` of wording w and item i, each item its own cluster."""
    return [
        ScoredReply(f"w{w}/{i}", str(i), "x", "x", {"correct": float(one)}, {WORDING: f"w{w}"})
        for w, row in enumerate(right)
        for i, one in enumerate(row)
    ]


@given(st.integers(2, 5).flatmap(lambda w: st.lists(st.lists(st.booleans(), min_size=w, max_size=w), min_size=2)))
def test_the_spread_is_that_of_the_figures_of_each_wording(by_item: list[list[bool]]) -> None:
    right = [list(row) for row in zip(*by_item, strict=True)]
    scores = scored(right)
    found = estimates(with_wordings([ACC], wordings_of(scores)), scores)
    shares = [np.mean(row) for row in right]
    assert [found[f"acc_wording_w{w}"].value for w in range(len(right))] == pytest.approx(shares)
    assert found["wording_sd"].value == pytest.approx(np.std(shares, ddof=1))
    assert found["wording_sd"].stderr is None
    assert found["acc"].value == pytest.approx(np.mean(shares))


@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(2, 4))
def test_the_same_replies_in_every_wording_say_no_more_than_in_one(row: list[bool], number: int) -> None:
    """Items of different wordings are not independent, so that asking three times does not narrow the interval."""
    scores = scored([row] * number)
    of_one = estimate(ACC, by_cluster(scores[: len(row)]))
    of_all = estimate(ACC, by_cluster(scores))
    assert of_all is not None and of_one is not None
    assert tuple(of_all) == pytest.approx(tuple(of_one))


def test_one_wording_adds_nothing() -> None:
    assert with_wordings([ACC], wordings_of(scored([[True, False]]))) == (ACC,)
    assert with_wordings([ACC], []) == (ACC,)
