"""The two steps of scoring that are divided into tasks: the parts of the replies, and the tables of sums by cluster.

A job is a value that other processes can read. Task `rank` of `tasks` does every `tasks`-th part that is not finished,
so any number of tasks gives the same folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from halu_tasks.executors import Report
from halu_tasks.replies.parts.plan import Work
from halu_tasks.replies.parts.score_part import score_part
from halu_tasks.replies.parts.tabulate import TableRange, tabulate


@dataclass(frozen=True)
class ScoreParts:
    """Scoring the parts of a run.

    Attributes:
        folder: The folder of the run, with its plan.
        parts: The number of parts.
    """

    folder: Path
    parts: int
    name: ClassVar[str] = "score"

    def finished(self, rank: int, tasks: int) -> bool:
        """Return whether the parts of a task are finished."""
        return all(Work(self.folder).part(part).exists() for part in range(rank, self.parts, tasks))

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Score the parts of a task."""
        for part in range(rank, self.parts, tasks):
            score_part(self.folder, part)
            report(f"part {part + 1} of {self.parts} is scored")


@dataclass(frozen=True)
class SumByCluster:
    """Summing up the scores of all parts by cluster.

    Attributes:
        folder: The folder of the run, whose parts are finished.
        tables: The number of tables.
        epochs: The epochs that occur.
    """

    folder: Path
    tables: int
    epochs: Sequence[int]
    name: ClassVar[str] = "sum"

    def finished(self, rank: int, tasks: int) -> bool:
        """Return whether the tables of a task are written."""
        return all(Work(self.folder).table(table).exists() for table in range(rank, self.tables, tasks))

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Write the tables of a task."""
        for table in range(rank, self.tables, tasks):
            tabulate(self.folder, TableRange(table, self.tables), self.epochs)
            report(f"table {table + 1} of {self.tables} is written")
