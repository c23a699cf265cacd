"""The command line: what it prints, what it refuses, and what `score` makes of replies."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from selections import one_of_each

from halu_tasks import __version__
from halu_tasks.cli import COMMANDS, main
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cached_path
from halu_tasks.data.locate import SAMPLE
from halu_tasks.data.sources import SOURCES
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, build, registry

Cli = Callable[..., subprocess.CompletedProcess[str]]
Run = Callable[..., str]
TASKS, GROUPS = registry()
COMPARATIVE, INDEPENDENT = "refact_judgment_comparative", "refact_judgment_independent"
OUTPUTS = ("gemma-3-27b-it", "Llama-3.2-3B-Instruct")


def items(task: str) -> list[Item]:
    return build(task, Options(data="sample")).items


def predictions(path: Path, rows: Mapping[str, str | dict[str, Any]]) -> Path:
    """A predictions file: id -> output, or id -> all that the row holds beside its id."""
    lines = [{"id": id} | (row if isinstance(row, dict) else {"output": row}) for id, row in rows.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def oracle(task: str) -> dict[str, str]:
    return {item.id: TASKS[task].oracle(item) for item in items(task)}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`halu-tasks` in this process; its output, when it ends well."""

    def call(*arguments: str | Path) -> str:
        assert main([*map(str, arguments)]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return call


@pytest.fixture
def score(here: Cli, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The JSON of `halu-tasks score` on the sample."""

    def call(task: str, rows: Mapping[str, str | dict[str, Any]], *arguments: str | Path) -> dict[str, Any]:
        path = predictions(tmp_path / "predictions.jsonl", rows)
        shown = here("score", task, path, "--data", "sample", "--json", *arguments)
        assert shown.returncode in (0, 3), shown.stderr
        found = dict(json.loads(shown.stdout))
        assert (shown.returncode == 3) == (found["missing"] > 0)
        return found

    return call


def details(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- what is imported -----------------------------------------------------------------------------

HEAVY = ("numpy", "scipy", "yaml", "datasets", "lm_eval", "inspect_ai", "torch", "httpx", "rapidfuzz")


def loaded_by(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=sys.prefix,
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["score", "--help"], ["score"], ["report"], ["run", "--help"], ["build", "--help"]],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
from halu_tasks.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
"""
    found = loaded_by(code)
    assert "halu_tasks.cli" in found and not found & {*HEAVY, "halu_tasks.tasks"}


@pytest.mark.parametrize("arguments", [["list"], ["show", "--path", "fave"]])
def test_listings_make_no_scorers(arguments: list[str]) -> None:
    found = loaded_by(f"from halu_tasks.cli import main\nmain({arguments!r})")
    assert "halu_tasks.tasks" in found
    assert not found & {"numpy", "scipy", "jinja2", "rapidfuzz", "halu_tasks.benchmarks.refact"}


def test_the_core_loads_neither_harness_nor_torch() -> None:
    code = """
import importlib, pkgutil
import halu_tasks, halu_tasks.scorers, halu_tasks.tasks, halu_tasks.replies.embedded, halu_tasks.replies.score_file
halu_tasks.tasks.registry()
for info in pkgutil.walk_packages(halu_tasks.scorers.__path__, "halu_tasks.scorers."):
    importlib.import_module(info.name)
"""
    found = loaded_by(code)
    assert "halu_tasks.replies.scoring" in found
    assert not {name for name in found if name.partition(".")[0] in ("lm_eval", "inspect_ai", "torch", "datasets")}


# --- listings -------------------------------------------------------------------------------------


def test_help_names_every_command(here: Cli) -> None:
    shown = here("--help")
    assert shown.returncode == 0 and shown.stderr == ""
    commands = re.findall(r"^  ([a-z]+)  +[A-Z]", shown.stdout, re.M)
    assert commands == list(COMMANDS) and len(commands) == 14


def test_version(here: Cli) -> None:
    shown = here("--version")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"halu-tasks {__version__}\n", "")


def test_list_shows_every_task_and_group(here: Cli) -> None:
    shown = here("list")
    assert shown.returncode == 0 and shown.stderr == ""
    first = [line.split()[0] for line in shown.stdout.splitlines() if line]
    assert {*TASKS, *GROUPS} <= set(first)
    for task in TASKS.values():
        row = next(line for line in shown.stdout.splitlines() if line.startswith(f"{task.name} "))
        size = f"{task.data.size:,}" if task.data.size else "unknown"
        assert f" {size} " in row and task.headline in row and task.data.source.title in row


def test_list_as_json_names_the_metrics_of_both_modes(run: Run) -> None:
    listed = json.loads(run("list", "--json"))
    assert {task["name"]: task["items"] for task in listed["tasks"]} == {t.name: t.data.size for t in TASKS.values()}
    for task in listed["tasks"]:
        assert set(task["metrics"]) == {"strict", "paper"} and task["headline"] in task["metrics"]["strict"]
        assert task["source"].startswith("https://")
    assert {group["name"]: tuple(group["tasks"]) for group in listed["groups"]} == {
        group.name: group.members for group in GROUPS.values()
    }


def test_path_is_the_folder_of_the_yaml_files(run: Run) -> None:
    folder = Path(run("show", "--path").strip())
    assert {path.stem for path in folder.glob("**/*.yaml") if not path.stem.startswith("_")} == set(TASKS)


def test_data_lists_every_file_with_its_state(run: Run) -> None:
    cached = cached_path(SOURCES["refact"], "refact_single_error.jsonl")
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"x" * 1234)
    lines = run("data").splitlines()
    for source in SOURCES.values():
        for file in source.files:
            row = next(line for line in lines if file.name in line.split())
            missing = "manual" if file.url is None else "gated" if source.gated else "missing"
            state = "cached" if file.name == cached.name else missing
            assert row.startswith(source.name) and f" {state} " in row and source.licence in row
    assert " 1,234 " in next(line for line in lines if cached.name in line)
    assert any(os.environ["HALU_TASKS_CACHE"] in line for line in lines)


