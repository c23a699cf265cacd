"""Executors by their names."""

from functools import partial
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.files import read_yaml
from halu_tasks.executors.jobs import ATTEMPTS, Executor, run_here


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
    # Slurm's times stay as they are written: YAML would read 12:00:00 as a number
    settings: Any = read_yaml(config, as_written=name == "slurm") if config else {}
    if not isinstance(settings, dict):
        raise UsageError(f"{config}: expected a mapping of settings")
    if name == "ray":
        from halu_tasks.executors.ray import check_options, run_on_ray

        check_options(settings, str(config or "--executor-config"))
        return partial(run_on_ray, tasks=tasks, options=settings)
    attempts = str(settings.pop("attempts", ATTEMPTS))
    if not attempts.isdecimal() or int(attempts) < 1:
        raise UsageError(f"{config}: attempts: expected an integer greater than 0, got {attempts!r}")
    if name == "local":
        if unknown := next(iter(settings), None):
            raise UsageError(f"{config}: unknown key {unknown!r}{did_you_mean(unknown, ['attempts'])}")
        return partial(run_here, tasks=tasks, attempts=int(attempts))
    from halu_tasks.executors.slurm import SlurmExecutor, require_slurm

    setup = settings.pop("setup", [])
    for key, value, form in (("setup", setup, list), *((key, value, str) for key, value in settings.items())):
        if not isinstance(value, form):
            raise UsageError(f"{config}: {key}: expected {'a list' if form is list else 'one value'}, got {value!r}")
    require_slurm()
    return SlurmExecutor(tasks, settings, setup, int(attempts)).run
