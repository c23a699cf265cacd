"""Judges in batches, through the real client of OpenAI against a server on loopback that has its batch endpoints."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import get_model
from test_judge import ITEMS, by_rule

from halu_tasks.cli import main
from halu_tasks.lm_eval_adapter.models import ReplayLM

Capture = pytest.CaptureFixture[str]
SAMPLE = ["--data", "sample", "--judge-batch", "--judge", "openai/gpt-4o"]


class BatchServer(ThreadingHTTPServer):
    """Files, batches and chat completions; `live` are the questions outside of batches, `batches` those in them.

    Batches after the first `complete` never end. `refuses` is an HTTP status for every new batch.
    """

    daemon_threads = True

    def __init__(self, complete: int = 1_000, refuses: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.complete, self.refuses = complete, refuses
        self.live: list[dict[str, Any]] = []
        self.batches: list[list[dict[str, Any]]] = []
        self.files: list[bytes] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def batch(self, number: int) -> dict[str, Any]:
        done = number < self.complete
        return {
            "id": f"batch_{number}", "object": "batch", "endpoint": "/v1/chat/completions", "created_at": 0,
            "input_file_id": "in", "completion_window": "24h", "status": "completed" if done else "in_progress",
            "output_file_id": f"out_{number}" if done else None,
        }  # fmt: skip


def completion(request: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": by_rule(request)}
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
    }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BatchServer

    def do_POST(self) -> None:
        body, server = self.rfile.read(int(self.headers["Content-Length"])), self.server
        if self.path == "/v1/files":
            (content,) = re.findall(rb"\r\n\r\n(\{.*\})\s*\r\n--", body, re.DOTALL)
            server.files.append(content)
            self._send({"id": f"in_{len(server.files) - 1}", "object": "file", "bytes": 1, "created_at": 0,
                        "filename": "a", "purpose": "batch", "status": "processed"})  # fmt: skip
        elif self.path == "/v1/batches" and server.refuses:
            self._send({"error": {"message": "no batches today"}}, server.refuses)
        elif self.path == "/v1/batches":
            lines = server.files[int(json.loads(body)["input_file_id"].removeprefix("in_"))].splitlines()
            server.batches.append([json.loads(line) for line in lines])
            self._send(server.batch(len(server.batches) - 1))
        else:
            server.live.append(json.loads(body))
            self._send(completion(server.live[-1]))

    def do_GET(self) -> None:
        if found := re.search(r"/batches/batch_(\d+)", self.path):
            self._send(self.server.batch(int(found[1])))
        elif found := re.search(r"/files/out_(\d+)/content", self.path):
            rows = [
                {"custom_id": row["custom_id"], "error": None, "response": {"body": completion(row["body"])}}
                for row in self.server.batches[int(found[1])]
            ]
            self._send("".join(json.dumps(row) + "\n" for row in rows))

    def _send(self, body: Any, status: int = 200) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Quiet."""


