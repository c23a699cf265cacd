"""Running tasks with Slurm, as one array of jobs.

The folder of a job then has a folder `executor/NAME`, which contains:

job.json           the job, which every task reads
task-0.log         what a task has printed
task-0.json        how a task has ended
slurm.json         the arrays that were submitted, so that the same command waits for them instead of starting anew
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from pydantic import TypeAdapter

from halu_tasks.core.errors import DataError, RunInterrupted, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors.job import ATTEMPTS, Job, Report, TaskFailure, attempt, raise_first, unfinished

_JOB, _ARRAYS = "job.json", "slurm.json"
_OURS = ("array", "job-name", "output", "error", "open-mode", "parsable", "requeue", "wait", "wrap", "chdir")
"""Options of sbatch that are not the user's to set."""
_PATIENCE = 20
"""Seconds within which other machines see a file that a task has written."""


@dataclass(frozen=True)
class SlurmExecutor:
    """Runs tasks as an array of Slurm jobs.

    Attributes:
        tasks: The number of tasks.
        options: Options of `sbatch` by name, such as `partition`; those that take no value have `true`.
        setup: Lines of the shell to run before each task, such as `module load cuda`.
        attempts: How often a task is started if its process is killed.
        patience: Seconds within which other machines see a file that a task has written.
    """

    tasks: int
    options: Mapping[str, str] = field(default_factory=dict)
    setup: Sequence[str] = ()
    attempts: int = ATTEMPTS
    patience: float = _PATIENCE

    def checked(self, where: str) -> SlurmExecutor:
        """Return this executor after a check that Slurm is installed, and has the options.

        Args:
            where: What contains the options, for the error.

        Raises:
            UsageError: It is not, or it has not.
        """
        if not shutil.which("sbatch"):
            raise UsageError(
                "--executor slurm: sbatch is not installed here; run the command on a machine of the cluster"
            )
        known = set(re.findall(r"--([a-z][a-z-]+)", _run("sbatch", "--help").stdout)) - set(_OURS)
        if unknown := next((name for name in self.options if name not in known), None):
            raise UsageError(f"{where}: sbatch has no option {unknown!r}, or it is set by this command")
        return self

    def run(self, job: Job, report: Report) -> None:
        """Run the tasks of a job that are not finished, as `Executor.run` says."""
        array = _Array(self, job, report)
        array.folder.mkdir(parents=True, exist_ok=True)
        array.run()


