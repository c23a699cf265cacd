"""Reading results from files and folders: lm-eval results, Inspect logs and scored predictions, in any mix."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Literal, NamedTuple

from tqdm import tqdm

from halu_tasks.core.errors import DataError, HaluTasksError
from halu_tasks.core.items import Item
from halu_tasks.data.rows import read_json
from halu_tasks.results import lm_eval_results, scored
from halu_tasks.results.run import Run, SkippedFile, UnfinishedError
from halu_tasks.tasks import Evaluation


class Results(NamedTuple):
    """The runs that were read, in the order in which they began, and what was skipped."""

    runs: list[Run]
    skipped: list[SkippedFile]


def _find_results(paths: Sequence[str]) -> list[Path]:
    """List the files that may hold results, each once; raise DataError for a path that has none."""
    by_real_path: dict[str, Path] = {}
    for path in paths:
        expanded = Path(path).expanduser()
        if not expanded.exists():
            raise DataError(f"{path}: no such file or folder of results")
        files = sorted(_files_below(expanded)) if expanded.is_dir() else [expanded]
        if not files:
            raise DataError(
                f"{path}: contains no results; expected lm-eval's results_*.json, Inspect's *.eval or *.json, or the "
                "output of halu-tasks score --json"
            )
        for file in files:
            by_real_path.setdefault(_real(file), file)
    return list(by_real_path.values())


def read_results(paths: Sequence[str]) -> Results:
    """Read the runs in files and folders.

    Files that cannot be read are reported in `Results.skipped`; the others are still read.

    Args:
        paths: Files, and folders that are searched recursively.

    Raises:
        DataError: A path does not exist or contains no results.
    """
    runs: list[Run] = []
    skipped: list[SkippedFile] = []
    items: dict[tuple[str, str], Item] = {}
    by_identity: dict[object, Run] = {}
    unfinished: dict[str, UnfinishedError] = {}
    evaluations: dict[str, Evaluation] = {}
    named = {_real(Path(path).expanduser()) for path in paths}
    # a progress bar, only on a terminal
    for file in tqdm(_find_results(paths), desc="reading results", unit="file", disable=None):
        is_named, holds_run = _real(file) in named, False
        skipped_here: list[SkippedFile] = []
        for one in _read_safely(file, unfinished, evaluations, named=is_named):
            if isinstance(one, SkippedFile):
                skipped_here.append(one)
                continue
            holds_run = True
            if (same := by_identity.setdefault(one.identity, one)) is not one:
                why = f"{one.task}: the same run as in {same.source}"
                skipped_here.append(SkippedFile(one.source, why, lost=False))
            else:
                runs.append(_share_items(one, items))
        # users expect a file that they name to hold a run
        skipped += [one._replace(lost=one.lost or (is_named and not holds_run)) for one in skipped_here]
    if unfinished:
        from halu_tasks.results.inspect_logs import continued

        # nothing is missing without a log that was continued in another one
        later = continued(unfinished, runs)
        for place, one in enumerate(skipped):
            if one.source in later:
                why = f"the run was continued in {later[one.source]}"
                skipped[place] = SkippedFile(one.source, why, lost=False, run="continued")
    return Results(sorted(runs, key=lambda run: run.created), skipped)


def read_and_warn(paths: Sequence[str], warn: Callable[[str], None], *, warn_unfinished: bool = True) -> Results:
    """Read the runs in files and folders, of which there must be one.

    Args:
        paths: Files, and folders that are searched recursively.
        warn: Called with a message for each file that is not read, except logs of runs that were continued.
        warn_unfinished: Whether to warn of unfinished runs.

    Raises:
        DataError: A path does not exist, or there are no results of this package.
    """
    results = read_results(paths)
    for skipped in results.skipped:
        if skipped.run == "" or (warn_unfinished and skipped.run == "unfinished"):
            warn(f"not read: {skipped.source}: {skipped.why}")
    if not results.runs:
        raise DataError(f"no result of this package is in {', '.join(paths) or 'files of groups alone'}")
    return results


def _read_safely(
    file: Path, unfinished: dict[str, UnfinishedError], evaluations: dict[str, Evaluation], *, named: bool
) -> Iterator[Run | SkippedFile]:
    """Read the runs of one file; what cannot be read is skipped, and errors of unfinished logs are kept by file."""
    try:
        for one in _read(file, evaluations, named=named):
            if isinstance(one, Run):
                _check(one)
            yield one
    except HaluTasksError as error:
        state: Literal["", "unfinished"] = ""
        if isinstance(error, UnfinishedError):
            unfinished[str(file)] = error
            state = "" if error.ended else "unfinished"
        why = str(error).removeprefix(f"{file}: ")
        yield SkippedFile(str(file), why, run=state)
    except Exception as error:
        # a file can be damaged in any way, and must not keep the others from being read
        why = " ".join(str(error).split())[:200]
        yield SkippedFile(str(file), f"cannot be read as a result ({type(error).__name__}: {why})")


def _real(path: Path) -> str:
    # unlike Path.resolve, this does not fail on circular links
    return os.path.realpath(path)


def _files_below(folder: Path) -> Iterator[Path]:
    # folders that cannot be listed are reported when they are read
    unlisted: list[OSError] = []
    for parent, _, names in os.walk(folder, onerror=unlisted.append):
        for path in map(Path(parent).joinpath, names):
            if path.suffix in (".eval", ".json"):
                yield path
            elif path.match("samples_*.jsonl"):
                date = path.stem.rpartition("_")[2]
                if not any(path.parent.glob(f"*_{escape(date)}.json")):
                    yield path
    yield from (Path(error.filename) for error in unlisted)


def _read(file: Path, evaluations: dict[str, Evaluation], *, named: bool) -> Iterator[Run | SkippedFile]:
    """Read the runs of one file; JSON of another kind is ignored unless the user named the file."""
    if file.is_dir():
        next(os.scandir(file))
    elif file.suffix == ".eval":
        yield from _inspect_runs(file)
    elif file.match("samples_*.jsonl"):
        raise DataError(f"{file}: the folder has no results file for these samples, so the run did not finish")
    elif file.suffix == ".json":
        content = read_json(file)
        if lm_eval_results.is_results(content) or file.match("results_*.json"):
            yield from lm_eval_results.read_runs(file, content)
        elif of_tasks := scored.scored_tasks(content):
            yield from (scored.read_run(file, each, evaluations) for each in of_tasks)
        elif isinstance(content, dict) and {"eval", "plan"} <= content.keys():
            yield from _inspect_runs(file)
        elif named:
            raise DataError(f"{file}: not a result of lm-eval, Inspect or halu-tasks score --json")
    else:
        how = "; score predictions with: halu-tasks score TASK FILE --json" if file.suffix == ".jsonl" else ""
        raise DataError(f"{file}: not a result of lm-eval, Inspect or halu-tasks score --json{how}")


def _inspect_runs(log: Path) -> list[Run] | list[SkippedFile]:
    from halu_tasks.results.inspect_logs import read_runs  # takes two seconds, which other results do not need

    return read_runs(str(log))


def _check(run: Run) -> None:
    """Raise DataError if a measurement is not a finite number."""
    for score in run.scores:
        for name, value in score.facts.items():
            if not math.isfinite(value):
                raise DataError(
                    f"{run.source}: {run.task}: {name} of item {score.id!r} is {value}, expected a finite number"
                )


def _share_items(run: Run, items: dict[tuple[str, str], Item]) -> Run:
    """Replace items that equal those of other runs by the same objects, to save memory."""
    answers = []
    for answered in run.answers:
        shared = items.setdefault((run.task, answered.item.id), answered.item)
        answers.append(answered._replace(item=shared) if shared == answered.item else answered)
    same = all(one.item is other.item for one, other in zip(answers, run.answers, strict=True))
    return run if same else replace(run, answers=answers)
