"""Exporting all results in some files and folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from halu_tasks.builders.workflow.describe import build_folder
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError, did_you_mean
from halu_tasks.exports.benchmark import write_benchmark
from halu_tasks.exports.community_evals import Target, entry_of, write_entries
from halu_tasks.exports.every_eval_ever import Publisher, write_run
from halu_tasks.exports.exported import Exported
from halu_tasks.results.readers.read import read_results

Warn = Callable[[str], None]
"""Prints a message for the user."""


class Outcome(NamedTuple):
    """What became of an export.

    Attributes:
        files: The files that were written, or were there before with the same content.
        notes: A line for each file about what it lacks; empty if it lacks nothing.
        incomplete: Whether results could not be read or exported.
    """

    files: Sequence[Path]
    notes: Sequence[str]
    incomplete: bool


class _Runs(NamedTuple):
    runs: Sequence[Exported]
    incomplete: bool


def export_eee(
    paths: Sequence[str], folder: Path, models: Mapping[str, str], publisher: Publisher, warn: Warn
) -> Outcome:
    """Write results in the schema of Every Eval Ever.

    Args:
        paths: Results, or folders that contain some.
        folder: Where to write, created if necessary.
        models: The ids of models by their name in the results.
        publisher: Who publishes the results.
        warn: Called with a message for each result that is not exported.

    Raises:
        DataError: There are no results, or none can be exported.
        UsageError: A name in `models` is not in the results.
    """
    runs, incomplete = _read(paths, models, warn)
    files, notes = [], []
    for exported in runs:
        try:
            written = write_run(exported, folder, publisher)
        except HaluTasksError as error:
            incomplete = True
            warn(_not_exported(exported, error))
            continue
        files.append(written.record)
        if written.unjudged:
            replies = f"{written.unjudged:,} of {written.unjudged + written.rows:,} replies"
            notes.append(f"{written.record}: {replies} have no row, since it is not known whether they are right")
    return _outcome(files, notes, incomplete)


def export_hub(paths: Sequence[str], folder: Path, models: Mapping[str, str], target: Target, warn: Warn) -> Outcome:
    """Write results as community evals of the Hugging Face hub.

    Args:
        paths: Results, folders that contain some, and folders of builds, whose datasets are written as benchmarks.
        folder: Where to write, created if necessary.
        models: The ids of models by their name in the results.
        target: Where the results belong.
        warn: Called with a message for each result that is not exported.

    Raises:
        DataError: There are no results, or none can be exported.
        UsageError: A name in `models` is not in the results.
    """
    builds = {path: build for path in paths if (build := build_folder(Path(path).expanduser()))}
    files, notes, incomplete = _write_benchmarks(builds, folder, warn)
    results = [path for path in paths if path not in builds]
    if not results:
        return _outcome(files, notes, incomplete)
    runs, unread = _read(results, models, warn)
    incomplete = incomplete or unread
    by_file: dict[Path, list[Exported]] = {}
    for exported in runs:
        try:
            place = folder / "models" / exported.model.folders / ".eval_results" / f"{exported.run.task}.yaml"
            entry_of(exported, target)
        except HaluTasksError as error:
            incomplete = True
            warn(_not_exported(exported, error))
        else:
            by_file.setdefault(place, []).append(exported)
    for path, of_file in by_file.items():
        try:
            write_entries(path, [entry_of(exported, target) for exported in of_file])
        except HaluTasksError as error:
            incomplete = True
            for exported in of_file:
                warn(_not_exported(exported, error))
        else:
            files.append(path)
    return _outcome(files, notes, incomplete)


def _write_benchmarks(builds: Mapping[str, Path], folder: Path, warn: Warn) -> tuple[list[Path], list[str], bool]:
    """Write the datasets of builds; return the files, what they lack, and whether one could not be written."""
    files, notes, incomplete = [], [], False
    for path, build in builds.items():
        try:
            written = write_benchmark(build, folder / "datasets" / build.resolve().name)
        except HaluTasksError as error:
            incomplete = True
            warn(f"not exported: {path}: {str(error).removeprefix(f'{build}: ')}")
        else:
            files.append(written.file)
            notes += [f"{written.file}: lacks {reason}" for reason in written.left_out]
    return files, notes, incomplete


def _read(paths: Sequence[str], models: Mapping[str, str], warn: Warn) -> _Runs:
    results = read_results(paths)
    for skipped in results.skipped:
        warn(f"not read: {skipped.source}: {skipped.why}")
    if not results.runs:
        raise DataError(f"no result of this package is in {', '.join(paths)}")
    known = {name for run in results.runs for name in (run.model, *([run.judge] if run.judge else []))}
    for name in models:
        if name not in known:
            raise UsageError(
                f"--model-id: no result is of a model {name!r}{did_you_mean(name, known)}; models: "
                f"{', '.join(sorted(known))}"
            )
    lost = any(skipped.lost for skipped in results.skipped)
    return _Runs([Exported(run, models) for run in results.runs], lost)


def _not_exported(exported: Exported, error: HaluTasksError) -> str:
    return f"not exported: {exported.run.source}: {exported.run.task}: {error}"


def _outcome(files: Sequence[Path], notes: Sequence[str], incomplete: bool) -> Outcome:
    if not files:
        raise DataError("no result was exported")
    return Outcome(files, notes, incomplete)
