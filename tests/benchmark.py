"""What the package costs beside the bare harnesses, as ratios: `python tests/benchmark.py`.

Each pair runs the same 2,002 prompts with a model that answers at once, in processes of their own, in
turn, and the fastest of each is compared. No network; a few minutes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ITEMS = 2_002
REPLY = "Some reasoning about the answer.\n\nFinal Verdict: True"


def grow_sample(folder: Path, rows: int) -> None:
    """ReFACT data of `rows` rows, two items each, made from the packaged sample with new ids."""
    from halu_tasks.data.locate import SAMPLE

    own = [json.loads(line) for line in (SAMPLE / "refact" / "refact_multi_error.jsonl").read_text().splitlines()]
    folder.mkdir(exist_ok=True)
    with (folder / "refact_multi_error.jsonl").open("w") as file:
        for number in range(rows):
            row = own[number % len(own)]
            source, _, kind = row["sample_id"].partition("_")
            grown = row | {"sample_id": f"{number:08}{source}_{kind}", "question": f"{number}. {row['question']}"}
            file.write(json.dumps(grown) + "\n")


# --- one run each, in a process of its own ----------------------------------------------------------


def inspect_ours(folder: Path) -> None:
    from inspect_ai import eval

    _check(eval("halu_tasks/refact_judgment_independent", task_args={"data": str(folder)}, **_inspect(folder)))


def inspect_bare(folder: Path) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    from halu_tasks.core.options import Options
    from halu_tasks.tasks import build

    samples = [
        Sample(
            id=item.id,
            input=[ChatMessageSystem(content=item.system), ChatMessageUser(content=item.prompt)],
            target=item.target,
        )
        for item in build("refact_judgment_independent", Options(data=str(folder))).stream()
    ]
    _check(eval(Task(dataset=samples, solver=generate(), scorer=match()), **_inspect(folder)))


def _inspect(folder: Path) -> dict[str, Any]:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any) -> Any:
        output = ModelOutput.from_content("mockllm", REPLY)
        output.usage = ModelUsage()
        return output

    return {
        "model": get_model("mockllm/model", custom_outputs=reply),
        "log_dir": str(folder / "logs"),
        "display": "none",
    }


def _check(logs: Any) -> None:
    (log,) = logs
    assert log.status == "success" and len(log.samples) == ITEMS, log.error


def lm_eval_ours(folder: Path) -> None:
    _lm_eval("refact_judgment_independent", {"halu_data": str(folder)})


def lm_eval_bare(folder: Path) -> None:
    _lm_eval("bare", {}, str(folder / "bare"))


def _lm_eval(task: str, metadata: dict[str, Any], include_path: str | None = None) -> None:
    import lm_eval
    from lm_eval.tasks import TaskManager

    from halu_tasks.lm_eval_adapter.models import BaselineLM

    class Instant(BaselineLM):
        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return [REPLY for _ in requests]

    manager = TaskManager(metadata=metadata, include_path=include_path)
    results = lm_eval.simple_evaluate(model=Instant(), tasks=[task], task_manager=manager)
    assert results["n-samples"][task]["effective"] == ITEMS


def write_bare_task(folder: Path) -> None:
    """A plain YAML task with the same rendered prompts, as a user would write it."""
    from halu_tasks.core.options import Options
    from halu_tasks.tasks import build

    bare = folder / "bare"
    bare.mkdir()
    with (bare / "prompts.jsonl").open("w") as file:
        for item in build("refact_judgment_independent", Options(data=str(folder))).stream():
            row = {"id": item.id, "prompt": f"{item.system}\n\n{item.prompt}", "target": item.target}
            file.write(json.dumps(row) + "\n")
    (bare / "bare.yaml").write_text(
        f"task: bare\ndataset_path: json\ndataset_kwargs:\n  data_files: {bare / 'prompts.jsonl'}\n"
        "test_split: train\noutput_type: generate_until\ndoc_to_text: prompt\ndoc_to_target: target\n"
        "generation_kwargs:\n  until: []\n  max_gen_toks: 1024\n"
        "metric_list:\n  - metric: exact_match\n    aggregation: mean\n    higher_is_better: true\n"
    )


# --- pairs and single figures -----------------------------------------------------------------------


def timed(*command: str, **environment: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | environment,
    )  # fmt: skip
    return time.perf_counter() - start


def compare(ours: str, bare: str, folder: Path, repeats: int) -> str:
    """The fastest of `repeats` runs of each, taken in turn."""
    times: dict[str, list[float]] = {ours: [], bare: []}
    for _ in range(repeats):
        for run in times:
            times[run].append(timed(__file__, "--run", run, "--folder", str(folder)))
    fastest = {run: min(seconds) for run, seconds in times.items()}
    return f"{fastest[ours] / fastest[bare]:.3f}  ({fastest[ours]:.2f} s over {fastest[bare]:.2f} s)"


def hook_cost(repeats: int = 40) -> str:
    """Time that the .pth line adds when Python starts, in ms: what -X importtime says of its module."""
    found = []
    for _ in range(repeats):
        told = subprocess.run([sys.executable, "-X", "importtime", "-c", "pass"], capture_output=True, text=True)
        lines = [line for line in told.stderr.splitlines() if line.strip().endswith("_halu_tasks_autoload")]
        found += [int(line.split("|")[1]) for line in lines]
    return f"{sorted(found)[len(found) // 2] / 1000:.2f} ms" if found else "the hook is not installed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", choices=("inspect_ours", "inspect_bare", "lm_eval_ours", "lm_eval_bare"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.run:
        globals()[arguments.run](arguments.folder)
        return
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        grow_sample(folder, ITEMS // 2)
        write_bare_task(folder)
        os.environ |= {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "HALU_TASKS_CACHE": str(folder / "cache")}
        for harness in ("inspect", "lm_eval"):
            ratio = compare(f"{harness}_ours", f"{harness}_bare", folder, arguments.repeats)
            print(f"{harness}, {ITEMS} items, ours / bare:  {ratio}")
        print(f"hook at interpreter start:        {hook_cost()}")
        print(f"halu-tasks --help:                {min(timed('-m', 'halu_tasks', '--help') for _ in range(5)):.2f} s")


if __name__ == "__main__":
    main()
