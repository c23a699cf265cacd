"""Reading results and setting them beside each other: files as they are written, and runs made here."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest
from cases import CASES
from common import Capture, Patch, write_rows
from loopback import Handler, Server

from halu_tasks.cli import main
from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.report.assemble import assemble
from halu_tasks.report.board import Board, board
from halu_tasks.report.page import as_json as to_json
from halu_tasks.report.page import markdown, render
from halu_tasks.report.records import Report
from halu_tasks.report.summary import rule, summary
from halu_tasks.report.write import compare
from halu_tasks.results.read import read_results
from halu_tasks.results.run import Run, ScoredReply
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.judge import CONSISTENT, FAILED, Verdict
from halu_tasks.tasks import build, registry
from halu_tasks.tasks.registry import HEADLINE
from halu_tasks.text.figures import escaped
from halu_tasks.text.sentences import sentences

TASKS, GROUPS = registry()
CORRECTION, COMPARATIVE, HALUEVAL = "refact_correction", "refact_judgment_comparative", "halueval_summarization"
Score = Callable[..., Path]


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def strict(path: Path) -> Any:
    return json.loads(path.read_text(), parse_constant=no_constant)


def answered(task: str, wrong: int = 0, limit: int | None = None, **options: Any) -> list[ScoredReply]:
    """Answers to the sample's items: right, but for the first `wrong` ones, which say nothing."""
    evaluation = build(task, Options(data="sample", **options))
    verdicts = [] if evaluation.task.judged and evaluation.options.judge else None
    made = []
    for number, item in enumerate(evaluation.items[:limit]):
        reply = "" if number < wrong else evaluation.task.prompts.oracle(item)
        score = evaluation.task.score(evaluation.options.scoring, item, Reply(reply), verdicts)
        made.append(ScoredReply(item, reply, score))
    return made


def run_of(task: str = CORRECTION, wrong: int = 0, limit: int | None = None, **others: Any) -> Run:
    """A run on the sample; `others` are options of the task, and what a run holds."""
    own = {name: others.pop(name) for name in list(others) if name in Run.__dataclass_fields__}
    evaluation = build(task, Options(data="sample", **others))
    told = {
        "source": "a.eval",
        "id": f"{task} {wrong} {limit} {others} {own}",
        "harness": "Inspect 0.3",
        "model": "m",
        "roles": {"grader": evaluation.options.judge} if evaluation.options.judge else {},
        "settings": {},
        "provenance": evaluation.provenance,
        "epochs": 1,
        "answers": answered(task, wrong, limit, **others),
        "created": "2026-01-01T00:00:00+00:00",
    }
    return Run(**told | own)


def titles(found: Board) -> list[tuple[str, str, int]]:
    """Of each column: task, why it stands apart, and how many results it holds."""
    return [(column.task.name, column.why, len(column.runs)) for column in found.columns]


def report_on(runs: Sequence[Run], folder: Path) -> Report:
    return assemble(board(runs), [], "T", table=folder / "items.parquet")


def as_json(report: Report) -> dict[str, Any]:
    return json.loads(json.dumps(to_json(report)), parse_constant=no_constant)


def assembled(runs: Sequence[Run], folder: Path) -> dict[str, Any]:
    return as_json(report_on(runs, folder))


@pytest.fixture
def score(capsys: Capture) -> Score:
    """`score(folder, task, rows or "oracle", *arguments)` keeps what `halu-tasks score --json` prints as
    `folder/scored.json`, beside the predictions."""

    def call(folder: Path, task: str, rows: Any, *arguments: str, data: str = "sample") -> Path:
        folder.mkdir(exist_ok=True)
        path = folder / "predictions.jsonl"
        if rows == "oracle":
            rows = {item.id: TASKS[task].prompts.oracle(item) for item in build(task, Options(data=data)).items}
        write_rows(path, ({"id": id, "output": output} for id, output in rows.items()))
        capsys.readouterr()
        given = ["score", task, str(path), "--data", data, "--json", *arguments]
        status = main(given)
        told = capsys.readouterr()
        assert status in (0, 3), told.err
        (folder / "scored.json").write_text(told.out)
        assert (status == 3) == (json.loads(told.out)["missing"] > 0)
        return folder / "scored.json"

    return call


def why(path: Path) -> str:
    """The one reason that nothing of a file is read."""
    found = read_results([str(path)])
    assert found.runs == []
    (skipped,) = found.skipped
    assert skipped.source == str(path)
    return skipped.why


# --- lm-eval's files --------------------------------------------------------------------------------


