"""Showing a report: as a self-contained HTML page that needs no network and no scripts, and as Markdown.

Both are templates over the report.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache, partial
from math import ceil, floor, inf, isfinite, log10
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from halu_tasks.report import text
from halu_tasks.report.records import Cell, EntryPair, Json, Place, Report, ReportColumn
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.text.figures import escaped, format_estimate, format_needed, format_p_value

_HERE = Path(__file__).parent


def render(report: Report) -> str:
    """Render a report as an HTML page.

    All strings in the report are untrusted: they are escaped, and invisible characters are made visible. As a second
    line of defence, the page's content security policy allows only the page's own script and no loading at all.
    """
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    items = [(report.places[details["column"]], item) for details in report.why for item in details["items"]]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            details={details["column"]: details for details in report.why},
            items=items,
            kinds=list(dict.fromkeys(kind for _, item in items for kind in item["kinds"])),
            pairs=pairs_by_entries(report),
            wins={(one["first"], one["second"]): one for one in report.comparison.wins},
            board=partial(leaderboard, report),
            block=lambda value, left=0: text.block(value, report.about["table"], left),
            style=Markup(_file("report.css")),
            script=Markup(script),
            policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def markdown(report: Report) -> str:
    """Format a report for an issue or a README: the leaderboard, results apart, pairs, and what is missing."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "md": escaped,
        "count": text.count,
        "rank": text.rank,
        "estimate": format_estimate,
        "p": format_p_value,
        "needed": lambda needed: format_needed(needed.items, needed.low, needed.high),
    }
    board = partial(leaderboard, report)
    return environment.get_template("report.md.j2").render(report=report, board=board, notes_on=notes_on)


def pairs_by_entries(report: Report) -> dict[tuple[str, str], list[EntryPair]]:
    """Group the differences by the ids of both entries, with main groups and columns first."""
    grouped: dict[tuple[str, str], list[EntryPair]] = {}
    for pair in sorted(report.comparison.pairs, key=lambda pair: not report.places[pair.place].main):
        grouped.setdefault((pair.first, pair.second), []).append(pair)
    order = {entry: number for number, entry in enumerate(report.labels)}
    return dict(sorted(grouped.items(), key=lambda one: (order[one[0][0]], order[one[0][1]])))


def notes_on(columns: Iterable[ReportColumn]) -> dict[str, list[ReportColumn]]:
    """Group columns by the notes about them, so that each note stands once."""
    groups: dict[str, list[ReportColumn]] = {}
    for column in columns:
        for note in column.notes:
            groups.setdefault(note, []).append(column)
    return groups


def verdict(column: ReportColumn, reply: Json) -> tuple[str, str]:
    """Classify a reply by its figure.

    A reply without an answer is wrong, and shown as its outcome. An empty list is an answer.

    Returns:
        The CSS classes, and the word or number to show.
    """
    value = reply["value"]
    if reply["answer"] is None:
        # a log may contain any string, and this one is not truncated
        return "wrong unread", reply["outcome"] if reply["outcome"] in NO_ANSWER else "unparsed"
    if not text.defined(value):
        return "unread", "no verdict"
    low, high = column.range
    best, worst = (high, low) if column.higher_is_better else (low, high)
    if value in (best, worst):
        return ("right", "right") if value == best else ("wrong", "wrong")
    return ("partly", f"{value:.2f}") if high is not None else ("wrong", f"{value:g}")


# --- the leaderboard --------------------------------------------------------------------------------


class Row(NamedTuple):
    """A row of the leaderboard; its kind is `entry`, `floor` or `published`."""

    kind: str
    label: str
    about: str
    cells: Sequence[Cell | None]


def leaderboard(report: Report, places: Sequence[Place]) -> list[Row]:
    """Arrange the figures of some columns and groups, followed by floors and published figures.

    Entries are sorted by their figures in the first place, best first.
    """
    rows = [
        Row("entry", entry.label, "", [report.cell(entry.id, place) for place in places]) for entry in report.entries
    ]
    rows = [row for row in rows if any(row.cells)]
    if places:
        rows.sort(key=lambda row: _order(row.cells[0], places[0]))
    return [*rows, *_floors(report, places), *_published(report, places)]


def _order(cell: Cell | None, place: Place) -> float:
    """Return a number that is lower for better figures, and infinite for one that is not defined."""
    figure = cell.corrected if cell and cell.by_corrected and cell.result else cell.figure if cell else None
    if figure is None or not isfinite(figure.value):
        return inf
    return -figure.value if place.higher_is_better else figure.value


def _floors(report: Report, places: Sequence[Place]) -> Iterator[Row]:
    floors = {(floor.name, floor.column): floor.value for floor in report.floors if floor.headline}
    for name in dict.fromkeys(name for name, _ in floors):
        values = [floors.get((name, place.id)) for place in places]
        cells = [None if value is None else Cell(Estimate(value, None, None, None)) for value in values]
        if any(cells):
            yield Row("floor", name, "computed from uninformed replies", cells)


def _published(report: Report, places: Sequence[Place]) -> Iterator[Row]:
    figures: dict[tuple[str, str], dict[str, Json]] = {}
    for one in report.published:
        if one["headline"]:
            figures.setdefault((one["model"], one["method"]), {}).setdefault(one["column"] or one["group"], one)
    for (model, method), by_place in figures.items():
        cells = [
            Cell(Estimate(one["value"], None, None, None), note=f"{one['source']}, {one['scoring']} scoring")
            if one
            else None
            for one in (by_place.get(place.id) for place in places)
        ]
        if any(cells):
            yield Row("published", model, f"published · {method}", cells)


