"""`halu-tasks run` in both harnesses, and the demo."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from programs import run as program

from halu_tasks.core.options import Options
from halu_tasks.results.read import read_results
from halu_tasks.runs.run_tasks import finished_tasks
from halu_tasks.tasks import build

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "getting-started.md").read_text(encoding="utf-8")
TASKS = ("--tasks", "refact_judgment_independent,cfaith_choice", "--data", "sample", "--limit", "4")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"LOCAL_API_KEY": "none", "OPENAI_API_KEY": "none", "INSPECT_CACHE_DIR": str(folder / "replies")}
    return program("halu_tasks", *arguments, folder=folder, **environment)


def entries(folder: Path) -> set[str]:
    return {entry["model"] for entry in json.loads((folder / "report" / "report.json").read_text())["entries"]}


@pytest.mark.slow
def test_runs_of_both_harnesses_end_in_one_report(serve: Any, tmp_path: Path) -> None:
    server = serve(lambda request: "Final Verdict: True")
    served = ("openai-api/local/NAME", "--base-url", server.url)
    first = run(tmp_path, "run", "halu/baseline", *TASKS)
    assert first.returncode == 0, first.stderr
    # what was run is printed before, and the harness shows its own table
    printed = shlex.split(first.stdout.splitlines()[0])
    assert printed[:3] == ["$", "inspect", "eval-set"] and "hallucination_rate" in first.stdout
    logs = {path: path.read_bytes() for path in (tmp_path / "halu-runs").rglob("*.eval")}
    for arguments in (("halu/oracle", "--harness", "lm_eval"), served, (*served, "--harness", "lm_eval")):
        done = run(tmp_path, "run", *arguments, *TASKS, "--", "--seed", "3")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0].endswith("--seed 3")
    assert all(path.read_bytes() == content for path, content in logs.items()) and len(logs) == 2
    assert entries(tmp_path / "halu-runs") == {"halu-baseline", "halu-oracle", "openai-api/local/NAME", "NAME"}
    # the same model in another harness is beside the first one
    assert {path.name for path in (tmp_path / "halu-runs").iterdir()} == {
        *("halu_baseline", "halu_oracle", "openai-api_local_NAME", "openai-api_local_NAME-2", "report"),
    }
    # lm-eval's chat template: a server of chat messages gets them
    assert all(request["messages"] for request in server.asked)


@pytest.mark.slow
@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_each_warning_about_replies_is_printed_once_and_on_one_line(serve: Any, tmp_path: Path, harness: str) -> None:
    served = ("openai-api/local/NAME", "--base-url", serve(lambda request: "Perhaps.").url, "--harness", harness)
    done = run(tmp_path, "run", *served, *TASKS)
    printed = done.stdout + done.stderr
    (line,) = (line for line in printed.splitlines() if "readable" in line)
    assert line.startswith("halu-tasks: NAME: cfaith_choice: 4 of 4 replies") and line.count("4 of 4 replies") == 2
    assert (printed.count("--structured") == 1 and "raise the token limit" in line) or harness == "inspect"


@pytest.mark.slow
def test_a_task_that_fails_in_inspect_is_a_failure(serve: Any, tmp_path: Path) -> None:
    """Inspect itself ends with status 0."""
    verdicts = iter(["Final Verdict: True"])  # the first request is made before the run, too
    server = serve(lambda request: next(verdicts, 401) if "Final Verdict" in json.dumps(request) else "A")
    served = ("openai-api/local/NAME", "--base-url", server.url)
    done = run(tmp_path, "run", *served, *TASKS, "-o", "out")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "openai-api_local_NAME: no complete result of refact_judgment_independent: " in done.stderr
    assert re.search(r"see the output above; \d of 8 replies are kept; the same command continues", done.stderr)
    assert "Error code: 401 - scripted failure" in done.stderr
    (finished,) = finished_tasks(tmp_path / "out" / "openai-api_local_NAME")
    assert finished == "cfaith_choice" and entries(tmp_path / "out") == {"openai-api/local/NAME"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a#b", "a%20b", "a\nb", "a?b::c"])
def test_a_run_in_a_folder_whose_path_has_signs_of_urls_is_read_back_and_continued(
    name: str, serve: Any, tmp_path: Path
) -> None:
    verdicts = iter(["Final Verdict: True"])
    server = serve(lambda request: next(verdicts, 401) if "Final Verdict" in json.dumps(request) else "A")
    served = ("run", "openai-api/local/NAME", "--base-url", server.url, *TASKS)
    (folder := tmp_path / name).mkdir()
    done = run(folder, *served)
    assert done.returncode == 3 and "no complete result of refact_judgment_independent: " in done.stderr
    asked = len(server.asked)
    server.answer = lambda request: "Final Verdict: True"
    done = run(folder, *served)
    assert done.returncode == 0 and "FileNotFoundError" not in done.stdout + done.stderr, done.stderr
    assert len(server.asked) - asked <= 2 + 4, "finished replies are not paid for again"
    assert entries(folder / "halu-runs") == {"openai-api/local/NAME"}
    assert len(read_results([str(folder)]).runs) == 2 and [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_continued_by_the_same_command(serve: Any, tmp_path: Path, ending: int) -> None:
    server = serve(lambda request: "Final Verdict: True", delay=0.3)
    command = [
        *(sys.executable, "-m", "halu_tasks", "run", "openai-api/local/NAME", "--base-url", server.url),
        *("--tasks", "refact_judgment_independent", "--data", "sample", "--", "--max-connections", "2"),
    ]
    environment = {**os.environ, "INSPECT_DISPLAY": "plain", "LOCAL_API_KEY": ""}
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True,
        env=environment,
        # what runs in the background of a shell ignores Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        while len(server.asked) < 8 and process.poll() is None:
            time.sleep(0.05)
        # Ctrl-C in a terminal reaches all processes; who ends a command ends only that one
        if ending == signal.SIGINT:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    assert "halu-tasks: interrupted; halu-runs keeps what is finished (openai-api_local_NAME: 0 of 1" in errors
    assert (kept := re.search(r"0 of 1 tasks, (\d+) of 64 replies\)", errors)) and 0 < int(kept[1]) < 64
    server.delay = 0
    asked = len(server.asked)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not read" not in done.stderr and "eval-retry" not in done.stderr
    assert done.stdout.startswith("$ LOCAL_API_KEY=none inspect eval-set halu_tasks/refact_judgment_independent ")
    # some items share a question
    prompts = {item.prompt for item in build("refact_judgment_independent", Options(data="sample")).items}
    assert len(server.asked) < 64 + asked
    assert {request["messages"][-1]["content"] for request in server.asked} == prompts
    results = read_results([str(tmp_path / "halu-runs")])
    assert len(results.runs) == 1 and len(results.runs[0].answers) == 64


@pytest.mark.slow
def test_the_demo_ends_in_a_report_that_says_what_it_printed(tmp_path: Path) -> None:
    for _ in range(2):
        # a second demo keeps the first one's results
        done = run(tmp_path, "demo")
        assert done.returncode == 0, done.stderr
    assert f"$ halu-tasks demo\n{done.stdout}" in PAGE
    assert "lm-eval and Inspect report the same values of all " in done.stdout
    lines = done.stdout.splitlines()
    folder = tmp_path / "halu-demo"
    report = json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))
    assert {column["task"] for column in report["columns"]} == {line.split()[0] for line in lines[4:8]}
    assert entries(folder) == {"halu-oracle", "halu-baseline"} <= {*lines[2].split()}
    # one result in both harnesses, of which nothing is left out
    page = (folder / "report" / "index.html").read_text()
    assert "left out" not in page and "the same answers and scores in " in page
    # lm-eval's results can be read, too
    results = read_results([str(folder / "lm_eval")])
    assert len(results.runs) == 8 and not results.skipped
