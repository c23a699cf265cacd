"""`halu-tasks report`: a page, a table and a JSON file that say who is better, by how much, how sure, and why."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tqdm import tqdm

from halu_tasks.cli import DONE_IN_PART, warn
from halu_tasks.errors import DataError
from halu_tasks.files import atomic_path, atomic_write_text
from halu_tasks.report.markdown import markdown
from halu_tasks.report.model.assemble import TABLE, assemble
from halu_tasks.report.model.leaderboard import board
from halu_tasks.report.page.render import render
from halu_tasks.results.readers.read import find_results, read_results

PAGE, TEXT, FIGURES = "index.html", "report.md", "report.json"


def run(arguments: argparse.Namespace) -> int:
    files = find_results(arguments.results)
    folder = Path(arguments.output).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"report {folder}: {error.strerror}; name another folder with -o") from None
    with tqdm(total=len(files), desc="reading results", unit="file", disable=None) as bar:
        results = read_results(arguments.results, bar.update)
    for skipped in results.skipped:
        print(f"halu-tasks: not read: {skipped.source}: {skipped.why}", file=sys.stderr)
    if not results.runs:
        raise DataError(f"no result of this package is in {', '.join(arguments.results)} ({len(files)} files)")
    found = board(results.runs)
    with (
        atomic_path(folder / TABLE, "report") as table,
        tqdm(total=len(found.columns), desc="comparing", unit="task", disable=None) as bar,
    ):
        report = assemble(found, results.skipped, table, arguments.title, bar.update)
    for warning in report.warnings:
        warn(warning.text)
    for name, text in (
        (PAGE, render(report)),
        (TEXT, markdown(report)),
        (FIGURES, json.dumps(report.as_json(), indent=1) + "\n"),
    ):
        atomic_write_text(folder / name, text, "report")
    apart = len(found.columns) - len(found.main)
    told = [_count(len(found.entries), "entry", "entries"), _count(len(found.main), "task", "tasks")]
    told += [_count(apart, "column", "columns") + " apart"] if apart else []
    told += [f"{len(results.skipped)} not read"] if results.skipped else []
    print(f"{folder / PAGE}: {', '.join(told)}; beside it {TEXT}, {FIGURES}, {TABLE}")
    return DONE_IN_PART if any(skipped.lost for skipped in results.skipped) else 0


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