class _Array:
    """The tasks of a job in Slurm."""

    def __init__(self, executor: SlurmExecutor, job: Job, report: Report) -> None:
        self.executor, self.job, self.report = executor, job, report
        self.folder = job.folder.resolve() / "executor" / job.name
        self.started: Counter[int] = Counter()

    def run(self) -> None:
        """Submit the tasks, or find those that an earlier command has submitted, and wait for all of them."""
        arrays = self._earlier()
        waiting = unfinished(self.job, self.executor.tasks)
        queued = self._queued(arrays)
        try:
            if queued:
                self.report(f"{self.job.name}: waits for array {', '.join(arrays)}, which was submitted before")
            if ranks := [rank for rank in waiting if rank not in queued]:
                arrays.append(self._submit(ranks, arrays))
            self._wait(set(waiting), arrays)
        except KeyboardInterrupt:
            raise RunInterrupted(
                f"interrupted; {self.job.name}: the tasks go on (scancel {' '.join(arrays)} ends them), and the same "
                "command waits for them"
            ) from None

    def _earlier(self) -> list[str]:
        """Return the arrays that an earlier command has submitted and that have not ended.

        Raises:
            DataError: They divide the job into another number of tasks.
        """
        path = self.folder / _ARRAYS
        if not path.is_file():
            return []
        record = read_json_object(path)
        arrays = [array for array in record["arrays"] if self._queued([array])]
        if arrays and record["tasks"] != self.executor.tasks:
            raise DataError(
                f"{path}: array {', '.join(arrays)} still works on {record['tasks']} tasks; wait for it with "
                f"--executor-tasks {record['tasks']}, or end it with: scancel {' '.join(arrays)}"
            )
        return arrays

    def _submit(self, ranks: Sequence[int], earlier: Sequence[str]) -> str:
        """Submit tasks as an array; return its number."""
        atomic_write_text(self.folder / _JOB, _as_json(self.job, self.executor.tasks))
        for rank in ranks:
            self._ended(rank).unlink(missing_ok=True)
            self.started[rank] += 1
        options = {
            **self.executor.options,
            "array": ",".join(map(str, ranks)),
            "job-name": f"halu-{self.job.name}",
            "output": str(self.folder / "task-%a.log"),
            "open-mode": "append",
            "requeue": "true",
        }
        command = [sys.executable, "-m", "halu_tasks.executors.slurm", str(self.folder / _JOB)]
        script = "\n".join(
            ["#!/bin/sh", *self.executor.setup, f'exec {shlex.join(command)} "$SLURM_ARRAY_TASK_ID"', ""]
        )
        given = [f"--{name}" if value == "true" else f"--{name}={value}" for name, value in options.items()]
        result = _run("sbatch", "--parsable", *given, stdin=script)
        if result.returncode:
            raise DataError(f"sbatch: {' '.join(result.stderr.split())}")
        array = result.stdout.strip().partition(";")[0]
        record = {"tasks": self.executor.tasks, "arrays": [*earlier, array]}
        atomic_write_text(self.folder / _ARRAYS, json.dumps(record) + "\n")
        self.report(f"{self.job.name}: array {array} with {len(ranks)} tasks; their output is in {self.folder}")
        return array

    def _queued(self, arrays: Sequence[str]) -> set[int]:
        """Return the tasks of arrays that wait or run."""
        ranks: set[int] = set()
        for array in arrays:
            while (result := _run("squeue", "--noheader", "--array", f"--jobs={array}", "--format=%K")).returncode:
                if "Invalid job id" in result.stderr:
                    break
                self.report(f"squeue: {' '.join(result.stderr.split())}; trying again")
                time.sleep(10)
            ranks |= {int(rank) for rank in result.stdout.split() if rank.isdecimal()}
        return ranks

    def _wait(self, waiting: set[int], arrays: list[str]) -> None:
        """Wait for tasks, and submit those again that were killed.

        Raises:
            HaluTasksError: The first error of a task.
            TaskLost: A task was killed too often.
        """
        failures: list[TaskFailure] = []
        lost: list[int] = []
        gone: dict[int, float] = {}
        total = len(waiting)
        began = time.monotonic()
        while waiting:
            # first who is in the queue: what has left it has written its file
            queued = self._queued(arrays)
            ended = [rank for rank in waiting if self._ended(rank).is_file()]
            for rank in ended:
                failure = read_json_object(self._ended(rank))["failure"]
                failures += [TaskFailure(*failure)] if failure else []
            waiting -= set(ended)
            if ended:
                self.report(f"{self.job.name}: {total - len(waiting)} of {total} tasks ended")
            now = time.monotonic()
            gone = {rank: gone.get(rank, now) for rank in waiting - queued}
            again = [rank for rank, since in gone.items() if now - since >= self.executor.patience]
            lost += [rank for rank in again if self.started[rank] >= self.executor.attempts]
            waiting -= set(lost)
            if again := sorted(set(again) - set(lost)):
                self.report(f"{self.job.name}: {len(again)} tasks were killed, and are submitted again")
                arrays.append(self._submit(again, arrays))
                gone = {}
            time.sleep(min(10, 0.5 + (now - began) / 60) if waiting else 0)
        killed = f"of {self.executor.tasks} was killed {self.executor.attempts} times, see {self.folder}"
        raise_first(failures, [f"task {rank + 1} {killed}/task-{rank}.log" for rank in lost])

    def _ended(self, rank: int) -> Path:
        return _ended(self.folder, rank)


def _ended(folder: Path, rank: int) -> Path:
    """Return the file that says how a task has ended."""
    return folder / f"task-{rank}.json"


def _as_json(job: Job, tasks: int) -> str:
    kind = type(job)
    fields = TypeAdapter(kind).dump_python(job, mode="json")
    return json.dumps({"job": f"{kind.__module__}:{kind.__qualname__}", "tasks": tasks, "fields": fields}) + "\n"


def _read_job(path: Path) -> tuple[Job, int]:
    record = read_json_object(path)
    module, _, name = record["job"].partition(":")
    return TypeAdapter(getattr(import_module(module), name)).validate_python(record["fields"]), record["tasks"]


def _run(*command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def main() -> None:
    """Run a task on the machine that Slurm has chosen: `python -m halu_tasks.executors.slurm JOB RANK`."""
    path, rank = Path(sys.argv[1]), int(sys.argv[2])
    job, tasks = _read_job(path)
    failure = attempt(job, rank, tasks)
    if failure:
        print(failure.message, file=sys.stderr)
    atomic_write_text(_ended(path.parent, rank), json.dumps({"failure": failure}) + "\n")


if __name__ == "__main__":
    main()
