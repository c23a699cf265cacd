"""Executors by name, of this package and of other packages."""

from pathlib import Path

from halu_tasks.core.errors import UsageError
from halu_tasks.core.plugins import find_part
from halu_tasks.executors.jobs import Executor, ExecutorFactory

EXECUTORS = {
    "local": "halu_tasks.executors.jobs:local_executor",
    "slurm": "halu_tasks.executors.slurm:slurm_executor",
    "ray": "halu_tasks.executors.ray:ray_executor",
}
"""The function that makes each executor of this package."""


def get_executor(name: str, tasks: int, config: Path | None = None) -> Executor:
    """Return an executor.

    Args:
        name: `local`, `slurm`, `ray`, or one that a package adds.
        tasks: The number of tasks that a job is divided into.
        config: A YAML file of its settings: `attempts`; for Slurm, also `setup` and options of `sbatch`; for Ray only
            options of `ray.init` and of its tasks.

    Raises:
        UsageError: It is unknown or not installed, the file cannot be read, or a setting is unknown or invalid.
    """
    try:
        make: ExecutorFactory = find_part("executors", name, EXECUTORS)
    except ValueError as error:
        raise UsageError(f"--executor: {error}") from None
    return make(tasks, config)
