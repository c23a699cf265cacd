"""Assembling a report from a board, or from the results in files and folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from halu_tasks import __version__
from halu_tasks.core.items import Reply
from halu_tasks.report.board import Board, Column, Mean
from halu_tasks.report.details import details, other_scores
from halu_tasks.report.items import PER_KIND, text_limit
from halu_tasks.report.pairs import Ranks, differences
from halu_tasks.report.records import (
    About,
    ColumnDetails,
    ColumnSize,
    Condition,
    Floor,
    GroupResult,
    Measures,
    Origin,
    PublishedFigure,
    Remarks,
    ReplyCounts,
    Report,
    ReportColumn,
    ReportEntry,
    ReportGroup,
    ReportWarning,
    Result,
    Superseded,
)
from halu_tasks.report.summary import summary
from halu_tasks.report.table import ItemTable
from halu_tasks.results.entry import Entry, different_settings, possible_duplicates
from halu_tasks.results.published import Published, published, published_for
from halu_tasks.results.run import Skipped
from halu_tasks.scorers.methods import total
from halu_tasks.scorers.metrics import Estimate, ItemSums, Metric, by_cluster, estimates
from halu_tasks.scorers.score import Score

TABLE = "items.parquet"
_NAMED = 3
"""Maximum number of entries that are named together."""


def assemble(
    board: Board,
    skipped: Sequence[Skipped] = (),
    title: str = "",
    *,
    table: Path | None = None,
    margin: float | None = None,
    step: Callable[[int], object] = lambda columns: None,
) -> Report:
    """Assemble the report on a board.

    Args:
        board: The board.
        skipped: Files that are not on the board.
        title: The report's title.
        table: Where to write the full table of items; None for a report without details.
        margin: The difference below which two entries count as equal; None to test no equality.
        step: Called with 1 after each column with its details.
    """
    compared = differences(board, margin)
    report = Report(
        about=About(title, datetime.now(UTC).isoformat(timespec="seconds"), f"halu-tasks {__version__}", TABLE),
        summary=[],
        remarks=Remarks(list(_notes(board)), skipped, list(_warnings(board)), list(_superseded(board))),
        entries=[_entry(entry, board) for entry in board.labels],
        columns=[_column(column) for column in board.columns],
        groups=[_group(mean) for mean in board.means],
        results=[one for column in board.columns for one in _results(column, board, compared.ranks[column])],
        group_results=[one for mean in board.means for one in _means(mean, board, compared.ranks[mean])],
        floors=[floor for column in board.columns for floor in _floors(column)],
        published=list(_published(board)),
        comparison=compared.comparison,
        why=_details(board, table, step) if table else [],
    )
    return replace(report, summary=summary(report))


def _details(board: Board, table: Path, step: Callable[[int], object]) -> list[ColumnDetails]:
    """Collect the details of all columns, and write the table of items."""
    limit = text_limit(3 * PER_KIND * len(board.columns), len(board.labels))
    all_details = []
    with ItemTable(table) as items:
        for column in board.columns:
            others = {entry: other_scores(column, run.answers) for entry, run in column.runs.items()}
            for entry in column.runs:
                items.add(column, entry, board.labels[entry], others[entry])
            all_details.append(details(column, board.ids, others, limit))
            step(1)
    return all_details


def _entry(entry: Entry, board: Board) -> ReportEntry:
    return ReportEntry(
        id=board.ids[entry],
        label=board.labels[entry],
        model=entry.model,
        method=entry.method,
        harness=entry.harness,
        settings=dict(entry.settings),
        roles=dict(entry.roles),
    )


def _column(column: Column) -> ReportColumn:
    run, task, headline, provenance = column.first, column.task, column.headline, column.first.provenance
    bottom, top = headline.range
    return ReportColumn(
        id=column.id,
        title=column.title,
        task=task.name,
        benchmark=task.benchmark,
        about=task.about,
        main=column.main,
        why=column.why,
        notes=column.notes,
        condition=Condition(
            scoring=run.scoring,
            data=provenance.data,
            data_file=provenance.data_file,
            data_sha256=provenance.data_sha256,
            prompt_hash=provenance.prompt_hash,
            version=run.task_version,
            marks=run.version_tags,
            fewshot=provenance.fewshot,
            options=run.options,
            epochs=run.epochs,
        ),
        size=ColumnSize(len(run.scores), run.expected_replies, len({score.cluster for score in run.scores})),
        measures=Measures(
            headline=headline.name,
            compared_by=column.compared_by[0].name,
            higher_is_better=headline.higher_is_better,
            range=(bottom, top if top != float("inf") else None),
            metrics=[metric.name for metric in column.metrics],
            directions={metric.name: metric.higher_is_better for metric in column.metrics},
        ),
    )


def _results(column: Column, board: Board, ranks: Ranks) -> Iterator[Result]:
    failed = next((metric for metric in column.metrics if metric.name == "judge_failed"), None)
    for entry, run in column.runs.items():
        settings = {name: str(value) for name, value in run.settings.items()}
        # the number of failures, since the share may be one of sentences, and undefined if the judge was asked of none
        judge_failed = _sum_of(failed, run.scores) if failed and run.judge else None
        yield Result(
            entry=board.ids[entry],
            column=column.id,
            origin=Origin(run.source, run.harness, run.created, run.version, settings, run.method, run.judge),
            replies=ReplyCounts(len(run.scores), **run.unanswered, judge_failed=judge_failed),
            metrics=estimates(column.metrics, run.scores),
            rank=ranks.get(entry),
            cost=_round_costs(total(run.costs)) if run.costs else None,
        )


def _sum_of(metric: Metric, scores: Sequence[Score]) -> int:
    sums = metric.sums_of_items(by_cluster(scores))
    assert isinstance(sums, ItemSums)
    return round(float(sums.terms[:, 0].sum()))


def _round_costs(cost: Mapping[str, float]) -> dict[str, float]:
    return {name: int(value) if value.is_integer() else round(value, 1) for name, value in cost.items()}


def _group(mean: Mean) -> ReportGroup:
    about = f"the unweighted mean of {mean.name} over {', '.join(column.task.name for column in mean.columns)}"
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


def _means(mean: Mean, board: Board, ranks: Ranks) -> Iterator[GroupResult]:
    for entry, figure in mean.figures.items():
        corrected: Estimate | None = None
        if mean.corrected:
            corrected = estimates(mean.compared_by, mean.scores(entry)).get(mean.compared_by[0].name)
        yield GroupResult(board.ids[entry], mean.id, figure, corrected, ranks.get(entry))


# --- figures for reference --------------------------------------------------------------------------


def _floors(column: Column) -> Iterator[Floor]:
    """Compute the figures of uninformed replies, such as a constant answer, on the column's items."""
    task, mode = column.task, column.first.scoring
    items = [answered.item for answered in column.first.answers]
    scores = [task.score(mode, item, Reply(task.baseline(item))) for item in items]
    for reply, metrics in {"baseline": column.metrics, **task.scoring[mode].reference_replies}.items():
        for metric, figure in estimates(metrics, scores).items():
            yield Floor(column.id, reply, metric, figure.value, metric == column.headline.name)


