"""Assembling a report from a board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from halu_tasks import __version__
from halu_tasks.core.items import Reply
from halu_tasks.report.board import Board, Column, Mean
from halu_tasks.report.details import write_details
from halu_tasks.report.pairs import Ranks, differences
from halu_tasks.report.records import Condition, Floor, GroupResult, Json, Report, ReportColumn, ReportGroup, Result
from halu_tasks.report.summary import joined
from halu_tasks.results.comparability import different_settings, items_that_differ
from halu_tasks.results.published import Published, published, published_for
from halu_tasks.results.run import Skipped
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.judge import FAILED
from halu_tasks.scorers.methods import total
from halu_tasks.scorers.metrics import by_cluster, estimate, estimates
from halu_tasks.tasks.annotators import human_ceiling

TABLE = "items.parquet"
# maximum number of entries that are named together
_NAMED = 3


def assemble(
    board: Board,
    skipped: Sequence[Skipped] = (),
    title: str = "",
    *,
    table: Path | None = None,
    margin: float | None = None,
) -> Report:
    """Assemble the report on a board.

    Args:
        board: The board.
        skipped: Files that are not on the board.
        title: The report's title.
        table: Where to write the full table of items; None for a report without details.
        margin: The difference below which two entries count as equal; None to test no equality.
    """
    pairs, ranks = differences(board, margin)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    package = f"halu-tasks {__version__}"
    return Report(
        about={"title": title, "created": created, "package": package, "table": TABLE, "margin": margin},
        notes=list(_notes(board)),
        skipped=skipped,
        warnings=list(_warnings(board)),
        superseded=list(_superseded(board)),
        entries=board.entries,
        columns=[_column(column) for column in board.columns],
        groups=[_group(mean) for mean in board.means],
        results=[one for column in board.columns for one in _results(column, ranks[column])],
        group_results=[one for mean in board.means for one in _means(mean, ranks[mean])],
        floors=[floor for column in board.columns for floor in _floors(column)],
        published=list(_published(board)),
        pairs=pairs,
        why=write_details(board, table) if table else [],
    )


def _column(column: Column) -> ReportColumn:
    run, task, headline, provenance = column.first, column.task, column.headline, column.first.provenance
    bottom, top = headline.range
    return ReportColumn(
        id=column.id,
        title=column.title,
        task=task.name,
        main=column.main,
        why=column.why,
        notes=column.notes,
        scoring=run.scoring,
        data=provenance.data,
        headline=headline.name,
        compared_by=column.compared_by[0].name,
        higher_is_better=headline.higher_is_better,
        range=(bottom, top if top != float("inf") else None),
        directions={metric.name: metric.higher_is_better for metric in column.metrics},
        condition=Condition(
            benchmark=task.benchmark,
            about=task.about,
            data_file=provenance.data_file,
            data_sha256=provenance.data_sha256,
            prompt_hash=provenance.prompt_hash,
            version=run.task_version,
            marks=run.version_tags,
            fewshot=provenance.fewshot,
            options=run.options,
            epochs=run.epochs,
            n=len(run.scores),
            of=run.expected_replies,
            clusters=len({score.cluster for score in run.scores}),
            human_ceiling=human_ceiling(task, run.scoring, (answered.item for answered in run.answers)),
        ),
    )


def _results(column: Column, ranks: Ranks) -> Iterator[Result]:
    for entry, run in column.runs.items():
        counts: dict[str, int | None] = {name: sum(own.outcome == name for own in run.scores) for name in NO_ANSWER}
        # the number of failures, since the share may be one of sentences, and undefined if the judge was asked of none
        failures = sum(verdict.label == FAILED for score in run.scores for verdict in score.verdicts)
        counts["judge_failed"] = failures if column.task.judged and run.judge else None
        costs = total(run.costs) if run.costs else None
        yield Result(
            entry=entry.id,
            column=column.id,
            source=run.source,
            harness=run.harness,
            created=run.created,
            version=run.version,
            settings={name: str(value) for name, value in run.settings.items()},
            method=run.method,
            judge=run.judge,
            n=len(run.scores),
            counts=counts,
            metrics={metric.name: run.figures[metric.name] for metric in column.metrics if metric.name in run.figures},
            rank=ranks.get(entry),
            cost=costs and {name: int(x) if x.is_integer() else round(x, 1) for name, x in costs.items()},
        )


def _group(mean: Mean) -> ReportGroup:
    about = ", ".join(f"{column.task.name} ({column.headline.name})" for column in mean.columns)
    about = f"the unweighted mean over {about}"
    if mean.corrected:
        tasks = ", ".join(column.task.name for column in mean.corrected)
        about += f"; differences and ranks are of {mean.compared_by[0].name}, in which labels correct {tasks}"
    return ReportGroup(
        id=mean.id,
        title=mean.group.name if mean.main else f"{mean.group.name}-{mean.scoring}",
        group=mean.group.name,
        metric=mean.name,
        compared_by=mean.compared_by[0].name,
        scoring=mean.scoring,
        data=mean.columns[0].first.provenance.data,
        main=mean.main,
        columns=[column.id for column in mean.columns],
        about=about,
        higher_is_better=mean.compared_by[0].higher_is_better,
    )


def _means(mean: Mean, ranks: Ranks) -> Iterator[GroupResult]:
    (metric,) = mean.compared_by
    for entry, figure in mean.figures.items():
        corrected = estimate(metric, by_cluster(mean.scores(entry))) if mean.corrected else None
        yield GroupResult(entry.id, mean.id, figure, corrected, ranks.get(entry))


# --- figures for reference --------------------------------------------------------------------------


def _floors(column: Column) -> Iterator[Floor]:
    """Compute the figures of uninformed replies, such as a constant answer, on the column's items."""
    task, mode = column.task, column.first.scoring
    items = [answered.item for answered in column.first.answers]
    scores = [task.score(mode, item, Reply(task.prompts.baseline(item))) for item in items]
    # without the key, the baseline is an empty reply, which says nothing of the task
    baseline = {"baseline": column.metrics} if "baseline" in task.values else {}
    for reply, metrics in {**baseline, **task.scoring[mode].reference_replies}.items():
        for metric, figure in estimates(metrics, scores).items():
            yield Floor(column.id, reply, metric, figure.value, metric == column.headline.name)


