"""`halu-tasks compare`: finished logs of one task beside each other, with paired differences."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from halu_tasks.cli.published import report as published_report
from halu_tasks.cli.tables import table
from halu_tasks.comparison import Comparison, compare
from halu_tasks.errors import UsageError
from halu_tasks.inspect_logs import PLAIN, Run, find_logs, read_run
from halu_tasks.scorers.metrics import Estimate

COSTS = {
    "calls": "calls",
    "cached_calls": "cached",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "wall_seconds": "seconds",
}
"""Columns of the first table, by the name of what they show."""

NONE = "-"


def run(arguments: argparse.Namespace) -> None:
    runs = [run for path in arguments.logs for run in runs_in(path)]
    if len(runs) < 2:
        raise UsageError("a comparison is of two logs or more; name another, or a folder that holds several")
    paths = [Path(run.log).resolve() for run in runs]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"log {twice} is named twice")
    show(compare(runs, arguments.metric), as_json=arguments.json)


def runs_in(path: str) -> list[Run]:
    """The runs of a log or of a folder of logs, there with those of the plain prompt first."""
    return sorted((read_run(log) for log in find_logs(path)), key=lambda run: (run.method != PLAIN, run.created))


def show(compared: Comparison, *, as_json: bool) -> None:
    """Print a comparison."""
    if as_json:
        print(json.dumps(compared.as_json(), ensure_ascii=False, indent=2))
    else:
        print(report(compared))


def report(compared: Comparison) -> str:
    """The tables for people: the runs, their differences from the first one, and what papers print."""
    first = compared.runs[0]
    common = [mark for mark in first.marks if all(mark in run.marks for run in compared.runs)]
    whole = first.provenance["items"] * first.epochs
    items = f"{len(first.scores):,} items" + (f" of {whole:,}" if len(first.scores) < whole else "")
    head = f"{first.task} {'-'.join([first.task_version, *common])}  scoring: {first.scoring}"
    parts = [f"{head}  data: {first.provenance['data']}  {items}", _runs(compared)]
    if compared.differences:
        parts.append(_differences(compared))
    parts.append("\n".join(f"run {number}: {run.log}" for number, run in enumerate(compared.runs, 1)))
    if compared.published:
        told = "published: other models and other prompts, for orientation, no runs to compare with"
        parts.append(f"{told}\n\n{published_report(compared.published)}")
    return "\n\n".join(parts)


def _runs(compared: Comparison) -> str:
    columns: dict[str, list[str]] = {
        "run": [str(number) for number in range(1, len(compared.runs) + 1)],
        "method": [run.method for run in compared.runs],
        "model": [run.model for run in compared.runs],
        "roles": [", ".join(f"{role}={model}" for role, model in run.roles.items()) for run in compared.runs],
        "settings": [", ".join(own) for own in compared.settings],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    left = len(columns)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    head = [*columns]
    for name in compared.metrics:
        head += [name, "95% interval"]
        for row, figures in zip(rows, compared.figures, strict=True):
            found = figures.get(name)
            row += [f"{found.value:.4f}" if found else NONE, _interval(found, "{:.4f}")]
    head += [*COSTS.values(), "n"]
    for row, run, cost in zip(rows, compared.runs, compared.costs, strict=True):
        shown = [f"{cost[name]:,.{name == 'wall_seconds':d}f}" if cost else NONE for name in COSTS]
        row += [*shown, f"{len(run.scores):,}"]
    return table(head, rows, right=range(left, len(head)))


def _differences(compared: Comparison) -> str:
    rows = [
        [
            f"{number} - 1",
            name,
            f"{found.value:+.4f}" if found else NONE,
            _interval(Estimate(*found[:4]) if found else None, "{:+.4f}"),
            f"{found.items:,}" if found else NONE,
        ]
        for number, own in enumerate(compared.differences, 2)
        for name in compared.metrics
        for found in [own.get(name)]
    ]
    return table(["runs", "metric", "difference", "95% interval", "items"], rows, right=(2, 3, 4))


def _interval(found: Estimate | None, form: str) -> str:
    if found is None or found.low is None or found.high is None:
        return NONE
    return f"[{form.format(found.low)}, {form.format(found.high)}]"