def lm_eval_files(folder: Path, *tasks: str, name: str = "results", **changes: Any) -> Path:
    """A results file and its samples, as lm-eval 0.4.13 writes them but for what is not read; `changes` are to the
    results."""
    folder.mkdir(exist_ok=True)
    date = "2026-01-02T03-04-05.678901"
    results: dict[str, Any] = {
        "results": {task: {"alias": task, "acc,none": 1.0} for task in tasks},
        "configs": {},
        "n-samples": {},
        "config": {"model": "hf", "model_args": {"pretrained": "org/model", "dtype": "auto", "token": "hush"}},
        "date": 1767323045.6,
        "lm_eval_version": "0.4.13",
        "model_name": "org/model",
        "chat_template_sha": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
    }
    for task in tasks:
        if task not in TASKS:
            results["configs"][task] = {"metadata": {"version": 1.0}}
            continue
        evaluation = build(task, Options(data="sample"))
        results["configs"][task] = {
            "generation_kwargs": {"until": [], "max_gen_toks": evaluation.decoding.max_tokens, "temperature": 0.0},
            "repeats": 1,
            "metadata": {"version": 1.0, "halu_tasks": evaluation.provenance.as_json()},
        }
        results["n-samples"][task] = {"original": len(evaluation.items), "effective": len(evaluation.items)}
        with (folder / f"samples_{task}_{date}.jsonl").open("w") as file:
            for item, reply, own in answered(task):
                doc = {**item.tags, **item.gold, "id": item.id, "system": item.system, "prompt": item.prompt}
                doc |= {"target": item.target, "cluster": item.cluster, "tags": list(item.tags)}
                row = {"doc": doc, "resps": [[reply]], "filtered_resps": [json.dumps(own.as_json())]}
                file.write(json.dumps(row) + "\n")
    path = folder / f"{name}_{date}.json"
    path.write_text(json.dumps(results | changes))
    return path


def test_an_lm_eval_folder_is_read(tmp_path: Path) -> None:
    path = lm_eval_files(tmp_path, CORRECTION, COMPARATIVE)
    found = read_results([str(tmp_path)])
    assert found.skipped == [] and [run.task for run in found.runs] == [CORRECTION, COMPARATIVE]
    run = found.runs[0]
    assert (run.source, run.model, run.harness, run.version) == (str(path), "org/model", "lm-eval 0.4.13", "2-sample")
    # neither the model's name again, nor what the task asks for itself, nor what is secret
    assert run.settings == {"dtype": "auto"} and run.created == "2026-01-02T03:04:05+00:00"
    whole = answered(CORRECTION)
    assert [(own.item.prompt, own.reply, own.score) for own in run.answers] == [
        (own.item.prompt, own.reply, own.score) for own in whole
    ]


def test_of_an_lm_eval_run_only_what_is_missing_or_of_others_is_left_out(tmp_path: Path) -> None:
    path = lm_eval_files(tmp_path, "arc_easy", CORRECTION, COMPARATIVE, "refact_localization_entity")
    results = json.loads(path.read_text())
    del results["n-samples"][COMPARATIVE]["effective"]
    results["results"]["refact_localization_entity"] = {"bypass,none": 999}
    path.write_text(json.dumps(results))
    found = read_results([str(tmp_path)])
    assert [run.task for run in found.runs] == [CORRECTION]
    assert [own.why for own in found.skipped] == [
        "one task of other packages: arc_easy",
        f"{COMPARATIVE}: the record is damaged (KeyError: 'effective')",
        "refact_localization_entity: run with --predict_only, so it has no scores; run it again without",
    ]


def test_without_its_samples_an_lm_eval_run_says_what_to_do(tmp_path: Path) -> None:
    path = lm_eval_files(tmp_path, CORRECTION)
    (samples,) = tmp_path.glob("samples_*")
    samples.unlink()
    assert why(path) == f"{CORRECTION}: {samples.name} is missing from the folder; run lm_eval with --log_samples"
    samples.write_text("{}\n" * 16)
    assert why(path).startswith(f"{CORRECTION}: {samples.name}:1 is not a sample that this package scored (KeyError")
    path.unlink()
    assert (
        why(tmp_path.joinpath(samples.name))
        == "the folder has no results file for these samples, so the run did not finish"
    )


def test_a_results_file_of_another_name_is_known_by_what_it_holds(tmp_path: Path) -> None:
    """lm-eval's `--output_path mine.json` writes `mine_DATE.json`."""
    lm_eval_files(tmp_path, CORRECTION, name="mine")
    found = read_results([str(tmp_path)])
    assert len(found.runs) == 1 and found.skipped == []


def test_a_fact_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = lm_eval_files(tmp_path, CORRECTION)
    (samples,) = tmp_path.glob("samples_*")
    text = samples.read_text()
    id = json.loads(text.splitlines()[0])["doc"]["id"]
    for value in ("NaN", "Infinity", '\\"x\\"'):
        samples.write_text(text.replace('\\"em\\": 1.0', f'\\"em\\": {value}', 1))
        assert samples.read_text() != text
        assert (f"of item {id!r} is" if value != '\\"x\\"' else "cannot be read as a result (TypeError") in why(path)


def test_a_record_that_does_not_tell_its_data_is_refused(tmp_path: Path) -> None:
    path = lm_eval_files(tmp_path, CORRECTION)
    path.write_text(path.read_text().replace('"data_sha256"', '"data_sha"'))
    assert "the record is damaged: 'data_sha256' is missing or has the wrong type; run the task again" in why(path)


