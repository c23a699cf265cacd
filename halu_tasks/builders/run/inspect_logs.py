"""Reading outcomes from Inspect's logs of builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.log import EvalLog, read_eval_log

from halu_tasks.builders.run.folder import Folder
from halu_tasks.builders.run.outcomes import Outcome
from halu_tasks.builders.run.parts import place
from halu_tasks.builders.run.records import BUILD, BuildRecord, ScoreRecord
from halu_tasks.core.errors import DataError
from halu_tasks.results.readers.inspect import samples_of, state


class BuildLog(NamedTuple):
    """A log of a build.

    Attributes:
        path: The log's file.
        header: The log's header.
        record: What the log says about its build.
    """

    path: Path
    header: EvalLog
    record: BuildRecord

    @property
    def finished(self) -> bool:
        """Whether every document of the log was worked on."""
        return self.header.status == "success" and not self.header.invalidated

    @property
    def planned(self) -> list[str]:
        """The ids of the documents the run was started with."""
        return [str(id) for id in self.header.eval.dataset.sample_ids or ()]

    @property
    def state(self) -> str:
        """The state of the run, for error messages."""
        return state(self.header)

    @property
    def models(self) -> dict[str, Any]:
        """The models by role with their generation settings; the role `model` is the run's model."""
        spec = self.header.eval
        config = self.header.plan.config.model_dump(exclude_none=True)
        by_role: dict[str, Any] = {"model": {"model": spec.model, **config}}
        for role, models in (spec.model_roles or {}).items():
            for assigned in models if isinstance(models, list) else [models]:
                by_role[role] = {"model": assigned.model, **assigned.config.model_dump(exclude_none=True)}
        return by_role


def build_logs(folder: Path) -> list[BuildLog]:
    """Return the build logs in a folder, oldest first.

    Unreadable logs are skipped: a killed process leaves such logs behind, and its work is repeated.

    Raises:
        DataError: A log is not the log of a build.
    """
    logs = [log for path in folder.glob("*.eval") if (log := _log(path))]
    return sorted(logs, key=_age)


def _age(log: BuildLog) -> tuple[str, int]:
    """Return the sort key of logs; timestamps in logs have whole seconds, so several can be equal."""
    return log.header.eval.created, log.path.stat().st_mtime_ns


def logs_in(path: Path) -> list[BuildLog]:
    """Return the build logs of a path, which is a log or a folder (searched recursively); oldest first.

    Raises:
        DataError: A log cannot be read, or is not the log of a build.
    """
    paths = [path] if path.is_file() else sorted(path.rglob("*.eval"))
    logs = []
    for file in paths:
        if (log := _log(file)) is None:
            raise DataError(f"{file}: cannot be read as an Inspect log")
        logs.append(log)
    return sorted(logs, key=_age)


def set_aside(folder: Path) -> None:
    """Rename unreadable logs in a folder to `….damaged`, as Inspect would fail on them."""
    for path in folder.glob("*.eval"):
        if _log(path) is None:
            path.rename(path.with_name(path.name + ".damaged"))


def _log(path: Path) -> BuildLog | None:
    """Read a log's header; None if the file is not a readable log."""
    try:
        header = read_eval_log(str(path), header_only=True)
    except Exception:
        # invalid files can fail with any exception
        return None
    record = (header.eval.metadata or {}).get(BUILD)
    if not isinstance(record, dict):
        raise DataError(f"{path}: is not the log of a build (its task is {header.eval.task})")
    return BuildLog(path, header, BuildRecord.from_metadata(record))


def outcomes(logs: Iterable[BuildLog]) -> list[Outcome]:
    """Return the outcomes in the logs of one part, one per document, sorted by `place`.

    Documents that ended in an error have no outcome. A finished log contains the outcomes of all earlier ones; without
    a finished log, the last outcome of each document counts.

    Raises:
        DataError: A log is damaged.
    """
    ended = [log for log in logs if log.header.status != "started"]
    by_document: dict[str, Outcome] = {}
    for log in [log for log in ended if log.finished][-1:] or ended:
        in_log = dict(_outcomes(log))
        if log.finished and (lost := set(log.planned) - in_log.keys()):
            raise DataError(
                f"{log.path}: lacks {len(lost)} of its {len(log.planned)} documents ({min(lost)!r}); restore it from a "
                "backup, or move it away and run the halu-tasks build command again to redo that part"
            )
        by_document |= {id: outcome for id, outcome in in_log.items() if outcome}
    return [by_document[id] for id in sorted(by_document, key=place)]


def _outcomes(log: BuildLog) -> Iterator[tuple[str, Outcome | None]]:
    """Yield the documents of a log by id with their outcomes; None for documents that ended in an error."""
    for sample in samples_of(str(log.path)):
        record = ((sample.get("output") or {}).get("metadata") or {}).get(BUILD)
        if sample.get("error") or record is None:
            yield str(sample["id"]), None
            continue
        scores = [(score.get("metadata") or {}).get(BUILD) for score in (sample.get("scores") or {}).values()]
        costs = [ScoreRecord.from_metadata(counted).cost for counted in scores if counted]
        yield str(sample["id"]), Outcome.of_json(record, costs[-1] if costs else None)


def done(folder: Folder, part: int) -> BuildLog | None:
    """Return the log of a finished part; None if some of its documents were not worked on.

    Raises:
        DataError: A log belongs to another part or another build.
    """
    logs = logs_of(folder, part)
    return logs[-1] if logs and logs[-1].finished else None


def logs_of(folder: Folder, part: int) -> list[BuildLog]:
    """Return the logs of a part, oldest first.

    Raises:
        DataError: A log belongs to another part or another build, or the part's documents are damaged.
    """
    logs = build_logs(folder.logs(part)) if folder.logs(part).is_dir() else []
    ids = set(folder.ids(part)) if folder.has_documents else None
    for log in logs:
        fault = None
        if ids is not None and (others := set(log.planned) - ids):
            fault = f"contains other documents than part {part + 1} ({min(others)!r})"
        elif ids is not None and log.finished and (lost := ids - set(log.planned)):
            fault = f"ended without {len(lost)} of the {len(ids)} documents of part {part + 1} ({min(lost)!r})"
        elif other := _other_setting(folder, log):
            fault = f"belongs to another build (its {other} differs)"
        if fault:
            raise DataError(
                f"{log.path}: {fault}; restore the log of that part from a backup, or move this one away and run the "
                "halu-tasks build command again to redo that part"
            )
    return logs


def _other_setting(folder: Folder, log: BuildLog) -> str | None:
    """Return the name of a setting in which a log differs from the build; None if there is none."""
    settings = folder.plan.settings
    return next((key for key, value in settings.items() if log.record.settings.get(key) != value), None)


def in_parts(folder: Folder, numbers: Iterable[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the given parts, one part after the other.

    Raises:
        DataError: A log is damaged, or is not the one that finished its part.
    """
    for number in numbers:
        logs = logs_of(folder, number)
        if logs and logs[-1].finished:
            folder.check_log(number, logs[-1].path)
        yield from outcomes(logs)
