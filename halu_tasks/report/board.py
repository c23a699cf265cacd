"""The board of a report: which results stand beside each other, as entries (rows) and columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from halu_tasks.comparability import asked_otherwise, not_paired, reordered
from halu_tasks.entries import Entry, labels_of
from halu_tasks.runs import Run
from halu_tasks.scorers.metrics import Estimate, Metric
from halu_tasks.tasks import Task, registry

_DATA = ("pinned", "extract", "local", "sample")
"""Kinds of data, those first that say most about the benchmark."""


@dataclass
class Column:
    """Results that compare: runs of one task under one condition, one an entry.

    Attributes:
        runs: by entry.
        why: what is different from the task's main column; empty for a main column.
    """

    runs: dict[Entry, Run] = field(default_factory=dict)
    why: str = ""

    @property
    def first(self) -> Run:
        return next(iter(self.runs.values()))

    @cached_property
    def task(self) -> Task:
        return self.first.benchmark_task

    @cached_property
    def metrics(self) -> list[Metric]:
        """Those that some run has, in the task's order."""
        known = self.task.scoring[self.first.scoring].metrics
        # the judge may have been named otherwise than as an option, which is all that provenance tells
        asked = {**self.first.provenance, "judge": self.first.judge}
        return [m for m in known if m.needs is None or asked.get(m.needs)]

    @cached_property
    def headline(self) -> Metric:
        return next(metric for metric in self.metrics if metric.name == self.task.headline)

    @property
    def notes(self) -> list[str]:
        """What a reader must know of runs that nevertheless compare."""
        others = [(entry, reordered(self.first, run)) for entry, run in list(self.runs.items())[1:]]
        return [
            f"{entry.model} was asked {turned:,} of the items with the answers in another order than {self.first.model}"
            for entry, turned in others
            if turned
        ]


@dataclass
class Board:
    """Entries and columns, main columns first, and runs in whose place the last of their kind stands, each with the
    column."""

    entries: list[Entry]
    columns: list[Column]
    superseded: list[tuple[Run, Column]]

    @property
    def main(self) -> list[Column]:
        return [column for column in self.columns if not column.why]

    def labels(self) -> dict[Entry, str]:
        return labels_of(self.entries)

    def groups(self) -> Iterator[Mean]:
        """The groups whose members all have a column, in each mode: of the main columns, and of the first columns
        apart of a mode that the main ones are not in."""
        # those of most tasks say most, and stand first
        for group in sorted(registry()[1].values(), key=lambda group: -len(group.members)):
            for mode in ("strict", "paper"):
                columns = [self._column(member, mode) for member in group.members]
                whole = [column for column in columns if column]
                if len(whole) < len(columns) or not _asked_alike(whole):
                    continue
                entries = [entry for entry in self.entries if all(entry in column.runs for column in whole)]
                figures = {
                    entry: group.figures(mode, {c.task.name: c.runs[entry].scores for c in whole}) for entry in entries
                }
                for name in group.means:
                    means = {entry: own[name] for entry, own in figures.items() if name in own}
                    if means:
                        yield Mean(group.name, name, mode, whole, means)

    def _column(self, task: str, mode: str) -> Column | None:
        """The first column of a task in a mode, which is the main one where that is in it."""
        own = (column for column in self.columns if column.task.name == task and column.first.scoring == mode)
        return next(own, None)


class Mean(NamedTuple):
    """A metric's mean over the tasks of a group, by entry: those that have all of its columns."""

    group: str
    metric: str
    scoring: str
    columns: list[Column]
    figures: dict[Entry, Estimate]

    @property
    def main(self) -> bool:
        return not any(column.why for column in self.columns)


def board(runs: Sequence[Run]) -> Board:
    """The board of runs, which are in the order of their time: of two that differ in nothing else, the later one
    stands."""
    columns: dict[tuple[Any, ...], Column] = {}
    superseded = []
    for run in runs:
        column = columns.setdefault(_condition(run), Column())
        entry = Entry.of(run)
        if earlier := column.runs.pop(entry, None):
            superseded.append((earlier, column))
        column.runs[entry] = run
    order = list(registry()[0])

    def place(task: Task) -> tuple[int, str]:
        """Derived tasks stand behind the packaged task that they come from."""
        return order.index(task.reference) if task.reference in order else len(order), task.name

    by_task: dict[str, list[Column]] = {}
    for column in sorted(columns.values(), key=lambda column: (place(column.task), _rank(column))):
        by_task.setdefault(column.task.name, []).append(column)
    for main, *others in by_task.values():
        for column in others:
            column.why = "; ".join(_apart(main.first, column.first))
    ordered = [columns[0] for columns in by_task.values()]
    ordered += [column for columns in by_task.values() for column in columns[1:]]
    entries = sorted({entry for column in ordered for entry in column.runs}, key=Entry.order)
    for column in ordered:
        column.runs = {entry: column.runs[entry] for entry in entries if entry in column.runs}
    return Board(entries, ordered, superseded)


def _asked_alike(columns: Sequence[Column]) -> bool:
    """Whether a mean over these columns is of one thing: not of the sample and the benchmark, of two modes, or of other
    values of an option that both tasks have."""
    told = [{"scoring": run.scoring, "data": run.provenance["data"], **run.asked} for run in (c.first for c in columns)]
    values: dict[str, set[str]] = {}
    for name, value in (pair for own in told for pair in own.items()):
        values.setdefault(name, set()).add(str(value))
    return all(len(own) == 1 for own in values.values())


def _condition(run: Run) -> tuple[Any, ...]:
    """What runs of a task that compare have in common."""
    labelled = bool(run.benchmark_task.labels)
    targets = () if labelled else tuple(sorted((score.id, str(score.target)) for score in run.scores))
    return (
        run.task,
        run.task_version,
        run.scoring,
        run.provenance["data_sha256"],
        run.provenance["prompt_hash"],
        tuple(sorted((name, str(value)) for name, value in run.asked.items())),
        run.judge,
        run.epochs,
        run.items_hash,
        hash(targets),
    )


def _rank(column: Column) -> tuple[Any, ...]:
    """The main column of a task is the least: the benchmark's own data, the judge that is needed, strict, no options,
    all items; of several such columns that with most entries. What says most about the benchmark thus stays the main
    one, whatever else is added."""
    run = column.first
    unjudged = column.task.judged is not None and run.judge is None
    kind = run.provenance["data"]
    data = _DATA.index(kind) if kind in _DATA else len(_DATA)
    options = len(run.options) + (run.provenance["fewshot"] not in (None, column.task.shots))
    return (
        data,
        unjudged,
        run.scoring != "strict",
        options,
        -len(run.scores) // run.epochs,
        -len(column.runs),
        run.created,
    )


def _apart(main: Run, other: Run) -> list[str]:
    told = [unlike.what for unlike in (*not_paired(main, other), *asked_otherwise(main, other))]
    return told or ["has other right answers"]
