"""`report`: who is better, by how much, how sure, and why: a page with its data, or tables of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from halu_tasks.cli.command import Output
from halu_tasks.cli.output import EXIT_PARTIAL, NONE, pluralize, print_json, table, warn
from halu_tasks.cli.tasks import published_table
from halu_tasks.core.extras import require_extra
from halu_tasks.text.figures import format_interval, format_needed, format_p_value

if TYPE_CHECKING:
    from halu_tasks.report.write import WrittenReport
    from halu_tasks.results.compared_paths import TaskComparisons
    from halu_tasks.results.comparison import Comparison, Tested
    from halu_tasks.results.run import Run

_COSTS = {
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
    human: Annotated[str | None, "FILE"] = None,
    pairs: bool = False,
    metric: Annotated[Sequence[str], "NAME"] = (),
    margin: Annotated[float | None, click.FloatRange(0, min_open=True), "DIFFERENCE"] = None,
    json: bool = False,
) -> int:
    """Write an HTML page, a Markdown table and a JSON file about results of any kind, or print how pairs compare.

    Args:
        results: an lm-eval folder or results file, an Inspect log, the output of `score --json`, or a folder of any of
            these
        output: where to write
        title: the heading of the page
        human: people's labels of judged replies (halu-tasks label verdicts), by which judged rates are corrected
        pairs: print figures, differences and tests instead: the first result is compared with each of the others
        metric: for --pairs, a metric to compare instead of the headline metric
        margin: also test whether differences are smaller than this, such as 0.02 for two points: equal instead of open
        json: for --pairs, print one JSON object instead of tables
    """
    if pairs:
        return _print_pairs(results, metric, margin, json=json)
    require_extra("report", "halu-tasks report")
    from halu_tasks.report.write import write_report

    written = write_report(results, output.expanduser(), title, warn, human=human, margin=margin)
    print(f"{summary(written)}; in the same folder: {', '.join(written.others)}")
    return EXIT_PARTIAL if written.incomplete else 0


def summary(written: WrittenReport) -> str:
    """Return the page of a report, and what it contains."""
    contents = [pluralize(written.entries, "entry", "entries"), pluralize(written.tasks, "task", "tasks")]
    contents += [pluralize(written.apart, "column", "columns") + " apart"] if written.apart else []
    contents += [f"{written.skipped} not read"] if written.skipped else []
    return f"{written.page}: {', '.join(contents)}"


def _print_pairs(results: Sequence[str], metrics: Sequence[str], margin: float | None, *, json: bool) -> int:
    """Compare results, and print the figures and tests; return the exit status."""
    from halu_tasks.results.compared_paths import TaskComparisons, compare_paths, comparison_as_json

    compared, incomplete = compare_paths(results, metrics, warn, margin)
    if json:
        print_json(compared.as_json() if isinstance(compared, TaskComparisons) else comparison_as_json(compared))
    else:
        print(_task_tables(compared) if isinstance(compared, TaskComparisons) else comparison_tables(compared))
    return EXIT_PARTIAL if incomplete else 0


def comparison_tables(comparison: Comparison) -> str:
    """Format a comparison of all runs of a task: the runs, their differences from the first one, published figures."""
    first = comparison.runs[0]
    common = [tag for tag in first.version_tags if all(tag in run.version_tags for run in comparison.runs)]
    all_items = first.provenance.items * first.epochs
    items = f"{len(first.scores):,} items" + (f" of {all_items:,}" if len(first.scores) < all_items else "")
    head = f"{first.task} {'-'.join([first.task_version, *common])}  scoring: {first.scoring}"
    rows = [
        {"runs": f"{tested.run} - {tested.minus}", "metric": tested.test.metric, **cells}
        for tested, cells in zip(comparison.tested, _tests(comparison.tested, comparison.margin), strict=True)
    ]
    parts = [f"{head}  data: {first.provenance.data}  {items}", table(_runs(comparison)), table(rows)]
    parts.append("\n".join(f"run {number}: {run.source}" for number, run in enumerate(comparison.runs, 1)))
    parts += comparison.notes
    if comparison.published:
        parts += [
            "published, with other models and other prompts, for orientation:",
            published_table(comparison.published),
        ]
    return "\n\n".join(filter(None, parts))


def _task_tables(compared: TaskComparisons) -> str:
    """Format comparisons task by task: a table for each two sides."""
    margin = compared.comparisons[0].margin if compared.comparisons else None
    cells = iter(_tests([tested for comparison in compared.comparisons for tested in comparison.tested], margin))
    parts = []
    for names, comparisons in compared.by_sides.items():
        rows = []
        for comparison in comparisons:
            run = comparison.runs[0]
            for tested in comparison.tested:
                figures = [estimates[tested.test.metric].value for estimates in comparison.figures]
                labels = {"task": run.task, "scoring": run.scoring, "data": run.provenance.data}
                rows.append({**labels, "metric": tested.test.metric, "1": figures[0], "2": figures[1], **next(cells)})
        sides = [_side(number, name, comparisons) for number, name in enumerate(names, 1)]
        parts.append("\n".join(sides) + "\n\n" + table(rows))
    parts.append("differences are 2 - 1; adjusted p: 5% for any false claim among all of them")
    parts += [f"{comparison.runs[0].task}: {note}" for comparison in compared.comparisons for note in comparison.notes]
    return "\n\n".join([*parts, *compared.apart])


def _side(number: int, name: str, comparisons: Sequence[Comparison]) -> str:
    """Describe a side: its models, and its name if that is another one."""
    models = dict.fromkeys(_model_and_method(comparison.runs[number - 1]) for comparison in comparisons)
    text = ", ".join(models)
    return f"{number}: {name if name == text else f'{text} ({name})'}"


def _model_and_method(run: Run) -> str:
    from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN

    return run.model if run.method in (PLAIN, METHOD_UNKNOWN) else f"{run.model}, {run.method}"


def _runs(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a row for each run: what it is, its figures, costs, items and replies without an answer."""
    from halu_tasks.scorers.answer import NO_ANSWER

    rows = []
    for number, run in enumerate(comparison.runs, 1):
        row: dict[str, Any] = {
            "run": str(number),
            "method": run.method,
            "model": run.model,
            "roles": ", ".join(f"{role}={model}" for role, model in run.roles.items()),
            "settings": ", ".join(comparison.settings[number - 1]),
        }
        for name in comparison.metrics:
            estimate = comparison.figures[number - 1].get(name)
            row[name] = estimate.value if estimate else NONE
            row[f"{name}, 95% interval"] = (
                format_interval(estimate.low, estimate.high, ".4f", NONE) if estimate else NONE
            )
        cost = comparison.costs[number - 1]
        if any(comparison.costs):
            row |= {
                head: f"{cost[name]:,.{name == 'wall_seconds':d}f}" if cost else NONE for name, head in _COSTS.items()
            }
        row |= {"n": len(run.scores)}
        row |= {outcome: run.unanswered[outcome] or None for outcome in NO_ANSWER if outcome not in comparison.metrics}
        rows.append(row)
    return rows


