"""Building a dataset in parts, which can be interrupted and continued at any moment."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.log import EvalLog, read_eval_log_sample_summaries

from halu_tasks.builders.pipeline import Gate
from halu_tasks.builders.quality.published import at_hand
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.folder import GATE, Folder, begin
from halu_tasks.builders.run.inspect_logs import BuildLog, done, logs_of, set_aside
from halu_tasks.builders.run.inspect_task import build_task
from halu_tasks.builders.workflow.gate import draft_samples, gate_of, missing_samples, pass_gate
from halu_tasks.core.errors import DataError, ModelError
from halu_tasks.executors.job import Executor, Report
from halu_tasks.inspect_adapter.run_models import RunModels, recorded
from halu_tasks.inspect_adapter.runs import run_eval
from halu_tasks.results.readers.inspect import state


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """What to build.

    Attributes:
        builder: name of the builder.
        options: options of the builder.
        documents: a file or folder of documents.
        output: the folder of the build.
        models: the models.
        call_config: settings of all calls that the plan records: `temperature`, `max_tokens`.
        part_size: approximate number of documents per part.
        cache: keep replies in Inspect's cache.
        model_cost_config: a file of prices, as Inspect reads it.
        partial: do not raise an error if documents failed.
        against: published files that the dataset will be compared with.
        gate_samples: number of documents of each group to draft first, 0 for none; None for the builder's default.
        gate_share: share of their drafts that must be consistent; None for the builder's default.
    """

    builder: str
    options: Mapping[str, Any]
    documents: Path
    output: Path
    models: RunModels
    call_config: Mapping[str, Any] = field(default_factory=dict)
    part_size: int = 500
    cache: bool = False
    model_cost_config: str | None = None
    partial: bool = False
    against: Sequence[Path] = ()
    gate_samples: int | None = None
    gate_share: float | None = None


def build_parts(request: BuildRequest, executor: Executor, report: Report) -> Folder:
    """Work on all documents of a build that are not finished, after samples of them have passed the builder's gate.

    Args:
        request: what to build.
        executor: runs the work; its tasks share the parts.
        report: called with lines about the progress.

    Returns:
        The folder of the build.

    Raises:
        UsageError: the builder, an option or the documents do not exist.
        ModelError: a model does not answer.
        DataError: documents failed, too few samples are consistent, the folder contains another build, or another
            process is working on it.
        TaskLost: a task of the executor was killed too often.
        RunInterrupted: the build was interrupted from the keyboard.
    """
    pipeline = pipeline_named(request.builder, request.options)
    gate = gate_of(pipeline, request.gate_samples, request.gate_share)
    pipeline.ready()
    # check the published files before any model is asked
    at_hand(request.against)
    models = request.models
    plan_models = {"model": models.name, "roles": recorded(models.roles), **request.call_config}
    if arguments := recorded(models.arguments):
        plan_models["model_args"] = arguments
    with begin(
        request.output, request.builder, request.options, request.documents, plan_models, request.part_size
    ) as folder:
        if refused := _refusals(folder):
            report(refused)
        if gate and not all(done(folder, number) for number in folder.numbers):
            executor.run(SamplingJob(folder.path, request, gate), report)
            pass_gate(folder, gate, report)
        executor.run(BuildJob(folder.path, request), report)
        if not request.partial:
            _check_failures(folder)
        return folder


@dataclass(frozen=True)
class BuildJob:
    """Works on the parts of a build; each task has every so many of them.

    Attributes:
        folder: the folder of the build.
        request: what to build.
    """

    folder: Path
    request: BuildRequest

    name = "build"

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether all parts of a task are finished."""
        folder = Folder(self.folder)
        return all(done(folder, number) for number in folder.numbers[rank::tasks])

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Work on the parts of a task that are not finished."""
        folder = Folder(self.folder)
        build = _Build(
            folder,
            replace(self.request, models=self.request.models.in_task(tasks)),
            folder.numbers[rank::tasks],
            report,
            tasks=tasks,
        )
        for number in build.parts:
            # a task that was started again may meet what is left of itself, on a machine that was given up
            with folder.lock(number):
                build.work(number)


@dataclass(frozen=True)
class SamplingJob:
    """Drafts the samples of a build's gate, which is one task.

    Attributes:
        folder: the folder of the build.
        request: what to build.
        gate: what the samples have to pass.
    """

    folder: Path
    request: BuildRequest
    gate: Gate

    name = "gate"

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether all samples are drafted; only the first task drafts."""
        return rank > 0 or not missing_samples(Folder(self.folder), self.gate)

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Draft the samples that are not drafted yet."""
        folder = Folder(self.folder)
        draft_samples(
            folder,
            self.gate,
            _Build(folder, replace(self.request, models=self.request.models.in_task(tasks)), [], report).run_sample,
        )


def _refusals(folder: Folder) -> str:
    """Describe how many documents of a build are refused, why, and what to do about it; empty if none is."""
    refused = folder.plan.refused
    if not refused:
        return ""
    pipeline = folder.pipeline
    reasons = []
    for reason, number in sorted(refused.items(), key=lambda entry: (-entry[1], entry[0])):
        advice = pipeline.advice(reason)
        reasons.append(f"{number:,} {reason}{f' ({advice})' if advice else ''}")
    return f"{sum(refused.values()):,} of {folder.documents_planned:,} documents are refused: {', '.join(reasons)}"


def _check_failures(folder: Folder) -> None:
    """Raise DataError if documents failed."""
    unfinished = [number for number in folder.numbers if not done(folder, number)]
    if not unfinished:
        return
    logs = logs_of(folder, unfinished[0])
    failures = _failures(logs[-1].header) if logs else "was not started"
    raise DataError(
        f"{len(unfinished)} of {len(folder.numbers)} parts have documents that failed (part {unfinished[0] + 1}: "
        f"{failures}); {folder.path} keeps what is finished; run the same command again to repeat the others, or leave "
        f"them out with: halu-tasks build collect {folder.path} --partial"
    )


class _Build:
    """Works on parts, and reports what passed, what it cost, and how long the rest will take."""

    def __init__(
        self, folder: Folder, request: BuildRequest, parts: Sequence[int], report: Report, *, tasks: int = 1
    ) -> None:
        self.folder, self.request, self.parts, self.report, self.tasks = folder, request, parts, report, tasks
        self._failed = False
        self._finished = self._worked_on = 0
        self._started = time.monotonic()
        self._tokens = 0.0

    def work(self, number: int) -> None:
        """Work on a part, unless it is finished."""
        if log := done(self.folder, number):
            self._report_part(number, log, ran=False)
            return
        # raises DataError if the documents are damaged
        documents = len(self.folder.ids(number))
        try:
            # if documents failed, a model may be the reason, and would fail again
            self.request.models.reach(again=self._failed)
        except ModelError as error:
            raise ModelError(
                f"{error}; {self.folder.path} keeps what is finished, and the same command continues from there"
            ) from None
        if not self._worked_on:
            self._started = time.monotonic()
        set_aside(self.folder.logs(number))
        kept = _kept(self.folder, number)
        again = f" again; {kept:,} of its {documents:,} documents are finished and kept" if kept else ""
        self.report(f"part {number + 1} of {self.folder.parts} begins{again}")
        self._report_part(number, self._run(number), ran=True)

    def _run(self, number: int) -> BuildLog | EvalLog:
        """Run the documents of a part that are not finished.

        Returns:
            The part's log; an `EvalLog` if documents failed.
        """
        folder, request = self.folder, self.request
        task = build_task(
            folder.plan.builder,
            str(folder.documents(number)),
            cache=request.cache,
            gate=folder.path / GATE if folder.pipeline.gate else None,
            **folder.options,
        )
        log = self._run_task(task, folder.logs(number))
        finished = done(folder, number)
        if finished:
            folder.seal(number, finished.path)
        return finished or log

    def run_sample(self, task: Task, logs: Path) -> EvalLog:
        """Run a task of the gate; raise ModelError if a model does not answer."""
        self.request.models.reach()
        return self._run_task(task, logs)

    def _run_task(self, task: Task, logs: Path) -> EvalLog:
        request = self.request
        run = run_eval(
            task,
            logs,
            request.models,
            # an error is retried at once, and does not end the run of the other documents
            retry_on_error=2,
            continue_on_fail=True,
            log_realtime=False,
            model_cost_config=request.model_cost_config,
            **request.call_config,
        )
        run.check_written()
        return run.log

    def _report_part(self, number: int, log: BuildLog | EvalLog, *, ran: bool) -> None:
        self._finished += 1
        self._worked_on += ran
        header = log.header if isinstance(log, BuildLog) else log
        parts = [self._summary(number, header, ran=ran)]
        if isinstance(log, EvalLog):
            self._failed = True
            parts.append(_failures(log))
        self.report("; ".join(parts))

    def _summary(self, number: int, header: EvalLog, *, ran: bool) -> str:
        """Describe a finished part."""
        scores = header.results.scores if header.results else []
        figures = {name: metric.value for score in scores for name, metric in score.metrics.items()}
        checks = self.folder.pipeline.checks
        rates = ", ".join(f"{check} {figures[check]:.1%}" for check in checks if check in figures)
        parts = [f"part {number + 1} of {self.folder.parts}"]
        if "documents" in figures:
            parts.append(
                f"{figures['documents']:,.0f} documents, {figures['refused']:,.0f} refused, {figures['drafts']:,.0f} "
                f"drafts, {figures['items']:,.0f} items"
            )
        if rates:
            parts.append(f"passed {figures['overall']:.1%} ({rates})")
        if not ran:
            return "; ".join([*parts, "was finished before"])
        self._tokens += figures.get("input_tokens", 0) + figures.get("output_tokens", 0)
        # of several tasks, each knows only its own parts
        own = self.tasks > 1
        parts.append(f"{self._tokens:,.0f} tokens so far{' in this task' if own else ''}")
        costs = [usage.total_cost for usage in header.stats.model_usage.values() if usage.total_cost]
        parts += [f"{sum(costs):,.2f} dollars"] if costs else []
        if remaining := len(self.parts) - self._finished:
            minutes = (time.monotonic() - self._started) / self._worked_on * remaining / 60
            parts.append(f"{remaining} left{' for this task' if own else ''}, {minutes:,.0f} minutes")
        return "; ".join(parts)


def _kept(folder: Folder, part: int) -> int:
    """Return the number of finished documents of an unfinished part, which Inspect does not work on again."""
    logs = logs_of(folder, part)
    summaries = read_eval_log_sample_summaries(str(logs[-1].path)) if logs else []
    return sum(summary.completed and not summary.error for summary in summaries)


def _failures(log: EvalLog) -> str:
    """Describe how many documents of a part failed, and the error of the first one."""
    summaries = read_eval_log_sample_summaries(log.location) if log.location else []
    errors = [str(summary.error) for summary in summaries if summary.error]
    if not errors:
        return f"ended as {state(log)}"
    # the error of a failed call quotes the whole request before it says what was wrong
    error = " ".join(errors[0].replace("\\n", "\n").rpartition("\n\n")[2].replace("\\", "").split())[:200]
    return f"{len(errors)} failed, the first one with {error}"
