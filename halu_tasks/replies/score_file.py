"""Scoring files of predictions, of which there may be thousands.

The files are divided into parts. Each part is scored by itself, in any process on any machine that sees the folder of
the run (`start`, `parts.jobs`, `finish`), and reduced to a short record of each reply. These are then brought together
by cluster, summed up for each metric, and the metrics are computed from the sums. No step needs all replies, or all
items, in memory, except for metrics that compare items across clusters. Sums are exact, so that the figures do not
depend on how replies are divided into files and parts, nor on their order.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from halu_tasks import __version__
from halu_tasks.core.errors import DataError
from halu_tasks.core.options import DATA_OPTIONS, Options
from halu_tasks.data.cache import sha256_of
from halu_tasks.data.shards import Shard, is_remote, shards_at
from halu_tasks.executors import Executor, Report
from halu_tasks.executors.local import LocalExecutor
from halu_tasks.replies.parts.items import BUCKETS, write_items
from halu_tasks.replies.parts.jobs import ScoreParts, SumByCluster
from halu_tasks.replies.parts.plan import MOST_PARTS, ScorePlan, ScoreRun, Work, open_run
from halu_tasks.replies.parts.records import DifferentScores, check_writable, read_records, write_details
from halu_tasks.replies.parts.score_part import first_unknown, read_facts
from halu_tasks.replies.parts.tabulate import Tables, all_metrics
from halu_tasks.replies.predictions import ID_FIELD, OUTPUT_FIELD, Fields
from halu_tasks.replies.reference import check_reference, label_warnings, uncorrected_note
from halu_tasks.replies.scoring import RequestInfo, prepare_judge, task_failure_warnings, task_reply_warnings
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.metrics import Estimate, Metric, as_json, estimate, estimate_of_sums
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, build

_TABLE = 100_000
"""The number of replies of a table of sums, which is in memory as a whole."""
ONE_PROCESS = LocalExecutor()


@dataclass(frozen=True, kw_only=True)
class ScoreRequest:
    """What to score.

    Attributes:
        predictions: The files with the replies, or folders of them; paths, or addresses of fsspec.
        id_field: The field of the ids.
        output_field: The field of the replies.
        partial: Score only the items in the files; otherwise, missing ones count as empty replies.
        model: The name of the model that gave the replies.
        details: The file to write each item's score to, or a folder if it ends in a slash.
    """

    predictions: Sequence[str]
    id_field: str = ID_FIELD
    output_field: str = OUTPUT_FIELD
    partial: bool = False
    model: str | None = None
    details: str | None = None


@dataclass(frozen=True)
class ScoredFile:
    """Predictions with their figures.

    Attributes:
        request: What was scored.
        built: The task.
        shards: The files.
        items: The number of items of the task.
        scored_items: The number of items that were scored, each once for all epochs.
        number: The number of scores, those of missing replies included.
        missing: The number of missing replies, in any epoch.
        epochs: The number of epochs.
        estimates: The metrics.
        references: The metrics of replies to compare with, such as always the same one, by reply.
        warnings: What keeps the figures from saying much about the model.
        note: What readers of a judged rate have to know; None if its error is corrected, or no judge was asked.
    """

    request: ScoreRequest
    built: Built
    shards: Sequence[Shard]
    items: int
    scored_items: int
    number: int
    missing: int
    epochs: int
    estimates: Mapping[str, Estimate]
    references: Mapping[str, Mapping[str, float]]
    warnings: Sequence[str]
    note: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the metrics, and what a report needs to read the replies again, as JSON values."""
        figures = as_json(self.estimates)
        return {
            "task": self.built.task.name,
            "scoring": self.built.options.scoring,
            "data": self.built.located.kind,
            "n": self.number,
            "missing": self.missing,
            "metrics": figures["metrics"],
            "intervals": figures["intervals"],
            "version": self.built.version,
            "run": self._run(),
        }

    def _run(self) -> dict[str, Any]:
        """Return what is known of the run; how the model was asked is not."""
        built, request = self.built, self.request
        names = {*DATA_OPTIONS, *built.task.task_options}
        files = [(shard.address, _checksum(shard)) for shard in self.shards]
        return {
            "model": request.model,
            "predictions": files[0][0] if len(files) == 1 else [address for address, _ in files],
            "predictions_sha256": files[0][1] if len(files) == 1 else [checksum for _, checksum in files],
            "id_field": request.id_field,
            "output_field": request.output_field,
            "partial": request.partial,
            "details": request.details,
            "epochs": self.epochs,
            "options": {name: getattr(built.options, name) for name in built.options.specs() if name in names},
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "package": __version__,
            "halu_tasks": built.provenance_of(self.items).without_prompt().as_json(),
        }


