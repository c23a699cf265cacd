"""Exporting all results in some files and folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from halu_tasks.builders.folder import build_folder
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError, did_you_mean
from halu_tasks.exports.benchmark import write_benchmark
from halu_tasks.exports.community_evals import Target, check_publishable, entry_of, write_entries
from halu_tasks.exports.every_eval_ever import Publisher, write_run
from halu_tasks.exports.exported import Exported
from halu_tasks.exports.models import NO_ORGANIZATION, own_name
from halu_tasks.results.latest import latest_runs
from halu_tasks.results.readers.read import read_results
from halu_tasks.results.run import Run

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
        warn: Called with a message for each result that is not exported, or whose replies say little about the model.

    Raises:
        DataError: There are no results, or none can be exported.
        UsageError: A name in `models` is not in the results.
    """
    runs, incomplete = _read(paths, models, warn)
    files, notes, done, failures = [], [], [], []
    for exported in runs:
        try:
            written = write_run(exported, folder, publisher)
        except HaluTasksError as error:
            failures.append((exported, error))
            continue
        done.append(exported)
        files.append(written.record)
        if written.unjudged:
            replies = f"{written.unjudged:,} of {written.unjudged + written.rows:,} replies"
            notes.append(f"{written.record}: {replies} have no row, since it is not known whether they are right")
    _warn_not_exported(failures, warn)
    _warn_of_exported(done, warn)
    return _outcome(files, notes, incomplete or bool(failures))


def export_hub(
    paths: Sequence[str],
    folder: Path,
    models: Mapping[str, str],
    target: Target,
    warn: Warn,
    *,
    partial: bool = False,
) -> Outcome:
    """Write results as community evals of the Hugging Face hub.

    Args:
        paths: Results, folders that contain some, and folders of builds, whose datasets are written as benchmarks.
        folder: Where to write, created if necessary.
        models: The ids of models by their name in the results.
        target: Where the results belong.
        warn: Called with a message for each result that is not exported, or whose replies say little about the model.
        partial: Whether to export results on a part of the items.

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
    by_file: dict[Path, list[Exported]] = {}
    done, failures = [], []
    for exported in runs:
        try:
            check_publishable(exported.run, partial=partial)
            place = folder / "models" / exported.model.folders / ".eval_results" / f"{exported.run.task}.yaml"
            entry_of(exported, target)
        except HaluTasksError as error:
            failures.append((exported, error))
        else:
            by_file.setdefault(place, []).append(exported)
    for path, of_file in by_file.items():
        try:
            write_entries(path, [entry_of(exported, target) for exported in of_file])
        except HaluTasksError as error:
            failures += [(exported, error) for exported in of_file]
        else:
            done += of_file
            files.append(path)
    _warn_not_exported(failures, warn)
    _warn_of_exported(done, warn)
    return _outcome(files, notes, incomplete or unread or bool(failures))


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
    names = {name for run in results.runs for name in (run.model, *([run.judge] if run.judge else []))}
    known = names | {own_name(name) for name in names}
    for name in models:
        if name not in known:
            raise UsageError(
                f"--model-id: no result is of a model {name!r}{did_you_mean(name, known)}; models: "
                f"{', '.join(sorted(known))}"
            )
    lost = any(skipped.lost for skipped in results.skipped)
    latest = latest_runs(results.runs)
    _warn_replaced(latest.replaced, warn)
    return _Runs([Exported(run, models) for run in latest.runs], lost)


def _warn_replaced(replaced: Sequence[Run], warn: Warn) -> None:
    """Warn, in one line, of runs that are left out because a later one counts."""
    if not replaced:
        return
    number = "1 run" if len(replaced) == 1 else f"{len(replaced):,} runs"
    warn(f"not exported: {number} replaced by later ones of the same model and conditions: {_sources(replaced)}")


def _warn_not_exported(failures: Sequence[tuple[Exported, HaluTasksError]], warn: Warn) -> None:
    """Warn of runs that are not exported, once for all tasks of a model that have the same error."""
    together: dict[tuple[str, str], list[Run]] = {}
    for exported, error in failures:
        together.setdefault((exported.run.model, str(error)), []).append(exported.run)
    for (_, message), runs in together.items():
        tasks = ", ".join(dict.fromkeys(run.task for run in runs))
        warn(f"not exported: {_sources(runs)}: {tasks}: {message}")


def _sources(runs: Sequence[Run]) -> str:
    """Name the first file of some runs, and count the others."""
    first, *others = dict.fromkeys(run.source for run in runs)
    return f"{first} and {len(others):,} more" if others else first


def _warn_of_exported(exported: Sequence[Exported], warn: Warn) -> None:
    """Warn of many replies without an answer, and of models whose organization is not known."""
    for run in (one.run for one in exported):
        for share, meaning in run.reply_warnings:
            warn(f"{run.model}, {run.task}: {share} {meaning}")
    _warn_unknown_organization(exported, warn)


def _warn_unknown_organization(exported: Sequence[Exported], warn: Warn) -> None:
    """Warn, once for each model, of models whose organization the results do not say."""
    for name in dict.fromkeys(own_name(one.run.model) for one in exported if not one.model.organization):
        warn(
            f"model {name}: the results do not say which organization made it, so it is exported as "
            f"{NO_ORGANIZATION}; name it with --model-id '{name}=ORGANIZATION/NAME' (and another folder with -o)"
        )


def _outcome(files: Sequence[Path], notes: Sequence[str], incomplete: bool) -> Outcome:
    if not files:
        raise DataError("no result was exported")
    return Outcome(files, notes, incomplete)
