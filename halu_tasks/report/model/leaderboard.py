"""The board of a report: which results are compared, as entries (rows) and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from halu_tasks.replies.reference import comparison_note, decisive_metric
from halu_tasks.results.comparability import asked_otherwise, not_paired, reordered
from halu_tasks.results.entry import Entry, labels_of
from halu_tasks.results.latest import latest_runs
from halu_tasks.results.run import Run
from halu_tasks.scorers.metrics import Estimate, Metric
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Group, Task, registry

_DATA = ("pinned", "extract", "local", "sample")
"""Kinds of data, beginning with those that best represent the benchmark."""


@dataclass(eq=False)
class Column:
    """Comparable results: runs of one task under one condition, one per entry. Columns are compared by identity.

    Attributes:
        runs: The runs by entry.
        why: How it differs from the task's main column; empty for a main column.
    """

    runs: dict[Entry, Run] = field(default_factory=dict)
    why: str = ""

    @property
    def main(self) -> bool:
        """Whether this is the main column of its task."""
        return not self.why

    def scores(self, entry: Entry) -> Sequence[Score]:
        """Return the scores of an entry."""
        return self.runs[entry].scores

    @property
    def first(self) -> Run:
        """The run of the first entry, which stands for the condition of all."""
        return next(iter(self.runs.values()))

    @cached_property
    def task(self) -> Task:
        """The task, including one that users derived."""
        return self.first.benchmark_task

    @cached_property
    def metrics(self) -> list[Metric]:
        """The metrics that apply to the runs, in the task's order."""
        all_metrics = self.task.metrics_of(self.first.scoring, self.first.scores)
        # provenance only records a judge that was named as an option
        options = {**self.first.provenance.options, "judge": self.first.judge, **self._judge_errors()}
        return [m for m in all_metrics if m.requires_option is None or options.get(m.requires_option)]

    def _judge_errors(self) -> dict[str, bool]:
        """Return the options about the judge's errors, and whether the scores of any run have what they add."""
        if not self.task.judged:
            return {}
        markers = {"reference": "labels", "assume": "assumed_sensitivity_low"}
        scores = [score for run in self.runs.values() for score in run.scores]
        return {option: any(name in score.measurements for score in scores) for option, name in markers.items()}

    @cached_property
    def headline(self) -> Metric:
        """The metric that sums the task up."""
        return self.task.headline_metric(self.first.scoring)

    @cached_property
    def compared_by(self) -> Metric:
        """The metric by which the entries are compared: the headline, or what human labels make of it."""
        return decisive_metric(self.headline, self.metrics, (run.scores for run in self.runs.values()))

    @property
    def notes(self) -> list[str]:
        """Differences between the runs that readers need to know of, although the runs can be compared."""
        counts = {entry.model: reordered(self.first, run) for entry, run in list(self.runs.items())[1:]}
        others = {model: count for model, count in counts.items() if count}
        judged = comparison_note(self.task, self.compared_by, [run.scores for run in self.runs.values()])
        return [*([judged] if judged else []), *([_order_note(self.first.model, others)] if others else [])]


@dataclass
class Board:
    """Entries and columns: main columns first, and those that more entries share before others.

    `superseded` lists runs that were replaced by a later run of the same entry, each with its column.
    """

    entries: list[Entry]
    columns: list[Column]
    superseded: list[tuple[Run, Column]]

    @property
    def main(self) -> list[Column]:
        """The main columns."""
        return [column for column in self.columns if column.main]

    def labels(self) -> dict[Entry, str]:
        """Label each entry."""
        return labels_of(self.entries)

    def groups(self) -> Iterator[Mean]:
        """Compute the means of groups, in each mode in which all members have a column.

        A member's column in a mode is the main one if it is in that mode, otherwise the first column apart.
        """
        # groups of most tasks first, and the mean of one entry alone, which compares nothing, after the others
        yield from sorted(self._means(), key=lambda mean: len(mean.figures) < 2)

    def _means(self) -> Iterator[Mean]:
        for group in sorted(registry()[1].values(), key=lambda group: -len(group.members)):
            for mode in ("strict", "paper"):
                columns = [self._column(member, mode) for member in group.members]
                present = [column for column in columns if column]
                if len(present) < len(columns) or not _same_condition(present):
                    continue
                entries = [entry for entry in self.entries if all(entry in column.runs for column in present)]
                figures = {entry: group.figures(mode, _scores(present, entry)) for entry in entries}
                for name in group.means:
                    means = {entry: by_name[name] for entry, by_name in figures.items() if name in by_name}
                    if means:
                        yield Mean(group, name, mode, present, means)

    def _column(self, task: str, mode: str) -> Column | None:
        """Return the column that best represents a task in a mode: the main one if it is in that mode."""
        matching = (column for column in self.columns if column.task.name == task and column.first.scoring == mode)
        return min(matching, key=_rank, default=None)


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of a metric over the tasks of a group. Means are compared by identity.

    Attributes:
        group: The group.
        name: The metric's name.
        scoring: The mode of the columns, `strict` or `paper`.
        columns: A column of each member.
        figures: The mean of each entry with results in all columns.
    """

    group: Group
    name: str
    scoring: str
    columns: Sequence[Column]
    figures: Mapping[Entry, Estimate]

    @cached_property
    def corrected(self) -> list[Column]:
        """The columns whose figures human labels correct."""
        return [column for column in self.columns if column.compared_by.name == f"{self.name}_ppi"]

    @cached_property
    def metric(self) -> Metric:
        """The mean as a metric of the scores that `scores` returns, of corrected figures where there are any."""
        return self.group.metric(self.name, self.scoring, {c.task.name: c.compared_by for c in self.corrected})

    def scores(self, entry: Entry) -> list[Score]:
        """Join an entry's scores in all columns."""
        return self.group.scores(_scores(self.columns, entry))

    @property
    def main(self) -> bool:
        """Whether the mean is over main columns only."""
        return all(column.main for column in self.columns)


