"""Scoring files of predictions, of which there may be thousands.

The files are divided into parts, which are scored by themselves (`parts`). The records that they leave are then brought
together, some groups of clusters at a time, and summed up for each metric; the metrics are computed from the sums. No
step needs all replies, or all items, in memory, except for metrics that compare items across clusters. Sums are exact,
so that the figures do not depend on how replies are divided into files and parts, nor on their order.

Replies to several tasks, of a group or of a folder of task files, are scored task by task (`score_tasks`).
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halu_tasks import __version__
from halu_tasks.core.credentials import public
from halu_tasks.core.errors import DataError, UsageError, file_errors
from halu_tasks.core.files import atomic_write, atomic_write_text, create_folder
from halu_tasks.core.items import Reply
from halu_tasks.core.options import DATA_OPTIONS, JUDGE_COST_OPTIONS, Options
from halu_tasks.data.cache import sha256_of
from halu_tasks.data.rows import read_json_object
from halu_tasks.data.sources import OwnSource
from halu_tasks.executors.jobs import Executor, Progress, run_here
from halu_tasks.replies.label_notes import check_reference_labels, uncorrected_note
from halu_tasks.replies.parts import (
    BUCKETS,
    NO_FILE,
    ItemReply,
    ItemStore,
    PeopleRecord,
    Record,
    ScoreParts,
    people_of_buckets,
    query,
    records_by_item,
    records_of_buckets,
    write_items,
    write_records,
)
from halu_tasks.replies.predictions import ID_FIELD, OUTPUT_FIELD, PredictionRow, named_as, shards_at
from halu_tasks.replies.scoring import asks_models, prepare_judge
from halu_tasks.replies.warnings import UNPLACED, SameAnswer, run_warnings
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.columns import CONFIDENCE, PROBABILITY, Columns
from halu_tasks.scorers.gold import LabelGold, SpanGold
from halu_tasks.scorers.judge import FAILED
from halu_tasks.scorers.metrics import Estimate, Metric, as_json, estimate, estimate_of_sums
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.jackknife import Sums
from halu_tasks.tasks import RECORD, Evaluation, build
from halu_tasks.tasks.human_baseline import AnnotatorComparison, ComparisonSums
from halu_tasks.tasks.task_registry import Group, group_at, tasks_at

# the number of parts that files are divided into, at most
_MOST_PARTS = 64
# the number of replies that are summed up at a time
_TABLE = 25_000


@dataclass(frozen=True, kw_only=True)
class ScoredFile:
    """Predictions with their figures.

    Attributes:
        evaluation: The task.
        scored_items: The number of items that were scored, each once for all epochs.
        number: The number of scores, including scores of missing replies.
        missing: The number of missing replies, in any epoch.
        epochs: The number of epochs.
        estimates: The metrics.
        references: The metrics of replies to compare with, such as always the same one, by reply.
        warnings: What keeps the figures from saying much about the model.
        people: The comparison with the annotators of the items; None if items do not have several annotators.
        note: What readers of a judged rate have to know; None if its error is corrected, or no judge was asked.
        run: A record of the run as JSON values, without how the model was asked, which is not known.
        scores: The scores, if they are kept.
    """

    evaluation: Evaluation
    scored_items: int
    number: int
    missing: int
    epochs: int
    estimates: Mapping[str, Estimate]
    references: Mapping[str, Mapping[str, float]]
    warnings: Sequence[str]
    people: AnnotatorComparison | None
    note: str | None
    run: Mapping[str, Any]
    scores: Sequence[ScoredReply]

    def as_json(self) -> dict[str, Any]:
        """Return the metrics, and what a report needs to read the replies again, as JSON values."""
        evaluation = self.evaluation
        return {
            "task": evaluation.task.name,
            "scoring": evaluation.options.scoring,
            "data": evaluation.located.kind,
            "n": self.number,
            "missing": self.missing,
            **as_json(self.estimates),
            **({"human_ceiling": self.people.as_json()} if self.people else {}),
            "version": evaluation.version,
            "run": self.run,
        }


def score_file(
    task: str,
    options: Options,
    predictions: Sequence[str],
    *,
    id_field: str = ID_FIELD,
    output_field: str = OUTPUT_FIELD,
    partial: bool = False,
    model: str | None = None,
    details: str | None = None,
    executor: Executor = run_here,
    folder: Path | None = None,
    report: Progress = lambda line: None,
    keep: bool = False,
) -> ScoredFile:
    """Score predictions.

    Args:
        task: The task's name, or the path of a task file.
        options: The task's options.
        predictions: The files with the replies, or folders of them.
        id_field: The field of the ids.
        output_field: The field of the replies.
        partial: Score only the items in the files; otherwise, missing ones count as empty replies.
        model: The name of the model that gave the replies.
        details: The file to write each item's score to.
        executor: What runs the parts.
        folder: Where finished parts are kept, which all processes share; a later call with the same folder continues
            there. If it is None, nothing is kept.
        report: Called with lines about the progress.
        keep: Keep the scores, which then have to fit into memory.

    Raises:
        UsageError: An option is about judges, and the task has none, or the folder is of another run.
        DataError: A file, the data or the labels are damaged, an id is unknown or repeated, or the details cannot be
            written.
        JudgeError: The judge failed on too many items.
    """
    evaluation = build(task, options)
    check_reference_labels(evaluation)
    if details:
        _check_writable(Path(details))
    shards = tuple(shards_at(predictions, evaluation.task.name))
    files = [path for path, _ in shards]
    with ExitStack() as stack:
        job = ScoreParts(
            folder=folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halu-score-"))),
            task=task,
            options=options,
            data=evaluation.located.sha256,
            shards=shards,
            fields=(id_field, output_field),
            # a judge is asked by one process, whose limits on calls and failures then hold for all
            parts=1 if asks_models(evaluation) else min(len(shards), _MOST_PARTS),
        )
        _check_plan(job, evaluation, partial=partial)
        prepare_judge(evaluation, job.costs, asks=False)
        write_items(evaluation, job.items)
        executor(job, report)
        run = {
            "model": model,
            "predictions": public(files),
            "predictions_sha256": [sha256_of(Path(path)) for path in files],
            "id_field": id_field,
            "output_field": output_field,
            "partial": partial,
            "details": details,
            "options": _options_of_run(evaluation, options),
        }
        return _figures(job, evaluation, run, keep=keep)


def _options_of_run(evaluation: Evaluation, options: Options) -> dict[str, Any]:
    """Return the options that a report needs to make the task again."""
    # the wordings of prompts, if there are several, are part of the ids
    names = {*DATA_OPTIONS, *evaluation.task.prompts.task_options, "prompts"}
    source = evaluation.task.data.source
    if options.data is None and isinstance(source, OwnSource):
        # it does so without the task's file, whose folder has the rows
        options = replace(options, data=str(source.folder))
    return {name: getattr(options, name) for name in options.settings() if name in names}


def _check_plan(job: ScoreParts, evaluation: Evaluation, *, partial: bool) -> None:
    """Write the plan of a run to its folder, or check that the folder has the same plan.

    Files that have changed are scored again.

    Raises:
        UsageError: The folder is of other replies, another task or other options.
        DataError: The folder cannot be written, or the plan is damaged.
    """
    plan = {
        "task": job.task,
        "options": {k: str(v) for k, v in job.options.changed().items() if k not in JUDGE_COST_OPTIONS},
        "version": evaluation.version,
        "data": job.data,
        "files": [path for path, _ in job.shards],
        "fields": [*job.fields],
        "partial": partial,
        "package": __version__,
    }
    plan, path = public(plan), job.folder / "plan.json"
    if path.is_file():
        before = read_json_object(path)
        for name, value in plan.items():
            if value != before.get(name):
                raise UsageError(f"{job.folder}: continues another run, whose {name} differ; use another folder")
        return
    job.folder.mkdir(parents=True, exist_ok=True)
    atomic_write_text(path, json.dumps(plan, indent=1) + "\n", "plan")


# --- figures ----------------------------------------------------------------------------------------


def _figures(job: ScoreParts, evaluation: Evaluation, run: Mapping[str, Any], *, keep: bool) -> ScoredFile:
    task = evaluation.task
    files, items = [job.records(part) for part in range(job.parts)], ItemStore(job.items, task.gold)
    epochs = sorted({epoch for file in files for (epoch,) in query(file, "SELECT DISTINCT epoch FROM replies")})
    missing = 0
    if not run["partial"]:
        files.append(job.folder / "missing.sqlite3")
        write_records(files[-1], evaluation, _without_reply(items, files[:-1], epochs), job.costs)
        missing = _number(files[-1])
    number, metrics = sum(map(_number, files)), _metrics_of(evaluation, files)
    comparison, needs_ids = ComparisonSums(task, evaluation.options.scoring), any(m.needs_ids for m in metrics.values())
    parts = {key: list[Sums | Columns]() for key in metrics}
    is_scored, outcomes, scores = np.zeros(len(items), dtype=bool), Counter[Outcome](), list[ScoredReply]()
    same, unplaced = SameAnswer(), 0
    for records, people in _by_cluster(job, files, number):
        is_scored[[record.item for record in records]] = True
        outcomes.update(record.outcome for record in records if record.shard != NO_FILE)
        for record in records:
            if same.differ:
                break
            score = json.loads(record.score)
            same.add(record.id, score["answer"], score["target"])
        columns = _columns(records, needs_ids=needs_ids)
        unplaced += int((columns[UNPLACED] > 0).sum())
        if task.judge_spec or keep:
            scores += (_score(record) for record in records)
        for key, metric in metrics.items():
            parts[key].append(_part(metric, columns))
        if people:
            persons = [record._replace(score=record.person) for record in people]
            of_replies, of_people = (_columns(each, needs_ids=needs_ids) for each in (people, persons))
            comparison.add(of_replies, of_people, np.array([record.item for record in people]))

    if run["details"]:
        _write_details(files, Path(run["details"]), epochs=len(epochs) > 1)
    figures = {key: figure for key, metric in metrics.items() if (figure := _estimate(metric, parts[key]))}
    scored = np.flatnonzero(is_scored)
    warnings = [_missing_warning(job, len(scored), len(epochs), missing)] if missing else []
    return ScoredFile(
        evaluation=evaluation,
        scored_items=len(scored),
        number=number,
        missing=missing,
        epochs=len(epochs),
        estimates={name: figure for (reply, name), figure in figures.items() if reply is None},
        references={
            reply: {name: figure.value for (other, name), figure in figures.items() if other == reply}
            for reply in evaluation.scorer.fixed_replies
        },
        warnings=[
            *warnings,
            *_verdict_warnings(evaluation, scores),
            *run_warnings(task, outcomes, scores, missing=missing, same=same, unplaced=unplaced),
        ],
        people=_people(evaluation, items, map(int, scored), comparison),
        note=uncorrected_note(task, scores),
        scores=scores if keep else (),
        run={
            **run,
            "epochs": len(epochs),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "package": __version__,
            RECORD: evaluation.provenance_of(len(items)).without_prompt().as_json(),
        },
    )


def _metrics_of(evaluation: Evaluation, files: Sequence[Path]) -> dict[tuple[str | None, str], Metric]:
    """Return the metrics by name and by the fixed reply to compare with; None for the replies in the files."""
    metrics: dict[tuple[str | None, str], Metric] = {(None, metric.name): metric for metric in evaluation.all_metrics}
    references = evaluation.scorer.fixed_replies
    metrics |= {(reply, metric.name): metric for reply, reply_metrics in references.items() for metric in reply_metrics}
    # a metric of facts that no reply has would keep the columns of all replies in memory
    missing = {fact for fact in (PROBABILITY, CONFIDENCE) if not any(_has_fact(file, fact) for file in files)}
    return {key: metric for key, metric in metrics.items() if missing.isdisjoint(metric.columns)}


def _people(
    evaluation: Evaluation, items: ItemStore, places: Iterable[int], sums: ComparisonSums
) -> AnnotatorComparison | None:
    """Compare the items at these places with their annotators; None unless they have several."""
    scored_items = (numbered_item[1] for place in places if (numbered_item := items.at(place)))
    first = next(scored_items)
    has_annotators = isinstance(first.gold, LabelGold | SpanGold) and first.gold.pool
    return sums.figures(chain([first], scored_items)) if has_annotators else None


def _number(file: Path, table: str = "replies") -> int:
    return int(next(query(file, f"SELECT count(*) FROM {table}"))[0])


def _has_fact(file: Path, fact: str) -> bool:
    return next(query(file, "SELECT 1 FROM scores WHERE score LIKE ? LIMIT 1", (f'%{fact}":%',)), None) is not None


def _by_cluster(
    job: ScoreParts, files: Sequence[Path], number: int
) -> Iterator[tuple[list[Record], list[PeopleRecord]]]:
    """Read the records of files, some groups of clusters at a time, each in order.

    Raises:
        DataError: An item has two replies in the same epoch.
    """
    number += sum(_number(file, "people") for file in files)
    tables = min(number // _TABLE + 1, BUCKETS)
    repeated: list[tuple[tuple[int, int], str]] = []
    for n in range(tables):
        buckets = range(BUCKETS * n // tables, BUCKETS * (n + 1) // tables)
        records = records_of_buckets(files, buckets)
        for first, second in pairwise(records):
            if first.item == second.item and first.epoch == second.epoch:
                repeated.append(_repeated(job, first, second))
        if records:
            yield records, people_of_buckets(files, buckets)
    if repeated:
        raise DataError(min(repeated)[1])


def _without_reply(items: ItemStore, files: Sequence[Path], epochs: Sequence[int]) -> Iterator[ItemReply]:
    replied = np.zeros((len(items), len(epochs)), dtype=bool)
    places = {epoch: place for place, epoch in enumerate(epochs)}
    for file in files:
        for item, epoch in query(file, "SELECT item, epoch FROM replies"):
            replied[item, places[epoch]] = True
    for place, epoch in zip(*np.nonzero(~replied), strict=True):
        if numbered_item := items.at(int(place)):
            yield numbered_item, NO_FILE, PredictionRow(numbered_item[1].id, epochs[epoch], Reply(""), 0)


def _missing_warning(job: ScoreParts, items: int, epochs: int, missing: int) -> str:
    where = job.shards[0][0] if len(job.shards) == 1 else f"the {len(job.shards):,} files"
    have = f"predictions ({items:,} items, {epochs} epochs) are missing" if epochs > 1 else "items have no prediction"
    advice = "count as empty replies; --partial scores only the ids in the file"
    return f"{missing:,} of {items * epochs:,} {have} in {where} and {advice}"


def _verdict_warnings(evaluation: Evaluation, scores: Sequence[ScoredReply]) -> list[str]:
    if not (recorded := evaluation.recorded):
        return []
    labels = Counter(verdict.label == FAILED for score in scores for verdict in score.verdicts)
    warnings = []
    if labels[True]:
        warnings.append(
            f"{labels[True]:,} of {labels.total():,} questions have no recorded verdict, and count as judge_failed"
        )
    if (unused := len(recorded) - labels[False]) > 0:
        why = "they are on other replies or parts, or on replies that are empty or decline"
        warnings.append(f"{unused:,} of {len(recorded):,} recorded verdicts are not used: {why}")
    return [f"{evaluation.task.name}: {warning}" for warning in warnings]


def _columns(records: Sequence[Record | PeopleRecord], *, needs_ids: bool) -> Columns:
    scores, clusters, rows = dict[str, int](), dict[str, int](), dict[str, int]()
    kind = [scores.setdefault(record.score, len(scores)) for record in records]
    cluster = [clusters.setdefault(record.cluster, len(clusters)) for record in records]
    questions = [record.id.rpartition("/")[0] if needs_ids else "" for record in records]
    row = [rows.setdefault(question, len(rows)) for question in questions]
    different = [ScoredReply.from_json(json.loads(text)) for text in scores]
    return Columns.of_kinds(different, *(np.array(column, dtype=np.int64) for column in (kind, cluster, row)))


def _score(record: Record) -> ScoredReply:
    place = {"id": json.loads(record.id), "cluster": json.loads(record.cluster)}
    return ScoredReply.from_json({**json.loads(record.score), **place})


def _part(metric: Metric, columns: Columns) -> Sums | Columns:
    """Return a metric's sums over clusters, or the columns of a metric that compares items across clusters."""
    if not metric.has_sums:
        return columns.only(metric.columns)
    sums = metric.sums_of_items(columns)
    assert isinstance(sums, Sums)
    return sums.by_cluster(columns.cluster, columns.clusters).unique()


