"""`halu-tasks export eee`: results in the schema of Every Eval Ever."""

from __future__ import annotations

import argparse
from pathlib import Path

from halu_tasks.cli.exports.shared import add_result_arguments, ids_by_name, print_outcome
from halu_tasks.cli.output import warn

HELP = "export results in the schema of Every Eval Ever: a record for each run, and a row for each reply"

_RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_result_arguments(parser)
    about = "the organization that publishes the results (default: unknown)"
    parser.add_argument("--organization", metavar="NAME", default="unknown", help=about)
    about = "what it is to those who made the model (default: other)"
    parser.add_argument("--relationship", choices=_RELATIONSHIPS, default="other", help=about)


def run(arguments: argparse.Namespace) -> int:
    """Write the records and rows, and print their files."""
    from halu_tasks.exports.every_eval_ever import Publisher
    from halu_tasks.exports.write import export_eee

    outcome = export_eee(
        arguments.results,
        Path(arguments.output).expanduser(),
        ids_by_name(arguments.model_id, "--model-id"),
        Publisher(arguments.organization, arguments.relationship),
        warn,
    )
    return print_outcome(outcome)
