"""Writing a report on results: a page, a table of items, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_path, atomic_write_text, create_folder
from halu_tasks.report.markdown import markdown
from halu_tasks.report.model.assemble import TABLE, assemble
from halu_tasks.report.model.leaderboard import board
from halu_tasks.report.model.report import ReplyWarning, Report
from halu_tasks.report.page.render import render
from halu_tasks.results.readers.read import find_results, read_results
from halu_tasks.results.reference import with_reference
from halu_tasks.results.run import Run

PAGE, TEXT, FIGURES = "index.html", "report.md", "report.json"


class WrittenReport(NamedTuple):
    """A report that was written.

    Attributes:
        page: The page.
        others: The names of the other files.
        entries: The number of entries.
        tasks: The number of tasks in the main leaderboard.
        apart: The number of columns outside of it.
        skipped: The number of results that were not read.
        incomplete: Whether results of this package could not be read.
    """

    page: Path
    others: tuple[str, ...]
    entries: int
    tasks: int
    apart: int
    skipped: int
    incomplete: bool


def write_report(
    paths: Sequence[str],
    folder: Path,
    title: str,
    warn: Callable[[str], None],
    *,
    reference: str | None = None,
    margin: float | None = None,
    warn_about: Path | None = None,
    warn_unfinished: bool = True,
) -> WrittenReport:
    """Write a report on the results in files and folders.

    Args:
        paths: Results, or folders that contain some.
        folder: Where to write, created if necessary.
        title: The heading of the page.
        warn: Called with a message for each result that is not read, except logs of runs that were continued, and for
            each note and warning of the report.
        reference: A table of better labels of judged replies, if there is one.
        margin: The difference below which two entries count as equal; None to test no equality.
        warn_about: The folder whose results `warn` is called for; None for all. The report has every warning.
        warn_unfinished: Whether `warn` is called for unfinished runs.

    Raises:
        DataError: There are no results, or a file cannot be written.
    """
    files = find_results(paths)
    create_folder(folder, "report")
    with tqdm(total=len(files), desc="reading results", unit="file", disable=None) as bar:
        results = read_results(paths, bar.update)
    quiet = ("continued",) if warn_unfinished else ("continued", "unfinished")
    for skipped in results.skipped:
        if skipped.run not in quiet and _concerns(warn_about, skipped.source):
            warn(f"not read: {skipped.source}: {skipped.why}")
    if not results.runs:
        raise DataError(f"no result of this package is in {', '.join(paths)} ({len(files)} files)")
    runs: Sequence[Run] = results.runs
    if reference:
        runs, warnings = with_reference(runs, reference)
        for text in warnings:
            warn(text)
    leaderboard = board(runs)
    with (
        atomic_path(folder / TABLE, "report") as table,
        tqdm(total=len(leaderboard.columns), desc="comparing", unit="task", disable=None) as bar,
    ):
        report = assemble(leaderboard, results.skipped, table, title, bar.update, margin)
    for note in report.notes:
        warn(note)
    for line in _warning_lines(report, warn_about):
        warn(line)
    atomic_write_text(folder / PAGE, render(report), "report")
    atomic_write_text(folder / TEXT, markdown(report), "report")
    atomic_write_text(folder / FIGURES, json.dumps(report.as_json(), indent=1) + "\n", "report")
    return WrittenReport(
        page=folder / PAGE,
        others=(TEXT, FIGURES, TABLE),
        entries=len(leaderboard.entries),
        tasks=len(leaderboard.main),
        apart=len(leaderboard.columns) - len(leaderboard.main),
        skipped=sum(skipped.run != "continued" for skipped in results.skipped),
        incomplete=any(skipped.lost for skipped in results.skipped),
    )


def _concerns(folder: Path | None, source: str) -> bool:
    """Whether a result lies in the folder that warnings are wanted for, which is any if None."""
    return folder is None or Path(source).is_relative_to(folder)


def _warning_lines(report: Report, warn_about: Path | None) -> Iterator[str]:
    """Return the warnings about replies, one line for each entry and kind of replies."""
    sources = {(result.entry, result.column): result.source for result in report.results}
    together: dict[tuple[str, str], list[ReplyWarning]] = {}
    for warning in report.warnings:
        if _concerns(warn_about, sources[warning.entry, warning.column]):
            together.setdefault((warning.entry, warning.meaning), []).append(warning)
    labels = {entry.id: entry.label for entry in report.entries}
    titles = {column.id: column.title for column in report.columns}
    for (entry, meaning), warnings in together.items():
        if len(warnings) == 1:
            yield warnings[0].text
        else:
            shares = ", ".join(f"{titles[warning.column]}: {warning.share}" for warning in warnings)
            yield f"{labels[entry]}: {shares} {meaning}"
