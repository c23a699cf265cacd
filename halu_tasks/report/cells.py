"""The leaderboard of a report in rows and cells, as the page and the Markdown show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import NamedTuple

from halu_tasks.report.records import PublishedFigure, Report, ReportColumn, ReportGroup, Result, missing_shares
from halu_tasks.scorers.metrics import Estimate


class Head(NamedTuple):
    """The head of a column of figures.

    Attributes:
        place: The column or group of the report.
        worst: The worst value that its bars can show; None if it has no bars.
        best: The best value.
    """

    place: ReportColumn | ReportGroup
    worst: float | None = None
    best: float | None = None

    @property
    def is_mean(self) -> bool:
        """Whether the figures are means of a group."""
        return isinstance(self.place, ReportGroup)

    def bar(self, figure: Estimate | None) -> tuple[float, float, float] | None:
        """Return the places of a figure and of its interval's ends, in percent of the way from worst to best."""
        if self.worst is None or self.best is None or figure is None or not isfinite(figure.value):
            return None
        ends = (figure.low, figure.high) if figure.low is not None and figure.high is not None else ()
        shares = [(x - self.worst) / (self.best - self.worst) for x in (figure.value, *ends)]
        shares = [round(100 * min(1.0, max(0.0, share)), 1) for share in shares]
        return shares[0], min(shares), max(shares)


class Cell(NamedTuple):
    """A cell of the leaderboard.

    Attributes:
        figure: The figure; None if it is not defined.
        rank: The confidence set of the rank; None if there is nothing to rank.
        corrected: The figure that labels correct, if there is one.
        by_corrected: Whether the rank is of the corrected figure.
        missing: The shares of replies without an answer or a verdict by kind, of those that are frequent.
        result: The result, if the entry was measured in a column.
        note: Where a published figure comes from.
    """

    figure: Estimate | None
    rank: tuple[int, int] | None = None
    corrected: Estimate | None = None
    by_corrected: bool = False
    missing: Mapping[str, float] = {}
    result: Result | None = None
    note: str = ""


class Row(NamedTuple):
    """A row of the leaderboard; its kind is `entry`, `floor` or `published`."""

    kind: str
    label: str
    about: str
    cells: Sequence[Cell | None]


class Leaderboard(NamedTuple):
    """A leaderboard, whose entries are sorted by their figures in the first column, best first."""

    heads: Sequence[Head]
    rows: Sequence[Row]


def leaderboard(report: Report, places: Iterable[ReportColumn | ReportGroup]) -> Leaderboard:
    """Arrange the figures of some columns and groups, followed by floors and published figures."""
    heads = [_head(report, place) for place in places]
    rows = []
    for entry in report.entries:
        cells = [_cell(report, entry.id, head.place) for head in heads]
        if any(cells):
            rows.append(Row("entry", entry.label, "", cells))
    if heads:
        rows.sort(key=lambda row: _order(row.cells[0], heads[0].place))
    return Leaderboard(heads, [*rows, *_floors(report, heads), *_published(report, heads)])


def _head(report: Report, place: ReportColumn | ReportGroup) -> Head:
    ranges = {column.measures.range for column in report.columns_of(place)}
    low, high = next(iter(ranges)) if len(ranges) == 1 else (0.0, None)
    if high is None:
        # without an upper limit, the highest figure stands for it
        cells = (_cell(report, entry.id, place) for entry in report.entries)
        figures = [cell.figure for cell in cells if cell and cell.figure]
        ends = [figure.value if figure.high is None else figure.high for figure in figures]
        high = max(filter(isfinite, ends), default=low)
    if place.higher_is_better is None or high <= low:
        return Head(place)
    return Head(place, low, high) if place.higher_is_better else Head(place, high, low)


def _cell(report: Report, entry: str, place: ReportColumn | ReportGroup) -> Cell | None:
    missing = missing_shares(report.results_of(entry, place))
    if isinstance(place, ReportGroup):
        mean = report.means.get((entry, place.id))
        return Cell(mean.figure, mean.rank, mean.corrected, mean.corrected is not None, missing) if mean else None
    result = report.by_cell.get((entry, place.id))
    if result is None:
        return None
    corrected = result.metrics.get(f"{place.metric}_ppi")
    by_corrected = place.compared_by != place.metric
    return Cell(result.metrics.get(place.metric), result.rank, corrected, by_corrected, missing, result)


def _order(cell: Cell | None, place: ReportColumn | ReportGroup) -> float:
    """Return a number that is lower for better figures, and infinite for one that is not defined."""
    figure = cell.corrected if cell and cell.by_corrected and cell.result else cell.figure if cell else None
    if figure is None or not isfinite(figure.value):
        return inf
    return -figure.value if place.higher_is_better else figure.value


def _floors(report: Report, heads: Sequence[Head]) -> Iterator[Row]:
    floors = {(floor.name, floor.column): floor.value for floor in report.floors if floor.headline}
    for name in dict.fromkeys(name for name, _ in floors):
        values = [floors.get((name, head.place.id)) for head in heads]
        if any(value is not None for value in values):
            cells = [None if value is None else Cell(Estimate(value, None, None, None)) for value in values]
            yield Row("floor", name, "computed from uninformed replies", cells)


def _published(report: Report, heads: Sequence[Head]) -> Iterator[Row]:
    figures: dict[tuple[str, str], dict[str, PublishedFigure]] = {}
    for one in report.published:
        if one.headline:
            by_place = figures.setdefault((one.model, one.method), {})
            by_place.setdefault(one.column or one.group or "", one)
    for (model, method), by_place in figures.items():
        found = [by_place.get(head.place.id) for head in heads]
        if any(found):
            cells = [
                one and Cell(Estimate(one.value, None, None, None), note=f"{one.source}, {one.scoring} scoring")
                for one in found
            ]
            yield Row("published", model, f"published · {method}", cells)
