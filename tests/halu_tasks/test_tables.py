"""Tables for a terminal."""

import pytest

from halu_tasks.cli.output import table


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("正确", 4), ("e\u0301", 1), ("Ａ", 2), ("ｱ", 1), ("שלום", 4)],
)
def test_columns_are_as_wide_as_a_terminal_shows_them(text: str, columns: int) -> None:
    assert table([{"x": text}, {"x": "y"}]).splitlines()[1] == "-" * max(columns, 1)


def test_columns_line_up_under_their_heads_and_numbers_to_the_right() -> None:
    assert table([{"name": "a", "n": 1000, "none": ""}, {"name": "long name", "n": 5, "none": None}]).splitlines() == [
        "name           n",
        "---------  -----",
        "a          1,000",
        "long name      5",
    ]


def test_wide_characters_keep_the_columns_straight() -> None:
    lines = table([{"word": "正确", "x": 1}, {"word": "ab", "x": 2}]).splitlines()
    assert lines == ["word  x", "----  -", "正确  1", "ab    2"]


def test_no_line_ends_in_white_space() -> None:
    lines = table([{"a": "long", "b": ""}, {"a": "", "b": "x"}]).splitlines()
    assert all(line == line.rstrip() for line in lines)
