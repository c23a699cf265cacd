"""`halu-tasks sweep`: several models on several tasks in their harnesses, ending in one report."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import (
    add_executor_arguments,
    add_json_argument,
    add_run_options,
    chosen_executor,
    positive_int,
    run_options,
)
from halu_tasks.cli.output import EXIT_PARTIAL, pluralize, print_json, progress, warn
from halu_tasks.cli.tables import table
from halu_tasks.core.errors import RunInterrupted
from halu_tasks.core.extras import require_extra
from halu_tasks.core.options import JUDGE_COST_OPTIONS

if TYPE_CHECKING:
    from halu_tasks.sweeps.sweep import Sweep

HELP = "run several models on several tasks, and write a report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    about = "a YAML file with the models and how their harnesses run them (docs/leaderboards.md)"
    parser.add_argument("models", metavar="MODELS.yaml", type=Path, help=about)
    about = "tasks, groups, halu_tasks (all tasks that need no judge) or halu_tasks_judged (the others)"
    parser.add_argument("--tasks", metavar="A,B", required=True, help=about)
    about = "where results and the report are written; the same command continues there (default: sweep)"
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("sweep"), help=about)
    parser.add_argument("--limit", type=positive_int, metavar="N", help="only the first N items of each task")
    about = "do not ask models with a server a short question first: for servers that only machines of a cluster reach"
    parser.add_argument("--no-check", action="store_true", help=about)
    add_run_options(parser)
    add_executor_arguments(parser, "--executor-tasks")
    add_json_argument(parser, "a table")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, write the report, and print what is done."""
    require_extra("report", "the report of halu-tasks sweep")
    from halu_tasks.judging.shared_budget import budget_variables
    from halu_tasks.report.write import write_report
    from halu_tasks.sweeps.models_file import read_models
    from halu_tasks.sweeps.sweep import Sweep
    from halu_tasks.tasks import tasks_selected

    folder, options = arguments.output.expanduser(), run_options(arguments)
    sweep = Sweep(
        folder=folder,
        models=tuple(read_models(arguments.models)),
        tasks=tuple(task.name for task in tasks_selected(arguments.tasks.split(","))),
        options={name: value for name, value in options.items() if name not in JUDGE_COST_OPTIONS},
        limit=arguments.limit,
        environment=budget_variables(options, folder),
    )
    sweep.prepare()
    if not arguments.no_check:
        sweep = _without_unanswered(sweep)
    try:
        chosen_executor(arguments).run(sweep, progress)
    except KeyboardInterrupt:
        raise RunInterrupted(f"interrupted; {sweep.kept()}") from None
    except RunInterrupted as error:
        raise RunInterrupted(f"{error}; {sweep.kept()}") from None
    rows = [sweep.progress(model) for model in sweep.models]
    done = [row for row in rows if row.done]
    # what is unfinished is in the table
    written = write_report([str(folder)], folder / "report", "Sweep", warn, warn_unfinished=False) if done else None
    page = str(written.page) if written else None
    if arguments.json:
        models = {row.model: {"done": row.done, "missing": row.missing, "message": row.message} for row in rows}
        print_json({"models": models, "report": page})
    else:
        head = ["model", "done", "missing", "why"]
        print(table(head, [[row.model, str(len(row.done)), ",".join(row.missing), row.message] for row in rows]))
        print(f"\n{page or 'no report: nothing is done yet'}")
    continuable = {model.name for model in sweep.pending()}
    for row in rows:
        if row.missing:
            missing = f"{len(row.missing)} of {len(sweep.tasks)} tasks are missing"
            if row.model in sweep.left_out:
                todo = "start its server or correct the models file, and run the same command again"
            elif row.model not in continuable:
                todo = f"it was not run: {row.message}"
            else:
                todo = f"see {row.output}; to continue, run the same command again"
            warn(f"{row.model}: {missing}; {todo}")
    return EXIT_PARTIAL if any(row.missing for row in rows) else 0


def _without_unanswered(sweep: Sweep) -> Sweep:
    """Leave out the models of which a server does not answer."""
    from halu_tasks.doctor.sweep import unanswered, with_servers

    asked = with_servers(sweep.pending())
    if not asked:
        return sweep
    progress(f"Asking {pluralize(len(asked), 'model', 'models')} one short question …")
    left_out = unanswered(asked)
    for name, why in left_out.items():
        progress(f"{name}: not run: {why}")
    return replace(sweep, left_out=left_out)
