"""Drawing the page's plots: intervals of figures and of differences, and calibration curves."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from halu_tasks.report.page.escaping import plain
from halu_tasks.report.page.numbers import interval, number
from halu_tasks.report.page.svg import ACCENT, INK, MUTED, RULE, inline

WIDTH = 340.0
"""Width of every plot in points; on a phone, its text is as large as the page's small print."""
CURVES = 12
"""Maximum number of curves that are drawn; the table below the plot has all of them."""
_LINE, _LABEL, _VALUES = 15.0, 122.0, 34.0
_SIZE = 8.5


class Bar(NamedTuple):
    """An entry's figure with its interval."""

    label: str
    value: float
    low: float | None
    high: float | None


class BothFigures(NamedTuple):
    """An entry's figures of the same replies in both modes."""

    label: str
    strict: float
    paper: float


class Curve(NamedTuple):
    """An entry's calibration: mean probability, observed share and number of replies of each bin."""

    label: str
    points: Sequence[tuple[float, float, int]]


def short(label: str, columns: int) -> str:
    """Shorten a label to a width in columns; wide characters take two."""
    label = plain(label, 4 * columns)
    taken = 0
    for position, char in enumerate(label):
        taken += 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if taken > columns:
            return label[: position - 1] + "…"
    # matplotlib writes no element for an empty string
    return label if label.strip() else "(no name)"


def _axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes whose position is given in points from the figure's upper left corner."""
    full_width, full_height = figure.get_size_inches() * 72
    axes = figure.add_axes(
        (left / full_width, 1 - (top + height) / full_height, width / full_width, height / full_height)
    )
    axes.patch.set_visible(False)
    axes.tick_params(colors=MUTED, labelsize=_SIZE, length=3, width=0.6, color=RULE)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(RULE)
        spine.set_linewidth(0.6)
    return axes


