"""What the exports of results share: their arguments, and what they print."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halu_tasks.cli.output import EXIT_PARTIAL, warn
from halu_tasks.cli.results.report import RESULTS_HELP
from halu_tasks.core.errors import UsageError

if TYPE_CHECKING:
    from halu_tasks.exports.write import ExportOutcome


def add_result_arguments(parser: argparse.ArgumentParser, also: str = "") -> None:
    """Add the results, where they are written, and the ids of models.

    Args:
        parser: The parser of the format.
        also: What else can be exported, for the help.
    """
    parser.add_argument("results", metavar="RESULTS", nargs="+", help=RESULTS_HELP + also)
    about = "where to write; files that are there are not replaced"
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help=about)
    about = "the id of a model on the Hub, by its name in the results; can be repeated"
    parser.add_argument("--model-id", metavar="NAME=ORGANIZATION/NAME", action="append", default=[], help=about)


def ids_by_name(arguments: Sequence[str], flag: str) -> dict[str, str]:
    """Parse arguments `NAME=OWNER/NAME`; the first name may contain `=`.

    Args:
        arguments: The arguments.
        flag: What they were given to, for the error.

    Raises:
        UsageError: An argument is not of this form, or gives a name two ids.
    """
    ids: dict[str, str] = {}
    for text in arguments:
        name, _, own = text.rpartition("=")
        owner, _, rest = own.partition("/")
        if not (name and owner and rest) or "/" in rest or not own.isprintable() or " " in own:
            raise UsageError(f"{flag}: expected NAME=OWNER/NAME, got {text!r}")
        if ids.setdefault(name, own) != own:
            raise UsageError(f"{flag}: {name!r} is given two ids, {ids[name]} and {own}")
    return ids


def print_outcome(outcome: ExportOutcome) -> int:
    """Print the files of an export, and what they lack; return the exit status."""
    for note in outcome.notes:
        warn(note)
    for file in outcome.files:
        print(file)
    return EXIT_PARTIAL if outcome.incomplete else 0
