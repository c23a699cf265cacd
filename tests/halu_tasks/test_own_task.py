"""Task files of one's own, without code: what rows may look like, where they are, and what is said of faults."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
import yaml
from cases import CASES
from common import Cli, Patch, read_rows, write_rows
from openpyxl import Workbook
from pyarrow import parquet
from scipy.stats import ttest_rel

from halu_tasks.core.errors import DataError
from halu_tasks.core.options import Options
from halu_tasks.scorers.metrics import estimates, mean
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import TaskRef, build
from halu_tasks.tasks.task_registry import task_of_file

OWN = yaml.safe_load(Path(__file__).with_name("own_rows.yaml").read_text(encoding="utf-8"))
EXPORTS = yaml.safe_load(Path(__file__).with_name("exports.yaml").read_text(encoding="utf-8"))
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "own_task"


def nested(folder: Path, *instead: str) -> Path:
    """The task file in a folder with the rows of two files, with something else in one place."""
    for name, word in (("a.json", "Is"), ("b.json", "Was"), ("shots", "May")):
        rows = [
            {"number": 1, "source": "s", "meta": {"model": "m1"}, "body": {"text": f"{word} it?"}, "right": True},
            {"number": 2, "source": "s", "meta": {"model": "m2"}, "body": {"text": f"{word} he?"}, "right": 0},
        ]
        (folder / name).write_text(json.dumps({"samples": rows}, indent=1))
    path = folder / "mine.yaml"
    path.write_text(OWN["file"].replace(*instead, 1) if instead else OWN["file"])
    return path


def test_items_of_nested_files_by_a_pattern(tmp_path: Path) -> None:
    items = build(task_of_file(nested(tmp_path)), Options()).items
    assert [(item.id, item.prompt, item.target, item.tags["model"]) for item in items] == [
        ("a/1", "Is it?", "yes", "m1"),
        ("a/2", "Is he?", "no", "m2"),
        ("b/1", "Was it?", "yes", "m1"),
        ("b/2", "Was he?", "no", "m2"),
    ]
    assert {item.cluster for item in items} == {"s"}


REPEATED = """
class: !function halu_tasks.lm_eval_adapter.task.HaluTask
task: repeated
file: rows.jsonl
fields: [text, claim]
doc_to_text: "Is the claim supported by the text? {{text}} {{claim}}"
answer: {kind: label, labels: ["False", "True"]}
gold: {target: supported, labels: {true: "True", false: "False"}}
metric_list: [{metric: acc}]
"""


def test_rows_of_which_the_same_is_asked_are_one_observation(here: Cli, tmp_path: Path, monkeypatch: Patch) -> None:
    """Forty questions, each ten times: their errors are those of forty, and p is that of the test on forty means."""
    monkeypatch.chdir(tmp_path)
    write_rows(
        tmp_path / "rows.jsonl",
        [
            {
                "id": f"{n}-{copy}",
                "text": f"Text {n}." + copy % 2 * " ",
                "claim": "It is.",
                "supported": n % 2 > 0,
                "copy": copy,
            }
            for n in range(40)
            for copy in range(10)
        ],
    )
    (tmp_path / "t.yaml").write_text(REPEATED)
    rights = {"a": [n % 8 < 5 for n in range(40)], "b": [n % 8 > 1 for n in range(40)]}
    for name, right in rights.items():
        rows = [
            {"id": f"{n}-{copy}", "output": str((n % 2 > 0) == own)}
            for n, own in enumerate(right)
            for copy in range(10)
        ]
        write_rows(tmp_path / f"{name}.jsonl", rows)
        told = here("score", "t.yaml", f"{name}.jsonl", "--model", name, "--json").stdout
        Path(f"{name}.json").write_text(told)
        ours = json.loads(told)["intervals"]["acc"]
        forty = estimates(
            [mean("acc", "v")], [ScoredReply(str(n), str(n), "x", "x", {"v": v}) for n, v in enumerate(right)]
        )
        assert ours == pytest.approx([forty["acc"].low, forty["acc"].high])
    here("report", "a.json", "b.json", "-o", "report")
    (pair,) = json.loads(Path("report/report.json").read_text())["pairs"]
    known = ttest_rel(*(np.array(right, dtype=float) for right in rights.values()))
    assert pair["p"] == pytest.approx(known.pvalue, abs=0.01) and known.pvalue > 0.1
    # a field that is not shown does not tell them apart, one that is does
    assert len({item.cluster for item in build(task_of_file(Path("t.yaml")), Options()).items}) == 40
    Path("t.yaml").write_text(REPEATED.replace("[text, claim]", "[text, claim, copy]"))
    assert len({item.cluster for item in build(task_of_file(Path("t.yaml")), Options()).items}) == 40
    shown = REPEATED.replace("[text, claim]", "[text, claim, copy]").replace("{{claim}}", "{{claim}} {{copy}}")
    Path("t.yaml").write_text(shown)
    items = build(task_of_file(Path("t.yaml")), Options()).items
    assert [item.cluster for item in items] == [item.id for item in items]


@pytest.mark.parametrize(("given", "instead", "said"), OWN["faults"])
def test_a_fault_of_rows_is_one_line(given: str, instead: str, said: str, here: Cli, tmp_path: Path) -> None:
    path = nested(tmp_path, given, instead)
    told = here("check", path)
    (line,) = told.stdout.splitlines()
    assert told.returncode == 2 and not told.stderr and line.startswith(f"{path}:")
    assert said.replace("{folder}", str(tmp_path)) in line


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    cells = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    if path.suffix in (".csv", ".tsv"):
        sign = "\t" if path.suffix == ".tsv" else ";"
        path.write_text("".join(sign.join(f'"{cell}"' for cell in row) + "\n" for row in cells))
    elif path.suffix == ".xlsx":
        book = Workbook()
        for row in cells:
            book.worksheets[0].append(row)
        book.save(path)
    elif path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        text = json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.jsonl.gz", "r.csv", "r.tsv", "r.xlsx", "r.parquet"])
def test_the_format_of_a_file_does_not_change_its_items(name: str, tmp_path: Path) -> None:
    rows = read_rows(EXAMPLES / "plain.jsonl")
    _write(tmp_path / name, [{**row, "supported": str(row["supported"]).lower()} for row in rows])
    (tmp_path / "mine.yaml").write_text((EXAMPLES / "plain.yaml").read_text().replace("plain.jsonl", name))
    (of_name, as_given) = (build(str(at), Options()) for at in (tmp_path / "mine.yaml", EXAMPLES / "plain.yaml"))
    assert of_name.items == as_given.items and len(of_name.items) == 20


def test_a_file_whose_name_says_no_format_needs_one(here: Cli, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "plain.jsonl", tmp_path / "rows.txt")
    path, text = tmp_path / "mine.yaml", (EXAMPLES / "plain.yaml").read_text().replace("plain.jsonl", "rows.txt")
    path.write_text(text)
    assert "rows.txt: the name does not say the format" in here("check", path).stdout
    path.write_text(text.replace("rows: {", "rows: {format: jsonl, "))
    assert here("check", path).stdout == "no faults in 1 files\n"


def test_rows_without_an_id_get_one_of_their_prompt_fields(tmp_path: Path) -> None:
    rows = [{"q": "a?", "l": "x"}, {"q": "b?", "l": "y"}, {"q": "a?", "l": "y"}]
    _write(tmp_path / "rows.jsonl", rows)
    text = "task: t\nfile: rows.jsonl\nfields: {question: q}\ndoc_to_text: '{{question}}'\n"
    (tmp_path / "mine.yaml").write_text(f"{text}answer: {{kind: label, labels: [x, y]}}\ngold: {{target: l}}\n")
    first, second, again = (item.id for item in build(str(tmp_path / "mine.yaml"), Options()).items)
    assert len({first, second}) == 2 and again == f"{first}-2"


def test_worked_examples_of_a_file_are_no_items(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    rows = (tmp_path / "few_shot.csv").read_text().splitlines()
    with (tmp_path / "few_shot_examples.csv").open("a") as file:
        file.write(f"{rows[1]}\nIt is new.;It is old.;entity\n")
    evaluation = build(str(tmp_path / "few_shot.yaml"), Options(fewshot=4))
    assert [example.reply for example in evaluation.examples] == ["entity", "number", "none", "entity"]
    assert not {example.prompt for example in evaluation.examples} & {item.prompt for item in evaluation.items}


def test_data_that_are_named_replace_those_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = nested(tmp_path)
    monkeypatch.setenv("HALU_TASKS_DATA", "sample")
    own, one = build(str(path), Options()), build(str(path), Options(data=str(tmp_path / "b.json")))
    assert (own.version, own.located.kind, len(own.items)) == ("1", "own", 4)
    assert (one.version, one.located.kind, [item.id for item in one.items]) == ("1-local", "local", ["b/1", "b/2"])
    assert build(str(path), Options(data=str(tmp_path))).located.sha256 == own.located.sha256


def test_a_log_has_neither_the_folder_nor_needs_the_file(tmp_path: Path) -> None:
    task = task_of_file(nested(tmp_path))
    logged = json.dumps(TaskRef.of(task).as_json())
    restored = TaskRef.from_json(json.loads(logged)).resolve()
    assert str(tmp_path) not in logged and restored.scoring.metric_list == task.scoring.metric_list
    assert build(restored, Options(data=str(tmp_path))).items == build(task, Options()).items
    with pytest.raises(DataError, match="nested: its rows are beside its task file, which is not known here"):
        build(restored, Options())


def test_scores_are_reported_without_the_file(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = nested(tmp_path)
    rows = [json.loads(line) for line in here("items", path, "--json").stdout.splitlines()]
    _write(tmp_path / "replies.jsonl", [{"id": row["id"], "output": f"Answer: {row['target']}"} for row in rows])
    scored = here("score", path, "replies.jsonl", "--json", "--model", "m")
    assert json.loads(scored.stdout)["metrics"]["acc_m1"] == 1.0
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "scored.json").write_text(scored.stdout)
    path.unlink()
    assert here("report", "results", "-o", "report").returncode == 0
    (result,) = json.loads((tmp_path / "report" / "report.json").read_text())["results"]
    assert (result["version"], result["metrics"]["acc"]["value"]) == ("1", 1.0)


NOTE = {"worker": "ann", "verdict": ["bad", "worst"], "body_start": 4, "body_end": 6}
DRAFTED = {
    "records.jsonl": [
        {"source": f"It is {n}.", "body": f"It was {n}.", "notes": [NOTE, {**NOTE, "worker": "ben"}] * (n > 0)}
        for n in range(4)
    ],
    "votes.jsonl": [{"body": f"It was {n}.", "votes": {"ann": "yn"[n % 2], "ben": "yn"[n // 2]}} for n in range(4)],
}


@pytest.mark.parametrize(("rows", "guessed", "written"), CASES["a_new_task_is_drafted_from_rows"])
def test_a_new_task_is_drafted_from_rows(rows: str, guessed: str, written: str, here: Cli, tmp_path: Path) -> None:
    if (EXAMPLES / rows).exists():
        shutil.copy(EXAMPLES / rows, tmp_path)
    else:
        _write(tmp_path / rows, DRAFTED[rows])
    (tmp_path / "tasks").mkdir()
    for path in (tmp_path / "mine.yaml", tmp_path / "tasks" / "mine.yaml"):
        done = here("new", "mine", "--rows", tmp_path / rows, *(["-o", path] if path.parent != tmp_path else []))
        assert done.returncode == 0 and guessed in done.stdout and written in path.read_text()
        assert f"no faults in 1 files\nchange the prompt, and see it with: halu-tasks items {path}" in done.stdout
    again = here("new", "mine", "--rows", tmp_path / rows)
    assert again.returncode == 2 and again.stderr.endswith("/mine.yaml exists; name another file with -o\n")
    judged = here("new", "judged", "--judged", "--rows", tmp_path / rows)
    assert judged.returncode == 0 and "guessed: answers of the kind judged_text" in judged.stdout
    packaged = here("new", "factchd", "--rows", tmp_path / rows)
    assert packaged.returncode == 2 and "'factchd' cannot name a new task" in packaged.stderr


def exported(folder: Path, case: dict[str, Any]) -> Path:
    path = folder / case.get("file", "rows.jsonl")
    if isinstance(case["rows"], str):
        path.write_text(case["rows"], encoding="utf-8")
    else:
        _write(path, case["rows"])
    return path


@pytest.mark.parametrize("case", EXPORTS["drafts"], ids=lambda case: case["name"])
def test_exports_of_other_tools_are_drafted(case: dict[str, Any], here: Cli, tmp_path: Path) -> None:
    done = here("new", "mine", "--rows", exported(tmp_path, case))
    path = tmp_path / "mine.yaml"
    assert case["written"] in path.read_text() and case.get("said", "") in done.stdout
    if "gold" not in case:
        assert "rows.jsonl:5: field 'label' is null" in done.stdout
        return
    assert "no faults in 1 files" in done.stdout
    items = build(str(path), Options()).items
    assert [getattr(item.gold, "strings", item.target) for item in items] == case["gold"]
    if "categories" in case["written"]:
        _write(tmp_path / "replies.jsonl", [{"id": item.id, "output": item.target} for item in items])
        metrics = json.loads(here("score", path, tmp_path / "replies.jsonl", "--json").stdout)["metrics"]
        assert metrics["iou"] == metrics["category_acc"] == 1.0


@pytest.mark.parametrize("case", EXPORTS["refused"], ids=lambda case: case["name"])
def test_exports_that_lack_what_a_task_needs_are_refused_in_one_line(
    case: dict[str, Any], here: Cli, tmp_path: Path
) -> None:
    done = here("new", "mine", "--rows", exported(tmp_path, case))
    assert done.returncode == 2 and case["said"] in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "mine.yaml").exists()


def test_the_page_on_questions_shows_its_task_file() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "own-questions.md").read_text("utf-8")
    _, _, shown = page.partition("```yaml\n")
    file = (docs / "own_task" / "questions.yaml").read_text("utf-8")
    assert shown.partition("```")[0] == file.partition("\n")[2]
