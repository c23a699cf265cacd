"""Running tasks on a Ray cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import RunInterrupted, UsageError, require_extra
from halu_tasks.executors import Job, Report, TaskFailure, attempt, raise_first, unfinished

_CONNECTION = ("address", "namespace", "runtime_env")
"""Options of `ray.init` that users can set; all others are options of a task."""


@dataclass(frozen=True)
class RayExecutor:
    """Runs tasks on a Ray cluster, which starts those again whose process or machine was lost.

    Attributes:
        tasks: The number of tasks.
        options: `address` of the cluster, `namespace` and `runtime_env`; all others are options of a Ray task, such as
            `num_cpus`.
    """

    tasks: int
    options: Mapping[str, Any] = field(default_factory=dict)

    def checked(self, where: str) -> RayExecutor:
        """Return this executor after a check that Ray is installed, and has the options.

        Args:
            where: What contains the options, for the error.

        Raises:
            UsageError: It is not, or it has not.
        """
        require_extra("cluster", "--executor ray")
        import ray

        try:
            ray.remote(**self._task_options())(_attempt)
        except (ValueError, TypeError) as error:
            raise UsageError(f"{where}: {error}") from None
        return self

    def _task_options(self) -> dict[str, Any]:
        return {"num_cpus": 1, **{key: value for key, value in self.options.items() if key not in _CONNECTION}}

    def run(self, job: Job, report: Report) -> None:
        """Run the tasks of a job that are not finished, as `Executor.run` says."""
        # Ray prints what workers print, and which were lost; a command's standard output may be its JSON
        with redirect_stdout(sys.stderr):
            self._run(job, report)

    def _run(self, job: Job, report: Report) -> None:
        import ray

        self._connect()
        try:
            start = ray.remote(**self._task_options())(_attempt)
            running = {start.remote(job, rank, self.tasks, Path.cwd()): rank for rank in unfinished(job, self.tasks)}
            _wait(running, job, self.tasks, report)
        except KeyboardInterrupt:
            raise RunInterrupted(f"interrupted; {job.name}: the same command continues from there") from None
        finally:
            # also ends what is left of the tasks
            ray.shutdown()

    def _connect(self) -> None:
        """Connect to the cluster.

        Raises:
            UsageError: There is none.
        """
        import ray

        connection = {key: value for key, value in self.options.items() if key in _CONNECTION}
        try:
            ray.init(**{"address": "auto", **connection}, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            message = str(error).strip().partition("\n")[0].partition(". Please")[0].rstrip(".")
            raise UsageError(
                f"--executor ray: {message}; start a cluster with `ray start --head`, or name one with address: in "
                "--executor-config"
            ) from None


def _attempt(job: Job, rank: int, tasks: int, folder: Path) -> TaskFailure | None:
    """Run a task in the folder in which the command was given, as a job's relative paths start there."""
    os.chdir(folder)
    return attempt(job, rank, tasks)


def _wait(running: dict[Any, int], job: Job, tasks: int, report: Report) -> None:
    """Wait for all tasks.

    Raises:
        HaluTasksError: The first error of a task.
        HaluTasksError: Ray has given up a task.
    """
    import ray

    failures: list[TaskFailure] = []
    lost: list[str] = []
    total = len(running)
    while running:
        (ended, *_), _ = ray.wait(list(running))
        rank = running.pop(ended)
        try:
            failure = ray.get(ended)
            failures += [failure] if failure else []
        except ray.exceptions.RayError as error:
            lost.append(f"task {rank + 1} of {tasks}: {str(error).strip().partition(chr(10))[0]}")
        report(f"{job.name}: {total - len(running)} of {total} tasks ended")
    raise_first(failures, lost)
