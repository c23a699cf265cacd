"""Running tasks on a Ray cluster."""

import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import RunInterrupted, UsageError, require_extra
from halu_tasks.executors.jobs import Executor, Failure, Job, Progress, attempt, raise_first, read_settings, unfinished

# options of `ray.init` that users can set; all others are options of a task
_CONNECTION = ("address", "namespace", "runtime_env")


def ray_executor(tasks: int, config: Path | None = None) -> Executor:
    """Return the executor of a Ray cluster, whose settings are those of `run_on_ray`.

    Raises:
        UsageError: Ray is not installed, or an option is unknown or invalid.
    """
    options = read_settings(config)
    require_extra("cluster", "--executor ray")
    try:
        _remote(options)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{config or '--executor-config'}: {error}") from None
    return partial(run_on_ray, tasks=tasks, options=options)


def run_on_ray(job: Job, report: Progress, *, tasks: int, options: Mapping[str, Any]) -> None:
    """Run the tasks of a job that are not finished on a Ray cluster.

    It starts those again whose process or machine was lost.

    Args:
        job: The job.
        report: Called with lines about the progress.
        tasks: The number of tasks.
        options: `address` of the cluster, `namespace` and `runtime_env`; all others are options of a Ray task, such as
            `num_cpus`.

    Raises:
        HaluTasksError: What a task has raised, after the others have ended; or Ray has given up a task.
        RunInterrupted: The run was interrupted from the keyboard.
        UsageError: There is no cluster.
    """
    import ray

    # Ray prints what workers print, and which were lost; a command's standard output may be its JSON
    with redirect_stdout(sys.stderr):
        _connect(options)
        try:
            start = _remote(options)
            running = {start.remote(job, rank, tasks, Path.cwd()): rank for rank in unfinished(job, tasks)}
            _wait(running, job, tasks, report)
        except KeyboardInterrupt:
            raise RunInterrupted(f"interrupted; {job.name}: the same command continues from there") from None
        finally:
            # also ends what is left of the tasks
            ray.shutdown()


def _remote(options: Mapping[str, Any]) -> Any:
    import ray

    of_task = {key: value for key, value in options.items() if key not in _CONNECTION}
    return ray.remote(**{"num_cpus": 1, **of_task})(_attempt)


def _connect(options: Mapping[str, Any]) -> None:
    """Connect to the cluster.

    Raises:
        UsageError: There is none.
    """
    import ray

    connection = {key: value for key, value in options.items() if key in _CONNECTION}
    try:
        ray.init(**{"address": "auto", **connection}, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError) as error:
        message = str(error).strip().partition("\n")[0].partition(". Please")[0].rstrip(".")
        raise UsageError(
            f"--executor ray: {message}; start a cluster with `ray start --head`, or name one with address: in "
            "--executor-config"
        ) from None


def _attempt(job: Job, rank: int, tasks: int, folder: Path) -> Failure | None:
    """Run a task in the folder of the command, where a job's relative paths start."""
    os.chdir(folder)
    return attempt(job, rank, tasks)


def _wait(running: dict[Any, int], job: Job, tasks: int, report: Progress) -> None:
    """Wait for all tasks.

    Raises:
        HaluTasksError: The first error of a task.
        HaluTasksError: Ray has given up a task.
    """
    import ray

    failures: list[Failure] = []
    lost: list[str] = []
    total = len(running)
    while running:
        (ended, *_), _ = ray.wait(list(running))
        rank = running.pop(ended)
        try:
            failures += filter(None, [ray.get(ended)])
        except ray.exceptions.RayError as error:
            lost.append(f"task {rank + 1} of {tasks}: {str(error).strip().partition(chr(10))[0]}")
        report(f"{job.name}: {total - len(running)} of {total} tasks ended")
    raise_first(failures, lost)