def _rows(axes: Axes, bars: Sequence[Bar], signed: bool = False) -> None:
    """Draw a line for each bar, from top to bottom: its label, its interval with the figure, and the number."""
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, min_n_ticks=2))
    axes.grid(axis="x", color=RULE, linewidth=0.5)
    axes.set_axisbelow(True)
    for row, bar in enumerate(bars):
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [row, row], color=ACCENT, linewidth=2, solid_capstyle="butt", clip_on=False)
        axes.plot([bar.value], [row], "o", color=INK, markersize=4.2, clip_on=False)
        for x, text in ((-6.0, short(bar.label, 23)), (WIDTH - _LABEL, number(bar.value, signed))):
            axes.annotate(
                text,
                (0, row),
                xycoords=axes.get_yaxis_transform(),
                xytext=(x, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=_SIZE,
                color=INK,
                parse_math=False,
            )


def differences(prefix: str, bars: Sequence[Bar], higher: bool, words: str) -> Markup:
    """Plot the differences between two entries, one line per task.

    Args:
        prefix: A prefix for the ids of the plot's elements.
        bars: The differences, as first minus second.
        higher: Whether higher figures are better, so that the first entry is better right of zero; otherwise left.
        words: A description of the plot for screen readers.
    """
    top, height = 18.0, _LINE * len(bars)
    figure = Figure(figsize=(WIDTH / 72, (top + height + 20) / 72))
    axes = _axes(figure, _LABEL, top, WIDTH - _LABEL - _VALUES, height)
    ends = [abs(x) for bar in bars for x in (bar.value, bar.low, bar.high) if x is not None]
    reach = 1.08 * max(ends) or 1.0
    axes.set_xlim(-reach, reach)
    _rows(axes, bars, signed=True)
    axes.axvline(0, color=MUTED, linewidth=0.9)
    left, right = ("second", "first") if higher else ("first", "second")
    for x, side, text in ((-4.0, "right", f"← {left} better"), (4.0, "left", f"{right} better →")):
        axes.annotate(
            text,
            (0, 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(x, 4),
            textcoords="offset points",
            ha=side,
            fontsize=_SIZE - 1,
            color=MUTED,
        )
    return inline(figure, prefix, words)


def intervals(
    prefix: str, bars: Sequence[Bar], floors: Sequence[tuple[str, float]], span: Sequence[float | None], words: str
) -> Markup:
    """Plot figures with their intervals, one line per entry, and floors as vertical lines.

    Args:
        prefix: A prefix for the ids of the plot's elements.
        bars: The figures of the entries.
        floors: Names and values of the floors.
        span: The range of the metric; None for an end without a limit.
        words: A description of the plot for screen readers.
    """
    top = 4 + 12.0 * len(floors)
    height = _LINE * len(bars)
    figure = Figure(figsize=(WIDTH / 72, (top + height + 20) / 72))
    axes = _axes(figure, _LABEL, top, WIDTH - _LABEL - _VALUES, height)
    ends = [x for bar in bars for x in (bar.value, bar.low, bar.high) if x is not None]
    ends += [value for _, value in floors]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.05
    axes.set_xlim(low - room, high + room)
    bounds = [bound for bound in span if bound is not None and low - room < bound < high + room]
    for bound in bounds:
        axes.axvline(bound, color=MUTED, linewidth=0.6)
    for row, (label, value) in enumerate(floors):
        axes.axvline(value, color=MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
        right = value > (low + high) / 2
        axes.annotate(
            short(label, 20),
            (value, 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-3 if right else 3, 3 + 12 * (len(floors) - 1 - row)),
            textcoords="offset points",
            ha="right" if right else "left",
            va="bottom",
            fontsize=_SIZE - 1,
            color=MUTED,
            parse_math=False,
        )
    _rows(axes, bars)
    return inline(figure, prefix, words)


def modes(prefix: str, rows: Sequence[BothFigures], words: str) -> Markup:
    """Plot figures in both modes, one line per entry: a dot for strict, a ring for paper.

    Args:
        prefix: A prefix for the ids of the plot's elements.
        rows: The figures of the entries.
        words: A description of the plot for screen readers.
    """
    height = _LINE * len(rows)
    figure = Figure(figsize=(WIDTH / 72, (4 + height + 20) / 72))
    axes = _axes(figure, _LABEL, 4, WIDTH - _LABEL - _VALUES, height)
    ends = [x for row in rows for x in (row.strict, row.paper)]
    room = 0.05 * (max(ends) - min(ends)) or 0.05
    axes.set_xlim(min(ends) - room, max(ends) + room)
    for line, row in enumerate(rows):
        axes.plot([row.strict, row.paper], [line, line], color=MUTED, linewidth=0.9, zorder=2)
        axes.plot([row.paper], [line], "o", color=ACCENT, markerfacecolor="none", markersize=5.4, clip_on=False)
    _rows(axes, [Bar(row.label, row.strict, None, None) for row in rows])
    return inline(figure, prefix, words)


def calibration(prefix: str, curves: Sequence[Curve], words: str) -> Markup:
    """Plot the observed share against the mean probability, one panel per entry with the other curves in the back.

    Args:
        prefix: A prefix for the ids of the plot's elements.
        curves: The entries' curves; only the first `CURVES` are drawn.
        words: A description of the plot for screen readers.
    """
    curves = curves[:CURVES]
    across = 3 if len(curves) > 2 else 2
    side = (WIDTH - 24) / across - 12
    down = -(-len(curves) // across)
    figure = Figure(figsize=(WIDTH / 72, (down * (side + 36) + 16) / 72))
    for position, curve in enumerate(curves):
        row, column = divmod(position, across)
        axes = _axes(figure, 24 + column * (side + 12), 16 + row * (side + 36), side, side)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"] if column == 0 else ["", "", ""])
        axes.spines["left"].set_visible(True)
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)))
        for other in curves:
            if other is not curve and len(other.points):
                axes.plot([x for x, _, _ in other.points], [y for _, y, _ in other.points], color=RULE, linewidth=0.6)
        most = max((n for _, _, n in curve.points), default=1)
        axes.plot([x for x, _, _ in curve.points], [y for _, y, _ in curve.points], color=ACCENT, linewidth=1.4)
        for x, y, n in curve.points:
            axes.plot([x], [y], "o", color=ACCENT, markersize=2 + 4 * (n / most) ** 0.5, markeredgewidth=0)
        axes.annotate(
            short(curve.label, 19),
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 4),
            textcoords="offset points",
            fontsize=_SIZE,
            color=INK,
            parse_math=False,
        )
    return inline(figure, prefix, words)


def interval_words(
    title: str, metric: str, higher: bool | None, bars: Sequence[Bar], floors: Sequence[tuple[str, float]]
) -> str:
    """Describe an interval plot for screen readers.

    Args:
        title: The task.
        metric: The metric.
        higher: Whether higher figures are better.
        bars: The figures of the entries, best first.
        floors: Names and values of the floors.
    """
    figures = [f"{plain(bar.label, 40)} {number(bar.value)} {interval(bar.low, bar.high)}".strip() for bar in bars]
    lines = [f"{plain(name, 40)} {number(value)}" for name, value in floors]
    better = "higher" if higher else "lower"
    what = f"{plain(metric, 40)} on {plain(title, 60)}, {better} is better"
    below = f" Floors: {'; '.join(lines)}." if lines else ""
    return f"Interval plot of {what}, best first: {'; '.join(figures)}.{below}"
