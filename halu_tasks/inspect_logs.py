"""Finished runs of this package's tasks, read from Inspect's log files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from inspect_ai.log import (
    EvalLog,
    EvalSample,
    EvalSampleSummary,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
    read_eval_log_samples_by_id,
)

from halu_tasks.errors import DataError
from halu_tasks.scorers.cost import Cost
from halu_tasks.scorers.inspect_scorer import RECORD
from halu_tasks.scorers.score import Score

T = TypeVar("T")

PACKAGE = "halu_tasks/"
PLAIN = "plain prompt"

_SETUP = PACKAGE + "judge_ready"
"""A step that this package puts before every judged task, whatever the method."""

_OF_TRANSPORT = {
    "max_retries",
    "timeout",
    "attempt_timeout",
    "stream_idle_timeout",
    "max_connections",
    "adaptive_connections",
    "batch",
    "cache",
    "cache_prompt",
}
"""Settings that do not bear on what a model answers."""

_LARGE = {"messages", "events", "store", "attachments"}
_BATCH = 100


class Step(NamedTuple):
    """One solver of a method, and the arguments that it was given."""

    solver: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        given = ",".join(f"{name}={_written(value)}" for name, value in self.arguments.items())
        return f"{self.solver}:{given}" if given else self.solver


@dataclass(frozen=True)
class Run:
    """One finished log: the items of a task, answered by one method and one model.

    Attributes:
        log: where it lies.
        task: the task's name.
        version: the task's version and the marks of the run, as `1-A-sample`.
        scoring: the mode that its replies are scored in.
        steps: the solvers that answered, in their order.
        model: the model under test.
        roles: the models of other roles, by role.
        settings: how the models were asked (temperature and so on), where that bears on their answers.
        provenance: what was asked and of which data (`Built.provenance`).
        epochs: how many times each item was answered.
        scores: one an answer.
        costs: of the answers for which a model was asked.
        created, completed: when the run began and ended, in ISO 8601.
    """

    log: str
    task: str
    version: str
    scoring: str
    steps: tuple[Step, ...]
    model: str
    roles: Mapping[str, str]
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    epochs: int
    scores: list[Score]
    costs: list[Cost]
    created: str
    completed: str

    @property
    def method(self) -> str:
        """The method as `halu-tasks methods` is told it, or `plain prompt` where the model was asked once."""
        asked_once = all(step.solver == "generate" for step in self.steps)
        return PLAIN if asked_once else " + ".join(map(str, self.steps))

    @property
    def task_version(self) -> str:
        """The version without the marks: where it differs, runs of a task do not compare."""
        return "-".join(self.version.split("-")[:2])

    @property
    def marks(self) -> list[str]:
        """What sets the run apart from the benchmark as published (`Built.marks`)."""
        return self.version.split("-")[2:]


def find_logs(path: str) -> list[str]:
    """The log that `path` names, or those that lie in the folder itself, not deeper, by the time of their start.

    Raises:
        DataError: there is no such file or folder, or no log in it.
    """
    named = Path(path).expanduser()
    if not named.exists():
        raise DataError(f"{path}: there is no such log or folder of logs")
    if not named.is_dir():
        return [str(named)]
    # Inspect's own files beside the logs, such as logs.json, are not among them; names begin with the time
    found = sorted(Path(info.name).name for info in list_eval_logs(str(named), recursive=False))
    if not found:
        raise DataError(f"{path}: holds no log of Inspect (*.eval, or *.json under a name that Inspect gave)")
    return [str(named / name) for name in found]


def read_run(log: str) -> Run:
    """The run that a log holds. What is read of a sample is its summary, and its record where that is too long for
    the summary.

    Raises:
        DataError: the file is no log, not one of a task of this package, or not of a finished run.
    """
    header = _read(log, lambda: read_eval_log(log, header_only=True))
    provenance = _provenance(log, header)
    if header.status != "success":
        raise DataError(f"{log}: the run is unfinished ({state(header)}); finish it with: inspect eval-retry {log}")
    if header.invalidated:
        raise DataError(f"{log}: samples of the run were marked as invalid; run them again: inspect eval-retry {log}")
    records = list(_records(log, header))
    modes = {record["scoring"] for record in records}
    if len(modes) > 1:
        raise DataError(f"{log}: some samples are scored as {' and others as '.join(sorted(modes))}; score it again")
    config = header.eval.model_generate_config.model_dump(exclude_none=True)
    config |= header.plan.config.model_dump(exclude_none=True)
    return Run(
        log=log,
        task=provenance["task"],
        version=str(header.eval.task_version),
        scoring=modes.pop(),
        steps=tuple(
            Step(step.solver.removeprefix(PACKAGE), dict(step.params_passed))
            for step in header.plan.steps
            if step.solver != _SETUP
        ),
        model=header.eval.model,
        roles={
            role: ", ".join(named.model for named in (models if isinstance(models, list) else [models]))
            for role, models in (header.eval.model_roles or {}).items()
        },
        settings={name: value for name, value in config.items() if name not in _OF_TRANSPORT},
        provenance=provenance,
        epochs=header.eval.config.epochs or 1,
        scores=[Score(**record["score"]) for record in records],
        costs=[cost for record in records if (cost := record.get("cost"))],
        created=header.eval.created,
        completed=header.stats.completed_at,
    )


def state(header: EvalLog) -> str:
    """An unfinished run's state, and in a few words the error that it ended in."""
    message = header.error.message if header.error else ""
    if inner := re.fullmatch(r"""\w+\((["'])(.*)\1\)""", message, re.DOTALL):
        # the error's text without its name; that of a call that failed begins with all that was asked
        message = inner[2].rpartition(r"\n\n")[2].replace("\\", "")
    why = " ".join(message.split())[:200]
    return f"{header.status}: {why}" if why else header.status


