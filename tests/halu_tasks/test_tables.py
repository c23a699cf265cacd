"""Tables for a terminal."""

from __future__ import annotations

import pytest

from halu_tasks.cli.tables import table, width


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("正确", 4), ("e\u0301", 1), ("Ａ", 2), ("ｱ", 1), ("שלום", 4)],
)
def test_width_is_what_a_terminal_shows(text: str, columns: int) -> None:
    assert width(text) == columns


def test_columns_line_up_under_their_heads() -> None:
    assert table(["name", "n"], [["a", "1,000"], ["long name", "5"]], right=(1,)).splitlines() == [
        "name           n",
        "---------  -----",
        "a          1,000",
        "long name      5",
    ]


def test_wide_characters_keep_the_columns_straight() -> None:
    lines = table(["word", "x"], [["正确", "1"], ["ab", "2"]]).splitlines()
    assert lines == ["word  x", "----  -", "正确  1", "ab    2"]


def test_no_line_ends_in_white_space() -> None:
    assert all(line == line.rstrip() for line in table(["a", "b"], [["long", ""], ["", "x"]]).splitlines())


def test_a_table_without_rows_has_its_head() -> None:
    assert table(["metric", "value"], []).splitlines() == ["metric  value", "------  -----"]
