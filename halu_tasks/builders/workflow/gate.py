"""Drafting the samples of a build's gate, and stopping the build if too few of them are consistent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from inspect_ai import Task
from inspect_ai.log import EvalLog

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Gate, Pipeline
from halu_tasks.builders.run.folder import GATE, Folder
from halu_tasks.builders.run.gate import RESULT, GateResult, files_of, judged, logs_of, replays, sampled
from halu_tasks.builders.run.inspect_logs import build_logs, set_aside
from halu_tasks.builders.run.inspect_task import build_task
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.results.readers.inspect import state

Run = Callable[[Task, Path], EvalLog]
"""Runs a task to its end, with its logs in a folder."""


def gate_of(pipeline: Pipeline, samples: int | None, share: float | None) -> Gate | None:
    """Return the gate of a build with a user's choices; None if the builder has none.

    Args:
        pipeline: The pipeline.
        samples: The number of documents of each group, 0 to skip the gate; None for the builder's default.
        share: The minimum share of consistent drafts; None for the builder's default.

    Raises:
        UsageError: The builder has no gate, or a choice is invalid.
    """
    gate = pipeline.gate
    if gate is None:
        if samples or share is not None:
            raise UsageError(f"{pipeline.name} has no gate; leave out --gate-samples and --gate-share")
        return None
    if share is not None and not 0 <= share <= 1:
        raise UsageError(f"--gate-share: expected a number from 0 to 1, got {share:g}")
    return gate._replace(
        samples=gate.samples if samples is None else samples, share=gate.share if share is None else share
    )


def missing_samples(folder: Folder, gate: Gate) -> list[Document]:
    """Return the samples of a gate that are not drafted."""
    known = replays(folder.path / GATE)
    return [document for document in sampled(folder, gate.samples) if document.id not in known]


def draft_samples(folder: Folder, gate: Gate, run: Run) -> None:
    """Draft the samples that are not drafted yet.

    Args:
        folder: The build.
        gate: What the samples have to pass.
        run: Runs a task.

    Raises:
        DataError: Documents failed.
    """
    path = folder.path / GATE
    # a run that was interrupted is continued with its own documents
    for file in files_of(path):
        _run(folder, file, run)
    if missing := missing_samples(folder, gate):
        path.mkdir(exist_ok=True)
        file = path / f"{len(files_of(path)):05}.jsonl"
        atomic_write_text(file, "".join(json.dumps(document.as_row()) + "\n" for document in missing))
        _run(folder, file, run)


def pass_gate(folder: Folder, gate: Gate, report: Callable[[str], None]) -> None:
    """Judge the samples of a gate.

    Args:
        folder: The build, whose samples are drafted.
        gate: What the samples have to pass.
        report: Called with a line about the result.

    Raises:
        DataError: Too few drafts are consistent.
    """
    path = folder.path / GATE
    if gate.samples:
        result = judged(folder.pipeline, gate, sampled(folder, gate.samples), replays(path))
        line = f"gate: {result.describe()}"
    else:
        result = GateResult(samples=0, share=gate.share, groups={}, reasons={})
        line = "gate: skipped"
    path.mkdir(exist_ok=True)
    atomic_write_text(path / RESULT, json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n")
    report(line)
    if not result.passed:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in list(result.reasons.items())[:3])
        raise DataError(
            f"{folder.path}: {result.describe()}; at least {result.required} must be; most often: {reasons}; improve "
            "the prompts (-T prompts=) or the documents and build into another folder, or continue in this one, which "
            f"keeps the samples, with --gate-share below {gate.share:g} or --gate-samples 0"
        )


def _run(folder: Folder, file: Path, run: Run) -> None:
    """Draft the documents of a file, unless this is finished.

    Raises:
        DataError: Documents failed.
    """
    logs = logs_of(file)
    if logs.is_dir():
        set_aside(logs)
        if any(log.finished for log in build_logs(logs)):
            return
    log = run(build_task(folder.plan.builder, str(file), **folder.options), logs)
    if log.status != "success":
        raise DataError(f"{logs}: sampled documents failed ({state(log)}); run the same command again to repeat them")
