"""FaithBench, RAGTruth and WiCE: counts and figures of the published data, and the keys of rows and gold they use."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_runs import figures_of

from halu_tasks.core.errors import HaluTasksError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.scorers.gold import LabelAnnotation
from halu_tasks.tasks import Evaluation, build, registry
from halu_tasks.tasks.human_baseline import OtherAnnotators

POOLED = {
    "any": {"Unwanted": 439, "Questionable": 72, "Benign": 64, "Consistent": 175},
    "majority": {"Unwanted": 351, "Questionable": 84, "Benign": 140, "Consistent": 175},
    "distinct": {"Unwanted": 434, "Questionable": 31, "Benign": 110, "Consistent": 175},
}
DETECTORS = {"gpt_4o": 0.5622, "gpt-4-turbo": 0.5610, "hhem-2.1": 0.5434}
"""Their balanced accuracy; each says the probability that a summary is consistent, or 1 or 0."""
OWN = """class: !function halu_tasks.lm_eval_adapter.task.HaluTask
task: mine
file: rows.jsonl
fields: [text]
doc_to_text: "{{text}}"
"""
LABELS = 'answer: {kind: label, labels: ["Yes", "No"]}\n'


def published(shared_data: Path, task: str, **options: Any) -> Evaluation:
    if not (shared_data / "faithbench").is_dir():
        pytest.skip("FaithBench is not there")
    return build(task, Options(data=str(shared_data), **options))


def own(folder: Path, rows: list[dict[str, Any]], keys: str, **files: list[dict[str, Any]]) -> Evaluation:
    for name, content in {"rows": rows, **files}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
    (folder / "mine.yaml").write_text(OWN + keys)
    return build(str(folder / "mine.yaml"), Options())


# --- the benchmarks ---------------------------------------------------------------------------------


def test_annotations_of_faithbench_are_pooled_by_class(shared_data: Path) -> None:
    classes = {}
    for pool, counts in POOLED.items():
        items = published(shared_data, "faithbench_judgment", pool=pool).items
        classes[pool] = [item.tags["class"] for item in items]
        assert Counter(classes[pool]) == counts and len({item.cluster for item in items}) == 75
        assert {items[0].id, items[-1].id} == {"1/0", "16/49"}
    assert sum(one != other for one, other in zip(classes["majority"], classes["distinct"], strict=True)) == 114


@pytest.mark.parametrize("mode", ["strict", "paper"])
@pytest.mark.parametrize("task", ["faithbench", "faithbench_judgment"])
def test_the_full_score_replies_to_all_of_faithbench_have_it(task: str, mode: str, shared_data: Path) -> None:
    evaluation = published(shared_data, task, scoring=mode)
    assert evaluation.located.kind == "pinned" and len(evaluation.items) == evaluation.task.data.size
    found = figures_of(evaluation, map(evaluation.oracle, evaluation.items))
    directions = {metric.name: float(bool(metric.higher_is_better)) for metric in evaluation.metrics}
    directions["attempted"] = 1.0
    assert found == {name: directions[name] for name in found} and len(found) > 8


def test_released_detectors_have_their_balanced_accuracy(shared_data: Path) -> None:
    evaluation = published(shared_data, "faithbench_judgment")
    files = [
        json.loads((shared_data / "faithbench" / f"batch_{n}.json").read_text()) for n in (*range(1, 13), 14, 15, 16)
    ]
    said = [sample["metadata"] for file in files for sample in file["samples"]]
    for name, expected in DETECTORS.items():
        found = figures_of(evaluation, ["Yes" if facts[name] < 0.5 else "No" for facts in said])
        assert found["balanced_acc"] == pytest.approx(expected, abs=5e-5)


def test_in_paper_a_questionable_summary_is_hallucinated_also_if_it_is_scored_again() -> None:
    strict, paper = (build("faithbench_judgment", Options(data="sample", scoring=mode)) for mode in ("strict", "paper"))
    item = next(item for item in strict.items if item.tags["class"] == "Questionable")
    assert item.target == "No" and {i.id: i.target for i in paper.items}[item.id] == "Yes"
    correct = [paper.task.score(mode, item, Reply("Yes")).facts["correct"] for mode in ("strict", "paper")]
    assert correct == [0.0, 1.0]
    replies = [(item, Reply("Yes")) for item in strict.items]
    beside = [OtherAnnotators(strict.task, mode).compare(replies) for mode in ("strict", "paper")]
    one, other = (found.people.estimates["balanced_acc"].value for found in beside if found)
    again = [(item, Reply("Yes")) for item in paper.items]
    assert one != other and OtherAnnotators(paper.task, "paper").compare(again) == beside[1]


def test_always_yes_and_people_are_scored_against_the_same_gold_of_the_same_summaries(shared_data: Path) -> None:
    evaluation = published(shared_data, "faithbench_judgment")
    beside = OtherAnnotators(evaluation.task, "strict").compare((item, Reply("Yes")) for item in evaluation.items)
    assert beside and (beside.people.items, beside.people.annotators) == (443, 42)
    found, alone = beside.figures["acc"], figures_of(evaluation, ["Yes"] * len(evaluation.items))
    assert found.value and found.other and found.difference
    assert (round(alone["acc"], 3), round(found.value.value, 3), round(found.other.value, 3)) == (0.585, 0.773, 0.742)
    assert found.difference.value == pytest.approx(found.value.value - found.other.value)
    assert found.difference.low is not None and found.difference.high is not None
    # errors of both on hard summaries cancel
    assert found.difference.low < 0 < found.difference.high and found.difference.items == 443


def test_responses_of_the_training_part_are_left_out_and_the_others_have_their_source() -> None:
    evaluation = build("ragtruth_judgment", Options(data="sample"))
    rows = [json.loads(line) for line in (SAMPLE / "ragtruth" / "response.jsonl").open(encoding="utf-8")]
    wrong = {row["id"]: bool(row["labels"]) for row in rows if row["split"] == "test"}
    assert {item.id: item.target == "Yes" for item in evaluation.items} == wrong and len(wrong) < len(rows)
    assert "Mount Orrel is 2,914 metres high" in {item.id: item.prompt for item in evaluation.items}["r5"]
    # of four right and two wrong Yes
    yes = [*[id for id in wrong if wrong[id]][:4], *[id for id in wrong if not wrong[id]][:2]]
    found = figures_of(evaluation, ["Yes" if item.id in yes else "No" for item in evaluation.items])
    precision, recall = 4 / 6, 4 / sum(wrong.values())
    assert (found["precision"], found["recall"]) == (precision, recall)
    assert found["f1"] == pytest.approx(2 * precision * recall / (precision + recall))


def test_iou_is_the_same_in_all_tasks_that_ask_for_passages() -> None:
    tasks = [task for task in registry()[0].values() if "iou" in {m.name for m in task.scorers["strict"].metrics}]
    assert {task.benchmark for task in tasks} >= {"refact", "halueval", "faithbench", "ragtruth", "wice"}
    assert len({m.about for task in tasks for m in task.scorers["strict"].metrics if m.name == "iou"}) == 1
    assert {task.headline for task in tasks} == {"iou"}


# --- the keys ---------------------------------------------------------------------------------------


def test_a_source_of_several_files_may_be_there_in_part(tmp_path: Path) -> None:
    for n in (1, 3):
        shutil.copy(SAMPLE / "faithbench" / "batch_1.json", tmp_path / f"batch_{n}.json")
    evaluation = build("faithbench", Options(data=str(tmp_path)))
    assert {item.id.partition("/")[0] for item in evaluation.items} == {"1", "3"} and evaluation.located.kind == "local"
    assert evaluation.located.name == "batch_*.json"
    (alone,) = {i.id.partition("/")[0] for i in build("faithbench", Options(data=str(tmp_path / "batch_3.json"))).items}
    assert alone == "3"
    (tmp_path / "empty").mkdir()
    with pytest.raises(HaluTasksError, match=r"FaithBench: .* contains neither batch_1\.json"):
        build("faithbench", Options(data=str(tmp_path / "empty")))


JOIN = f"rows: {{join: {{file: more.jsonl, by: key}}, where: {{part: 1}}}}\n{LABELS}gold: {{target: label}}\n"


@pytest.mark.parametrize(
    ("row", "others", "said"),
    [
        ({"key": 2}, [{"key": 1}], r"rows.jsonl:2: key '2' is not in more.jsonl"),
        ({"key": 1}, [{"key": 1}, {"key": "1"}], r"more.jsonl: key '1' occurs twice"),
        ({"key": 1}, [{"ky": 1}], r"more.jsonl:1: field 'key' is missing \(has 'ky'\)"),
        ({}, [{"key": 1}], r"rows.jsonl:2: field 'key' is missing"),
        ({"part": None, "key": 1}, [{"key": 1, "text": "a", "label": "Yes"}], ""),
    ],
)
def test_rows_of_another_file_complete_those_that_are_chosen(
    row: dict[str, Any], others: list[dict[str, Any]], said: str, tmp_path: Path
) -> None:
    rows = [{"id": "x", "part": 2}, {"id": "y", "part": 1, "label": "No"} | row]
    evaluation = own(tmp_path, [*rows, {"id": "z", "key": "1", "part": 1}], JOIN, more=others)
    if said:
        with pytest.raises(HaluTasksError, match=said):
            list(evaluation.stream())
        return
    assert [(item.id, item.prompt, item.target) for item in evaluation.items] == [("z", "a", "Yes")]
    again = build(str(tmp_path / "mine.yaml"), Options(data=str(tmp_path / "rows.jsonl")))
    assert again.items == evaluation.items and again.located.sha256 == evaluation.located.sha256
    (tmp_path / "more.jsonl").write_text(json.dumps(others[0] | {"text": "b"}))
    assert build(str(tmp_path / "mine.yaml"), Options()).located.sha256 != evaluation.located.sha256


@pytest.mark.parametrize(
    ("tokens", "flags", "found"),
    [
        (["Six", "legs", "has", "an", "ant", "."], [True, True, False, False, True, False], [[0, 8], [17, 20]]),
        (["Six", "legs", "has", "an", "ant", "."], [False] * 6, []),
        (["Six", "has", "an"], [True] * 3, "'has' is not the next of the text"),
        (["Six", "legs"], [True], "expected a list of tokens, and of as many true and false"),
        (["Six"], ["B-HAL"], "'B-HAL' is not true or false"),
    ],
)
def test_flagged_tokens_are_spans(tokens: list[str], flags: list[Any], found: Any, tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "Six legs  has an ant.", "words": tokens, "wrong": flags}]
    evaluation = own(tmp_path, rows, "answer: {kind: spans}\ngold: {spans: wrong, tokens: words}\n")
    if isinstance(found, str):
        with pytest.raises(HaluTasksError, match=found):
            list(evaluation.stream())
    else:
        (item,) = evaluation.items
        assert [*map(list, item.gold.spans)] == found


def test_annotations_whose_label_is_null_are_left_out(tmp_path: Path) -> None:
    gold = 'gold: {annotators: {field: notes}, labels: {bad: "Yes", fine: "No", "": null}, pool: majority}\n'
    notes = [{"by": "a", "label": ["bad"]}, {"by": "b", "label": []}, {"by": "b", "label": [""]}]
    (item,) = own(tmp_path, [{"id": "1", "text": "a", "notes": notes}], LABELS + gold).items
    assert item.target == "Yes" and [*item.gold.annotators] == [LabelAnnotation("a", "Yes")]


def test_classes_have_labels_of_the_answer(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "a", "kind": "bad"}]
    evaluation = own(tmp_path, rows, LABELS + 'gold: {target: kind, classes: {bad: "Yes", fine: "No"}}\n')
    assert [(item.target, item.tags) for item in evaluation.items] == [("Yes", {"class": "bad"})]
    for gold, said in (
        ('{target: kind, classes: {bad: "yes", fine: "No"}}', "'yes' is not among the labels of the answer"),
        ('{target: kind, classes: {good: "No"}}', "'bad' is not among the classes; they are good"),
    ):
        with pytest.raises(HaluTasksError, match=said):
            list(own(tmp_path, rows, f"{LABELS}gold: {gold}\n").stream())
    spans = 'answer: {kind: spans}\ngold: {spans: kind, classes: {bad: "Yes"}}\n'
    with pytest.raises(HaluTasksError, match="classes: are for labels, which answers of the kind spans are not"):
        own(tmp_path, rows, spans)