# --- folders ----------------------------------------------------------------------------------------


def test_links_and_what_cannot_be_opened_do_not_end_the_reading(tmp_path: Path) -> None:
    lm_eval_files(tmp_path / "run", CORRECTION)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.eval").symlink_to("self.eval")
    (tmp_path / "gone.json").symlink_to("nowhere.json")
    (tmp_path / "folder.json").mkdir()
    again = tmp_path / "again"
    again.mkdir()
    for path in (tmp_path / "run").iterdir():
        (again / path.name).symlink_to(path)
    found = read_results([str(tmp_path), str(tmp_path / "run"), str(tmp_path / "loop")])
    assert len(found.runs) == 1
    assert {Path(own.source).name for own in found.skipped} == {"self.eval", "gone.json"}
    with pytest.raises(DataError, match=r"self\.eval: no such file or folder of results"):
        read_results([str(tmp_path / "self.eval")])


# --- score --json -----------------------------------------------------------------------------------


def test_scored_predictions_are_read_with_the_same_figures(score: Score, tmp_path: Path) -> None:
    rows = {
        item.id: TASKS[CORRECTION].prompts.oracle(item) for item in build(CORRECTION, Options(data="sample")).items[:9]
    }
    path = score(tmp_path / "all", CORRECTION, rows, "--model", "mine", "--scoring", "paper")
    partial = score(tmp_path / "partial", CORRECTION, rows, "--partial")
    told = assembled(read_results([str(path), str(partial)]).runs, tmp_path)
    # without --model, a model is called by its file
    assert [own["label"] for own in told["entries"]] == ["predictions.jsonl", "mine"]
    cells = {own["n"]: own for own in told["results"]}
    for n, file in ((16, path), (9, partial)):
        printed = strict(file)
        figures = cells[n]["metrics"]
        assert {name: own["value"] for name, own in figures.items()} == printed["metrics"]
        assert {name: [own["low"], own["high"]] for name, own in figures.items() if own["low"] is not None} == printed[
            "intervals"
        ]
        assert cells[n]["version"] == printed["version"] and cells[n]["harness"].startswith("halu-tasks score ")
    assert cells[9]["unparsed"] == 0 and cells[16]["unparsed"] == 7
    assert all(own["prompt_hash"] is None and own["fewshot"] is None for own in told["columns"])


def test_replies_made_elsewhere_stand_apart_as_nothing_tells_how_they_were_asked(score: Score, tmp_path: Path) -> None:
    lm_eval_files(tmp_path / "run", CORRECTION)
    lm_eval_files(tmp_path / "other", CORRECTION, date=1.0, model_name="org/other")
    path = score(tmp_path / "scored", CORRECTION, "oracle")
    found = board(read_results([str(tmp_path / "run"), str(tmp_path / "other"), str(path)]).runs)
    assert titles(found) == [
        (CORRECTION, "", 2),
        (CORRECTION, "does not record how the model was asked", 1),
    ]


def test_published_systems_scored_replies_and_embedded_models_are_rows_of_one_table(tmp_path: Path) -> None:
    asked = replace(build("mushroom_en", Options(data="sample")).provenance, data="pinned")
    made = {"harness": "halu-tasks score 0.1.0", "provenance": asked.without_prompt()}
    runs = [
        run_of("mushroom_en", model="halu-oracle", provenance=asked),
        run_of("mushroom_en", model="detector", wrong=2, **made),
    ]
    report = report_on(runs, tmp_path)
    assert [column.notes for column in report.columns] == [
        ["halu-oracle had other prompts than the rest, but read none"]
    ]
    table = markdown(report, published=True).partition("## Leaderboard")[2].partition("| human")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]
    heads = [head.removeprefix("| ") for head, _ in rows]
    assert heads[:2] == ["halu-oracle<br>embedded model", "*iai_MSU*<br>published (submission), no items: not tested"]
    assert rows[1][1].startswith("*0.651*<br>Mu-SHROOM, iou")
    place = heads.index("detector<br>scored replies")
    figures = [float(cell.strip("* ")[:5]) for _, cell in rows]
    assert figures == sorted(figures, reverse=True) and 2 < place < len(heads) - 1
    assert "published" not in markdown(report)
    page = render(report, published=True)
    assert 'id="show-published" checked>' in page and 'id="show-published">' in render(report)
    assert page.count('<tr class="published">') == len(heads) - 2
    # a model with the same prompts is a better neighbour
    beside = board([*runs, run_of("mushroom_en", model="model", wrong=1, provenance=asked)])
    assert titles(beside)[0] == ("mushroom_en", "", 2) and len(beside.columns) == 2


