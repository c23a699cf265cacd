"""One run of one model in the foreground, by the command that a sweep would use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import RunInterrupted, UsageError
from halu_tasks.core.files import create_folder
from halu_tasks.judging.shared_budget import FILE_NAME
from halu_tasks.sweeps.commands import LOGS, harness_command, module_arguments, shown
from halu_tasks.sweeps.finished import finished_tasks, unfinished_logs
from halu_tasks.sweeps.harness_process import block_interrupts, end_interrupted
from halu_tasks.sweeps.sweep_model import SweepModel

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
        environment: The environment variables that are set for it.
    """

    folder: Path
    model: SweepModel
    tasks: tuple[str, ...]
    options: Mapping[str, Any]
    limit: int | None = None
    further: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        """The harness's command, without the interpreter."""
        command = harness_command(self.model, self.tasks, self.options, self.limit, self.folder, resumable=False)
        return [*command, *self.further]

    @property
    def line(self) -> str:
        """The command as a shell takes it, with the environment variables that are set for it."""
        return shown(self.command, self.environment)

    @property
    def report_line(self) -> str:
        """The command that writes the report on all runs beside this one."""
        parent = self.folder.parent
        return shown(["halu-tasks", "report", str(parent), "-o", str(parent / REPORT)])

    def run(self) -> int:
        """Run the harness, which prints what it prints; return its exit status.

        The folder is removed if the harness wrote no file.

        Raises:
            RunInterrupted: It was interrupted from the keyboard; the message says what was kept, and how to continue.
        """
        command = [sys.executable, *module_arguments(self.command)]
        block_interrupts(True)
        process = subprocess.Popen(command, env={**os.environ, **self.environment})
        try:
            block_interrupts(False)
            status = process.wait()
        except KeyboardInterrupt:
            end_interrupted(process)
            raise RunInterrupted(f"interrupted; {self._kept()}") from None
        finally:
            _remove_if_empty(self.folder)
        return status

    def _kept(self) -> str:
        """Say what an interrupted run has kept, and how to continue."""
        if self.model.harness == "lm_eval":
            return (
                "lm-eval writes results only at the end, so nothing was kept: run the same command again (with "
                "-- --use_cache FILE, lm-eval keeps replies, and the same command continues from them)"
            )
        missing, logs = self.missing(), unfinished_logs(self.folder)
        complete = [task for task in self.tasks if task not in missing]
        if not complete and not any(log.replies for log in logs):
            return "no reply was kept: run the same command again"
        parts = [f"complete: {', '.join(complete)}"] if complete else []
        if logs:
            begun = ", ".join(f"{log.task} (replies kept: {log.replies:,})" for log in logs)
            paths = [str(log.path) for log in logs]
            retry = shown(["inspect", "eval-retry", *paths, "--log-dir", str(self.folder / LOGS)], self.environment)
            parts.append(f"not complete: {begun}, to be continued with: {retry}")
        if others := [task for task in missing if task not in {log.task for log in logs}]:
            parts.append(f"not begun: run the same command with --tasks {','.join(others)}")
        parts.append(f"afterwards, write the report with: {self.report_line}")
        return "; ".join(parts)

    def missing(self) -> list[str]:
        """Return the tasks without a complete result."""
        finished = finished_tasks(self.model.harness, self.folder)
        return [task for task in self.tasks if task not in finished]


def _remove_if_empty(folder: Path) -> None:
    """Remove a folder in which the harness has left nothing but empty folders and the record of what judges cost."""
    costs = folder / FILE_NAME
    if any(not path.is_dir() and path != costs for path in folder.rglob("*")):
        return
    costs.unlink(missing_ok=True)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir()
    folder.rmdir()


def new_folder(parent: Path, name: str) -> Path:
    """Create a folder that did not exist: the first of NAME, NAME-2, NAME-3 … that is free.

    Args:
        parent: The folder of all results, created if necessary.
        name: The name of the model.

    Raises:
        UsageError: The report of `parent` would replace files of another kind.
        DataError: The folder cannot be created.
    """
    report = parent / REPORT
    if report.exists() and not (report / "report.json").is_file():
        raise UsageError(f"{report}: exists and is not a report; name another folder with -o FOLDER")
    create_folder(parent)
    number = 1
    while True:
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            create_folder(folder, exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return folder
