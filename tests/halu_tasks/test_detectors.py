"""What detectors find as predictions: spans and probabilities give the figures of the replies that say the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import CASES
from common import Cli, write_rows
from openpyxl import Workbook

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.score_file import ScoredFile, score_file
from halu_tasks.report.write import compare_paths, write_report
from halu_tasks.scorers.metrics import estimates
from halu_tasks.tasks import build
from halu_tasks.tasks.human_baseline import OtherAnnotators

LM_EVAL = "class: !function halu_tasks.lm_eval_adapter.task.HaluTask\n"
TEXTS = ["The film grossed a lot.", "Water boils at 90 degrees.", "Six legs has an ant.", "It is red.", "It is blue."]
WRONG = ["film", "90", "Six legs", "", ""]


@pytest.fixture(params=["spans", "label"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def own_task(folder: Path, kind: str) -> str:
    """Write a task of one's own with five rows, and return the path of its file."""
    rows = [
        {"id": f"{n}", "text": text, "wrong": [wrong] if wrong else [], "label": "Yes" if wrong else "No"}
        for n, (text, wrong) in enumerate(zip(TEXTS, WRONG, strict=True))
    ]
    write_rows(folder / "rows.jsonl", rows)
    keys: dict[str, Any] = {
        "task": f"wrong_{kind}",
        "file": "rows.jsonl",
        "fields": ["text"],
        "doc_to_text": "{{text}}",
    }
    if kind == "spans":
        keys |= {"answer": {"kind": "spans"}, "gold": {"spans": "wrong"}}
    else:
        labels = ["Yes", "No"]
        keys |= {"answer": {"kind": "label", "labels": labels, "reading": "hallucinates"}, "doc_to_choice": labels}
        keys |= {"gold": {"target": "label"}}
        keys |= {"metric_list": [{"metric": "balanced_acc"}, {"metric": "roc_auc"}]}
    path = folder / f"{keys['task']}.yaml"
    path.write_text(LM_EVAL + yaml.safe_dump(keys, sort_keys=False))
    return str(path)


def scored(task: str, folder: Path, name: str, rows: Sequence[dict[str, Any]]) -> ScoredFile:
    path = write_rows(folder / f"{name}.jsonl", ({"id": f"{n}", **row} for n, row in enumerate(rows)))
    return score_file(task, Options(), [str(path)], model=name)


def spans_of(found: Sequence[str]) -> list[list[int]]:
    return [[text.index(string), text.index(string) + len(string)] for text, string in zip(TEXTS, found, strict=True)]


FOUND = ["The film", "90", "legs", "", ""]


def in_shape(shape: str, at: list[int], string: str) -> dict[str, Any]:
    start, end = at
    other = {"start": 0, "end": 1, "prob": 0.2}
    shapes: dict[str, Any] = {
        "pairs": {"spans": [at]},
        "records": {"spans": [{"start": start, "end": end, "prob": 0.9, "label": "x"}, other]},
        "LettuceDetect": {"spans": [{"start": start, "end": end, "confidence": 0.8, "text": string}]},
        "Mu-SHROOM": {"hard_labels": [at], "soft_labels": [{"start": start, "end": end, "prob": 0.6}]},
        "soft": {"soft_labels": [{"start": start, "end": end, "prob": 0.6}]},
    }  # fmt: skip
    return dict(shapes[shape]) if string else {name: [] for name in shapes[shape]}


@pytest.mark.parametrize("shape", ["pairs", "records", "LettuceDetect", "Mu-SHROOM", "soft"])
def test_spans_of_a_detector_have_the_figures_of_a_reply_that_quotes_them(tmp_path: Path, shape: str) -> None:
    task = own_task(tmp_path, "spans")
    rows = [in_shape(shape, at, string) for at, string in zip(spans_of(FOUND), FOUND, strict=True)]
    detector = scored(task, tmp_path, "detector", rows)
    reply = scored(task, tmp_path, "model", [{"output": string or "None"} for string in FOUND])
    assert detector.as_json()["metrics"] == reply.as_json()["metrics"]
    assert detector.as_json()["metrics"]["balanced_acc"] == 1.0


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize("blank", [{}, {"Output": ""}])
def test_spans_in_the_cells_of_a_table_are_those_of_json_lines(
    tmp_path: Path, suffix: str, blank: dict[str, str]
) -> None:
    task = own_task(tmp_path, "spans")
    rows = [in_shape("records", at, string) for at, string in zip(spans_of(FOUND), FOUND, strict=True)]
    of_lines = scored(task, tmp_path, "detector", rows).as_json()["metrics"]
    cells = [["id", *blank, "spans"], *([f"{n}", *blank.values(), json.dumps(r["spans"])] for n, r in enumerate(rows))]
    if suffix == "xlsx":
        book = Workbook()
        for row in cells:
            book.worksheets[0].append(row)
        book.save(tmp_path / "detector.xlsx")
    else:
        with (tmp_path / "detector.csv").open("w", newline="") as file:
            csv.writer(file).writerows(cells)
    table = score_file(task, Options(), [str(tmp_path / f"detector.{suffix}")])
    assert table.as_json()["metrics"] == of_lines and of_lines["iou"] > 0


def test_a_probability_is_the_answer_from_a_half(tmp_path: Path) -> None:
    task = own_task(tmp_path, "label")
    probabilities = [0.9, 0.5, 0.4, 0.1, 0.3]
    metrics = scored(task, tmp_path, "detector", [{"probability": p} for p in probabilities]).as_json()["metrics"]
    assert metrics["balanced_acc"] == pytest.approx((2 / 3 + 1) / 2)
    assert metrics["roc_auc"] == 1.0


@pytest.mark.parametrize(("row", "fault"), CASES["faults_of_a_detectors_row"])
def test_faults_of_a_detectors_row(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError) as error:
        scored(own_task(tmp_path, "spans"), tmp_path, "detector", [row])
    assert fault in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(("kind", "gold", "said", "fault"), CASES["faults_of_gold"])
def test_faults_of_gold(tmp_path: Path, kind: str, gold: dict[str, Any], said: Any, fault: str) -> None:
    path = Path(own_task(tmp_path, kind))
    path.write_text(LM_EVAL + yaml.safe_dump({**yaml.full_load(path.read_text()[len(LM_EVAL) :]), "gold": gold}))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": TEXTS[0], "by": said}))
    with pytest.raises(DataError) as error:
        _ = build(str(path), Options()).items
    assert f"rows.jsonl:1: {fault}" in str(error.value)


def test_gold_in_other_units_is_where_its_text_stands(tmp_path: Path, here: Cli) -> None:
    path = Path(own_task(tmp_path, "spans"))
    text, other = "The harbour 🚢 is run by Malmø since 1931.", "It rose 🚢 in 1894."
    said = [[{"start": 38, "end": 42, "text": "1931"}], [{"start": 3, "end": 5, "text": "1894"}]]
    rows = [{"id": n, "text": one, "wrong": own} for n, (one, own) in enumerate(zip((text, other), said, strict=True))]
    write_rows(tmp_path / "rows.jsonl", rows)
    assert here("check", path, "--data", tmp_path / "rows.jsonl").returncode == 0
    assert [item.gold.strings for item in build(str(path), Options()).items] == [["1931"], ["1894"]]
    figures = scored(str(path), tmp_path, "same", [{"spans": own} for own in said]).as_json()["metrics"]
    assert figures["iou"] == figures["exact"] == 1.0


def test_categories_that_no_span_has_are_a_fault(tmp_path: Path, here: Cli) -> None:
    path = Path(own_task(tmp_path, "spans"))
    path.write_text(path.read_text().replace("kind: spans", "kind: spans\n  categories: [name, number]"))
    row = {"id": "0", "text": TEXTS[0], "wrong": [{"start": 4, "end": 8, "kind": "name"}]}
    write_rows(tmp_path / "rows.jsonl", [row])
    told = here("check", path).stdout
    assert "answer: categories: no span of the rows has one; a record has it under category, label, labels" in told
    write_rows(tmp_path / "rows.jsonl", [{**row, "wrong": [{"start": 4, "end": 8, "labels": ["name"]}]}])
    assert here("check", path).stdout == "no faults in 1 files\n"