def _read(log: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except Exception as error:
        # a file that is no log can fail in any way: as an archive, as JSON, as what Inspect expects in it
        why = " ".join(str(error).split())[:200]
        raise DataError(f"{log}: cannot be read as a log of Inspect ({type(error).__name__}: {why})") from None


def _provenance(log: str, header: EvalLog) -> dict[str, Any]:
    known = (header.eval.metadata or {}).get(RECORD)
    if not isinstance(known, list) or not known:
        raise DataError(f"{log}: is of the task {header.eval.task}, which is none of this package's")
    if len(known) > 1:
        members = ", ".join(own["task"] for own in known)
        raise DataError(f"{log}: is of a group; run each of its tasks by itself: {members}")
    return dict(known[0])


def _records(log: str, header: EvalLog) -> Iterator[dict[str, Any]]:
    """What the scorer recorded of each sample."""
    summaries = _read(log, lambda: read_eval_log_sample_summaries(log))
    if failed := sum(summary.error is not None for summary in summaries):
        raise DataError(
            f"{log}: {failed} of {len(summaries)} samples ended in an error; finish it with: inspect eval-retry {log}"
        )
    planned = len(header.eval.dataset.sample_ids or summaries) * (header.eval.config.epochs or 1)
    if len(summaries) < planned:
        raise DataError(f"{log}: holds {len(summaries)} of {planned} samples; finish it with: inspect eval-retry {log}")
    if not summaries:
        raise DataError(f"{log}: holds no sample")
    long = []
    for summary in summaries:
        if record := _record(summary):
            yield record
        else:
            long.append((summary.id, summary.epoch))
    # a summary leaves out what is longer than 1,024 characters
    for start in range(0, len(long), _BATCH):
        for sample in _read(log, partial(_samples, log, long[start : start + _BATCH])):
            record = _record(sample)
            if record is None:
                raise DataError(
                    f"{log}: sample {sample.id} has no score of this package; score it with: "
                    f"inspect score {log} --scorer {PACKAGE}halu_score"
                )
            yield record


def _samples(log: str, asked: Sequence[tuple[str | int, int]]) -> list[EvalSample]:
    return read_eval_log_samples_by_id(log, asked, exclude_fields=_LARGE)


def _record(sample: EvalSample | EvalSampleSummary) -> dict[str, Any] | None:
    """The scorer's record; that of the first scorer where a log was scored several times."""
    found = ((score.metadata or {}).get(RECORD) for score in (sample.scores or {}).values())
    return next((record for record in found if isinstance(record, dict)), None)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
