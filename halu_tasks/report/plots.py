"""The plots of the page: what stands where, in the units of an SVG that `plots.html.j2` draws."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from halu_tasks.report.records import EntryPair, Report, ReportColumn
from halu_tasks.report.text import defined, interval, number, plain
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.text.figures import HasInterval

WIDTH, LEFT, RIGHT, LINE = 340.0, 122.0, 306.0, 15.0
"""The width of a plot, the ends of its scale, and the height of a line."""
CURVES = 12
"""Maximum number of calibration curves that are drawn; the table below the plot has all of them."""
PAIRS = 10
"""Maximum number of pairs of which the differences are drawn."""


class PlotLine(NamedTuple):
    """A line of a plot: its label and number, and where its dot, the ends of its interval, and a ring are."""

    label: str
    number: str
    y: float
    dot: float
    low: float | None
    high: float | None
    ring: float | None


class PlotRule(NamedTuple):
    """A vertical line of a plot: where it is, its label with its place and height, and its CSS class."""

    x: float
    label: str
    label_x: float
    label_y: float
    anchor: str
    kind: str


class LinePlot(NamedTuple):
    """A plot of figures, one a line, with a description for screen readers."""

    words: str
    top: float
    bottom: float
    lines: Sequence[PlotLine]
    rules: Sequence[PlotRule]
    ticks: Sequence[tuple[float, str]]


class Panel(NamedTuple):
    """A calibration curve: its corner, its label, its points with the radius of each, and those of the others."""

    x: float
    y: float
    label: str
    points: Sequence[tuple[float, float, float]]
    others: Sequence[Sequence[tuple[float, float, float]]]


class CurvePlot(NamedTuple):
    """Calibration curves for a label, with the size of a panel and of the plot."""

    label: str
    words: str
    side: float
    height: float
    panels: Sequence[Panel]


_Row = tuple[str, HasInterval, float | None]
"""A label, a figure, and the value of a ring."""


def interval_plot(report: Report, column: ReportColumn) -> LinePlot | None:
    """Plot the headline figures of a column, best first, with its floors; None if there are no figures."""
    figures = [(entry, report.by_cell[entry, column.id].metrics[column.metric]) for entry in report.ranked(column)]
    rows: list[_Row] = [(report.labels[entry], figure, None) for entry, figure in figures if defined(figure.value)]
    if not rows:
        return None
    own = (floor for floor in report.floors if floor.column == column.id and floor.headline)
    floors = [(floor.name, floor.value) for floor in own if defined(floor.value)]
    shown = [f"{plain(label, 40)} {number(one.value)} {interval(one.low, one.high)}".strip() for label, one, _ in rows]
    better = "higher" if column.higher_is_better else "lower"
    words = f"Interval plot of {plain(column.metric, 40)} on {plain(column.title, 60)}, {better} is better, best first"
    below = "; ".join(f"{plain(name, 40)} {number(value)}" for name, value in floors)
    return _line_plot(f"{words}: {'; '.join(shown)}.{f' Floors: {below}.' if below else ''}", rows, floors)


def mode_plot(report: Report, column: ReportColumn) -> LinePlot | None:
    """Plot the figures of the same replies in both modes, in the order of the strict ones.

    None if the modes cannot be compared, or have different metrics, or give the same figures.
    """
    details = next((one for one in report.why if one.column == column.id), None)
    rows: list[_Row] = [
        (report.labels[one.entry], Estimate(one.strict.value, None, None, None), one.paper.value)
        for one in (details.modes if details else None) or ()
        if one.strict and one.paper and one.metric == column.metric
    ]
    if not any(number(strict.value) != number(paper) for _, strict, paper in rows):
        return None
    rows.sort(key=lambda row: -row[1].value if column.higher_is_better else row[1].value)
    shown = (f"{plain(label, 40)} {number(strict.value)} and {number(paper)}" for label, strict, paper in rows)
    words = f"Plot of {plain(column.metric, 60)} on {plain(column.title, 60)} in strict and in paper: "
    return _line_plot(f"{words}{'; '.join(shown)}.", rows)


def difference_plots(report: Report, pairs: Sequence[EntryPair]) -> Iterator[tuple[bool, LinePlot]]:
    """Plot the differences of two entries on main tasks with figures from 0 to 1.

    As in the table, a difference is that of the first entry's figure minus the second's. Tasks whose higher figures are
    better thus have one plot, and the others another.

    Yields:
        Plots, each with whether higher figures are better.
    """
    for higher in (True, False):
        rows: list[_Row] = []
        for pair in pairs:
            place = report.places[pair.place]
            if not isinstance(place, ReportColumn) or not place.main or place.measures.range != (0, 1):
                continue
            if place.measures.directions.get(pair.metric, place.higher_is_better) is higher:
                rows.append((place.title, pair.difference, None))
        if rows:
            first, second = (plain(report.labels[entry], 40) for entry in (pairs[0].first, pairs[0].second))
            shown = (
                f"{plain(title, 60)} {number(one.value, True)} {interval(one.low, one.high, True)}"
                for title, one, _ in rows
            )
            words = f"{first} minus {second}, {'higher' if higher else 'lower'} is better: {'; '.join(shown)}."
            yield higher, _line_plot(words, rows, sides=("second", "first") if higher else ("first", "second"))


def _line_plot(
    words: str,
    rows: Sequence[_Row],
    floors: Sequence[tuple[str, float]] = (),
    sides: tuple[str, str] | None = None,
) -> LinePlot:
    """Place the rows of a plot.

    Args:
        words: A description for screen readers.
        rows: The rows.
        floors: Names and values of floors.
        sides: For differences, which entry is better to the left and to the right of 0.
    """
    ends = [end for _, one, ring in rows for end in (one.value, one.low, one.high, ring) if end is not None]
    ends += [value for _, value in floors]
    low, high = min(ends), max(ends)
    if sides:
        high = max(abs(low), abs(high)) or 1.0
        low = -high
    room = 0.05 * (high - low) or 0.05
    low, high = low - room, high + room

    def x(value: float | None) -> float:
        return 0.0 if value is None else round(LEFT + (value - low) / (high - low) * (RIGHT - LEFT), 1)

    top = 18.0 if sides else 4 + 12.0 * len(floors)
    lines = [
        PlotLine(
            label=short(label, 23),
            number=number(one.value, signed=bool(sides)),
            y=top + LINE * (place + 0.5),
            dot=x(one.value),
            low=None if one.low is None else x(one.low),
            high=None if one.high is None else x(one.high),
            ring=None if ring is None else x(ring),
        )
        for place, (label, one, ring) in enumerate(rows)
    ]
    rules = []
    for place, (label, value) in enumerate(floors):
        right = value > (low + high) / 2
        end, at = "end" if right else "start", x(value) + (-3 if right else 3)
        rules.append(PlotRule(x(value), short(label, 20), at, 10.0 + 12 * place, end, "floor"))
    if sides:
        rules.append(PlotRule(x(0), f"← {sides[0]} better", x(0) - 4, 12, "end", "zero"))
        rules.append(PlotRule(x(0), f"{sides[1]} better →", x(0) + 4, 12, "start", "zero"))
    ticks = [(x(value), f"{value:g}".replace("-", "\u2212")) for value in _ticks(low, high)]
    return LinePlot(words, top, top + LINE * len(rows), lines, rules, ticks)


def _ticks(low: float, high: float) -> list[float]:
    """Return two to five round numbers of a range."""
    unit = 10.0 ** floor(log10((high - low) / 2))
    step = next(size * unit for size in (1, 2, 2.5, 5, 10) if (high - low) / (size * unit) <= 5)
    return [round(step * n, 10) for n in range(ceil(low / step), floor(high / step) + 1)]


def curve_plots(report: Report, column: ReportColumn) -> Iterator[CurvePlot]:
    """Plot the calibration of a column, one plot per label: a panel per entry, with the other curves in the back."""
    records = next((one.calibration for one in report.why if one.column == column.id), ())
    for label in dict.fromkeys(record.label for record in records):
        of_label = [record for record in records if record.label == label]
        across = 3 if len(of_label) > 2 else 2
        side = round((WIDTH - 24) / across - 12, 1)
        curves = []
        for record in of_label[:CURVES]:
            bins = [bin for bin in record.bins if bin.n and defined(bin.mean)]
            most = max((bin.n for bin in bins), default=1)
            curves.append([_point(bin.mean, bin.share, side, 1 + 2 * (bin.n / most) ** 0.5) for bin in bins])
        panels = []
        for place, (record, points) in enumerate(zip(of_label, curves, strict=False)):
            row, across_row = divmod(place, across)
            corner = round(24 + across_row * (side + 12), 1), round(16 + row * (side + 36), 1)
            panels.append(Panel(*corner, short(report.labels[record.entry], 19), points, curves))
        shown = (f"{plain(report.labels[record.entry], 40)} {number(record.ece.value)}" for record in of_label)
        words = f"Calibration curves of the probability of {plain(label, 40)}; expected calibration error: "
        height = round(-(-len(panels) // across) * (side + 36) + 16, 1)
        yield CurvePlot(label, words + "; ".join(shown), side, height, panels)


def _point(mean: float, share: float, side: float, radius: float) -> tuple[float, float, float]:
    return round(side * mean, 1), round(side * (1 - share), 1), round(radius, 1)


def short(label: str, columns: int) -> str:
    """Shorten a label to a width in columns; wide characters take two."""
    label = plain(label, 4 * columns)
    taken = 0
    for position, char in enumerate(label):
        taken += 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if taken > columns:
            return label[: position - 1] + "…"
    return label if label.strip() else "(no name)"
