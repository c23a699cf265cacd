"""Running a task with several methods, and reading their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, ModelError
from halu_tasks.core.options import Options
from halu_tasks.inspect_adapter.methods import Method, run_method
from halu_tasks.inspect_adapter.run_models import RunModels
from halu_tasks.results.comparability import chosen_metrics
from halu_tasks.results.readers.inspect import path_of, read_runs, state
from halu_tasks.results.run import Run
from halu_tasks.tasks import Built, build, task_named


@dataclass(frozen=True, kw_only=True)
class MethodsRequest:
    """What to run.

    Attributes:
        task: The task's name.
        methods: The methods.
        task_args: The task's options, as `-T` gives them.
        models: The models.
        log_dir: The directory of the logs.
        limit: Maximum number of items.
        metrics: Names of the metrics that the methods will be compared by.
    """

    task: str
    methods: Sequence[Method]
    task_args: Mapping[str, Any]
    models: RunModels
    log_dir: Path
    limit: int | None = None
    metrics: Sequence[str] = ()


class MethodRuns(NamedTuple):
    """The results of methods.

    Attributes:
        runs: The runs of the methods that finished.
        failures: What went wrong with each of the others.
    """

    runs: list[Run]
    failures: list[str]


def run_methods(request: MethodsRequest) -> MethodRuns:
    """Run each method that an earlier command did not finish, one after the other so that each has its own time.

    Raises:
        UsageError: An option or metric does not exist.
        ModelError: A model does not answer.
        RunInterrupted: A method was interrupted from the keyboard.
        DataError: The task's data, or a log, is damaged or of other data.
    """
    models = request.models
    # check the options, the data and the models before anything is asked
    built = build(request.task, Options(**{"fewshot": task_named(request.task).shots, **request.task_args}))
    chosen_metrics(built.task, built.options.scoring, request.metrics)
    models.reach()
    runs: list[Run] = []
    failures: list[str] = []
    for number, method in enumerate(request.methods):
        try:
            # what made one method fail may make the others fail
            models.reach(again=bool(failures))
        except ModelError as error:
            failures += [f"{other.name} was not started: {error}" for other in request.methods[number:]]
            break
        finished = run_method(request.task, method, request.log_dir, models, request.task_args, request.limit)
        log = path_of(finished.log.location)
        if finished.succeeded:
            (run,) = read_runs(log)
            _check_data(run, built)
            runs.append(run)
        else:
            failures.append(f"{method.name} ended as {state(finished.log)} (log: {log})")
    return MethodRuns(runs, failures)


def _check_data(run: Run, built: Built) -> None:
    """Raise DataError if an earlier run used other data than the file has now."""
    if run.provenance.data_sha256 != built.located.sha256:
        raise DataError(f"{run.source} used other data than {built.located} now contains; choose another --log-dir")