@pytest.fixture
def serve_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., BatchServer]]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    # seconds after which Inspect looks for new questions and for verdicts; 15 in real runs
    for name in ("DEFAULT_BATCH_TICK", "DEFAULT_SEND_DELAY"):
        monkeypatch.setattr(f"inspect_ai.model._providers.util.batch.{name}", 0.05)
    monkeypatch.setattr("tenacity.wait_exponential_jitter.__call__", lambda *_: 0.0)
    started: list[BatchServer] = []

    def start(**arguments: Any) -> BatchServer:
        started.append(BatchServer(**arguments))
        return started[-1]

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    rows = [{"id": item.id, "output": item.target if n % 3 == 0 else f"不知道{n}"} for n, item in enumerate(ITEMS)]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_score_and_inspect_judge_in_batches_and_share_verdicts(
    serve_batches: Callable[..., BatchServer],
    replies: Path,
    capsys: Capture,
    halu_cache: Path,
    run_inspect: Callable[..., Any],
) -> None:
    server = serve_batches()
    judge = [*SAMPLE, "--judge-base-url", server.url]
    assert main(["score", "cfaith_gen", str(replies), *judge, "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["metrics"]["hallucination_rate"] == pytest.approx(24 / 36)
    assert sum(map(len, server.batches)) == 36 and len(server.batches) <= 2
    assert len(server.live) == 1  # whether the judge is there
    # the way in which a judge is asked is no part of what is compared
    assert "batch" not in scored["version"]
    assert main(["score", "cfaith_gen", str(replies), *[word for word in judge if word != "--judge-batch"]]) == 0
    assert len(server.live) == 2 and sum(map(len, server.batches)) == 36

    (halu_cache / "verdicts.sqlite3").unlink()
    grader = get_model("openai/gpt-4o", base_url=server.url, memoize=False, responses_api=False)
    log = run_inspect(
        "cfaith_gen", "halu/replay", {"judge_batch": True}, model_args={"predictions": str(replies)},
        model_roles={"grader": grader}, max_connections=3,
    )  # fmt: skip
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["hallucination_rate"].value == pytest.approx(24 / 36)
    assert sum(map(len, server.batches)) == 72
    assert len(server.live) == 3


@pytest.mark.slow
def test_lm_eval_judges_in_batches(
    serve_batches: Callable[..., BatchServer], replies: Path, run_lm_eval: Callable[..., dict[str, Any]]
) -> None:
    server = serve_batches()
    options = {"halu_judge": "openai/gpt-4o", "halu_judge_base_url": server.url, "halu_judge_batch": True}
    found = run_lm_eval(["cfaith_gen"], ReplayLM(str(replies)), options)["results"]["cfaith_gen"]
    assert found["hallucination_rate,none"] == pytest.approx(24 / 36)
    assert sum(map(len, server.batches)) == 36 and len(server.live) == 1


def test_a_provider_without_batches_is_an_error_before_anything_is_asked(
    serve_batches: Callable[..., BatchServer], replies: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve_batches()
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    arguments = ["--data", "sample", "--judge-batch", "--judge", "openai-api/local/m", "--judge-base-url", server.url]
    assert main(["score", "cfaith_gen", str(replies), *arguments]) == 2
    error = capsys.readouterr().err
    assert "judge openai-api/local/m: Inspect has no batch mode for this provider" in error and error.count("\n") == 1
    assert not server.live and not server.batches


# an error that is worth another try takes half a minute
@pytest.mark.parametrize("status", [400, pytest.param(503, marks=pytest.mark.slow)])
def test_batches_that_cannot_be_sent_end_the_run_with_the_reason(
    status: int, serve_batches: Callable[..., BatchServer], replies: Path, capsys: Capture
) -> None:
    server = serve_batches(refuses=status)
    assert main(["score", "cfaith_gen", str(replies), *SAMPLE, "--judge-base-url", server.url]) == 2
    error = capsys.readouterr().err
    assert "no batches today" in error and "halu-tasks score cfaith_gen" in error and "--judge-batch" in error


@pytest.mark.slow
def test_a_killed_run_does_not_pay_again_for_what_had_come_back(
    serve_batches: Callable[..., BatchServer], replies: Path, tmp_path: Path, capsys: Capture, halu_cache: Path
) -> None:
    server = serve_batches(complete=1)
    # the first batch comes back, the second does not
    program = (
        "import sys, inspect_ai.model._providers.util.batch as batch\n"
        "batch.DEFAULT_BATCH_TICK = batch.DEFAULT_SEND_DELAY = 0.05\n"
        "import halu_tasks.judging.judge as judge\n"
        "judge._PENDING_IN_BATCHES = 20\n"
        "from halu_tasks.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    command = ["score", "cfaith_gen", str(replies), *SAMPLE, "--judge-base-url", server.url]
    run = subprocess.Popen(
        [sys.executable, "-c", program, *command], env={**os.environ, "HALU_TASKS_CACHE": str(halu_cache)}
    )
    deadline = time.monotonic() + 60
    while len(server.batches) < 2 and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    came_back, lost = map(len, server.batches)
    assert came_back >= 1
    server.complete = 1_000
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["hallucination_rate"] == pytest.approx(24 / 36)
    asked = [row["body"]["messages"][-1]["content"] for batch in server.batches for row in batch]
    assert len(asked) - len(set(asked)) == lost and len(set(asked)) == 36


@pytest.mark.slow
def test_what_is_asked_in_batches_is_what_is_asked_live(
    serve_batches: Callable[..., BatchServer], replies: Path, halu_cache: Path
) -> None:
    server = serve_batches()
    command = ["score", "cfaith_gen", str(replies), *SAMPLE, "--judge-base-url", server.url]
    main(command)
    (halu_cache / "verdicts.sqlite3").unlink()
    main([word for word in command if word != "--judge-batch"])
    live = [request for request in server.live if "=====" in request["messages"][-1]["content"]]
    in_batches = [row["body"] for batch in server.batches for row in batch]

    def key(request: dict[str, Any]) -> str:
        return json.dumps(request, sort_keys=True)

    assert sorted(in_batches, key=key) == sorted(live, key=key)
