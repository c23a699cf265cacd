"""The executor that a user names, with its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.executors import ATTEMPTS, Executor


def executor_named(name: str, tasks: int, config: Path | None = None) -> Executor:
    """Return an executor.

    Args:
        name: `local`, `slurm` or `ray`.
        tasks: The number of tasks that a job is divided into.
        config: A YAML file of its settings: `attempts`; for Slurm, also `setup` and options of `sbatch`; for Ray only
            options of `ray.init` and of its tasks.

    Raises:
        UsageError: It is not installed, the file cannot be read, or a setting is unknown or invalid.
    """
    settings = _read(config, strings=name != "ray") if config else {}
    if name == "ray":
        from halu_tasks.executors.ray import RayExecutor

        return RayExecutor(tasks, settings).checked(str(config or "--executor-config"))
    attempts, setup = settings.pop("attempts", str(ATTEMPTS)), settings.pop("setup", [])
    if not (isinstance(attempts, str) and attempts.isdecimal() and int(attempts)):
        raise UsageError(f"{config}: attempts: expected an integer greater than 0, got {attempts!r}")
    if name == "local":
        from halu_tasks.executors.local import LocalExecutor

        if unknown := next(iter(settings), None):
            raise UsageError(f"{config}: unknown key {unknown!r}{did_you_mean(unknown, ['attempts'])}")
        return LocalExecutor(tasks, int(attempts))
    from halu_tasks.executors.slurm import SlurmExecutor, require_slurm

    if not isinstance(setup, list) or not all(isinstance(line, str) for line in setup):
        raise UsageError(f"{config}: setup: expected a list of strings")
    if invalid := next((key for key, value in settings.items() if not isinstance(value, str)), None):
        raise UsageError(f"{config}: {invalid}: expected one value, got {settings[invalid]!r}")
    require_slurm()
    return SlurmExecutor(tasks, settings, setup, int(attempts))


def _read(path: Path, *, strings: bool) -> dict[str, Any]:
    """Read a file of settings; values stay as they are written if `strings`: YAML would read 12:00:00 as a number."""
    import yaml

    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader if strings else yaml.SafeLoader)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path}: expected a mapping of settings")
    return content
