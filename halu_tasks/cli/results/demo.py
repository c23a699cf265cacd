"""`halu-tasks demo`: what the figures look like, in both harnesses on the packaged sample, offline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.output import warn
from halu_tasks.cli.tables import table
from halu_tasks.core.extras import install_hint

if TYPE_CHECKING:
    from halu_tasks.sweeps.demo import Demo
    from halu_tasks.tasks import Task

HELP = "run four tasks on the packaged sample in both harnesses, offline, and write a report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--tasks", default="", metavar="A,B", help="tasks or groups (default: one of four benchmarks)")
    about = "where results and the report are written (default: halu-demo)"
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("halu-demo"), help=about)


def run(arguments: argparse.Namespace) -> int:
    """Run the tasks in both harnesses, and print a table with what it means."""
    from halu_tasks.sweeps.demo import TASKS, run_demo
    from halu_tasks.tasks import tasks_selected

    tasks = tasks_selected(arguments.tasks.split(",") if arguments.tasks else TASKS)
    print(f"Running {len(tasks)} tasks in lm-eval and Inspect at the same time …\n", flush=True)
    demo = run_demo([task.name for task in tasks], arguments.output.expanduser(), warn)
    _show(tasks, demo)
    if demo.differences:
        warn(f"lm-eval and Inspect differ in {demo.differences} of {demo.compared} figures")
    return 1 if demo.differences else 0


def _show(tasks: list[Task], demo: Demo) -> None:
    rows = []
    for task in tasks:
        name = _shown_metric(task)
        figures = [f"{demo.figures[task.name, model][name]:.2f}" for model in ("oracle", "baseline")]
        # the answers' form, in brackets, is on the page
        asked = task.about.partition(" (")[0]
        metric = f"{name} {_direction(task, name)}".rstrip()
        rows.append([task.name, asked, str(demo.items[task.name]), metric, *figures])
    print(table(["task", "what is asked", "items", "metric", "oracle", "baseline"], rows, right=(2, 4, 5)))
    print(
        "\noracle knows the answers: no model can be better (↑ higher is better, ↓ lower). baseline answers without "
        "reading the\nitems: a model near it has not solved the task. The items are a sample written for this package, "
        "not the benchmarks."
    )
    if not demo.differences:
        print(f"lm-eval and Inspect report the same values of all {demo.compared:,} figures.")
    for task in tasks:
        if task.judged:
            print(f"{task.name}: {task.headline} needs a judge (docs/judges.md); {task.judged.unjudged} does not.")
    page = f"Open {demo.page} in a browser." if demo.page else f"For a report: {install_hint('report')}."
    print(f"\n{page} Next, a model of your own on a benchmark:")
    print("  halu-tasks run hf/Qwen/Qwen2.5-0.5B-Instruct --tasks refact_judgment_independent --limit 20")


def _shown_metric(task: Task) -> str:
    """Return the headline, or the metric that takes its place without a judge."""
    return task.judged.unjudged if task.judged else task.headline


def _direction(task: Task, name: str) -> str:
    metric = next(metric for metric in task.scoring["strict"].metrics if metric.name == name)
    return {True: "↑", False: "↓", None: ""}[metric.higher_is_better]
