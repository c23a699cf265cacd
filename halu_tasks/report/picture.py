"""The pictures of a report: figures with their intervals, beside floors, people and published systems, on one scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

from halu_tasks.report.detail_records import Risk
from halu_tasks.report.report_records import Cell, Column, Mean, Place, Report
from halu_tasks.report.summary import best_floor, doubts, is_above, leader, not_above_floor
from halu_tasks.results.comparability import Entry
from halu_tasks.scorers.metrics import Estimate


@dataclass(frozen=True)
class Scale:
    """The values of a metric from the worst to the best, which is to the right in every picture."""

    worst: float
    best: float

    def at(self, value: float) -> float:
        """Return where a value is, in percent of the way from the worst to the best."""
        return round(100 * min(1.0, max(0.0, (value - self.worst) / (self.best - self.worst))), 1)

    def interval(self, figure: Estimate) -> tuple[float, float] | None:
        """Return where the interval of a figure begins and ends, in percent; None if it has none."""
        if figure.low is None or figure.high is None:
            return None
        start, end = sorted((self.at(figure.low), self.at(figure.high)))
        return start, end


def scale_of(place: Place) -> Scale | None:
    """Return the scale of a place; None if neither end of its values is better, or if all are the same."""
    ranges = {column.range for column in place.columns}
    low, high = next(iter(ranges)) if len(ranges) == 1 else (0.0, None)
    if high is None:
        # without an upper limit, the highest figure stands for it
        cells = (place.cell(entry) for entry in place.entries)
        ends = [_end(one) for cell in cells if cell for one in (cell.figure, cell.corrected) if one]
        high = max(filter(isfinite, ends), default=low)
    if place.higher_is_better is None or high <= low:
        return None
    return Scale(low, high) if place.higher_is_better else Scale(high, low)


def _end(figure: Estimate) -> float:
    return figure.value if figure.high is None else figure.high


class Row(NamedTuple):
    """A figure in a panel.

    Attributes:
        label: Whose figure it is.
        figure: The figure; None if there is none.
        kind: What is drawn: that of a `model` or of `people`.
        leads: Whether the model is better than all others.
        above_floor: Whether the interval is on the better side of the floor.
        mark: Why the figure says little, and how the model was asked otherwise than on its other tasks; usually empty.
    """

    label: str
    figure: Estimate | None
    kind: str = "model"
    leads: bool = False
    above_floor: bool = True
    mark: str = ""


class Panel(NamedTuple):
    """The figures of one task or mean.

    Attributes:
        place: The task or mean.
        title: Its name.
        scale: The scale; None if nothing can be drawn.
        rows: A row for each model.
        floor: The best figure of uninformed replies; None if there is none.
        published: The published figures by system, best first.
        people: Rows of people and models against what the other annotators say, with a `people_floor` of their own.
        is_corrected: Whether the figures are those that labels correct, which is so if all rows have them.
    """

    place: Place
    title: str
    scale: Scale | None
    rows: Sequence[Row]
    floor: float | None
    published: Sequence[tuple[str, float]]
    people: Sequence[Row]
    people_floor: float | None
    is_corrected: bool = False


@dataclass
class Benchmark:
    """The panels of the tasks of a benchmark, after that of their mean; those of other means have no name."""

    name: str
    panels: list[Panel] = field(default_factory=list)


def picture(report: Report, entries: Sequence[Entry]) -> list[Benchmark]:
    """Draw main tasks and means, grouped by benchmark.

    Args:
        report: The report.
        entries: The entries to draw, in the order of their rows.
    """
    benchmarks: dict[str, Benchmark] = {}
    places: list[Place] = [*report.top_means(main=True), *report.main]
    for place in places:
        names = {column.condition.benchmark for column in place.columns}
        name = names.pop() if len(names) == 1 else ""
        benchmarks.setdefault(name, Benchmark(name)).panels.append(_panel(report, place, entries))
    return sorted(benchmarks.values(), key=lambda one: bool(one.name))


def signs(benchmarks: Sequence[Benchmark]) -> dict[str, bool]:
    """Return which signs of the key are in a picture."""
    panels = [panel for benchmark in benchmarks for panel in benchmark.panels]
    rows = [row for panel in panels for row in panel.rows]
    return {
        "hollow": not all(row.above_floor for row in rows),
        "leads": any(row.leads for row in rows),
        "floor": any(panel.floor is not None for panel in panels),
        "people": any(panel.people for panel in panels),
        "published": any(panel.published for panel in panels),
    }


def _are_corrected(cells: Iterable[Cell]) -> bool:
    corrected = [cell.corrected is not None for cell in cells]
    return bool(corrected) and all(corrected)


def _panel(report: Report, place: Place, entries: Sequence[Entry]) -> Panel:
    behind, first, why = {*not_above_floor(place)}, leader(report, place), doubts(report, place)
    cells = {entry: place.cell(entry) for entry in entries}
    is_corrected = _are_corrected(cell for cell in cells.values() if cell and cell.figure)
    rows = []
    for entry, cell in cells.items():
        figure = (cell.corrected if is_corrected else cell.figure) if cell else None
        figure = figure if figure and isfinite(figure.value) else None
        mark = ", ".join(filter(None, [*why.get(entry, ()), place.limit_of(entry)]))
        rows.append(Row(entry.label, figure, leads=entry == first, above_floor=entry not in behind, mark=mark))
    title = f"mean of {place.title} ({len(place.columns)} tasks)" if isinstance(place, Mean) else place.title
    column = place if isinstance(place, Column) else None
    beside = beside_people(column, entries, column.metric) if column else []
    floor = people_floor(column, column.metric) if column and beside else None
    return Panel(place, title, scale_of(place), rows, best_floor(place), _published(place), beside, floor, is_corrected)


def _published(place: Place) -> list[tuple[str, float]]:
    figures = ((one.model, one.value) for one in place.published if one.headline)
    return sorted(figures, key=lambda one: one[1], reverse=bool(place.higher_is_better))


def beside_people(column: Column, entries: Sequence[Entry], metric: str) -> list[Row]:
    """Return the rows of people, and of models on the same items, against the same gold; empty without annotators."""
    people = column.condition.human_ceiling
    if not people or metric not in people.estimates:
        return []
    results = ((entry, column.results.get(entry)) for entry in entries)
    compared = ((entry, result.beside_people.get(metric)) for entry, result in results if result)
    floor, higher = people_floor(column, metric), bool(column.directions[metric])
    models = [
        Row(entry.label, one.value, above_floor=floor is None or is_above(one.value, floor, higher))
        for entry, one in compared
        if one and one.value
    ]
    return [Row("people", people.estimates[metric], "people"), *models]


def people_floor(column: Column, metric: str) -> float | None:
    """Return the best figure of uninformed replies against the gold of people; None if there is none."""
    floors = (floor.beside_people for floor in column.floors if floor.metric == metric)
    values = [value for value in floors if value is not None]
    return (max if column.directions[metric] else min)(values, default=None)


# --- risk over coverage -----------------------------------------------------------------------------

# the least distance of the names of two curves, in percent of the height
_APART = 7.0


class Curve(NamedTuple):
    """A model's risk over its coverage.

    Attributes:
        entry: The id of the entry.
        points: The points as (x, y), in percent of the plot's width from the left and of its height from above.
        name_at: Where the curve's name is at the right side, in percent from above.
    """

    entry: str
    points: Sequence[tuple[float, float]]
    name_at: float


class RiskPlot(NamedTuple):
    """The curves of a task.

    Attributes:
        top: The risk at the upper end of the plot.
        curves: The curves.
    """

    top: float
    curves: Sequence[Curve]


def risk_plot(curves: Sequence[Risk]) -> RiskPlot:
    """Place the curves of risk over coverage, up to a round number that is none too low; their names do not overlap.

    Args:
        curves: The curve of each model.
    """
    most = max(risk for curve in curves for _, risk in curve["points"])
    top = next(end for end in (0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0) if most <= end)
    placed = [
        [(round(100 * coverage, 1), round(100 - 100 * risk / top, 1)) for coverage, risk in curve["points"]]
        for curve in curves
    ]
    names = _spread([points[-1][1] for points in placed])
    entries = (curve["entry"] for curve in curves)
    return RiskPlot(top, [Curve(*one) for one in zip(entries, placed, names, strict=True)])


def _spread(heights: Sequence[float]) -> list[float]:
    """Move heights in percent apart, as little as needed and in their order, so that names fit there."""
    apart = min(_APART, 100 / max(len(heights) - 1, 1))
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = [0.0] * len(heights)
    lowest = 0.0
    for number, i in enumerate(order):
        # room for those that follow
        placed[i] = min(max(heights[i], lowest), 100 - apart * (len(order) - 1 - number))
        lowest = placed[i] + apart
    return [round(height, 1) for height in placed]
