"""What a report of ten models by ReFACT's five tasks takes: `python tests/benchmark_report.py`.

Two sets of replies to 1,001 rows grown from the sample are run through Inspect, each result stands for five models,
and the report is made in a process of its own. No network; some minutes, nearly all of them the harness's.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from zipfile import ZipFile

import inspect_ai.log  # noqa: F401 (with it, zipfile knows the compression of logs)
from benchmark import grow_sample

MODELS, ROWS = 10, 1_001
FILLER = "This is a step of the reasoning that a model writes before its verdict, weighed and found to hold. " * 12


def write_replies(folder: Path, data: Path, seed: int) -> None:
    """Predictions of a model that is right in some items, each with reasoning before it."""
    from halu_tasks.core.options import Options
    from halu_tasks.tasks import build, registry

    chance = random.Random(seed)
    folder.mkdir()
    for name in registry()[1]["refact"].members:
        evaluation = build(name, Options(data=str(data)))
        with (folder / f"{name}.jsonl").open("w") as file:
            for item in evaluation.items:
                right = chance.random() < 0.5 + seed / 10
                reply = (evaluation.task.prompts.oracle if right else evaluation.task.prompts.baseline)(item)
                if name.startswith("refact_judgment"):
                    reply = f"{FILLER}\n\nFinal Verdict: {reply}"
                file.write(json.dumps({"id": item.id, "output": reply}) + "\n")


def run_inspect(data: Path, predictions: Path, out: Path) -> None:
    from inspect_ai import eval

    (log,) = eval(
        "halu_tasks/refact",
        model="halu/replay",
        model_args={"predictions": str(predictions)},
        task_args={"data": str(data)},
        log_dir=str(out),
        display="none",
    )
    assert log.status == "success"


def rename_inspect(source: Path, out: Path, number: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (log,) = source.glob("*.eval")
    with ZipFile(log) as old, ZipFile(out / log.name, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == "header.json":
                header = json.loads(content)
                header["eval"] |= {"model": f"hf/model-{number}", "model_args": {}, "eval_id": f"id-{number}"}
                content = json.dumps(header).encode()
            new.writestr(info.filename, content, info.compress_type)


def main() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data"
        grow_sample(data, ROWS)
        for seed in (1, 2):
            write_replies(folder / f"replies-{seed}", data, seed)
            run_inspect(data, folder / f"replies-{seed}", folder / f"run-{seed}")
        for number in range(MODELS):
            rename_inspect(folder / f"run-{number % 2 + 1}", folder / "all" / str(number), number)
        print(f"Inspect: {measured(folder / 'all', folder / 'report')}")


def measured(results: Path, out: Path) -> str:
    command = [sys.executable, "-m", "halu_tasks", "report", str(results), "-o", str(out)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    assert status == 0
    peak = used.ru_maxrss / 1024
    size = (out / "index.html").stat().st_size / 1e6
    busy = used.ru_utime + used.ru_stime
    return f"{seconds:.1f} s ({busy:.1f} s of CPU), at most {peak:,.0f} MiB, page {size:.2f} MB"


if __name__ == "__main__":
    main()