@pytest.mark.slow
def test_data_verify_of_what_is_cached(here: Cli, shared_data: Path) -> None:
    for file in SOURCES["refact"].files:
        path = cached_path(SOURCES["refact"], file.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((shared_data / "refact" / file.name).read_bytes())
    good = here("data", "verify", "refact")
    assert good.returncode == 0 and good.stdout.count(", as published") == 2

    path.write_bytes(path.read_bytes() + b"\n")
    bad = here("data", "verify", "refact")
    assert bad.returncode == 3 and bad.stdout.count(", as published") == 1
    first, last = bad.stderr.splitlines()
    assert str(path) in first and str(SOURCES["refact"].file(path.name).sha256) in first
    assert last == "halu-tasks: 1 of 2 files failed (above)"


def test_data_verify_of_what_is_not_cached(here: Cli) -> None:
    shown = here("data", "verify", "fave")
    assert shown.returncode == 2 and shown.stdout == ""
    assert "halu-tasks: fave: paper_dataset.json is not cached; fetch it with" in shown.stderr


@pytest.mark.parametrize("task", TASKS)
def test_items_are_what_both_harnesses_ask(task: str, run: Run) -> None:
    printed = [json.loads(line) for line in run("items", task, "--data", "sample", "--json").splitlines()]
    # a task with worked examples of its own prints them too
    assert all(len(row.pop("examples", [])) == TASKS[task].prompts.shots for row in printed)
    assert printed == [
        {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt} for item in items(task)
    ]


def test_items_as_text_and_a_limit(run: Run) -> None:
    shown = run("items", "refact_correction", "--data", "sample", "--limit", "2")
    first, second = items("refact_correction")[:2]
    assert [line for line in shown.splitlines() if line.startswith("--- id: ")] == [
        f"--- id: {first.id}",
        f"--- id: {second.id}",
    ]
    assert all(text in shown for item in (first, second) for text in (item.target, item.system, item.prompt))


def test_items_under_options(run: Run, tmp_path: Path) -> None:
    def ids(*arguments: str | Path) -> list[str]:
        lines = run("items", COMPARATIVE, "--data", "sample", "--json", *arguments).splitlines()
        return [f"{row['id']}={row['target']}" for row in map(json.loads, lines)]

    plain = ids()
    assert len(ids("--both-orders")) == 2 * len(plain) == 64
    assert ids("--seed", "1") != plain and ids("--seed", "0") == plain
    assert len(ids("--subset", "single_error")) == 52
    prompts = tmp_path / "p.yaml"
    prompts.write_text(f"{COMPARATIVE}: {{user: 'mine {{answer_a}}'}}")
    assert "\nmine " in run("items", COMPARATIVE, "--data", "sample", "--prompts", prompts, "--limit", "1")
    assert "step by step" in run("items", COMPARATIVE, "--data", "sample", "--cot", "--limit", "1")


# --- what is refused ------------------------------------------------------------------------------


def port_of_nobody() -> int:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return int(closed.getsockname()[1])


def one_line(shown: subprocess.CompletedProcess[str]) -> str:
    assert shown.returncode == 2, shown
    assert shown.stdout == "" and "Traceback" not in shown.stderr
    assert len(shown.stderr.splitlines()) == 1, shown.stderr
    assert shown.stderr.startswith("halu-tasks: ")
    return shown.stderr.strip()


@pytest.mark.parametrize("command", ["items", "score"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "refact_judgement",
            f"unknown task 'refact_judgement' (did you mean {INDEPENDENT!r}?); tasks: {', '.join(TASKS)}",
        ),
        (
            "refact_judgment",
            "'refact_judgment' is a group; name one of its tasks: "
            "refact_judgment_independent, refact_judgment_comparative",
        ),
    ],
)
def test_a_name_that_is_no_task(command: str, name: str, reason: str, here: Cli) -> None:
    arguments = [name, "none.jsonl"] if command == "score" else [name]
    assert one_line(here(command, *arguments, "--data", "sample")) == f"halu-tasks: {reason}"


