"""Commands that are killed at random moments, on each executor, compared with undisturbed ones.

    python tests/benchmark_executors.py [build,score,sweep] [--documents 20000] [--replies 1000000] [--kills 10]
                                        [--executors local,slurm] [--tasks 4] [--seed 0]

- `build`: a build from documents by HaluAgent with one type. A server answers at once. One document in ten takes all
  six calls; the others end after the first.
- `score`: the replies to 2,000 items, in 64 files.
- `sweep`: four models on two tasks with 2,000 items, two models in each harness, one of each on the server.

At random moments of the work, one of these is killed: a worker, the command itself, which is then given again, or the
node (Slurm: slurmd with all that runs on it; local: everything). Prints, for each
executor, the time, what was done twice, and whether the results are those of the undisturbed command (build and score:
byte by byte; sweep: all figures and intervals of its report). Slurm is started on this machine for it (as root, with
Debian's slurm-wlm and munge); where it does not start, the reason is printed instead.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import benchmark_score
from benchmark import grow_sample
from benchmark_build import answer, counts, server, write_documents
from clusters import Local, Place, Slurm, kill


def answer_one_in_ten(asked: str) -> str:
    """Answer, but ask no question about most documents."""
    none = "You write questions" in asked and not re.search(r"Town\d*0x", asked)
    return "no question" if none else answer(asked)


class Build:
    """A build that asks a server."""

    def __init__(self, folder: Path, port: int, documents: int) -> None:
        self.documents, self.port = folder / "documents.jsonl", port
        write_documents(self.documents, documents)

    def command(self, out: Path) -> list[str | Path]:
        return [
            "build", "haluagent", self.documents, "-o", out, "--model", "openai/gpt-4o",
            "--model-base-url", f"http://127.0.0.1:{self.port}/v1", "-M", "responses_api=false", "-T", "language=en",
            "-T", "types=EntErr", "--display", "none", "--part-size", "500",
        ]  # fmt: skip

    def done(self, out: Path) -> int:
        return counts(self.port).calls

    def result(self, out: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in [*(out / "dataset").iterdir(), out / "rejects.jsonl"]}

    def repeated(self, out: Path) -> str:
        found = counts(self.port)
        return f"{found.calls:,} calls, {found.repeated:,} of them repeated"


class ScoredReply:
    """The scoring of replies, with details."""

    def __init__(self, folder: Path, replies: int) -> None:
        self.data, self.replies = folder / "score-data", folder / "score-replies"
        grow_sample(self.data, benchmark_score.ITEMS // 2)
        lines = benchmark_score.replies(self.data, replies // benchmark_score.ITEMS)
        benchmark_score.write_shards(lines, self.replies, 64)
        self.seen: set[tuple[str, int]] = set()

    def command(self, out: Path) -> list[str | Path]:
        out.mkdir(exist_ok=True)
        return [
            "score", benchmark_score.TASK, self.replies, "--data", self.data, "--json", "--work-folder", out / "work",
            "--details", out / "details.jsonl",
        ]  # fmt: skip

    def done(self, out: Path) -> int:
        parts = [(str(path), path.stat().st_mtime_ns) for path in (out / "work" / "parts").glob("0*")]
        self.seen.update(parts)
        return len(parts)

    def result(self, out: Path) -> dict[str, bytes]:
        result = json.loads(out.with_suffix(".out").read_bytes())
        figures = json.dumps([result["n"], result["metrics"], result["intervals"]])
        return {"figures": figures.encode(), "details": (out / "details.jsonl").read_bytes()}

    def repeated(self, out: Path) -> str:
        parts = [name for name, _ in self.seen if name.startswith(f"{out}/")]
        return f"{len(set(parts))} parts, {len(parts) - len(set(parts))} of them repeated"


class Sweep:
    """Models on tasks, with both harnesses."""

    tasks = "refact_judgment_independent,refact_judgment_comparative"

    def __init__(self, folder: Path, port: int) -> None:
        self.data, self.models = folder / "sweep-data", folder / "models.yaml"
        grow_sample(self.data, benchmark_score.ITEMS // 2)
        url = f"http://127.0.0.1:{port}/v1"
        models = {
            "baseline-inspect": {"model": "halu/baseline"},
            "baseline-lm-eval": {"harness": "lm_eval", "model": "halu-baseline"},
            "server-inspect": {
                "model": "openai/gpt-4o",
                "base_url": url,
                "arguments": {"responses_api": False},
            },
            "server-lm-eval": {
                "harness": "lm_eval",
                "model": "openai-api/local/m",
                "base_url": url,
                "arguments": {"num_concurrent": 8},
            },
        }
        self.models.write_text(json.dumps({"models": models}))

    def command(self, out: Path) -> list[str | Path]:
        return ["run", self.models, "--tasks", self.tasks, "--data", self.data, "-o", out, "--json"]

    def done(self, out: Path) -> int:
        logs = list(out.glob("*/logs/*.eval"))
        return len(logs) + sum(len(list(path.parent.glob("samples_*"))) for path in out.rglob("results_*.json"))

    def result(self, out: Path) -> dict[str, bytes]:
        results = json.loads((out / "report" / "report.json").read_bytes())["results"]
        figures = sorted(json.dumps([one["column"], one["n"], one["metrics"]]) for one in results)
        return {"figures": json.dumps(figures).encode()}

    def repeated(self, out: Path) -> str:
        starts = sum(path.read_text().count("\n$ ") + 1 for path in out.glob("*/output.txt"))
        return f"{starts} harness commands"


Work = Build | ScoredReply | Sweep
"""A command whose result does not depend on kills: its arguments, how much is done, what must be the same, and what was
done twice."""


def start(work: Work, out: Path, *more: str | Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "halu_tasks", *map(str, work.command(out)), *map(str, more)]
    with out.with_suffix(".log").open("ab") as log, out.with_suffix(".out").open("wb") as printed:
        return subprocess.Popen(command, stdout=printed, stderr=log, start_new_session=True)


def disturbed(place: Place, work: Work, out: Path, options: argparse.Namespace, units: int, seconds: float) -> str:
    """Run a command, with kills; return what to print."""
    moments = random.Random(f"{place.name} {options.seed}")
    config = out.with_suffix(".yaml")
    config.write_text(json.dumps(place.config))
    own = ["--executor", place.name, "--executor-tasks", str(options.tasks)]
    more: list[str | Path] = [*own, "--executor-config", config]
    kinds = [("worker", "controller", "node")[number % 3] for number in range(options.kills)]
    moments.shuffle(kinds)
    began = time.monotonic()
    process, runs, kills = start(work, out, *more), 1, Counter[str]()
    # moments of the work, not of the clock: a task takes seconds to start, on which most kills would fall otherwise
    marks = sorted(moments.choices(range(units), k=options.kills))
    while (status := process.poll()) != 0:
        if status is not None:
            process, runs = start(work, out, *more), runs + 1
        time.sleep(0.05)
        if not marks or work.done(out) < marks[0] or not place.workers(process.pid):
            continue
        time.sleep(moments.uniform(0, seconds / units))
        if not (workers := place.workers(process.pid)):
            continue
        marks.pop(0)
        kind = kinds.pop()
        kills[kind] += 1
        if kind == "worker":
            kill([moments.choice(workers)])
        elif kind == "controller":
            kill([process.pid])
        else:
            place.kill_node(process.pid)
    work.done(out)
    killed = ", ".join(f"{number} {kind}" for kind, number in sorted(kills.items()))
    return (
        f"{time.monotonic() - began:.0f} s, killed: {killed}; {runs} commands; {work.repeated(out)}; "
        f"{len(place.workers(process.pid))} processes left"
    )


def measure(name: str, work: Work, folder: Path, port: int, options: argparse.Namespace) -> None:
    """Run a command undisturbed, and on each executor with kills."""
    began = time.monotonic()
    counts(port, "/reset")
    alone = folder / f"{name}-undisturbed"
    more: list[str | Path] = ["--executor-tasks", str(options.tasks)]
    assert start(work, alone, *more).wait() == 0, alone.with_suffix(".log").read_text()[-2000:]
    seconds, units = time.monotonic() - began, work.done(alone)
    print(f"{name}, undisturbed: {seconds:.0f} s, {work.repeated(alone)}", flush=True)
    places: dict[str, Callable[[], Place]] = {
        "local": Local,
        "slurm": lambda: Slurm(folder / f"slurm-{name}", options.tasks),
    }
    for executor in options.executors.split(","):
        counts(port, "/reset")
        with ExitStack() as stack:
            try:
                place = places[executor]()
            except OSError as error:
                print(f"{name}, {executor}: skipped, since {error}", flush=True)
                continue
            if not isinstance(place, Local):
                stack.callback(place.close)
            out = folder / f"{name}-{executor}"
            line = disturbed(place, work, out, options, units, seconds)
            same = work.result(out) == work.result(alone)
            print(f"{name}, {executor}: {line}; {'identical' if same else 'DIFFERENT'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", nargs="?", default="build,score,sweep")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--replies", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--executors", default="local,slurm")
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    os.environ |= {"OPENAI_API_KEY": "none", "XDG_DATA_HOME": str(folder / "data")}
    print(f"in {folder}", flush=True)
    with server(answer_one_in_ten) as port:
        works: dict[str, Callable[[], Work]] = {
            "build": lambda: Build(folder, port, options.documents),
            "score": lambda: ScoredReply(folder, options.replies),
            "sweep": lambda: Sweep(folder, port),
        }
        for name in options.work.split(","):
            measure(name, works[name](), folder, port, options)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
