"""`halu-tasks sweep` with both harnesses: a killed sweep continues, a model that fails does not stop the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.core.options import Options
from halu_tasks.tasks import build

pytestmark = pytest.mark.slow

TASKS = "refact_correction,halueval_summarization"
FIRST = [item.prompt for item in build("refact_correction", Options(data="sample")).items]


def sweep(folder: Path) -> list[str]:
    words = ["sweep", "models.yaml", "--tasks", TASKS, "--data", "sample", "-o", str(folder), "--json"]
    return [sys.executable, "-m", "halu_tasks", *words]


def test_a_killed_sweep_continues_and_ends_in_one_report(serve: Any, tmp_path: Path) -> None:
    """The API model is killed in its second task: its first is not asked again. `broken` has no server."""
    killed = threading.Event()

    def reply(request: dict[str, Any]) -> Any:
        # after some replies the server waits until the sweep is killed, however slow the machine is
        return "No" if len(server.asked) <= len(FIRST) + 10 or killed.wait(600) else 500

    server = serve(reply)
    (tmp_path / "models.yaml").write_text(
        json.dumps(
            {
                "models": {
                    "oracle": {"harness": "lm_eval", "model": "halu-oracle"},
                    "api": {
                        "model": "openai/gpt-4o",
                        "arguments": {"responses_api": False},
                        "options": {"model-base-url": server.url, "max-connections": 1, "max-tasks": 1},
                    },
                    "broken": {
                        "model": "openai/x",
                        "options": {"model-base-url": "http://127.0.0.1:9/v1", "max-retries": 0},
                    },
                }
            }
        )
    )
    environment = os.environ | {"OPENAI_API_KEY": "none", "INSPECT_CACHE_DIR": str(tmp_path / "replies")}
    command = sweep(tmp_path / "out")
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as begun:
        while len(server.asked) < len(FIRST) + 11 and begun.poll() is None:
            time.sleep(0.05)
        begun.send_signal(signal.SIGKILL)
        begun.communicate(timeout=600)
    killed.set()
    assert begun.returncode == -signal.SIGKILL

    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 3, done.stderr
    asked = [request["messages"][-1]["content"] for request in server.asked]
    assert sum(prompt in FIRST for prompt in asked) == len(FIRST)
    told = json.loads(done.stdout)
    assert {name: len(one["done"]) for name, one in told["models"].items()} == {"oracle": 2, "api": 2, "broken": 0}
    assert told["models"]["broken"]["message"]
    report = json.loads((tmp_path / "out" / "report" / "report.json").read_text())
    assert len(report["entries"]) == 2 and len(report["results"]) == 4
