"""`halu-tasks run` of several models in both harnesses: what is killed continues, what fails stops nothing else, and
judges cost no more than is allowed."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from common import write_rows
from judges import COST, ITEMS, priced, questions

from halu_tasks.core.options import Options
from halu_tasks.tasks import build

DEAD = "http://127.0.0.1:9/v1"
TASKS = "refact_correction,halueval_summarization"
FIRST = [item.prompt for item in build("refact_correction", Options(data="sample")).items]
SECOND = [item.prompt for item in build("halueval_summarization", Options(data="sample")).items]


def several(folder: Path, tasks: str = TASKS, *more: str) -> list[str]:
    words = ["run", "models.yaml", "--tasks", tasks, "--data", "sample", "-o", str(folder), "--json", *more]
    return [sys.executable, "-m", "halu_tasks", *words]


def models_file(folder: Path, **models: dict[str, Any]) -> Path:
    """Write a models file; JSON is YAML."""
    path = folder / "models.yaml"
    path.write_text(json.dumps({"models": models}))
    return path


def printed_by(command: list[str], folder: Path, status: int) -> dict[str, Any]:
    """Run a command in a folder; return the models that it prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200)
    assert done.returncode == status, done.stderr
    return dict(json.loads(done.stdout)["models"])


@pytest.mark.slow
def test_a_server_of_ones_own_is_corrected_and_continued(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead address stops neither the others nor, once it is corrected, its model. No key is needed."""
    monkeypatch.delenv("OPENAI_API_KEY")
    server = serve(lambda request: "No")
    local = {"model": "openai-api/local/x"}
    good = {**local, "harness": "lm_eval", "base_url": server.url}
    models_file(tmp_path, wrong={**local, "base_url": DEAD}, good=good)
    command = several(tmp_path / "out")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 3, done.stderr
    models = json.loads(done.stdout)["models"]
    assert len(models["good"]["done"]) == 2 and models["wrong"]["done"] == []
    assert f"at {DEAD} cannot be reached" in models["wrong"]["message"]
    assert "wrong: no complete result of refact_correction, halueval_summarization: not run: " in done.stderr
    assert not (tmp_path / "out" / "wrong").exists()

    models_file(tmp_path, wrong={**local, "base_url": server.url}, good=good)
    asked = len(server.asked)
    printed_by(command, tmp_path, 0)
    # only the model that is not finished is asked, before that what its tasks ask first
    assert len(server.asked) == asked + len(FIRST) + len(SECOND) + 2
    written = (tmp_path / "out" / "wrong" / "command.txt").read_text()
    assert written.startswith("LOCAL_API_KEY=none inspect eval-set ") and f"--model-base-url {server.url}" in written


@pytest.mark.slow
@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_a_killed_run_continues_and_ends_in_one_report(harness: str, serve: Any, tmp_path: Path) -> None:
    """The API model is killed in its second task: its first is not asked again. `broken` has no server."""
    killed = threading.Event()

    def reply(request: dict[str, Any]) -> Any:
        # after some replies the server waits until the run is killed, however slow the machine is
        return "No" if len(server.asked) <= len(FIRST) + 10 or killed.wait(600) else 500

    server = serve(reply)
    api = {
        "inspect": {
            "model": "openai/gpt-4o",
            "arguments": {"responses_api": False},
            "options": {"max-connections": 1, "max-tasks": 1},
        },
        "lm_eval": {"harness": "lm_eval", "model": "openai-api/local/x"},
    }[harness]
    models_file(
        tmp_path,
        oracle={"harness": "lm_eval", "model": "halu-oracle"},
        api={**api, "base_url": server.url},
        broken={"model": "openai/x", "base_url": DEAD, "options": {"max-retries": 0}},
    )
    command = several(tmp_path / "out", TASKS, "--no-check")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as begun:
        while len(server.asked) < len(FIRST) + 11 and begun.poll() is None:
            time.sleep(0.05)
        begun.send_signal(signal.SIGKILL)
        begun.communicate(timeout=600)
    killed.set()
    assert begun.returncode == -signal.SIGKILL

    models = printed_by(command, tmp_path, 3)
    asked = [request["messages"][-1]["content"] for request in server.asked]
    twice = {prompt for prompt in asked if asked.count(prompt) > 1}
    assert set(asked) == {*FIRST, *SECOND}
    # Inspect keeps finished tasks; lm-eval keeps all replies but the one on its way
    assert not twice & set(FIRST) if harness == "inspect" else len(twice) <= 1
    assert {name: len(one["done"]) for name, one in models.items()} == {"oracle": 2, "api": 2, "broken": 0}
    assert models["broken"]["message"]
    report = json.loads((tmp_path / "out" / "report" / "report.json").read_text())
    assert len(report["entries"]) == 2 and len(report["results"]) == 4


@pytest.mark.slow
def test_the_judges_of_all_models_share_one_budget(serve: Any, tmp_path: Path) -> None:
    """Three models, of which two run at the same time, have different replies, so that no verdict is of two of them."""
    server = serve(priced)
    for name in "ab":
        rows = [{"id": item.id, "output": f"在火星上{name}{n}"} for n, item in enumerate(ITEMS)]
        write_rows(tmp_path / f"{name}.jsonl", rows)
    models_file(
        tmp_path,
        a={"model": "halu/replay", "arguments": {"predictions": "a.jsonl"}},
        b={"model": "halu/replay", "arguments": {"predictions": "b.jsonl"}},
        # the judge's server replies to other questions, too
        c={"harness": "lm_eval", "model": "openai-api/local/x", "base_url": server.url},
    )
    judge = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url, "--judge-price", "2.50/10"]
    command = several(tmp_path / "out", "cfaith_gen", *judge, "--executor-tasks", "2", "--judge-max-cost")
    models = printed_by([*command, "0.14"], tmp_path, 3)
    # what one process has in flight may exceed the limit for the other
    paid = questions(server)
    assert len(ITEMS) < paid < 3 * len(ITEMS) and paid * COST <= 0.14 + 8 * COST
    printed_by([*command, "0.14"], tmp_path, 3)
    assert questions(server) == paid
    assert any("judging stopped at judge_max_cost" in one["message"] for one in models.values())
    models = printed_by([*command, "1"], tmp_path, 0)
    assert questions(server) == 3 * len(ITEMS)
    assert all(one["done"] == ["cfaith_gen"] for one in models.values())
