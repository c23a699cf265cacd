"""`halu-tasks collect`: make the dataset of a build from its logs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument, number
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import NONE, table
from halu_tasks.core.extras import require_extra
from halu_tasks.text.figures import format_interval

if TYPE_CHECKING:
    from halu_tasks.builders.folder import Folder
    from halu_tasks.builders.records import Collection

HELP = "assemble the dataset of a build again, with other options"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the build")
    add_collect_arguments(parser)


def add_collect_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `collect_and_show` reads."""
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
    add_json_argument(parser, "tables")


def run(arguments: argparse.Namespace) -> int:
    """Collect the dataset of a build."""
    require_extra("build", "halu-tasks collect")
    from halu_tasks.builders.folder import Folder

    return collect_and_show(Folder(Path(arguments.folder)), arguments)


def collect_and_show(folder: Folder, arguments: argparse.Namespace) -> int:
    """Make the dataset of a build, and print what became of its documents.

    Args:
        folder: The build.
        arguments: The arguments that `add_collect_arguments` adds.

    Returns:
        The exit status.
    """
    from halu_tasks.builders.collect import check_items, collect
    from halu_tasks.builders.records import to_json

    collection = collect(
        folder,
        balance=arguments.balance,
        near=arguments.near,
        embeddings=arguments.embeddings,
        partial=arguments.partial,
        licence=arguments.licence,
    )
    if arguments.json:
        print_json({"folder": str(folder.path), **to_json(collection)}, indent=None)
    else:
        _show(folder, collection)
    check_items(folder, collection)
    if unfinished := collection.documents_not_done:
        warn(f"{unfinished} of {folder.plan.documents} documents are not in the dataset")
        return EXIT_PARTIAL
    return 0


def _show(folder: Folder, collected: Collection) -> None:
    from halu_tasks.builders.card import CARD
    from halu_tasks.builders.folder import DATASET

    refused = sum(collected.refused.values())
    print(f"{collected.documents} documents, {refused} refused, {collected.documents_not_done} not finished")
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
    path = folder.path
    files = [[str(path / DATASET / name), str(rows)] for name, rows in collected.files.items()]
    print("\n" + table(["file", "rows"], files, right=(1,)))
    print(f"\ncard: {path / DATASET / CARD}; quality: halu-tasks quality {path}")
