"""`halu-tasks quality`: what can be found out about a built dataset without a model or annotators."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument, integer, number
from halu_tasks.cli.output import print_json
from halu_tasks.cli.tables import figure, table
from halu_tasks.core.extras import require_extra

if TYPE_CHECKING:
    from halu_tasks.builders.leaks import Separation
    from halu_tasks.builders.quality import Distribution, Quality

HELP = "measure leaks, balance and duplicates of a built dataset"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="OUT", help="the folder that `halu-tasks build` wrote to")
    about = "similarity in percent from which on two items are duplicates (default: 100, equal items)"
    parser.add_argument("--near", type=number, default=100.0, metavar="PERCENT", help=about)
    about = "seed of the sample of pairs and of the folds (default: 0)"
    parser.add_argument("--seed", type=integer, default=0, metavar="N", help=about)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if something is flagged")
    add_json_argument(parser, "tables")


def run(arguments: argparse.Namespace) -> int:
    """Print the quality of a dataset."""
    require_extra("build", "halu-tasks quality")
    from halu_tasks.builders.collect import check_quality
    from halu_tasks.builders.folder import Folder

    report = check_quality(Folder(Path(arguments.folder)), near=arguments.near, seed=arguments.seed)
    if arguments.json:
        print_json(report.as_json())
    else:
        _show(report)
    return 1 if arguments.strict and report.flagged() else 0


def _show(report: Quality) -> None:
    pairs = f"{report.pairs_used:,} of {report.pairs:,} pairs"
    print(f"{report.items:,} items of {report.documents:,} documents, {pairs}")
    if report.refused:
        print("documents not used: " + ", ".join(f"{reason} {count:,}" for reason, count in report.refused.items()))
    rows = [[name, *map(figure, separation.figures), _leak(separation)] for name, separation in report.leaks.items()]
    print("\n" + table(["what distinguishes hallucinated texts", "all texts (area)", "within pairs", "leak"], rows))
    for separation in report.leaks.values():
        for side, words in separation.words.items():
            print(f"words for {side}: {', '.join(words) or 'none'}")
    rows = [["kind", *_spread(report.kinds), ""]]
    for file, fields in report.labels.items():
        for field, distribution in fields.items():
            rows.append([f"{field} in {file}", *_spread(distribution), _verdict(distribution.verdict or "")])
    head = ["balance of", "numbers", "evenness", "most frequent", "leak"]
    print("\n" + table(head, rows, right=(2, 3)))
    print(f"\nduplicates of an earlier item: {report.describe_duplicates()}")
    flagged = report.flagged()
    print("\nflagged: " + ("nothing" if not flagged else ""))
    for finding in flagged:
        print(f"  {finding.check}: {finding.text}")


def _leak(separation: Separation) -> str:
    """Describe whether a feature leaks."""
    from halu_tasks.builders.card import SAME
    from halu_tasks.builders.leaks import NONE

    return SAME if separation.same and separation.verdict == NONE else _verdict(separation.verdict)


def _verdict(verdict: str) -> str:
    from halu_tasks.builders.leaks import LEAK

    return {LEAK: "LEAK", "none": "no", "unsure": "not sure"}.get(verdict, verdict)


def _spread(distribution: Distribution) -> list[str]:
    counts = ", ".join(f"{name or '(none)'} {count:,}" for name, count in distribution.counts.items())
    shares = (distribution.evenness, distribution.largest)
    return [counts, *("-" if share is None else f"{share:.3f}" for share in shares)]
