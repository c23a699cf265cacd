"""Throughput of judging, against a server that takes 50 ms: python tests/benchmark_judge.py [1000].

This many replies are judged at several numbers of concurrent questions. Prints, as the server saw it, the time from the
first question to the last verdict, divided by the ideal (the delay of each round of concurrent questions), and the
processor time of a verdict. Then `halu-tasks score` judges the replies, again, and once more
after SIGKILL halfway: prints the questions of the second run, and those asked twice, which were on their way when the
run was killed. No network; a few minutes; on an idle machine.
"""

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmark_build import Counts, counts
from loopback import completion

from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.judging import judge_model as module
from halu_tasks.tasks import build

DELAY = 0.05
COMPLETION = completion({"content": json.dumps({"reason": "the year differs", "verdict": "conflict"})}, 100, 50)


class Server:
    """Answers after a delay, in one thread, since one a connection would be slower than the judge."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, int]] = []
        self.last = 0.0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).lower():
                size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
                content = await reader.readexactly(size)
                data = json.dumps(await self.answer(head, content)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
                )
                writer.write(data)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, head: bytes, content: bytes) -> Any:
        if head.startswith(b"get"):
            if b"/reset" in head:
                self.asked = []
            first = min((begin for begin, _ in self.asked), default=self.last)
            return Counts(len(self.asked), len(self.asked) - len({key for _, key in self.asked}), 0, self.last - first)
        if b"=====" in content:
            self.asked.append((time.monotonic(), hash(content)))
        await asyncio.sleep(DELAY)
        self.last = time.monotonic()
        return COMPLETION


async def serve(ports: Any) -> None:
    running = await asyncio.start_server(Server().connected, "127.0.0.1", 0, backlog=512)
    ports.put(running.sockets[0].getsockname()[1])
    await running.serve_forever()


def run_server(ports: Any) -> None:
    asyncio.run(serve(ports))


@contextmanager
def server() -> Iterator[int]:
    """Serve in a process of its own; gives its port."""
    context = get_context("spawn")
    ports = context.SimpleQueue()
    process = context.Process(target=run_server, args=(ports,), daemon=True)
    process.start()
    try:
        yield ports.get()
    finally:
        process.terminate()


def judge(url: str, data: Path, cache: Path, connections: int, results: Any) -> None:
    """Judge replies to all items, and send the processor time that this took, without the start."""
    os.environ |= {"OPENAI_API_KEY": "none", "HALU_TASKS_CACHE": str(cache)}
    module.CONNECTIONS = connections
    module.SETTINGS = module.SETTINGS.model_copy(update={"max_connections": connections})
    options = Options(data=str(data), judge="openai/gpt-4o", judge_base_url=url)
    evaluation = build("cfaith_gen", options)
    assert evaluation.task.judge_spec
    replies = [(item, f"回答 {number}") for number, item in enumerate(evaluation.items)]
    module.with_judge(options, evaluation.task.judge_spec, module.Judge.reach)
    began = time.process_time()
    module.with_judge(options, evaluation.task.judge_spec, lambda judge: judge.judge_replies(replies, lambda: None))
    results.put(time.process_time() - began)


def write_data(folder: Path, number: int) -> tuple[Path, Path]:
    """Write a number of items and a reply to each."""
    data, replies = folder / "generative_qa.jsonl", folder / "replies.jsonl"
    rows = [json.loads(line) for line in (SAMPLE / "cfaith" / "generative_qa.jsonl").read_text().splitlines()]
    with data.open("w") as file:
        for n in range(number):
            row = rows[n % len(rows)]
            file.write(json.dumps({**row, "question": f"{row['question']} ({n})"}, ensure_ascii=False) + "\n")
    with replies.open("w") as file:
        for n, item in enumerate(build("cfaith_gen", Options(data=str(data))).items):
            file.write(json.dumps({"id": item.id, "output": f"回答 {n}"}) + "\n")
    return data, replies


def measure(port: int, folder: Path, number: int) -> None:
    url = f"http://127.0.0.1:{port}/v1"
    data, replies = write_data(folder, number)
    context = get_context("spawn")
    for connections in (2, 4, 8, 16, 64):
        counts(port, "/reset")
        results = context.SimpleQueue()
        arguments = (url, data, folder / f"judge{connections}", connections, results)
        process = context.Process(target=judge, args=arguments)
        process.start()
        process.join()
        found, ideal = counts(port), math.ceil(number / connections) * DELAY
        print(
            f"{found.calls} verdicts, {connections} at once: {found.seconds:.2f} s, {found.seconds / ideal:.2f} "
            f"times the ideal; {results.get() / number * 1000:.1f} ms of processor time each",
            flush=True,
        )

    command = [sys.executable, "-m", "halu_tasks", "score", "cfaith_gen", str(replies), "--data", str(data)]
    command += ["--judge", "openai/gpt-4o", "--judge-base-url", url]

    def score(cache: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "HALU_TASKS_CACHE": str(folder / cache)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    score("first").wait()
    counts(port, "/reset")
    score("first").wait()
    print(f"second run: {counts(port).calls} questions")
    counts(port, "/reset")
    process = score("killed")
    while counts(port).calls < number / 2:
        time.sleep(0.01)
    process.kill()
    process.wait()
    score("killed").wait()
    print(f"killed halfway: {counts(port).repeated} questions asked twice, of at most 64 on their way")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("replies", type=int, nargs="?", default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, server() as port:
        measure(port, Path(name), arguments.replies)
