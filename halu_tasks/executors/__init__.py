"""Running work that is divided into tasks: in this process, in several on this machine, with Slurm, or with Ray.

A `Job` says what each of its tasks does; an `Executor` runs them where the user wants them. A task writes what it makes
into a folder that all machines share, skips what is already there, and returns nothing, so a job that was killed is
continued by running it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.executors.job import ATTEMPTS, Executor, Job, Report

__all__ = ["Executor", "Job", "Report", "executor_named"]


def executor_named(name: str, tasks: int, config: Path | None = None) -> Executor:
    """Return an executor.

    Args:
        name: `local`, `slurm` or `ray`.
        tasks: The number of tasks that a job is divided into.
        config: A YAML file of its settings: `attempts`, `setup` and options of `sbatch` for Slurm; options of a task
            and of `ray.init` for Ray; `attempts` on this machine.

    Raises:
        UsageError: It is not installed, the file cannot be read, or a setting is unknown or invalid.
    """
    settings = _read(config, strings=name == "slurm") if config else {}
    where = str(config) if config else "--executor-config"
    if name == "ray":
        from halu_tasks.executors.ray import RayExecutor

        return RayExecutor(tasks, settings).checked(where)
    given = str(settings.pop("attempts", ATTEMPTS))
    if not given.isdecimal() or not (attempts := int(given)):
        raise UsageError(f"{where}: attempts: expected an integer greater than 0, got {given!r}")
    if name == "local":
        from halu_tasks.executors.local import LocalExecutor

        if unknown := next(iter(settings), None):
            raise UsageError(f"{where}: unknown key {unknown!r}{did_you_mean(unknown, ['attempts'])}")
        return LocalExecutor(tasks, attempts)
    from halu_tasks.executors.slurm import SlurmExecutor

    setup = settings.pop("setup", [])
    if not isinstance(setup, list) or not all(isinstance(line, str) for line in setup):
        raise UsageError(f"{where}: setup: expected a list of strings")
    if invalid := next((key for key, value in settings.items() if not isinstance(value, str)), None):
        raise UsageError(f"{where}: {invalid}: expected one value, got {settings[invalid]!r}")
    return SlurmExecutor(tasks, settings, setup, attempts).checked(where)


def _read(path: Path, *, strings: bool) -> dict[str, Any]:
    """Read a file of settings; values stay as they are written if `strings`: YAML would read 12:00:00 as a number."""
    import yaml

    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader if strings else yaml.SafeLoader)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(content, Mapping) or not all(isinstance(key, str) for key in content):
        raise UsageError(f"{path}: expected a mapping of settings")
    return dict(content)
