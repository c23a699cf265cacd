"""Importing logs of builds, written by `inspect eval` or `inspect eval-set`, into a build's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.folder import Folder, copied, copy_files, write_plan
from halu_tasks.builders.run.inspect_logs import BuildLog, logs_in
from halu_tasks.builders.run.parts import Part
from halu_tasks.builders.run.plan import Plan, Source
from halu_tasks.core.errors import DataError, UsageError


def adopt(logs: Path, path: Path) -> Folder:
    """Create a build's folder from the logs of a run, or of all parts of one.

    If a part has several logs, the newest one is used.

    Args:
        logs: A log, or a folder of logs.
        path: The folder to create.

    Raises:
        UsageError: There are no logs.
        DataError: The logs are of several builds, parts are missing or unfinished, or `path` is not empty.
    """
    if path.exists() and any(path.iterdir()):
        raise DataError(f"{path}: is not empty; choose another folder")
    candidates = logs_in(logs)
    if not candidates:
        raise UsageError(f"{logs}: contains no logs of builds")
    # the newest log of each part, or the newest finished one if there is one
    by_part = {str(log.record.part): log for log in sorted(candidates, key=lambda log: log.finished)}
    first = next(iter(by_part.values()))
    for log in candidates:
        if other := first.record.difference(log.record):
            raise DataError(
                f"{log.path}: belongs to another build than {first.path} (its {other} differs); collect one"
            )
    for log in by_part.values():
        if _settings_by_role(log) != _settings_by_role(first):
            raise DataError(f"{log.path}: used other models or model settings than {first.path}; collect one of them")
        if (log.header.eval.config.epochs or 1) > 1:
            raise DataError(f"{log.path}: contains every document several times; build with one epoch")
    parts = _parts(logs, by_part)
    if undone := next((log for log in parts if not log.finished), None):
        raise DataError(
            f"{undone.path}: is unfinished ({undone.state}); finish it with: inspect eval-retry {undone.path}"
        )
    options = first.record.options
    pipeline = _unchanged(first)
    path.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        builder=first.record.settings["builder"],
        options={name: value for name, value in options.items() if name not in pipeline.files()},
        settings=first.record.settings,
        models={"model": first.header.eval.model, "roles": _roles(first), **_temperature(first)},
        source=Source(first.record.documents, first.record.documents_sha256),
        documents=sum(log.header.eval.dataset.samples or 0 for log in parts),
        parts=len(parts),
    )
    copy_files(pipeline, options, path)
    write_plan(path, plan)
    adopted = Folder(path)
    for number, log in enumerate(parts):
        adopted.logs(number).mkdir(parents=True)
        copied(log.path, adopted.logs(number) / log.path.name)
        adopted.seal(number, adopted.logs(number) / log.path.name)
    return adopted


def _parts(logs: Path, by_part: dict[str, BuildLog]) -> list[BuildLog]:
    """Return the log of each part, in order; raise DataError if one is missing."""
    if set(by_part) == {"None"}:
        return list(by_part.values())
    if "None" in by_part:
        raise DataError(f"{logs}: contains logs of parts and logs of all documents; collect one kind")
    named = {Part.named(name): log for name, log in by_part.items()}
    numbers = {part.of for part in named}
    missing = [f"{number}/{of}" for of in numbers for number in range(of) if Part(number, of) not in named]
    if len(numbers) > 1 or missing:
        raise DataError(f"{logs}: has no log of part {missing[0]}; its parts are {', '.join(sorted(by_part))}")
    return [named[part] for part in sorted(named)]


def _unchanged(log: BuildLog) -> Pipeline:
    """Return the pipeline that wrote a log; raise DataError if its prompts or another file have changed since."""
    recorded = log.record.settings
    pipeline = pipeline_named(recorded["builder"], log.record.options)
    for name in ("prompt_hash", *pipeline.files()):
        before, now = recorded.get(name), pipeline.settings.get(name)
        if before != now:
            what = "prompts" if name == "prompt_hash" else name
            raise DataError(f"{log.path}: was built with other {what} ({before}) than the current ones ({now})")
    return pipeline


_TRANSPORT = ("max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections")
"""Settings of how calls are made, which do not affect replies."""


def _settings_by_role(log: BuildLog) -> dict[str, dict[str, Any]]:
    """Return the models by role with the settings that affect replies."""
    return {
        role: {name: value for name, value in settings.items() if name not in _TRANSPORT}
        for role, settings in log.models.items()
    }


def _temperature(log: BuildLog) -> dict[str, float]:
    """Return the temperature of the run, if the user gave one; otherwise the options have one for each role."""
    temperature = log.header.plan.config.temperature
    return {} if temperature is None else {"temperature": temperature}


def _roles(log: BuildLog) -> dict[str, str]:
    """Return the names of the models by role."""
    roles = {}
    for role, models in (log.header.eval.model_roles or {}).items():
        roles[role] = ", ".join(model.model for model in (models if isinstance(models, list) else [models]))
    return roles
