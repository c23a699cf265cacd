"""`report`: who is better, by how much, how sure, and why: a page with its data, or tables of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from halu_tasks.cli.command import Output
from halu_tasks.cli.output import EXIT_PARTIAL, NONE, pluralize, print_json, table, warn
from halu_tasks.text.figures import format_estimate, format_needed, format_p_value

if TYPE_CHECKING:
    from halu_tasks.report.records import Report, ReportColumn
    from halu_tasks.report.write import WrittenReport

COSTS = {
    "calls": "calls",
    "cached_calls": "cached",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "wall_seconds": "seconds",
}
"""Headings of the columns of costs, by name of the cost."""


def report(
    results: Sequence[str],
    *,
    output: Output = Path("report"),
    title: str = "Hallucination benchmarks",
    reference: Annotated[str | None, "FILE"] = None,
    pairs: bool = False,
    metric: Annotated[Sequence[str], "NAME"] = (),
    margin: Annotated[float | None, click.FloatRange(0, min_open=True), "DIFFERENCE"] = None,
    json: bool = False,
) -> int:
    """Write an HTML page, a Markdown table and a JSON file about results of any kind, or print all pairs.

    Args:
        results: an lm-eval folder or results file, an Inspect log, the output of `score --json`, or a folder of any of
            these
        output: where to write
        title: the heading of the page
        reference: better labels of judged replies (halu-tasks label verdicts), by which judged rates are corrected
        pairs: print figures, differences and tests of all pairs instead
        metric: for --pairs, a metric to compare instead of the headline metric
        margin: also test whether differences are smaller than this, such as 0.02 for two points: equal instead of open
        json: for --pairs, print one JSON object instead of tables
    """
    if pairs:
        from halu_tasks.report.write import compare_paths

        compared, incomplete = compare_paths(results, metric, warn, margin)
        print_pairs(compared, metric, json=json)
        return EXIT_PARTIAL if incomplete else 0
    from halu_tasks.report.write import write_report

    written = write_report(results, output.expanduser(), title, warn, reference=reference, margin=margin)
    print(f"{summary(written)}; in the same folder: {', '.join(written.others)}")
    return EXIT_PARTIAL if written.incomplete else 0


def summary(written: WrittenReport) -> str:
    """Return the page of a report, and what it contains."""
    contents = [pluralize(written.entries, "entry", "entries"), pluralize(written.tasks, "task", "tasks")]
    contents += [pluralize(written.apart, "column", "columns") + " apart"] if written.apart else []
    contents += [f"{written.skipped} not read"] if written.skipped else []
    return f"{written.page}: {', '.join(contents)}"


def print_pairs(report: Report, metrics: Sequence[str], *, json: bool) -> None:
    """Print the figures of each task and all differences between entries."""
    if json:
        print_json(report.as_json())
    else:
        print("\n\n".join(_parts(report, metrics)))


def _parts(report: Report, metrics: Sequence[str]) -> Iterator[str]:
    for column in report.columns:
        condition = column.condition
        n, of = report.items_answered(column)
        items = f"{n:,} items" + (f" of {of:,}" if n < of else "")
        head = "-".join([condition.version, *condition.marks])
        yield f"{column.task} {head}  scoring: {column.scoring}  data: {column.data}  {items}"
        yield table(list(_figures(report, column, list(dict.fromkeys(metrics or (column.metric, column.compared_by))))))
        yield from column.notes
        if column.why:
            yield f"not compared with the others of this task: {column.why}"
    if report.comparison.pairs:
        yield table(list(_pairs(report)))
        yield report.comparison.rule
    yield from report.remarks.notes
    if published := [
        f"{one['model']}: {one['metric']} {one['value']:g} ({one['method']}; {one['source']})"
        for one in report.published
        if one["headline"] or one["metric"] in metrics
    ]:
        yield "published, with other models and other prompts, for orientation:\n" + "\n".join(published)


def _figures(report: Report, column: ReportColumn, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    results = {
        entry: report.by_cell[entry, column.id] for entry in report.labels if (entry, column.id) in report.by_cell
    }
    costs = COSTS if any(result.cost for result in results.values()) else {}
    outcomes = ("unparsed", "abstained", "empty")
    shown = [name for name in outcomes if any(getattr(result, name) for result in results.values())]
    for entry, result in results.items():
        cost = result.cost or {}
        yield {
            "model": report.labels[entry],
            **{f"{name}, 95% interval": format_estimate(result.metrics.get(name), ".4f", NONE) for name in metrics},
            **{heading: _cost(cost.get(name)) for name, heading in costs.items()},
            "n": result.n,
            **{name: getattr(result, name) for name in shown},
        }


def _cost(number: float | None) -> float | str | None:
    return f"{number:,.1f}" if isinstance(number, float) else number


def _pairs(report: Report) -> Iterator[dict[str, Any]]:
    for pair in report.comparison.pairs:
        difference, needed = pair.difference, pair.items_needed
        claims = [report.labels[pair.better]] if pair.better else []
        claims += ["equal"] if pair.equal else []
        yield {
            "task": report.places[pair.place].title,
            "metric": pair.metric,
            "first": report.labels[pair.first],
            "second": report.labels[pair.second],
            "first - second": format_estimate(difference, "+.4f", NONE),
            "p": format_p_value(difference.p, digits=4, missing=NONE),
            "adjusted p": format_p_value(pair.p_adjusted, digits=4, missing=NONE),
            "better": ", ".join(claims) or "open",
            "items": difference.items,
            "clusters": difference.clusters,
            "items needed": format_needed(needed.items, needed.low, needed.high) if needed else NONE,
        }
