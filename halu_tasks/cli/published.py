"""`halu-tasks published`: the figures that papers print for a task."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from halu_tasks.cli.tables import table
from halu_tasks.errors import UsageError
from halu_tasks.results.published import Published, published, with_figures


def run(arguments: argparse.Namespace) -> None:
    figures = published(arguments.task)
    if not figures:
        raise UsageError(f"{arguments.task!r} has no published figures; {with_figures()}")
    if arguments.json:
        print(json.dumps({"published": [asdict(figure) for figure in figures]}, ensure_ascii=False, indent=2))
    else:
        print(report(figures))


def report(figures: Sequence[Published]) -> str:
    """The table for people, and below it the notes, to which numbers in the last column refer. Columns that say
    the same in every row, the task, or nothing, the models beside, are left out.
    """
    said = dict.fromkeys(note for f in figures for note in f.note.splitlines())
    numbers = {note: str(i) for i, note in enumerate(said, start=1)}
    columns = {
        "task": [f.task for f in figures],
        "model": [f.model for f in figures],
        "method": [f.method for f in figures],
        "critic": [f.critic or "" for f in figures],
        "judge": [f.judge or "" for f in figures],
        "metric": [f.metric for f in figures],
        "value": [f"{f.value:g}" for f in figures],
        "scoring": [f.scoring for f in figures],
        "source": [f.source for f in figures],
        "notes": [", ".join(numbers[note] for note in f.note.splitlines()) for f in figures],
    }
    if len(set(columns["task"])) == 1:
        del columns["task"]
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    notes = "".join(f"\n{number}: {note}" for note, number in numbers.items())
    return table([*shown], [*zip(*shown.values(), strict=True)]) + (f"\n{notes}" if notes else "")