def test_predictions_that_moved_along_are_found_and_others_of_that_name_are_passed_over(
    score: Score, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = score(Path("one"), CORRECTION, "oracle")
    moved = tmp_path / "elsewhere" / "kept"
    shutil.copytree("one", moved)
    Path("one/predictions.jsonl").write_text('{"id": "x", "output": "of another run"}\n')
    assert len(read_results([str(moved)]).runs) == 1
    assert why(path).endswith("one/predictions.jsonl has changed since it was scored; score it again")
    (moved / "predictions.jsonl").unlink()
    assert "has changed since it was scored" in why(moved / "scored.json")
    Path("one/predictions.jsonl").unlink()
    assert why(path).startswith("one/predictions.jsonl does not exist (looked for one/predictions.jsonl or ")
    assert why(path).endswith("; run the command in the folder in which it was scored")


def test_data_that_changed_or_are_gone_and_figures_that_do_not_follow_are_told(score: Score, tmp_path: Path) -> None:
    data = tmp_path / "refact_multi_error.jsonl"
    shutil.copy(SAMPLE / "refact" / data.name, data)
    path = score(tmp_path / "scored", CORRECTION, "oracle", data=str(data))
    whole = json.loads(path.read_text())

    def with_values(**values: Any) -> str:
        path.write_text(json.dumps(whole | values))
        return why(path)

    told = with_values(metrics=whole["metrics"] | {"em": 0.5})
    assert told == "the figures of the predictions have changed (em is 1.0, was 0.5); score them again"
    assert with_values(run=None) == "does not say what was scored; score the predictions again"
    told = with_values(run={"halu_tasks": {}})
    assert told == "the record is damaged: 'task' is missing or has the wrong type; run the task again"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[1:]))
    assert with_values() == f"the data {data} have changed since the predictions were scored; score them again"
    data.unlink()
    assert str(data) in why(path) and "No such file" in why(path)


def test_no_address_in_a_result_is_followed(score: Score, tmp_path: Path) -> None:
    path = score(tmp_path / "scored", CORRECTION, "oracle")
    whole = json.loads(path.read_text())
    elsewhere = whole["run"] | {"predictions": ["simplecache::http://127.0.0.1:9/predictions.jsonl"]}
    path.write_text(json.dumps(whole | {"run": elsewhere}))
    # a copy of that name is next to the result, and gives the same figures
    (run,) = read_results([str(path)]).runs
    assert len(run.answers) == 16
    (tmp_path / "scored" / "predictions.jsonl").unlink()
    assert "simplecache::http://127.0.0.1:9/predictions.jsonl does not exist" in why(path)
    options = whole["run"]["options"] | {"data": "hf://acme/refact"}
    path.write_text(json.dumps(whole | {"run": whole["run"] | {"options": options}}))
    assert "the data are at hf://acme/refact, and no address in a result is followed" in why(path)


