"""Making the plots of columns and pairs from the view model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from halu_tasks.report.model.detail_records import Calibration
from halu_tasks.report.model.report import ReportColumn
from halu_tasks.report.page.charts import (
    Bar,
    BothFigures,
    Curve,
    calibration,
    differences,
    interval_words,
    intervals,
    modes,
)
from halu_tasks.report.page.escaping import plain
from halu_tasks.report.page.numbers import defined, interval, number
from halu_tasks.report.page.view import Pair, View


class Curves(NamedTuple):
    """The calibration plot for one label, with the records that it is drawn from."""

    label: str
    plot: Markup
    records: list[Calibration]


def interval_plot(view: View, column: int) -> Markup | None:
    """Plot the headline figures of a column, best first, with its floors; None if there are no figures."""
    record = view.columns[column]
    bars = []
    for entry in view.ranked(column):
        figure = view.figure(entry, column)
        assert figure is not None
        ends = (figure.low, figure.high) if defined(figure.low) else (None, None)
        bars.append(Bar(view.entries[entry].label, figure.value, *ends))
    if not bars:
        return None
    floors = [(floor.name, floor.value) for floor in view.headline_floors(column) if defined(floor.value)]
    words = interval_words(record.title, record.headline, record.higher_is_better, bars, floors)
    return intervals(f"i{column}", bars, floors, record.range, words)


def mode_plot(view: View, column: int) -> Markup | None:
    """Plot the figures of the same replies in both modes, in the order of the strict ones.

    None if the modes cannot be compared, or have different metrics, or give the same figures.
    """
    record, rows = view.columns[column], []
    for row in view.details[column].modes or ():
        strict, paper = (row.figures[mode] for mode in ("strict", "paper"))
        if strict and paper and defined(strict.value) and defined(paper.value) and row.metric == record.headline:
            label = view.entries[view.entry_number[row.entry]].label
            rows.append(BothFigures(label, strict.value, paper.value))
    if not any(number(row.strict) != number(row.paper) for row in rows):
        return None
    rows.sort(key=lambda row: -row.strict if record.higher_is_better else row.strict)
    figures = [f"{plain(row.label, 40)} {number(row.strict)} and {number(row.paper)}" for row in rows]
    words = f"Plot of {plain(record.headline, 60)} on {plain(record.title, 60)} in strict and in paper: "
    return modes(f"m{column}", rows, words + "; ".join(figures) + ".")


PAIRS = 10
"""Maximum number of pairs for which plots are drawn; more would make the page slow to create."""


def difference_plots(view: View, pair: Pair) -> list[tuple[bool, Markup]]:
    """Plot the differences of a pair on main tasks with figures from 0 to 1; none if there are many pairs.

    As in the table, a difference is that of the first entry's figure minus the second's. Tasks whose higher figures are
    better thus have one plot, and the others another.

    Returns:
        Plots, each with whether higher figures are better.
    """
    bars: dict[bool, list[Bar]] = {True: [], False: []}
    for row in pair.rows if len(view.pairs) <= PAIRS else ():
        column = view.place(row)
        if not isinstance(column, ReportColumn):
            continue
        higher = column.directions.get(row.metric, column.higher_is_better)
        if column.main and higher is not None and column.range == (0, 1) and defined(row.value):
            bars[higher].append(Bar(column.title, row.value, row.low, row.high))
    return [
        (higher, _difference_plot(view, pair, of_direction, higher))
        for higher, of_direction in bars.items()
        if of_direction
    ]


def _difference_plot(view: View, pair: Pair, bars: Sequence[Bar], higher: bool) -> Markup:
    first, second = (plain(view.entries[i].label, 40) for i in (pair.first, pair.second))
    figures = [f"{plain(bar.label, 60)} {number(bar.value, True)} {interval(bar.low, bar.high, True)}" for bar in bars]
    better = f"{'higher' if higher else 'lower'} is better"
    words = f"{first} minus {second}, {better}: {'; '.join(figures)}."
    return differences(f"d{pair.first}-{pair.second}{'' if higher else '-lower'}", bars, higher, words)


def calibration_plots(view: View, column: int) -> list[Curves]:
    """Plot the calibration curves of a column, one plot per label whose probability was asked for."""
    records = view.details[column].calibration
    all_curves = []
    for position, label in enumerate(dict.fromkeys(record.label for record in records)):
        of_label = [record for record in records if record.label == label]
        curves = [
            Curve(
                view.entries[view.entry_number[record.entry]].label,
                [(bin.mean, bin.share, bin.n) for bin in record.bins if bin.n and defined(bin.mean)],
            )
            for record in of_label
        ]
        errors = [
            f"{plain(curve.label, 40)} {number(record.ece.value)}"
            for curve, record in zip(curves, of_label, strict=True)
        ]
        words = (
            f"Calibration curves of the probability of {plain(label, 40)}; expected calibration error: "
            + "; ".join(errors)
        )
        all_curves.append(Curves(label, calibration(f"k{column}-{position}", curves, words), of_label))
    return all_curves