def _published(board: Board) -> Iterator[Json]:
    """Collect the published figures for columns and groups, except for those on the packaged sample."""
    for column in board.columns:
        metrics = {metric.name for metric in column.metrics}
        for one in published_for(column.task):
            if one.metric in metrics and _is_shown(one, [column], column.first.scoring):
                yield _published_figure(one, one.metric == column.headline.name, column=column.id, group=None)
    for mean in board.means:
        for one in published(mean.group.name):
            if (one.task, one.metric) == (mean.group.name, mean.name) and _is_shown(one, mean.columns, mean.scoring):
                yield _published_figure(one, True, column=None, group=mean.id)


def _is_shown(figure: Published, columns: Sequence[Column], scoring: str) -> bool:
    """Return whether a figure is shown with those of a mode.

    Figures for `paper` are shown with `strict` ones, too, for orientation; the page states their mode.
    """
    on_sample = any(column.first.provenance.data == "sample" for column in columns)
    return not on_sample and (scoring == "strict" or figure.scoring in ("both", scoring))


def _published_figure(figure: Published, headline: bool, **place: str | None) -> Json:
    names = ("model", "method", "metric", "value", "scoring", "source")
    note = " ".join(figure.note.splitlines())
    return {**place, "headline": headline, **{name: getattr(figure, name) for name in names}, "note": note}


# --- remarks ----------------------------------------------------------------------------------------


def _notes(board: Board) -> Iterator[str]:
    clauses = []
    for name, by_entry in different_settings(column.runs for column in board.columns).items():
        parts = []
        for value in sorted({*by_entry.values()}, key=lambda value: (value is None, str(value))):
            labels = [entry.label for entry, own in by_entry.items() if own == value]
            who = joined(labels) if len(labels) <= _NAMED else f"{len(labels)} entries"
            parts.append(f"{'the task’s own' if value is None else value} for {who}")
        clauses.append(f"{name} is {joined(parts)}")
    if clauses:
        yield f"Entries that are compared have different generation settings: {'; '.join(clauses)}"


def _warnings(board: Board) -> Iterator[Mapping[str, str]]:
    for column in board.columns:
        for entry, run in column.runs.items():
            for share, meaning in run.reply_warnings:
                text = f"{entry.label}, {column.title}: {share} {meaning}"
                where = {"entry": entry.id, "column": column.id}
                yield {**where, "share": share, "meaning": meaning, "text": text}


def _superseded(board: Board) -> Iterator[Json]:
    for earlier, entry, column in board.superseded:
        later = column.runs[entry]
        why = f"{column.task.name}: replaced by the later run of {later.created} ({later.source}), in which "
        why += f"{items_that_differ(earlier, later):,} items have other answers or scores"
        where = {"entry": entry.id, "column": column.id, "rerun": earlier.program == later.program}
        yield {**where, "source": earlier.source, "created": earlier.created, "why": why}
