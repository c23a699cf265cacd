"""What stands beside a board for orientation: floors of replies made without knowing, and figures of papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halu_tasks.items import Reply
from halu_tasks.published import Published, published, published_for
from halu_tasks.report.board import Board, Column
from halu_tasks.scorers.metrics import estimates


def floors(column: Column, name: str) -> Iterator[dict[str, Any]]:
    """Figures of replies that are made without knowing the answer, on the column's items."""
    task, mode = column.task, column.first.scoring
    items = [answered.item for answered in column.first.answers]
    scores = [task.score(mode, item, Reply(task.baseline(item))) for item in items]
    fixed = {"baseline": {key: figure.value for key, figure in estimates(column.metrics, scores).items()}}
    beside = task.scoring[mode].reference_replies
    if beside:
        fixed |= {reply: dict(figures) for reply, figures in beside(scores).items()}
    for reply, figures in fixed.items():
        for metric, value in figures.items():
            headline = metric == column.headline.name
            yield {"column": name, "name": reply, "metric": metric, "value": value, "headline": headline}


def published_figures(
    found: Board, names: Mapping[int, str], groups: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The figures of papers for the columns and groups; none beside the sample, of which nothing is printed."""
    told = []
    for column in found.columns:
        if column.first.provenance["data"] == "sample":
            continue
        metrics = {metric.name for metric in column.metrics}
        told += [
            {"column": names[id(column)], "group": None, "headline": figure.metric == column.headline.name}
            | _figure(figure)
            for figure in published_for(column.task)
            if figure.metric in metrics and _same_mode(figure, column.first.scoring)
        ]
    sampled = {names[id(column)] for column in found.columns if column.first.provenance["data"] == "sample"}
    for group in groups:
        if sampled & {*group["columns"]}:
            continue
        told += [
            {"column": None, "group": group["id"], "headline": True} | _figure(figure)
            for figure in published(group["group"])
            if figure.task == group["group"]
            and figure.metric == group["metric"]
            and _same_mode(figure, group["scoring"])
        ]
    return told


def _same_mode(figure: Published, scoring: str) -> bool:
    """Whether a figure may stand beside those of a mode: a published one beside strict ones for orientation, and says
    that it is none of them."""
    return scoring == "strict" or figure.scoring in ("both", scoring)


def _figure(figure: Published) -> dict[str, Any]:
    return {
        "model": figure.model,
        "method": figure.method,
        "metric": figure.metric,
        "value": figure.value,
        "scoring": figure.scoring,
        "source": figure.source,
        "note": " ".join(figure.note.splitlines()),
    }
