"""Outcomes read from Inspect's logs of builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.log import EvalLog, read_eval_log

from halu_tasks.builders.folder import Folder
from halu_tasks.builders.inspect_build import BUILD
from halu_tasks.builders.outcomes import Outcome
from halu_tasks.builders.parts import place
from halu_tasks.errors import DataError
from halu_tasks.inspect_logs import samples_of, state


class BuildLog(NamedTuple):
    """A log of a build: its file, its header, and what it says it builds."""

    path: Path
    header: EvalLog
    told: dict[str, Any]

    @property
    def finished(self) -> bool:
        """Whether every document of it was worked on."""
        return self.header.status == "success" and not self.header.invalidated

    @property
    def planned(self) -> list[str]:
        """The ids of the documents that it was begun with."""
        return [str(id) for id in self.header.eval.dataset.sample_ids or ()]

    @property
    def state(self) -> str:
        return state(self.header)

    @property
    def models(self) -> dict[str, Any]:
        """The models by role, `model` that of the run, with what was set of their generation."""
        spec = self.header.eval
        config = self.header.plan.config.model_dump(exclude_none=True)
        found: dict[str, Any] = {"model": {"model": spec.model, **config}}
        for role, models in (spec.model_roles or {}).items():
            for named in models if isinstance(models, list) else [models]:
                found[role] = {"model": named.model, **named.config.model_dump(exclude_none=True)}
        return found


def build_logs(folder: Path) -> list[BuildLog]:
    """The logs of a build in a folder, oldest first. One that cannot be read is passed over: a process that is killed
    leaves such behind, and what it did is done again.

    Raises:
        DataError: a log is of no build.
    """
    found = [log for path in folder.glob("*.eval") if (log := _log(path))]
    return sorted(found, key=_age)


def _age(log: BuildLog) -> tuple[str, int]:
    """By what logs are sorted, oldest first: logs tell seconds, and several can be of one."""
    return log.header.eval.created, log.path.stat().st_mtime_ns


def logs_in(path: Path) -> list[BuildLog]:
    """The logs of builds that a path names: a log, or all in a folder and those below; oldest first.

    Raises:
        DataError: one cannot be read, or is of no build.
    """
    paths = [path] if path.is_file() else sorted(path.rglob("*.eval"))
    found = []
    for own in paths:
        if (log := _log(own)) is None:
            raise DataError(f"{own}: cannot be read as a log of Inspect")
        found.append(log)
    return sorted(found, key=_age)


def set_aside(folder: Path) -> None:
    """Rename the logs in a folder that cannot be read, which Inspect would stumble over, to `….damaged`."""
    for path in folder.glob("*.eval"):
        if _log(path) is None:
            path.rename(path.with_name(path.name + ".damaged"))


def _log(path: Path) -> BuildLog | None:
    try:
        header = read_eval_log(str(path), header_only=True)
    except Exception:
        # a file that is no log can fail in any way
        return None
    told = (header.eval.metadata or {}).get(BUILD)
    if not isinstance(told, dict):
        raise DataError(f"{path}: is of the task {header.eval.task}, which builds nothing")
    return BuildLog(path, header, told)


def outcomes(logs: Iterable[BuildLog]) -> list[Outcome]:
    """The outcomes in the logs of one part, one a document, in the order of all; documents that ended in an error have
    none. A finished log holds those of all before it; where there is none the last outcome of a document counts.

    Raises:
        DataError: a log is damaged.
    """
    ended = [log for log in logs if log.header.status != "started"]
    found: dict[str, Outcome] = {}
    for log in [log for log in ended if log.finished][-1:] or ended:
        own = dict(_outcomes(log))
        if log.finished and (lost := set(log.planned) - own.keys()):
            raise DataError(
                f"{log.path}: lacks {len(lost)} of its {len(log.planned)} documents ({min(lost)!r}); put it back from "
                "a copy, or move it away, and the halu-tasks build command asks for that part again"
            )
        found |= {id: outcome for id, outcome in own.items() if outcome}
    return [found[id] for id in sorted(found, key=place)]


def _outcomes(log: BuildLog) -> Iterator[tuple[str, Outcome | None]]:
    """The documents of a log by id, each with its outcome; None for a document that ended in an error."""
    for sample in samples_of(str(log.path)):
        record = ((sample.get("output") or {}).get("metadata") or {}).get(BUILD)
        if sample.get("error") or record is None:
            yield str(sample["id"]), None
            continue
        scores = (sample.get("scores") or {}).values()
        costs = [own["cost"] for score in scores if (own := (score.get("metadata") or {}).get(BUILD))]
        yield str(sample["id"]), Outcome.of_json(record, costs[-1] if costs else None)


def done(folder: Folder, part: int) -> BuildLog | None:
    """The log of a part whose documents were all processed; None if some were not.

    Raises:
        DataError: a log is of another part or another build.
    """
    logs = logs_of(folder, part)
    return logs[-1] if logs and logs[-1].finished else None


def logs_of(folder: Folder, part: int) -> list[BuildLog]:
    """The logs of a part, oldest first.

    Raises:
        DataError: a log is of another part or another build, or the part's documents are damaged.
    """
    logs = build_logs(folder.logs(part)) if folder.logs(part).is_dir() else []
    ids = set(folder.ids(part)) if folder.has_documents else None
    for log in logs:
        fault = None
        if ids is not None and (others := set(log.planned) - ids):
            fault = f"is of other documents than part {part + 1} has ({min(others)!r})"
        elif ids is not None and log.finished and (lost := ids - set(log.planned)):
            fault = f"was ended without {len(lost)} of the {len(ids)} documents of part {part + 1} ({min(lost)!r})"
        elif other := next((key for key, own in folder.plan["settings"].items() if log.told.get(key) != own), None):
            fault = f"is of another build (its {other} differs)"
        if fault:
            raise DataError(
                f"{log.path}: {fault}; put the log of that part back from a copy, or move this one away, and the "
                "halu-tasks build command asks for that part again"
            )
    return logs


def in_parts(folder: Folder, numbers: Iterable[int]) -> Iterator[Outcome]:
    """The outcomes of one part after the other.

    Raises:
        DataError: a log is damaged, or not the one that ended its part.
    """
    for number in numbers:
        logs = logs_of(folder, number)
        if logs and logs[-1].finished:
            folder.check_log(number, logs[-1].path)
        yield from outcomes(logs)
