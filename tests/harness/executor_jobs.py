"""Jobs for the tests of executors, in a module that other processes can import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.executors.job import Report


@dataclass(frozen=True)
class Writing:
    """Each task writes a file with its number.

    Attributes:
        path: The folder of the files.
        killed: Tasks whose process is killed, by how often.
        fails: A task that raises an error.
        waits: Seconds that each task takes.
        held: Whether each task waits until the folder contains `go`.
    """

    path: Path
    killed: tuple[int, ...] = ()
    fails: int = -1
    waits: float = 0
    held: bool = False

    name = "writing"

    @property
    def folder(self) -> Path:
        return self.path / "executor"

    def finished(self, rank: int, tasks: int) -> bool:
        return (self.path / str(rank)).exists()

    def work(self, rank: int, tasks: int, report: Report) -> None:
        with (self.path / f"started-{rank}").open("a") as started:
            started.write(f"{os.getpid()}\n")
        starts = len((self.path / f"started-{rank}").read_text().split())
        if starts <= self.killed.count(rank):
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == self.fails:
            raise DataError(f"task {rank} has no data")
        time.sleep(self.waits)
        while self.held and not (self.path / "go").exists():
            time.sleep(0.05)
        (self.path / str(rank)).write_text(f"{rank} of {tasks}")
        report(f"task {rank} wrote its file")
