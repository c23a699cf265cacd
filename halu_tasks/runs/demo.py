"""The demo: a few tasks on the packaged sample by the embedded models, in both harnesses at the same time.

The harnesses run in two processes, not in one for each model, since starting them is what takes the time.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import atomic_write_text, create_folder

TASKS = ("refact_judgment_independent", "halluverse25_en", "halueval_summarization", "cfaith_choice")
"""One task of each of four benchmarks; none needs a judge."""
MODELS = ("oracle", "baseline")

LM_EVAL, INSPECT, REPORT = "lm_eval", "inspect", "report"
_RECORD = "demo.json"
"""Only a folder with this file is written again."""

Figures = Mapping[tuple[str, str], Mapping[str, float]]
"""Metrics by name, by task and model."""


def run_demo(tasks: Sequence[str], folder: Path, warn: Callable[[str], None]) -> tuple[Figures, Figures]:
    """Run tasks in both harnesses, and write a report on Inspect's logs.

    Args:
        tasks: The names of the tasks.
        folder: Where results and report are written (`prepare_folder`).
        warn: Called with warnings of the report.

    Returns:
        The figures that lm-eval reports, and those that Inspect reports.

    Raises:
        RuntimeError: A harness failed.
    """
    # the models and the data are in the package, so nothing may use the network
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn, initializer=_silence) as pool:
        lm_eval = pool.submit(_run_lm_eval, tasks, folder / LM_EVAL)
        in_inspect = pool.submit(_run_inspect, tasks, folder / INSPECT).result()
        warnings = pool.submit(_write_report, folder).result()
        in_lm_eval = lm_eval.result()
    for message in warnings:
        warn(message)
    return in_lm_eval, in_inspect


def prepare_folder(folder: Path) -> None:
    """Create the folder of a demo, or remove the results of an earlier demo from it.

    Raises:
        UsageError: The folder contains other files.
        DataError: The folder cannot be created.
    """
    others = folder.is_dir() and any(folder.iterdir()) and not (folder / _RECORD).is_file()
    if others or folder.is_file():
        what = "contains other files" if others else "is a file"
        raise UsageError(f"{folder}: {what}; name another folder with -o FOLDER")
    for part in (LM_EVAL, INSPECT, REPORT):
        shutil.rmtree(folder / part, ignore_errors=True)
    create_folder(folder)
    atomic_write_text(folder / _RECORD, json.dumps({"written_by": "halu-tasks demo"}) + "\n")


def _silence() -> None:
    """Discard what a harness, and the programs that it starts, log and print in this process."""
    null = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(null, number)


def _write_report(folder: Path) -> list[str]:
    """Write the report on Inspect's logs; return its warnings."""
    from halu_tasks.report.write import write_report

    messages: list[str] = []
    write_report([str(folder / INSPECT)], folder / REPORT, "Demo", messages.append)
    return messages


def _run_lm_eval(tasks: Sequence[str], folder: Path) -> Figures:
    """Run tasks in lm-eval with the embedded models, and write its results with all replies."""
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    from halu_tasks import task_configs
    from halu_tasks.lm_eval_adapter.models import BaselineLM, OracleLM

    # only this package's folder: reading lm-eval's thousands of YAML files takes longer than everything else
    manager = TaskManager(
        include_path=next(iter(task_configs.__path__)), include_defaults=False, metadata={"halu_data": "sample"}
    )
    figures: dict[tuple[str, str], dict[str, float]] = {}
    for model, lm in zip(MODELS, (OracleLM(), BaselineLM()), strict=True):
        tracker = EvaluationTracker(output_path=str(folder / model))
        results: Any = simple_evaluate(model=lm, tasks=list(tasks), task_manager=manager, evaluation_tracker=tracker)
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        for task in tasks:
            tracker.save_results_samples(task_name=task, samples=samples[task])
            metrics = (key.partition(",") for key in results["results"][task])
            figures[task, model] = {
                name: results["results"][task][f"{name},none"] for name, _, filter_ in metrics if filter_ == "none"
            }
    return figures


def _run_inspect(tasks: Sequence[str], folder: Path) -> Figures:
    """Run tasks in Inspect with the embedded models."""
    from inspect_ai import eval

    logs = eval(
        [f"halu_tasks/{task}" for task in tasks],
        model=[f"halu/{model}" for model in MODELS],
        task_args={"data": "sample"},
        log_dir=str(folder),
        max_tasks=len(tasks),
        # other displays draw tables even if nobody sees them, which takes a third of the time
        display="log",
        log_realtime=False,
    )
    figures: dict[tuple[str, str], dict[str, float]] = {}
    for log in logs:
        if log.status != "success" or not log.results:
            raise RuntimeError(f"{log.eval.task} ended as {log.status}: {log.error.message if log.error else ''}")
        task, model = log.eval.task.removeprefix("halu_tasks/"), log.eval.model.removeprefix("halu/")
        metrics = log.results.scores[0].metrics
        figures[task, model] = {name: float(metric.value) for name, metric in metrics.items()}
    return figures
