"""A run that is killed half-way and resumed: nothing is lost, and nothing that was answered is asked again."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import write_rows
from judges import figures

pytestmark = pytest.mark.slow

CONNECTIONS = 4


def rule(request: dict[str, Any]) -> str:
    asked = str(request["messages"][-1]["content"])
    if "The claims are:" in asked:
        text = asked.rpartition("Text:\n")[2].strip().splitlines()[1]
        return "The claims are:\n" + "\n".join(f"- Point {n} of {text} holds." for n in range(8))
    if "single word" in asked:
        return "Yes"
    return f"Reasoning: so.\nSupported: {'No' if 'Point 3' in asked.rpartition('Claim:')[2] else 'Yes'}"


def inspect(*arguments: str, env: dict[str, str]) -> list[str]:
    return [sys.executable, "-m", "inspect_ai", *arguments, "--display", "none"]


@pytest.mark.parametrize("killed_after", [20, 90])
def test_a_killed_run_goes_on_where_it_was(killed_after: int, serve: Callable[..., Any], tmp_path: Path) -> None:
    server = serve(rule, delay=0.02)
    rows = [{"id": f"t{n}", "text": f"text {n}", "source": f"Source {n}.", "label": "Yes"} for n in range(15)]
    file = write_rows(tmp_path / "my.jsonl", rows)
    logs = tmp_path / "logs"
    env = {**os.environ, "OPENAI_API_KEY": "none", "INSPECT_CACHE_DIR": str(tmp_path / "replies")}
    args = ["-T", f"input={file}", "--model", "openai/gpt-4o", "-M", "responses_api=false"]
    args += ["--model-base-url", server.url, "--max-connections", str(CONNECTIONS), "--log-dir", str(logs)]
    command = inspect("eval", "halu_tasks/factored_verification", *args, env=env)
    run = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 90
    while len(server.asked) < killed_after and time.monotonic() < deadline and run.poll() is None:
        time.sleep(0.005)
    run.kill()
    run.communicate()
    time.sleep(0.2)
    asked_before = len(server.asked)
    assert killed_after <= asked_before < 15 * 9 + 1
    (log,) = logs.glob("*.eval")
    again = inspect("eval-retry", str(log), "--log-dir", str(logs), env=env)
    done = subprocess.run(again, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]

    from inspect_ai.log import read_eval_log

    finished = read_eval_log(str(max(logs.glob("*.eval"), key=lambda path: path.stat().st_mtime)))
    assert len(finished.samples) == 15
    assert figures(finished)["acc"] == 1.0 and figures(finished)["claims"] == 8
    times = Counter(str(request["messages"][-1]["content"]) for request in server.asked)
    assert len(times) == 15 * 9 + 1
    # what was on its way when the run was killed could not be kept
    assert sum(times.values()) - len(times) <= CONNECTIONS
    assert {str(sample.id) for sample in finished.samples} == {row["id"] for row in rows}
