"""`halu-tasks report`: a page, a table and a JSON file that say who is better, by how much, how sure, and why."""

from __future__ import annotations

import argparse
from pathlib import Path

from halu_tasks.cli.arguments import add_margin_argument
from halu_tasks.cli.output import EXIT_PARTIAL, pluralize, warn
from halu_tasks.core.extras import require_extra

HELP = "write an HTML page, a Markdown table and a JSON file about results of any kind"

RESULTS_HELP = (
    "an lm-eval folder or results file, an Inspect log, the output of `score --json`, or a folder of any of these"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="RESULTS", nargs="+", help=RESULTS_HELP)
    about = "where to write (default: report)"
    parser.add_argument("-o", "--output", metavar="FOLDER", default="report", help=about)
    about = "better labels of judged replies (halu-tasks annotate verdicts), by which judged rates are corrected"
    parser.add_argument("--reference", metavar="FILE", help=about)
    parser.add_argument("--title", default="Hallucination benchmarks", help="the heading of the page")
    add_margin_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the report, and print what it contains."""
    require_extra("report", "halu-tasks report")
    from halu_tasks.report.write import write_report

    written = write_report(
        arguments.results,
        Path(arguments.output).expanduser(),
        arguments.title,
        warn,
        reference=arguments.reference,
        margin=arguments.margin,
    )
    contents = [pluralize(written.entries, "entry", "entries"), pluralize(written.tasks, "task", "tasks")]
    contents += [pluralize(written.apart, "column", "columns") + " apart"] if written.apart else []
    contents += [f"{written.skipped} not read"] if written.skipped else []
    print(f"{written.page}: {', '.join(contents)}; in the same folder: {', '.join(written.others)}")
    return EXIT_PARTIAL if written.incomplete else 0