def _checksum(shard: Shard) -> str:
    """Return the sha256 of a local file; for a remote one, which would be read again, the version that it states."""
    return shard.version if is_remote(shard.address) else sha256_of(Path(shard.address))


def score_file(
    task: str,
    options: Options,
    request: ScoreRequest,
    *,
    executor: Executor = ONE_PROCESS,
    folder: Path | None = None,
    report: Report = lambda line: None,
) -> ScoredFile:
    """Score predictions.

    Args:
        task: The task's name, or the path of a task file.
        options: The task's options.
        request: What to score.
        executor: What runs the parts.
        folder: Where finished parts are kept, which all processes share; a later call with the same folder continues
            there. If it is None, nothing is kept.
        report: Called with lines about the progress.

    Raises:
        UsageError: An option is about judges, and the task has none, or the folder is of another run.
        DataError: A file, the data or the labels are damaged, an id is unknown or repeated, or the details cannot be
            written.
        JudgeError: The judge failed on too many items.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="halu-score-") as temporary:
            own = Path(temporary)
            return score_file(task, options, request, executor=executor, folder=own, report=report)
    plan = start(task, options, request, folder)
    try:
        executor.run(ScoreParts(folder, plan.parts), report)
        return finish(folder, request, executor=executor, report=report)
    finally:
        open_run.cache_clear()


def start(task: str, options: Options, request: ScoreRequest, folder: Path, parts: int | None = None) -> ScorePlan:
    """Check what is to be scored, and write the plan and the items to a folder, or continue there.

    Args:
        task: The task's name, or the path of a task file.
        options: The task's options.
        request: What to score.
        folder: The folder.
        parts: The number of parts; by default one for each file, up to `MOST_PARTS`.

    Raises:
        UsageError: An option is about judges, and the task has none, or the folder is of another run.
        DataError: The data or the labels are damaged, a file is missing, or the details cannot be written.
        JudgeError: The judge does not answer.
    """
    built = build(task, options)
    check_reference(built)
    if request.details:
        check_writable(request.details)
    shards = tuple(shards_at(request.predictions))
    # a judge is asked by one process, whose limits on calls and failures then hold for all
    usual = 1 if built.task.judged and options.judge else min(len(shards), MOST_PARTS)
    plan = ScorePlan(
        task=task,
        options=options,
        version=built.version,
        data=built.located.sha256,
        shards=shards,
        fields=Fields(request.id_field, request.output_field),
        partial=request.partial,
        details=request.details,
        parts=parts or usual,
    )
    open_run.cache_clear()
    work = Work(folder)
    plan = work.start(plan)
    _remove_outdated(work, plan)
    prepare_judge(built, work.judge_costs)
    write_items(built, work.items)
    return plan


def _remove_outdated(work: Work, plan: ScorePlan) -> None:
    """Remove parts whose files have changed since, and what was made of them."""
    finished = [rank for rank in range(plan.parts) if work.part(rank).exists()]
    for rank in finished:
        if read_facts(work, rank).shards != plan.of_part(rank):
            shutil.rmtree(work.table(0).parent, ignore_errors=True)
            shutil.rmtree(work.part(rank))


def finish(
    folder: Path, request: ScoreRequest, *, executor: Executor = ONE_PROCESS, report: Report = lambda line: None
) -> ScoredFile:
    """Compute the figures of a run whose parts are finished.

    Args:
        folder: The folder of the run.
        request: What was scored.
        executor: What runs the tables of sums.
        report: Called with lines about the progress.

    Raises:
        DataError: A part is not finished, an id is unknown or repeated, or the details cannot be written.
    """
    run = open_run(folder)
    work, plan = run.work, run.plan
    if unfinished := [rank for rank in range(plan.parts) if not work.part(rank).exists()]:
        raise DataError(f"{folder}: {len(unfinished)} of {plan.parts} parts are not finished")
    parts = [read_facts(work, rank) for rank in range(plan.parts)]
    if error := first_unknown(run, parts):
        raise error
    epochs = tuple(sorted(set().union(*(part.epochs for part in parts))))
    replies = sum(part.replies for part in parts)
    number = min(max(replies, len(run.items) * len(epochs)) // _TABLE + 1, BUCKETS)
    executor.run(SumByCluster(folder, number, epochs), report)
    tables = Tables(work, number)
    if repeated := [facts.repeated for facts in tables.facts if facts.repeated]:
        raise DataError(min(repeated)[1])
    if request.details:
        write_details([*work.records(plan.parts), *tables.records()], request.details, epochs=epochs != (1,))
    return _scored(run, request, tables, sum((part.outcomes for part in parts), Counter[Outcome]()), len(epochs))


def _scored(
    run: ScoreRun, request: ScoreRequest, tables: Tables, outcomes: Counter[Outcome], epochs: int
) -> ScoredFile:
    built, shards = run.built, run.plan.shards
    items, number, missing = (
        sum(getattr(facts, name) for facts in tables.facts) for name in ("items", "replies", "missing")
    )
    figures = [_estimate(metric, each, tables) for each, metric in enumerate(all_metrics(built))]
    metrics = built.all_metrics
    references, after = {}, len(metrics)
    for reply, fixed in built.scoring.reference_replies.items():
        values = zip(fixed, figures[after : after + len(fixed)], strict=True)
        references[reply] = {metric.name: figure.value for metric, figure in values if figure}
        after += len(fixed)
    judged: list[Score] = []
    if built.task.judged:
        scores, kinds = DifferentScores.of(read_records([*run.work.records(run.plan.parts), *tables.records()]))
        judged = [scores[kind] for kind in kinds]
    warnings = task_reply_warnings(built.task.name, outcomes, RequestInfo())
    warnings += task_failure_warnings(built.task, built.options.scoring, judged)
    warnings += label_warnings(built.task, built.reference, judged)
    if missing:
        where = shards[0].address if len(shards) == 1 else f"the {len(shards):,} files"
        have = "items have no prediction"
        if epochs > 1:
            have = f"predictions ({items:,} items, {epochs} epochs) are missing"
        advice = "count as empty replies; --partial scores only the ids in the file"
        warnings.insert(0, f"{missing:,} of {number:,} {have} in {where} and {advice}")
    return ScoredFile(
        request=request,
        built=built,
        shards=shards,
        items=len(run.items),
        scored_items=items,
        number=number,
        missing=missing,
        epochs=epochs,
        estimates={m.name: figure for m, figure in zip(metrics, figures, strict=False) if figure is not None},
        references=references,
        warnings=warnings,
        note=uncorrected_note(built.task, judged),
    )


def _estimate(metric: Metric, number: int, tables: Tables) -> Estimate | None:
    """Estimate a metric from its tables, in two passes over their rows."""
    if not metric.has_sums:
        return estimate(metric, tables.items(number))
    return estimate_of_sums(metric, tables.total(number).values(), lambda: tables.chunks(number))
