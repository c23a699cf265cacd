"""The demo: a few tasks on the packaged sample by the embedded models, in both harnesses at the same time."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import atomic_write_text, create_folder

TASKS = ("refact_judgment_independent", "halluverse25_en", "halueval_summarization", "cfaith_choice")
"""One task of each of four benchmarks; none needs a judge."""
MODELS = ("oracle", "baseline")

_RECORD, LM_EVAL, INSPECT, _REPORT = "demo.json", "lm_eval", "inspect", "report"
"""What the demo writes in its folder. Only a folder with the record is written again."""

Figures = Mapping[tuple[str, str], Mapping[str, float]]
"""Metrics by name, by task and model."""


class Demo(NamedTuple):
    """What a demo found.

    Attributes:
        folder: Where the results are.
        figures: The metrics of every task and model, as Inspect reports them.
        sizes: The number of items of each task, and of the clusters that they are in.
        compared: The number of figures that both harnesses report.
        differences: How many of them differ.
        page: The report's page.
    """

    folder: Path
    figures: Figures
    sizes: Mapping[str, tuple[int, int]]
    compared: int
    differences: int
    page: Path


def run_demo(tasks: Sequence[str], folder: Path, warn: Callable[[str], None]) -> Demo:
    """Run tasks in both harnesses, and write a report on Inspect's logs.

    Args:
        tasks: The names of the tasks.
        folder: Where results and report are written (`prepare_folder`).
        warn: Called with warnings of the report.

    Raises:
        RuntimeError: A harness failed.
    """
    # the models and the data are in the package, so nothing may use the network
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn, initializer=_silence) as pool:
        lm_eval = pool.submit(lm_eval_figures, tasks, folder / LM_EVAL)
        inspect = pool.submit(inspect_figures, tasks, folder / INSPECT)
        # lm-eval is faster, so its process prepares the report
        pool.submit(importlib.import_module, "halu_tasks.report.write")
        in_inspect, sizes = inspect.result()
        page, warnings = pool.submit(_report, folder).result()
        in_lm_eval = lm_eval.result()
    for message in warnings:
        warn(message)
    common = [(key, name) for key, figures in in_lm_eval.items() for name in figures if name in in_inspect[key]]
    differences = sum(in_lm_eval[key][name] != in_inspect[key][name] for key, name in common)
    return Demo(folder, in_inspect, sizes, len(common), differences, page)


def prepare_folder(folder: Path) -> None:
    """Create the folder of a demo, or remove the results of an earlier demo from it.

    Raises:
        UsageError: The folder contains other files.
        DataError: The folder cannot be created.
    """
    record = folder / _RECORD
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name another folder with -o FOLDER")
    if folder.is_dir() and any(folder.iterdir()) and not record.is_file():
        raise UsageError(f"{folder}: contains other files; name another folder with -o FOLDER")
    for part in (LM_EVAL, INSPECT, _REPORT):
        shutil.rmtree(folder / part, ignore_errors=True)
    create_folder(folder)
    atomic_write_text(record, json.dumps({"written_by": "halu-tasks demo"}) + "\n")


def _silence() -> None:
    """Discard what a harness, and the programs that it starts, log and print in this process."""
    null = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(null, number)


def _report(folder: Path) -> tuple[Path, list[str]]:
    """Write the report on Inspect's logs; return its page, and its warnings."""
    from halu_tasks.report.write import write_report

    messages: list[str] = []
    written = write_report([str(folder / INSPECT)], folder / _REPORT, "Demo", messages.append)
    return written.page, messages


def lm_eval_figures(tasks: Sequence[str], folder: Path) -> Figures:
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
            figures[task, model] = {
                key.removesuffix(",none"): value
                for key, value in results["results"][task].items()
                if key.endswith(",none")
            }
    return figures


def inspect_figures(tasks: Sequence[str], folder: Path) -> tuple[Figures, dict[str, tuple[int, int]]]:
    """Run tasks in Inspect with the embedded models; return the figures, and the size of each task."""
    from inspect_ai import eval

    from halu_tasks.solvers.records import SampleMetadata

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
    sizes: dict[str, tuple[int, int]] = {}
    for log in logs:
        if log.status != "success" or not log.results or not log.samples:
            raise RuntimeError(f"{log.eval.task} ended as {log.status}: {log.error.message if log.error else ''}")
        metrics = log.results.scores[0].metrics
        task, model = log.eval.task.removeprefix("halu_tasks/"), log.eval.model.removeprefix("halu/")
        figures[task, model] = {name: float(metric.value) for name, metric in metrics.items()}
        clusters = {sample.metadata_as(SampleMetadata).cluster for sample in log.samples}
        sizes[task] = len(log.samples), len(clusters)
    return figures, sizes
