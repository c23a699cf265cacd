"""`halu-tasks compare`: results next to each other, task by task, with paired differences and tests."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_comparison_arguments
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn

if TYPE_CHECKING:
    from halu_tasks.report.records import Report

HELP = "compare results: figures, differences and tests"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    about = "a result as for report, or a folder of results; all of them are compared with each other"
    parser.add_argument("results", metavar="RESULTS", nargs="+", help=about)
    add_comparison_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare the results, and print the figures and tests."""
    from halu_tasks.report.write import compare_paths

    report, incomplete = compare_paths(arguments.results, arguments.metric, warn, arguments.margin)
    show(report, arguments.metric, as_json=arguments.json)
    return EXIT_PARTIAL if incomplete else 0


def show(report: Report, metrics: Sequence[str], *, as_json: bool) -> None:
    """Print a comparison."""
    from halu_tasks.report.markdown import comparison

    if as_json:
        print_json(report.as_json())
    else:
        print(comparison(report, metrics))
