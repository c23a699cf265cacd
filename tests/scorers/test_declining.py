"""Declining: what says that no answer can be given, and what only looks like it, in five languages."""

from __future__ import annotations

import pytest

from halu_tasks.scorers.reading.steps.declining import stated


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("I cannot be sure, but the answer is True.", "but the answer is True."),
        ("虽然我无法确定所有细节,但该回答正确。", "但该回答正确。"),
        ("Emin değilim ama cevap Evet.", "ama cevap Evet."),
        ("मुझे पक्का पता नहीं, लेकिन उत्तर हाँ है", "लेकिन उत्तर हाँ है"),
        ("لست متأكدا، لكن الإجابة نعم.", "لكن الإجابة نعم."),
        ("It's hard to say, if I had to choose, B.", "if I had to choose, B."),
        ("The answer is incorrect because it cannot be verified.", "The answer is incorrect"),
    ],
)
def test_a_hedge_leaves_what_is_stated_beside_it(sentence: str, left: str) -> None:
    assert stated([sentence]) == [left]
