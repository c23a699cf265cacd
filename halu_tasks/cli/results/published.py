"""`halu-tasks published`: the figures that papers print for a task."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument
from halu_tasks.cli.output import print_json
from halu_tasks.cli.tables import table
from halu_tasks.core.errors import UsageError

if TYPE_CHECKING:
    from halu_tasks.results.published import Published

HELP = "print the figures that papers report for a task"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("task", nargs="?", metavar="TASK", help="a task or a group (default: all)")
    add_json_argument(parser, "a table")


def run(arguments: argparse.Namespace) -> None:
    """Print the published figures."""
    from halu_tasks.results.published import published, with_figures

    figures = published(arguments.task)
    if not figures:
        raise UsageError(f"{arguments.task!r} has no published figures; {with_figures()}")
    if arguments.json:
        print_json({"published": [asdict(figure) for figure in figures]})
    else:
        print(report(figures))


def report(figures: Sequence[Published]) -> str:
    """Format published figures as a table, with numbered notes below it.

    Columns without any value are left out, and so is the task if there is only one.
    """
    notes = dict.fromkeys(note for figure in figures for note in figure.note.splitlines())
    numbers = {note: str(number) for number, note in enumerate(notes, start=1)}
    columns = {
        "task": [figure.task for figure in figures],
        "model": [figure.model for figure in figures],
        "method": [figure.method for figure in figures],
        "critic": [figure.critic or "" for figure in figures],
        "judge": [figure.judge or "" for figure in figures],
        "metric": [figure.metric for figure in figures],
        "value": [f"{figure.value:g}" for figure in figures],
        "scoring": [figure.scoring for figure in figures],
        "source": [figure.source for figure in figures],
        "notes": [", ".join(numbers[note] for note in figure.note.splitlines()) for figure in figures],
    }
    if len(set(columns["task"])) == 1:
        del columns["task"]
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    numbered_notes = "".join(f"\n{number}: {note}" for note, number in numbers.items())
    text = table([*shown], [*zip(*shown.values(), strict=True)])
    return f"{text}\n{numbered_notes}" if numbered_notes else text
