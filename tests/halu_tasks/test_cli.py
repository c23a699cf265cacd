"""The command line: what it prints, what it refuses, and what `score` makes of replies."""

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import CASES
from common import Capture, Cli, Run, read_rows, write_rows
from openpyxl import Workbook
from programs import run as program
from selections import one_of_each

from halu_tasks import __version__
from halu_tasks.cli import COMMANDS, main
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cached_path
from halu_tasks.data.locate import SAMPLE
from halu_tasks.data.sources import SOURCES
from halu_tasks.tasks import build, registry

TASKS, GROUPS = registry()
COMPARATIVE, INDEPENDENT = "refact_judgment_comparative", "refact_judgment_independent"


def items(task: str) -> list[Item]:
    return build(task, Options(data="sample")).items


def predictions(path: Path, rows: Mapping[str, str | dict[str, Any]]) -> Path:
    """A predictions file: id -> output, or id -> all that the row holds beside its id."""
    lines = [{"id": id} | (row if isinstance(row, dict) else {"output": row}) for id, row in rows.items()]
    return write_rows(path, lines)


def oracle(task: str, mode: str = "strict") -> dict[str, str]:
    asked = build(task, Options(data="sample", scoring=mode)).items
    return {item.id: TASKS[task].prompts.oracle(item) for item in asked}


@pytest.fixture
def run(capsys: Capture) -> Run:
    """`halu-tasks` in this process; its output, when it ends well."""

    def call(*arguments: str | Path) -> str:
        assert main([*map(str, arguments)]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return call


@pytest.fixture
def score(here: Cli, tmp_path: Path) -> Run:
    """The JSON of `halu-tasks score` on the sample."""

    def call(task: str, rows: Mapping[str, str | dict[str, Any]], *arguments: str | Path) -> dict[str, Any]:
        path = predictions(tmp_path / "predictions.jsonl", rows)
        shown = here("score", task, path, "--data", "sample", "--json", *arguments)
        assert shown.returncode in (0, 3), shown.stderr
        found = dict(json.loads(shown.stdout))
        assert (shown.returncode == 3) == (found["missing"] > 0)
        return found

    return call


# --- what is imported -----------------------------------------------------------------------------

HEAVY = ("scipy", "datasets", "lm_eval", "inspect_ai", "torch", "httpx", "pyarrow")


def loaded_by(code: str) -> set[str]:
    run = program(code=f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))")
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "words", ["--help", "--version", "score --help", "score", "report", "run --help", "build --help"]
)
def test_help_and_errors_load_little(words: str) -> None:
    found = loaded_by(f"from halu_tasks.cli import main\nmain({words.split()!r})")
    assert "halu_tasks.cli" in found and not found & {*HEAVY, "numpy", "halu_tasks.tasks"}


@pytest.mark.parametrize("words", ["list", "show --path fave"])
def test_listings_load_neither_harnesses_nor_readers_of_data(words: str) -> None:
    found = loaded_by(f"from halu_tasks.cli import main\nmain({words.split()!r})")
    assert "halu_tasks.tasks" in found
    assert not found & {*HEAVY, "jinja2", "tqdm", "halu_tasks.benchmarks.refact"}


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


def test_help_names_every_command_and_version_the_version(here: Cli) -> None:
    shown = here("--help")
    assert shown.returncode == 0 and shown.stderr == ""
    assert re.findall(r"^  ([a-z]+)  +[A-Z]", shown.stdout, re.M) == list(COMMANDS) and len(COMMANDS) == 14
    shown = here("--version")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"halu-tasks {__version__}\n", "")


def test_help_of_a_command_has_its_arguments_and_options(run: Run) -> None:
    shown = " ".join(run("score", "--help").split())
    assert "TASK: a task or group from" in shown and "PREDICTIONS…: rows of" in shown
    assert "--scoring [strict|paper] strict reads replies robustly" in shown and "[default: strict]" in shown


def commands_of(commands: Mapping[str, Any]) -> list[list[str]]:
    """The words of each command."""
    inner = {name: [[]] if isinstance(what, str) else commands_of(what) for name, (_, what, *_) in commands.items()}
    return [[name, *rest] for name, found in inner.items() for rest in found]


def test_every_command_has_its_help_without_docstrings() -> None:
    """`python -OO` and PYTHONOPTIMIZE=2 leave docstrings out."""
    code = f"""
from halu_tasks.cli import main
for words in {commands_of(COMMANDS)}:
    if main([*words, "--help"]):
        raise SystemExit(words)
for task in ("refact_correction", "fave"):
    main(["show", task])
"""
    usual, optimized = program(code=code), program(code=code, PYTHONOPTIMIZE="2")
    assert (optimized.returncode, optimized.stderr) == (0, "") and optimized.stdout == usual.stdout != ""


