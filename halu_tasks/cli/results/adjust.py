"""`halu-tasks adjust`: how many of the hallucinations that a judge reports are real, by people's labels."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument, integer, positive_int
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import figure
from halu_tasks.core.errors import UsageError

if TYPE_CHECKING:
    from halu_tasks.results.adjustment import Adjustment

HELP = "estimate the share of reported hallucinations that people confirm (fave)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    about = "the labelled reports: a file with 'id' and 'confirmed' (yes or no); with --draw, results as for report"
    parser.add_argument("paths", metavar="CHECKS", nargs="+", help=about)
    about = "instead, draw N reported hallucinations from results, and write them to -o for people to check"
    parser.add_argument("--draw", type=positive_int, metavar="N", help=about)
    parser.add_argument("-o", "--output", metavar="CHECKS.csv", help="where --draw writes")
    parser.add_argument("--seed", type=integer, default=0, metavar="N", help="seed of --draw (default: 0)")
    add_json_argument(parser, "a table")


def run(arguments: argparse.Namespace) -> int:
    """Draw reports, or print the factor that their labels give."""
    if (arguments.draw is None) != (arguments.output is None):
        raise UsageError("--draw N and -o CHECKS.csv go together: N reports are drawn and written to the file")
    return _draw(arguments) if arguments.draw else _estimate(arguments)


def _draw(arguments: argparse.Namespace) -> int:
    from halu_tasks.results.adjustment import draw_reports

    drawn, reports = draw_reports(arguments.paths, arguments.draw, arguments.seed, Path(arguments.output))
    print(
        f"{drawn:,} of {reports:,} reported hallucinations in {arguments.output}; write yes or no in 'confirmed': is "
        f"the claim unsupported by the papers? Then: halu-tasks adjust {arguments.output}"
    )
    return 0


def _estimate(arguments: argparse.Namespace) -> int:
    from halu_tasks.results.adjustment import adjustment_of, read_checks

    if len(arguments.paths) > 1:
        raise UsageError(f"expected one file of labelled reports, got {len(arguments.paths)}")
    adjustment = adjustment_of(read_checks(Path(arguments.paths[0])))
    if arguments.json:
        print_json(adjustment.as_json())
    else:
        print(_report(adjustment))
    if adjustment.unlabelled:
        warn(f"{adjustment.unlabelled} of {adjustment.unlabelled + adjustment.checked} reports have no label")
    return EXIT_PARTIAL if adjustment.unlabelled else 0


def _report(adjustment: Adjustment) -> str:
    value, error = f"{adjustment.factor.value:.4f}", f"{adjustment.error:.4f}"
    return (
        f"{adjustment.confirmed} of {adjustment.checked} reports confirmed, from {adjustment.summaries} summaries\n"
        f"adjustment factor: {figure(adjustment.factor)}, standard error {error}\n\n"
        "to use it:\n"
        f"  halu-tasks score  --adjustment {value} --adjustment-error {error}\n"
        f"  Inspect           -T adjustment={value} -T adjustment_error={error}\n"
        f"  lm-eval           --metadata halu_adjustment={value},halu_adjustment_error={error}"
    )
