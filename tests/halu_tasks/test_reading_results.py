"""Files of results: what is read of lm-eval's, of folders and of `score --json`, and what is said of the rest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest
from common import Capture, Patch, write_rows
from loopback import Handler, Server
from made_runs import COMPARATIVE, CORRECTION, TASKS, answered, assembled, strict_json, titles

from halu_tasks.cli import main
from halu_tasks.core.errors import DataError
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import read_prompts
from halu_tasks.data.locate import SAMPLE
from halu_tasks.report.board import board
from halu_tasks.results.read import read_results
from halu_tasks.tasks import build

ScoredReply = Callable[..., Path]


@pytest.fixture
def score(capsys: Capture) -> ScoredReply:
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
                doc = {**item.tags, **item.gold.as_json(), "id": item.id, "system": item.system, "prompt": item.prompt}
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
        "refact_localization_entity: run with --predict_only, so it has no scores; they are made by: halu-tasks score "
        "refact_localization_entity samples_refact_localization_entity_2026-01-02T03-04-05.678901.jsonl --json",
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


def test_scored_predictions_are_read_with_the_same_figures(score: ScoredReply, tmp_path: Path) -> None:
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
        printed = strict_json(file.read_text())
        figures = cells[n]["metrics"]
        assert {name: own["value"] for name, own in figures.items()} == printed["metrics"]
        assert {name: [own["low"], own["high"]] for name, own in figures.items() if own["low"] is not None} == printed[
            "intervals"
        ]
        assert cells[n]["version"] == printed["version"] and cells[n]["harness"].startswith("halu-tasks score ")
    assert cells[9]["unparsed"] == 0 and cells[16]["unparsed"] == 7
    assert all(own["prompt_hash"] is None and own["fewshot"] is None for own in told["columns"])


def test_scored_wordings_are_read_with_the_prompts_of_the_run(here: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    task = "refact_judgment_independent"
    Path("short.yaml").write_text(json.dumps({task: {"user": "{question} {answer} True or False?"}}))
    given = ("packaged", "short.yaml")
    items = build(task, Options(data="sample", prompts=given)).items
    # the second wording is answered with False alone, which half of the items are
    rows = [{"id": i.id, "output": i.target if i.tags["wording"] == "packaged" else "False"} for i in items]
    write_rows(tmp_path / "replies.jsonl", rows)
    told = here("score", task, "replies.jsonl", "--data", "sample", "--prompts", ",".join(given), "--json")
    Path("scored.json").write_text(told.stdout)
    assert here("report", "scored.json", "-o", "report").returncode == 0
    (result,) = json.loads(Path("report/report.json").read_text())["results"]
    known = {"acc": 0.75, "acc_wording_packaged": 1.0, "acc_wording_short": 0.5, "wording_sd": 0.125**0.5}
    assert {name: result["metrics"][name]["value"] for name in known} == pytest.approx(known)
    Path("short.yaml").write_text(json.dumps({task: {"user": "{question} {answer} Yes or no?"}}))
    read_prompts.cache_clear()
    assert "short.yaml have changed since the predictions were scored" in here("report", "scored.json").stderr
    Path("short.yaml").unlink()
    assert "scored.json: short.yaml does not exist" in here("report", "scored.json").stderr


def test_replies_made_elsewhere_stand_apart_as_nothing_tells_how_they_were_asked(
    score: ScoredReply, tmp_path: Path
) -> None:
    lm_eval_files(tmp_path / "run", CORRECTION)
    lm_eval_files(tmp_path / "other", CORRECTION, date=1.0, model_name="org/other")
    path = score(tmp_path / "scored", CORRECTION, "oracle")
    found = board(read_results([str(tmp_path / "run"), str(tmp_path / "other"), str(path)]).runs)
    assert titles(found) == [
        (CORRECTION, "", 2),
        (CORRECTION, "does not record how the model was asked", 1),
    ]


def test_predictions_that_moved_along_are_found_and_others_of_that_name_are_passed_over(
    score: ScoredReply, tmp_path: Path, monkeypatch: Patch
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


def test_data_that_changed_or_are_gone_and_figures_that_do_not_follow_are_told(
    score: ScoredReply, tmp_path: Path
) -> None:
    data = tmp_path / "refact_multi_error.jsonl"
    shutil.copy(SAMPLE / "refact" / data.name, data)
    path = score(tmp_path / "scored", CORRECTION, "oracle", data=str(data))
    whole = json.loads(path.read_text())

    def with_values(**values: Any) -> str:
        path.write_text(json.dumps(whole | values))
        return why(path)

    told = with_values(metrics=whole["metrics"] | {"em": 0.5})
    assert told == "the figures of the predictions have changed (em is 1.0, was 0.5); score them again"
    told = with_values(run={"halu_tasks": {}})
    assert told == "the record is damaged: 'task' is missing or has the wrong type; run the task again"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[1:]))
    assert with_values() == f"the data {data} have changed since the predictions were scored; score them again"
    data.unlink()
    assert str(data) in why(path) and "No such file" in why(path)


def test_no_address_in_a_result_is_followed(score: ScoredReply, tmp_path: Path) -> None:
    path = score(tmp_path / "scored", CORRECTION, "oracle")
    whole = json.loads(path.read_text())
    elsewhere = whole["run"] | {"predictions": ["simplecache::http://127.0.0.1:9/predictions.jsonl"]}
    path.write_text(json.dumps(whole | {"run": elsewhere}))
    # a copy of that name is next to the result, and gives the same figures
    (run,) = read_results([str(path)]).runs
    assert len(run.answers) == 16
    (tmp_path / "scored" / "predictions.jsonl").unlink()
    assert "simplecache::http://127.0.0.1:9/predictions.jsonl does not exist" in why(path)


class _Counting(Handler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send(404)

    do_HEAD = do_POST = do_GET


def test_neither_a_source_nor_a_card_in_a_result_is_fetched(score: ScoredReply, tmp_path: Path) -> None:
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


# --- reports of what was read -----------------------------------------------------------------------


def test_replies_of_any_kind_are_reported(score: ScoredReply, tmp_path: Path) -> None:
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
    told = strict_json((out / "report.json").read_text())
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


def test_a_report_that_cannot_be_written_says_so_in_a_line(score: ScoredReply, tmp_path: Path, capsys: Capture) -> None:
    path = score(tmp_path / "scored", CORRECTION, "oracle")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder" / "report.md").mkdir(parents=True)
    for out, told in (("file", "File exists"), ("file/below", "Not a directory"), ("folder", "Is a directory")):
        assert main(["report", str(path), "-o", str(tmp_path / out)]) == 2
        (line,) = (own for own in capsys.readouterr().err.splitlines() if own.startswith("halu-tasks: "))
        assert told in line and str(tmp_path / out) in line
    assert (tmp_path / "file").read_text() == "mine"
    assert not [own for own in (tmp_path / "folder").iterdir() if own.name.endswith(".part")]
