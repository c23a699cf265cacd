"""Logs of builds that `inspect eval` or `inspect eval-set` wrote, as a build's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from halu_tasks.builders.folder import PLAN, PROMPTS, Folder, copied
from halu_tasks.builders.inspect_outcomes import BuildLog, logs_in
from halu_tasks.builders.parts import Part
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.errors import DataError, UsageError
from halu_tasks.files import atomic_write_text

_OF_PART = ("part",)


def adopt(logs: Path, path: Path) -> Folder:
    """A build's folder with the logs of a run, or of all parts of one; the newest of a part counts.

    Raises:
        UsageError: there are no logs.
        DataError: they are of several builds, parts are missing or unfinished, or `path` is in use.
    """
    if path.exists() and any(path.iterdir()):
        raise DataError(f"{path}: is not empty; name another folder")
    found = logs_in(logs)
    if not found:
        raise UsageError(f"{logs}: holds no logs of builds")
    # of a part the newest that is finished, where one is
    by_part = {str(log.told["part"]): log for log in sorted(found, key=lambda log: log.finished)}
    first = next(iter(by_part.values()))
    for log in found:
        if other := next((key for key in first.told if key not in _OF_PART and log.told[key] != first.told[key]), None):
            raise DataError(f"{log.path}: is of another build than {first.path} (its {other} differs); collect one")
    for log in by_part.values():
        if _asked(log) != _asked(first):
            raise DataError(f"{log.path}: was asked of other models than {first.path}, or otherwise; collect one")
        if (log.header.eval.config.epochs or 1) > 1:
            raise DataError(f"{log.path}: has every document several times; build with one epoch")
    parts = _parts(logs, by_part)
    if undone := next((log for log in parts if not log.finished), None):
        raise DataError(
            f"{undone.path}: is unfinished ({undone.state}); finish it with: inspect eval-retry {undone.path}"
        )
    options = dict(first.told["options"])
    prompts = options.pop("prompts", None)
    _same_prompts(first, options, prompts)
    path.mkdir(parents=True, exist_ok=True)
    folder = {
        "builder": first.told["builder"],
        "options": options,
        "settings": {key: value for key, value in first.told.items() if key not in _SOURCE},
        "models": {"model": first.header.eval.model, "roles": _roles(first)},
        "source": {"name": first.told["documents"], "sha256": first.told["documents_sha256"]},
        "documents": sum(log.header.eval.dataset.samples or 0 for log in parts),
        "parts": len(parts),
    }
    if prompts:
        copied(Path(str(prompts)).expanduser(), path / PROMPTS)
    atomic_write_text(path / PLAN, json.dumps(folder, ensure_ascii=False, indent=1) + "\n")
    made = Folder(path)
    for number, log in enumerate(parts):
        made.logs(number).mkdir(parents=True)
        copied(log.path, made.logs(number) / log.path.name)
        made.seal(number, made.logs(number) / log.path.name)
    return made


_SOURCE = ("documents", "documents_sha256", "part", "options")


def _parts(logs: Path, by_part: dict[str, BuildLog]) -> list[BuildLog]:
    """The log of each part, in order. Raises DataError where one is missing."""
    if set(by_part) == {"None"}:
        return list(by_part.values())
    if "None" in by_part:
        raise DataError(f"{logs}: holds logs of parts and of all documents; collect one of them")
    named = {Part.named(name): log for name, log in by_part.items()}
    numbers = {part.of for part in named}
    missing = [f"{number}/{of}" for of in numbers for number in range(of) if Part(number, of) not in named]
    if len(numbers) > 1 or missing:
        raise DataError(f"{logs}: has no log of part {missing[0]}; its parts are {', '.join(sorted(by_part))}")
    return [named[part] for part in sorted(named)]


def _same_prompts(log: BuildLog, options: dict[str, Any], prompts: Any) -> None:
    """Raises DataError where the prompts that a log was asked with are no longer to be had."""
    own = pipeline_named(log.told["builder"], {**options, "prompts": prompts}).settings["prompt_hash"]
    if own != log.told["prompt_hash"]:
        raise DataError(
            f"{log.path}: was asked with other prompts ({log.told['prompt_hash']}) than there are now ({own})"
        )


_TRANSPORT = ("max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections")
"""Settings of how calls are made, which replies do not depend on."""


def _asked(log: BuildLog) -> dict[str, dict[str, Any]]:
    return {
        role: {name: value for name, value in own.items() if name not in _TRANSPORT} for role, own in log.models.items()
    }


def _roles(log: BuildLog) -> dict[str, str]:
    found = {}
    for role, models in (log.header.eval.model_roles or {}).items():
        found[role] = ", ".join(named.model for named in (models if isinstance(models, list) else [models]))
    return found