def _scores(columns: Sequence[Column], entry: Entry) -> dict[str, Sequence[Score]]:
    """Return an entry's scores by task."""
    return {column.task.name: column.runs[entry].scores for column in columns}


def board(runs: Sequence[Run]) -> Board:
    """Arrange runs on a board.

    Args:
        runs: The runs in chronological order. Of runs that differ only in time, the latest counts.
    """
    columns: dict[tuple[Any, ...], Column] = {}
    latest = latest_runs(runs)
    for run in latest.runs:
        columns.setdefault(run.condition, Column()).runs[Entry.of(run)] = run
    superseded = [(earlier, columns[earlier.condition]) for earlier in latest.replaced]
    order = list(registry()[0])

    def place(task: Task) -> tuple[int, str]:
        """Sort derived tasks after the packaged task that they are derived from."""
        return order.index(task.reference) if task.reference in order else len(order), task.name

    by_task: dict[str, list[Column]] = {}
    for column in sorted(columns.values(), key=lambda column: (place(column.task), _rank(column))):
        by_task.setdefault(column.task.name, []).append(column)
    for main, *others in by_task.values():
        for column in others:
            column.why = "; ".join(_differences(main.first, column.first))
    ordered = sorted(
        (column for columns in by_task.values() for column in columns),
        key=lambda column: (not column.main, -len(column.runs)),
    )
    entries = sorted({entry for column in ordered for entry in column.runs}, key=Entry.order)
    for column in ordered:
        column.runs = {entry: column.runs[entry] for entry in entries if entry in column.runs}
    return Board(entries, ordered, superseded)


def _order_note(first: str, others: Mapping[str, int]) -> str:
    """Say for how many items the answers were in a different order than for the first model, in one note."""
    low, high = min(others.values()), max(others.values())
    count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    who = next(iter(others)) if len(others) == 1 else f"{len(others)} models"
    return f"for {who}, the answers of {count} items were in a different order than for {first}"


def _same_condition(columns: Sequence[Column]) -> bool:
    """Return whether a mean over these columns is meaningful.

    They must not mix the sample with the benchmark, the two modes, or different values of an option.
    """
    runs = [column.first for column in columns]
    conditions = [{"scoring": run.scoring, "data": run.provenance.data, **run.asked} for run in runs]
    values: dict[str, set[str]] = {}
    for name, value in (pair for condition in conditions for pair in condition.items()):
        values.setdefault(name, set()).add(str(value))
    return all(len(different) == 1 for different in values.values())


def _rank(column: Column) -> tuple[Any, ...]:
    """Return a sort key by which the main column of a task comes first.

    In order of importance, this is a column with the benchmark's own data, with the judge if the task needs one, in
    strict mode, without options, with all items, and with most entries. The column that best represents the benchmark
    thus remains the main one, whatever results are added.
    """
    run = column.first
    unjudged = column.task.judged is not None and run.judge is None
    kind = run.provenance.data
    data = _DATA.index(kind) if kind in _DATA else len(_DATA)
    options = len(run.options) + (run.provenance.fewshot not in (None, column.task.shots))
    return (
        data,
        unjudged,
        run.scoring != "strict",
        options,
        -len(run.scores) // run.epochs,
        -len(column.runs),
        run.created,
    )


def _differences(main: Run, other: Run) -> list[str]:
    differences = [unlike.what for unlike in (*not_paired(main, other), *asked_otherwise(main, other))]
    return differences or ["has different correct answers"]
