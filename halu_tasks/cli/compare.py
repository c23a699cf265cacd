"""`halu-tasks compare`: results beside each other, task by task, with paired differences and tests."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from halu_tasks.cli import DONE_IN_PART
from halu_tasks.cli.published import report as published_report
from halu_tasks.cli.tables import NONE, table
from halu_tasks.errors import DataError, UsageError
from halu_tasks.results.comparability import not_paired
from halu_tasks.results.comparison import Comparison, Tested, compare, tested_as_json
from halu_tasks.results.entry import Entry, labels_of
from halu_tasks.results.paired_test import corrected
from halu_tasks.results.readers.read import read_results
from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.text.figures import format_interval, format_p_value

COSTS = {
    "calls": "calls",
    "cached_calls": "cached",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "wall_seconds": "seconds",
}
"""Columns of the first table, by the name of what they show."""

TESTS = ("difference", "95% interval", "p", "p (Holm)", "only it right", "only the other", "McNemar p", "p (Holm)")


def run(arguments: argparse.Namespace) -> int:
    read = [runs_in(path) for path in arguments.results]
    found = [side for side, _ in read]
    runs = [run for side in found for run in side]
    status = DONE_IN_PART if any(lost for _, lost in read) else 0
    if empty := [path for path, side in zip(arguments.results, found, strict=True) if not side]:
        raise DataError(f"{empty[0]}: holds no result of this package that can be read")
    if len(runs) < 2:
        raise UsageError("a comparison is of two results or more; name another, or a folder that holds several")
    seen: dict[object, str] = {}
    for one in runs:
        if one.identity in seen:
            raise UsageError(f"the run in {one.source} is named twice (also in {seen[one.identity]})")
        seen[one.identity] = one.source
    if len({(run.task, run.scoring) for run in runs}) == 1 or all(len(side) == 1 for side in found):
        show(compare(runs, arguments.metric), as_json=arguments.json)
        return status
    named = list(zip(arguments.results, found, strict=True))
    if len(named) == 1:
        entries = _by_entry(runs)
        labels = labels_of(entries)
        named = [(labels[entry], own) for entry, own in entries.items()]
        if len(named) == 1:
            raise UsageError(f"{arguments.results[0]} holds one result a task; name another file or folder")
    names = [name for name, _ in named]
    compared, apart = _task_by_task([_by_task(name, side) for name, side in named], names, arguments.metric)
    if arguments.json:
        every = [own for pair in compared.values() for own in pair]
        differences = iter(tested_as_json([tested for own in every for tested in own.tested]))
        told = [own.as_json() | {"differences": [next(differences) for _ in own.tested]} for own in every]
        print(json.dumps({"comparisons": told, "apart": apart}, ensure_ascii=False, indent=2))
    else:
        print(tasks_report(compared, apart))
    return DONE_IN_PART if apart else status


Kind = tuple[str, str]
"""A task and the mode that it is scored in."""


def runs_in(path: str) -> tuple[list[Run], bool]:
    """The runs of a file or of all files in a folder, there with those of the plain prompt first, and whether some
    are missing.

    Raises:
        DataError: what was named cannot be read. What cannot be read in a folder is told on standard error.
    """
    runs, skipped = read_results([path])
    for own in skipped:
        if Path(path).expanduser().is_file():
            raise DataError(f"{own.source}: {own.why}")
        print(f"halu-tasks: not read: {own.source}: {own.why}", file=sys.stderr)
    ordered = sorted(runs, key=lambda run: (run.method not in (PLAIN, METHOD_UNKNOWN), run.created))
    return ordered, any(own.lost for own in skipped)


def _by_entry(runs: Sequence[Run]) -> dict[Entry, list[Run]]:
    found: dict[Entry, list[Run]] = {}
    for run in runs:
        found.setdefault(Entry.of(run), []).append(run)
    return found


def _by_task(name: str, runs: Sequence[Run]) -> dict[Kind, Run]:
    found: dict[Kind, Run] = {}
    for run in runs:
        if other := found.get((run.task, run.scoring)):
            told = f"{other.source} and {run.source}"
            raise DataError(f"{name} holds several runs of {run.task} ({told}); name the files to compare")
        found[run.task, run.scoring] = run
    return found


def _task_by_task(
    sides: Sequence[dict[Kind, Run]], names: Sequence[str], metrics: Sequence[str]
) -> tuple[dict[tuple[str, str], list[Comparison]], list[str]]:
    """The comparisons of the first side with each of the others, by the names of both, and what does not compare."""
    first, *others = sides
    compared: dict[tuple[str, str], list[Comparison]] = {}
    apart = []
    for name, other in zip(names[1:], others, strict=True):
        for kind in dict.fromkeys([*first, *other]):
            told = f"{kind[0]} ({kind[1]})"
            if kind not in first or kind not in other:
                there, lacks = (names[0], name) if kind in first else (name, names[0])
                apart.append(f"{told}: in {there}, not in {lacks}")
            elif why := not_paired(first[kind], other[kind]):
                sources = f"{other[kind].source} does not compare with {first[kind].source}"
                apart.append(f"{told}: {sources}: {'; '.join(f'it {unlike}' for unlike in why)}")
            else:
                compared.setdefault((names[0], name), []).append(compare([first[kind], other[kind]], metrics))
    if not compared:
        raise DataError(f"nothing compares: {'; '.join(apart)}")
    return compared, apart


def show(compared: Comparison, *, as_json: bool) -> None:
    """Print a comparison."""
    if as_json:
        told = compared.as_json() | {"differences": tested_as_json(compared.tested)}
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        print(report(compared))


def report(compared: Comparison) -> str:
    """The tables for people: the runs, their differences from the first one, and what papers print."""
    first = compared.runs[0]
    common = [mark for mark in first.version_tags if all(mark in run.version_tags for run in compared.runs)]
    whole = first.provenance.items * first.epochs
    items = f"{len(first.scores):,} items" + (f" of {whole:,}" if len(first.scores) < whole else "")
    head = f"{first.task} {'-'.join([first.task_version, *common])}  scoring: {first.scoring}"
    parts = [f"{head}  data: {first.provenance.data}  {items}", _runs(compared)]
    if compared.tested:
        rows = [
            [f"{tested.run} - {tested.minus}", tested.test.metric, *cells]
            for tested, cells in zip(compared.tested, _tests(compared.tested), strict=True)
        ]
        parts.append(_tests_table(["runs", "metric"], rows))
    parts.append("\n".join(f"run {number}: {run.source}" for number, run in enumerate(compared.runs, 1)))
    parts += compared.notes
    if compared.published:
        told = "published: other models and other prompts, for orientation, no runs to compare with"
        parts.append(f"{told}\n\n{published_report(compared.published)}")
    return "\n\n".join(parts)


def tasks_report(compared: Mapping[tuple[str, str], Sequence[Comparison]], apart: Sequence[str]) -> str:
    """The tables for people about several tasks: one for each two sides, by their names."""
    tests = iter(_tests([tested for pair in compared.values() for own in pair for tested in own.tested]))
    parts = []
    for (first, other), pair in compared.items():
        models = [", ".join(dict.fromkeys(_named(own.runs[i]) for own in pair)) for i in (0, 1)]
        rows = []
        for own in pair:
            run = own.runs[0]
            for tested in own.tested:
                figures = [figure[tested.test.metric].value for figure in own.figures]
                told = [run.task, run.scoring, run.provenance.data, tested.test.metric]
                rows.append([*told, *(f"{figure:.4f}" for figure in figures), *next(tests)])
        sides = (
            f"{i}: {name if name == model else f'{model} ({name})'}"
            for i, name, model in zip((1, 2), (first, other), models, strict=True)
        )
        parts.append("\n".join(sides) + "\n\n" + _tests_table(["task", "scoring", "data", "metric", "1", "2"], rows))
    parts.append("differences are 2 - 1; p (Holm) is corrected over all of them")
    parts += [f"{own.runs[0].task}: {note}" for pair in compared.values() for own in pair for note in own.notes]
    return "\n\n".join([*parts, *apart])


def _named(run: Run) -> str:
    return run.model if run.method in (PLAIN, METHOD_UNKNOWN) else f"{run.model}, {run.method}"


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
            interval = format_interval(found.low, found.high, ".4f", NONE) if found else NONE
            row += [f"{found.value:.4f}" if found else NONE, interval]
    costs = COSTS if any(compared.costs) else {}
    counted = {name for run in compared.runs for name, number in run.unanswered.items() if number}
    without = [outcome for outcome in NO_ANSWER if outcome in counted and outcome not in compared.metrics]
    head += [*costs.values(), "n", *without]
    for row, run, cost in zip(rows, compared.runs, compared.costs, strict=True):
        shown = [f"{cost[name]:,.{name == 'wall_seconds':d}f}" if cost else NONE for name in costs]
        row += [*shown, f"{len(run.scores):,}", *(f"{run.unanswered[outcome]:,}" for outcome in without)]
    return table(head, rows, right=range(left, len(head)))


def _tests(tested: Sequence[Tested]) -> list[list[str]]:
    """The cells of TESTS, and items and items needed."""
    tests = [one.test for one in tested]
    rows = []
    for test, (p, exact_p) in zip(tests, corrected(tests), strict=True):
        paired = test.paired
        rows.append(
            [
                f"{paired.value:+.4f}",
                format_interval(paired.low, paired.high, "+.4f", NONE),
                _p(paired.p),
                _p(p),
                NONE if test.only_first is None else f"{test.only_first:,}",
                NONE if test.only_second is None else f"{test.only_second:,}",
                _p(test.mcnemar.p if test.mcnemar else None),
                _p(exact_p),
                f"{paired.items:,}",
                f"{test.items_needed:,}" if test.items_needed else NONE,
            ]
        )
    return rows


def _tests_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    whole = [*head, *TESTS, "items", "items needed"]
    return table(whole, rows, right=range(len(head), len(whole)))


def _p(value: float | None) -> str:
    return format_p_value(value, 4, NONE)