class _Counting(Handler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send(404)

    do_HEAD = do_POST = do_GET


def test_neither_a_source_nor_a_card_in_a_result_is_fetched(score: Score, tmp_path: Path) -> None:
    path = score(tmp_path / "scored", CORRECTION, "oracle")
    whole = json.loads(path.read_text())
    folder = tmp_path / "folder"
    folder.mkdir()
    with Server(_Counting) as server:
        address = server.url
        card = f"configs:\n- config_name: default\n  data_files: {address}/rows.jsonl\n"
        source = {"name": "own", "title": "Own", "address": f"{address}/", "files": {"refact_multi_error.jsonl": {}}}
        own = {"task": "own", "reference_task": CORRECTION, "overrides": {"source": source}}
        told = []
        for name, text, options, task in (
            ("x", "", {"data": None}, own),
            ("x", "", {"data": f"simplecache::{address}/rows.jsonl"}, {}),
            ("README.md", f"---\n{card}---\n", {"data": str(folder), "data_split": "train"}, {}),
            (".huggingface.yaml", card, {"data": str(folder), "data_split": "train"}, {}),
        ):
            for file in folder.iterdir():
                file.unlink()
            (folder / name).write_text(text)
            run = whole["run"]
            run = run | {"options": run["options"] | options, "halu_tasks": run["halu_tasks"] | task}
            path.write_text(json.dumps(whole | {"run": run}))
            told.append(why(path))
        server.shutdown()
    assert all("no address in a result is followed" in reason for reason in told[:2])
    assert all("configs: name only files of the folder" in reason for reason in told[2:])
    assert _Counting.asked == []


def test_replies_of_any_kind_are_reported(score: Score, tmp_path: Path) -> None:
    items = build(CORRECTION, Options(data="sample")).items
    odd = [
        "\ud800 half",
        "a\0b",
        "",
        "x" * 2_000_000,
        "</script><!--",
        "| a |\n# b\n[c](d)",
        "\u202e\u0007",
        "🙂" * 5000,
    ]
    rows = {item.id: odd[n % 8] for n, item in enumerate(items)}
    path = score(tmp_path, CORRECTION, rows, "--model", "a|b\n<c>\ud800")
    out = tmp_path / "report"
    assert main(["report", str(path), "-o", str(out)]) == 0
    told = strict(out / "report.json")
    assert told["entries"][0]["model"] == "a|b\n<c>\ud800" and told["results"][0]["n"] == 16
    shown = {one["id"]: one["replies"][0] for one in told["why"][0]["items"]}
    assert len(shown) == 10
    for id, reply in shown.items():
        assert rows[id].startswith(reply["reply"]) and len(reply["reply"]) + reply["cut"] == len(rows[id])
    table = pq.read_table(out / "items.parquet").to_pylist()
    assert [row["reply"] for row in table][:8] == ["? half", *odd[1:]]
    text = (out / "report.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("| a"))
    assert line.startswith("| a\\|b \\<c\\>\N{REPLACEMENT CHARACTER} | ")


def test_a_report_that_cannot_be_written_says_so_in_a_line(score: Score, tmp_path: Path, capsys: Capture) -> None:
    path = score(tmp_path / "scored", CORRECTION, "oracle")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder" / "report.md").mkdir(parents=True)
    for out, told in (("file", "File exists"), ("file/below", "Not a directory"), ("folder", "Is a directory")):
        assert main(["report", str(path), "-o", str(tmp_path / out)]) == 2
        (line,) = (own for own in capsys.readouterr().err.splitlines() if own.startswith("halu-tasks: "))
        assert told in line and str(tmp_path / out) in line
    assert (tmp_path / "file").read_text() == "mine"
    assert not [own for own in (tmp_path / "folder").iterdir() if own.name.endswith(".part")]


# --- the board --------------------------------------------------------------------------------------


def test_entries_of_one_model_are_told_apart_by_what_differs() -> None:
    runs = [
        run_of(),
        run_of(settings={"temperature": 0.7}),
        run_of(settings={"temperature": 0.7, "top_p": 0.5}),
        run_of(method="factored_verification:how=reasoned", roles={"helper": "h"}),
        run_of(model="other"),
    ]
    found = board(runs)
    assert [entry.label for entry in found.entries] == [
        "m (factored_verification:how=reasoned, helper=h)",
        "m",
        "m (temperature=0.7)",
        "m (temperature=0.7, top_p=0.5)",
        "other",
    ]
    # another harness or version of it is no other entry, and so stands in the place of the first
    assert len(board([*runs, run_of(harness="Inspect 0.4")]).superseded) == 1
    assert len(board([*runs, run_of(harness="lm-eval 0.4.13")]).superseded) == 1


def test_of_many_runs_that_differ_in_nothing_the_last_stands(tmp_path: Path) -> None:
    runs = [run_of(source=f"{day}.eval", id=str(day), created=f"2026-01-0{day}") for day in (1, 2, 3, 4)]
    told = assembled(runs, tmp_path)
    ((cell,), gone) = told["results"], told["superseded"]
    assert cell["source"] == "4.eval" and [own["source"] for own in gone] == ["1.eval", "2.eval", "3.eval"]
    assert {(own["entry"], own["column"]) for own in gone} == {(cell["entry"], cell["column"])}
    assert all("replaced by the later run of 2026-01-04 (4.eval)" in own["why"] for own in gone)
    report = report_on(runs, tmp_path)
    assert "latest of 4 runs" in render(report) and "<br>latest of 4 runs" in markdown(report)
    (told,) = (sentence for sentence in summary(report) if "several runs" in sentence)
    assert told.startswith("1 of 1 results are the latest of several runs. Choosing the best of several runs makes")


@pytest.mark.parametrize(("other", "told"), CASES["what_does_not_compare_stands_apart_and_says_why"])
def test_what_does_not_compare_stands_apart_and_says_why(other: dict[str, Any], told: str) -> None:
    # two plain ones, so that these are the main column
    runs = [run_of(), run_of(model="n"), run_of(model="o", **other)]
    found = board(runs)
    assert [(column.task.name, len(column.runs)) for column in found.columns] == [(CORRECTION, 2), (CORRECTION, 1)]
    assert found.columns[0].why == "" and found.columns[1].why.startswith(told)
    assert [column.why for column in found.columns if column.main] == [""]


def test_other_prompts_stand_apart_without_a_rank_and_say_why(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.yaml"
    prompts.write_text(f"{CORRECTION}: {{user: 'mine {{question}} {{answer}}'}}")
    report = report_on([run_of(), run_of(model="n"), run_of(prompts=(str(prompts),))], tmp_path)
    told = as_json(report)
    column, apart = told["columns"]
    (hash,) = (mark.removeprefix("prompts_") for mark in apart["marks"] if mark.startswith("prompts_"))
    assert column["main"] and apart["why"] == f"has the prompts {hash}, not {column['prompt_hash']}"
    assert {own["column"] for own in told["pairs"]} == {column["id"]}
    assert all(own["rank"] is None for own in told["results"] if own["column"] == apart["id"])
    assert apart["why"] in markdown(report).partition("## Shown apart")[2]


def test_results_with_a_judge_go_before_more_of_them_without(tmp_path: Path) -> None:
    judge = {"judge": "openai/j"}
    told = assembled([run_of("cfaith_gen"), run_of("cfaith_gen", model="n"), run_of("cfaith_gen", **judge)], tmp_path)
    judged, plain = told["columns"]
    assert judged["main"] and plain["why"] == "is judged by no model, not openai/j"
    assert "judge_failed" in judged["directions"] and "judge_failed" not in plain["directions"]
    cells = {(own["column"], own["judge"]): own for own in told["results"]}
    assert cells[judged["id"], "openai/j"]["judge_failed"] == 0
    # what has no figure has no rank
    assert all(own["rank"] is None and own["judge_failed"] is None for own in told["results"] if not own["judge"])


def test_columns_that_more_entries_share_come_first(tmp_path: Path) -> None:
    # the task of the old entry is the first of the three
    old = [run_of("factchd", model="old"), run_of(HALUEVAL, scoring="paper", model="old")]
    shared = [run_of(task, model=model) for task in (HALUEVAL, CORRECTION) for model in ("a", "b")]
    again = [run_of(CORRECTION, scoring="paper", model=model) for model in ("a", "b")]
    found = board([*old, *shared, *again])
    assert [(column.task.name, column.first.scoring, len(column.runs)) for column in found.columns] == [
        *((HALUEVAL, "strict", 2), (CORRECTION, "strict", 2), ("factchd", "strict", 1)),
        *((CORRECTION, "paper", 2), (HALUEVAL, "paper", 1)),
    ]
    report = report_on([*old, *shared], tmp_path)
    rows = re.findall(r'<tr class="entry">.*?<span class="label">(.*?)</span>', render(report), re.DOTALL)
    assert [re.sub(r"<[^>]*>", "", row) for row in rows[:3]] == ["a", "b", "old"]


def test_a_report_says_in_which_analyses_its_differences_were_tested(tmp_path: Path) -> None:
    main = [run_of(HALUEVAL, wrong=wrong, model=model) for wrong, model in ((0, "a"), (2, "b"), (4, "c"))]
    apart = [run_of(HALUEVAL, scoring="paper", model=model) for model in ("a", "b")]
    one = (
        "one analysis of the 3 differences between models on main tasks and group means. The probability of any false "
    )
    two = "two analyses, of the 3 differences between models on main tasks and group means and of the difference"
    for runs, told in ((main, f"{one}claim in it is at most 5%"), ([*main, *apart], two)):
        told_rule = rule(report_on(runs, tmp_path))
        assert told_rule.startswith("“Better”, “open” and ranks come from ") and told in told_rule


def test_one_model_in_two_harnesses_is_one_entry(tmp_path: Path) -> None:
    hosted, lm_eval = "openai-api/local/m", {"harness": "lm-eval 0.4.13", "settings": {"chat_template": "ab"}}
    runs = [run_of(wrong=3, model=hosted), run_of(model="m", **lm_eval), run_of(model="n")]
    report = report_on(runs, tmp_path)
    assert list(report.labels.values()) == ["n", "m"] and len(report.pairs) == 1
    note = ", in which 3 items have other answers or scores"
    text = markdown(report)
    assert escaped(note) in text and note in re.sub("<[^>]*>", "", render(report))
    assert "from results of Inspect 0.3, lm-eval 0.4.13\n" in text and "2026-01-01T00:00:00+00:00" in text
    # only reruns in one harness are a choice of results
    assert not report.reruns and len(report.superseded) == 1
    alike = [run_of(model=hosted), *runs[1:]]
    assert report_on(alike, tmp_path).superseded[0]["why"].endswith(", in which 0 items have other answers or scores")
    # in one harness, or if another name fits as well, they may be two models
    for other in (run_of(model="m"), run_of(model="together/m"), run_of(model="m", **lm_eval | {"settings": {}})):
        assert len(report_on([*alike, other], tmp_path).entries) == 4
    compared = compare({"a": [run_of(model="m"), run_of(model="m", harness="lm-eval 0.4.13")]})
    assert list(compared.labels.values()) == ["m (harness=Inspect)", "m (harness=lm-eval)"]


def test_judge_failures_are_counted_though_no_sentence_was_judged_and_though_the_judge_has_a_role(
    tmp_path: Path,
) -> None:
    run = run_of("fave", wrong=24, judge="openai/j")
    run = replace(run, provenance=replace(run.provenance, options={"judge": None}))
    (cell,) = report_on([run], tmp_path).results
    assert cell.counts == {"unparsed": 0, "abstained": 0, "empty": 24, "judge_failed": 0}
    assert "judge_failed" not in cell.metrics and cell.n == 24
    judged = {"asked": 8.0, "failed": 2.0}
    verdicts = [Verdict(label) for label in (*2 * [FAILED], *6 * [CONSISTENT])]
    scores = [
        replace(own.score, measurements={**own.score.measurements, **judged}, verdicts=verdicts) for own in run.answers
    ]
    answers = [own._replace(score=score) for own, score in zip(run.answers, scores, strict=True)]
    (cell,) = report_on([replace(run, answers=answers)], tmp_path).results
    # sentences, of which there are eight in a summary
    assert cell.counts["judge_failed"] == 2 * 24 and cell.metrics["judge_failed"].value == 0.25


def test_replies_that_decline_are_empty_or_say_that_nothing_is_wrong_are_told_apart(tmp_path: Path) -> None:
    outcomes = {
        1: {"answer": None, "outcome": "abstained", "reason": "declines"},
        2: {"answer": None, "outcome": "empty", "reason": "empty"},
        3: {"answer": None, "outcome": "unparsed", "reason": "no verdict"},
        4: {"answer": [], "outcome": "answered", "reason": "the judge saw nothing"},
    }
    run = run_of("refact_localization_entity")
    wrong = {"correct": 0.0, "acc": 0.0, "iou": 0.0, "exact": 0.0}
    answers = list(run.answers)
    for number, outcome in outcomes.items():
        own = answers[number].score
        score = replace(own, **outcome, measurements=own.measurements | wrong)
        answers[number] = answers[number]._replace(score=score)
    runs = [replace(run, answers=answers), replace(run, model="n", id="n")]
    report = report_on(runs, tmp_path)
    counts = [tuple(cell.counts[name] for name in NO_ANSWER) for cell in report.results]
    assert counts == [(1, 1, 1), (0, 0, 0)]
    text, html = markdown(report), render(report)
    assert f"n {len(run.scores)}, 1 unparsed, 1 abstained, 1 empty" in text
    assert f"n {len(run.scores)}, 0 unparsed |" in text or f"n {len(run.scores)}, 0 unparsed<br>" in text
    assert "1 unparsed, 1 abstained, 1 empty" in re.sub(r"<[^>]*>", "", html)
    shown = {item["id"]: item["replies"][0] for item in report.why[0]["items"]}
    rows = {row["id"]: row for row in pq.read_table(tmp_path / "items.parquet").to_pylist() if row["entry"] == "m"}
    for number, outcome in outcomes.items():
        id = run.answers[number].item.id
        assert {name: shown[id][name] for name in outcome} == outcome
        assert rows[id]["outcome"] == outcome["outcome"]
        if outcome["answer"] is None:
            assert f'<span class="verdict wrong unread">{outcome["outcome"]}</span>' in html
    # the empty list is an answer, and what the judge said of it stands with it
    assert re.search(r"answer <i>nothing</i>[^<]* · reason: <bdi[^>]*>the judge saw nothing", html)
    assert rows[run.answers[4].item.id]["answer"] == "[]"
    compared = compare({"a": runs})
    assert [tuple(own.counts[name] for name in NO_ANSWER) for own in compared.results] == counts


def test_runs_are_told_apart_by_what_differs() -> None:
    def labels(*runs: Run) -> list[str]:
        return list(compare({"a": runs}).labels.values())

    runs = [run_of(settings={"temperature": heat, "top_p": "1"}) for heat in ("0", "0.7")]
    assert labels(*runs) == ["m (temperature=0)", "m (temperature=0.7)"]
    other = replace(runs[0], harness="lm-eval 0.4", id="other")
    assert labels(runs[0], other) == ["m (harness=Inspect)", "m (harness=lm-eval)"]
    # whatever the models were asked, and whichever they are
    assert labels(run_of(), run_of(fewshot=1, model="n")) == ["m (fewshot=0)", "n (fewshot=1)"]
    # the same model on two days
    later = {day: [run_of(id=day, wrong=wrong)] for day, wrong in (("one", 0), ("two", 8))}
    (pair,) = (report := compare(later)).pairs
    assert list(report.labels.values()) == ["m (results=one)", "m (results=two)"] and pair.difference.value == 0.5


def test_means_of_groups_are_of_results_that_were_asked_alike() -> None:
    members = GROUPS["refact"].members
    whole = [run_of(task, wrong=2) for task in members]
    means = {(mean.group.name, mean.name): mean.figures for mean in board(whole).means}
    for group in GROUPS.values():
        assert {group.means[0]} in ({HEADLINE}, {task.headline for task in group.tasks})
    (entry,) = means["refact", HEADLINE]
    values = [1 - 2 / len(run.scores) for run in whole]
    assert means["refact", HEADLINE][entry].value == pytest.approx(sum(values) / 5)
    for other in ({"scoring": "paper"}, {"cot": True}, {"fewshot": 1}):
        mixed = [run_of(members[0], **other), *whole[1:]]
        assert {mean.group.name for mean in board(mixed).means} == {"refact_localization"}
    # published scores apart have a mean of their own
    paper = [run_of(task, scoring="paper") for task in members]
    (own,) = (mean for mean in board([*whole, *paper]).means if mean.group.name == "refact" and not mean.main)
    assert own.scoring == "paper" and own.figures[entry].value > means["refact", HEADLINE][entry].value
    # of an entry that lacks a member there is none
    two = [*whole, *(replace(run, model="n") for run in whole[1:])]
    assert [list(mean.figures) for mean in board(two).means if mean.group.name == "refact"] == [[entry]]


def test_a_model_that_lists_everything_does_not_lead(tmp_path: Path) -> None:
    """Every sentence, or every sequence of up to four words: all that is wrong is among it."""
    runs = []
    for task in GROUPS["refact_localization"].members:
        run = run_of(task, model="lister")
        answers = []
        for item in (own.item for own in run.answers):
            text = item.gold["text"]
            words = [] if task.endswith("negation") else text.split()
            spans = [words[at : at + size] for size in range(1, 5) for at in range(len(words))]
            reply = "\n".join([" ".join(span) for span in spans] or sentences(text))
            answers.append(ScoredReply(item, reply, run.benchmark_task.score("strict", item, Reply(reply))))
        runs += [run_of(task, wrong=len(answers) // 2, model="modest"), replace(run, answers=answers, id=f"all {task}")]
    report = report_on(runs, tmp_path)
    assert min(result.metrics["acc"].value for result in report.results if result.metrics["acc"].value != 0.5) > 0.85
    leads, *others = summary(report)
    assert leads.startswith("modest leads on the mean of refact_localization and all 2 tasks.")
    # listing everything is a floor, on which the lister stands
    assert {floor["name"] for floor in report.floors if floor["headline"]} == {
        "baseline",
        "marking all",
        "marking nothing",
    }
    told = r"\(the floor\): lister on refact_localization_negation \(floor 0\.\d{3}\); lister on"
    assert any(re.search(told, sentence) for sentence in others)


def test_ranks_pairs_and_wins_of_models_that_differ(tmp_path: Path) -> None:
    runs = [run_of(HALUEVAL, wrong=wrong, model=model) for wrong, model in ((0, "a"), (26, "b"), (52, "c"))]
    report = report_on(runs, tmp_path)
    told = as_json(report)
    assert [own["rank"] for own in told["results"]] == [[1, 1], [2, 2], [3, 3]]
    first = told["pairs"][0]
    assert (first["value"], first["better"], first["low"] > 0, first["p_adjusted"] < 0.05) == (0.5, "e1", True, True)
    won = {(own["first"], own["second"]): (own["better"], own["worse"], own["open"]) for own in told["wins"]}
    assert won["e1", "e2"] == (1, 0, 0) and won["e3", "e1"] == (0, 1, 0)
    text = markdown(report)
    assert "| halueval_summarization | acc | a | b | 0.500 [" in text and "| 52 (26) |" in text


def test_a_note_says_which_compared_entries_have_different_generation_settings(tmp_path: Path) -> None:
    runs = [run_of(model="toy"), run_of(model="tiny", settings={"max_tokens": 8, "chat_template": "ab"})]
    told = (
        "Entries that are compared have different generation settings: max_tokens is 8 for tiny and the task’s own for "
    )
    report = report_on(runs, tmp_path)
    assert report.notes == [f"{told}toy"]
    assert f"{told}toy." in re.sub("<[^>]*>", "", render(report)) and escaped(f"{told}toy") in markdown(report)
    (note,) = report_on([*runs, *(run_of(model=model) for model in "abc")], tmp_path).notes
    assert note == f"{told}4 entries"
    # they are not compared, as their items differ
    assert report_on([run_of(model="toy", limit=4), runs[1]], tmp_path).notes == []


@pytest.mark.parametrize(
    ("wrong", "why"), [(16, "the difference is the same in all clusters"), (0, "the difference is 0"), (8, "")]
)
def test_the_number_of_items_needed_is_missing_only_with_a_reason(wrong: int, why: str, tmp_path: Path) -> None:
    (pair,) = report_on([run_of(model="a"), run_of(model="b", wrong=wrong)], tmp_path).pairs
    assert (pair.not_estimated, pair.items_needed is None) == (why, bool(why))


def test_a_limited_run_that_stands_alone_says_of_how_many(tmp_path: Path) -> None:
    report = report_on([run_of(limit=4, fewshot=1)], tmp_path)
    told = as_json(report)
    assert told["columns"][0]["main"] and (told["columns"][0]["n"], told["columns"][0]["of"]) == (4, 16)
    text = markdown(report)
    assert "n 4 of 16, 0 unparsed" in text and "(strict, SAMPLE, 1shot, 4 of 16 items)" in text
    (partial,) = (sentence for sentence in summary(report) if "part of the items" in sentence)
    assert partial.endswith(
        f"only part of the items (a limit, or replies to some items only) on {CORRECTION} (4 of 16)."
    )


# --- what is drawn ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "drawn"), [("refact_localization_entity", True), ("refact_judgment_independent", False)]
)
def test_spans_are_drawn_if_the_task_asks_for_spans(task: str, drawn: bool, tmp_path: Path) -> None:
    runs = [run_of(task, wrong=wrong, model=f"m{wrong}") for wrong in (0, 2)]
    report = report_on(runs, tmp_path)
    (details,) = report.why
    assert len(details["items"]) == 2 and bool(details["confusion"]) == (not drawn)
    assert ("In the texts below" in render(report)) == drawn
    items = {answer.item.id: answer.item for answer in runs[0].answers}
    for shown in details["items"]:
        right, empty = shown["replies"]
        assert (shown["text"], empty["spans"]) == (items[shown["id"]].gold["text"] if drawn else None, None)
        assert right["spans"] == (shown["gold"] if drawn else None) and right["unplaced"] == []