@pytest.mark.slow
def test_missing_data_without_a_network(cli: Cli) -> None:
    shown = cli("items", "cfaith_tf", env={"HTTPS_PROXY": f"http://127.0.0.1:{port_of_nobody()}"})
    message = one_line(shown)
    assert "C-FAITH: cannot download https://" in message and "Connection refused" in message
    assert "--data PATH" in message and "the word sample" in message


def test_a_cached_file_with_another_checksum(here: Cli) -> None:
    path = cached_path(SOURCES["refact"], "refact_multi_error.jsonl")
    path.parent.mkdir(parents=True)
    path.write_text((SAMPLE / "refact" / path.name).read_text())
    message = one_line(here("items", COMPARATIVE))
    assert (
        f"{path}: sha256 is " in message
        and f"expected the published {SOURCES['refact'].file(path.name).sha256}" in message
    )


def test_a_malformed_row_is_named_even_after_good_ones(here: Cli, tmp_path: Path) -> None:
    lines = (SAMPLE / "refact" / "refact_multi_error.jsonl").read_text().splitlines()
    lines.insert(20, next(line for line in lines if "</neg>" in line).replace("</neg>", ""))
    path = tmp_path / "refact_multi_error.jsonl"
    path.write_text("\n".join(lines))
    replies = predictions(tmp_path / "p.jsonl", {"x": "A"})
    message = one_line(here("score", COMPARATIVE, replies, "--data", path))
    assert message.startswith(f"halu-tasks: {path}:21: <neg> is never closed")


