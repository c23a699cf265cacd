"""`halu-tasks run`: one model on some tasks in its harness, ending in a report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import (
    add_named_model,
    add_run_options,
    given_options,
    model_name,
    positive_int,
    run_options,
)
from halu_tasks.cli.output import pluralize, progress, warn
from halu_tasks.core.errors import RunInterrupted
from halu_tasks.core.extras import install_hint, missing_modules
from halu_tasks.core.options import JUDGE_COST_OPTIONS

if TYPE_CHECKING:
    from halu_tasks.cli.parser import Parser

_TASK_OPTIONS = ("-T", "--task-config", "--metadata")
"""The harnesses' options that give options to tasks."""

HELP = "run one model on some tasks, and write a report"


def add_arguments(parser: Parser) -> None:
    """Declare the arguments."""
    parser.takes_further = True
    parser.epilog = "What follows -- is added to the harness's command: -- --max-tokens 4096"
    add_named_model(parser, required=True)
    about = "tasks, groups, halu_tasks (all tasks that need no judge) or halu_tasks_judged (the others)"
    parser.add_argument("--tasks", metavar="A,B", required=True, help=about)
    parser.add_argument("--limit", type=positive_int, metavar="N", help="only the first N items of each task")
    about = "where each run has a folder of its own, beside a report on all of them (default: halu-runs)"
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("halu-runs"), help=about)
    about = "whether lm-eval applies the chat template (default: if the tokenizer of an hf model has one)"
    parser.add_argument("--chat-template", action=argparse.BooleanOptionalAction, help=about)
    add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the harness's command, run it, and write the report; return the harness's status, or 1 if a task failed."""
    from halu_tasks.doctor.examine import require_ready
    from halu_tasks.doctor.judge import check_judge
    from halu_tasks.judging.shared_budget import budget_variables
    from halu_tasks.sweeps.keys import placeholder_key
    from halu_tasks.sweeps.named_model import for_harness
    from halu_tasks.sweeps.single_run import SingleRun, new_folder
    from halu_tasks.tasks import tasks_selected

    name = model_name(arguments)
    tasks = tasks_selected(arguments.tasks.split(","))
    model = for_harness(name, arguments.harness or name.default_harness, arguments.chat_template)
    # options of tasks after -- may name other data, which only the harness reads
    checked = [] if any(word.startswith(_TASK_OPTIONS) for word in arguments.further) else tasks
    given = given_options(arguments)
    require_ready(name, model, checked, given)
    if not given.judge:
        for check in check_judge(checked, given):
            warn(f"{check.found}; {check.advice}")
    parent = arguments.output.expanduser()
    folder, options = new_folder(parent, model.name), run_options(arguments)
    single = SingleRun(
        folder=folder,
        model=model,
        tasks=tuple(task.name for task in tasks),
        options={name: value for name, value in options.items() if name not in JUDGE_COST_OPTIONS},
        limit=arguments.limit,
        further=tuple(arguments.further),
        environment={**placeholder_key(name, model), **budget_variables(options, folder)},
    )
    print(f"$ {single.line}", flush=True)
    status = single.run()
    missing = single.missing()
    if len(missing) < len(tasks):
        try:
            _report(parent, single.folder)
        except KeyboardInterrupt:
            kept = f"all replies are kept, write the report with: {single.report_line}"
            raise RunInterrupted(f"interrupted; {kept}") from None
        for task in missing:
            warn(f"{task}: no complete result; the output of {model.harness} above says why")
    elif status < 0:
        warn(f"{model.harness} was ended by signal {-status}, and no task has a complete result")
    elif not status:
        warn(f"no task has a complete result; the output of {model.harness} above says why")
    return status or (1 if missing else 0)


def _report(parent: Path, folder: Path) -> None:
    """Write the report on all results in `parent`; warnings are printed only of those in `folder`."""
    if missing_modules("report"):
        warn(f"no report is written; {install_hint('report')}, then: halu-tasks report {parent}")
        return
    from halu_tasks.report.write import write_report
    from halu_tasks.sweeps.single_run import REPORT

    sys.stdout.flush()
    progress("Writing the report …")
    written = write_report([str(parent)], parent / REPORT, "Runs", warn, warn_about=folder)
    contents = [pluralize(written.entries, "entry", "entries"), pluralize(written.tasks, "task", "tasks")]
    print(f"\n{written.page}: {', '.join(contents)}")
