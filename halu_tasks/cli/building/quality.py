"""`halu-tasks quality`: what can be found out about a built dataset without a model or annotators."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument, integer, number
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import figure, table
from halu_tasks.core.extras import require_extra

if TYPE_CHECKING:
    from halu_tasks.builders.quality.balance import Distribution, Distributions
    from halu_tasks.builders.quality.leaks import Separation
    from halu_tasks.builders.quality.quality import Quality

HELP = "measure leaks, balance and duplicates of a built dataset"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="OUT", help="the folder that `halu-tasks build` wrote to")
    about = "published files to search for duplicates, in addition to those in the cache; can be repeated"
    parser.add_argument("--against", action="append", default=[], metavar="PATH", help=about)
    about = "also search for near-duplicates among the items, from this similarity in percent on"
    parser.add_argument("--near", type=number, metavar="PERCENT", help=about)
    about = "seed of the sample of pairs and of the folds (default: 0)"
    parser.add_argument("--seed", type=integer, default=0, metavar="N", help=about)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if something is flagged")
    add_json_argument(parser, "tables")


def run(arguments: argparse.Namespace) -> int:
    """Print the quality of a dataset."""
    require_extra("build", "halu-tasks quality")
    from halu_tasks.builders.card.describe import without_text
    from halu_tasks.builders.run.folder import Folder
    from halu_tasks.builders.workflow.quality import check_quality

    against = [Path(path) for path in arguments.against]
    report = check_quality(Folder(Path(arguments.folder)), against, arguments.near, arguments.seed)
    if arguments.json:
        print_json(report.to_json())
    else:
        _show(report)
    if arguments.strict and report.flagged:
        return 1
    return warn_without_text(without_text(report))


def warn_without_text(files: Sequence[str]) -> int:
    """Warn of files of `--against` that contain no texts to compare with; return the exit status."""
    for file in files:
        warn(f"{file} (--against) contains no text, and nothing was compared with it")
    return EXIT_PARTIAL if files else 0


def _show(report: Quality) -> None:
    pairs = report.pairs
    print(f"{report.items:,} items of {report.documents:,} documents, {pairs.used:,} of {pairs.n:,} pairs")
    if report.refused:
        print("documents not used: " + ", ".join(f"{reason} {count:,}" for reason, count in report.refused.items()))
    print()
    _show_leaks(report)
    _show_balance(report.balance)
    _show_duplicates(report)
    print("\nflagged: " + ("nothing" if not report.flagged else ""))
    for finding in report.flagged:
        print(f"  {finding.check}: {finding.text}")


def _show_leaks(report: Quality) -> None:
    rows = [
        [name, *map(figure, separation.figures), _leak(separation)] for name, separation in report.separations.items()
    ]
    print(table(["what distinguishes hallucinated texts", "all texts (area)", "within pairs", "leak"], rows))
    for side, words in (report.classifier.words or {}).items():
        print(f"words for {side}: {', '.join(words) or 'none'}")


def _show_balance(balance: Distributions) -> None:
    rows = [["kind", *_spread(balance.kinds), ""]]
    for file, fields in balance.labels.items():
        for field, distribution in fields.items():
            rows.append([f"{field} in {file}", *_spread(distribution), _verdict(distribution.verdict or "")])
    head = ["balance of", "numbers", "evenness", "most frequent", "leak"]
    print("\n" + table(head, rows, right=(2, 3)) + "\n")


def _show_duplicates(report: Quality) -> None:
    within, against = report.duplicates, report.benchmarks
    print(f"duplicates of an earlier item: {within.same.n:,}; near-duplicates: {within.describe_similar()}")
    for file in against.compared:
        published = f"{file.source} {file.file} ({file.texts:,} texts, {file.of})"
        print(f"items that share text with {published}: {file.n:,}")
    if against.not_compared:
        print(f"not compared, as they are not available locally: {', '.join(against.not_compared)}")
        print("(halu-tasks data fetch SOURCE, or --against PATH)")


def _leak(separation: Separation) -> str:
    """Describe whether a feature leaks."""
    from halu_tasks.builders.card.sections import SAME
    from halu_tasks.builders.quality.leaks import NONE

    return SAME if separation.same and separation.verdict == NONE else _verdict(separation.verdict)


def _verdict(verdict: str) -> str:
    from halu_tasks.builders.quality.leaks import LEAK

    return {LEAK: "LEAK", "none": "no", "unsure": "not sure"}.get(verdict, verdict)


def _spread(distribution: Distribution) -> list[str]:
    counts = ", ".join(f"{name or '(none)'} {count:,}" for name, count in distribution.counts.items())
    shares = (distribution.evenness, distribution.largest)
    return [counts, *("-" if share is None else f"{share:.3f}" for share in shares)]