def test_a_file_name_that_is_not_utf_8_is_one_line(here: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "replies"
    folder.mkdir()
    file = folder / os.fsdecode(b"a\xff.jsonl")
    predictions(file, oracle(INDEPENDENT))
    for path in (file, folder):
        shown = here("score", INDEPENDENT, path, "--data", "sample")
        assert shown.returncode == 2 and shown.stderr.count("\n") == 1
        assert "a\\udcff.jsonl: is not UTF-8; if it is the name of a file or folder, rename it" in shown.stderr


@pytest.mark.parametrize("name", ["a/b", "..", ".", "/", "a b", ""])
def test_a_new_task_has_a_name_that_a_file_can_have(name: str, here: Cli, tmp_path: Path) -> None:
    shown = here("new", name, "--rows", write_rows(tmp_path / "rows.jsonl", [{"question": "a", "answer": "b"}]))
    assert shown.returncode == 2 and f"{name!r} cannot name a new task" in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_list_as_json_has_every_task_and_group(run: Run) -> None:
    listed = json.loads(run("list", "--json"))
    tasks = {task["name"]: (task["items"], task["headline"]) for task in listed["tasks"]}
    assert tasks == {task.name: (task.data.size, task.headline) for task in TASKS.values()}
    assert {group["name"]: tuple(group["tasks"]) for group in listed["groups"]} == {
        group.name: group.members for group in GROUPS.values()
    }


def test_path_is_that_of_the_yaml_files(run: Run) -> None:
    folder = Path(run("show", "--path").strip())
    assert {path.stem for path in folder.glob("**/*.yaml") if not path.stem.startswith("_")} == set(TASKS)
    for name, file in {"fave": "fave/fave.yaml", "refact": "refact/_refact.yaml"}.items():
        assert Path(run("show", "--path", name).strip()) == folder / file


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


@pytest.mark.parametrize("task", TASKS)
def test_items_are_what_both_harnesses_ask(task: str, run: Run) -> None:
    printed = [json.loads(line) for line in run("items", task, "--data", "sample", "--json").splitlines()]
    # a task with worked examples of its own prints them too
    assert all(len(row.pop("examples", [])) == TASKS[task].prompts.shots for row in printed)
    assert printed == [
        {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt}
        for item in build(task, Options(data="sample", fewshot=TASKS[task].prompts.shots)).shuffled_items
    ]


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
    shown = run("items", COMPARATIVE, "--data", "sample", "--cot", "--limit", "1")
    first = build(COMPARATIVE, Options(data="sample", cot=True)).shuffled_items[0]
    assert "step by step" in shown and [shown.count(f"--- id: {own}") for own in (first.id, "")] == [1, 1]
    assert first.target in shown and first.prompt in shown


# --- what is refused ------------------------------------------------------------------------------


def one_line(shown: subprocess.CompletedProcess[str]) -> str:
    assert shown.returncode == 2, shown
    assert shown.stdout == "" and "Traceback" not in shown.stderr
    assert len(shown.stderr.splitlines()) == 1, shown.stderr
    assert shown.stderr.startswith("halu-tasks: ")
    return shown.stderr.strip()


REFUSED = yaml.safe_load(Path(__file__).with_name("refused_commands.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_refused_is_one_line(command: str, here: Cli, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    replies = {"empty": {}, "right": oracle(INDEPENDENT), "nobody": {"nobody": "True"}}
    replies |= dict.fromkeys("cd", oracle("refact_correction"))
    for name, rows in replies.items():
        predictions(tmp_path / f"{name}.jsonl", rows)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    places = {"folder": tmp_path, "sample": SAMPLE, "long": "x" * 300}
    message = one_line(here(*(word.format(**places) for word in command.split())))
    assert REFUSED[command].format(**places) in message
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_malformed_row_is_named_even_after_good_ones(here: Cli, tmp_path: Path) -> None:
    lines = (SAMPLE / "refact" / "refact_multi_error.jsonl").read_text().splitlines()
    lines.insert(20, next(line for line in lines if "</neg>" in line).replace("</neg>", ""))
    path = tmp_path / "refact_multi_error.jsonl"
    path.write_text("\n".join(lines))
    replies = predictions(tmp_path / "p.jsonl", {"x": "A"})
    message = one_line(here("score", COMPARATIVE, replies, "--data", path))
    assert message.startswith(f"halu-tasks: {path}:21: <neg> at character ")


@pytest.mark.parametrize("command", CASES["a_name_does_not_reach_the_terminal_as_a_command"])
def test_a_name_does_not_reach_the_terminal_as_a_command(command: str, here: Cli, tmp_path: Path) -> None:
    bad = tmp_path / "\x1b[2J\x9b31m.yaml"
    bad.write_text('task: "\\e[31mred"\n"\\e[2J": 1\n')
    done = here(*(word.format(bad=bad, out=tmp_path / "out") for word in command.split()))
    assert done.returncode == 2 and r"\x1b[2J" in done.stdout + done.stderr
    assert not {"\x1b", "\x9b"} & {*done.stdout, *done.stderr}


def test_a_field_name_with_a_line_end_stays_in_one_line(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a\nb.jsonl"
    path.write_text('{"sample_id": "x", "quest\\nion": "?", "\\u2028\\ud800": 1}\n')
    assert "field 'question' is missing" in one_line(here("items", COMPARATIVE, "--data", path))


@pytest.mark.parametrize(("name", "text", "where", "reason"), CASES["a_bad_prediction_is_named_by_file_and_line"])
def test_a_bad_prediction_is_named_by_file_and_line(
    name: str, text: str, where: int, reason: str, here: Cli, tmp_path: Path
) -> None:
    path, first = tmp_path / name, json.dumps({"id": items(COMPARATIVE)[0].id, "output": "A"})
    if name == "p.jsonl":
        text = f"{first}\n\n{text}\n"
    path.write_text(text)
    out = tmp_path / "details.jsonl"
    message = one_line(here("score", COMPARATIVE, path, "--data", "sample", "--details", out))
    assert message.startswith(f"halu-tasks: {path}:{where}: ") and reason in message
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_target_where_the_order_is_fixed(here: Cli, tmp_path: Path) -> None:
    item = items(INDEPENDENT)[0]
    path = predictions(tmp_path / "p.jsonl", {item.id: {"output": "True", "target": "True"}})
    message = one_line(here("score", INDEPENDENT, path, "--data", "sample"))
    assert f"{path}:1: target is 'True', expected none, as the answers of {INDEPENDENT} have no order" in message


def test_without_a_judge_one_line_says_what_is_missing(tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", oracle("cfaith_gen"))
    shown = program("halu_tasks", "score", "cfaith_gen", path, "--data", "sample", "--json")
    assert shown.returncode == 0
    assert len(shown.stderr.splitlines()) == 1 and "cfaith_gen: no judge was named" in shown.stderr
    metrics = json.loads(shown.stdout)["metrics"]
    assert metrics == {"closer_to_correct": 1.0, "unparsed": 0.0, "abstained": 0.0, "empty": 0.0, "failed": 0.0}


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
def test_items_are_utf_8_whatever_the_terminals_encoding() -> None:
    asked = ("items", "cfaith_tf", "--data", "sample", "--json", "--limit", "1")
    shown = program("halu_tasks", *asked, PYTHONIOENCODING="ascii")
    assert shown.returncode == 0, shown.stderr
    prompt = json.loads(shown.stdout)["prompt"]
    assert not prompt.isascii() and prompt in {item.prompt for item in items("cfaith_tf")}


# --- scores ---------------------------------------------------------------------------------------


def test_the_table_says_how_it_came_about(here: Cli, tmp_path: Path) -> None:
    replies = oracle(COMPARATIVE)
    replies.popitem()
    path = predictions(tmp_path / "p.jsonl", replies)
    shown = here("score", COMPARATIVE, path, "--data", "sample")
    assert shown.returncode == 3 and "--partial" in shown.stderr
    assert shown.stderr.startswith(f"halu-tasks: 1 of 32 items have no prediction in {path} ")
    head, _, columns, *rows = shown.stdout.splitlines()
    assert head == f"{COMPARATIVE} 1-sample  scoring: strict  data: sample  32 items, 1 without a prediction"
    assert columns.split() == ["metric", "value", "95%", "interval"]
    assert re.fullmatch(r"acc +0\.9688  \[0\.\d{4}, 0\.\d{4}\]", rows[1])


@pytest.mark.parametrize("mode", ["strict", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", one_of_each(TASKS))
def test_missing_ids_are_scored_as_empty_replies_and_stay_in_n(
    task: str, mode: str, score: Run, tmp_path: Path
) -> None:
    replies = oracle(task, mode)
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
    assert {row["id"] for row in read_rows(out) if row["reason"] == "no prediction"} == set(gone)


def test_partial_scores_the_given_ids_alone(score: Run, tmp_path: Path) -> None:
    replies = dict(list(oracle(INDEPENDENT).items())[10:15])
    out = tmp_path / "details.jsonl"
    found = score(INDEPENDENT, replies, "--partial", "--details", out)
    assert list(found) == ["task", "scoring", "data", "n", "missing", "metrics", "intervals", "version", "run"]
    assert (found["n"], found["missing"], found["metrics"]["acc"]) == (5, 0, 1.0)
    assert [row["id"] for row in read_rows(out)] == list(replies)


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


def test_details_say_what_was_read_from_each_reply(score: Run, tmp_path: Path) -> None:
    first, second, third, *_ = items(COMPARATIVE)
    out = tmp_path / "details.jsonl"
    out.write_text("what stood here before")
    score(COMPARATIVE, {first.id: "Final Verdict: A", second.id: "I cannot say.", third.id: ""}, "--details", out)
    rows = read_rows(out)
    always = ["id", "cluster", "answer", "target", "facts", "tags", "reason", "outcome", "scoring"]
    assert len(rows) == 32 and all(list(row) == always for row in rows[1:])
    assert list(rows[0]) == [*always, "step", "place"] and (rows[0]["step"], rows[0]["place"]) == ("form", [0, 16])
    assert [row["id"] for row in rows] == [item.id for item in items(COMPARATIVE)]
    assert rows[0]["answer"] == "A" and rows[0]["target"] == first.target
    assert rows[0]["facts"]["correct"] == float(first.target == "A") and rows[0]["reason"] == ""
    for row in rows[1:]:
        assert row["answer"] is None and row["facts"]["correct"] == 0.0 and row["reason"]
    assert (rows[2]["reason"], rows[3]["reason"]) == ("empty", "no prediction")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_details_of_string_tasks_are_lists(score: Run, tmp_path: Path) -> None:
    out = tmp_path / "details.jsonl"
    replies = oracle("refact_localization_entity")
    score("refact_localization_entity", {**replies, next(iter(replies)): ""}, "--details", out)
    first, *others = read_rows(out)
    assert first["answer"] is None and first["reason"]
    for row in others:
        assert row["answer"] == row["target"] and isinstance(row["answer"], list)


def test_details_to_a_device_leave_it_what_it_is(score: Run) -> None:
    score(COMPARATIVE, oracle(COMPARATIVE), "--details", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_target_turns_the_gold_round(score: Run, tmp_path: Path) -> None:
    turned = {"A": "B", "B": "A"}
    rows = {
        item.id: {"output": f"Final Verdict: {turned[item.target]}", "target": turned[item.target]}
        for item in items(COMPARATIVE)
    }
    out = tmp_path / "details.jsonl"
    assert score(COMPARATIVE, rows, "--details", out)["metrics"]["acc"] == 1.0
    assert [row["target"] for row in read_rows(out)] == [turned[item.target] for item in items(COMPARATIVE)]
    plain = {id: str(row["output"]) for id, row in rows.items()}
    assert score(COMPARATIVE, plain)["metrics"]["acc"] == 0.0


@pytest.mark.parametrize(
    ("words", "structured"),
    [
        ("--structured", True),
        ("--structured true", True),
        ("--structured=True", True),
        ("--structured false", False),
        ("", False),
    ],
)
def test_a_switch_may_be_written_as_in_the_harnesses(words: str, structured: bool, here: Cli) -> None:
    told = here("items", "cfaith_tf", *words.split(), "--data", "sample", "--limit", "1").stdout
    assert ("JSON" in told) == structured


@pytest.mark.parametrize("limit", [10, 20])
def test_a_limit_draws_items_of_all_sources_and_keeps_pairs(limit: int, here: Cli) -> None:
    def asked(task: str) -> list[str]:
        rows = here("items", task, "--data", "sample", "--limit", str(limit), "--json").stdout.splitlines()
        return [json.loads(row)["id"] for row in rows]

    # the file has three summaries of one source after the other
    sources = {item.id: item.cluster for item in items("faithbench_judgment")}
    assert len({sources[id] for id in asked("faithbench_judgment")}) > limit / 3 + 1
    ids = [id.rpartition("/")[0] for id in asked("halueval_summarization")]
    assert ids[::2] == ids[1::2] and len(set(ids)) == limit / 2