def test_a_field_name_with_a_line_end_stays_in_one_line(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a\nb.jsonl"
    path.write_text('{"sample_id": "x", "quest\\nion": "?", "\\u2028\\ud800": 1}\n')
    assert "field 'question' is missing" in one_line(here("items", COMPARATIVE, "--data", path))


BAD_PREDICTIONS = {
    "unknown id 'nobody' (number of unknown ids: 1)": '{"id": "nobody", "output": "A"}',
    "(first in line 1)": "FIRST",
    "not JSON (Expecting": "{'id': 1}",
    'expected {"id": string, "output": string}': '{"id": "x", "reply": "A"}',
    "not UTF-8": "\udcff",
    "target is 'C', expected A or B": '{"id": "x", "output": "A", "target": "C"}',
    "target is '', expected A or B": '{"id": "x", "output": "A", "target": ""}',
}


@pytest.mark.parametrize("reason", BAD_PREDICTIONS)
def test_a_bad_prediction_is_named_by_file_and_line(reason: str, here: Cli, tmp_path: Path) -> None:
    first = json.dumps({"id": items(COMPARATIVE)[0].id, "output": "A"})
    bad = first if BAD_PREDICTIONS[reason] == "FIRST" else BAD_PREDICTIONS[reason]
    path = tmp_path / "p.jsonl"
    path.write_bytes(f"{first}\n\n{bad}\n".encode("utf-8", "surrogateescape"))
    out = tmp_path / "details.jsonl"
    message = one_line(here("score", COMPARATIVE, path, "--data", "sample", "--details", out))
    assert message.startswith(f"halu-tasks: {path}:3: ") and reason in message
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_target_where_the_order_is_fixed(here: Cli, tmp_path: Path) -> None:
    item = items(INDEPENDENT)[0]
    path = predictions(tmp_path / "p.jsonl", {item.id: {"output": "True", "target": "True"}})
    message = one_line(here("score", INDEPENDENT, path, "--data", "sample"))
    assert f"{path}:1: target is 'True', expected none, as the answers of {INDEPENDENT} have no order" in message


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_predictions_that_cannot_be_read(name: str, here: Cli, tmp_path: Path) -> None:
    message = one_line(here("score", COMPARATIVE, tmp_path / name, "--data", "sample"))
    assert str(tmp_path / name) in message and ("No such file" in message or "contains no files" in message)


@pytest.mark.parametrize("name", ["folder", "none/details.jsonl", "file/details.jsonl", "x" * 300])
def test_details_that_cannot_be_written_are_told_before_anything_is_scored(
    name: str, here: Cli, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    path = predictions(tmp_path / "p.jsonl", {"nobody": "A"})
    # the predictions are bad as well: were they read first, they would be what is told
    message = one_line(here("score", COMPARATIVE, path, "--data", "sample", "--details", tmp_path / name))
    assert message.startswith(f"halu-tasks: details {tmp_path / name}: ")
    assert {entry.name for entry in tmp_path.iterdir()} == {"folder", "file", "p.jsonl"}


def test_a_share_that_is_none(here: Cli, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", {})
    message = one_line(here("score", "cfaith_gen", path, "--data", "sample", "--judge-max-failures", "1.5"))
    assert message == "halu-tasks: option judge_max_failures: expected a number from 0 to 1, got 1.5"


@pytest.mark.slow
def test_an_unknown_judge(here: Cli, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", oracle("cfaith_gen"))
    message = one_line(here("score", "cfaith_gen", path, "--data", "sample", "--judge", "nosuch/model"))
    assert "judge 'nosuch/model'" in message and "nosuch" in message


@pytest.mark.slow
def test_a_judge_that_is_down_is_told_before_anything_is_scored(here: Cli, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", oracle("cfaith_gen"))
    address = f"http://127.0.0.1:{port_of_nobody()}/v1"
    message = one_line(
        here("score", "cfaith_gen", path, "--data", "sample", "--judge", "openai/gpt-4o", "--judge-base-url", address)
    )
    assert "judge openai/gpt-4o cannot be reached" in message
    assert re.search(r"[Cc]onnect", message) and " at 0x" not in message, "says why, for people"


def test_without_a_judge_one_line_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", oracle("cfaith_gen"))
    shown = cli("score", "cfaith_gen", path, "--data", "sample", "--json")
    assert shown.returncode == 0
    assert len(shown.stderr.splitlines()) == 1 and "cfaith_gen: no judge was named" in shown.stderr
    metrics = json.loads(shown.stdout)["metrics"]
    assert metrics == {"closer_to_correct": 1.0, "unparsed": 0.0, "abstained": 0.0, "empty": 0.0}


@pytest.mark.slow
def test_a_cache_that_is_no_folder_is_an_error_of_one_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert f"cannot write {file}" in one_line(cli("items", COMPARATIVE, env={"HALU_TASKS_CACHE": str(file)}))


def test_an_unknown_source(here: Cli) -> None:
    assert one_line(here("data", "fetch", "refakt")).startswith("halu-tasks: unknown source 'refakt' (did you mean")


@pytest.mark.parametrize(
    "arguments",
    [[], ["scores"], ["items"], ["items", COMPARATIVE, "--limit", "0"], ["score", COMPARATIVE, "p", "--scoring", "x"]],
)
def test_a_command_line_that_is_none_ends_with_2(arguments: list[str], here: Cli) -> None:
    shown = here(*arguments)
    assert shown.returncode == 2 and shown.stdout == "" and "Traceback" not in shown.stderr
    assert shown.stderr.startswith("halu-tasks: ") and "; see halu-tasks" in shown.stderr


# --- output that nobody takes ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["items", "cfaith_tf", "--data", "sample"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_closed_by_its_reader_is_no_error(arguments: list[str], unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "halu_tasks", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            cwd=sys.prefix,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error_of_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "halu_tasks", "list"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=sys.prefix
        )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1 and "No space left" in ended.stderr


@pytest.mark.slow
def test_items_are_utf_8_whatever_the_terminals_encoding(cli: Cli) -> None:
    shown = cli("items", "cfaith_tf", "--data", "sample", "--json", "--limit", "1", env={"PYTHONIOENCODING": "ascii"})
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["prompt"] == items("cfaith_tf")[0].prompt


# --- scores ---------------------------------------------------------------------------------------


def test_the_table_says_how_it_came_about(here: Cli, tmp_path: Path) -> None:
    replies = oracle(COMPARATIVE)
    replies.popitem()
    path = predictions(tmp_path / "p.jsonl", replies)
    shown = here("score", COMPARATIVE, path, "--data", "sample")
    assert shown.returncode == 3 and "1 of 32 items have no prediction" in shown.stderr
    head, _, columns, *rows = shown.stdout.splitlines()
    assert head == f"{COMPARATIVE} 1-sample  scoring: strict  data: sample  32 items, 1 without a prediction"
    assert columns.split() == ["metric", "value", "95%", "interval"]
    assert re.fullmatch(r"acc +0\.9688  \[0\.\d{4}, 0\.\d{4}\]", rows[1])


@pytest.mark.parametrize("task", one_of_each(TASKS))
@pytest.mark.parametrize("mode", ["strict", pytest.param("paper", marks=pytest.mark.slow)])
def test_gold_replies_reach_the_ceiling(task: str, mode: str, score: Callable[..., dict[str, Any]]) -> None:
    replies = oracle(task)
    if mode == "paper":
        # the published extraction deletes "0." from an answer such as 0.7
        replies = {id: text for id, text in replies.items() if not re.search(r"\d\.\d", text)}
    found = score(task, replies, "--scoring", mode, "--partial")
    assert list(found) == ["task", "scoring", "data", "n", "missing", "metrics", "intervals", "version", "run"]
    assert [found[key] for key in ("task", "scoring", "data", "missing")] == [task, mode, "sample", 0]
    assert found["n"] == len(replies) >= 0.8 * len(items(task))
    judged = TASKS[task].judged
    headline = judged.unjudged if judged else TASKS[task].headline_metric(mode).name
    best = 0.0 if headline == "hallucination_rate" else 1.0
    assert found["metrics"][headline] == best and found["metrics"]["unparsed"] == 0.0
    for name, (low, high) in found["intervals"].items():
        assert low <= found["metrics"][name] <= high
    assert set(found["intervals"]) <= set(found["metrics"])


@pytest.mark.parametrize("mode", ["strict", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", one_of_each(TASKS))
def test_missing_ids_are_scored_as_empty_replies_and_stay_in_n(
    task: str, mode: str, score: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    replies = oracle(task)
    gone = list(replies)[: min(8, len(replies) // 2)]
    out = tmp_path / "details.jsonl"
    found = score(
        task, {id: text for id, text in replies.items() if id not in gone}, "--scoring", mode, "--details", out
    )
    assert (found["n"], found["missing"]) == (len(replies), len(gone))
    share = len(gone) / len(replies)
    assert found["metrics"]["empty" if mode == "strict" else "unparsed"] == pytest.approx(share)
    if "acc" in found["metrics"]:
        assert found["metrics"]["acc"] == pytest.approx(1 - share)
    if "hallucination_rate" in found["metrics"]:
        assert found["metrics"]["hallucination_rate"] == pytest.approx(share)
    assert {row["id"] for row in details(out) if row["reason"] == "no prediction"} == set(gone)


def test_partial_scores_the_given_ids_alone(score: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    replies = dict(list(oracle(INDEPENDENT).items())[10:15])
    out = tmp_path / "details.jsonl"
    found = score(INDEPENDENT, replies, "--partial", "--details", out)
    assert (found["n"], found["missing"], found["metrics"]["acc"]) == (5, 0, 1.0)
    assert [row["id"] for row in details(out)] == list(replies)


@pytest.mark.parametrize("partial", [(), ("--partial",)])
@pytest.mark.parametrize("task", one_of_each(TASKS))
def test_nothing_to_score_is_an_error(task: str, partial: tuple[str, ...], here: Cli, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", {})
    told = one_line(here("score", task, path, "--data", "sample", *partial))
    assert told == f"halu-tasks: {path}: contains no predictions"


def test_missing_replies_are_told_on_standard_error(here: Cli, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", dict(list(oracle(COMPARATIVE).items())[:3]))
    shown = here("score", COMPARATIVE, path, "--data", "sample", "--json")
    told, *_ = shown.stderr.splitlines()
    assert shown.returncode == 3 and json.loads(shown.stdout)["missing"] == 29
    assert told.startswith(f"halu-tasks: 29 of 32 items have no prediction in {path} ") and "--partial" in told
    partial = here("score", COMPARATIVE, path, "--data", "sample", "--partial")
    assert partial.returncode == 0 and "no prediction in" not in partial.stderr


def test_a_json_array_a_table_and_a_compressed_file_give_the_same_figures(here: Cli, tmp_path: Path) -> None:
    task = "halueval_summarization"
    rows = [
        {"id": item.id, "output": f'{item.target}\n"so it is"', "probability": 0.8 if item.target == "Yes" else 0.3}
        for item in items(task)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    paths = [tmp_path / name for name in ("p.jsonl", "p.json", "p.csv", "p.jsonl.gz", "named.csv", "p.xlsx")]
    paths[0].write_text(lines)
    paths[1].write_text(json.dumps(rows, indent=1))
    paths[3].write_bytes(gzip.compress(lines.encode()))
    for path, head in ((paths[2], ("id", "output", "probability")), (paths[4], ("Item ID", "reply", "Probability"))):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([head, *(row.values() for row in rows)])
    book = Workbook()
    for cells in [("id", "output", "probability"), *(tuple(row.values()) for row in rows)]:
        book.active.append(cells)
    book.save(paths[5])
    figures = []
    for path in paths:
        fields = ("--id-field", "item_id", "--output-field", "reply") if path.stem == "named" else ()
        shown = here("score", task, path, "--data", "sample", "--json", *fields)
        assert shown.returncode == 0, shown.stderr
        figures.append(json.loads(shown.stdout)["metrics"])
    assert figures[0]["acc"] == 1.0 and figures[0]["no_probability"] == 0.0
    assert all(own == figures[0] for own in figures)


@pytest.mark.parametrize(
    ("name", "text", "where", "reason"),
    [
        ("p.csv", 'id,output\nx,"a\nb"\ny,c\n', 2, "unknown id 'x' (number of unknown ids: 2)"),
        ("p.csv", "id,output,probability\nx,a,high\n", 2, "probability is 'high', expected a number from 0 to 1"),
        (
            "p.csv",
            "id,reply\nx,a\n",
            1,
            "column 'output' is missing (has 'id', 'reply'); other names: halu-tasks score",
        ),
        ("p.json", '[\n{"id": "x", "output": "a"},\n{"id": 7, "output": "a"}]', 2, "found 'id': int"),
        ("p.json", '[{"qid": "x", "output": "a"}]', 1, "--id-field NAME"),
        ("p.json", '\n\n[{"id": "x", "output": "a"},', 3, "not JSON"),
    ],
)
def test_a_bad_row_of_an_array_or_a_table_is_named(
    name: str, text: str, where: int, reason: str, here: Cli, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    told = one_line(here("score", INDEPENDENT, path, "--data", "sample"))
    assert told.startswith(f"halu-tasks: {path}:{where}: ") and reason in told


@pytest.mark.parametrize(
    ("arguments", "command", "message"),
    [
        (("score", "--cot", "t", "p"), " score", "No such option '--cot'"),
        (("score", "t", "p", "--partail"), " score", "'--partial'?)"),
        (("report", "r", "--titel=x"), " report", "'--title'?)"),
        (("label", "items", "o", "-o", "t", "--sead", "1"), " label items", "Did you mean '--seed'?"),
        (("report", "r", "--tit", "x"), " report", "'--title'?)"),
        (
            ("run", "m", "--tasks", "refact", "--max-tokens", "9"),
            " run",
            "(options of the harness follow --, as in -- --max-tokens …)",
        ),
        (("scroe", "t", "p"), "", "no command 'scroe' (did you mean 'score'?)"),
        (("score", "t", "p", "--scoring", "papre"), " score", "'papre' is not one of 'strict', 'paper'"),
        (("items",), " items", "Missing argument 'TASK'"),
    ],
)
def test_a_misspelt_option_is_one_line_that_suggests_what_was_meant(
    arguments: tuple[str, ...], command: str, message: str, here: Cli
) -> None:
    shown = here(*arguments)
    assert shown.returncode == 2 and shown.stderr.count("\n") == 1
    assert shown.stderr.startswith("halu-tasks: ")
    assert shown.stderr.endswith(f"{message}; see halu-tasks{command} --help\n")


def test_partial_says_so_in_the_table(run: Run, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", dict(list(oracle(INDEPENDENT).items())[:5]))
    assert "5 items (partial: only the ids in the file)" in run(
        "score", INDEPENDENT, path, "--data", "sample", "--partial"
    )


def test_the_order_of_the_predictions_changes_nothing(score: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    replies = {item.id: text for item, text in zip(items(COMPARATIVE), "ABAB" * 8, strict=True)}
    outs = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    found = [
        score(COMPARATIVE, order, "--details", out)
        for order, out in zip((replies, dict(reversed(replies.items()))), outs, strict=True)
    ]
    assert [{**own, "run": {}} for own in found] == [{**found[0], "run": {}}] * 2
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_details_say_what_was_read_from_each_reply(score: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    first, second, third, *_ = items(COMPARATIVE)
    out = tmp_path / "details.jsonl"
    out.write_text("what stood here before")
    score(COMPARATIVE, {first.id: "Final Verdict: A", second.id: "I cannot say.", third.id: ""}, "--details", out)
    rows = details(out)
    assert len(rows) == 32 and all(
        list(row) == ["id", "answer", "outcome", "target", "scores", "reason"] for row in rows
    )
    assert [row["id"] for row in rows] == [item.id for item in items(COMPARATIVE)]
    assert rows[0]["answer"] == "A" and rows[0]["target"] == first.target
    assert rows[0]["scores"]["correct"] == float(first.target == "A") and rows[0]["reason"] == ""
    for row in rows[1:]:
        assert row["answer"] is None and row["scores"]["correct"] == 0.0 and row["reason"]
    assert (rows[2]["reason"], rows[3]["reason"]) == ("empty", "no prediction")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


@pytest.mark.parametrize("task", ["refact_localization_entity", "refact_localization_negation", "refact_correction"])
def test_details_of_string_tasks_are_lists(task: str, score: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "details.jsonl"
    replies = oracle(task)
    empty = next(iter(replies))
    score(task, {**replies, empty: ""}, "--details", out)
    first, *others = details(out)
    assert first["answer"] is None and first["reason"]
    for row in others:
        assert row["answer"] == row["target"] and isinstance(row["answer"], list)


def test_details_to_a_device_leave_it_what_it_is(score: Callable[..., dict[str, Any]]) -> None:
    score(COMPARATIVE, oracle(COMPARATIVE), "--details", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_target_turns_the_gold_round(score: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    turned = {"A": "B", "B": "A"}
    rows = {
        item.id: {"output": f"Final Verdict: {turned[item.target]}", "target": turned[item.target]}
        for item in items(COMPARATIVE)
    }
    out = tmp_path / "details.jsonl"
    assert score(COMPARATIVE, rows, "--details", out)["metrics"]["acc"] == 1.0
    assert [row["target"] for row in details(out)] == [turned[item.target] for item in items(COMPARATIVE)]
    plain = {id: str(row["output"]) for id, row in rows.items()}
    assert score(COMPARATIVE, plain)["metrics"]["acc"] == 0.0


def test_paper_reads_as_the_authors_did(score: Callable[..., dict[str, Any]]) -> None:
    # the published extraction takes the a of "Final" for the verdict
    replies = {item.id: "Final Verdict: Answer B is factually correct" for item in items(COMPARATIVE)}
    share = sum(item.target == "B" for item in items(COMPARATIVE)) / 32
    strict, paper = (score(COMPARATIVE, replies, "--scoring", mode) for mode in ("strict", "paper"))
    assert strict["metrics"]["acc"] == pytest.approx(share)
    assert paper["metrics"]["acc"] == pytest.approx(1 - share)
    assert (strict["scoring"], paper["scoring"]) == ("strict", "paper")


def test_a_long_file_is_scored_in_pieces_as_in_one(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = {item.id: text for item, text in zip(items(INDEPENDENT), "TF" * 32, strict=True)}
    path = predictions(tmp_path / "p.jsonl", {id: {"T": "True", "F": "False"}[text] for id, text in replies.items()})
    found = []
    for size in (1, 7, 10_000):
        monkeypatch.setattr("halu_tasks.replies.parts._BATCH", size)
        told = run("score", INDEPENDENT, path, "--data", "sample", "--json")
        found.append(re.sub(r'"created": ".*?"', "", told))
    assert found[0] == found[1] == found[2]


def test_a_judge_is_asked_once_for_all_and_only_when_every_id_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def scores_of(built: Built, replies: list[tuple[Item, Reply]], costs: Path) -> list[Score]:
        asked.append(len(replies))
        return [built.scoring.score(item, reply.text, "consistent") for item, reply in replies]

    monkeypatch.setattr("halu_tasks.replies.parts._BATCH", 3)
    monkeypatch.setattr("halu_tasks.replies.score_file.prepare_judge", lambda *_: None)
    monkeypatch.setattr("halu_tasks.replies.parts.scores_of", scores_of)
    five = dict(list(oracle("cfaith_gen").items())[:5])
    path = predictions(tmp_path / "p.jsonl", five)
    common = ["score", "cfaith_gen", str(path), "--data", "sample", "--judge", "some/model"]
    assert main(common) == 3
    # those without a reply, about which a judge has no question, follow
    assert asked[0] == 5 and sum(asked) == 36
    asked.clear()
    predictions(path, {**five, "nobody": "x"})
    assert main(common) == 2
    assert not asked


NASTY = {
    # the tests of the scorers have longer ones, and time them
    "a megabyte": "A" * 1_000_000,
    "many lines": "- a\n" * 50_000,
    "many brackets": "([{<" * 50_000,
    "control characters": "".join(map(chr, range(32))) + "\x7f\x9b",
    "a lone surrogate": "\ud800",
    "surrogates around": "\udfffyes\ud800",
    "right-to-left marks": "\u202e\u2066\u200f",
    "unclosed reasoning": "<think> Final Verdict: A. True. 正确",
    "reasoning never closed after an answer": "<think>x</think><think>Final Verdict: A",
    "nothing": "",
    "white space": " \t\r\n\u3000\u00a0\u2028",
}


@pytest.mark.parametrize("mode", ["strict", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=() if task == INDEPENDENT else pytest.mark.slow) for task in TASKS]
)
def test_no_output_stops_the_count(task: str, mode: str, score: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    asked = items(task)
    replies = {item.id: text for item, text in zip(asked, NASTY.values(), strict=False)}
    out = tmp_path / "details.jsonl"
    found = score(task, replies, "--scoring", mode, "--details", out)
    assert (found["n"], found["missing"]) == (len(asked), max(len(asked) - len(NASTY), 0))
    rows = dict(zip(NASTY, details(out), strict=False))
    unparsed = {"nothing", "white space"}
    if mode == "strict":
        unparsed |= {"unclosed reasoning", "reasoning never closed after an answer"}
    # a sample may be smaller than the list
    unparsed &= rows.keys()
    for name in unparsed:
        assert rows[name]["reason"], name
        if not (task == INDEPENDENT and mode == "paper"):
            # there an unparsed reply counts as the label that is wrong
            assert rows[name]["answer"] is None, name
        assert not any(
            rows[name]["scores"].get(fact) for fact in ("correct", "acc", "em", "exact", "closer_to_correct")
        )
    without = found["metrics"]["unparsed"] + found["metrics"].get("empty", 0.0)
    assert without >= (found["missing"] + len(unparsed)) / len(asked) - 1e-9


def test_marks_around_an_answer_do_not_hide_it(score: Callable[..., dict[str, Any]]) -> None:
    replies = {
        item.id: f"\u202b\ud800<think>Final Verdict: A or B?</think>\x00\nFinal Verdict: {item.target}\u200f\u202c"
        for item in items(COMPARATIVE)
    }
    assert score(COMPARATIVE, replies)["metrics"]["acc"] == 1.0


# --- the released replies -------------------------------------------------------------------------

PUBLISHED = {
    # task: (metric, gemma-3-27b-it, Llama-3.2-3B-Instruct), from the data folder's README
    INDEPENDENT: [("acc", 0.711, 0.517), ("f1_factual", 0.724, 0.345), ("f1_confabulated", 0.698, 0.618)],
    COMPARATIVE: [("acc", 0.552, 0.481), ("f1_macro", 0.539, 0.290)],
    "refact_localization_negation": [("acc", 0.622, 0.023), ("iou", 0.678, 0.023)],
    "refact_localization_entity": [("acc", 0.458, 0.041), ("iou", 0.351, 0.097)],
    "refact_correction": [("em", 0.250, 0.017)],
}


@pytest.mark.slow
@pytest.mark.parametrize("task", PUBLISHED)
def test_paper_gives_the_figures_of_the_released_replies(task: str, shared_data: Path, run: Run) -> None:
    for model, name in enumerate(OUTPUTS, 1):
        path = shared_data / "refact_outputs" / name / f"{task}.jsonl"
        # the released files lack some items, and the published figures are those of the others
        common = ("--data", shared_data, "--scoring", "paper", "--partial", "--json")
        found = json.loads(run("score", task, path, *common))
        assert (found["data"], found["n"]) == ("pinned", len(path.read_text().splitlines()))
        for row in PUBLISHED[task]:
            assert round(found["metrics"][row[0]], 3) == row[model], (name, row[0])
