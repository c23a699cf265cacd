"""The plots of the page: what stands where, in the units of an SVG that `macros.html.j2` draws."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from halu_tasks.report.records import EntryPair, Json, Report, ReportColumn
from halu_tasks.report.text import defined, interval, number, plain
from halu_tasks.text.figures import HasInterval

WIDTH, LEFT, RIGHT, LINE = 340.0, 122.0, 306.0, 15.0
"""The width of a plot, the ends of its scale, and the height of a line."""
CURVES = 12
"""Maximum number of calibration curves that are drawn; the table below the plot has all of them."""


def interval_plot(report: Report, column: ReportColumn) -> Json | None:
    """Plot the headline figures of a column, best first, with its floors; None if there are no figures."""
    figures = [(entry, report.by_cell[entry, column.id].metrics[column.metric]) for entry in report.ranked(column)]
    rows = [(report.labels[entry], figure) for entry, figure in figures if defined(figure.value)]
    if not rows:
        return None
    own = (floor for floor in report.floors if floor.column == column.id and floor.headline)
    floors = [(floor.name, floor.value) for floor in own if defined(floor.value)]
    better = "higher" if column.higher_is_better else "lower"
    words = f"Interval plot of {plain(column.metric, 40)} on {plain(column.title, 60)}, {better} is better, best first"
    below = "; ".join(f"{plain(name, 40)} {number(value)}" for name, value in floors)
    return _line_plot(f"{words}: {_told(rows)}.{f' Floors: {below}.' if below else ''}", rows, floors)


def difference_plots(report: Report, pairs: Sequence[EntryPair]) -> Iterator[tuple[bool, Json]]:
    """Plot the differences of two entries on main tasks with figures from 0 to 1.

    As in the table, a difference is that of the first entry's figure minus the second's. Tasks whose higher figures are
    better thus have one plot, and the others another.

    Yields:
        Plots, each with whether higher figures are better.
    """
    for higher in (True, False):
        rows = []
        for pair in pairs:
            place = report.places[pair.place]
            if not isinstance(place, ReportColumn) or not place.main or place.range != (0, 1):
                continue
            if place.directions.get(pair.metric, place.higher_is_better) is higher:
                rows.append((place.title, pair.difference))
        if rows:
            first, second = (plain(report.labels[entry], 40) for entry in (pairs[0].first, pairs[0].second))
            words = f"{first} minus {second}, {'higher' if higher else 'lower'} is better: {_told(rows, signed=True)}."
            yield higher, _line_plot(words, rows, sides=("second", "first") if higher else ("first", "second"))


def _told(rows: Sequence[tuple[str, HasInterval]], *, signed: bool = False) -> str:
    """Say in words what a plot shows."""
    return "; ".join(
        f"{plain(label, 60)} {number(one.value, signed)} {interval(one.low, one.high, signed)}".strip()
        for label, one in rows
    )


def _line_plot(
    words: str,
    rows: Sequence[tuple[str, HasInterval]],
    floors: Sequence[tuple[str, float]] = (),
    sides: tuple[str, str] | None = None,
) -> Json:
    """Place the rows of a plot.

    Args:
        words: A description for screen readers.
        rows: Labels and figures, one a line.
        floors: Names and values of floors.
        sides: For differences, which entry is better to the left and to the right of 0.
    """
    ends = [end for _, one in rows for end in (one.value, one.low, one.high) if end is not None]
    ends += [value for _, value in floors]
    low, high = min(ends), max(ends)
    if sides:
        high = max(abs(low), abs(high)) or 1.0
        low = -high
    room = 0.05 * (high - low) or 0.05
    low, high = low - room, high + room

    def x(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (RIGHT - LEFT), 1)

    top = 18.0 if sides else 4 + 12.0 * len(floors)
    lines = [
        {
            "label": short(label, 23),
            "number": number(one.value, signed=bool(sides)),
            "y": top + LINE * (place + 0.5),
            "dot": x(one.value),
            "low": None if one.low is None else x(one.low),
            "high": None if one.high is None else x(one.high),
        }
        for place, (label, one) in enumerate(rows)
    ]
    rules = []
    for place, (name, value) in enumerate(floors):
        rules.append(_rule(x(value), short(name, 20), 10.0 + 12 * place, left=value > (low + high) / 2, gap=3))
    if sides:
        rules.append(_rule(x(0), f"← {sides[0]} better", 12, left=True, gap=4, kind="zero"))
        rules.append(_rule(x(0), f"{sides[1]} better →", 12, left=False, gap=4, kind="zero"))
    # two to five round numbers
    unit = 10.0 ** floor(log10((high - low) / 2))
    step = next(size * unit for size in (1, 2, 2.5, 5, 10) if (high - low) / (size * unit) <= 5)
    values = [round(step * n, 10) for n in range(ceil(low / step), floor(high / step) + 1)]
    ticks = [(x(value), f"{value:g}".replace("-", "\u2212")) for value in values]
    bottom = top + LINE * len(rows)
    return {"words": words, "top": top, "bottom": bottom, "lines": lines, "rules": rules, "ticks": ticks}


def _rule(x: float, label: str, y: float, *, left: bool, gap: float, kind: str = "floor") -> Json:
    """Place a vertical line, with its label to the left or to the right of it."""
    end, at = ("end", x - gap) if left else ("start", x + gap)
    return {"x": x, "label": label, "label_x": at, "label_y": y, "anchor": end, "kind": kind}


def curve_plots(report: Report, column: ReportColumn) -> Iterator[Json]:
    """Plot the calibration of a column, one plot per label: a panel per entry, with the other curves in the back."""
    records = next((one["calibration"] for one in report.why if one["column"] == column.id), ())
    for label in dict.fromkeys(record["label"] for record in records):
        of_label = [record for record in records if record["label"] == label]
        across = 3 if len(of_label) > 2 else 2
        side = round((WIDTH - 24) / across - 12, 1)
        curves = [_curve(record["bins"], side) for record in of_label[:CURVES]]
        panels = []
        for place, (record, points) in enumerate(zip(of_label, curves, strict=False)):
            row, across_row = divmod(place, across)
            x, y = round(24 + across_row * (side + 12), 1), round(16 + row * (side + 36), 1)
            name = short(report.labels[record["entry"]], 19)
            panels.append({"x": x, "y": y, "label": name, "points": points, "others": curves})
        errors = (f"{plain(report.labels[record['entry']], 40)} {number(record['ece']['value'])}" for record in of_label)
        words = f"Calibration curves of the probability of {plain(label, 40)}; expected calibration error: "
        height = round(-(-len(panels) // across) * (side + 36) + 16, 1)
        yield {"label": label, "words": words + "; ".join(errors), "side": side, "height": height, "panels": panels}


def _curve(bins: Sequence[Json], side: float) -> list[tuple[float, float, float]]:
    """Place the points of a curve, each with its radius."""
    shown = [bin for bin in bins if bin["n"] and defined(bin["mean"])]
    most = max((bin["n"] for bin in shown), default=1)
    return [
        (round(side * bin["mean"], 1), round(side * (1 - bin["share"]), 1), round(1 + 2 * (bin["n"] / most) ** 0.5, 1))
        for bin in shown
    ]


def short(label: str, columns: int) -> str:
    """Shorten a label to a width in columns; wide characters take two."""
    label = plain(label, 4 * columns)
    taken = 0
    for position, char in enumerate(label):
        taken += 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if taken > columns:
            return label[: position - 1] + "…"
    return label if label.strip() else "(no name)"
