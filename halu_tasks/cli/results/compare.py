"""`halu-tasks compare`: results next to each other, task by task, with paired differences and tests."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_comparison_arguments
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.results.published import report as published_report
from halu_tasks.cli.tables import NONE, table
from halu_tasks.text.figures import format_interval, format_needed, format_p_value

if TYPE_CHECKING:
    from halu_tasks.results.compared_paths import TaskComparisons
    from halu_tasks.results.comparison import Comparison, Tested
    from halu_tasks.results.run import Run

HELP = "compare results: figures, differences and tests"

COSTS = {
    "calls": "calls",
    "cached_calls": "cached",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "wall_seconds": "seconds",
}
"""Headings of the columns of costs, by name of the cost."""

TESTS = ("difference", "95% interval", "p", "adjusted p", "only it right", "only the other", "McNemar p")
ITEMS = ("items", "clusters", "items needed", "in clusters")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    about = "a result as for report, or a folder of results; the first one is compared with each of the others"
    parser.add_argument("results", metavar="RESULTS", nargs="+", help=about)
    add_comparison_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare the results, and print the figures and tests."""
    from halu_tasks.results.compared_paths import TaskComparisons, compare_paths

    compared, incomplete = compare_paths(arguments.results, arguments.metric, warn, arguments.margin)
    if not isinstance(compared, TaskComparisons):
        show(compared, as_json=arguments.json)
    elif arguments.json:
        print_json(compared.as_json())
    else:
        print(tasks_report(compared))
    return EXIT_PARTIAL if incomplete else 0


def show(comparison: Comparison, *, as_json: bool) -> None:
    """Print a comparison of all runs of a task."""
    from halu_tasks.results.compared_paths import comparison_as_json

    if as_json:
        print_json(comparison_as_json(comparison))
    else:
        print(report(comparison))


def report(comparison: Comparison) -> str:
    """Format a comparison: the runs, their differences from the first one, and what papers print."""
    first = comparison.runs[0]
    common = [tag for tag in first.version_tags if all(tag in run.version_tags for run in comparison.runs)]
    all_items = first.provenance.items * first.epochs
    items = f"{len(first.scores):,} items" + (f" of {all_items:,}" if len(first.scores) < all_items else "")
    head = f"{first.task} {'-'.join([first.task_version, *common])}  scoring: {first.scoring}"
    parts = [f"{head}  data: {first.provenance.data}  {items}", _runs_table(comparison)]
    if comparison.tested:
        rows = [
            [f"{tested.run} - {tested.minus}", tested.test.metric, *cells]
            for tested, cells in zip(comparison.tested, _test_cells(comparison.tested), strict=True)
        ]
        parts.append(_tests_table(["runs", "metric"], rows, comparison.margin))
    parts.append("\n".join(f"run {number}: {run.source}" for number, run in enumerate(comparison.runs, 1)))
    parts += comparison.notes
    if comparison.published:
        title = "published, with other models and other prompts, for orientation:"
        parts.append(f"{title}\n\n{published_report(comparison.published)}")
    return "\n\n".join(parts)


def tasks_report(compared: TaskComparisons) -> str:
    """Format comparisons task by task: a table for each two sides."""
    cells = iter(_test_cells([tested for comparison in compared.comparisons for tested in comparison.tested]))
    parts = []
    for names, comparisons in compared.by_sides.items():
        rows = []
        for comparison in comparisons:
            run = comparison.runs[0]
            for tested in comparison.tested:
                figures = [estimates[tested.test.metric].value for estimates in comparison.figures]
                labels = [run.task, run.scoring, run.provenance.data, tested.test.metric]
                rows.append([*labels, *(f"{figure:.4f}" for figure in figures), *next(cells)])
        heading = "\n".join(_side(number, name, comparisons) for number, name in enumerate(names, 1))
        head = ["task", "scoring", "data", "metric", "1", "2"]
        parts.append(heading + "\n\n" + _tests_table(head, rows, comparisons[0].margin))
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


def _runs_table(comparison: Comparison) -> str:
    from halu_tasks.scorers.answer import NO_ANSWER

    runs = comparison.runs
    columns: dict[str, list[str]] = {
        "run": [str(number) for number in range(1, len(runs) + 1)],
        "method": [run.method for run in runs],
        "model": [run.model for run in runs],
        "roles": [", ".join(f"{role}={model}" for role, model in run.roles.items()) for run in runs],
        "settings": [", ".join(settings) for settings in comparison.settings],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    left_aligned = len(columns)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    head = [*columns]
    for name in comparison.metrics:
        head += [name, "95% interval"]
        for row, figures in zip(rows, comparison.figures, strict=True):
            estimate = figures.get(name)
            row += [
                f"{estimate.value:.4f}" if estimate else NONE,
                format_interval(estimate.low, estimate.high, ".4f", NONE) if estimate else NONE,
            ]
    costs = COSTS if any(comparison.costs) else {}
    occurring = {outcome for run in runs for outcome, count in run.unanswered.items() if count}
    outcomes = [outcome for outcome in NO_ANSWER if outcome in occurring and outcome not in comparison.metrics]
    head += [*costs.values(), "n", *outcomes]
    for row, run, cost in zip(rows, runs, comparison.costs, strict=True):
        row += [f"{cost[name]:,.{name == 'wall_seconds':d}f}" if cost else NONE for name in costs]
        row += [f"{len(run.scores):,}", *(f"{run.unanswered[outcome]:,}" for outcome in outcomes)]
    return table(head, rows, right=range(left_aligned, len(head)))


def _test_cells(differences: Sequence[Tested]) -> list[list[str]]:
    """Format the columns of `TESTS` and `ITEMS`, and the verdict."""
    from halu_tasks.results.paired_test import adjusted, verdict

    tests = [tested.test for tested in differences]
    rows = []
    for test, p in zip(tests, adjusted(tests), strict=True):
        paired, needed = test.paired, test.items_needed
        rows.append(
            [
                f"{paired.value:+.4f}",
                format_interval(paired.low, paired.high, "+.4f", NONE),
                _p(paired.p),
                _p(p.p),
                NONE if test.only_first is None else f"{test.only_first:,}",
                NONE if test.only_second is None else f"{test.only_second:,}",
                _p(test.mcnemar.p if test.mcnemar else None),
                f"{paired.items:,}",
                f"{paired.clusters:,}",
                format_needed(needed.items, needed.low, needed.high) if needed else NONE,
                f"{needed.clusters:,}" if needed else NONE,
                _p(p.p_equal),
                verdict(test, p),
            ]
        )
    return rows


def _tests_table(head: Sequence[str], rows: Sequence[Sequence[str]], margin: float | None) -> str:
    """Format a table of tests; the columns of equality are only shown with a margin."""
    columns = [*head, *TESTS, *ITEMS]
    if margin is not None:
        columns += [f"p ±{margin:g}", f"within ±{margin:g}"]
    return table(columns, [row[: len(columns)] for row in rows], right=range(len(head), len(columns)))


def _p(p: float | None) -> str:
    return format_p_value(p, digits=4, missing=NONE)
