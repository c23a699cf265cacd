"""What the package costs beside the bare harnesses: `python tests/benchmark.py [--instructions]`.

Each line is a pair of commands, with and without the package, in processes of their own: the median ratio of their
processor times, run in turn, and the medians. A run of each that is not timed comes first and writes the bytecode that
an installation has. Runs have 2,002 prompts and a model that answers at once. Bare runs are
without the hook in lm-eval; one of Inspect logs the row of each sample, as its evaluations do. With --instructions,
those of each command are also counted, once, by callgrind: it takes fifty times as long, but a busy machine does not
change them. No network; some minutes, or two hours.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ITEMS = 2_002
TASK = "refact_judgment_independent"
REPLY = "Some reasoning about the answer.\n\nFinal Verdict: True"


def grow_sample(folder: Path, rows: int) -> None:
    """ReFACT data of `rows` rows, two items each, made from the packaged sample with new ids."""
    from halu_tasks.data.locate import SAMPLE

    sample = [json.loads(line) for line in (SAMPLE / "refact" / "refact_multi_error.jsonl").read_text().splitlines()]
    folder.mkdir(exist_ok=True)
    with (folder / "refact_multi_error.jsonl").open("w") as file:
        for number in range(rows):
            row = sample[number % len(sample)]
            source, _, kind = row["sample_id"].partition("_")
            grown = row | {"sample_id": f"{number:08}{source}_{kind}", "question": f"{number}. {row['question']}"}
            file.write(json.dumps(grown) + "\n")


def write_bare_tasks(folder: Path) -> None:
    """The same prompts as a plain YAML task, as a user would write it, and as samples with their rows."""
    from halu_tasks.core.options import Options
    from halu_tasks.tasks import build

    bare = folder / "bare"
    bare.mkdir()
    evaluation = build(TASK, Options(data=str(folder)))
    rows = (row for row in evaluation.task.data.rows(evaluation.located) for _ in ("original", "confabulated"))
    with (bare / "prompts.jsonl").open("w") as prompts, (bare / "samples.jsonl").open("w") as samples:
        for row, item in zip(rows, evaluation.stream(), strict=True):
            sample = {"id": item.id, "target": item.target}
            prompts.write(json.dumps({**sample, "prompt": f"{item.system}\n\n{item.prompt}"}) + "\n")
            samples.write(json.dumps({**sample, "system": item.system, "user": item.prompt, "row": row}) + "\n")
    (bare / "bare.yaml").write_text(
        f"task: bare\ndataset_path: json\ndataset_kwargs:\n  data_files: {bare / 'prompts.jsonl'}\n"
        "test_split: train\noutput_type: generate_until\ndoc_to_text: prompt\ndoc_to_target: target\n"
        "generation_kwargs:\n  until: []\n  max_gen_toks: 1024\n"
        "metric_list:\n  - metric: exact_match\n    aggregation: mean\n    higher_is_better: true\n"
    )


# --- one run each, in a process of its own ----------------------------------------------------------


def bare_in_inspect(folder: Path, *, logs_row: bool) -> None:
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    samples = [
        Sample(
            id=sample["id"],
            input=[ChatMessageSystem(content=sample["system"]), ChatMessageUser(content=sample["user"])],
            target=sample["target"],
            metadata=sample["row"] if logs_row else None,
        )
        for sample in map(json.loads, (folder / "bare" / "samples.jsonl").read_text().splitlines())
    ]
    in_inspect(Task(dataset=samples, solver=generate(), scorer=match()), folder)


def in_inspect(task: Any, folder: Path, **arguments: Any) -> None:
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any) -> Any:
        output = ModelOutput.from_content("mockllm", REPLY)
        output.usage = ModelUsage()
        return output

    model = get_model("mockllm/model", custom_outputs=reply)
    (log,) = eval(task, model=model, log_dir=str(folder / "logs"), display="none", **arguments)
    assert log.status == "success" and len(log.samples) == ITEMS, log.error


def in_lm_eval(task: str, *, ends: bool = False, **arguments: Any) -> None:
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Instant(LM):
        loglikelihood = loglikelihood_rolling = None

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            if ends:
                os._exit(0)
            return [REPLY for _ in requests]

    results = lm_eval.simple_evaluate(model=Instant(), tasks=[task], task_manager=TaskManager(**arguments))
    assert results["n-samples"][task]["effective"] == ITEMS


RUNS: dict[str, Callable[[Path], None]] = {
    "inspect": lambda folder: in_inspect(f"halu_tasks/{TASK}", folder, task_args={"data": str(folder)}),
    "inspect_bare": lambda folder: bare_in_inspect(folder, logs_row=False),
    "inspect_bare_row": lambda folder: bare_in_inspect(folder, logs_row=True),
    "lm_eval": lambda folder: in_lm_eval(TASK, metadata={"halu_data": str(folder)}),
    "lm_eval_bare": lambda folder: in_lm_eval("bare", include_path=str(folder / "bare")),
    "lm_eval_start": lambda folder: in_lm_eval("refact", ends=True, metadata={"halu_data": str(folder)}),
    "lm_eval_bare_start": lambda folder: in_lm_eval("bare", ends=True, include_path=str(folder / "bare")),
}
PYTHON = ("-c", "pass")
PAIRS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "lm-eval": (("lm_eval",), ("lm_eval_bare",)),
    "lm-eval, to the first request": (("lm_eval_start",), ("lm_eval_bare_start",)),
    "Inspect": (("inspect",), ("inspect_bare",)),
    "Inspect, row logged": (("inspect",), ("inspect_bare_row",)),
    "import halu_tasks": (("-c", "import halu_tasks"), PYTHON),
    "halu-tasks --help": (("-m", "halu_tasks", "--help"), PYTHON),
    "halu-tasks list": (("-m", "halu_tasks", "list"), PYTHON),
}
"""What is compared: runs by their names, or arguments of Python."""


# --- what a run costs -------------------------------------------------------------------------------


def costs(words: Sequence[str], *, bare: bool, counted: bool = False) -> float:
    """Processor time of a command in seconds, or its instructions in millions."""
    with tempfile.NamedTemporaryFile("w+") as log:
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log.name}"]
        process = subprocess.Popen(
            [*(valgrind if counted else ()), sys.executable, *words], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=os.environ | ({"HALU_TASKS_NO_AUTOLOAD": "1"} if bare else {}),
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, words
        if counted:
            return int(re.findall(r"Collected : (\d+)", log.read())[0]) / 1e6
        return usage.ru_utime + usage.ru_stime


def compare(pair: Sequence[Sequence[str]], folder: Path, repeats: int, *, counted: bool) -> str:
    run = [__file__, "--folder", str(folder), "--run"]
    ours, bare = ([*run, *words] if words[0] in RUNS else words for words in pair)
    times = [(costs(ours, bare=False), costs(bare, bare=True)) for _ in range(repeats + 1)][1:]
    line = f"{median(a / b for a, b in times):6.3f}  {median(a for a, _ in times):6.2f} s over "
    line += f"{median(b for _, b in times):6.2f} s"
    if counted:
        a, b = costs(ours, bare=False, counted=True), costs(bare, bare=True, counted=True)
        line += f"  {a / b:6.3f}  {a:9,.0f} M instructions over {b:9,.0f} M"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=PAIRS, nargs="+", default=PAIRS)
    parser.add_argument("--instructions", action="store_true", help="count them; needs valgrind")
    arguments = parser.parse_args()
    if arguments.run:
        RUNS[arguments.run](arguments.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        grow_sample(folder, ITEMS // 2)
        write_bare_tasks(folder)
        os.environ |= {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "HALU_TASKS_CACHE": str(folder / "cache")}
        os.environ |= {"PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for title in arguments.only:
            line = compare(PAIRS[title], folder, arguments.repeats, counted=arguments.instructions)
            print(f"{title:<30}  {line}", flush=True)


if __name__ == "__main__":
    main()
