"""HalluVerse25's binary task: its items, its figures by hand, its options."""

from pathlib import Path
from typing import Any

import pytest
from made_runs import figures_of

from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.tasks import Evaluation, build

LANGUAGES = ("en", "ar", "tr")
ROWS = "orig_sentence,edited_sentence,final_label\nA1,E1,entity\nA1,E2,relation\nA2,E3,sentence\nA3,E4,0\n"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "en_final_data.csv"
    path.write_text(ROWS)
    return str(path)


def asked(data: str, **options: Any) -> Evaluation:
    return build("halluverse25_binary_en", Options(data=data, **options))


def shown(evaluation: Evaluation) -> list[tuple[str, str, str]]:
    """Sentence to judge, target and which of the pair each item is."""
    return [(i.prompt.split("Sentence: ")[1].split("\n")[0], i.target, i.id.split("/")[1]) for i in evaluation.items]


PLAIN = [
    ("E1", "Yes", "edited"),
    ("A1", "No", "original"),
    ("E2", "Yes", "edited"),
    ("A1", "No", "original"),
    ("E3", "Yes", "edited"),
    ("A2", "No", "original"),
]


def test_a_row_gives_its_edited_sentence_and_its_original(rows: str) -> None:
    evaluation = asked(rows)
    assert shown(evaluation) == PLAIN
    assert all(f"\nOriginal: A{n}\n" in i.prompt for i, n in zip(evaluation.items, (1, 1, 1, 1, 2, 2), strict=True))
    # edits of one sentence share its cluster
    assert len({item.cluster for item in evaluation.items}) == 2


def test_with_zero_the_edited_sentence_of_a_row_labelled_0_hallucinates_not(rows: str) -> None:
    evaluation = asked(rows, with_zero=True)
    assert shown(evaluation) == [*PLAIN, ("E4", "No", "edited")]
    assert evaluation.version_tags == ("local", "with_zero")


def test_without_the_original_only_the_sentence_is_shown(rows: str) -> None:
    evaluation = asked(rows, without_original=True)
    assert shown(evaluation) == PLAIN and evaluation.version_tags == ("local", "without_original")
    assert all("riginal" not in item.prompt for item in evaluation.items)
    assert [item.id for item in evaluation.items] == [item.id for item in asked(rows).items]


def test_the_figures_by_hand(rows: str) -> None:
    # edited: right, declined, wrong; originals: right, wrong, right; the row labelled 0: wrong
    replies = ["Yes", "No", "I cannot say", "Yes, it is made up.", "No", "no", "yes"]
    found = figures_of(asked(rows, with_zero=True), replies)
    assert found == {
        "acc": pytest.approx(3 / 7),
        "precision": pytest.approx(1 / 3),
        "recall": pytest.approx(1 / 3),
        "f1": pytest.approx(2 / (3 + 3)),
        "acc_edited": pytest.approx(1 / 3),
        "acc_original": pytest.approx(2 / 3),
        "acc_none": 0.0,
        "acc_pair": pytest.approx(1 / 3),
        "attempted": pytest.approx(6 / 7),
        "acc_attempted": 0.5,
        "net": 0.0,
        "unparsed": 0.0,
        "abstained": pytest.approx(1 / 7),
        "empty": 0.0,
        "failed": 0.0,
        "inferred": 0.0,
    }


def test_roc_auc_by_hand(rows: str) -> None:
    # hallucinating 0.9, 0.4, 0.6 against 0.1, 0.4, 0.5: of nine pairs seven are won and one is a tie
    told = (0.9, 0.1, 0.4, 0.4, 0.6, 0.5)
    found = figures_of(asked(rows, probability=True), [Reply("Yes", probability=p) for p in told])
    assert found["roc_auc"] == pytest.approx(7.5 / 9) and found["no_probability"] == 0.0
    # an item without one ties with all: 0.9 wins three, "none" ties three, 0.6 wins three
    without = [Reply("Yes", probability=None if n == 2 else p) for n, p in enumerate(told)]
    found = figures_of(asked(rows, probability=True), without)
    assert found["roc_auc"] == pytest.approx(7.5 / 9) and found["no_probability"] == pytest.approx(1 / 6)
