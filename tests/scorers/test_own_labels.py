"""Tasks with labels, scorers and metrics of their own: what is read, and what is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from halu_tasks.core.items import Item, Reply
from halu_tasks.replies.warnings import reply_warnings
from halu_tasks.scorers.reading.own_labels import OwnLabelReader
from halu_tasks.tasks.task_registry import task_of_file

OWN = yaml.safe_load(Path(__file__).with_name("own_labels.yaml").read_text(encoding="utf-8"))
REPLIES, MODULE, FILE = OWN["replies"], OWN["module"], OWN["file"]


@pytest.mark.parametrize("case", REPLIES)
def test_a_declared_label_is_read_and_none_rather_than_the_opposite(case: str) -> None:
    read = OwnLabelReader(tuple(REPLIES[case]["labels"]), REPLIES[case].get("prompts", ()))
    for reply, label in REPLIES[case]["replies"]:
        answer = read(reply)
        assert (answer.value, answer.inferred) == (label, False), reply


@pytest.mark.parametrize(
    ("question", "reply", "label"),
    [
        ("Is the summary consistent with the document?", "Going by the text, the summary is consistent.", "Yes"),
        ("Is the summary consistent with the document?", "The summary isn't consistent with the document.", "No"),
        ("Is the summary consistent with the document?", "The summary might be consistent with the document.", None),
        ("Is the summary consistent with the document?", "If the summary is consistent, all is well.", None),
        ("Is the summary consistent with the document?", "The document is a long one.", None),
        ("Is Oslo larger than Bergen?", "Bergen is larger than Oslo.", None),
        ("Ist die Aussage durch den Artikel belegt?", "Die Aussage ist durch den Artikel nicht belegt.", "No"),
        ("¿La afirmación está respaldada por el texto?", "La afirmación está respaldada por el texto.", "Yes"),
    ],
)
def test_a_statement_in_the_words_of_the_question_is_a_yes_or_a_no(
    make: Any, question: str, reply: str, label: str | None
) -> None:
    task = make(labels="['Yes', 'No']")
    item = Item("1", "1", "Yes", prompt=f"Answer with Yes or No.\n{question}\nAnswer:")
    score = task.score("strict", item, Reply(reply))
    assert (score.answer, score.outcome == "answered") == (label, label is not None)


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """`make(more, labels)` is a task of a file, with a module beside it."""
    (tmp_path / "own_metrics.py").write_text(MODULE)
    (tmp_path / "rows.jsonl").write_text('{"text": "t", "label": "belegt"}\n')

    def task(more: str = "", labels: str = "[belegt, widerlegt]") -> Any:
        (tmp_path / "mine.yaml").write_text(FILE.format(more=more, labels=labels))
        return task_of_file(tmp_path / "mine.yaml")

    return task


def names(task: Any) -> list[str]:
    return [metric.name for metric in task.scorers["strict"].metrics]


def test_scorer_and_metrics_follow_from_the_answer(make: Any) -> None:
    task = make()
    assert task.headline == "acc" and {"f1", "f1_macro", "unparsed", "abstained", "inferred"} <= {*names(task)}
    score = task.score("paper", Item("1", "1", "belegt"), Reply("Urteil: belegt"))
    assert score.answer == "belegt" and score.facts["correct"] == 1.0


def test_the_cue_of_the_prompt_is_read_and_named_where_replies_are_not(make: Any) -> None:
    task = make("description: 'Schließe mit „Befund: …“.'")
    assert task.score("strict", Item("1", "1", "belegt"), Reply("Befund: belegt. Das Jahr stimmt.")).answer == "belegt"
    ((_, meaning),) = reply_warnings({"unparsed": 1}, task=task)
    assert "ask for what is read (a label alone or behind “Befund:”)" in meaning


def test_a_bias_to_a_position_is_that_of_positions(make: Any) -> None:
    assert "position_bias" not in names(make())
    assert "position_bias" in names(make(labels="[A, B, C]")) and "position_bias" in names(make(labels="['1', '2']"))
    assert "position_bias" not in names(make(labels="['0', '1']"))


def test_names_of_metrics_have_labels_of_any_script_in_one_form(make: Any) -> None:
    found = names(make(labels="{belegt: Ganz belegt, widerlegt: सही नहीं}"))
    assert {"precision_ganz_belegt", "recall_सही_नहीं"} <= {*found}


def test_a_metric_and_a_scorer_of_ones_own_are_functions(make: Any) -> None:
    listed = (
        "scorer: !function own_metrics.strict\nmetric_list: [metric: acc, metric: !function own_metrics.false_alarms]"
    )
    task = make(listed)
    assert names(task)[:2] == ["acc", "false_alarms"]
    item = Item("1", "1", "belegt")
    alarms = task.scorers["strict"].metrics[1]
    from halu_tasks.scorers.columns import by_cluster
    from halu_tasks.scorers.metrics import estimate

    scores = [task.score("strict", item, Reply(text)) for text in ("widerlegt", "belegt", "widerlegt", "")]
    found = estimate(alarms, by_cluster(scores))
    assert found and found.value == 0.5
