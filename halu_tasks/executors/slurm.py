"""Running tasks with Slurm, as one array of jobs.

The folder of a job then has a folder `executor/NAME`, which contains:

job.json           the job, which every task reads if it is still the one that was submitted
task-0.log         what a task has printed
task-0.json        how a task has ended
slurm.json         the arrays that were submitted, so that the same command waits for them instead of starting anew
"""

import json
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

from halu_tasks.core.credentials import secret_in
from halu_tasks.core.errors import DataError, RunInterrupted, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.hashing import stable_hash
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors.jobs import (
    ATTEMPTS,
    Executor,
    Failure,
    Job,
    Progress,
    attempt,
    raise_first,
    read_settings,
    take_attempts,
    unfinished,
)

_JOB, _ARRAYS = "job.json", "slurm.json"
# seconds within which other machines see a file that a task has written
_PATIENCE = 20


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

    def run(self, job: Job, report: Progress) -> None:
        """Run the tasks of a job that are not finished.

        Tasks that an earlier command has submitted are waited for.
        """
        folder = job.folder.resolve() / "executor" / job.name
        folder.mkdir(parents=True, exist_ok=True)
        arrays = self._earlier(folder, report)
        waiting, queued = set(unfinished(job, self.tasks)), _queued(arrays, report)
        try:
            if queued:
                report(f"{job.name}: waits for array {', '.join(arrays)}, which was submitted before")
            started = Counter(waiting - queued)
            self._submit(job, sorted(started), folder, arrays, report)
            self._wait(job, waiting, started, folder, arrays, report)
        except KeyboardInterrupt:
            raise RunInterrupted(
                f"interrupted; {job.name}: the tasks go on (scancel {' '.join(arrays)} ends them), and the same "
                "command waits for them"
            ) from None

    def _earlier(self, folder: Path, report: Progress) -> list[str]:
        """Return the unfinished arrays of an earlier command.

        Raises:
            DataError: They divide the job into another number of tasks.
        """
        path = folder / _ARRAYS
        if not path.is_file():
            return []
        record = read_json_object(path)
        arrays = [array for array in record["arrays"] if _queued([array], report)]
        if arrays and record["tasks"] != self.tasks:
            raise DataError(
                f"{path}: array {', '.join(arrays)} still works on {record['tasks']} tasks; wait for it with "
                f"--executor-tasks {record['tasks']}, or end it with: scancel {' '.join(arrays)}"
            )
        return arrays

    def _submit(self, job: Job, ranks: Sequence[int], folder: Path, arrays: list[str], report: Progress) -> None:
        if not ranks:
            return
        content = _as_json(job, self.tasks)
        atomic_write_text(folder / _JOB, content)
        for rank in ranks:
            _ended(folder, rank).unlink(missing_ok=True)
        options = {
            **self.options,
            "array": ",".join(map(str, ranks)),
            "job-name": f"halu-{job.name}",
            "output": str(folder / "task-%a.log"),
            "open-mode": "append",
            "requeue": "true",
        }
        # with -P, a checkout in the current folder does not hide the installation; who can write to the folder cannot
        # have a task do something else
        command = [sys.executable, "-P", "-m", "halu_tasks.executors.slurm", str(folder / _JOB), stable_hash(content)]
        script = "\n".join(["#!/bin/sh", *self.setup, f'exec {shlex.join(command)} "$SLURM_ARRAY_TASK_ID"', ""])
        flags = [f"--{name}" if value == "true" else f"--{name}={value}" for name, value in options.items()]
        result = _run("sbatch", "--parsable", *flags, stdin=script)
        if result.returncode:
            raise DataError(f"sbatch: {' '.join(result.stderr.split())}")
        array = result.stdout.strip().partition(";")[0]
        arrays.append(array)
        atomic_write_text(folder / _ARRAYS, json.dumps({"tasks": self.tasks, "arrays": arrays}) + "\n")
        report(f"{job.name}: array {array} with {len(ranks)} tasks; their output is in {folder}")

    def _wait(
        self, job: Job, waiting: set[int], started: Counter[int], folder: Path, arrays: list[str], report: Progress
    ) -> None:
        """Wait for tasks, and submit those again that were killed.

        Raises:
            HaluTasksError: The first error of a task.
            HaluTasksError: A task was killed too often.
        """
        failures, lost, gone = list[Failure](), list[int](), dict[int, float]()
        total, began = len(waiting), time.monotonic()
        while waiting:
            # first who is in the queue: what has left it has written its file
            queued = _queued(arrays, report)
            ended = [rank for rank in waiting if _ended(folder, rank).is_file()]
            for rank in ended:
                failures += filter(None, [read_json_object(_ended(folder, rank))["failure"]])
            waiting -= set(ended)
            if ended:
                report(f"{job.name}: {total - len(waiting)} of {total} tasks ended")
            now = time.monotonic()
            gone = {rank: gone.get(rank, now) for rank in waiting - queued}
            killed = [rank for rank, since in gone.items() if now - since >= self.patience]
            lost += [rank for rank in killed if started[rank] >= self.attempts]
            waiting -= set(lost)
            if again := sorted(set(killed) - set(lost)):
                report(f"{job.name}: {len(again)} tasks were killed, and are submitted again")
                started.update(again)
                self._submit(job, again, folder, arrays, report)
                gone = {}
            time.sleep(min(10, 0.5 + (now - began) / 60) if waiting else 0)
        often = f"of {self.tasks} was killed {self.attempts} times, see {folder}"
        raise_first(failures, [f"task {rank + 1} {often}/task-{rank}.log" for rank in lost])