def _published(board: Board) -> Iterator[PublishedFigure]:
    """Collect the published figures for columns and groups, except for those on the packaged sample."""
    for column in (column for column in board.columns if column.first.provenance.data != "sample"):
        metrics = {metric.name for metric in column.metrics}
        for figure in published_for(column.task):
            if figure.metric in metrics and _same_mode(figure, column.first.scoring):
                yield PublishedFigure(column.id, None, figure.metric == column.headline.name, *_known(figure))
    for mean in board.means:
        if all(column.first.provenance.data != "sample" for column in mean.columns):
            for figure in published(mean.group.name):
                of_mean = figure.task == mean.group.name and figure.metric == mean.name
                if of_mean and _same_mode(figure, mean.scoring):
                    yield PublishedFigure(None, mean.id, True, *_known(figure))


def _same_mode(figure: Published, scoring: str) -> bool:
    """Return whether a figure is shown with those of a mode.

    Figures for `paper` are shown with `strict` ones, too, for orientation; the page states their mode.
    """
    return scoring == "strict" or figure.scoring in ("both", scoring)


def _known(figure: Published) -> tuple[str, str, str, float, str, str, str]:
    note = " ".join(figure.note.splitlines())
    return figure.model, figure.method, figure.metric, figure.value, figure.scoring, figure.source, note


# --- remarks ----------------------------------------------------------------------------------------


def _notes(board: Board) -> Iterator[str]:
    for one, other in possible_duplicates(list(board.labels)):
        yield (
            f"{one.model} ({one.harness}) and {other.model} ({other.harness}) may be the same model. Results of two "
            "harnesses are not merged: both are compared with all others and with each other. To compare models, pass "
            "the results of one harness"
        )
    if differing := different_settings(column.runs for column in board.columns):
        clauses = []
        for name, by_value in differing.items():
            values = sorted(by_value, key=lambda value: value is None)
            clauses.append(f"{name} is {_joined([_of_entries(value, by_value[value], board) for value in values])}")
        yield f"Entries that are compared have different generation settings: {'; '.join(clauses)}"


def _of_entries(value: str | None, entries: Sequence[Entry], board: Board) -> str:
    """Say which entries have a value of a setting, by their labels if they are few."""
    labels = [board.labels[entry] for entry in entries]
    who = _joined(labels) if len(labels) <= _NAMED else f"{len(labels)} entries"
    return f"{'the task’s own' if value is None else value} for {who}"


def _joined(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _warnings(board: Board) -> Iterator[ReportWarning]:
    for column in board.columns:
        for entry, run in column.runs.items():
            for share, meaning in run.reply_warnings:
                text = f"{board.labels[entry]}, {column.title}: {share} {meaning}"
                yield ReportWarning(board.ids[entry], column.id, share, meaning, text)


def _superseded(board: Board) -> Iterator[Superseded]:
    for earlier, entry, column in board.superseded:
        later = column.runs[entry]
        why = f"{column.task.name}: replaced by the later run of {later.created} ({later.source})"
        yield Superseded(board.ids[entry], column.id, earlier.source, earlier.created, why)
