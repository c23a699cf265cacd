"""Work that is divided into tasks, and what runs it: this process or several on this machine, or a cluster.

A `Job` says what each of its tasks does; an `Executor` runs them where the user wants them. A task writes what it makes
into a folder that all machines share, skips what is already there, and returns nothing, so a job that was killed is
continued by running it again.
"""

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol

from halu_tasks.core import errors
from halu_tasks.core.credentials import redacted
from halu_tasks.core.errors import HaluTasksError, RunInterrupted, UsageError, did_you_mean
from halu_tasks.core.files import read_yaml
from halu_tasks.core.processes import GRACE, end_when, interrupt_on_signals

ATTEMPTS = 4
"""How often a task is started if its process is killed."""
Progress = Callable[[str], None]
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

    def work(self, rank: int, tasks: int, report: Progress) -> None:
        """Do what a task has not done yet, and leave the result in files.

        Args:
            rank: The task, from 0.
            tasks: The number of tasks.
            report: Called with lines about the progress.
        """


Executor = Callable[[Job, Progress], None]
"""Runs the tasks of a job that are not finished, waits for them, and reports the progress.

A task whose process was killed or interrupted is started again, a few times. One that raises an error is not. The error
is raised after the other tasks have ended: what the task has raised; HaluTasksError if it was killed too often; or
RunInterrupted if the run was interrupted from the keyboard.
"""
ExecutorFactory = Callable[[int, Path | None], Executor]
"""Makes an executor of the number of tasks that a job is divided into, and a YAML file of settings, if there is one.

It raises UsageError if the executor is not installed, or if a setting is unknown or invalid.
"""
Failure = tuple[str, str]
"""What a task has raised, in a form that other processes can read: the name of its class, and its message; for an error
that users cannot fix, its traceback."""


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
        kind = getattr(errors, name, None)
        raise (kind if isinstance(kind, type) and issubclass(kind, HaluTasksError) else RuntimeError)(message)
    if lost:
        raise HaluTasksError(f"{lost[0]}; what is finished is kept, and the same command continues from there")


def read_settings(config: Path | None, *, as_written: bool = False) -> dict[str, Any]:
    """Read the settings of an executor.

    Args:
        config: The YAML file; None for no settings.
        as_written: Whether values stay strings: YAML would read Slurm's time 12:00:00 as a number.

    Raises:
        UsageError: The file cannot be read, or is not a mapping.
    """
    settings = read_yaml(config, as_written=as_written) if config else {}
    if not isinstance(settings, dict):
        raise UsageError(f"{config}: expected a mapping of settings")
    return settings


def take_attempts(settings: dict[str, Any], config: Path | None) -> int:
    """Remove `attempts` from settings, and return it.

    Raises:
        UsageError: It is not an integer greater than 0.
    """
    attempts = str(settings.pop("attempts", ATTEMPTS))
    if not attempts.isdecimal() or int(attempts) < 1:
        raise UsageError(f"{config}: attempts: expected an integer greater than 0, got {attempts!r}")
    return int(attempts)


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
    # a cluster that wants its machine back sends SIGTERM, and so does the process that has started this one
    interrupt_on_signals()
    try:
        job.work(rank, tasks, lambda line: print(line, file=sys.stderr, flush=True))
    except (KeyboardInterrupt, RunInterrupted):
        raise SystemExit(RunInterrupted.exit_status) from None
    except Exception as error:
        is_for_users = isinstance(error, HaluTasksError)
        message = str(error) if is_for_users else redacted("".join(traceback.format_exception(error)))
        return type(error).__name__, message
    return None


# --- on this machine ------------------------------------------------------------------------------


Processes = dict[int, tuple[SpawnProcess, Connection]]
"""The process of each task that runs, and where it sends the error that it raised, or None."""


def local_executor(tasks: int, config: Path | None = None) -> Executor:
    """Return the executor of this machine, whose only setting is `attempts`.

    Raises:
        UsageError: There is another setting, or an invalid one.
    """
    settings = read_settings(config)
    attempts = take_attempts(settings, config)
    if unknown := next(iter(settings), None):
        raise UsageError(f"{config}: unknown key {unknown!r}{did_you_mean(unknown, ['attempts'])}")
    return partial(run_here, tasks=tasks, attempts=attempts)


def run_here(job: Job, report: Progress, *, tasks: int = 1, attempts: int = ATTEMPTS) -> None:
    """Run the tasks of a job that are not finished: one in this process, several in processes of their own.

    Args:
        job: The job.
        report: Called with lines about the progress.
        tasks: The number of tasks, which run at the same time.
        attempts: How often a task is started if its process is killed.

    Raises:
        HaluTasksError: What a task has raised, after the others have ended; or a task was killed too often.
        RunInterrupted: The run was interrupted from the keyboard.
    """
    if tasks == 1:
        job.work(0, 1, report)
        return
    running: Processes = {}
    try:
        for rank in unfinished(job, tasks):
            running[rank] = _start(job, rank, tasks)
        _wait(job, running, report, tasks, attempts)
    except KeyboardInterrupt:
        _interrupt(running)
        raise RunInterrupted(f"interrupted; {job.name}: the same command continues from there") from None
    finally:
        for process, _ in running.values():
            _kill_group(process)


def _wait(job: Job, running: Processes, report: Progress, tasks: int, attempts: int) -> None:
    """Wait for all tasks, and start those again whose process was killed.

    Raises:
        HaluTasksError: The first error of a task, or a task was killed too often.
    """
    started, failures, lost = Counter(running.keys()), list[Failure](), list[str]()
    while running:
        ended = wait([process.sentinel for process, _ in running.values()])
        for rank in [rank for rank, (process, _) in running.items() if process.sentinel in ended]:
            process, receiver = running.pop(rank)
            _kill_group(process)
            process.join()
            try:
                failures += filter(None, [receiver.recv()])
            except EOFError:
                how = f"task {rank + 1} of {tasks} was killed (exit status {process.exitcode})"
                if started[rank] == attempts:
                    lost.append(f"{how}, {attempts} times")
                    continue
                report(f"{how}, and is started again")
                started[rank] += 1
                running[rank] = _start(job, rank, tasks)
    raise_first(failures, lost)


def _start(job: Job, rank: int, tasks: int) -> tuple[SpawnProcess, Connection]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, rank, tasks, sender), name=f"task {rank + 1}")
    process.start()
    sender.close()
    return process, receiver


def _interrupt(running: Processes) -> None:
    """Interrupt tasks as Ctrl-C does, and wait a while for them to write what is finished."""
    for process, _ in running.values():
        process.terminate()
    until = time.monotonic() + GRACE
    for process, _ in running.values():
        process.join(max(0.0, until - time.monotonic()))


def _kill_group(process: SpawnProcess) -> None:
    """Kill a task and the processes that it has started."""
    if process.pid:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _work(job: Job, rank: int, tasks: int, sender: Connection) -> None:
    """Run a task in this process, which ends when its parent does; send the error that it raised, or None."""
    # a group of its own, so that what the task has started ends with it
    os.setsid()
    if parent := multiprocessing.parent_process():
        end_when(parent.join)
    sender.send(attempt(job, rank, tasks))
