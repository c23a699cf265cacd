"""The demo: a few tasks on the packaged sample by the embedded models, in both harnesses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from halu_tasks.executors.local import run_here
from halu_tasks.runs.models import Harness, named_model
from halu_tasks.runs.run import ModelRun, Runs

TASKS = ("refact_judgment_independent", "halluverse25_en", "halueval_summarization", "cfaith_choice")
"""One task of each of four benchmarks; none needs a judge."""
MODELS = ("oracle", "baseline")
HARNESSES: tuple[Harness, ...] = ("inspect", "lm_eval")


def run_demo(tasks: Sequence[str], folder: Path) -> list[str]:
    """Run tasks in both harnesses at the same time, unless they have results in the folder.

    Args:
        tasks: The names of the tasks.
        folder: The folder of the results.

    Returns:
        The folders of the results of each harness.

    Raises:
        RuntimeError: A harness failed.
    """
    # the models and the data are in the package, so nothing may use the network
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    runs = [
        ModelRun(
            folder=folder / harness / name,
            model=named_model(f"halu/{name}", harness),
            tasks=dict.fromkeys(tasks),
            options={"data": "sample"},
            environment=offline,
        )
        for harness in HARNESSES
        for name in MODELS
    ]
    run_here(Runs(folder, tuple(runs)), lambda line: None, tasks=2)
    for run in runs:
        if missing := run.missing():
            raise RuntimeError(f"{', '.join(missing)}: {run.why_missing()}; see {run.output}")
    return [str(folder / harness) for harness in HARNESSES]