def scale(report: Report, place: Place) -> tuple[float, float] | None:
    """Return the worst and the best value that the bars of a column can show; None if it has no bars."""
    ranges = {column.range for column in report.columns_of(place)}
    low, high = next(iter(ranges)) if len(ranges) == 1 else (0.0, None)
    if high is None:
        # without an upper limit, the highest figure stands for it
        cells = (report.cell(entry.id, place) for entry in report.entries)
        figures = [cell.figure for cell in cells if cell and cell.figure]
        ends = [figure.value if figure.high is None else figure.high for figure in figures]
        high = max(filter(isfinite, ends), default=low)
    if place.higher_is_better is None or high <= low:
        return None
    return (low, high) if place.higher_is_better else (high, low)


def bar(ends: tuple[float, float] | None, figure: Estimate | None) -> tuple[float, float, float] | None:
    """Return the places of a figure and of its interval's ends, in percent of the way from worst to best."""
    if ends is None or figure is None or not isfinite(figure.value):
        return None
    worst, best = ends
    interval = () if figure.low is None or figure.high is None else (figure.low, figure.high)
    shares = [min(1.0, max(0.0, (x - worst) / (best - worst))) for x in (figure.value, *interval)]
    value, low, high = (round(100 * share, 1) for share in (shares[0], min(shares), max(shares)))
    return value, low, high


# --- plots ------------------------------------------------------------------------------------------

LEFT, RIGHT, LINE = 122.0, 306.0, 15.0
"""The ends of a plot's scale, and the height of a line, in the units of an SVG."""


def interval_plot(report: Report, column: ReportColumn) -> Json | None:
    """Plot the headline figures of a column, best first, with its floors; None if there are no figures.

    Returns:
        A description for screen readers (`words`), and where the lines, the floors and the ticks are.
    """
    rows = [
        (row.label, figure)
        for row in leaderboard(report, [column])
        if row.kind == "entry" and row.cells[0] and (figure := row.cells[0].figure) and isfinite(figure.value)
    ]
    if not rows:
        return None
    own = (one for one in report.floors if one.column == column.id and one.headline)
    floors = [(one.name, one.value) for one in own if text.defined(one.value)]
    ends = [end for _, one in rows for end in (one.value, one.low, one.high) if end is not None]
    ends += [value for _, value in floors]
    room = 0.05 * (max(ends) - min(ends)) or 0.05
    low, high = min(ends) - room, max(ends) + room

    def x(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (RIGHT - LEFT), 1)

    top = 4 + 12.0 * len(floors)
    lines = [
        {
            "label": short(label, 23),
            "number": text.number(one.value),
            "y": top + LINE * (place + 0.5),
            "dot": x(one.value),
            "ends": None if one.low is None or one.high is None else (x(one.low), x(one.high)),
        }
        for place, (label, one) in enumerate(rows)
    ]
    rules = []
    for place, (name, value) in enumerate(floors):
        # with its label on the side that has more room
        side, gap = ("end", -3) if value > (low + high) / 2 else ("start", 3)
        at = {"x": x(value), "label_x": x(value) + gap, "label_y": 10.0 + 12 * place}
        rules.append({**at, "label": short(name, 20), "anchor": side})
    # two to five round numbers
    unit = 10.0 ** floor(log10((high - low) / 2))
    step = next(size * unit for size in (1, 2, 2.5, 5, 10) if (high - low) / (size * unit) <= 5)
    values = [round(step * n, 10) for n in range(ceil(low / step), floor(high / step) + 1)]
    ticks = [(x(value), f"{value:g}".replace("-", "\u2212")) for value in values]
    better = "higher" if column.higher_is_better else "lower"
    shown = (
        f"{text.plain(label, 40)} {text.number(one.value)} {text.interval(one.low, one.high)}".strip()
        for label, one in rows
    )
    below = "; ".join(f"{text.plain(name, 40)} {text.number(value)}" for name, value in floors)
    what = f"{text.plain(column.metric, 40)} on {text.plain(column.title, 60)}"
    words = f"Interval plot of {what}, {better} is better, best first: {'; '.join(shown)}."
    words += f" Floors: {below}." if below else ""
    return {
        "words": words,
        "top": top,
        "bottom": top + LINE * len(rows),
        "lines": lines,
        "rules": rules,
        "ticks": ticks,
    }


def short(label: str, columns: int) -> str:
    """Shorten a label to a width in columns; wide characters take two."""
    label = text.plain(label, 4 * columns)
    taken = 0
    for position, char in enumerate(label):
        taken += 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if taken > columns:
            return label[: position - 1] + "…"
    return label if label.strip() else "(no name)"


# --- the environment of the page --------------------------------------------------------------------


def _file(name: str) -> str:
    # exactly as inlined, since the policy contains a hash of it
    return (_HERE / name).read_text("utf-8").replace("\r\n", "\n")


def _date(value: str) -> str:
    """Format an ISO 8601 time as date and time; other values are shown unchanged."""
    try:
        return datetime.fromisoformat(value).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return text.plain(value, text.NAME)


@cache
def _environment() -> Environment:
    """Create the template environment, which makes invisible characters of all strings visible and escapes them."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else text.plain(value),
    )
    filters: dict[str, Callable[..., Any]] = {
        "name": text.name,
        "plain": lambda value: text.plain(value, text.NAME),
        "line": lambda value, limit=300: text.name(value, limit),
        "number": text.number,
        "count": text.count,
        "percent": text.percent,
        "p": text.p_value,
        "rank": text.rank,
        "date": _date,
    }
    environment.filters.update(filters)
    shown = (text.interval, text.defined, text.marked, interval_plot)
    environment.globals |= {function.__name__: function for function in (*shown, verdict, notes_on, scale, bar)}
    return environment
