"""Running Inspect evals that can be resumed from their log directory."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from errno import ENOSPC
from pathlib import Path
from shutil import disk_usage
from typing import Any, NamedTuple

from inspect_ai import Task, eval_set
from inspect_ai.log import EvalLog

from halu_tasks.core.errors import DataError, RunInterrupted
from halu_tasks.inspect_adapter.run_models import RunModels

_OS_ERROR = re.compile(r"^(?:OS|Permission|FileNotFound)Error\(\d+, ['\"](.*?)['\"]")
_LEAST_FREE = 1 << 20
"""Bytes of free disk space below which a missing log means that the disk is full."""


class FinishedRun(NamedTuple):
    """A run of a task that was not interrupted; it may have failed.

    Attributes:
        log: The log of the run.
        log_dir: The directory of its logs.
    """

    log: EvalLog
    log_dir: Path

    def check_written(self) -> None:
        """Raise DataError if the run ended because its log could not be written."""
        if self.log.error and (error := _OS_ERROR.search(self.log.error.message)):
            raise _unwritable(self.log_dir, error[1])


def run_eval(
    task: Task | str, log_dir: Path, models: RunModels, *, roles: tuple[str, ...] = (), **settings: Any
) -> FinishedRun:
    """Run a task in Inspect, or the rest of it if its log directory contains an unfinished run.

    Inspect's display goes to standard error.

    Args:
        task: The task, or its name in Inspect's registry.
        log_dir: The directory of the logs.
        models: The models.
        roles: The roles that the task has a use for; all if empty.
        **settings: Further arguments of `inspect_ai.eval_set`.

    Raises:
        RunInterrupted: The run was interrupted from the keyboard.
        DataError: The directory contains a run with other arguments, the log cannot be written, or Inspect cannot
            start.
    """
    settings = {**models.as_settings(roles), "max_tasks": 1, "retry_attempts": 1, **settings}
    try:
        # standard output is for the command's result
        with contextlib.redirect_stdout(sys.stderr):
            _, logs = eval_set(task, log_dir=str(log_dir), **settings)
    except KeyboardInterrupt:
        logs = []
    except OSError as error:
        # on a full disk, the log that Inspect wants to read was never written
        full = isinstance(error, FileNotFoundError) and disk_usage(_existing(log_dir)).free < _LEAST_FREE
        raise _unwritable(log_dir, os.strerror(ENOSPC) if full else error.strerror or str(error)) from None
    except Exception as error:
        # the class has no public name
        if type(error).__name__ != "PrerequisiteError":
            raise
        raise DataError(f"{log_dir}: {_start_error(error)}") from None
    # Inspect may handle the interruption itself, and then returns no log
    if not logs or logs[0].status == "cancelled":
        raise RunInterrupted(
            f"interrupted; {log_dir} keeps what is finished, and the same command continues from there"
        )
    return FinishedRun(logs[0], log_dir)


def _start_error(error: Exception) -> str:
    """Describe why Inspect cannot start a run."""
    message = " ".join(str(getattr(error, "message", error)).split())
    if "not associated with a task" not in message:
        return message
    return (
        "contains a run with other arguments (-M, --cache, or another release of Inspect); use the same ones, "
        "or remove this directory to start its documents over"
    )


def _existing(path: Path) -> Path:
    """Return a path, or its nearest parent that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _unwritable(log_dir: Path, reason: str) -> DataError:
    return DataError(
        f"{log_dir}: the log cannot be written ({reason}); free disk space, then run the same command to continue"
    )
