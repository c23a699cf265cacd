"""Reference figures for a board: floors of uninformed replies, and figures published in papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halu_tasks.core.items import Reply
from halu_tasks.report.model.leaderboard import Board, Column
from halu_tasks.report.model.names import Names
from halu_tasks.report.model.report import Floor, PublishedFigure, ReportGroup
from halu_tasks.results.published import Published, published, published_for
from halu_tasks.scorers.metrics import estimates


def floors(column: Column, names: Names) -> Iterator[Floor]:
    """Compute the figures of uninformed replies, such as a constant answer, on the column's items."""
    task, mode = column.task, column.first.scoring
    items = [answered.item for answered in column.first.answers]
    scores = [task.score(mode, item, Reply(task.baseline(item))) for item in items]
    metrics_by_reply = {"baseline": column.metrics, **task.scoring[mode].reference_replies}
    for reply, metrics in metrics_by_reply.items():
        for metric, figure in estimates(metrics, scores).items():
            headline = metric == column.headline.name
            yield Floor(column=names.columns[column], name=reply, metric=metric, value=figure.value, headline=headline)


def published_figures(board: Board, names: Names, groups: Sequence[ReportGroup]) -> list[PublishedFigure]:
    """Collect the published figures for columns and groups, except for those on the packaged sample."""
    rows = []
    for column in board.columns:
        if column.first.provenance.data == "sample":
            continue
        metrics = {metric.name for metric in column.metrics}
        rows += [
            _record(figure, column=names.columns[column], headline=figure.metric == column.headline.name)
            for figure in published_for(column.task)
            if figure.metric in metrics and _same_mode(figure, column.first.scoring)
        ]
    sampled = {names.columns[column] for column in board.columns if column.first.provenance.data == "sample"}
    for group in groups:
        if sampled & {*group.columns}:
            continue
        rows += [
            _record(figure, group=group.id)
            for figure in published(group.group)
            if figure.task == group.group and figure.metric == group.metric and _same_mode(figure, group.scoring)
        ]
    return rows


def _same_mode(figure: Published, scoring: str) -> bool:
    """Return whether a figure is shown with those of a mode.

    Figures for `paper` are shown with `strict` ones, too, for orientation; the page states their mode.
    """
    return scoring == "strict" or figure.scoring in ("both", scoring)


def _record(
    figure: Published, *, column: str | None = None, group: str | None = None, headline: bool = True
) -> PublishedFigure:
    return PublishedFigure(
        column=column,
        group=group,
        headline=headline,
        model=figure.model,
        method=figure.method,
        metric=figure.metric,
        value=figure.value,
        scoring=figure.scoring,
        source=figure.source,
        note=" ".join(figure.note.splitlines()),
    )