def _repeated(job: ScoreParts, first: Record, second: Record) -> tuple[tuple[int, int], str]:
    path, other = (job.shards[record.shard][0] for record in (second, first))
    in_epoch = f" in epoch {second.epoch}" if second.epoch != 1 else ""
    in_file = "" if path == other else f" of {other}"
    what = f"duplicate id {json.loads(second.id)!r}{in_epoch} (first in line {first.line}{in_file})"
    what += "; of several replies to an item, each needs an epoch of its own, and all spans of a reply are in one row"
    return (second.shard, second.line), f"{path}:{second.line}: {what}"


def _estimate(metric: Metric, parts: Sequence[Sums | Columns]) -> Estimate | None:
    if sums := [part for part in parts if isinstance(part, Sums)]:
        return estimate_of_sums(metric, Sums(*(np.concatenate(each) for each in zip(*sums, strict=True))))
    return estimate(metric, Columns.joined([part for part in parts if isinstance(part, Columns)]))


# --- details ----------------------------------------------------------------------------------------


def _write_details(files: Sequence[Path], path: Path, *, epochs: bool) -> None:
    with atomic_write(path, "details") as file:
        for record in records_by_item(files):
            detail = {"epoch": record.epoch} if epochs else {}
            score = replace(_score(record), reason=json.loads(record.reason), place=json.loads(record.place))
            detail |= score.as_json()
            file.write(json.dumps(detail) + "\n")


