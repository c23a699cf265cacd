"""Figures of weighed opinions, against counting by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.opinions import opinion_figures
from halu_tasks.scorers.score import Opinions, ScoredReply

LABELS = st.sampled_from(["Yes", "No", None])
ITEMS = st.lists(st.tuples(LABELS, LABELS, LABELS, st.sampled_from(["Yes", "No"])), min_size=1, max_size=30)


def scored(answers: list[str | None], targets: list[str], clusters: int = 1000) -> list[ScoredReply]:
    rows = zip(answers, targets, strict=True)
    return [ScoredReply(str(n), str(n % clusters), answer, target) for n, (answer, target) in enumerate(rows)]


@given(ITEMS)
def test_shares_are_what_counting_gives(items: list[tuple[str | None, str | None, str | None, str]]) -> None:
    scores = scored([final for _, _, final, _ in items], [target for *_, target in items])
    found = opinion_figures(scores, [{"a": a, "b": b} for a, b, _, _ in items])
    n = len(items)
    for place, role in enumerate("ab"):
        right = [item[place] == item[3] for item in items]
        assert found[f"acc_{role}"].value == pytest.approx(sum(right) / n)
        assert found[f"unparsed_{role}"].value == pytest.approx(sum(item[place] is None for item in items) / n)
    assert found["agreement"].value == pytest.approx(sum(a == b for a, b, _, _ in items) / n)


def test_errors_are_clustered() -> None:
    answers: list[str | None] = ["Yes"] * 40
    opinions: list[Opinions] = [{"a": "Yes" if n % 2 else "No", "b": "Yes"} for n in range(40)]
    apart = opinion_figures(scored(answers, ["Yes"] * 40), opinions)
    joined = opinion_figures(scored(answers, ["Yes"] * 40, clusters=4), opinions)
    for name in ("acc_a", "agreement"):
        assert apart[name].value == joined[name].value == 0.5
        assert (joined[name].stderr or 0) > 2 * (apart[name].stderr or 1)
    assert apart["unparsed_b"].value == 0.0 and (apart["unparsed_b"].high or 0) > 0


def test_an_item_whose_method_was_stopped_has_no_labels() -> None:
    found = opinion_figures(scored([None, "Yes"], ["Yes", "Yes"]), [None, {"a": "Yes", "b": None}])
    assert found["acc_a"].value == 0.5 and found["unparsed_a"].value == 0.5
    assert found["unparsed_b"].value == 1.0
    assert opinion_figures(scored(["Yes"], ["Yes"]), [None]) == {}
    assert opinion_figures([], []) == {}
