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
    rows = [("a", 1000, "", ""), ("long name", 5, None, "note"), ("正确", 7, "", "")]
    assert table([dict(zip(("name", "n", "none", "more"), row, strict=True)) for row in rows]).splitlines() == [
        "name           n  more",
        "---------  -----  ----",
        "a          1,000",
        "long name      5  note",
        "正确           7",
    ]