def slurm_executor(tasks: int, config: Path | None = None) -> Executor:
    """Return the executor of this cluster, whose settings are `attempts`, `setup` and options of `sbatch`.

    Raises:
        UsageError: Slurm is not installed here, or a setting is invalid.
    """
    settings = read_settings(config, as_written=True)
    attempts, setup = take_attempts(settings, config), settings.pop("setup", [])
    for key, value, form in (("setup", setup, list), *((key, value, str) for key, value in settings.items())):
        if not isinstance(value, form):
            raise UsageError(f"{config}: {key}: expected {'a list' if form is list else 'one value'}, got {value!r}")
    if not shutil.which("sbatch"):
        raise UsageError("--executor slurm: sbatch is not installed here; run the command on a machine of the cluster")
    return SlurmExecutor(tasks, settings, setup, attempts).run


def _queued(arrays: Sequence[str], report: Progress) -> set[int]:
    ranks: set[int] = set()
    for array in arrays:
        while (result := _run("squeue", "--noheader", "--array", f"--jobs={array}", "--format=%K")).returncode:
            if "Invalid job id" in result.stderr:
                break
            report(f"squeue: {' '.join(result.stderr.split())}; trying again")
            time.sleep(10)
        ranks |= {int(rank) for rank in result.stdout.split() if rank.isdecimal()}
    return ranks


def _ended(folder: Path, rank: int) -> Path:
    return folder / f"task-{rank}.json"


def _as_json(job: Job, tasks: int) -> str:
    kind = type(job)
    fields = TypeAdapter(kind).dump_python(job, mode="json")
    if (place := secret_in(fields)) is not None:
        raise UsageError(
            f"--executor slurm: keeps settings in a file, and {place} contains a credential; set credentials in the "
            "environment, such as OPENAI_API_KEY, instead of naming them on the command line"
        )
    return json.dumps({"job": f"{kind.__module__}:{kind.__qualname__}", "tasks": tasks, "fields": fields}) + "\n"


def _read_job(path: Path, sha256: str) -> tuple[Job, int]:
    content = path.read_text(encoding="utf-8")
    if stable_hash(content) != sha256:
        raise DataError(f"{path}: is not the job that was submitted; scancel its tasks, and give the command again")
    record = json.loads(content)
    module, _, name = record["job"].partition(":")
    return TypeAdapter(getattr(import_module(module), name)).validate_python(record["fields"]), record["tasks"]


def _run(*command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def main() -> None:
    """Run a task on the machine that Slurm has chosen: `python -m halu_tasks.executors.slurm JOB SHA256 RANK`."""
    path, rank = Path(sys.argv[1]), int(sys.argv[3])
    job, tasks = _read_job(path, sys.argv[2])
    failure = attempt(job, rank, tasks)
    if failure:
        print(failure[1], file=sys.stderr)
    atomic_write_text(_ended(path.parent, rank), json.dumps({"failure": failure}) + "\n")


if __name__ == "__main__":
    main()
