"""Comparing the results in files and folders, one by one or task by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.results.comparability import not_paired
from halu_tasks.results.comparison import Comparison, compare, tested_as_json
from halu_tasks.results.entry import Entry, labels_of
from halu_tasks.results.readers.read import read_results
from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run

TaskMode = tuple[str, str]
"""A task and the mode that it is scored in."""


class Side(NamedTuple):
    """Results that are compared with others as one.

    Attributes:
        name: What they are called: the path that contains them, or the model as it was asked.
        runs: The runs, those of the plain prompt first.
    """

    name: str
    runs: Sequence[Run]


@dataclass(frozen=True)
class TaskComparisons:
    """Sides compared task by task.

    Attributes:
        by_sides: Comparisons of the first side with each of the others, by the names of both.
        apart: Descriptions of the results that were not compared.
    """

    by_sides: Mapping[tuple[str, str], Sequence[Comparison]]
    apart: Sequence[str]

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons."""
        return [comparison for comparisons in self.by_sides.values() for comparison in comparisons]

    def as_json(self) -> dict[str, Any]:
        """Return the comparisons as JSON values; p values are adjusted for all of them."""
        tested = [tested for comparison in self.comparisons for tested in comparison.tested]
        differences = iter(tested_as_json(tested))
        comparisons = [
            {**comparison.as_json(), "differences": [next(differences) for _ in comparison.tested]}
            for comparison in self.comparisons
        ]
        return {"comparisons": comparisons, "apart": list(self.apart)}


def comparison_as_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison and its tests as JSON values."""
    return {**comparison.as_json(), "differences": tested_as_json(comparison.tested)}


class ComparedPaths(NamedTuple):
    """The results in some paths, compared.

    Attributes:
        comparison: One comparison of all runs if they are of one task, or one run for each path; otherwise, task by
            task.
        incomplete: Whether results could not be read or were not compared.
    """

    comparison: Comparison | TaskComparisons
    incomplete: bool


def compare_paths(
    paths: Sequence[str], metrics: Sequence[str], warn: Callable[[str], None], margin: float | None = None
) -> ComparedPaths:
    """Compare the results in files and folders with those of the first one.

    Args:
        paths: Results, or folders that contain some.
        metrics: Names of metrics; the headline metric of each task if empty.
        warn: Called with a message for each file in a folder that cannot be read.
        margin: The difference below which two runs count as equal; None to test no equality.

    Raises:
        DataError: A path contains no results, or nothing can be compared.
        UsageError: There are fewer than two runs, or one of them twice.
    """
    sides, incomplete = [], False
    for path in paths:
        runs, lost = _runs_in(path, warn)
        sides.append(Side(path, runs))
        incomplete = incomplete or lost
    if empty := next((side for side in sides if not side.runs), None):
        raise DataError(f"{empty.name}: contains no results of this package that can be read")
    runs = [run for side in sides for run in side.runs]
    if len(runs) < 2:
        raise UsageError("comparing needs at least two results; name another one, or a folder that contains several")
    _check_distinct(runs)
    if len({(run.task, run.scoring) for run in runs}) == 1 or all(len(side.runs) == 1 for side in sides):
        return ComparedPaths(compare(runs, metrics, margin), incomplete)
    if len(sides) == 1:
        sides = _by_entry(runs)
        if len(sides) == 1:
            raise UsageError(f"{paths[0]} contains one result for each task; name another file or folder")
    compared = _task_by_task(sides, metrics, margin)
    return ComparedPaths(compared, incomplete or bool(compared.apart))


def _runs_in(path: str, warn: Callable[[str], None]) -> tuple[list[Run], bool]:
    """Read the runs in a file or folder, those of the plain prompt first.

    Returns:
        The runs, and whether some could not be read.

    Raises:
        DataError: The path is a file that cannot be read.
    """
    runs, skipped = read_results([path])
    for result in skipped:
        if Path(path).expanduser().is_file():
            raise DataError(f"{result.source}: {result.why}")
        warn(f"not read: {result.source}: {result.why}")
    ordered = sorted(runs, key=lambda run: (run.method not in (PLAIN, METHOD_UNKNOWN), run.created))
    return ordered, any(result.lost for result in skipped)


def _check_distinct(runs: Sequence[Run]) -> None:
    """Raise UsageError if two of the runs are the same."""
    sources: dict[object, str] = {}
    for run in runs:
        if run.identity in sources:
            raise UsageError(f"the run in {run.source} is named twice (also in {sources[run.identity]})")
        sources[run.identity] = run.source


def _by_entry(runs: Sequence[Run]) -> list[Side]:
    """Divide runs by the models as they were asked."""
    by_entry: dict[Entry, list[Run]] = {}
    for run in runs:
        by_entry.setdefault(Entry.of(run), []).append(run)
    labels = labels_of(by_entry)
    return [Side(labels[entry], runs) for entry, runs in by_entry.items()]


def _by_task(side: Side) -> dict[TaskMode, Run]:
    by_task: dict[TaskMode, Run] = {}
    for run in side.runs:
        if other := by_task.get((run.task, run.scoring)):
            sources = f"{other.source} and {run.source}"
            raise DataError(f"{side.name} contains several runs of {run.task} ({sources}); name the files to compare")
        by_task[run.task, run.scoring] = run
    return by_task


def _task_by_task(sides: Sequence[Side], metrics: Sequence[str], margin: float | None) -> TaskComparisons:
    """Compare the first side with each of the others."""
    (first, first_runs), *others = [(side.name, _by_task(side)) for side in sides]
    by_sides: dict[tuple[str, str], list[Comparison]] = {}
    apart = []
    for name, runs in others:
        for key in dict.fromkeys([*first_runs, *runs]):
            task = f"{key[0]} ({key[1]})"
            if key not in first_runs or key not in runs:
                present, absent = (first, name) if key in first_runs else (name, first)
                apart.append(f"{task}: in {present}, not in {absent}")
            elif why := not_paired(first_runs[key], runs[key]):
                sources = f"{runs[key].source} cannot be compared with {first_runs[key].source}"
                apart.append(f"{task}: {sources}: {'; '.join(f'it {unlike}' for unlike in why)}")
            else:
                comparison = compare([first_runs[key], runs[key]], metrics, margin)
                by_sides.setdefault((first, name), []).append(comparison)
    if not by_sides:
        raise DataError(f"nothing can be compared: {'; '.join(apart)}")
    return TaskComparisons(by_sides, apart)
