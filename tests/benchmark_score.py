"""What `halu-tasks score` costs for many replies, as ratios: `python tests/benchmark_score.py`.

Replies are scored from shards of JSON Lines, each run in a process of its own: several epochs of the same items, the
first number of them with one process and each number with two, and data of one's own with as many items as replies.
Printed are the wall and the processor time, the largest memory of a process, and the time per reply, also as a ratio to
that of the first line. Ratios of wall times need an otherwise idle machine; the load is printed. With the default
numbers it takes about half an hour.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmark import grow_sample

TASK = "refact_judgment_independent"
REPLIES = (
    "Final Verdict: True",
    "The answer agrees with what is known of the subject.\n\nFinal Verdict: True",
    "The mechanism it describes is the opposite of the real one.\n\nFinal Verdict: False",
    "I cannot say.",
)
ITEMS = 2_000


class Run(NamedTuple):
    wall: float
    processor: float
    megabytes: float
    figures: str


def replies(data: Path, epochs: int, seed: int = 0) -> Iterator[str]:
    """A line for each reply, in the order of the data."""
    draw = random.Random(seed)
    for epoch in range(1, epochs + 1):
        with (data / "refact_multi_error.jsonl").open() as file:
            for line in file:
                for which in ("original", "confabulated"):
                    id = f"{json.loads(line)['sample_id']}/{which}"
                    yield json.dumps({"id": id, "epoch": epoch, "output": REPLIES[draw.randrange(4)]})


def write_shards(lines: Iterator[str], folder: Path, shards: int) -> None:
    folder.mkdir()
    files = [(folder / f"{number:05}.jsonl").open("w") for number in range(shards)]
    for number, line in enumerate(lines):
        files[number % shards].write(line + "\n")
    for file in files:
        file.close()


def score(data: Path, predictions: Path, workers: int = 1) -> Run:
    command = [sys.executable, "-m", "halu_tasks", "score", TASK, str(predictions), "--data", str(data), "--json"]
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([*command, "--executor-tasks", str(workers)], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, process.returncode
        out.seek(0)
        result = json.load(out)
    figures = json.dumps([result["n"], result["metrics"], result["intervals"]])
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, figures)


def line(name: str, number: int, run: Run, first: float | None) -> str:
    each = run.wall / number
    ratio = f"{each / first:.2f}" if first else "1.00"
    return (
        f"{name:<24} {number:>12,} {run.wall:>9.1f} s {run.processor:>9.1f} s {run.megabytes:>8.0f} MB"
        f" {1e6 * each:>8.1f} µs {ratio:>6}"
    )


def measure_epochs(numbers: list[int], folder: Path) -> None:
    """Print what several epochs take: the first number of replies with one process, then each number with two."""
    data = folder / "data"
    grow_sample(data, ITEMS // 2)
    first: float | None = None
    for number in numbers:
        predictions = folder / f"replies-{number}"
        write_shards(replies(data, number // ITEMS), predictions, 16)
        one = None if first else score(data, predictions)
        if one:
            print(line("one process", number, one, None), flush=True)
            first = one.wall / number
        two = score(data, predictions, 2)
        print(line("two processes", number, two, first), flush=True)
        if one:
            print(f"one process to two: {one.wall / two.wall:.2f}, same figures: {one.figures == two.figures}")


def measure_own(number: int, folder: Path) -> None:
    """Print what data of one's own take, with as many items as replies."""
    data, predictions = folder / "data-own", folder / "replies-own"
    grow_sample(data, number // 2)
    write_shards(replies(data, 1), predictions, 16)
    print(line("items of one's own", number, score(data, predictions), None), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure halu-tasks score.")
    parser.add_argument("--numbers", type=int, nargs="+", default=[1_000_000, 10_000_000], metavar="N")
    parser.add_argument("--only", nargs="+", choices=["epochs", "own"], default=["epochs", "own"])
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':<24} {'replies':>12} {'wall':>11} {'processor':>11} {'memory':>11} {'a reply':>11} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "epochs" in arguments.only:
            measure_epochs(arguments.numbers, folder)
        if "own" in arguments.only:
            measure_own(arguments.numbers[0], folder)


if __name__ == "__main__":
    main()
