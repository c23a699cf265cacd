"""Assembling a report as plain JSON values, from which the page, the Markdown and the JSON file are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from halu_tasks import __version__
from halu_tasks.replies.scoring import outcome_of, reply_warnings
from halu_tasks.report.model import items as shown_items
from halu_tasks.report.model.baselines import floors, published_figures
from halu_tasks.report.model.breakdowns import (
    OTHER_MODE,
    breakdowns,
    calibration,
    confusion,
    modes,
    other_scores,
    plain,
)
from halu_tasks.report.model.leaderboard import Board, Column
from halu_tasks.report.model.pairs import differences, pairs, ranks, wins
from halu_tasks.report.model.parquet import ItemTable
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import Run, Skipped
from halu_tasks.scorers.methods.cost import total
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import Score

TABLE = "items.parquet"
JUDGED_ONCE = (
    "The judge's verdicts are not logged, so the other mode cannot be computed; score the replies in that mode."
)


def assemble(
    board: Board,
    skipped: Sequence[Skipped],
    table: Path,
    title: str,
    step: Callable[[int], object] = lambda columns: None,
) -> dict[str, Any]:
    """Assemble the report on a board.

    Args:
        board: The board.
        skipped: Files that are not on the board.
        table: Where to write the full table of items.
        title: The report's title.
        step: Called with 1 after each column.
    """
    ids = {entry: f"e{number}" for number, entry in enumerate(board.entries, 1)}
    names = {id(column): f"c{number}" for number, column in enumerate(board.columns, 1)}
    labels = board.labels()
    titles = _titles(board)
    column_differences = {id(column): differences(column) for column in board.columns}
    compared = pairs(board, ids, names, column_differences)
    cells: list[dict[str, Any]] = []
    why: list[dict[str, Any]] = []
    limit = shown_items.text_limit(3 * shown_items.PER_KIND * len(board.columns), len(board.entries))
    with ItemTable(table) as items:
        for column in board.columns:
            name = names[id(column)]
            column_ranks = ranks(column, column_differences[id(column)])
            others = {entry: other_scores(column, run.answers) for entry, run in column.runs.items()}
            for entry, run in column.runs.items():
                cells.append(_cell(column, run, column_ranks.get(entry)) | {"entry": ids[entry], "column": name})
                mode = OTHER_MODE[run.scoring]
                items.add(labels[entry], titles[id(column)], column, run, others[entry], mode)
            why.append({"column": name, **_why(column, ids, others, limit)})
            step(1)
    groups, group_results = _groups(board, ids, names)
    return {
        "title": title,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "package": f"halu-tasks {__version__}",
        "entries": [
            {
                "id": ids[entry],
                "label": labels[entry],
                "model": entry.model,
                "method": entry.method,
                "harness": entry.harness,
                "settings": dict(entry.settings),
                "roles": dict(entry.roles),
            }
            for entry in board.entries
        ],
        "columns": [_column(column, names[id(column)], titles[id(column)]) for column in board.columns],
        "groups": groups,
        "results": cells,
        "group_results": group_results,
        "floors": [floor for column in board.columns for floor in floors(column, names[id(column)])],
        "published": published_figures(board, names, groups),
        "pairs": compared,
        "wins": wins(board, ids, names, compared),
        "skipped": [skip._asdict() for skip in skipped],
        "warnings": [
            {"entry": ids[entry], "column": names[id(column)], "text": text}
            for column in board.columns
            for entry, run in column.runs.items()
            for text in reply_warnings(
                f"{labels[entry]}, {titles[id(column)]}",
                Counter(outcome_of(a.reply, a.score, run.scoring) for a in run.answers),
            )
        ],
        "superseded": [
            {
                "entry": ids[entry],
                "column": names[id(column)],
                "source": earlier.source,
                "created": earlier.created,
                "why": f"{column.task.name}: replaced by the later run of {later.created} ({later.source})",
            }
            for earlier, column in board.superseded
            for entry in [Entry.of(earlier)]
            for later in [column.runs[entry]]
        ],
        "why": why,
        "table": TABLE,
    }


# --- columns and cells ------------------------------------------------------------------------------


def _titles(board: Board) -> dict[int, str]:
    """Name each column after its task.

    A column apart gets its differences from the main one as a suffix, and a number if that is not unique.
    """
    main = {column.task.name: column for column in board.main}
    titles = {
        id(c): "-".join([c.task.name, *_suffixes(main[c.task.name], c)]) if c.why else c.task.name
        for c in board.columns
    }
    uses = Counter(titles.values())
    seen: Counter[str] = Counter()
    for key, title in titles.items():
        seen[title] += 1
        if uses[title] > 1:
            titles[key] = f"{title} ({seen[title]})"
    return titles


def _suffixes(main: Column, column: Column) -> list[str]:
    """List in one word each how a column differs from the main one of its task."""
    run, other = column.first, main.first
    words = [mark for mark in run.version_tags if mark not in other.version_tags]
    words += ["prompts_unknown"] if not run.provenance["prompt_hash"] and other.provenance["prompt_hash"] else []
    words += [f"{run.epochs}epochs"] if run.epochs != other.epochs else []
    words += [f"{len(run.scores)}items"] if run.epochs == other.epochs and len(run.scores) != len(other.scores) else []
    words += ["other_judge" if run.judge else "no_judge"] if run.judge != other.judge else []
    return words or ["apart"]


def _column(column: Column, name: str, title: str) -> dict[str, Any]:
    run, task, headline = column.first, column.task, column.headline
    bottom, top = headline.range
    return {
        "id": name,
        "title": title,
        "task": task.name,
        "benchmark": task.benchmark,
        "about": task.about,
        "main": not column.why,
        "why": column.why,
        "notes": column.notes,
        "scoring": run.scoring,
        "data": run.provenance["data"],
        "data_file": run.provenance["data_file"],
        "data_sha256": run.provenance["data_sha256"],
        "prompt_hash": run.provenance["prompt_hash"],
        "version": run.task_version,
        "marks": run.version_tags,
        "fewshot": run.provenance.get("fewshot"),
        "options": run.options,
        "epochs": run.epochs,
        "n": len(run.scores),
        "of": run.provenance["items"] * run.epochs,
        "clusters": len({score.cluster for score in run.scores}),
        "headline": headline.name,
        "higher_is_better": headline.higher_is_better,
        "range": [bottom, top if top != float("inf") else None],
        "metrics": [metric.name for metric in column.metrics],
        "directions": {metric.name: metric.higher_is_better for metric in column.metrics},
    }


def _cell(column: Column, run: Run, rank: tuple[int, int] | None) -> dict[str, Any]:
    failed = next((metric for metric in column.metrics if metric.name == "judge_failed"), None)
    figures = estimates(column.metrics, run.scores)
    return {
        "source": run.source,
        "harness": run.harness,
        "created": run.created,
        "version": run.version,
        "settings": {name: str(value) for name, value in run.settings.items()},
        "method": run.method,
        "judge": run.judge,
        "n": len(run.scores),
        **run.unanswered,
        # their number, since the share may be one of sentences, and is undefined if the judge was asked about none
        "judge_failed": round(failed.counts(run.scores)[0]) if failed and run.judge else None,
        "metrics": {name: plain(figure) for name, figure in figures.items()},
        "rank": list(rank) if rank else None,
        "cost": _counts(total(run.costs)) if run.costs else None,
    }


def _counts(cost: Mapping[str, float]) -> dict[str, float]:
    return {name: int(value) if value.is_integer() else round(value, 1) for name, value in cost.items()}


def _groups(
    board: Board, ids: Mapping[Entry, str], names: Mapping[int, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    groups, figures = [], []
    for number, mean in enumerate(board.groups(), 1):
        first = next(metric for metric in mean.columns[0].metrics if metric.name == mean.metric)
        tasks = ", ".join(column.task.name for column in mean.columns)
        groups.append(
            {
                "id": f"g{number}",
                "title": mean.group if mean.main else f"{mean.group}-{mean.scoring}",
                "group": mean.group,
                "metric": mean.metric,
                "scoring": mean.scoring,
                "data": mean.columns[0].first.provenance["data"],
                "main": mean.main,
                "columns": [names[id(column)] for column in mean.columns],
                "about": f"the unweighted mean of {mean.metric} over {tasks}",
                "higher_is_better": first.higher_is_better,
            }
        )
        figures += [
            {"entry": ids[entry], "group": f"g{number}", "figure": plain(figure)}
            for entry, figure in mean.figures.items()
        ]
    return groups, figures


# --- why --------------------------------------------------------------------------------------------


def _why(
    column: Column, ids: Mapping[Entry, str], others: Mapping[Entry, list[Score] | None], limit: int
) -> dict[str, Any]:
    answers = {entry: shown_items.by_item(run.answers, others[entry]) for entry, run in column.runs.items()}
    shown = shown_items.chosen(column, answers)
    answers_by_id = {ids[entry]: entry_answers for entry, entry_answers in answers.items()}
    label = column.task.choices[0] if column.task.choices else None
    scores = {entry: run.scores for entry, run in column.runs.items()}
    return {
        "breakdowns": [
            {
                "by": breakdown.by,
                "metric": column.headline.name,
                "values": [{"value": value, "n": n} for value, n in breakdown.values],
                "cells": [
                    {"entry": ids[entry], "figures": [plain(figure) for figure in figures]}
                    for entry, figures in breakdown.figures.items()
                ],
            }
            for breakdown in breakdowns(column)
        ],
        "confusion": [
            {"entry": ids[entry], **matrix._asdict()}
            for entry, entry_scores in scores.items()
            if (matrix := confusion(entry_scores))
        ],
        "calibration": [
            {
                "entry": ids[entry],
                "label": reliability.label,
                "bins": [one._asdict() for one in reliability.bins],
                "without": reliability.without,
                "ece": plain(reliability.ece),
                "brier": plain(reliability.brier),
            }
            for entry, entry_scores in scores.items()
            if label and (reliability := calibration(label, entry_scores))
        ],
        **_modes(column, ids, others),
        "items": [shown_items.as_json(column, id, kinds, answers_by_id, limit) for id, kinds in shown.items()],
    }


def _modes(column: Column, ids: Mapping[Entry, str], others: Mapping[Entry, list[Score] | None]) -> dict[str, Any]:
    rows = []
    for entry, run in column.runs.items():
        other = others[entry]
        if other is None:
            return {"modes": None, "modes_missing": JUDGED_ONCE}
        if both := modes(column, run.scores, other):
            rows.append(
                {
                    "entry": ids[entry],
                    "metric": both.metric,
                    **{mode: plain(figure) for mode, figure in both.figures.items()},
                    **{f"unanswered_{mode}": count for mode, count in both.unanswered.items()},
                    "changed": both.changed,
                    "n": len(run.scores),
                }
            )
    return {"modes": rows or None, "modes_missing": "" if rows else "The two modes have no metric in common."}
