"""Showing a report: as a self-contained HTML page that needs no network and no scripts, as Markdown and as JSON."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Sequence
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from halu_tasks.core.records import to_json
from halu_tasks.replies.embedded import reads_prompts
from halu_tasks.report import text
from halu_tasks.report.detail_records import ShownReply
from halu_tasks.report.picture import beside_people, people_floor, picture, risk_plot, scale_of, signs
from halu_tasks.report.report_records import (
    Column,
    Place,
    PublishedFigure,
    Report,
    items_of,
    number_in_detail,
    part_answered,
)
from halu_tasks.report.summary import answer, cautions, findings, rule, summary, warning_text, wins
from halu_tasks.results.comparability import Entry
from halu_tasks.scorers.answer import NO_ANSWER, UNPARSED
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.text.number_format import escaped, format_estimate, format_needed, format_p_value

_HERE = Path(__file__).parent


def render(report: Report, *, published: bool = False) -> str:
    """Render a report as an HTML page, on which published figures are shown at first or only if they are asked for.

    All strings in the report are untrusted: they are escaped, and invisible characters are made visible. As a second
    line of defence, the page's content security policy allows only the page's own script and no loading at all.
    """
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    part = in_detail(report)
    drawn_entries = ranked(part, part.heads(part.top_means(main=True), part.main)) if report.main else []
    drawn = picture(report, drawn_entries)
    items = [(column, item) for column in part.columns if column.details for item in column.details["items"]]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            part=part,
            answer=answer(report),
            findings=findings(report),
            cautions=cautions(report),
            picture=drawn,
            signs=signs(drawn),
            published=published,
            entries={entry.id: entry for entry in report.entries},
            details=any(column.details for column in report.columns),
            items=items,
            kinds=list(dict.fromkeys(kind for _, item in items for kind in item["kinds"])),
            pairs=grouped(((pair.first, pair.second), pair) for pair in part.pairs),
            wins={(one.first, one.second): one for one in wins(part)},
            block=lambda value, left=0: text.block(value, report.about.table, left),
            style=Markup(_file("report.css")),
            script=Markup(script),
            policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def markdown(
    report: Report, metrics: Sequence[str] = (), detail: Report | None = None, *, published: bool = False
) -> str:
    """Format a report for a README or a terminal: leaderboard, figures by tag, runs and pairs.

    Args:
        report: The report.
        metrics: Metrics whose figures are shown besides those of the leaderboard.
        detail: The part of the report whose differences and figures by tag are listed (`in_detail`); all if None.
        published: Whether published figures are rows of the leaderboard.
    """
    environment = Environment(**_TEMPLATES)
    environment.filters |= {
        "md": escaped,
        "count": text.count,
        "rank": text.rank,
        "p": format_p_value,
        "percent": text.percent,
    }
    environment.filters |= {"estimate": format_estimate, "difference": lambda one: format_estimate(one, "+.3f")}
    environment.filters["needed"] = lambda needed: format_needed(needed.items, needed.low, needed.high)
    environment.globals |= _SHARED
    return environment.get_template("report.md.j2").render(
        report=report,
        detail=detail or report,
        entries={entry.id: entry for entry in report.entries},
        metrics=metrics,
        published=published,
    )


def as_json(report: Report) -> dict[str, Any]:
    """Convert a report to JSON values, as in `report.json`."""
    cells = [(column, entry, result) for column in report.columns for entry, result in column.results.items()]
    return {
        **to_json(report.about),
        "notes": to_json(report.notes),
        "skipped": to_json(report.skipped),
        "warnings": [
            {"entry": entry.id, "column": column.id, **to_json(one), "text": warning_text(entry, column, one)}
            for entry, column, one in report.warnings
        ],
        "superseded": [
            {"entry": entry.id, "column": column.id, **to_json(run)} for entry, column, run in report.superseded
        ],
        "entries": to_json(report.entries),
        "columns": to_json(report.columns),
        "groups": [to_json(mean) | {"columns": [column.id for column in mean.columns]} for mean in report.means],
        "results": [
            {"entry": entry.id, "column": column.id, **to_json(result), "rank": to_json(column.ranks.get(entry))}
            for column, entry, result in cells
        ],
        "group_results": [
            {"entry": entry.id, "group": mean.id, **to_json(figure), "rank": to_json(mean.ranks.get(entry))}
            for mean in report.means
            for entry, figure in mean.figures.items()
        ],
        "floors": [{"column": column.id, **to_json(one)} for column in report.columns for one in column.floors],
        "published": [{**_place_id(p), **to_json(one)} for p in report.places for one in p.published],
        "pairs": [
            {**_place_id(pair.place), "first": pair.first.id, "second": pair.second.id, **to_json(pair)}
            | {"better": pair.better and pair.better.id}
            for pair in report.pairs
        ],
        "why": [column.details for column in report.columns if column.details],
        "summary": summary(report),
        "rule": rule(report),
        "wins": [one.as_json() for one in wins(report)],
    }


def _place_id(place: Place) -> dict[str, str | None]:
    is_column = isinstance(place, Column)
    return {"column": place.id if is_column else None, "group": None if is_column else place.id}


def in_detail(report: Report) -> Report:
    """Return the part of a report that is shown in detail: of many entries the leading ones, in the same order."""
    number = number_in_detail(len(report.entries), len(report.columns) + len(report.means))
    if number == len(report.entries) or not report.main:
        return report
    return report.only(ranked(report, report.heads(report.top_means(main=True), report.main))[:number])


def grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Group values by their keys."""
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def notes_on(columns: Iterable[Column]) -> dict[str, list[Column]]:
    """Group columns by the notes about them, so that each note stands once."""
    return grouped((note, column) for column in columns for note in column.notes)


