"""`report`: who is better, by how much, how sure, and why: a page with its data, or tables of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from halu_tasks.cli.command import Output
from halu_tasks.cli.output import EXIT_PARTIAL, NONE, pluralize, print_json, table, warn
from halu_tasks.core.extras import require_extra
from halu_tasks.text.figures import format_interval, format_needed, format_p_value

if TYPE_CHECKING:
    from halu_tasks.report.write import WrittenReport
    from halu_tasks.results.comparison import Comparison, Tested


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
    elif isinstance(compared, TaskComparisons):
        notes = [f"{c.runs[0].task}: {note}" for c in compared.comparisons for note in c.notes]
        print("\n\n".join([*_tables(compared.by_sides.items()), *notes, *compared.apart]))
    else:
        print("\n\n".join([*_tables([((), [compared])]), *compared.notes]))
    return EXIT_PARTIAL if incomplete else 0


def _tables(groups: Iterable[tuple[Sequence[str], Sequence[Comparison]]]) -> Iterator[str]:
    """Format groups of comparisons, each of the same sides: what is compared, and a table of differences."""
    from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN

    groups = list(groups)
    compared = [(c, tested) for _, comparisons in groups for c in comparisons for tested in c.tested]
    cells = iter(_cells([tested for _, tested in compared], compared[0][0].margin if compared else None))
    for names, comparisons in groups:
        rows = []
        for comparison in comparisons:
            for tested in comparison.tested:
                run = comparison.runs[0]
                figures = [comparison.figures[number - 1] for number in (tested.minus, tested.run)]
                first, second = (estimates[tested.test.metric].value for estimates in figures)
                rows.append(
                    {
                        "task": run.task,
                        "scoring": run.scoring,
                        "data": run.provenance.data,
                        "metric": tested.test.metric,
                        "runs": f"{tested.run} - {tested.minus}",
                        "first": second,
                        "second": first,
                        **next(cells),
                    }
                )
        runs = comparisons[0].runs
        places = names or [run.source for run in runs]
        models = [run.model if run.method in (PLAIN, METHOD_UNKNOWN) else f"{run.model}, {run.method}" for run in runs]
        sides = [f"{n}: {model} ({place})" for n, (model, place) in enumerate(zip(models, places, strict=True), 1)]
        yield "\n".join(sides) + "\n\n" + table(rows)
    yield "adjusted p: 5% for any false claim among all differences"


def _cells(differences: Sequence[Tested], margin: float | None) -> Iterator[dict[str, Any]]:
    """Return the cells of differences, whose p values are adjusted for all of them."""
    from halu_tasks.results.paired_test import adjusted, verdict

    tests = [tested.test for tested in differences]
    for test, p in zip(tests, adjusted(tests), strict=True):
        paired, needed = test.paired, test.items_needed
        row = {
            "difference": f"{paired.value:+.4f}",
            "95% interval": format_interval(paired.low, paired.high, "+.4f", NONE),
            "p": _p(paired.p),
            "adjusted p": _p(p.p),
            "items": paired.items,
            "clusters": paired.clusters,
            "items needed": format_needed(needed.items, needed.low, needed.high) if needed else NONE,
        }
        if margin is not None:
            row |= {f"p ±{margin:g}": _p(p.p_equal), f"within ±{margin:g}": verdict(test, p)}
        yield row


def _p(p: float | None) -> str:
    return format_p_value(p, digits=4, missing=NONE)
