"""Throughput of judging, against a server that takes 50 ms: python tests/benchmark_judge.py [1000].

This many replies are judged at several numbers of concurrent questions. Prints, as the server saw it, the time from the
first question to the last verdict, divided by the ideal (the delay of each round of concurrent questions), and the
processor time of a verdict. Then `halu-tasks score` judges the replies, again, and once more
after SIGKILL halfway: prints the questions of the second run, and those asked twice, which were on their way when the
run was killed. No network; a few minutes; on an idle machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

DELAY = 0.05
VERDICT = json.dumps({"reason": "the year differs", "verdict": "conflict"})


class Seen(NamedTuple):
    """What the server saw since it was reset: questions, distinct ones, seconds, and the most at once."""

    questions: int
    distinct: int
    seconds: float
    concurrency: int


class Server:
    """Chat completions on loopback that take `DELAY`; the probe is not counted."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.questions: Counter[str] = Counter()
        self.waiting = self.most = 0
        self.first, self.last = math.inf, 0.0

    def seen(self) -> Seen:
        return Seen(self.questions.total(), len(self.questions), self.last - self.first, self.most)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                assert length
                question = json.loads(await reader.readexactly(int(length[1])))["messages"][-1]["content"]
                probe = "=====" not in question
                if not probe:
                    self.questions[question] += 1
                    self.waiting += 1
                    self.most = max(self.most, self.waiting)
                    self.first = min(self.first, time.monotonic())
                await asyncio.sleep(DELAY)
                message = {"role": "assistant", "content": VERDICT}
                body = json.dumps(
                    {
                        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
                        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
                    }
                ).encode()  # fmt: skip
                if not probe:
                    self.waiting -= 1
                    self.last = time.monotonic()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def serve(pipe: Connection) -> None:
    """Serve for ever; for each message in the pipe, send what was seen, and forget it."""

    async def run() -> None:
        server = Server()
        listening = await asyncio.start_server(server.handle, "127.0.0.1", 0, backlog=512)
        pipe.send(listening.sockets[0].getsockname()[1])

        def tell() -> None:
            reset = pipe.recv()
            pipe.send(server.seen())
            if reset:
                server.reset()

        asyncio.get_running_loop().add_reader(pipe.fileno(), tell)
        await asyncio.Event().wait()

    asyncio.run(run())


def judge(url: str, data: Path, cache: Path, connections: int, pipe: Connection) -> None:
    """Judge replies to all items, and send the processor time that this took, without the start."""
    os.environ |= {"OPENAI_API_KEY": "none", "HALU_TASKS_CACHE": str(cache)}
    from halu_tasks.core.options import Options
    from halu_tasks.judging import judge as module
    from halu_tasks.judging.judge import judge_now, reach_now
    from halu_tasks.tasks import build

    module.CONNECTIONS = connections
    module.SETTINGS = module.SETTINGS.model_copy(update={"max_connections": connections})
    options = Options(data=str(data), judge="openai/gpt-4o", judge_base_url=url)
    evaluation = build("cfaith_gen", options)
    assert evaluation.task.judged
    replies = [(item, f"回答 {number}") for number, item in enumerate(evaluation.items)]
    reach_now(options, evaluation.task.judged)
    began = time.process_time()
    judge_now(options, evaluation.task.judged, replies, lambda: None)
    pipe.send(time.process_time() - began)


class Bench:
    """Runs of `halu-tasks score` against a server, each with a cache of its own unless it is named."""

    def __init__(self, replies: int) -> None:
        self.pipe, other = Pipe()
        self.server = Process(target=serve, args=(other,), daemon=True)
        self.server.start()
        self.url = f"http://127.0.0.1:{self.pipe.recv()}/v1"
        self.folder = Path(tempfile.mkdtemp())
        self.replies = self.folder / "replies.jsonl"
        self.data = self.folder / "generative_qa.jsonl"
        self._write(replies)

    def _write(self, number: int) -> None:
        from halu_tasks.core.options import Options
        from halu_tasks.data.locate import SAMPLE
        from halu_tasks.tasks import build

        rows = [json.loads(line) for line in (SAMPLE / "cfaith" / "generative_qa.jsonl").read_text().splitlines()]
        with self.data.open("w") as file:
            for n in range(number):
                row = rows[n % len(rows)]
                file.write(json.dumps({**row, "question": f"{row['question']} ({n})"}, ensure_ascii=False) + "\n")
        with self.replies.open("w") as file:
            for n, item in enumerate(build("cfaith_gen", Options(data=str(self.data))).items):
                file.write(json.dumps({"id": item.id, "output": f"回答 {n}"}) + "\n")

    def ask(self, connections: int) -> tuple[Seen, float]:
        """Run `judge` in a new process; return what the server saw, and the processor time in seconds."""
        ours, other = Pipe()
        cache = self.folder / f"judge{connections}"
        process = Process(target=judge, args=(self.url, self.data, cache, connections, other))
        process.start()
        spent: float = ours.recv()
        process.join()
        return self.seen(), spent

    def start(self, cache: str, *more: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable, "-m", "halu_tasks", "score", "cfaith_gen", self.replies, "--data", self.data, "--judge",
            "openai/gpt-4o", "--judge-base-url", self.url, *more,
        ]  # fmt: skip
        environment = {**os.environ, "OPENAI_API_KEY": "none", "HALU_TASKS_CACHE": str(self.folder / cache)}
        return subprocess.Popen(
            list(map(str, command)), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def seen(self, reset: bool = True) -> Seen:
        self.pipe.send(reset)
        seen: Seen = self.pipe.recv()
        return seen


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("replies", type=int, nargs="?", default=1000)
    number = parser.parse_args().replies
    bench = Bench(number)
    try:
        for connections in (2, 4, 8, 16, 64):
            seen, spent = bench.ask(connections)
            ideal = math.ceil(seen.questions / connections) * DELAY
            print(
                f"{seen.questions} verdicts, {connections} at once: {seen.seconds:.2f} s, {seen.seconds / ideal:.2f} "
                f"times the ideal; {spent / number * 1000:.1f} ms of processor time each",
                flush=True,
            )
        os.wait4(bench.start("first").pid, 0)
        bench.seen()
        os.wait4(bench.start("first").pid, 0)
        print(f"second run: {bench.seen().questions} questions")
        process = bench.start("killed")
        while bench.seen(reset=False).questions < number / 2:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.wait4(bench.start("killed").pid, 0)
        seen = bench.seen()
        print(f"killed halfway: {seen.questions - seen.distinct} questions asked twice, of at most 64 on their way")
    finally:
        bench.server.terminate()
        shutil.rmtree(bench.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
