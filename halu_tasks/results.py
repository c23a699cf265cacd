"""Results in any mix, from files and folders: lm-eval's, Inspect's logs, and scored predictions."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import NamedTuple

from halu_tasks import inspect_logs, lm_eval_results, scored_predictions
from halu_tasks.errors import DataError, ForeignError, HaluTasksError
from halu_tasks.items import Item
from halu_tasks.runs import Run, Skipped


class Results(NamedTuple):
    """What was read, in the order of the runs' beginning, and what was not."""

    runs: list[Run]
    skipped: list[Skipped]


def find_results(paths: Sequence[str]) -> list[Path]:
    """The files that may hold results: those named, and of a folder all below it, each once.

    Raises:
        DataError: there is no such file or folder, or none in a folder.
    """
    found: dict[str, Path] = {}
    for path in paths:
        named = Path(path).expanduser()
        if not named.exists():
            raise DataError(f"{path}: there is no such file or folder of results")
        below = sorted(_below(named)) if named.is_dir() else [named]
        if not below:
            raise DataError(
                f"{path}: holds no results (lm-eval's results_*.json, Inspect's *.eval or *.json, "
                "halu-tasks score --json)"
            )
        for file in below:
            found.setdefault(_real(file), file)
    return list(found.values())


def read_results(paths: Sequence[str], step: Callable[[int], object] = lambda files: None) -> Results:
    """The runs in files and folders. What cannot be read is named, and the rest is read; `step` is called after
    each file with 1.

    Raises:
        DataError: a path does not exist or holds no results.
    """
    runs: list[Run] = []
    skipped: list[Skipped] = []
    items: dict[tuple[str, str], Item] = {}
    known: dict[object, Run] = {}
    files = find_results(paths)
    named = {_real(Path(path).expanduser()) for path in paths}
    for file in files:
        own: list[Skipped] = []
        is_named, holds_runs = _real(file) in named, False
        try:
            for found in _read(file, named=is_named):
                if isinstance(found, Skipped):
                    own.append(found)
                    continue
                holds_runs = True
                if (same := known.setdefault(found.identity, found)) is not found:
                    own.append(Skipped(found.source, f"{found.task}: the same run as in {same.source}", lost=False))
                else:
                    _check(found)
                    runs.append(_sharing(found, items))
        except HaluTasksError as error:
            why = str(error).removeprefix(f"{file}: ")
            own.append(Skipped(str(file), why, lost=not isinstance(error, ForeignError)))
        except Exception as error:
            # a file can be damaged in any way, and the others are to be read nevertheless
            why = " ".join(str(error).split())[:200]
            own.append(Skipped(str(file), f"cannot be read as a result ({type(error).__name__}: {why})"))
        # who names a file expects something of it
        skipped += [one._replace(lost=one.lost or (is_named and not holds_runs)) for one in own]
        step(1)
    return Results(sorted(runs, key=lambda run: run.created), skipped)


def _real(path: Path) -> str:
    # unlike Path.resolve it has an answer for links that lead back to themselves
    return os.path.realpath(path)


def _below(folder: Path) -> Iterator[Path]:
    # what cannot be listed is named when it is read
    unlisted: list[OSError] = []
    for inside, _, names in os.walk(folder, onerror=unlisted.append):
        for path in map(Path(inside).joinpath, names):
            if path.suffix in (".eval", ".json"):
                yield path
            elif path.match("samples_*.jsonl"):
                date = path.stem.rpartition("_")[2]
                if not any(path.parent.glob(f"*_{escape(date)}.json")):
                    yield path
    yield from (Path(error.filename) for error in unlisted)


def _read(file: Path, *, named: bool) -> Iterator[Run | Skipped]:
    """The runs of one file. One that was not named and is of another kind is passed over."""
    if file.is_dir():
        next(os.scandir(file))
    elif file.suffix == ".eval":
        yield from inspect_logs.read_runs(str(file))
    elif file.match("samples_*.jsonl"):
        raise DataError(f"{file}: no results file is beside it, so its run did not end")
    elif file.suffix == ".json":
        found = scored_predictions.read_json(file)
        if lm_eval_results.is_results(found) or file.match("results_*.json"):
            yield from lm_eval_results.read_runs(file, found)
        elif scored_predictions.is_scored(found):
            yield scored_predictions.read_run(file, found)
        elif isinstance(found, dict) and {"eval", "plan"} <= found.keys():
            yield from inspect_logs.read_runs(str(file))
        elif named:
            raise DataError(f"{file}: is no result of lm-eval, Inspect or halu-tasks score --json")
    else:
        how = "; score predictions with: halu-tasks score TASK FILE --json" if file.suffix == ".jsonl" else ""
        raise DataError(f"{file}: is no result of lm-eval, Inspect or halu-tasks score --json{how}")


_PROVENANCE = {
    "version": str,
    "data": str,
    "data_file": str,
    "data_sha256": str,
    "prompt_hash": str | None,
    "items": int,
}


def _check(run: Run) -> None:
    """Raise DataError where a result does not say what it is of, or a fact is no number that figures can be made of."""
    for name, kind in _PROVENANCE.items():
        if name not in run.provenance or not isinstance(run.provenance[name], kind):
            raise DataError(f"{run.source}: {run.task}: its record does not tell {name}; it is damaged, run it again")
    for score in run.scores:
        for name, value in score.facts.items():
            if not math.isfinite(value):
                raise DataError(f"{run.source}: {run.task}: {name} of item {score.id!r} is {value}, which is no number")


def _sharing(run: Run, items: dict[tuple[str, str], Item]) -> Run:
    """The run with items that are equal to those of other runs held once."""
    answers = []
    for answered in run.answers:
        known = items.setdefault((run.task, answered.item.id), answered.item)
        answers.append(answered._replace(item=known) if known == answered.item else answered)
    return replace(run, answers=answers)
