"""The view model: a report arranged in the rows and cells of the page, with numbers instead of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from halu_tasks.report.model.detail_records import ColumnDetails
from halu_tasks.report.model.report import (
    FREQUENT,
    Floor,
    PairDifference,
    PublishedFigure,
    Report,
    ReportColumn,
    ReportEntry,
    ReportGroup,
    Result,
    Wins,
    missing_shares,
)
from halu_tasks.report.model.summary import top_groups
from halu_tasks.report.page.numbers import defined
from halu_tasks.scorers.metrics import Estimate


@dataclass(frozen=True)
class Head:
    """The head of a column of figures, which is a group's mean or a column of the report.

    Attributes:
        record: The group or column.
        metric: The metric's name.
        higher: Whether higher figures are better.
        column: The number of the report's column; None for a group's mean.
        span: The worst and the best value that its bars can show; None if neither direction is better.
    """

    record: ReportColumn | ReportGroup
    metric: str
    higher: bool | None
    column: int | None = None
    span: tuple[float, float] | None = None

    def bar(self, figure: Estimate | None) -> Bar | None:
        """Place a figure and its interval on the way from the worst to the best value."""
        if self.span is None or figure is None or not defined(figure.value):
            return None
        worst, best = self.span
        ends = [end for end in (figure.low, figure.high) if defined(end)]
        shares = [(x - worst) / (best - worst) for x in (figure.value, *ends) if x is not None]
        shares = [round(100 * min(1.0, max(0.0, share)), 1) for share in shares]
        return Bar(shares[0], min(shares), max(shares))


class Bar(NamedTuple):
    """A figure and the ends of its interval, in percent of the way from the worst to the best value."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Cell:
    """A cell of the leaderboard.

    Attributes:
        figure: The figure; None if it is not defined.
        rank: The confidence set of the rank; None if there is nothing to rank.
        result: The result, if the entry was measured in a column.
        note: The source and the scoring of a published figure.
        corrected: The figure corrected by a reference's labels, if the verdicts of its judge have some.
        by_corrected: Whether the rank is of the corrected figure.
        missing: Kinds of replies without an answer or a verdict, with their shares, of those that are frequent.
    """

    figure: Estimate | None
    rank: tuple[int, int] | None = None
    result: Result | None = None
    note: Sequence[str] = ()
    corrected: Estimate | None = None
    by_corrected: bool = False
    missing: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True)
