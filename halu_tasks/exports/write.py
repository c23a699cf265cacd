"""Exporting all results in some files and folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from halu_tasks.builders.folder import build_folder
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError, did_you_mean
from halu_tasks.exports.benchmark import write_benchmark
from halu_tasks.exports.community_evals import Target, check_publishable, entry_of, write_entries
from halu_tasks.exports.every_eval_ever import Publisher, write_run
from halu_tasks.exports.exported import NO_ORGANIZATION, Exported, own_name
from halu_tasks.results.comparability import Entry
from halu_tasks.results.readers.read import read_results
from halu_tasks.results.run import Run

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

T = TypeVar("T")
Warn = Callable[[str], None]
"""Prints a message for the user."""


class ExportOutcome(NamedTuple):
    """What became of an export.

    Attributes:
        files: The files that were written, or were there before with the same content.
        notes: A line for each file about what it lacks; empty if it lacks nothing.
        incomplete: Whether results could not be read or exported.
    """

    files: Sequence[Path]
    notes: Sequence[str]
    incomplete: bool


def export_eee(
    paths: Sequence[str], folder: Path, models: Mapping[str, str], publisher: Publisher, warn: Warn
) -> ExportOutcome:
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
    written, failed = _each(runs, lambda exported: write_run(exported, folder, publisher), warn)
    notes = [
        f"{one.record}: {one.unjudged:,} of {one.unjudged + one.rows:,} replies have no row, since it is not known "
        "whether they are right"
        for _, one in written
        if one.unjudged
    ]
    _warn_of_exported([exported for exported, _ in written], warn)
    return _outcome([one.record for _, one in written], notes, incomplete or failed)


def export_hub(
    paths: Sequence[str],
    folder: Path,
    models: Mapping[str, str],
    target: Target,
    warn: Warn,
    *,
    partial: bool = False,
) -> ExportOutcome:
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

    def entry(exported: Exported) -> tuple[Path, EvalResultEntry]:
        check_publishable(exported.run, partial=partial)
        name = f"{exported.run.task}.yaml"
        return folder / "models" / exported.model.folders / ".eval_results" / name, entry_of(exported, target)

    entries, failed = _each(runs, entry, warn)
    by_file: dict[Path, list[tuple[Exported, EvalResultEntry]]] = {}
    for exported, (path, one) in entries:
        by_file.setdefault(path, []).append((exported, one))

    def write(exported: Exported) -> Path:
        path = entry(exported)[0]
        write_entries(path, [one for _, one in by_file[path]])
        return path

    written, not_written = _each([exported for exported, _ in entries], write, warn)
    _warn_of_exported([exported for exported, _ in written], warn)
    files += dict.fromkeys(path for _, path in written)
    return _outcome(files, notes, incomplete or unread or failed or not_written)


def _each(runs: Sequence[Exported], act: Callable[[Exported], T], warn: Warn) -> tuple[list[tuple[Exported, T]], bool]:
    """Do something with each run; warn of failures, once for all tasks of a model that have the same error.

    Returns:
        The runs that did not fail, each with what was done, and whether there were failures.
    """
    done = []
    failures: dict[tuple[str, str], list[Run]] = {}
    for exported in runs:
        try:
            done.append((exported, act(exported)))
        except HaluTasksError as error:
            failures.setdefault((exported.run.model, str(error)), []).append(exported.run)
    for (_, message), of_model in failures.items():
        tasks = ", ".join(dict.fromkeys(run.task for run in of_model))
        warn(f"not exported: {_sources(of_model)}: {tasks}: {message}")
    return done, bool(failures)


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


def _read(paths: Sequence[str], models: Mapping[str, str], warn: Warn) -> tuple[list[Exported], bool]:
    """Read the latest run of each entry under each condition; also return whether results could not be read."""
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
    latest = {(run.condition, Entry.of(run)): run for run in results.runs}
    replaced = [run for run in results.runs if run is not latest[run.condition, Entry.of(run)]]
    if replaced:
        number = "1 run" if len(replaced) == 1 else f"{len(replaced):,} runs"
        why = "replaced by later ones of the same model and conditions"
        warn(f"not exported: {number} {why}: {_sources(replaced)}")
    return [Exported(run, models) for run in latest.values()], any(skipped.lost for skipped in results.skipped)


def _sources(runs: Sequence[Run]) -> str:
    """Name the first file of some runs, and count the others."""
    first, *others = dict.fromkeys(run.source for run in runs)
    return f"{first} and {len(others):,} more" if others else first


def _warn_of_exported(exported: Sequence[Exported], warn: Warn) -> None:
    """Warn of many replies without an answer, and, once each, of models whose organization is not known."""
    for run in (one.run for one in exported):
        for share, meaning in run.reply_warnings:
            warn(f"{run.model}, {run.task}: {share} {meaning}")
    for name in dict.fromkeys(own_name(one.run.model) for one in exported if not one.model.organization):
        warn(
            f"model {name}: the results do not say which organization made it, so it is exported as "
            f"{NO_ORGANIZATION}; name it with --model-id '{name}=ORGANIZATION/NAME' (and another folder with -o)"
        )


def _outcome(files: Sequence[Path], notes: Sequence[str], incomplete: bool) -> ExportOutcome:
    if not files:
        raise DataError("no result was exported")
    return ExportOutcome(files, notes, incomplete)
