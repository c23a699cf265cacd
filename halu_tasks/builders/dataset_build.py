"""Building a dataset: documents are drafted in parts, which can be interrupted and continued at any moment.

If the builder has a gate, the first part has samples of the documents, and enough of their drafts must be consistent
before the others are drafted (FactCHD, section 4.2).
"""

import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.log import EvalLog

from halu_tasks.builders.documents import read_documents
from halu_tasks.builders.drafting import COUNTS, build_task
from halu_tasks.builders.folder import GATE, LOGS, Folder, begin, by_count, write_json
from halu_tasks.builders.pipeline import Gate, Pipeline, pipeline_named
from halu_tasks.builders.rates import OVERALL
from halu_tasks.core.errors import DataError, ModelError, UsageError
from halu_tasks.core.processes import LOCK, guard
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors.jobs import Executor, Progress
from halu_tasks.inspect_adapter.run_models import RunModels


def build(
    builder: str,
    documents: Path,
    output: Path,
    models: RunModels,
    executor: Executor,
    report: Progress,
    *,
    options: Mapping[str, Any],
    part_size: int = 500,
    gate_samples: int | None = None,
    gate_share: float | None = None,
) -> Folder:
    """Draft all documents of a build that are not finished, after samples of them have passed the builder's gate.

    Args:
        builder: Name of the builder.
        documents: A file or folder of documents.
        output: The folder of the build.
        models: The models.
        executor: Runs the work; its tasks share the parts.
        report: Called with lines about the progress.
        options: Options of the builder.
        part_size: Approximate number of documents per part.
        gate_samples: Number of documents of each group to draft first, which applies when a build starts; 0 for none,
            and later to go on without judging them; None for the builder's default.
        gate_share: Share of their drafts that must be consistent; None for the builder's default.

    Returns:
        The folder of the build.

    Raises:
        UsageError: The builder, an option or the documents do not exist.
        ModelError: A model does not answer.
        DataError: Too few samples are consistent, the folder contains another build, or another
            process is working on it.
        HaluTasksError: A task of the executor was killed too often.
        RunInterrupted: The build was interrupted from the keyboard.
    """
    pipeline = pipeline_named(builder, options)
    gate = _gate_of(pipeline, gate_samples, gate_share)
    pipeline.ready()
    samples = gate.samples if gate else 0
    with begin(output, pipeline, options, documents, models.record, part_size=part_size, samples=samples) as folder:
        if refused := folder.plan.refused:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in by_count(refused))
            report(f"{sum(refused.values()):,} of {folder.plan.documents:,} documents are refused: {reasons}")
        job = BuildJob(folder.path, models)
        if gate:
            if gate.samples and folder.plan.samples:
                executor(replace(job, name="gate"), report)
            pass_gate(folder, gate, report)
        executor(job, report)
        return folder


