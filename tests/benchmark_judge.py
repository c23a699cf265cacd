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
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.judging import judge as module
from halu_tasks.tasks import build

DELAY = 0.05
VERDICT = json.dumps({"reason": "the year differs", "verdict": "conflict"})
REPLY = json.dumps(
    {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": VERDICT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
    }
).encode()  # fmt: skip
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n".encode()


class Server:
    """Chat completions on loopback that take `DELAY`, in a thread; the probe is not counted."""

    def __init__(self) -> None:
        self.loop, started = asyncio.new_event_loop(), threading.Event()
        self.reset()

        async def run() -> None:
            listening = await asyncio.start_server(self.handle, "127.0.0.1", 0, backlog=512)
            self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
            started.set()
            await listening.serve_forever()

        threading.Thread(target=self.loop.run_until_complete, args=(run(),), daemon=True).start()
        started.wait()

    def reset(self) -> None:
        self.questions: Counter[str] = Counter()
        self.first, self.last = math.inf, 0.0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                length = re.search(rb"content-length: (\d+)", await reader.readuntil(b"\r\n\r\n"), re.IGNORECASE)
                assert length
                question = json.loads(await reader.readexactly(int(length[1])))["messages"][-1]["content"]
                if "=====" in question:
                    self.questions[question] += 1
                    self.first = min(self.first, time.monotonic())
                await asyncio.sleep(DELAY)
                self.last = time.monotonic()
                writer.write(HEAD + REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def judge(url: str, data: Path, cache: Path, connections: int, results: Any) -> None:
    """Judge replies to all items, and send the processor time that this took, without the start."""
    os.environ |= {"OPENAI_API_KEY": "none", "HALU_TASKS_CACHE": str(cache)}
    module.CONNECTIONS = connections
    module.SETTINGS = module.SETTINGS.model_copy(update={"max_connections": connections})
    options = Options(data=str(data), judge="openai/gpt-4o", judge_base_url=url)
    evaluation = build("cfaith_gen", options)
    assert evaluation.task.judged
    replies = [(item, f"回答 {number}") for number, item in enumerate(evaluation.items)]
    module.with_judge(options, evaluation.task.judged, module.Judge.reach)
    began = time.process_time()
    module.with_judge(options, evaluation.task.judged, lambda judge: judge.of_replies(replies, lambda: None))
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


def measure(server: Server, folder: Path, number: int) -> None:
    data, replies = write_data(folder, number)
    context = get_context("spawn")
    for connections in (2, 4, 8, 16, 64):
        server.reset()
        results = context.SimpleQueue()
        arguments = (server.url, data, folder / f"judge{connections}", connections, results)
        process = context.Process(target=judge, args=arguments)
        process.start()
        process.join()
        seconds, ideal = server.last - server.first, math.ceil(number / connections) * DELAY
        print(
            f"{server.questions.total()} verdicts, {connections} at once: {seconds:.2f} s, {seconds / ideal:.2f} "
            f"times the ideal; {results.get() / number * 1000:.1f} ms of processor time each",
            flush=True,
        )

    command = [sys.executable, "-m", "halu_tasks", "score", "cfaith_gen", str(replies), "--data", str(data)]
    command += ["--judge", "openai/gpt-4o", "--judge-base-url", server.url]

    def score(cache: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "HALU_TASKS_CACHE": str(folder / cache)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    score("first").wait()
    server.reset()
    score("first").wait()
    print(f"second run: {server.questions.total()} questions")
    server.reset()
    process = score("killed")
    while server.questions.total() < number / 2:
        time.sleep(0.01)
    process.kill()
    process.wait()
    score("killed").wait()
    twice = server.questions.total() - len(server.questions)
    print(f"killed halfway: {twice} questions asked twice, of at most 64 on their way")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("replies", type=int, nargs="?", default=1000)
    with tempfile.TemporaryDirectory() as name:
        measure(Server(), Path(name), parser.parse_args().replies)
