"""Jobs for the tests of executors, in a module that other processes can import."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.executors.jobs import Progress


@dataclass(frozen=True)
class Writing:
    """Each task writes a file with its number.

    Attributes:
        folder: The folder of the files.
        killed: Tasks whose process is killed, by how often.
        fails: A task that raises an error.
        waits: Seconds that each task takes.
        held: Whether each task waits until the folder contains `go`.
        prints: What each task prints on its standard output.
    """

    folder: Path
    killed: tuple[int, ...] = ()
    fails: int = -1
    waits: float = 0
    held: bool = False
    prints: str = ""

    name = "writing"

    def finished(self, rank: int, tasks: int) -> bool:
        return (self.folder / str(rank)).exists()

    def work(self, rank: int, tasks: int, report: Progress) -> None:
        with (self.folder / f"started-{rank}").open("a") as started:
            started.write(f"{os.getpid()}\n")
        starts = len((self.folder / f"started-{rank}").read_text().split())
        if starts <= self.killed.count(rank):
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == self.fails:
            raise DataError(f"task {rank} has no data")
        if self.prints:
            print(self.prints, flush=True)
        time.sleep(self.waits)
        while self.held and not (self.folder / "go").exists():
            time.sleep(0.05)
        (self.folder / str(rank)).write_text(f"{rank} of {tasks}")
        report(f"task {rank} wrote its file")
