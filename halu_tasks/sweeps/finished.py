"""Which tasks of a model have a complete result. Inspect's command ends with status 0 even if a task failed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from halu_tasks.sweeps.commands import LOGS, RESULTS
from halu_tasks.sweeps.sweep_model import Harness


def finished_tasks(harness: Harness, folder: Path) -> set[str]:
    """Return the tasks with a complete result in a model's folder."""
    return set(_in_logs(folder / LOGS) if harness == "inspect" else _in_results(folder / RESULTS))


class UnfinishedLog(NamedTuple):
    """A log of a task that Inspect did not finish, which `inspect eval-retry` continues.

    Attributes:
        task: The task.
        path: The log.
        replies: The number of samples in it.
    """

    task: str
    path: Path
    replies: int


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
            logs.append(UnfinishedLog(header.eval.task.removeprefix(PACKAGE), path, replies))
    return sorted(logs, key=lambda log: log.path)


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
