"""The page on small models says what their replies score today."""

from pathlib import Path

from small_models import stored
from small_models_page import leaderboard, scored

PAGE = Path(__file__).parents[2] / "docs" / "small-models.md"


def test_the_page_has_the_figures_of_the_replies_that_are_kept() -> None:
    _, rows = stored()
    of_sample = [row for row in rows if (row["results"], row["method"], row["way"]) == ("sample", "plain prompt", "")]
    *_, section = PAGE.read_text(encoding="utf-8").partition("## The packaged sample\n")
    said = section.partition("\n## ")[0].split("\n")
    assert [line for line in leaderboard(scored(of_sample)) if line.startswith("|")] == [
        line for line in said if line.startswith("|")
    ]
