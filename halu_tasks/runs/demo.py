"""The demo: a few tasks on the packaged sample by the embedded models, in both harnesses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from halu_tasks.executors.local import run_here
from halu_tasks.runs.models import Harness, named_model
from halu_tasks.runs.run import RESULTS, ModelRun, Runs, logs_of

TASKS = ("refact_judgment_independent", "halluverse25_en", "halueval_summarization", "cfaith_choice")
"""One task of each of four benchmarks; none needs a judge."""
MODELS = ("oracle", "baseline")
HARNESSES: tuple[Harness, ...] = ("inspect", "lm_eval")

Figures = dict[tuple[str, str], Mapping[str, float]]
"""Metrics by name, by task and model."""


def run_demo(tasks: Sequence[str], folder: Path) -> dict[Harness, Figures]:
    """Run tasks in both harnesses at the same time, unless they have results in the folder.

    Args:
        tasks: The names of the tasks.
        folder: The folder of the results.

    Returns:
        The figures that each harness reports.

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
    figures: dict[Harness, Figures] = {harness: {} for harness in HARNESSES}
    for run in runs:
        if missing := run.missing():
            raise RuntimeError(f"{', '.join(missing)}: {run.why_missing()}; see {run.output}")
        figures[run.model.harness] |= {(task, run.name): reported for task, reported in _reported(run)}
    return figures


def _reported(run: ModelRun) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield each task of a run with the figures that its harness reports."""
    for log in logs_of(run.folder):
        if log.results:
            metrics = log.results.scores[0].metrics
            yield log.eval.task.removeprefix("halu_tasks/"), {name: float(m.value) for name, m in metrics.items()}
    for path in (run.folder / RESULTS).glob("**/results_*.json"):
        for task, figures in json.loads(path.read_text(encoding="utf-8"))["results"].items():
            shown = {key.removesuffix(",none"): value for key, value in figures.items() if key.endswith(",none")}
            yield task, {name: value for name, value in shown.items() if value != "N/A"}
