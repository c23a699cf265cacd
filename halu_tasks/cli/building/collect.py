"""`halu-tasks collect`: make the dataset of a build from its logs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument, number
from halu_tasks.cli.building.quality import warn_without_text
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import NONE, table
from halu_tasks.core.extras import require_extra
from halu_tasks.text.figures import format_interval

if TYPE_CHECKING:
    from halu_tasks.builders.run.folder import Folder
    from halu_tasks.builders.workflow.collect import CollectOptions, CollectResult

HELP = "assemble the dataset of a build again, with other options"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the build, or logs of builds run in Inspect")
    about = "the folder to create from logs of Inspect; it is like that of a build"
    parser.add_argument("-o", "--output", metavar="FOLDER", help=about)
    add_collect_arguments(parser)


def add_collect_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `collect_options` reads, and `--json`."""
    about = "keep as many items of each kind as there are of the rarest"
    parser.add_argument("--balance", action="store_true", help=about)
    about = "similarity in percent from which on two items are duplicates (default: 100, equal items; FactCHD: 90)"
    parser.add_argument("--near", type=number, metavar="PERCENT", help=about)
    about = (
        "a sentence-transformers model (extra embeddings) whose cosine, in percent, is the similarity (default: "
        "similarity of spelling)"
    )
    parser.add_argument("--embeddings", metavar="MODEL", help=about)
    about = "collect even if documents are not finished"
    parser.add_argument("--partial", action="store_true", help=about)
    about = "the dataset's licence, for its card (default: unknown)"
    parser.add_argument("--licence", metavar="NAME", help=about)
    about = "published files to search for duplicates, in addition to those in the cache; can be repeated"
    parser.add_argument("--against", action="append", default=[], metavar="PATH", help=about)
    add_json_argument(parser, "tables")


def collect_options(arguments: argparse.Namespace) -> CollectOptions:
    """Return the options that a command line gives."""
    from halu_tasks.builders.workflow.collect import CollectOptions

    return CollectOptions(
        balance=arguments.balance,
        near=arguments.near,
        embeddings=arguments.embeddings,
        partial=arguments.partial,
        licence=arguments.licence,
        against=[Path(path) for path in arguments.against],
    )


def run(arguments: argparse.Namespace) -> int:
    """Collect the dataset of a build, or of logs."""
    require_extra("build", "halu-tasks collect")
    from halu_tasks.builders.workflow.collect import open_build

    folder = open_build(Path(arguments.folder), Path(arguments.output) if arguments.output else None)
    return collect(folder, collect_options(arguments), as_json=arguments.json)


def collect(folder: Folder, options: CollectOptions, *, as_json: bool) -> int:
    """Make the dataset of a build, and print what became of its documents.

    Args:
        folder: The build.
        options: How the dataset is made.
        as_json: Print JSON instead of tables.

    Returns:
        The exit status.
    """
    from halu_tasks.builders.workflow.collect import collect_dataset

    result = collect_dataset(folder, options)
    if as_json:
        print_json(result.as_json(), indent=None)
    else:
        _show(result)
    result.check_items()
    status = warn_without_text(result.without_text)
    if unfinished := result.collected.documents_not_done:
        warn(f"{unfinished} of {folder.documents_planned} documents are not in the dataset")
        status = EXIT_PARTIAL
    return status


def _show(result: CollectResult) -> None:
    from halu_tasks.builders.card.describe import CARD
    from halu_tasks.builders.run.folder import DATASET

    collected = result.collected
    refused = sum(collected.refused.values())
    print(f"{result.documents} documents, {refused} refused, {collected.documents_not_done} not finished")
    rows = [
        [
            name,
            str(rate.passed),
            str(rate.of),
            f"{rate.share.value:.1%}",
            format_interval(rate.share.low, rate.share.high, ".1%", NONE),
        ]
        for name, rate in collected.rates.items()
    ]
    print(table(["check", "passed", "of", "rate", "95% interval"], rows, right=(1, 2, 3)))
    reasons = [(f"refused: {reason}", count) for reason, count in collected.refused.items()]
    reasons += collected.rejected.items()
    reasons += [(f"dropped: {reason}", count) for reason, count in collected.dropped.items()]
    if reasons:
        print("\n" + table(["reason", "times"], [[reason, str(count)] for reason, count in reasons], right=(1,)))
    path = result.folder.path
    files = [[str(path / DATASET / name), str(rows)] for name, rows in result.files.items()]
    print("\n" + table(["file", "rows"], files, right=(1,)))
    print(f"\ncard: {path / DATASET / CARD}; quality: halu-tasks quality {path}")
