"""The view model: a report arranged in the rows and cells of the page, with numbers instead of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from halu_tasks.report.page.escaping import as_text
from halu_tasks.report.page.numbers import defined

Record = Mapping[str, Any]
LISTS = (
    *("entries", "columns", "groups", "results", "group_results", "floors", "published", "pairs", "wins"),
    *("skipped", "superseded", "warnings", "why"),
)
"""Parts of the report that are lists; missing ones are treated as empty."""


@dataclass(frozen=True)
class Head:
    """The head of a column of figures, which is a group's mean or a column of the report."""

    record: Record
    metric: str
    higher: bool
    column: int | None = None
    """The number of the report's column; None for a group's mean."""


@dataclass(frozen=True)
class Cell:
    """A cell of the leaderboard.

    `result` is set if the entry was measured, and `note` if the figure was published by others.
    """

    figure: Record
    result: Record | None = None
    note: Sequence[str] = ()


@dataclass(frozen=True)
class Row:
    """A row of the leaderboard; its kind is `entry`, `floor` or `published`."""

    kind: str
    label: str
    details: Sequence[str]
    cells: Sequence[Cell | None]
    entry: int | None = None


@dataclass(frozen=True)
class Board:
    """A leaderboard. `sorted_by` is the number of the column that entries are sorted by, best first."""

    heads: Sequence[Head]
    rows: Sequence[Row]
    sorted_by: int | None = None

    def parts(self, across: int) -> list[Board]:
        """Split the board into parts of at most `across` columns, with about the same number in each."""
        count = -(-len(self.heads) // across)
        borders = [len(self.heads) * i // count for i in range(count + 1)] if count else []
        return [
            Board(
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
    rows: list[Record] = field(default_factory=list)


class View:
    """The view model, with lookups for the page. Ids may be any string, so elements are referred to by number."""

    def __init__(self, report: Record) -> None:
        self.report = report = {**dict.fromkeys(LISTS, ()), **report}
        self.entries: Sequence[Record] = report["entries"]
        self.columns: Sequence[Record] = report["columns"]
        self.groups: Sequence[Record] = report["groups"]
        self.entry_number = {entry["id"]: i for i, entry in enumerate(self.entries)}
        self.column_number = {column["id"]: i for i, column in enumerate(self.columns)}
        self._results = {(r["entry"], r["column"]): r for r in report["results"]}
        self._means = {(r["entry"], r["group"]): r["figure"] for r in report["group_results"]}
        self.why = {self.column_number[w["column"]]: w for w in report["why"]}

    @cached_property
    def main(self) -> list[int]:
        """The numbers of the main columns."""
        return [i for i, column in enumerate(self.columns) if column["main"]]

    @cached_property
    def apart(self) -> list[int]:
        """The numbers of the columns that are shown apart."""
        return [i for i, column in enumerate(self.columns) if not column["main"]]

    def result(self, entry: int, column: int) -> Record | None:
        """Return the result of an entry in a column, if there is one."""
        return self._results.get((self.entries[entry]["id"], self.columns[column]["id"]))

    def of_column(self, what: str, column: int) -> list[Record]:
        """Return the `floors` or `published` figures of a column."""
        return [r for r in self.report[what] if r.get("column") == self.columns[column]["id"]]

    def floors(self, column: int) -> dict[str, dict[str, float]]:
        """Return the floors of a column, as figures by metric by the name of the uninformed reply."""
        by_name: dict[str, dict[str, float]] = {}
        for floor in self.of_column("floors", column):
            by_name.setdefault(as_text(floor["name"]), {})[floor["metric"]] = floor["value"]
        return by_name

    def ranked(self, column: int) -> list[int]:
        """Return the numbers of the entries with a figure in a column, best first."""
        metric, higher = self.columns[column]["headline"], self.columns[column]["higher_is_better"]
        ranked = []
        for entry in range(len(self.entries)):
            result = self.result(entry, column)
            value = (result or {}).get("metrics", {}).get(metric, {}).get("value")
            if defined(value):
                ranked.append((-value if higher else value, entry))
        return [entry for _, entry in sorted(ranked)]

    def board(self, columns: Sequence[int], *, main: bool) -> Board:
        """Arrange the leaderboard of some columns, after the means of groups.

        Args:
            columns: The numbers of the columns.
            main: Whether to show groups of main columns, rather than groups of columns apart.
        """
        heads = [
            Head(group, group["metric"], group["higher_is_better"])
            for group in self.groups
            if group["main"] == main and any(mean[1] == group["id"] for mean in self._means)
        ]
        heads += [
            Head(self.columns[i], self.columns[i]["headline"], self.columns[i]["higher_is_better"], i) for i in columns
        ]
        rows = [self._entry_row(i, heads) for i in range(len(self.entries))]
        rows = [row for row in rows if any(row.cells)]
        sorted_by = 0 if heads else None
        if heads:

            def place(row: Row) -> float:
                cell = row.cells[0]
                if cell is None or not defined(cell.figure.get("value")):
                    return float("inf")
                value = float(cell.figure["value"])
                return -value if heads[0].higher else value

            rows.sort(key=place)
        return Board(heads, [*rows, *self._floor_rows(heads), *self._published_rows(heads)], sorted_by)

    def _entry_row(self, number: int, heads: Iterable[Head]) -> Row:
        entry = self.entries[number]
        cells: list[Cell | None] = []
        for head in heads:
            if head.column is None:
                figure = self._means.get((entry["id"], head.record["id"]))
                cells.append(None if figure is None else Cell(figure))
            else:
                result = self.result(number, head.column)
                cells.append(None if result is None else Cell(result["metrics"].get(head.metric, {}), result))
        return Row("entry", as_text(entry["label"]), self.details(entry), cells, number)

    @staticmethod
    def details(entry: Record) -> list[str]:
        """Describe an entry beyond its label."""
        values = [entry.get("method"), entry.get("harness")]
        if entry.get("model") != entry.get("label"):
            values.insert(0, entry.get("model"))
        details = [as_text(value) for value in values if value]
        details += [f"{as_text(k)}: {as_text(v)}" for k, v in (entry.get("roles") or {}).items()]
        return details + [f"{as_text(k)} {as_text(v)}" for k, v in (entry.get("settings") or {}).items()]

    def _floor_rows(self, heads: Sequence[Head]) -> list[Row]:
        floors = [f for f in self.report["floors"] if f["headline"]]
        by_column = {(f["name"], self.column_number[f["column"]]): f for f in floors}
        rows = []
        for name in dict.fromkeys(f["name"] for f in floors):
            row = [by_column.get((name, head.column)) if head.column is not None else None for head in heads]
            if any(row):
                cells = [f and Cell({"value": f["value"]}) for f in row]
                rows.append(Row("floor", as_text(name), ["computed from uninformed replies"], cells))
        return rows

    def _published_rows(self, heads: Sequence[Head]) -> list[Row]:
        figures = [f for f in self.report["published"] if f["headline"]]
        rows = []
        for model, method in dict.fromkeys((f["model"], f["method"]) for f in figures):
            cells: list[Cell | None] = []
            for head in heads:
                key = "group" if head.column is None else "column"
                matching = [
                    f
                    for f in figures
                    if (f["model"], f["method"]) == (model, method) and f.get(key) == head.record["id"]
                ]
                cells.append(
                    Cell(
                        {"value": matching[0]["value"]},
                        note=[as_text(matching[0]["source"]), as_text(matching[0]["scoring"])],
                    )
                    if matching
                    else None
                )
            if any(cells):
                rows.append(Row("published", as_text(model), ["published", as_text(method)], cells))
        return rows

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs of entries that were compared, with the main columns first."""
        by_entries: dict[tuple[int, int], Pair] = {}
        rows = sorted(self.report["pairs"], key=lambda row: self.column_number[row["column"]] in self.apart)
        for row in rows:
            key = self.entry_number[row["first"]], self.entry_number[row["second"]]
            by_entries.setdefault(key, Pair(*key)).rows.append(row)
        return [by_entries[key] for key in sorted(by_entries)]

    @cached_property
    def wins(self) -> dict[tuple[int, int], Record]:
        """For each pair of entries, on how many columns the first is better, worse, or neither."""
        return {(self.entry_number[row["first"]], self.entry_number[row["second"]]): row for row in self.report["wins"]}
