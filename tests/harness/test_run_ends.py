"""`halu-tasks run` and what it starts end together, in both harnesses, and a folder has one run at a time."""

import json
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import Run

from halu_tasks.core.processes import guard

ITEMS = 64


def run_of(server: Any, harness: str, *more: str) -> list[str]:
    served = ("openai-api/local/x", "--base-url", server.url, "--harness", harness)
    tasks = ("--tasks", "refact_judgment_independent", "--data", "sample")
    return [sys.executable, "-m", "halu_tasks", "run", *served, *tasks, "-o", "out", *more]


def in_background() -> None:
    """A shell lets what it starts in the background ignore Ctrl-C; the tests may ignore SIGHUP."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "INSPECT_DISPLAY": "plain", "LOCAL_API_KEY": "", "INSPECT_CACHE_DIR": str(tmp_path / "kept")}


@pytest.mark.slow
@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_harness_ends_with_its_command_and_meets_no_second_one(
    harness: str, ending: int, serve: Run, tmp_path: Path, environment: dict[str, str]
) -> None:
    go_on = threading.Event()

    def reply(request: dict[str, Any]) -> str | int:
        return "Final Verdict: True" if len(server.asked) < 5 or go_on.wait(600) else 500

    server = serve(reply, delay=0.3)
    command = run_of(server, harness, *(["--", "--max-connections", "2"] if harness == "inspect" else []))
    started = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, preexec_fn=in_background,
    )  # fmt: skip
    while len(server.asked) < 5:
        assert started.poll() is None
        time.sleep(0.05)
    second = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    told = f"halu-tasks: out/openai-api_local_x: another process is working on it (process {started.pid} on "
    assert second.returncode == 2 and second.stderr.startswith(told) and second.stderr.count("\n") == 1
    # the first item, before the run and in it; the second command asks nothing
    assert server.asked.count(server.asked[0]) <= 2

    started.send_signal(ending)
    go_on.set()
    started.wait(600)
    # its harness holds the lock, too, and can ask nothing after its end
    with guard(tmp_path / "out" / "openai-api_local_x", wait=600):
        assert len(server.asked) < ITEMS


@pytest.mark.slow
def test_pickles_in_the_cache_of_replies_are_not_read(serve: Run, tmp_path: Path, environment: dict[str, str]) -> None:
    server = serve(lambda request: "Final Verdict: True")
    command = run_of(server, "lm_eval", "--no-check", "--limit", "2")
    assert subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=600).returncode == 0
    folder, mark = tmp_path / "out" / "openai-api_local_x", tmp_path / "ran"

    class Hostile:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
            return Path.touch, (mark,)

    (cache,) = folder.glob("replies*.db")
    with sqlite3.connect(cache) as db:
        assert [json.loads(row[0]) for row in db.execute("SELECT value FROM unnamed")] == ["Final Verdict: True"] * 2
        db.execute("UPDATE unnamed SET value = ?", (pickle.dumps(Hostile()),))
    db.close()
    shutil.rmtree(folder / "results")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "cache of lm-eval (--use_cache) is not JSON" in done.stderr
    assert len(server.asked) == 2 and not mark.exists()