def verdict(column: Column, reply: ShownReply) -> tuple[str, str]:
    """Classify a reply by its figure.

    A reply without an answer is wrong, and shown as its outcome. An empty list is an answer.

    Returns:
        The CSS classes, and the word or number to show.
    """
    value = reply["value"]
    if reply["answer"] is None:
        # a log may contain any string, and this one is not truncated
        return "wrong unread", reply["outcome"] if reply["outcome"] in NO_ANSWER else UNPARSED
    if not text.defined(value):
        return "unread", "no verdict"
    low, high = column.range
    best, worst = (high, low) if column.higher_is_better else (low, high)
    if value in (best, worst):
        return ("right", "right") if value == best else ("wrong", "wrong")
    return ("partly", f"{value:.2f}") if high is not None else ("wrong", f"{value:g}")


# --- the leaderboard --------------------------------------------------------------------------------


def ranked(report: Report, places: Sequence[Place]) -> list[Entry]:
    """List the entries with results in some columns and groups, by their figures in the first place, best first."""
    entries = (entry for entry in report.entries if any(place.cell(entry) for place in places))
    return sorted(entries, key=lambda entry: _order(_figure(places[0], entry), places[0]))


class PublishedSystem(NamedTuple):
    """A row of published figures, of which there are no items.

    Attributes:
        model: The model.
        method: The method.
        figures: Its figures by the id of the place.
    """

    model: str
    method: str
    figures: dict[str, PublishedFigure]


def published_systems(places: Sequence[Place]) -> list[PublishedSystem]:
    """List the published systems with figures of the headlines of some columns and means, best first."""
    systems: dict[tuple[str, str], PublishedSystem] = {}
    for place in places:
        for one in (figure for figure in place.published if figure.headline):
            system = systems.setdefault((one.model, one.method), PublishedSystem(one.model, one.method, {}))
            system.figures[place.id] = one
    return sorted(systems.values(), key=lambda system: _order(system.figures.get(places[0].id), places[0]))


def floor_names(places: Sequence[Place]) -> list[str]:
    """List the uninformed replies with a figure of the headline of a column."""
    return sorted({floor.name for place in places for floor in place.floors if floor.headline})


def _figure(place: Place, entry: Entry) -> Estimate | None:
    cell = place.cell(entry)
    return None if cell is None else cell.corrected if cell.by_corrected else cell.figure


def _order(figure: Estimate | PublishedFigure | None, place: Place) -> float:
    value = figure.value if figure else inf
    return inf if not isfinite(value) else -value if place.higher_is_better else value


def kind(report: Report, entry: Entry) -> str:
    """Return what an entry is if no model was asked: an embedded model, or replies that were made elsewhere."""
    if not reads_prompts(entry.model):
        return "embedded model"
    harnesses = [column.results[entry].harness for column in report.columns if entry in column.results]
    return "scored replies" if all(harness.startswith("halu-tasks score") for harness in harnesses) else ""


# --- the environment of the page --------------------------------------------------------------------


def _file(name: str) -> str:
    # exactly as inlined, since the policy contains a hash of it
    return (_HERE / name).read_text("utf-8").replace("\r\n", "\n")


# how the templates of the page and of Markdown are read, and what they call
_TEMPLATES: dict[str, Any] = {
    "loader": FileSystemLoader(_HERE / "templates"),
    "undefined": StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
}
_SHARED: dict[str, Any] = {
    function.__name__: function for function in (ranked, published_systems, floor_names, kind, notes_on, rule, summary)
}
_SHARED |= {function.__name__: function for function in (part_answered, items_of, warning_text)}
_SHARED["outcomes"] = NO_ANSWER


@cache
def _environment() -> Environment:
    """Create the template environment, which makes invisible characters of all strings visible and escapes them."""
    environment = Environment(
        **_TEMPLATES,
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else text.plain(value),
    )
    filters: dict[str, Any] = {
        "plain": lambda value, limit=text.NAME: text.plain(value, limit),
        "line": lambda value, limit=300: text.name(value, limit),
        "p": format_p_value,
        "shell": lambda word: text.name(shlex.quote(word), 1000),
        "end": lambda value: f"{value:.3g}".replace("-", "\u2212"),
        "date": lambda value: text.plain(value[:16].replace("T", " ")),
    }
    named = (text.name, text.number, text.count, text.percent, text.rank)
    environment.filters |= filters | {function.__name__: function for function in named}
    functions = (text.interval, text.defined, text.marked, verdict, scale_of, risk_plot, beside_people, people_floor)
    environment.globals |= _SHARED | {function.__name__: function for function in functions}
    return environment
