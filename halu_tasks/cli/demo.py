"""`halu-tasks demo`: both harnesses on the packaged sample, with the floor and the ceiling side by side."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import tempfile
import warnings
from typing import Any

from halu_tasks.cli.tables import table
from halu_tasks.tasks import Task, registry, task_named

MODELS = ("baseline", "oracle")
Figures = dict[tuple[str, str], dict[str, float]]
"""(task, model) -> metrics by name."""


def run(arguments: argparse.Namespace) -> int:
    names = [name for name in arguments.tasks.split(",") if name]
    tasks = [task_named(name) for name in names] or list(registry()[0].values())
    # whatever runs here is the package's own and the sample's: nothing may reach for a network
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "INSPECT_DISPLAY": "none"}
    print(f"Running {len(tasks)} tasks on the packaged sample, in both harnesses …", flush=True)
    with _quiet():
        in_lm_eval = lm_eval_figures(tasks)
        in_inspect = inspect_figures(tasks)
    rows = []
    for task in tasks:
        name = task.judged.unjudged if task.judged else task.headline
        row = [task.name, name]
        for model in MODELS:
            ours, theirs = (figures[task.name, model][name] for figures in (in_lm_eval, in_inspect))
            row += [f"{ours:.4f}", f"{theirs:.4f}"]
        rows.append(row)
    differ = sum(
        value != in_inspect[run][name]
        for run, own in in_lm_eval.items()
        for name, value in own.items()
        if name in in_inspect[run]
    )
    head = ["task", "metric", *(f"{model} {harness}" for model in MODELS for harness in ("lm-eval", "Inspect"))]
    print(table(head, rows, right=(2, 3, 4, 5)))
    same = "The harnesses agree on every figure." if not differ else f"The harnesses differ on {differ} figures."
    print(f"\n{same} baseline answers without looking, oracle from the gold.")
    print("The sample was written for this package: these figures say nothing about a model's standing.")
    for task in tasks:
        if task.judged:
            print(f"{task.name}: {task.headline} needs a judge (docs/judges.md); {task.judged.unjudged} does not.")
    return 1 if differ else 0


def lm_eval_figures(tasks: list[Task]) -> Figures:
    import lm_eval
    from lm_eval.tasks import TaskManager

    from halu_tasks import task_configs
    from halu_tasks.lm_eval_adapter.models import BaselineLM, OracleLM

    # only our own folder: reading lm-eval's thousands of YAML files would take longer than all the rest
    manager = TaskManager(
        include_path=next(iter(task_configs.__path__)), include_defaults=False, metadata={"halu_data": "sample"}
    )
    found: Figures = {}
    for model, lm in (("baseline", BaselineLM()), ("oracle", OracleLM())):
        results: Any = lm_eval.simple_evaluate(model=lm, tasks=[task.name for task in tasks], task_manager=manager)
        for task in tasks:
            own = results["results"][task.name]
            found[task.name, model] = {
                key.removesuffix(",none"): value for key, value in own.items() if key.endswith(",none")
            }
    return found


def inspect_figures(tasks: list[Task]) -> Figures:
    from inspect_ai import eval

    found: Figures = {}
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
            name = log.eval.task.removeprefix("halu_tasks/")
            found[name, log.eval.model.removeprefix("halu/")] = {m: float(metrics[m].value) for m in metrics}
    return found


@contextlib.contextmanager
def _quiet() -> Any:
    """Both harnesses' own logs and progress kept off the table, and those of the programs they start."""
    sys.stdout.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    logging.disable(logging.WARNING)
    try:
        for number in kept:
            os.dup2(nowhere, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, file in kept.items():
            os.dup2(file, number)
            os.close(file)
        os.close(nowhere)
        logging.disable(logging.NOTSET)
