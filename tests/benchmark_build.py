"""Throughput and memory of `halu-tasks build`, against a server that answers at once.

    python tests/benchmark_build.py [1000 5000 20000] [--tasks]

Prints, for each number of documents: documents a second, the peak memory of the process, and both as ratios of the
first line's, time also as processor time; then what a call takes, the length of its prompt, and the size of the folder.
With --tasks the first number of documents is built again by two tasks.
Each document costs six calls (HaluAgent with one type). Run by hand, on an idle machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from multiprocessing import Process, Queue
from pathlib import Path
from typing import ClassVar, NamedTuple

from loopback import Handler, completion

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


class Counts(NamedTuple):
    """What a server was asked: calls, calls that it had answered before, bytes, and seconds from first to last."""

    calls: int
    repeated: int
    size: int
    seconds: float


class Answering(Handler):
    """Answers, and counts; the question whether the model is there is not counted."""

    reply: ClassVar[Callable[[str], str]]
    asked: ClassVar[list[tuple[float, bytes, int]]] = []
    last: ClassVar[float] = 0.0

    def do_POST(self) -> None:
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        if not text.startswith("Reply with the "):
            data = text.encode()
            Answering.asked.append((time.monotonic(), hashlib.sha256(data).digest(), len(data)))
        Answering.last = time.monotonic()
        self.send(200, completion({"content": Answering.reply(text)}, 100, 50))

    def do_GET(self) -> None:
        asked = Answering.asked
        if self.path == "/reset":
            Answering.asked = []
        repeated = len(asked) - len({digest for _, digest, _ in asked})
        first = min((begin for begin, _, _ in asked), default=Answering.last)
        self.send(200, [len(asked), repeated, sum(size for _, _, size in asked), Answering.last - first])


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: connections end when a client is killed."""


def serve(ports: Queue[int], reply: Callable[[str], str]) -> None:
    Answering.reply = staticmethod(reply)
    running = Server(("127.0.0.1", 0), Answering)
    ports.put(running.server_address[1])
    running.serve_forever()


@contextmanager
def server(reply: Callable[[str], str] = answer) -> Iterator[int]:
    """Serve in a process of its own; gives its port."""
    ports: Queue[int] = Queue()
    process = Process(target=serve, args=(ports, reply), daemon=True)
    process.start()
    try:
        yield ports.get()
    finally:
        process.terminate()


def counts(port: int, path: str = "/") -> Counts:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as found:
        return Counts(*json.loads(found.read()))


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
    first: tuple[float, float, float] | None = None
    with tempfile.TemporaryDirectory() as name, server() as port:
        folder = Path(name)
        for size in sizes:
            documents = folder / f"{size}.jsonl"
            write_documents(documents, size)
            counts(port, "/reset")
            began = time.monotonic()
            processor, memory = used(start(documents, folder / f"out{size}", port))
            seconds, asked = time.monotonic() - began, counts(port)
            first = first or (seconds / size, processor / size, memory)
            print(
                f"{size:6} documents: {size / seconds:6.1f} a second, {memory:5.0f} MiB; a document takes "
                f"{seconds / size / first[0]:.2f} times as long, {processor / size / first[1]:.2f} times the processor "
                f"time; memory is {memory / first[2]:.2f} times as much",
                flush=True,
            )
            files = sum(file.stat().st_size for file in (folder / f"out{size}").rglob("*") if file.is_file())
            print(
                f"  {asked.calls / size:.1f} calls a document, {processor / asked.calls * 1000:.1f} ms of processor "
                f"time a call, {asked.size / asked.calls:.0f} bytes a prompt, {files / size / 1024:.1f} KB of files "
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


if __name__ == "__main__":
    main()
