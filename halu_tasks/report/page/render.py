"""Writing a report as a self-contained HTML page that needs no network and can be read without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from halu_tasks.report.model.report import Report
from halu_tasks.report.page import numbers, plots
from halu_tasks.report.page.escaping import NAME, block, name, plain
from halu_tasks.report.page.highlight import marked
from halu_tasks.report.page.items import items, kinds_of, limit_of
from halu_tasks.report.page.svg import drawing
from halu_tasks.report.page.view import View

_HERE = Path(__file__).parent.parent
ACROSS = 9
"""Number of columns of figures that fit on a printed page."""


def render(report: Report) -> str:
    """Render a report as an HTML page.

    All strings in the report are untrusted: they are escaped, and invisible characters are made visible. As a second
    line of defence, the page's content security policy allows only the page's own script and no loading at all.
    """
    view = View(report)
    kinds = kinds_of(view)
    shown = items(view, kinds)
    limit = limit_of(shown)
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    with drawing():
        return (
            _environment()
            .get_template("report.html.j2")
            .render(
                report=report,
                view=view,
                items=shown,
                kinds=kinds,
                table=report.table,
                block=lambda value, left=0: block(value, limit, report.table, left),
                marked=lambda text, gold, predicted: marked(text, gold, predicted, limit, report.table),
                limit=limit,
                across=ACROSS,
                plots=plots,
                style=Markup(_file("report.css")),
                script=Markup(script),
                policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
                "base-uri 'none'; form-action 'none'",
            )
        )


def _file(name: str) -> str:
    # exactly as inlined, since the policy contains a hash of it
    return (_HERE / name).read_text("utf-8").replace("\r\n", "\n")


def _date(value: str) -> str:
    """Format an ISO 8601 time as date and time; other values are shown unchanged."""
    try:
        return datetime.fromisoformat(value).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return plain(value, NAME)


@cache
def _environment() -> Environment:
    """Create the template environment, which makes invisible characters of all strings visible and escapes them."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else plain(value),
    )
    filters: dict[str, Callable[..., Any]] = {
        "name": name,
        "plain": lambda value: plain(value, NAME),
        "line": lambda value, limit=300: name(value, limit),
        "number": numbers.number,
        "count": numbers.count,
        "percent": numbers.percent,
        "p": numbers.p_value,
        "rank": numbers.rank,
        "date": _date,
    }
    environment.filters.update(filters)
    environment.globals |= {
        "interval": numbers.interval,
        "defined_number": numbers.defined,
    }
    return environment