def _check_writable(path: Path) -> None:
    """Raise DataError unless details can be written. This is called before a judge is asked."""
    with file_errors(f"details {path}", "; name a file in a folder that can be written"):
        if path.is_dir():
            raise IsADirectoryError("is a folder")
        if path.is_file() or not path.exists():
            tempfile.TemporaryFile(dir=path.parent).close()


# --- several tasks --------------------------------------------------------------------------------


class ScoredTasks(NamedTuple):
    """The scored replies to several tasks.

    Attributes:
        tasks: The figures of each task by its name.
        group: The group; None for the tasks of a folder.
        means: The group's means by metric, without those that are not defined for every task.
        lacking: A line that names the tasks without replies; empty if there are none.
    """

    tasks: Mapping[str, ScoredFile]
    group: Group | None
    means: Mapping[str, Estimate]
    lacking: str

    def as_json(self) -> dict[str, Any]:
        """Convert the figures to JSON values."""
        tasks = {"tasks": {name: scored.as_json() for name, scored in self.tasks.items()}}
        group = self.group
        return tasks | ({"group": {"name": group.name, **as_json(self.means)}} if group else {})


def score_tasks(
    name: str,
    options: Options,
    predictions: Sequence[str],
    *,
    partial: bool = False,
    details: str | None = None,
    folder: Path | None = None,
    **settings: Any,
) -> ScoredTasks:
    """Score predictions for each task of a group or a folder, whose scores all have to fit into memory for the means.

    Args:
        name: The group's name, the path of its file, or a folder of task files.
        options: The options, of which each task has those that it knows.
        predictions: Folders in which each task has a file or a folder with its name, or these.
        partial: Leave out tasks without one, and score only the items in the files.
        details: The folder to write each item's score to, in a file for each task.
        folder: Where finished parts are kept, in a folder for each task.
        **settings: Further arguments of `score_file`.

    Raises:
        UsageError: No task has an option, or as in `score_file`.
        DataError: A task has no file, or as in `score_file`.
        JudgeError: As in `score_file`.
    """
    tasks, group = tasks_at([name]), group_at(name)
    if unused := options.unsupported({option for task, _ in tasks.values() for option in task.prompts.task_options}):
        raise UsageError(f"none of the tasks has the option {Options.settings()[unused[0]].flag}")
    files = {task: named_as(task, predictions) for task in tasks}
    missing = [task for task, paths in files.items() if not paths]
    lacking = ""
    if missing:
        lacking = (
            f"{', '.join(predictions)}: no replies to {', '.join(missing)}; expected files such as {missing[0]}.jsonl"
        )
        if not partial or len(missing) == len(files):
            raise DataError(lacking)
    if details:
        create_folder(Path(details), "details")
    scored = {}
    for task, (definition, file) in tasks.items():
        if not files[task]:
            continue
        scored[task] = score_file(
            str(file or task),
            options.restricted_to(definition.prompts.task_options),
            files[task],
            partial=partial,
            details=str(Path(details, f"{task}.jsonl")) if details else None,
            folder=folder / task if folder else None,
            keep=group is not None,
            **settings,
        )
    scores = {task: one.scores for task, one in scored.items()}
    return ScoredTasks(scored, group, group.figures(options.scoring, scores) if group else {}, lacking)
