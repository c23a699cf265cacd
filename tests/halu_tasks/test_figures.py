"""Figures, intervals and p values as they are printed."""

import pytest

from halu_tasks.scorers.metrics import Estimate
from halu_tasks.text.number_format import format_estimate, format_interval, format_p_value


def test_a_figure_is_printed_with_its_interval_if_there_is_one() -> None:
    assert format_estimate(Estimate(0.5, 0.05, 0.4, 0.6)) == "0.500 [0.400, 0.600]"
    assert format_estimate(Estimate(-0.25, 0.1, -0.5, 0.0), "+.1f") == "-0.2 [-0.5, +0.0]"
    assert format_estimate(Estimate(0.5, None, None, None)) == "0.500"
    assert format_estimate(None) == "–"


def test_an_interval_needs_both_ends() -> None:
    assert format_interval(0.1, 0.25, ".1%") == "[10.0%, 25.0%]"
    assert (format_interval(None, 0.5), format_interval(0.5, None, missing="-")) == ("–", "-")


@pytest.mark.parametrize(
    ("p", "text"), [(0.01234, "0.0123"), (0.0001, "0.0001"), (0.00005, "<0.0001"), (0.0, "<0.0001"), (None, "–")]
)
def test_a_p_value_below_the_last_decimal_is_printed_as_less(p: float | None, text: str) -> None:
    assert format_p_value(p) == text
