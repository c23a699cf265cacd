"""Running models on tasks, and what of it is done.

A model's folder contains what its harness writes, the last command (`command.txt`), all that it printed
(`output.txt`), and how the model is run (`settings.json`), which must not change between calls.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_write
from halu_tasks.executors.job import Report
from halu_tasks.sweeps.commands import harness_command, module_arguments, shown
from halu_tasks.sweeps.finished import finished_tasks
from halu_tasks.sweeps.keys import harness_environment
from halu_tasks.sweeps.sweep_model import SweepModel

_COMMAND, _OUTPUT, _SETTINGS = "command.txt", "output.txt", "settings.json"
_KEPT = 2000
"""How many bytes at the end of an output are searched for its last line."""


class Progress(NamedTuple):
    """What of a model's tasks is done.

    Attributes:
        model: The model's name.
        done: The tasks with a complete result.
        missing: The others.
        message: The last line that the harness printed, if something is missing.
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
    """

    folder: Path
    models: tuple[SweepModel, ...]
    tasks: tuple[str, ...]
    options: Mapping[str, Any]
    limit: int | None = None

    @property
    def name(self) -> str:
        """The name of the job."""
        return "sweep"

    def check(self) -> None:
        """Record how each model is run, or check that it is run as before.

        Raises:
            DataError: A model was run in another way in this folder, or the folder cannot be written.
        """
        for model in self.models:
            path = self._folder(model) / _SETTINGS
            settings = json.loads(json.dumps({**asdict(model), "task_options": self.options, "limit": self.limit}))
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path, "settings") as file:
                    json.dump(settings, file, indent=2, ensure_ascii=False)
                continue
            before = json.loads(path.read_text(encoding="utf-8"))
            if changed := [key for key in settings if settings[key] != before.get(key)]:
                was, now = before.get(changed[0]), settings[changed[0]]
                raise DataError(
                    f"{path.parent}: was run with {changed[0]} {json.dumps(was)}, now it is {json.dumps(now)}; "
                    "choose another folder or name for the model"
                )

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether the models of a share have results of all tasks."""
        return all(not self.progress(model).missing for model in self.models[rank::tasks])

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Run the models of a share, one after the other; one that fails does not stop the others.

        Args:
            rank: The share, from 0.
            tasks: The number of shares.
            report: Called with lines about the progress.
        """
        for model in self.models[rank::tasks]:
            missing = self.progress(model).missing
            if missing:
                self._run(model, missing, report)
            progress = self.progress(model)
            report(f"{model.name}: {len(progress.done)} of {len(self.tasks)} tasks done")

    def progress(self, model: SweepModel) -> Progress:
        """Return what of a model's tasks is done."""
        folder = self._folder(model)
        finished = finished_tasks(model.harness, folder)
        missing = [task for task in self.tasks if task not in finished]
        output = folder / _OUTPUT
        message = _last_line(output) if missing else ""
        return Progress(model.name, [task for task in self.tasks if task in finished], missing, message, output)

    def _folder(self, model: SweepModel) -> Path:
        return self.folder / model.name

    def _run(self, model: SweepModel, tasks: Sequence[str], report: Report) -> None:
        """Run a model on tasks with its harness's command, which ends with this process."""
        folder = self._folder(model)
        command = harness_command(model, tasks, self.options, self.limit, folder)
        variables = harness_environment(model)
        line = shown(command, variables)
        report(line)
        (folder / _COMMAND).write_text(line + "\n", encoding="utf-8")
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
                    process.terminate()
                    raise


def _end_with_parent() -> None:
    """End this process when its parent is killed, so that a command given again does not meet it (Linux only)."""
    if sys.platform == "linux":
        death_signal = 1
        ctypes.CDLL(None).prctl(death_signal, signal.SIGTERM)


def _last_line(path: Path) -> str:
    """Return the last line of a file that is not blank; empty if there is none."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _KEPT, 0))
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
