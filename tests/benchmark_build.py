"""Throughput and memory of `halu-tasks build`, against a server that answers at once.

    python tests/benchmark_build.py [1000 5000 20000] [--tasks]

Prints, for each number of documents: documents a second, the peak memory of the process, and both as ratios of the
first line's, time also as processor time; then what a call takes, the length of its prompt, and the size of the folder.
With --tasks the first number of documents is built again by two tasks.
Each document costs six calls (HaluAgent with one type). Run by hand, on an idle machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Process, Queue, Value
from pathlib import Path
from typing import Any

FENCED = re.compile(r"(=====[0-9a-f]{16})\n(.*?)\n\1", re.DOTALL)
VERDICT = {"verdict": "yes", "reason": "so it is"}


def answer(asked: str) -> str:
    if "You write questions" in asked:
        text = FENCED.findall(asked)[0][1]
        support = text.partition(". ")[0] + "."
        row = {"question": f"What is said about {support[4:30]}?", "answer": support, "support": support}
        return json.dumps([row])
    if "You write wrong answers" in asked:
        return json.dumps(["It is the first.", "It is the second.", "It is the third."])
    if "You label wrong answers" in asked:
        return json.dumps(["EntErr", "EntErr", "SpaErr"])
    return json.dumps([VERDICT] * (1 if "You check a question" in asked else 3))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": self.reply(request["messages"][-1]["content"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reply(self, asked: str) -> str:
        return answer(asked)

    def log_message(self, *args: Any) -> None:
        """Quiet."""


def serve(ports: Queue[int], calls: Any, asked: Any) -> None:
    class Counting(Handler):
        def reply(self, text: str) -> str:
            with calls.get_lock():
                calls.value += 1
                asked.value += len(text.encode())
            return super().reply(text)

    ThreadingHTTPServer.request_queue_size = 512
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    server.daemon_threads = True
    ports.put(server.server_address[1])
    server.serve_forever()


def write_documents(path: Path, number: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for n in range(number):
            told = " ".join(f"The bridge of Town{n}x{k} was built in {1000 + (n * 7 + k) % 900}." for k in range(20))
            file.write(json.dumps({"id": f"d{n}", "title": f"Town {n}", "text": told}) + "\n")


def start(documents: Path, out: Path, port: int, *more: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "halu_tasks", "build", "haluagent", documents, "-o", out, "--model", "openai/gpt-4o",
        "--model-base-url", f"http://127.0.0.1:{port}/v1", "-M", "responses_api=false", "-T", "language=en",
        "-T", "types=EntErr", "--display", "none", *more,
    ]  # fmt: skip
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )


def used(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Seconds of processor time, and MiB at most, of a process that ends."""
    _, status, own = os.wait4(process.pid, 0)
    assert status == 0, f"the build ended with {status}"
    return own.ru_utime + own.ru_stime, own.ru_maxrss / 1024


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:] if text.isdecimal()] or [1000, 5000, 20000]
    ports: Queue[int] = Queue()
    calls, asked = Value("q", 0), Value("q", 0)
    server = Process(target=serve, args=(ports, calls, asked), daemon=True)
    server.start()
    port = ports.get()
    folder = Path(tempfile.mkdtemp())
    first: tuple[float, float, float] | None = None
    try:
        for size in sizes:
            documents = folder / f"{size}.jsonl"
            write_documents(documents, size)
            began, calls.value, asked.value = time.monotonic(), 0, 0
            processor, memory = used(start(documents, folder / f"out{size}", port))
            seconds = time.monotonic() - began
            first = first or (seconds / size, processor / size, memory)
            print(
                f"{size:6} documents: {size / seconds:6.1f} a second, {memory:5.0f} MiB; a document takes "
                f"{seconds / size / first[0]:.2f} times as long, {processor / size / first[1]:.2f} times the processor "
                f"time; memory is {memory / first[2]:.2f} times as much",
                flush=True,
            )
            files = sum(file.stat().st_size for file in (folder / f"out{size}").rglob("*") if file.is_file())
            print(
                f"  {calls.value / size:.1f} calls a document, {processor / calls.value * 1000:.1f} ms of processor "
                f"time a call, {asked.value / calls.value:.0f} bytes a prompt, {files / size / 1024:.1f} KB of files "
                "a document",
                flush=True,
            )
            if size != sizes[0]:
                shutil.rmtree(folder / f"out{size}")
        if "--tasks" in sys.argv:
            size, alone = sizes[0], first[0] if first else 0.0
            began = time.monotonic()
            used(start(folder / f"{size}.jsonl", folder / "two", port, "--executor-tasks", "2"))
            print(f"two tasks: {alone * size / (time.monotonic() - began):.2f} times as fast as one")
    finally:
        server.terminate()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
