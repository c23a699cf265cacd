"""The view model: a report arranged in the rows and cells of the page, with numbers instead of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from halu_tasks.report.model.report import (
    ColumnDetails,
    Floor,
    PairDifference,
    PublishedFigure,
    Report,
    ReportColumn,
    ReportEntry,
    ReportGroup,
    Result,
    Wins,
)
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
    """

    record: ReportColumn | ReportGroup
    metric: str
    higher: bool | None
    column: int | None = None


@dataclass(frozen=True)
class Cell:
    """A cell of the leaderboard.

    Attributes:
        figure: The figure; None if it is not defined.
        rank: The confidence set of the rank; None if there is nothing to rank.
        result: The result, if the entry was measured in a column.
        note: The source and the scoring of a published figure.
        corrected: The figure corrected by human labels, if the verdicts of its judge have some.
        strong: The figure that a stronger judge would give, if one was asked.
    """

    figure: Estimate | None
    rank: tuple[int, int] | None = None
    result: Result | None = None
    note: Sequence[str] = ()
    corrected: Estimate | None = None
    strong: Estimate | None = None


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
        """Arrange the leaderboard of some columns, after the means of groups.

        Args:
            columns: The numbers of the columns.
            main: Whether to show groups of main columns, rather than groups of columns apart.
        """
        with_means = {group for _, group in self._means}
        heads = [
            Head(group, group.metric, group.higher_is_better)
            for group in self.report.groups
            if group.main == main and group.id in with_means
        ]
        heads += [Head(self.columns[i], self.columns[i].headline, self.columns[i].higher_is_better, i) for i in columns]
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
                cells.append(Cell(mean.figure, mean.rank) if mean else None)
            else:
                result = self.result(number, head.column)
                metrics = result.metrics if result else {}
                corrected, strong = (metrics.get(f"{head.metric}_{end}") for end in ("ppi", "ppi_strong"))
                cells.append(
                    Cell(metrics.get(head.metric), result.rank, result, corrected=corrected, strong=strong)
                    if result
                    else None
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


def _cell(value: float, note: Sequence[str] = ()) -> Cell:
    return Cell(Estimate(value, None, None, None), note=note)


def _place(figure: Estimate | None, higher_is_better: bool | None) -> float:
    """Return a number that is lower for better figures, and infinite for one that is not defined."""
    if figure is None or not defined(figure.value):
        return float("inf")
    return -figure.value if higher_is_better else figure.value
