"""`halu-tasks demo`: both harnesses on the packaged sample, offline."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from halu_tasks.cli.tables import table

if TYPE_CHECKING:
    from halu_tasks.tasks import Task

HELP = "both harnesses on the packaged sample, offline"

MODELS = ("baseline", "oracle")
Figures = dict[tuple[str, str], dict[str, float]]
"""Metrics by name, by task and model."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--tasks", default="", metavar="A,B", help="names of tasks (default: all)")


def run(arguments: argparse.Namespace) -> int:
    """Run the tasks in both harnesses, and print whether their figures are equal."""
    from halu_tasks.tasks import registry, task_named

    names = [name for name in arguments.tasks.split(",") if name]
    tasks = [task_named(name) for name in names] or list(registry()[0].values())
    # the models and the data are in the package, so nothing may use the network
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "INSPECT_DISPLAY": "none"}
    print(f"Running {len(tasks)} tasks on the packaged sample, in both harnesses …", flush=True)
    with _quiet():
        in_lm_eval = lm_eval_figures(tasks)
        in_inspect = inspect_figures(tasks)
    differences = sum(
        value != in_inspect[key][name]
        for key, figures in in_lm_eval.items()
        for name, value in figures.items()
        if name in in_inspect[key]
    )
    _show(tasks, in_lm_eval, in_inspect, differences)
    return 1 if differences else 0


def _show(tasks: list[Task], in_lm_eval: Figures, in_inspect: Figures, differences: int) -> None:
    rows = []
    for task in tasks:
        name = task.judged.unjudged if task.judged else task.headline
        figures = [harness[task.name, model][name] for model in MODELS for harness in (in_lm_eval, in_inspect)]
        rows.append([task.name, name, *(f"{figure:.4f}" for figure in figures)])
    head = ["task", "metric", *(f"{model} {harness}" for model in MODELS for harness in ("lm-eval", "Inspect"))]
    print(table(head, rows, right=(2, 3, 4, 5)))
    equal = "The harnesses agree on every figure."
    print(f"\n{equal if not differences else f'The harnesses differ on {differences} figures.'}", end=" ")
    print("baseline answers without reading the items, oracle answers correctly.")
    print("The sample was written for this package: these figures say nothing about how good a model is.")
    for task in tasks:
        if task.judged:
            print(f"{task.name}: {task.headline} needs a judge (docs/judges.md); {task.judged.unjudged} does not.")


def lm_eval_figures(tasks: list[Task]) -> Figures:
    """Run tasks in lm-eval with the embedded models."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    from halu_tasks import task_configs
    from halu_tasks.lm_eval_adapter.models import BaselineLM, OracleLM

    # only this package's folder: reading lm-eval's thousands of YAML files takes longer than everything else
    manager = TaskManager(
        include_path=next(iter(task_configs.__path__)), include_defaults=False, metadata={"halu_data": "sample"}
    )
    figures: Figures = {}
    for model, lm in (("baseline", BaselineLM()), ("oracle", OracleLM())):
        results: Any = lm_eval.simple_evaluate(model=lm, tasks=[task.name for task in tasks], task_manager=manager)
        for task in tasks:
            figures[task.name, model] = {
                key.removesuffix(",none"): value
                for key, value in results["results"][task.name].items()
                if key.endswith(",none")
            }
    return figures


def inspect_figures(tasks: list[Task]) -> Figures:
    """Run tasks in Inspect with the embedded models."""
    from inspect_ai import eval

    figures: Figures = {}
    with tempfile.TemporaryDirectory() as logs:
        for log in eval(
            [f"halu_tasks/{task.name}" for task in tasks],
            model=[f"halu/{model}" for model in MODELS],
            task_args={"data": "sample"},
            log_dir=logs,
            max_tasks=len(tasks),
        ):
            if log.status != "success" or not log.results:
                raise RuntimeError(f"{log.eval.task} ended as {log.status}: {log.error.message if log.error else ''}")
            metrics = log.results.scores[0].metrics
            task, model = log.eval.task.removeprefix("halu_tasks/"), log.eval.model.removeprefix("halu/")
            figures[task, model] = {name: float(metric.value) for name, metric in metrics.items()}
    return figures


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Discard what the harnesses, and the programs they start, log and print."""
    sys.stdout.flush()
    saved = {number: os.dup(number) for number in (1, 2)}
    null = os.open(os.devnull, os.O_WRONLY)
    logging.disable(logging.WARNING)
    try:
        for number in saved:
            os.dup2(null, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, file in saved.items():
            os.dup2(file, number)
            os.close(file)
        os.close(null)
        logging.disable(logging.NOTSET)
