"""Showing a report: as a self-contained HTML page that needs no network and no scripts, as Markdown and as JSON."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from halu_tasks.core.records import to_json
from halu_tasks.replies.embedded import reads_prompts
from halu_tasks.report import text
from halu_tasks.report.picture import Scale, beside_people, people_floor, picture, risk_plot, signs
from halu_tasks.report.records import EntryPair, Json, Place, Report, ReportColumn, number_in_detail
from halu_tasks.report.summary import answer, cautions, findings, rule, summary, wins
from halu_tasks.results.comparability import Entry
from halu_tasks.scorers.answer import NO_ANSWER, UNPARSED
from halu_tasks.text.figures import escaped, format_estimate, format_needed, format_p_value

_HERE = Path(__file__).parent


def render(report: Report, *, published: bool = False) -> str:
    """Render a report as an HTML page, on which published figures are shown at first or only if they are asked for.

    All strings in the report are untrusted: they are escaped, and invisible characters are made visible. As a second
    line of defence, the page's content security policy allows only the page's own script and no loading at all.
    """
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    part = in_detail(report)
    main = [column for column in report.columns if column.main]
    shown = ranked(part, part.heads(part.top_groups(main=True), main)) if main else []
    drawn = picture(report, shown)
    items = [(report.places[details["column"]], item) for details in part.why for item in details["items"]]
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
            scales={id: Scale.of(report, place) for id, place in report.places.items()},
            published=published,
            details={details["column"]: details for details in part.why},
            items=items,
            kinds=list(dict.fromkeys(kind for _, item in items for kind in item["kinds"])),
            pairs=grouped(((pair.first, pair.second), pair) for pair in part.pairs),
            wins={(one["first"], one["second"]): one for one in wins(part)},
            block=lambda value, left=0: text.block(value, report.about["table"], left),
            style=Markup(_file("report.css")),
            script=Markup(script),
            policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def markdown(
    report: Report, metrics: Sequence[str] = (), pairs: Sequence[EntryPair] | None = None, *, published: bool = False
) -> str:
    """Format a report for a README or a terminal: the leaderboard, results apart, runs, pairs, and what is missing.

    Args:
        report: The report.
        metrics: Metrics whose figures are shown besides those of the leaderboard.
        pairs: The differences that are listed; all if None.
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
        report=report, metrics=metrics, pairs=report.pairs if pairs is None else pairs, published=published
    )


def as_json(report: Report) -> dict[str, Any]:
    """Convert a report to JSON values, as in `report.json`."""
    return {**to_json(report), "summary": summary(report), "rule": rule(report), "wins": wins(report)}


def in_detail(report: Report) -> Report:
    """Return the part of a report that is shown in detail: of many entries the leading ones, in the same order."""
    number = number_in_detail(len(report.entries), len(report.places))
    columns = [column for column in report.columns if column.main]
    if number == len(report.entries) or not columns:
        return report
    order = [entry.id for entry in ranked(report, report.heads(report.top_groups(main=True), columns))]
    ids = {*order[:number]}
    return replace(
        report,
        entries=[entry for entry in report.entries if entry.id in ids],
        results=[result for result in report.results if result.entry in ids],
        pairs=[pair for pair in report.pairs if {pair.first, pair.second} <= ids],
        why=_of_entries(report.why, ids),
    )


def _of_entries(value: Any, ids: Set[str]) -> Any:
    """Return a JSON value without the records of other entries."""
    if isinstance(value, Mapping):
        return {name: _of_entries(part, ids) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        records = (part for part in value if not isinstance(part, Mapping) or part.get("entry") in {None, *ids})
        return [_of_entries(part, ids) for part in records]
    return value


def grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Group values by their keys."""
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def notes_on(columns: Iterable[ReportColumn]) -> dict[str, list[ReportColumn]]:
    """Group columns by the notes about them, so that each note stands once."""
    return grouped((note, column) for column in columns for note in column.notes)


def verdict(column: ReportColumn, reply: Json) -> tuple[str, str]:
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
    entries = (one for one in report.entries if any(report.cell(one.id, place) for place in places))
    return sorted(entries, key=lambda entry: _order(report, entry, places[0]))


def rows(report: Report, places: Sequence[Place]) -> list[Entry | Json]:
    """List the rows of a leaderboard, each best first: entries, then published systems, of which there are no items.

    A published system has `model`, `method` and its `figures` by the id of the place.
    """
    ids = {place.id for place in places}
    figures = (one for one in report.published if one["headline"] and (one["column"] or one["group"]) in ids)
    systems = grouped(((one["model"], one["method"]), one) for one in figures)
    published: list[Json] = [
        {"model": model, "method": method, "figures": {one["column"] or one["group"]: one for one in own}}
        for (model, method), own in systems.items()
    ]
    return [*ranked(report, places), *sorted(published, key=lambda row: _order(report, row, places[0]))]


def _order(report: Report, row: Entry | Json, place: Place) -> float:
    if isinstance(row, Entry):
        cell = report.cell(row.id, place)
        figure = None if cell is None else cell.corrected if cell.by_corrected else cell.figure
        value = figure.value if figure else inf
    else:
        value = row["figures"].get(place.id, {"value": inf})["value"]
    return inf if not isfinite(value) else -value if place.higher_is_better else value


def kind(report: Report, entry: Entry) -> str:
    """Return what an entry is if no model was asked: an embedded model, or replies that were made elsewhere."""
    if not reads_prompts(entry.model):
        return "embedded model"
    made = [result.harness for result in report.results if result.entry == entry.id]
    return "scored replies" if all(harness.startswith("halu-tasks score") for harness in made) else ""


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
_SHARED: dict[str, Any] = {function.__name__: function for function in (ranked, rows, kind, notes_on, rule, summary)}
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
    functions = (text.interval, text.defined, text.marked, verdict, risk_plot, beside_people, people_floor)
    environment.globals |= _SHARED | {function.__name__: function for function in functions}
    return environment
