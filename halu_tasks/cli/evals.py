"""Evals of Inspect that are gone on with in their folder."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval_set
from inspect_ai.log import EvalLog

from halu_tasks.cli.models import logged_safely
from halu_tasks.errors import DataError


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
    # Inspect, too, may end a run that is broken off, and then tells of no log
    return found[0] if found and found[0].status != "cancelled" else None