class Row:
    """A row of the leaderboard; its kind is `entry`, `floor` or `published`."""

    kind: str
    label: str
    details: Sequence[str]
    cells: Sequence[Cell | None]
    entry: int | None = None


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard. `sorted_by` is the number of the column that entries are sorted by, best first."""

    heads: Sequence[Head]
    rows: Sequence[Row]
    sorted_by: int | None = None

    def parts(self, across: int) -> list[Leaderboard]:
        """Split the leaderboard into parts of at most `across` columns, with about the same number in each."""
        count = -(-len(self.heads) // across)
        borders = [len(self.heads) * i // count for i in range(count + 1)] if count else []
        return [
            Leaderboard(
                self.heads[a:b],
                [replace(row, cells=row.cells[a:b]) for row in self.rows if any(row.cells[a:b])],
            )
            for a, b in pairwise(borders)
        ]


@dataclass(frozen=True)
class Pair:
    """Two entries, as numbers, and their differences by column."""

    first: int
    second: int
    rows: list[PairDifference] = field(default_factory=list)


class View:
    """The view model, with lookups for the page. Ids may be any string, so elements are referred to by number."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.entries = report.entries
        self.columns = report.columns
        self.entry_number = {entry.id: i for i, entry in enumerate(self.entries)}
        self.column_number = {column.id: i for i, column in enumerate(self.columns)}
        self.details: Mapping[int, ColumnDetails] = {self.column_number[one.column]: one for one in report.why}
        self._results = {(result.entry, result.column): result for result in report.results}
        self._means = {(mean.entry, mean.group): mean for mean in report.group_results}
        self._groups = {group.id: group for group in report.groups}

    @cached_property
    def main(self) -> list[int]:
        """The numbers of the main columns."""
        return [i for i, column in enumerate(self.columns) if column.main]

    @cached_property
    def apart(self) -> list[int]:
        """The numbers of the columns that are shown apart."""
        return [i for i, column in enumerate(self.columns) if not column.main]

    def result(self, entry: int, column: int) -> Result | None:
        """Return the result of an entry in a column, if there is one."""
        return self._results.get((self.entries[entry].id, self.columns[column].id))

    def figure(self, entry: int, column: int) -> Estimate | None:
        """Return the headline figure of an entry in a column, if it is defined."""
        result = self.result(entry, column)
        figure = result.metrics.get(self.columns[column].headline) if result else None
        return figure if figure and defined(figure.value) else None

    def published(self, column: int) -> list[PublishedFigure]:
        """Return the published figures for a column."""
        return [figure for figure in self.report.published if figure.column == self.columns[column].id]

    def headline_floors(self, column: int) -> list[Floor]:
        """Return the floors of a column's headline."""
        return [floor for floor in self._floors(column) if floor.headline]

    def floors(self, column: int) -> dict[str, dict[str, float]]:
        """Return the floors of a column, as figures by metric by the name of the uninformed reply."""
        by_name: dict[str, dict[str, float]] = {}
        for floor in self._floors(column):
            by_name.setdefault(floor.name, {})[floor.metric] = floor.value
        return by_name

    def _floors(self, column: int) -> list[Floor]:
        return [floor for floor in self.report.floors if floor.column == self.columns[column].id]

    def ranked(self, column: int) -> list[int]:
        """Return the numbers of the entries with a figure in a column, best first by the metric that compares them."""
        entries = [entry for entry in range(len(self.entries)) if self.figure(entry, column)]
        return sorted(entries, key=lambda entry: self._place(entry, column))

    def _place(self, entry: int, column: int) -> float:
        """Return a number by which the entries of a column are sorted, best first."""
        record, result = self.columns[column], self.result(entry, column)
        return _place(result.metrics.get(record.compared_by) if result else None, record.higher_is_better)

    def board(self, columns: Sequence[int], *, main: bool) -> Leaderboard:
        """Arrange the leaderboard of some columns and of means of groups, in the order of `Report.heads`.

        Args:
            columns: The numbers of the columns.
            main: Whether to show groups of main columns, rather than groups of columns apart.
        """
        heads = self.report.heads(top_groups(self.report, main=main), [self.columns[i] for i in columns])
        return self._arranged(
            [
                self._head(self.column_number[head.id]) if isinstance(head, ReportColumn) else self._group_head(head)
                for head in heads
            ]
        )

    def other_means(self, *, main: bool) -> Leaderboard:
        """Arrange the means of groups that are parts of the groups in a leaderboard.

        Args:
            main: Whether to show groups of main columns, rather than groups of columns apart.
        """
        shown = {group.id for group in top_groups(self.report, main=main)} | {
            group.id for group in self.report.groups if group.main != main
        }
        with_means = {group for _, group in self._means}
        groups = (group for group in self.report.groups if group.id in with_means - shown)
        return self._arranged([self._group_head(group) for group in groups])

    def _head(self, number: int) -> Head:
        column = self.columns[number]
        figures = [self.figure(entry, number) for entry in range(len(self.entries))]
        span = _span(column.range, column.higher_is_better, figures)
        return Head(column, column.headline, column.higher_is_better, number, span)

    def _group_head(self, group: ReportGroup) -> Head:
        ranges = {column.range for column in self.columns if column.id in group.columns}
        bounds = next(iter(ranges)) if len(ranges) == 1 else (0.0, None)
        figures = [mean.figure for (_, of), mean in self._means.items() if of == group.id]
        span = _span(bounds, group.higher_is_better, figures)
        return Head(group, group.metric, group.higher_is_better, None, span)

    def _arranged(self, heads: Sequence[Head]) -> Leaderboard:
        rows = [self._entry_row(i, heads) for i in range(len(self.entries))]
        rows = [row for row in rows if any(row.cells)]
        if heads:
            rows.sort(key=lambda row: self._order(row, heads[0]))
        rows += [*self._floor_rows(heads), *self._published_rows(heads)]
        return Leaderboard(heads, rows, 0 if heads else None)

    def _order(self, row: Row, head: Head) -> float:
        """Return a number by which the rows of entries are sorted by their first column or mean, best first."""
        if head.column is not None and row.entry is not None:
            return self._place(row.entry, head.column)
        return _place(row.cells[0].figure if row.cells[0] else None, head.higher)

    def _entry_row(self, number: int, heads: Iterable[Head]) -> Row:
        entry = self.entries[number]
        cells: list[Cell | None] = []
        for head in heads:
            if head.column is None:
                mean = self._means.get((entry.id, head.record.id))
                by_corrected = mean is not None and mean.corrected is not None
                missing = frequent(self.report.results_of(entry.id, head.record)) if mean else ()
                cells.append(
                    Cell(mean.figure, mean.rank, None, (), mean.corrected, by_corrected, missing) if mean else None
                )
            else:
                result = self.result(number, head.column)
                metrics = result.metrics if result else {}
                corrected = metrics.get(f"{head.metric}_ppi")
                by_corrected = self.columns[head.column].compared_by != head.metric
                figure, missing = metrics.get(head.metric), frequent([result]) if result else ()
                cells.append(
                    Cell(figure, result.rank, result, (), corrected, by_corrected, missing) if result else None
                )
        return Row("entry", entry.label, self.describe(entry), cells, number)

    @staticmethod
    def describe(entry: ReportEntry) -> list[str]:
        """Describe an entry beyond its label."""
        values = [entry.method, entry.harness]
        if entry.model != entry.label:
            values.insert(0, entry.model)
        values = [value for value in values if value]
        values += [f"{role}: {model}" for role, model in entry.roles.items()]
        return values + [f"{name} {value}" for name, value in entry.settings.items()]

    def _floor_rows(self, heads: Sequence[Head]) -> list[Row]:
        floors = [floor for floor in self.report.floors if floor.headline]
        by_column = {(floor.name, floor.column): floor for floor in floors}
        rows = []
        for name in dict.fromkeys(floor.name for floor in floors):
            cells = [
                _cell(floor.value)
                if head.column is not None and (floor := by_column.get((name, head.record.id)))
                else None
                for head in heads
            ]
            if any(cells):
                rows.append(Row("floor", name, ["computed from uninformed replies"], cells))
        return rows

    def _published_rows(self, heads: Sequence[Head]) -> list[Row]:
        figures = [figure for figure in self.report.published if figure.headline]
        by_place: dict[tuple[str, str, str | None, str | None], PublishedFigure] = {}
        for figure in figures:
            by_place.setdefault((figure.model, figure.method, figure.column, figure.group), figure)
        rows = []
        for model, method in dict.fromkeys((figure.model, figure.method) for figure in figures):
            cells = []
            for head in heads:
                place = (None, head.record.id) if head.column is None else (head.record.id, None)
                published = by_place.get((model, method, *place))
                cells.append(_cell(published.value, [published.source, published.scoring]) if published else None)
            if any(cells):
                rows.append(Row("published", model, ["published", method], cells))
        return rows

    def notes(self, columns: Iterable[int]) -> dict[str, list[int]]:
        """Group the notes on columns: each note once, with the numbers of the columns that it is about."""
        return _grouped((note, i) for i in columns for note in self.columns[i].notes)

    def reasons(self) -> dict[str, list[int]]:
        """Group the columns that are shown apart by the reason."""
        return _grouped((self.columns[i].why, i) for i in self.apart)

    def methods(self) -> dict[str, list[int]]:
        """Group the entries by how they were asked: the details of `describe`, with the numbers of the entries."""
        return _grouped((" · ".join(self.describe(entry)), i) for i, entry in enumerate(self.entries))

    def harnesses(self, column: int) -> list[str]:
        """List the programs that made the results of a column."""
        results = (result for result in self.report.results if result.column == self.columns[column].id)
        return list(dict.fromkeys(result.harness for result in results))

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs of entries that were compared, with main groups and columns first."""
        by_entries: dict[tuple[int, int], Pair] = {}
        for row in sorted(self.report.pairs, key=lambda row: not self.place(row).main):
            key = self.entry_number[row.first], self.entry_number[row.second]
            by_entries.setdefault(key, Pair(*key)).rows.append(row)
        return [by_entries[key] for key in sorted(by_entries)]

    def place(self, row: PairDifference) -> ReportColumn | ReportGroup:
        """Return the column or group that a difference is in."""
        if row.column is not None:
            return self.columns[self.column_number[row.column]]
        assert row.group is not None
        return self._groups[row.group]

    @cached_property
    def wins(self) -> dict[tuple[int, int], Wins]:
        """For each pair of entries, on how many columns the first is better, worse, or neither."""
        return {(self.entry_number[row.first], self.entry_number[row.second]): row for row in self.report.wins}


def frequent(results: Sequence[Result]) -> list[tuple[str, float]]:
    """List the kinds of replies without an answer or a verdict that are frequent, with `missing_shares`."""
    return [(kind, share) for kind, share in missing_shares(results).items() if share > FREQUENT]


def _grouped(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for text, number in pairs:
        groups.setdefault(text, []).append(number)
    return groups


def _span(
    bounds: tuple[float, float | None], higher: bool | None, figures: Iterable[Estimate | None]
) -> tuple[float, float] | None:
    """Return the worst and the best value of a metric; without an upper limit, the highest figure stands for it."""
    low, high = bounds
    if high is None:
        ends = (figure.high if defined(figure.high) else figure.value for figure in figures if figure)
        high = max((end for end in ends if end is not None and defined(end)), default=low)
    if higher is None or high <= low:
        return None
    return (low, high) if higher else (high, low)


def _cell(value: float, note: Sequence[str] = ()) -> Cell:
    return Cell(Estimate(value, None, None, None), note=note)


def _place(figure: Estimate | None, higher_is_better: bool | None) -> float:
    """Return a number that is lower for better figures, and infinite for one that is not defined."""
    if figure is None or not defined(figure.value):
        return float("inf")
    return -figure.value if higher_is_better else figure.value
