"""Writing a report as a self-contained HTML page that needs no network and can be read without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from halu_tasks.report import plots, text
from halu_tasks.report.cells import leaderboard
from halu_tasks.report.records import EntryPair, Report, ReportColumn, ReportEntry, ShownReply
from halu_tasks.scorers.answer import NO_ANSWER

_HERE = Path(__file__).parent


def render(report: Report) -> str:
    """Render a report as an HTML page.

    All strings in the report are untrusted: they are escaped, and invisible characters are made visible. As a second
    line of defence, the page's content security policy allows only the page's own script and no loading at all.
    """
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    items = [(report.places[details.column], item) for details in report.why for item in details.items]
    pairs = pairs_by_entries(report)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            details={details.column: details for details in report.why},
            items=items,
            kinds=list(dict.fromkeys(kind for _, item in items for kind in item.kinds)),
            pairs=pairs,
            wins={(one.first, one.second): one for one in report.comparison.wins},
            differences=(lambda of_pair: plots.difference_plots(report, of_pair))
            if len(pairs) <= plots.PAIRS
            else (lambda of_pair: ()),
            board=partial(leaderboard, report),
            block=lambda value, left=0: text.block(value, report.about.table, left),
            style=Markup(_file("report.css")),
            script=Markup(script),
            policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def pairs_by_entries(report: Report) -> dict[tuple[str, str], list[EntryPair]]:
    """Group the differences by the ids of both entries, with main groups and columns first."""
    grouped: dict[tuple[str, str], list[EntryPair]] = {}
    for pair in sorted(report.comparison.pairs, key=lambda pair: not report.places[pair.place].main):
        grouped.setdefault((pair.first, pair.second), []).append(pair)
    order = {entry: number for number, entry in enumerate(report.labels)}
    return dict(sorted(grouped.items(), key=lambda one: (order[one[0][0]], order[one[0][1]])))


def verdict(column: ReportColumn, reply: ShownReply) -> tuple[str, str]:
    """Classify a reply by its figure.

    A reply without an answer is wrong, and shown as its outcome. An empty list is an answer.

    Returns:
        The CSS classes, and the word or number to show.
    """
    value = reply.value
    if reply.answer is None:
        # a log may contain any string, and this one is not truncated
        return "wrong unread", reply.outcome if reply.outcome in NO_ANSWER else "unparsed"
    if value is None or not text.defined(value):
        return "unread", "no verdict"
    low, high = column.measures.range
    best, worst = (high, low) if column.higher_is_better else (low, high)
    if value == best:
        return "right", "right"
    if value == worst:
        return "wrong", "wrong"
    return ("partly", f"{value:.2f}") if high is not None else ("wrong", f"{value:g}")


def how(entry: ReportEntry) -> str:
    """Describe how an entry was asked."""
    values = [entry.model] if entry.model != entry.label else []
    values += [value for value in (entry.method, entry.harness) if value]
    values += [f"{role}: {model}" for role, model in entry.roles.items()]
    return " · ".join(values + [f"{name} {value}" for name, value in entry.settings.items()])


def grouped(pairs: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Group values by the text about them, so that each text stands once."""
    groups: dict[str, list[Any]] = {}
    for about, value in pairs:
        groups.setdefault(about, []).append(value)
    return groups


def _notes(columns: Sequence[ReportColumn]) -> dict[str, list[ReportColumn]]:
    return grouped((note, column) for column in columns for note in column.notes)


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
    shown = (text.interval, text.defined, text.marked, plots.interval_plot, plots.mode_plot, plots.curve_plots)
    environment.globals |= {function.__name__: function for function in (*shown, verdict, how, grouped)}
    environment.globals["notes_on"] = _notes
    return environment
