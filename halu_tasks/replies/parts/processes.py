"""Running the tasks of a job in several processes of this machine."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from halu_tasks.replies.parts.jobs import Job, Report


@dataclass(frozen=True)
class Processes:
    """Runs each task in a process of its own; a single one in this process.

    Attributes:
        tasks: The number of tasks, which run at the same time.
    """

    tasks: int = 1

    def run(self, job: Job, report: Report) -> None:
        """Run the tasks of a job that are not finished.

        Raises:
            Exception: The first error of a task.
        """
        if self.tasks == 1:
            job.work(0, 1, report)
            return
        ranks = [rank for rank in range(self.tasks) if not job.finished(rank, self.tasks)]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.tasks, context, _end_with_parent) as pool:
            for future in [pool.submit(_work, job, rank, self.tasks) for rank in ranks]:
                future.result()


def _work(job: Job, rank: int, tasks: int) -> None:
    job.work(rank, tasks, lambda line: None)


def _end_with_parent() -> None:
    """End this process when its parent is killed, which otherwise leaves it waiting for work (Linux only)."""
    if sys.platform == "linux":
        death_signal = 1
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(death_signal, signal.SIGKILL)
