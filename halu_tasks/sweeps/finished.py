"""Which tasks of a model have a complete result. Inspect's command ends with status 0 even if a task failed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from halu_tasks.sweeps.commands import CACHE, LOGS, RESULTS
from halu_tasks.sweeps.sweep_model import Harness

if TYPE_CHECKING:
    from inspect_ai.log import EvalError

_CAUSED = "The above exception was the direct cause of the following exception:"
"""What a traceback has between two errors, the second of which says that calls were retried."""


def finished_tasks(harness: Harness, folder: Path) -> set[str]:
    """Return the tasks with a complete result in a model's folder."""
    return set(_in_logs(folder / LOGS) if harness == "inspect" else _in_results(folder / RESULTS))


class UnfinishedLog(NamedTuple):
    """A log of a task that Inspect did not finish, which `inspect eval-retry` continues.

    Attributes:
        task: The task.
        path: The log.
        replies: The number of samples in it.
        error: Why the task ended; empty if it was interrupted.
    """

    task: str
    path: Path
    replies: int
    error: str


def unfinished_logs(folder: Path) -> list[UnfinishedLog]:
    """Return the logs of tasks without a complete result in a model's folder, in the order of their names."""
    if not (folder / LOGS).is_dir():
        return []
    from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

    from halu_tasks.results.readers.inspect import PACKAGE, path_of

    logs = []
    for info in list_eval_logs(str(folder / LOGS)):
        header = read_eval_log(info, header_only=True)
        if header.status != "success":
            path = folder / LOGS / Path(path_of(info.name)).name
            replies = sum(not sample.error for sample in read_eval_log_sample_summaries(info))
            error = _cause(header.error) if header.error else ""
            logs.append(UnfinishedLog(header.eval.task.removeprefix(PACKAGE), path, replies, error))
    return sorted(logs, key=lambda log: log.path)


def has_replies(harness: Harness, folder: Path) -> bool:
    """Return whether a model's folder has the result of a task, or replies that the harness would use again."""
    return bool(finished_tasks(harness, folder)) or bool(kept_replies(harness, folder))


def kept_replies(harness: Harness, folder: Path) -> int:
    """Return the number of replies in unfinished logs of Inspect, or in lm-eval's cache, in a model's folder."""
    if harness == "inspect":
        return sum(log.replies for log in unfinished_logs(folder))
    return sum(map(_cached, folder.glob(f"{CACHE}_rank*.db")))


def _cached(path: Path) -> int:
    """Return the number of replies in a cache of lm-eval."""
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'unnamed'").fetchone():
            return 0
        return int(connection.execute("SELECT COUNT(*) FROM unnamed").fetchone()[0])


def _cause(error: EvalError) -> str:
    """Return why a task of Inspect failed, in one line; for a call that was retried, why the last one failed."""
    retried = error.traceback.rpartition(_CAUSED)[0].strip() if error.message.startswith("RetryError") else ""
    lines = (retried or error.message).strip().splitlines()
    return " ".join((lines[-1] if retried else lines[0]).split()) if lines else ""


def _in_logs(folder: Path) -> Iterable[str]:
    """Return the tasks of which a folder has a log of a run that succeeded."""
    if not folder.is_dir():
        return
    from inspect_ai.log import list_eval_logs, read_eval_log

    from halu_tasks.results.readers.inspect import PACKAGE

    for info in list_eval_logs(str(folder)):
        log = read_eval_log(info, header_only=True)
        if log.status == "success":
            yield log.eval.task.removeprefix(PACKAGE)


def _in_results(folder: Path) -> Iterable[str]:
    """Return the tasks of which a folder has results of lm-eval with the replies to all items."""
    for path in folder.glob("**/results_*.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        yield from results.get("results", {})
