"""Reading what Inspect's logs of builds contain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import merge
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.log import EvalLog, read_eval_log

from halu_tasks.builders.documents import place
from halu_tasks.builders.folder import Folder
from halu_tasks.builders.records import DocumentOutcome
from halu_tasks.core.errors import DataError
from halu_tasks.results.readers.inspect import samples_of, state

BUILD = "halu_build"
"""The metadata key of what builds record in logs; see `drafting`."""


class BuildLog(NamedTuple):
    """A log of a build: its file and its header."""

    path: Path
    header: EvalLog

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the pipeline."""
        return dict((self.header.eval.metadata or {})[BUILD])

    @property
    def finished(self) -> bool:
        """Whether every document of the log was worked on."""
        return self.header.status == "success" and not self.header.invalidated

    @property
    def planned(self) -> set[str]:
        """The ids of the documents the run was started with."""
        return {str(id) for id in self.header.eval.dataset.sample_ids or ()}

    @property
    def state(self) -> str:
        """The state of the run, for error messages."""
        return state(self.header)


def _read(path: Path) -> BuildLog | None:
    """Read a log's header; None if the file is not a readable log."""
    try:
        header = read_eval_log(str(path), header_only=True)
    except Exception:
        # invalid files can fail with any exception
        return None
    if not isinstance((header.eval.metadata or {}).get(BUILD), dict):
        raise DataError(f"{path}: is not the log of a build (its task is {header.eval.task})")
    return BuildLog(path, header)


def build_logs(path: Path) -> list[BuildLog]:
    """Return the build logs in a folder, oldest first.

    Unreadable logs are skipped: a killed process leaves such logs behind, and its work is repeated.

    Raises:
        DataError: A log is not the log of a build.
    """
    logs = [log for file in path.glob("*.eval") if (log := _read(file))]
    # timestamps in logs have whole seconds, so several can be equal
    return sorted(logs, key=lambda log: (log.header.eval.created, log.path.stat().st_mtime_ns))


def set_aside(folder: Path) -> None:
    """Rename unreadable logs in a folder to `….damaged`, as Inspect would fail on them."""
    for path in folder.glob("*.eval"):
        if _read(path) is None:
            path.rename(path.with_name(path.name + ".damaged"))


def outcomes_of(logs: Iterable[BuildLog]) -> list[DocumentOutcome]:
    """Return the outcomes in the logs of one run and its continuations, one per document, sorted by `place`.

    Documents that ended in an error have no outcome. A finished log contains the outcomes of all earlier ones; without
    a finished log, the last outcome of each document counts.

    Raises:
        DataError: A log is damaged.
    """
    ended = [log for log in logs if log.header.status != "started"]
    by_document: dict[str, DocumentOutcome] = {}
    for log in [log for log in ended if log.finished][-1:] or ended:
        in_log = dict(_outcomes(log))
        if log.finished and (lost := log.planned - in_log.keys()):
            raise DataError(
                f"{log.path}: lacks {len(lost)} of its {len(log.planned)} documents ({min(lost)!r}); restore it from a "
                "backup, or move it away and run the halu-tasks build command again to redo that part"
            )
        by_document |= {id: outcome for id, outcome in in_log.items() if outcome}
    return [by_document[id] for id in sorted(by_document, key=place)]


def _outcomes(log: BuildLog) -> Iterator[tuple[str, DocumentOutcome | None]]:
    """Yield the documents of a log by id with their outcomes; None for documents that ended in an error."""
    for sample in samples_of(str(log.path)):
        record = ((sample.get("output") or {}).get("metadata") or {}).get(BUILD)
        if sample.get("error") or record is None:
            yield str(sample["id"]), None
            continue
        scores = [(score.get("metadata") or {}).get(BUILD) for score in (sample.get("scores") or {}).values()]
        costs = [score["cost"] for score in scores if score]
        yield str(sample["id"]), replace(DocumentOutcome.from_json(record), cost=costs[-1] if costs else None)


# --- the logs of a build's parts ------------------------------------------------------------------


def logs_of(folder: Folder, part: int) -> list[BuildLog]:
    """Return the logs of a part, oldest first.

    Raises:
        DataError: A log belongs to another part or another build, or the part's documents are damaged.
    """
    logs = build_logs(folder.logs(part))
    ids = set(folder.ids(part))
    for log in logs:
        settings, planned = log.settings, log.planned
        fault = None
        if others := planned - ids:
            fault = f"contains other documents than part {part + 1} ({min(others)!r})"
        elif log.finished and (lost := ids - planned):
            fault = f"ended without {len(lost)} of the {len(ids)} documents of part {part + 1} ({min(lost)!r})"
        elif other := next((key for key, value in folder.plan.settings.items() if settings.get(key) != value), None):
            fault = f"belongs to another build (its {other} differs)"
        if fault:
            raise DataError(
                f"{log.path}: {fault}; restore the log of that part from a backup, or move this one away and run the "
                "halu-tasks build command again to redo that part"
            )
    return logs


def finished_log(folder: Folder, part: int) -> BuildLog | None:
    """Return the log of a finished part; None if some of its documents were not worked on.

    Raises:
        DataError: A log belongs to another part or another build.
    """
    logs = logs_of(folder, part)
    return logs[-1] if logs and logs[-1].finished else None


def outcomes(folder: Folder) -> Iterator[DocumentOutcome]:
    """Yield the outcomes of a build's documents, sorted by `place`; those of one part are in memory at a time.

    Raises:
        DataError: A log or the documents are damaged.
    """
    parts = (outcomes_of(logs_of(folder, part)) for part in folder.numbers)
    # the first part may have samples of all documents; the others are ranges of places
    samples = next(parts)
    yield from merge(samples, chain.from_iterable(parts), key=lambda outcome: place(outcome.document))