def test_people_of_an_own_task(tmp_path: Path, kind: str) -> None:
    """Shares of people need degrees; where all texts are of one class, a line says what is undefined."""
    path = Path(own_task(tmp_path, kind))
    keys = yaml.full_load(path.read_text()[len(LM_EVAL) :])
    said: Any = [[0, 2]] if kind == "spans" else "Yes"
    row = {"text": TEXTS[0], "id": "0", "by": {"ann": said, "ben": said}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    path.write_text(LM_EVAL + yaml.safe_dump({**keys, "gold": {"annotators": "by"}}))
    beside = scored(str(path), tmp_path, "model", [{"output": "Yes"}]).people
    about = "items with two or more; balanced_acc undefined, as the gold of these is of"
    assert beside and about in beside.people.about
    with pytest.raises(UsageError, match="gold: pool: soft gives degrees, so it needs answer: "):
        build(str(path), Options(pool="soft"))


def test_detectors_are_compared_and_ranked_beside_models(tmp_path: Path, kind: str) -> None:
    task, files = own_task(tmp_path, kind), []
    if kind == "spans":
        found: list[dict[str, Any]] = [in_shape("pairs", *pair) for pair in zip(spans_of(FOUND), FOUND, strict=True)]
    else:
        found = [{"probability": 0.9 if string else 0.2} for string in FOUND]
    for name, rows in {"detector": found, "model": [{"output": "No"}] * 5}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(scored(task, tmp_path, name, rows).as_json()))
        files.append(str(tmp_path / f"{name}.json"))
    report, _ = compare_paths(files, [], print)
    assert {entry.label for entry in report.entries} == {"detector", "model"} and len(report.pairs) == 1
    report = write_report(files, tmp_path / "report", "t", print)
    assert {entry.label for column in report.columns for entry in column.entries} == {"detector", "model"}


def test_baselines_of_mushroom_have_the_published_figures(shared_data: Path) -> None:
    published = json.loads((shared_data.parent / "reference" / "mushroom.json").read_text())["results"]
    for language, tables in published.items():
        evaluation = build(f"mushroom_{language}", Options(data=str(shared_data), scoring="paper"))
        for name, share in (("Baseline (mark all)", 1), ("Baseline (mark none)", 0)):
            marks = ([[0, len(item.gold.text)]] * share for item in evaluation.items)
            replies = zip(evaluation.items, (Reply(json.dumps({"spans": own})) for own in marks), strict=True)
            scores = [evaluation.task.score("paper", item, reply) for item, reply in replies]
            want = next(row for row in tables["ranked_by_iou"] if row["name"] == name)
            figures = estimates(evaluation.all_metrics, scores)
            assert {metric: figures[metric].value for metric in ("iou", "cor")} == pytest.approx(
                {metric: want[metric] for metric in ("iou", "cor")}, abs=5e-7
            )


@pytest.mark.parametrize(("language", "annotators", "of_people"), [("en", 95, "paper"), ("fa", 3, "strict")])
def test_gold_and_people_of_mushroom(language: str, annotators: int, of_people: str, shared_data: Path) -> None:
    evaluation = build(f"mushroom_{language}", Options(data=str(shared_data)))
    task, items = evaluation.task, evaluation.items
    assert evaluation.provenance.data == "pinned" and len(items) == task.data.size
    assert {item.id for item in items} == {f"tst-{language}-{number}" for number in range(1, len(items) + 1)}
    for mode in ("strict", "paper"):
        scores = [task.score(mode, item, Reply(task.prompts.oracle(item))) for item in items]
        figures = estimates([metric for metric in task.scorers[mode].metrics if metric.higher_is_better], scores)
        assert {figure.value for figure in figures.values()} == {1.0}
    # scoring each of 95 people against all others takes seconds
    beside = OtherAnnotators(task, of_people).compare((item, Reply("None")) for item in items)
    assert beside and (beside.people.items, beside.people.annotators) == (len(items), annotators)
    assert 0.5 < beside.people.estimates["iou"].value < 0.7 and beside.replies["iou"].value < 0.1


def test_rows_lack_the_field_by_which_they_are_chosen(tmp_path: Path) -> None:
    (tmp_path / "psiloqa.jsonl").write_text('{"id": "1", "llm_answer": "No."}\n')
    with pytest.raises(DataError, match=r"psiloqa.jsonl:1: field 'lang' is missing"):
        _ = build("psiloqa_en", Options(data=str(tmp_path))).items
