"""`halu-tasks doctor`: what would keep a run from succeeding, and what to do."""

from __future__ import annotations

import argparse
from collections import Counter

from halu_tasks.cli.arguments import add_json_argument, add_named_model, add_run_options, given_options, model_name
from halu_tasks.cli.output import print_json
from halu_tasks.cli.tables import table

HELP = "check installation, data, judge and model before a run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_named_model(parser, required=False)
    about = "the tasks of the run: tasks, groups, halu_tasks or halu_tasks_judged"
    parser.add_argument("--tasks", metavar="A,B", default="", help=about)
    add_run_options(parser)
    add_json_argument(parser, "a table", "one JSON list")


def run(arguments: argparse.Namespace) -> int:
    """Print the checks; return 1 if one failed."""
    from halu_tasks.doctor.examine import examine
    from halu_tasks.tasks import tasks_selected

    tasks = tasks_selected(arguments.tasks.split(",")) if arguments.tasks else []
    name = model_name(arguments) if arguments.model else None
    checks = list(examine(name, arguments.harness, tasks, given_options(arguments)))
    failed = [check for check in checks if check.state == "failed"]
    if arguments.json:
        print_json([check._asdict() for check in checks])
    else:
        print(table(["check", "state", "found"], [check[:3] for check in checks]))
        if advised := [check for check in checks if check.advice]:
            print("\n" + table(["what to do", ""], [[check.name, check.advice] for check in advised]))
        states = Counter(check.state for check in checks)
        print(f"\n{len(checks)} checks: {', '.join(f'{count} {state}' for state, count in states.items())}")
    return 1 if failed else 0
