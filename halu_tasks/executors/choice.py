"""The executor that a user has chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.executors.job import Executor
from halu_tasks.executors.local import ATTEMPTS, LocalExecutor
from halu_tasks.executors.ray import RayExecutor
from halu_tasks.executors.slurm import SlurmExecutor

LOCAL, SLURM, RAY = "local", "slurm", "ray"
EXECUTORS = (LOCAL, SLURM, RAY)


def executor_named(name: str, tasks: int, config: Path | None = None) -> Executor:
    """Return an executor.

    Args:
        name: One of `EXECUTORS`.
        tasks: The number of tasks that a job is divided into.
        config: A YAML file of its settings: `attempts`, `setup` and options of `sbatch` for Slurm; options of a task
            and of `ray.init` for Ray; `attempts` on this machine.

    Raises:
        UsageError: It is not installed, the file cannot be read, or a setting is unknown or invalid.
    """
    # options of sbatch stay as they are written: YAML would read 12:00:00 as a number
    loader = yaml.BaseLoader if name == SLURM else yaml.SafeLoader
    settings = _read(config, loader) if config else {}
    where = str(config) if config else "--executor-config"
    if name == RAY:
        ray = RayExecutor(tasks, settings)
        ray.check(where)
        return ray
    given = str(settings.pop("attempts", ATTEMPTS))
    if not given.isdecimal() or not (attempts := int(given)):
        raise UsageError(f"{where}: attempts: expected an integer greater than 0, got {given!r}")
    if name == LOCAL:
        if unknown := next(iter(settings), None):
            raise UsageError(f"{where}: unknown key {unknown!r}{did_you_mean(unknown, ['attempts'])}")
        return LocalExecutor(tasks, attempts)
    setup = settings.pop("setup", [])
    if not isinstance(setup, list) or not all(isinstance(line, str) for line in setup):
        raise UsageError(f"{where}: setup: expected a list of strings")
    if invalid := next((key for key, value in settings.items() if not isinstance(value, str)), None):
        raise UsageError(f"{where}: {invalid}: expected one value, got {settings[invalid]!r}")
    slurm = SlurmExecutor(tasks, settings, setup, attempts)
    slurm.check(where)
    return slurm


def _read(path: Path, loader: type[yaml.BaseLoader | yaml.SafeLoader]) -> dict[str, Any]:
    """Read a file of settings."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(content, Mapping) or not all(isinstance(key, str) for key in content):
        raise UsageError(f"{path}: expected a mapping of settings")
    return dict(content)
