"""`halu-tasks compare`: results next to each other, task by task, with paired differences and tests."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_comparison_arguments
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import NONE, table
from halu_tasks.text.figures import format_estimate, format_needed, format_p_value

if TYPE_CHECKING:
    from halu_tasks.report.records import Report, ReportColumn

HELP = "compare results: figures, differences and tests"

COSTS = {
    "calls": "calls",
    "cached_calls": "cached",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "wall_seconds": "seconds",
}
"""Headings of the columns of costs, by name of the cost."""
PAIRS = (*("task", "metric", "first", "second", "first - second", "p", "adjusted p", "better"),
         *("items", "clusters", "items needed"))  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    about = "a result as for report, or a folder of results; all of them are compared with each other"
    parser.add_argument("results", metavar="RESULTS", nargs="+", help=about)
    add_comparison_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare the results, and print the figures and tests."""
    from halu_tasks.report.write import compare_paths

    report, incomplete = compare_paths(arguments.results, arguments.metric, warn, arguments.margin)
    show(report, arguments.metric, as_json=arguments.json)
    return EXIT_PARTIAL if incomplete else 0


def show(report: Report, metrics: Sequence[str], *, as_json: bool) -> None:
    """Print a comparison."""
    if as_json:
        print_json(report.as_json())
    else:
        print("\n\n".join(_parts(report, metrics)))


def _parts(report: Report, metrics: Sequence[str]) -> Iterator[str]:
    """Format the figures of each task, and all differences."""
    for column in report.columns:
        condition = column.condition
        n, of = report.items_answered(column)
        items = f"{n:,} items" + (f" of {of:,}" if n < of else "")
        head = "-".join([condition.version, *condition.marks])
        yield f"{column.task} {head}  scoring: {column.scoring}  data: {column.data}  {items}"
        yield _figures(report, column, list(dict.fromkeys(metrics or (column.metric, column.compared_by))))
        yield from column.notes
        if column.why:
            yield f"not compared with the others of this task: {column.why}"
    if report.comparison.pairs:
        yield table(PAIRS, list(_pairs(report)), right=range(4, len(PAIRS)))
        yield report.comparison.rule
    yield from report.remarks.notes
    if published := [
        f"{one.model}: {one.metric} {one.value:g} ({one.method}; {one.source})"
        for one in report.published
        if one.headline or one.metric in metrics
    ]:
        yield "published, with other models and other prompts, for orientation:\n" + "\n".join(published)


def _figures(report: Report, column: ReportColumn, metrics: Sequence[str]) -> str:
    results = {
        entry: report.by_cell[entry, column.id] for entry in report.labels if (entry, column.id) in report.by_cell
    }
    costs = COSTS if any(result.cost for result in results.values()) else {}
    outcomes = ("unparsed", "abstained", "empty")
    shown = [name for name in outcomes if any(getattr(result.replies, name) for result in results.values())]
    rows = []
    for entry, result in results.items():
        cost = result.cost or {}
        row = [report.labels[entry], *(format_estimate(result.metrics.get(name), ".4f", NONE) for name in metrics)]
        row += [f"{cost[name]:,}" if name in cost else NONE for name in costs]
        row += [f"{result.replies.n:,}", *(f"{getattr(result.replies, name):,}" for name in shown)]
        rows.append(row)
    head = ["model", *(f"{name}, 95% interval" for name in metrics), *costs.values(), "n", *shown]
    return table(head, rows, right=range(1, len(head)))


def _pairs(report: Report) -> Iterator[list[str]]:
    for pair in report.comparison.pairs:
        difference, needed = pair.difference, pair.items_needed
        claims = [report.labels[pair.better]] if pair.better else []
        claims += ["equal"] if pair.equal else []
        yield [
            report.places[pair.place].title,
            pair.metric,
            report.labels[pair.first],
            report.labels[pair.second],
            format_estimate(difference, "+.4f", NONE),
            format_p_value(difference.p, digits=4, missing=NONE),
            format_p_value(pair.p_adjusted, digits=4, missing=NONE),
            ", ".join(claims) or "open",
            f"{difference.items:,}",
            f"{difference.clusters:,}",
            format_needed(needed.items, needed.low, needed.high) if needed else NONE,
        ]
