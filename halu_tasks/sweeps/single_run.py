"""One run of one model in the foreground, by the command that a sweep would use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import RunInterrupted, UsageError
from halu_tasks.sweeps.commands import harness_command, module_arguments
from halu_tasks.sweeps.finished import finished_tasks
from halu_tasks.sweeps.models_file import SweepModel

REPORT = "report"
"""The folder of the report."""


@dataclass(frozen=True)
class SingleRun:
    """One run of a model on tasks.

    Attributes:
        folder: The folder of the run, which contains nothing else.
        model: The model.
        tasks: The names of the tasks.
        options: The options of the tasks that are not at their default, as JSON values.
        limit: Maximum number of items of each task; None for all.
        further: Further arguments of the harness's command.
    """

    folder: Path
    model: SweepModel
    tasks: tuple[str, ...]
    options: Mapping[str, Any]
    limit: int | None = None
    further: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The harness's command, without the interpreter."""
        command = harness_command(self.model, self.tasks, self.options, self.limit, self.folder, resumable=False)
        return [*command, *self.further]

    def run(self) -> int:
        """Run the harness, which prints what it prints; return its exit status.

        Raises:
            RunInterrupted: It was interrupted from the keyboard.
        """
        try:
            return subprocess.run([sys.executable, *module_arguments(self.command)], env=os.environ).returncode
        except KeyboardInterrupt:
            raise RunInterrupted(f"interrupted; {self.folder} keeps what is finished") from None

    def missing(self) -> list[str]:
        """Return the tasks without a complete result."""
        finished = finished_tasks(self.model.harness, self.folder)
        return [task for task in self.tasks if task not in finished]


def new_folder(parent: Path, name: str) -> Path:
    """Create a folder that did not exist: the first of NAME, NAME-2, NAME-3 … that is free.

    Args:
        parent: The folder of all results, created if necessary.
        name: The name of the model.

    Raises:
        UsageError: The report of `parent` would replace files of another kind.
    """
    report = parent / REPORT
    if report.exists() and not (report / "report.json").is_file():
        raise UsageError(f"{report}: exists and is not a report; name another folder with -o FOLDER")
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder
