"""Running work that is divided into tasks: in this process, in several on this machine, or with Slurm.

A `Job` says what each of its tasks does; an `Executor` runs them where the user wants them. A task writes what it makes
into a folder that all machines share, skips what is already there, and returns nothing, so a job that was killed is
continued by running it again.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from halu_tasks.core import errors
from halu_tasks.core.errors import HaluTasksError, RunInterrupted, UsageError, did_you_mean
from halu_tasks.core.files import read_yaml

ATTEMPTS = 4
"""How often a task is started if its process is killed."""
Report = Callable[[str], None]
"""Receives a line about the progress."""


class Job(Protocol):
    """Work that is divided into tasks.

    An instance is sent to other processes, as JSON on a cluster, so it is a frozen dataclass of a module whose fields
    pydantic can read. It must not hold credentials: Slurm keeps it in a file.
    """

    @property
    def name(self) -> str:
        """A short name, for the queue of a cluster; no other job of the folder has it."""

    @property
    def folder(self) -> Path:
        """The folder of the results, which all machines share; executors keep their files in `executor/NAME` of it."""

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether a task has nothing left to do.

        Args:
            rank: The task, from 0.
            tasks: The number of tasks.
        """

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Do what a task has not done yet, and leave the result in files.

        Args:
            rank: The task, from 0.
            tasks: The number of tasks.
            report: Called with lines about the progress.
        """


Executor = Callable[[Job, Report], None]
"""Runs the tasks of a job that are not finished, waits for them, and reports the progress.

A task whose process was killed or interrupted is started again, a few times. One that raises an error is not. The error
is raised after the other tasks have ended: what the task has raised if it was killed too often, or
RunInterrupted if the run was interrupted from the keyboard.
"""
Failure = tuple[str, str]
"""What a task has raised, in a form that other processes can read: the name of its class, and its message; for an error
that users cannot fix, its traceback."""


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
        from halu_tasks.executors.local import run_here

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


def raise_first(failures: Sequence[Failure], lost: Sequence[str]) -> None:
    """Raise the first error of the tasks of a job, or say which task was lost.

    Args:
        failures: The errors that tasks have raised.
        lost: Descriptions of the tasks that were killed too often.

    Raises:
        HaluTasksError: A task has raised it, or was lost.
    """
    if failures:
        name, message = failures[0]
        raise getattr(errors, name, RuntimeError)(message)
    if lost:
        raise HaluTasksError(f"{lost[0]}; what is finished is kept, and the same command continues from there")


def unfinished(job: Job, tasks: int) -> list[int]:
    """Return the tasks of a job that are not finished."""
    return [rank for rank in range(tasks) if not job.finished(rank, tasks)]


def attempt(job: Job, rank: int, tasks: int) -> Failure | None:
    """Run a task in a process that an executor has started for it; return the error that it raised, if any.

    Raises:
        SystemExit: The task was interrupted, and is not finished.
    """
    # what a shell has started in the background ignores SIGINT
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # a cluster that wants its machine back sends SIGTERM: as with Ctrl-C, what is finished is written before the end
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        job.work(rank, tasks, lambda line: print(line, file=sys.stderr, flush=True))
    except (KeyboardInterrupt, RunInterrupted):
        raise SystemExit(RunInterrupted.exit_status) from None
    except Exception as error:
        known = isinstance(error, HaluTasksError)
        return type(error).__name__, str(error) if known else "".join(traceback.format_exception(error))
    return None
