"""Running models on tasks, and what of it is done.

A model's folder contains what its harness writes, its last commands (`command.txt`), all that they printed
(`output.txt`), and how the model is run (`settings.json`), which must not change once there are replies. What judges
may cost is no part of that: it can change between calls, and the harnesses read it from the environment.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.executors.job import Report
from halu_tasks.sweeps.commands import harness_command, module_arguments, shown
from halu_tasks.sweeps.finished import finished_tasks, kept_replies, unfinished_logs
from halu_tasks.sweeps.harness_process import end_interrupted
from halu_tasks.sweeps.keys import harness_environment
from halu_tasks.sweeps.settings import Settings
from halu_tasks.sweeps.sweep_model import SweepModel

_COMMAND, _OUTPUT = "command.txt", "output.txt"
_KEPT = 2000
"""How many bytes at the end of an output are searched for its last line."""


class Progress(NamedTuple):
    """What of a model's tasks is done.

    Attributes:
        model: The model's name.
        done: The tasks with a complete result.
        missing: The others.
        message: Why something is missing: why the model is not run, the error of a task, or the last line that the
            harness printed; empty if nothing is missing.
        output: The file with all that it printed.
    """

    model: str
    done: Sequence[str]
    missing: Sequence[str]
    message: str
    output: Path


@dataclass(frozen=True)
class Sweep:
    """Models to run on tasks; as a job of an executor, its tasks are shares of the models.

    Attributes:
        folder: The folder of all results.
        models: The models.
        tasks: The names of the tasks.
        options: The options of the tasks that are not at their default, as JSON values.
        limit: Maximum number of items of each task; None for all.
        left_out: Models that are not run, by name, and why.
        environment: The environment variables that are set for all harnesses.
    """

    folder: Path
    models: tuple[SweepModel, ...]
    tasks: tuple[str, ...]
    options: Mapping[str, Any]
    limit: int | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the job."""
        return "sweep"

    def prepare(self) -> None:
        """Record how each model is run; one whose folder has replies that were made in another way is not run.

        Raises:
            DataError: The folder cannot be written.
        """
        for model in self.models:
            self._settings(model).record()

    def pending(self) -> list[SweepModel]:
        """Return the models that are run: those with tasks without a result, unless something keeps them from it."""
        return [model for model in self.models if not self._kept_from(model) and self.progress(model).missing]

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether the models of a share have results of all tasks, or are not run."""
        return all(self._kept_from(model) or not self.progress(model).missing for model in self.models[rank::tasks])

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Run the models of a share, one after the other; one that fails does not stop the others.

        If a command with several tasks leaves some without a result, these are run one by one, unless they failed by
        themselves: in lm-eval, one task that fails stops all of them, and in Inspect one that cannot be created.

        Args:
            rank: The share, from 0.
            tasks: The number of shares.
            report: Called with lines about the progress.
        """
        for model in self.models[rank::tasks]:
            if self._kept_from(model):
                continue
            self._run_missing(model, report)
            progress = self.progress(model)
            report(f"{model.name}: {len(progress.done)} of {len(self.tasks)} tasks done")

    def progress(self, model: SweepModel) -> Progress:
        """Return what of a model's tasks is done; nothing if its folder has results of other settings."""
        folder = self._folder(model)
        conflict = self._settings(model).conflict()
        finished = set() if conflict else finished_tasks(model.harness, folder)
        missing = [task for task in self.tasks if task not in finished]
        output = folder / _OUTPUT
        message = (self._kept_from(model) or _failure(model, folder, output)) if missing else ""
        return Progress(model.name, [task for task in self.tasks if task in finished], missing, message, output)

    def kept(self) -> str:
        """Say what an interrupted sweep has kept of the models that are run."""
        parts = []
        for model in self.models:
            if not self._kept_from(model):
                done, replies = len(self.progress(model).done), kept_replies(model.harness, self._folder(model))
                where = "of unfinished tasks" if model.harness == "inspect" else "in lm-eval's cache"
                also = f", {replies:,} replies {where}" if replies and done < len(self.tasks) else ""
                parts.append(f"{model.name}: {done} of {len(self.tasks)} tasks{also}")
        return f"{self.folder} keeps what is finished ({'; '.join(parts)}), and the same command continues from there"

    def _kept_from(self, model: SweepModel) -> str:
        """Return why a model is not run; empty if it is."""
        return self.left_out.get(model.name) or self._settings(model).conflict()

    def _settings(self, model: SweepModel) -> Settings:
        return Settings(self._folder(model), model, self.options, self.limit)

    def _folder(self, model: SweepModel) -> Path:
        return self.folder / model.name

    def _run_missing(self, model: SweepModel, report: Report) -> None:
        """Run a model on its missing tasks: all in one command, and then one by one those that another one stopped."""
        missing = self.progress(model).missing
        if not missing:
            return
        (self._folder(model) / _COMMAND).unlink(missing_ok=True)
        earlier = {log.path for log in unfinished_logs(self._folder(model))}
        self._run(model, missing, report)
        if len(missing) == 1:
            return
        # Inspect has a log of each task that failed by itself
        failed = {log.task for log in unfinished_logs(self._folder(model)) if log.path not in earlier}
        messages = []
        for task in self.progress(model).missing:
            if task in failed:
                continue
            self._run(model, [task], report)
            if task in self.progress(model).missing:
                messages.append(f"{task}: {_last_line(self._folder(model) / _OUTPUT)}\n")
        # the last command may be of a task that succeeded
        with (self._folder(model) / _OUTPUT).open("a", encoding="utf-8") as output:
            output.writelines(messages)

    def _run(self, model: SweepModel, tasks: Sequence[str], report: Report) -> None:
        """Run a model on tasks with its harness's command, which ends with this process."""
        folder = self._folder(model)
        command = harness_command(model, tasks, self.options, self.limit, folder)
        variables = {**harness_environment(model), **self.environment}
        line = shown(command, variables)
        report(line)
        with (folder / _COMMAND).open("a", encoding="utf-8") as commands:
            commands.write(line + "\n")
        with (folder / _OUTPUT).open("ab") as output:
            output.write(f"$ {line}\n".encode())
            output.flush()
            environment = {**os.environ, **variables, "PYTHONUNBUFFERED": "1"}
            with subprocess.Popen(
                [sys.executable, *module_arguments(command)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                preexec_fn=_end_with_parent,
            ) as process:
                try:
                    process.wait()
                except BaseException:
                    end_interrupted(process)
                    raise


def _end_with_parent() -> None:
    """End this process when its parent is killed, so that a command given again does not meet it (Linux only)."""
    if sys.platform == "linux":
        death_signal = 1
        ctypes.CDLL(None).prctl(death_signal, signal.SIGTERM)


def _failure(model: SweepModel, folder: Path, output: Path) -> str:
    """Return why tasks of a model are missing, as its last log says, or the last line that the harness printed."""
    logs = unfinished_logs(folder) if model.harness == "inspect" else []
    return next((log.error for log in reversed(logs) if log.error), "") or _last_line(output)


def _last_line(path: Path) -> str:
    """Return the last line of a file that is not blank; empty if there is none."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _KEPT, 0))
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
