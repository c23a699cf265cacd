"""Writing a report on results: a page, a table of items, Markdown and JSON; and comparing a few results."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_files, create_folder
from halu_tasks.report.assemble import TABLE, assemble
from halu_tasks.report.board import board, paired_board
from halu_tasks.report.page import as_json, in_detail, markdown, render
from halu_tasks.report.report_records import Column, ReplyWarning, Report
from halu_tasks.report.summary import warning_text
from halu_tasks.results.comparability import Entry, why_not_paired
from halu_tasks.results.read import read_and_warn, read_results
from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run
from halu_tasks.results.verdict_labels import with_reference_labels
from halu_tasks.tasks.task_registry import get_group

PAGE, TEXT, FIGURES = "index.html", "report.md", "report.json"
FILES = (PAGE, TEXT, FIGURES, TABLE)
"""The files of a report."""


@contextmanager
def _without_collection() -> Iterator[None]:
    """Do not look for garbage: nearly all that a report reads is kept, and searching it takes a sixth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.unfreeze()  # all objects are old now, so that enabling does not begin with a search of them
            gc.enable()


@_without_collection()
def write_report(
    paths: Sequence[str],
    folder: Path,
    title: str,
    warn: Callable[[str], None],
    *,
    reference: str | None = None,
    margin: float | None = None,
    published: bool = False,
    warn_unfinished: bool = True,
) -> Report:
    """Write a report on the results in files and folders.

    Args:
        paths: Results, folders that contain some, and files of groups (.yaml) whose means are shown.
        folder: Where to write, created if necessary.
        title: The heading of the page.
        warn: Called with a message for each result that is not read, except logs of runs that were continued, and for
            each note and warning of the report.
        reference: A table of better labels of judged replies, if there is one.
        margin: The difference below which two entries count as equal; None to test no equality.
        published: Whether published figures are shown as rows of the leaderboard without being asked for.
        warn_unfinished: Whether `warn` is called for unfinished runs.

    Raises:
        DataError: There are no results, or a file cannot be written.
    """
    files = [path for path in paths if path.endswith(".yaml")]
    groups, paths = [*map(get_group, files)], [path for path in paths if path not in files]
    results = read_and_warn(paths, warn, warn_unfinished=warn_unfinished)
    create_folder(folder, "report")
    runs, warnings = with_reference_labels(results.runs, reference) if reference else (results.runs, [])
    with atomic_files(folder, PAGE, "report") as made:
        report = assemble(board(runs, groups), results.skipped, title, table=made / TABLE, margin=margin)
        without = {group.name for group in groups} - {mean.group for mean in report.means}
        warnings += [f"{name}: no mean, as no entry has all its tasks, asked alike" for name in sorted(without)]
        for line in (*warnings, *report.notes, *_warning_lines(report)):
            warn(line)
        texts = {
            PAGE: render(report, published=published),
            TEXT: markdown(report, detail=in_detail(report), published=published),
            FIGURES: json.dumps(as_json(report)) + "\n",
        }
        for name, content in texts.items():
            (made / name).write_text(content, encoding="utf-8", newline="\n")
    return report


def _warning_lines(report: Report) -> Iterator[str]:
    """Return the warnings about replies, one line for each entry and kind of replies."""
    together: dict[tuple[Entry, str], list[tuple[Column, ReplyWarning]]] = {}
    for entry, column, warning in report.warnings:
        together.setdefault((entry, warning.meaning), []).append((column, warning))
    for (entry, meaning), warnings in together.items():
        if len(warnings) == 1:
            yield warning_text(entry, *warnings[0])
        else:
            shares = ", ".join(f"{column.title}: {one.share}" for column, one in warnings)
            yield f"{entry.label}: {shares} {meaning}"


