"""Assembling the records of a report, from which the page, the Markdown and the JSON file are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from halu_tasks import __version__
from halu_tasks.report.model.baselines import floors, published_figures
from halu_tasks.report.model.breakdowns import other_scores
from halu_tasks.report.model.columns import column_record, group_means, results
from halu_tasks.report.model.detail_records import ColumnDetails
from halu_tasks.report.model.details import details
from halu_tasks.report.model.items import PER_KIND, text_limit
from halu_tasks.report.model.leaderboard import Board
from halu_tasks.report.model.names import Names
from halu_tasks.report.model.pairs import Pairs
from halu_tasks.report.model.parquet import ItemTable
from halu_tasks.report.model.report import ReplyWarning, Report, ReportEntry, Result, Superseded
from halu_tasks.report.model.summary import summary
from halu_tasks.report.model.wordings import wordings
from halu_tasks.results.entry import Entry, different_settings, possible_duplicates
from halu_tasks.results.run import Skipped

TABLE = "items.parquet"
_NAMED = 3
"""Maximum number of entries that are named together."""


def assemble(
    board: Board,
    skipped: Sequence[Skipped],
    table: Path,
    title: str,
    step: Callable[[int], object] = lambda columns: None,
    margin: float | None = None,
) -> Report:
    """Assemble the report on a board.

    Args:
        board: The board.
        skipped: Files that are not on the board.
        table: Where to write the full table of items.
        title: The report's title.
        step: Called with 1 after each column.
        margin: The difference below which two entries count as equal; None to test no equality.
    """
    means = list(board.groups())
    names = Names.of(board, means)
    pairs = Pairs.of(board, means, margin)
    all_results: list[Result] = []
    all_details: list[ColumnDetails] = []
    limit = text_limit(3 * PER_KIND * len(board.columns), len(board.entries))
    with ItemTable(table) as items:
        for column in board.columns:
            others = {entry: other_scores(column, run.answers) for entry, run in column.runs.items()}
            all_results += results(column, names, pairs.ranks[column])
            for entry, run in column.runs.items():
                items.add(names.labels[entry], names.titles[column], column, run, others[entry])
            all_details.append(details(column, names, others, limit))
            step(1)
    groups, group_results = group_means(means, names, pairs.ranks)
    report = Report(
        title=title,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        package=f"halu-tasks {__version__}",
        summary=[],
        notes=list(_notes(board, names)),
        entries=[_entry(entry, names) for entry in board.entries],
        columns=[column_record(column, names) for column in board.columns],
        groups=groups,
        results=all_results,
        group_results=group_results,
        floors=[floor for column in board.columns for floor in floors(column, names)],
        published=published_figures(board, names, groups),
        rule=pairs.rule,
        margin=margin,
        pairs=pairs.records(board, names),
        wins=pairs.wins(board, names),
        wordings=list(wordings(board, names)),
        skipped=skipped,
        warnings=list(_warnings(board, names)),
        superseded=list(_superseded(board, names)),
        why=all_details,
        table=TABLE,
    )
    return replace(report, summary=summary(report))


def _entry(entry: Entry, names: Names) -> ReportEntry:
    return ReportEntry(
        id=names.entries[entry],
        label=names.labels[entry],
        model=entry.model,
        method=entry.method,
        harness=entry.harness,
        settings=dict(entry.settings),
        roles=dict(entry.roles),
    )


def _notes(board: Board, names: Names) -> Iterator[str]:
    for one, other in possible_duplicates(board.entries):
        yield (
            f"{one.model} ({one.harness}) and {other.model} ({other.harness}) may be the same model. Results of two "
            "harnesses are not merged: both are compared with all others and with each other. To compare models, pass "
            "the results of one harness"
        )
    if differences := different_settings(column.runs for column in board.columns):
        clauses = (
            f"{name} is {_joined([_of_entries(value, by_value[value], names) for value in _own_value_last(by_value)])}"
            for name, by_value in differences.items()
        )
        yield f"Entries that are compared have different generation settings: {'; '.join(clauses)}"


def _own_value_last(values: Iterable[str | None]) -> list[str | None]:
    return sorted(values, key=lambda value: value is None)


def _of_entries(value: str | None, entries: Sequence[Entry], names: Names) -> str:
    """Say which entries have a value of a setting, by their labels if they are few."""
    labels = [names.labels[entry] for entry in entries]
    who = _joined(labels) if len(labels) <= _NAMED else f"{len(labels)} entries"
    return f"{'the task’s own' if value is None else value} for {who}"


def _joined(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _warnings(board: Board, names: Names) -> Iterator[ReplyWarning]:
    for column in board.columns:
        for entry, run in column.runs.items():
            label, title = names.labels[entry], names.titles[column]
            for share, meaning in run.reply_warnings:
                yield ReplyWarning(
                    entry=names.entries[entry],
                    column=names.columns[column],
                    share=share,
                    meaning=meaning,
                    text=f"{label}, {title}: {share} {meaning}",
                )


def _superseded(board: Board, names: Names) -> Iterator[Superseded]:
    for earlier, column in board.superseded:
        entry = Entry.of(earlier)
        later = column.runs[entry]
        yield Superseded(
            entry=names.entries[entry],
            column=names.columns[column],
            source=earlier.source,
            created=earlier.created,
            why=f"{column.task.name}: replaced by the later run of {later.created} ({later.source})",
        )
