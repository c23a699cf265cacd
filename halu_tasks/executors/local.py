"""Running tasks on this machine, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from halu_tasks.core.errors import RunInterrupted
from halu_tasks.core.processes import GRACE, end_when
from halu_tasks.executors.jobs import ATTEMPTS, Failure, Job, Report, attempt, raise_first, unfinished

Processes = dict[int, tuple[SpawnProcess, Connection]]
"""The process of each task that runs, and where it sends the error that it raised, or None."""


def run_here(job: Job, report: Report, *, tasks: int = 1, attempts: int = ATTEMPTS) -> None:
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


def _wait(job: Job, running: Processes, report: Report, tasks: int, attempts: int) -> None:
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
    """Kill a task with all that it has started."""
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
