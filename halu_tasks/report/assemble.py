"""The whole report as plain JSON values, from which the page, the Markdown and the JSON file are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from halu_tasks import __version__
from halu_tasks.entries import Entry
from halu_tasks.report import shown_items
from halu_tasks.report.beside import floors, published_figures
from halu_tasks.report.board import Board, Column
from halu_tasks.report.pairs import differences, pairs, ranks, wins
from halu_tasks.report.table import ItemTable
from halu_tasks.report.why import (
    OTHER_MODE,
    breakdowns,
    calibration,
    confusion,
    modes,
    other_scores,
    plain,
)
from halu_tasks.runs import Run, Skipped
from halu_tasks.scorers.cost import total
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import Score
from halu_tasks.scoring import outcome_of, reply_warnings

TABLE = "items.parquet"
JUDGED_ONCE = "the verdicts of a judge are not logged, so the other mode cannot be computed; score the replies in it"


def assemble(
    found: Board,
    skipped: Sequence[Skipped],
    table: Path,
    title: str,
    step: Callable[[int], object] = lambda columns: None,
) -> dict[str, Any]:
    """The report on a board, whose full table of items is written to `table`; `skipped` are the files that are not on
    it, and `step` is called after each column with 1."""
    ids = {entry: f"e{number}" for number, entry in enumerate(found.entries, 1)}
    names = {id(column): f"c{number}" for number, column in enumerate(found.columns, 1)}
    labels = found.labels()
    titles = _titles(found)
    found_differences = {id(column): differences(column) for column in found.columns}
    compared = pairs(found, ids, names, found_differences)
    cells: list[dict[str, Any]] = []
    why: list[dict[str, Any]] = []
    limit = shown_items.text_limit(3 * shown_items.PER_KIND * len(found.columns), len(found.entries))
    with ItemTable(table) as items:
        for column in found.columns:
            name = names[id(column)]
            own_ranks = ranks(column, found_differences[id(column)])
            others = {entry: other_scores(column, run.answers) for entry, run in column.runs.items()}
            for entry, run in column.runs.items():
                cells.append(_cell(column, run, own_ranks.get(entry)) | {"entry": ids[entry], "column": name})
                mode = OTHER_MODE[run.scoring]
                items.add(labels[entry], titles[id(column)], column, run, others[entry], mode)
            why.append({"column": name, **_why(column, ids, others, limit)})
            step(1)
    groups, group_results = _groups(found, ids, names)
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
            for entry in found.entries
        ],
        "columns": [_column(column, names[id(column)], titles[id(column)]) for column in found.columns],
        "groups": groups,
        "results": cells,
        "group_results": group_results,
        "floors": [floor for column in found.columns for floor in floors(column, names[id(column)])],
        "published": published_figures(found, names, groups),
        "pairs": compared,
        "wins": wins(found, ids, names, compared),
        "skipped": [own._asdict() for own in skipped],
        "warnings": [
            {"entry": ids[entry], "column": names[id(column)], "text": text}
            for column in found.columns
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
                "why": f"{column.task.name}: the run of {later.created} ({later.source}) is the same, later",
            }
            for earlier, column in found.superseded
            for entry in [Entry.of(earlier)]
            for later in [column.runs[entry]]
        ],
        "why": why,
        "table": TABLE,
    }


# --- columns and cells ------------------------------------------------------------------------------


def _titles(found: Board) -> dict[int, str]:
    """The name of each column: its task's, apart with what differs from the main one in short, and with a number where
    that is not enough."""
    main = {column.task.name: column for column in found.main}
    told = {
        id(c): "-".join([c.task.name, *_apart(main[c.task.name], c)]) if c.why else c.task.name for c in found.columns
    }
    uses = Counter(told.values())
    seen: Counter[str] = Counter()
    for key, title in told.items():
        seen[title] += 1
        if uses[title] > 1:
            told[key] = f"{title} ({seen[title]})"
    return told


def _apart(main: Column, column: Column) -> list[str]:
    """In a word each, in what a column differs from the main one of its task."""
    run, other = column.first, main.first
    told = [mark for mark in run.marks if mark not in other.marks]
    told += ["prompts_unknown"] if not run.provenance["prompt_hash"] and other.provenance["prompt_hash"] else []
    told += [f"{run.epochs}epochs"] if run.epochs != other.epochs else []
    told += [f"{len(run.scores)}items"] if run.epochs == other.epochs and len(run.scores) != len(other.scores) else []
    told += ["other_judge" if run.judge else "no_judge"] if run.judge != other.judge else []
    return told or ["apart"]


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
        "marks": run.marks,
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
        # the failures themselves: their share may be one of sentences, and not defined where none was asked about
        "judge_failed": round(failed.counts(run.scores)[0]) if failed and run.judge else None,
        "metrics": {name: plain(figure) for name, figure in figures.items()},
        "rank": list(rank) if rank else None,
        "cost": _counts(total(run.costs)) if run.costs else None,
    }


def _counts(cost: Mapping[str, float]) -> dict[str, float]:
    return {name: int(value) if value.is_integer() else round(value, 1) for name, value in cost.items()}


def _groups(
    found: Board, ids: Mapping[Entry, str], names: Mapping[int, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    groups, figures = [], []
    for number, mean in enumerate(found.groups(), 1):
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
    named = {ids[entry]: own for entry, own in answers.items()}
    label = column.task.choices[0] if column.task.choices else None
    scores = {entry: run.scores for entry, run in column.runs.items()}
    return {
        "breakdowns": [
            {
                "by": found.by,
                "metric": column.headline.name,
                "values": [{"value": value, "n": n} for value, n in found.values],
                "cells": [
                    {"entry": ids[entry], "figures": [plain(figure) for figure in figures]}
                    for entry, figures in found.figures.items()
                ],
            }
            for found in breakdowns(column)
        ],
        "confusion": [
            {"entry": ids[entry], **found._asdict()} for entry, own in scores.items() if (found := confusion(own))
        ],
        "calibration": [
            {
                "entry": ids[entry],
                "label": reliable.label,
                "bins": [one._asdict() for one in reliable.bins],
                "without": reliable.without,
                "ece": plain(reliable.ece),
                "brier": plain(reliable.brier),
            }
            for entry, own in scores.items()
            if label and (reliable := calibration(label, own))
        ],
        **_modes(column, ids, others),
        "items": [shown_items.as_json(column, id, kinds, named, limit) for id, kinds in shown.items()],
    }


def _modes(column: Column, ids: Mapping[Entry, str], others: Mapping[Entry, list[Score] | None]) -> dict[str, Any]:
    told = []
    for entry, run in column.runs.items():
        other = others[entry]
        if other is None:
            return {"modes": None, "modes_missing": JUDGED_ONCE}
        if found := modes(column, run.scores, other):
            told.append(
                {
                    "entry": ids[entry],
                    "metric": found.metric,
                    **{mode: plain(figure) for mode, figure in found.figures.items()},
                    **{f"unanswered_{mode}": count for mode, count in found.unanswered.items()},
                    "changed": found.changed,
                    "n": len(run.scores),
                }
            )
    return {"modes": told or None, "modes_missing": "" if told else "the modes have no figure of the same name"}
