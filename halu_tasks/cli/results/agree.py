"""`halu-tasks agree`: how far several sets of replies to the same items agree."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import (
    add_field_arguments,
    add_json_argument,
    add_options,
    add_task_arguments,
    task_options,
)
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import NONE, table
from halu_tasks.text.figures import format_interval

if TYPE_CHECKING:
    from halu_tasks.replies.agreement import Agreement

HELP = "measure how far several sets of replies agree: kappas, alpha and shares"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_task_arguments(parser)
    about = "one file for each rater, as for score"
    parser.add_argument("predictions", metavar="PREDICTIONS", nargs="+", help=about)
    add_field_arguments(parser)
    parser.add_argument("--gold", action="store_true", help="also compare with the gold labels")
    add_options(parser, "scoring")
    parser.add_argument("--partial", action="store_true", help="only compare the ids that are in every file")
    add_json_argument(parser, "a table")


def run(arguments: argparse.Namespace) -> int:
    """Measure the agreement, and print it."""
    from halu_tasks.replies.agreement import AgreementRequest, measure_agreement

    request = AgreementRequest(
        predictions=[Path(path) for path in arguments.predictions],
        id_field=arguments.id_field,
        output_field=arguments.output_field,
        gold=arguments.gold,
        partial=arguments.partial,
    )
    agreement = measure_agreement(arguments.task, task_options(arguments), request)
    for path, count in agreement.missing.items():
        if count:
            warn(
                f"{path}: {count} of {agreement.items} items have no reply, and so no label; --partial compares only "
                "the ids that are in every file"
            )
    if arguments.json:
        print_json(agreement.as_json())
    else:
        print(_report(agreement, partial=arguments.partial))
    return EXIT_PARTIAL if any(agreement.missing.values()) else 0


def _report(agreement: Agreement, *, partial: bool) -> str:
    built = agreement.built
    part = " (partial: only the ids in every file)" if partial else ""
    head = f"{built.task.name} {built.version}  scoring: {built.options.scoring}  data: {built.located.kind}"
    unparsed = ", ".join(f"{name} {count}" for name, count in agreement.unparsed.items())
    return (
        f"{head}  {agreement.items} items{part}\n"
        f"items without a label, which are left out: {unparsed}\n\n"
        f"{_table(agreement)}"
    )


def _table(agreement: Agreement) -> str:
    rows = []
    for name, (items, estimate) in agreement.measures.items():
        cells = [NONE, NONE]
        if estimate:
            cells = [f"{estimate.value:.4f}", format_interval(estimate.low, estimate.high, ".4f", NONE)]
        rows.append([name, *cells, f"{items:,}"])
    return table(["figure", "value", "95% interval", "items"], rows, right=(1, 3))
