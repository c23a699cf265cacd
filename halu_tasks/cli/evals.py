"""Run Inspect evals that can be resumed from their log directory."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from errno import ENOSPC
from pathlib import Path
from shutil import disk_usage
from typing import Any

from inspect_ai import Task, eval_set
from inspect_ai.log import EvalLog

from halu_tasks.cli.models import logged_safely
from halu_tasks.errors import DataError

_OS_ERROR = re.compile(r"^(?:OS|Permission|FileNotFound)Error\(\d+, ['\"](.*?)['\"]")
_LEAST = 1 << 20
"""Bytes without which nothing can be written."""


def _there(path: Path) -> Path:
    """A path, or the nearest folder above it that there is."""
    return next(own for own in (path, *path.parents) if own.exists())


def _unwritable(logs: Path, why: str) -> DataError:
    return DataError(
        f"{logs}: the log cannot be written ({why}); make room there, and the same command goes on with what is done"
    )


def evaluated(task: Task, logs: Path, **settings: Any) -> EvalLog | None:
    """The log of a task after it has run, or what was missing of it, with its logs in a folder; None where that was
    broken off.

    Raises:
        DataError: the folder's logs were made with other arguments, or Inspect cannot begin.
    """
    try:
        # standard output is left to what is told at the end
        with contextlib.redirect_stdout(sys.stderr):
            _, found = eval_set(
                task,
                log_dir=str(logs),
                retry_on_error=2,
                retry_attempts=1,
                max_tasks=1,
                log_realtime=False,
                **logged_safely(settings),
            )
    except KeyboardInterrupt:
        return None
    except OSError as error:
        # on a full disk a log that was not written is missing
        full = isinstance(error, FileNotFoundError) and disk_usage(_there(logs)).free < _LEAST
        raise _unwritable(logs, os.strerror(ENOSPC) if full else error.strerror or str(error)) from None
    except Exception as error:
        # what Inspect cannot begin without has no public name
        if type(error).__name__ != "PrerequisiteError":
            raise
        if "not associated with a task" in (told := " ".join(str(getattr(error, "message", error)).split())):
            raise DataError(
                f"{logs}: was begun with other arguments (-M, --cache, or a release of Inspect); go on with "
                "those, or remove that folder to ask for its documents anew"
            ) from None
        raise DataError(f"{logs}: {told}") from None
    if found and found[0].error and (why := _OS_ERROR.search(found[0].error.message)):
        # a log that cannot be written is no fault of a document: what others would reply could not be kept either
        raise _unwritable(logs, why[1])
    # Inspect, too, may end a run that is broken off, and then tells of no log
    return found[0] if found and found[0].status != "cancelled" else None