# --- the parts ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BuildJob:
    """Drafts the parts of a build; each task has every so many of them.

    Attributes:
        folder: The folder of the build.
        models: The models.
        name: `build`, or `gate` for the first part only.
    """

    folder: Path
    models: RunModels
    name: str = "build"

    def _numbers(self, build: Folder, rank: int, tasks: int) -> list[int]:
        return (build.part_numbers[:1] if self.name == "gate" else build.part_numbers)[rank::tasks]

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether all parts of a task are finished."""
        build = Folder(self.folder)
        return all(build.part(number).finished() for number in self._numbers(build, rank, tasks))

    def work(self, rank: int, tasks: int, report: Progress) -> None:
        """Draft the parts of a task that are not finished."""
        models, build = self.models.in_task(tasks), Folder(self.folder)
        numbers = self._numbers(build, rank, tasks)
        # of several tasks, each knows only its own parts
        here, of_task = (" in this task", " for this task") if tasks > 1 else ("", "")
        failed, worked, tokens, started = False, 0, 0, time.monotonic()
        for left, number in zip(reversed(range(len(numbers))), numbers, strict=True):
            # a task that was started again may meet what is left of itself, on a machine that was given up
            with guard(build.path / LOGS, f"{number:05}{LOCK}", wait=math.inf):
                part = build.part(number)
                if log := part.finished():
                    report(f"{part.name}{_describe(log, build.pipeline)}; was finished before")
                    continue
                try:
                    # if documents failed, a model may be the reason, and would fail again
                    models.reach(again=failed)
                except ModelError as error:
                    raise ModelError(
                        f"{error}; {self.folder} keeps what is finished, and the same command continues from there"
                    ) from None
                kept = part.kept()
                again = f" again; {kept:,} of its {len(part.ids):,} documents are finished and kept" if kept else ""
                report(f"{part.name} begins{again}")
                started = started if worked else time.monotonic()
                log = part.draft(build_task(build.plan.builder, str(part.documents), **build.options), models)
                worked, usages = worked + 1, log.stats.model_usage.values()
                tokens += sum(usage.total_tokens for usage in usages)
                text = f"{part.name}{_describe(log, build.pipeline)}; {tokens:,.0f} tokens so far{here}"
                if costs := [usage.total_cost for usage in usages if usage.total_cost]:
                    text += f"; {sum(costs):,.2f} dollars"
                if left:
                    minutes = (time.monotonic() - started) / worked * left / 60
                    text += f"; {left} left{of_task}, {minutes:,.0f} minutes"
                if part.finished() is None:
                    failed = True
                    text += f"; {part.describe_failures()}"
                report(text)


def _describe(log: EvalLog, pipeline: Pipeline) -> str:
    """Describe what became of the documents of a part, and what passed."""
    scores = log.results.scores if log.results else []
    figures = {name: metric.value for score in scores for name, metric in score.metrics.items()}
    numbers = [f"{figures[name]:,.0f} {name}" for name in COUNTS if name in figures]
    rates = [f"{check} {figures[check]:.1%}" for check in pipeline.checks if check in figures]
    passed = f"; passed {figures[OVERALL]:.1%} ({', '.join(rates)})" if rates else ""
    return f"; {', '.join(numbers)}{passed}" if numbers else ""


# --- the gate -------------------------------------------------------------------------------------


class GateResult(NamedTuple):
    """What samples of a build did at its gate: the content of `gate.json`.

    Attributes:
        samples: The number of documents of each group that were sampled; 0 if none were.
        share: The minimum share of consistent drafts.
        text: How many drafts were consistent, in all and of each group.
        reasons: Faults of the other drafts by `check: reason`; a draft may have several.
    """

    samples: int
    share: float
    text: str = ""
    reasons: Mapping[str, int] = {}


def _gate_of(pipeline: Pipeline, samples: int | None, share: float | None) -> Gate | None:
    """Return the gate of a build with a user's choices; None if the builder has none."""
    gate = pipeline.gate
    if gate is None:
        if samples or share is not None:
            raise UsageError(f"{pipeline.name} has no gate; leave out --gate-samples and --gate-share")
        return None
    return Gate(gate.checks, gate.samples if samples is None else samples, gate.share if share is None else share)


def pass_gate(folder: Folder, gate: Gate, report: Progress) -> None:
    """Judge the samples of a gate, which are drafted.

    Raises:
        DataError: Too few drafts are consistent.
    """
    if not (gate.samples and folder.plan.samples):
        write_json(folder.path / GATE, GateResult(0, gate.share))
        report("gate: skipped")
        return
    part = folder.part(folder.part_numbers[0])
    outcomes = {outcome.document: outcome for outcome in part.outcomes()}
    drafts, consistent, reasons = Counter[str](), Counter[str](), Counter[str]()
    for document in read_documents(part.documents):
        if document.id not in outcomes:
            raise DataError(f"{folder.path}: sampled documents failed; run the same command again to repeat them")
        group = folder.pipeline.sampled_as(document)
        for draft in outcomes[document.id].drafts:
            faults = {f"{fault.check}: {fault.reason}" for fault in draft.faults if fault.check in gate.checks}
            drafts[group] += 1
            consistent[group] += not faults
            reasons.update(faults)
    passed, of = consistent.total(), drafts.total()
    groups = ", ".join(f"{name} {consistent[name]} of {drafts[name]}".strip() for name in sorted(drafts))
    rate = f" ({passed / of:.1%})" if of else ""
    text = f"{passed} of {of} sampled drafts are consistent{rate}: {groups or 'no documents'}"
    ordered = dict(by_count(reasons))
    write_json(folder.path / GATE, GateResult(folder.plan.samples, gate.share, text, ordered))
    report(f"gate: {text}")
    # without drafts there is nothing to pass
    if of and passed / of < gate.share:
        most = ", ".join(f"{reason} ({count})" for reason, count in list(ordered.items())[:3])
        raise DataError(
            f"{folder.path}: {text}; at least {gate.share * 100:g}% must be; most often: {most}; improve "
            "the prompts (-T prompts=) or the documents and build into another folder, or continue in this one, which "
            f"keeps the samples, with --gate-share below {gate.share:g} or --gate-samples 0"
        )


def read_gate(folder: Folder) -> GateResult | None:
    """Return the result of a build's gate; None if it has none, or none yet."""
    path = folder.path / GATE
    return GateResult(**read_json_object(path)) if path.is_file() else None
