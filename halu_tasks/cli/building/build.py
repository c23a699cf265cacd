"""`halu-tasks build`: documents to a dataset, in parts that can be ended and gone on with at any moment."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import Timeout
from inspect_ai.log import EvalLog, read_eval_log_sample_summaries

from halu_tasks.builders.quality.published import at_hand
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.folder import Folder, begin
from halu_tasks.builders.run.inspect_logs import BuildLog, done, set_aside
from halu_tasks.builders.run.inspect_task import build_task
from halu_tasks.builders.run.parts import Part
from halu_tasks.cli.building.collect import collect
from halu_tasks.cli.models import assigned, models_of
from halu_tasks.errors import DataError, ModelError
from halu_tasks.inspect_adapter.run_models import RunModels, recorded
from halu_tasks.inspect_adapter.runs import run_eval
from halu_tasks.results.readers.inspect import state


def run(arguments: argparse.Namespace) -> int | None:
    shard = Part.named(arguments.shard) if arguments.shard else Part(0, 1)
    options = assigned(arguments.task_option, "-T")
    pipeline_named(arguments.builder, options).ready()
    # what is wrong with the models, or with what is compared at the end, is told before anything is asked
    models = models_of(arguments)
    at_hand([Path(named) for named in arguments.against])
    config = {name: value for name in ("temperature", "max_tokens") if (value := getattr(arguments, name)) is not None}
    told = {"model": arguments.model, "roles": recorded(models.roles), **config}
    if shown := recorded(models.arguments):
        told["model_args"] = shown
    folder = begin(
        Path(arguments.output), arguments.builder, options, Path(arguments.documents), told, arguments.part_size
    )
    settings = {"model_cost_config": arguments.model_cost_config, **config}
    progress = _Progress(folder, shard)
    for number in progress.parts:
        try:
            with folder.lock(number):
                _work(folder, number, progress, models, settings, cache=arguments.cache)
        except Timeout:
            progress.elsewhere(number)
    # a process that works on a part may be ended, and then it is left to this one
    for number in progress.others:
        print(f"part {number + 1}: waiting until the other process ends", file=sys.stderr, flush=True)
        with folder.lock(number, wait=True):
            _work(folder, number, progress, models, settings, cache=arguments.cache)
    if not arguments.partial:
        progress.end()
    if others := _undone(folder, shard):
        print(f"{others} parts of other shards are not done; then: halu-tasks collect {folder.path}", file=sys.stderr)
        return None
    return collect(folder.path, arguments)


def _work(
    folder: Folder, number: int, progress: _Progress, models: RunModels, settings: Mapping[str, Any], *, cache: bool
) -> None:
    """Work on a part that is not done yet."""
    if log := done(folder, number):
        progress.add(number, log, asked=False)
        return
    folder.ids(number)
    try:
        # what failed before may be the model's fault, and then fails here again
        models.reach(again=bool(progress.failed))
    except ModelError as error:
        raise ModelError(
            f"{error}; what is done lies in {folder.path}, and the same command goes on from there"
        ) from None
    progress.begin(number)
    progress.add(number, _built(folder, number, settings, models, cache=cache))


def _undone(folder: Folder, shard: Part) -> int:
    """Parts of other shards that are not done."""
    others = (number for number in folder.numbers if number % shard.of != shard.number)
    return sum(done(folder, number) is None for number in others)


def _built(
    folder: Folder, part: int, settings: Mapping[str, Any], models: RunModels, *, cache: bool
) -> BuildLog | EvalLog:
    """The log of a part after working on it, or on what is missing of it."""
    set_aside(folder.logs(part))
    # made here, and not by its name in the registry: Inspect would know it again by its path alone
    task = build_task(folder.plan["builder"], str(folder.documents(part)), cache=cache, **folder.options)
    run = run_eval(
        task,
        folder.logs(part),
        models,
        # an error is retried at once, and does not end the run of the other documents
        retry_on_error=2,
        continue_on_fail=True,
        log_realtime=False,
        **settings,
    )
    run.check_written()
    if finished := done(folder, part):
        folder.seal(part, finished.path)
    return finished or run.log


def _failures(log: EvalLog) -> str:
    """How many documents of a part failed, and the error of the first one."""
    summaries = read_eval_log_sample_summaries(log.location) if log.location else []
    errors = [str(summary.error) for summary in summaries if summary.error]
    if not errors:
        return f"ended as {state(log)}"
    # a call that failed tells all that was asked before it tells what was wrong
    why = " ".join(errors[0].replace("\\n", "\n").rpartition("\n\n")[2].replace("\\", "").split())[:200]
    return f"{len(errors)} failed, the first one with {why}"


class _Progress:
    """A line after each part: what passed, what it cost, and how long the rest will take."""

    def __init__(self, folder: Folder, shard: Part) -> None:
        self.folder = folder
        self.parts = [number for number in folder.numbers if number % shard.of == shard.number]
        self.others: list[int] = []
        self.done = self.worked = 0
        self.failed: list[str] = []
        self.began = time.monotonic()
        self.tokens = 0.0

    def begin(self, number: int) -> None:
        if not self.worked:
            self.began = time.monotonic()
        print(f"part {number + 1} of {self.folder.parts} begins", file=sys.stderr, flush=True)

    def add(self, number: int, log: BuildLog | EvalLog, *, asked: bool = True) -> None:
        self.done += 1
        self.worked += asked
        header = log.header if isinstance(log, BuildLog) else log
        failed = "" if isinstance(log, BuildLog) else _failures(log)
        if failed:
            self.failed.append(f"part {number + 1}: {failed}")
        told = [self._line(number, header, asked=asked), *([failed] if failed else [])]
        print("; ".join(told), file=sys.stderr, flush=True)

    def elsewhere(self, number: int) -> None:
        """Note a part that another process is working on; it is looked at again at the end."""
        self.others.append(number)
        print(f"part {number + 1}: another process is working on it", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.failed:
            raise DataError(
                f"{len(self.failed)} of {len(self.parts)} parts have documents that failed ({self.failed[0]}); what is "
                f"done lies in {self.folder.path}, and the same command asks for the rest, or halu-tasks collect "
                f"{self.folder.path} --partial leaves it out"
            )

    def _line(self, number: int, header: EvalLog, *, asked: bool) -> str:
        scores = header.results.scores if header.results else []
        figures = {name: metric.value for score in scores for name, metric in score.metrics.items()}
        checks = self.folder.pipeline.checks
        rates = ", ".join(f"{check} {figures[check]:.1%}" for check in checks if check in figures)
        told = [f"part {number + 1} of {self.folder.parts}"]
        if "documents" in figures:
            told.append(
                f"{figures['documents']:,.0f} documents, {figures['refused']:,.0f} refused, {figures['drafts']:,.0f} "
                f"drafts, {figures['items']:,.0f} items"
            )
        if rates:
            told.append(f"passed {figures['overall']:.1%} ({rates})")
        if not asked:
            return "; ".join([*told, "was done before"])
        self.tokens += figures.get("input_tokens", 0) + figures.get("output_tokens", 0)
        told.append(f"{self.tokens:,.0f} tokens so far")
        costs = [usage.total_cost for usage in header.stats.model_usage.values() if usage.total_cost]
        told += [f"{sum(costs):,.2f} dollars"] if costs else []
        if left := len(self.parts) - self.done:
            told.append(f"{left} left, {(time.monotonic() - self.began) / self.worked * left / 60:,.0f} minutes")
        return "; ".join(told)