def compare_paths(
    paths: Sequence[str], metrics: Sequence[str], warn: Callable[[str], None], margin: float | None = None
) -> tuple[Report, bool]:
    """Compare the results in files and folders.

    Args:
        paths: Results, or folders that contain some.
        metrics: Names of metrics; the headline metric of each task if empty.
        warn: Called with a message for each file that cannot be read.
        margin: The difference below which two results count as equal; None to test no equality.

    Returns:
        The report, and whether results could not be read or compared.

    Raises:
        DataError: A file or folder has no results that can be read, or nothing can be compared.
        UsageError: There are fewer than two runs, or one of them twice.
    """
    by_path: dict[str, list[Run]] = {}
    incomplete = False
    for path in paths:
        runs, skipped = read_results([path])
        for result in skipped:
            if not runs:
                raise DataError(f"{result.source}: {result.why}")
            warn(f"not read: {result.source}: {result.why}")
        if not runs:
            raise DataError(f"{path}: contains no results of this package that can be read")
        incomplete = incomplete or any(result.lost for result in skipped)
        # the plain prompt first, with which methods are compared
        by_path[path] = sorted(runs, key=lambda run: (run.method not in (PLAIN, METHOD_UNKNOWN), run.created))
    if sum(map(len, by_path.values())) < 2:
        raise UsageError("comparing needs at least two results; name another one, or a folder that contains several")
    report = compare(by_path, metrics, margin)
    alone = {*report.columns} - {pair.place for pair in report.pairs}
    return report, incomplete or bool(alone)


def compare(by_path: Mapping[str, Sequence[Run]], metrics: Sequence[str] = (), margin: float | None = None) -> Report:
    """Compare runs on the same items, whatever the models were asked and how.

    Runs of different tasks are compared if there is only one for each path.

    Args:
        by_path: The runs by where they come from.
        metrics: Names of metrics; the headline metric of each task if empty.
        margin: The difference below which two runs count as equal; None to test no equality.

    Raises:
        DataError: None of several runs can be compared.
        UsageError: A run is there twice, or a task has no such metric.
    """
    runs = [(path, run) for path, of_path in by_path.items() for run in of_path]
    sources: dict[object, str] = {}
    for path, run in runs:
        if sources.setdefault(run.identity, path) != path:
            raise UsageError(f"the run in {run.source} is named twice (also in {sources[run.identity]})")
    across = all(len(of_path) == 1 for of_path in by_path.values())
    entries = _entries_as_asked([run for _, run in runs], across=across)
    for name, values in (
        ("harness", [run.program for _, run in runs]),
        ("results", [path for path, _ in runs]),
        ("results", [run.source for _, run in runs]),
    ):
        if len({(run.task, run.scoring, entry) for (_, run), entry in zip(runs, entries, strict=True)}) < len(runs):
            # the same model was asked the same, as in two harnesses or on two days
            entries = [_with_settings(entry, **{name: value}) for value, entry in zip(values, entries, strict=True)]
    rows = [(entry, run) for (_, run), entry in zip(runs, entries, strict=True)]
    report = assemble(paired_board(rows, across=across, metrics=metrics), title="Comparison", margin=margin)
    if len(runs) > 1 and not report.pairs:
        reasons = [why_not_paired(runs[0][1], column.first) for column in report.columns]
        if not across and len({run.task for _, run in runs}) == len(runs):
            reasons = ["each task has only one result; wordings of a task are compared by --prompts packaged,FILE"]
        raise DataError(f"nothing can be compared: {'; '.join(filter(None, reasons)) or 'every task has one result'}")
    return report


def _entries_as_asked(runs: Sequence[Run], *, across: bool) -> list[Entry]:
    """Return the entry of each run, with whatever its prompts do not share with other runs that it is compared with."""
    values: dict[tuple[Hashable, str], set[str]] = {}
    options_of_runs = []
    for run in runs:
        scope = None if across else run.task
        options: dict[tuple[Hashable, str], str] = {(scope, "task"): run.task}
        options |= {(scope, name): str(value) for name, value in run.asked.items() if value is not None}
        # prompts are named only if the same model was asked with several
        options |= {((scope, Entry.of(run)), "prompts"): str(run.provenance.prompt_hash)}
        options_of_runs.append(options)
        for key, value in options.items():
            values.setdefault(key, set()).add(value)
    return [
        _with_settings(Entry.of(run), **{key[1]: value for key, value in of_run.items() if len(values[key]) > 1})
        for run, of_run in zip(runs, options_of_runs, strict=True)
    ]


def _with_settings(entry: Entry, **more: object) -> Entry:
    return replace(entry, settings={**entry.settings, **{name: str(value) for name, value in more.items()}})
