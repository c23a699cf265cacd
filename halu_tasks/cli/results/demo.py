"""`halu-tasks demo`: what the figures look like, in both harnesses on the packaged sample, offline."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.output import pluralize, warn
from halu_tasks.cli.tables import table
from halu_tasks.text.figures import format_interval

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
    from halu_tasks.sweeps.demo import TASKS, prepare_folder, run_demo
    from halu_tasks.tasks import registry, tasks_selected

    order = list(registry()[0])
    selected = tasks_selected(arguments.tasks.split(",") if arguments.tasks else TASKS)
    # as in the report
    tasks = sorted(selected, key=lambda task: order.index(task.name))
    names, folder = [task.name for task in tasks], arguments.output.expanduser()
    prepare_folder(folder, names)
    print(f"Running {pluralize(len(tasks), 'task', 'tasks')} in lm-eval and Inspect at the same time …\n", flush=True)
    demo = run_demo(names, folder, warn)
    _show(tasks, demo)
    if demo.differences:
        warn(f"lm-eval and Inspect differ in {demo.differences} of {demo.compared} figures")
    return 1 if demo.differences else 0


def _show(tasks: list[Task], demo: Demo) -> None:
    from halu_tasks.replies.embedded import name_of
    from halu_tasks.sweeps.demo import INSPECT, LM_EVAL, MODELS

    oracle, baseline = (name_of(model, {}) for model in MODELS)
    rows = []
    for task in tasks:
        name = _shown_metric(task)
        figures = [_figure(demo.figures[task.name, model], name) for model in MODELS]
        # the answers' form, in brackets, is on the page
        asked = task.about.partition(" (")[0]
        metric = f"{name} {_direction(task, name)}".rstrip()
        size = demo.sizes[task.name]
        rows.append([task.name, f"{size.items} ({size.clusters})", metric, *figures, asked])
    head = ["task", "items (clusters)", "metric", oracle, baseline, "what is asked"]
    print(table(head, rows, right=(1, 3, 4)))
    print(
        f"\n{oracle} knows the answers: no model can be better (↑ higher is better, ↓ lower). {baseline} answers by a "
        "fixed rule,\nwithout reading the items (not at random): a model near it has not solved the task. The items "
        "are a sample written for\nthis package, not the benchmarks. In square brackets: 95% confidence intervals. "
        "Items made from one source form a cluster\nand count as one unit, so an interval can be wider or narrower "
        "than for as many independent items."
    )
    if not demo.differences:
        print(
            f"lm-eval and Inspect report the same values of all {demo.compared:,} figures: the "
            f"{len(MODELS) * len(rows)} in the table, the other metrics of these\ntasks and models, and the standard "
            f"errors. They are in {demo.folder / LM_EVAL} and {demo.folder / INSPECT}."
        )
    for task in tasks:
        if task.judged:
            print(f"{task.name}: {task.headline} needs a judge (docs/judges.md); {task.judged.unjudged} does not.")
    page = f"Open {demo.page} in a browser."
    print(f"\n{page} Next, a model of your own on a benchmark:")
    print("  halu-tasks run hf/Qwen/Qwen2.5-0.5B-Instruct --tasks refact_judgment_independent --limit 20")


def _figure(figures: Mapping[str, float], name: str) -> str:
    interval = format_interval(figures.get(f"{name}_low"), figures.get(f"{name}_high"), ".2f", "")
    return f"{figures[name]:.2f} {interval}".rstrip()


def _shown_metric(task: Task) -> str:
    """Return the headline, or the metric that takes its place without a judge."""
    return task.judged.unjudged if task.judged else task.headline


def _direction(task: Task, name: str) -> str:
    metric = next(metric for metric in task.scoring["strict"].metrics if metric.name == name)
    return {True: "↑", False: "↓", None: ""}[metric.higher_is_better]