def _tests(differences: Sequence[Tested], margin: float | None) -> list[dict[str, Any]]:
    """Return the cells of differences, whose p values are adjusted for all of them."""
    from halu_tasks.results.paired_test import adjusted, verdict

    tests = [tested.test for tested in differences]
    rows = []
    for test, p in zip(tests, adjusted(tests), strict=True):
        paired, needed = test.paired, test.items_needed
        row = {
            "difference": f"{paired.value:+.4f}",
            "95% interval": format_interval(paired.low, paired.high, "+.4f", NONE),
            "p": _p(paired.p),
            "adjusted p": _p(p.p),
            "only it right": NONE if test.only_first is None else test.only_first,
            "only the other": NONE if test.only_second is None else test.only_second,
            "McNemar p": _p(test.mcnemar.p if test.mcnemar else None),
            "items": paired.items,
            "clusters": paired.clusters,
            "items needed": format_needed(needed.items, needed.low, needed.high) if needed else NONE,
            "in clusters": needed.clusters if needed else NONE,
        }
        if margin is not None:
            row |= {f"p ±{margin:g}": _p(p.p_equal), f"within ±{margin:g}": verdict(test, p)}
        rows.append(row)
    return rows


def _p(p: float | None) -> str:
    return format_p_value(p, digits=4, missing=NONE)
