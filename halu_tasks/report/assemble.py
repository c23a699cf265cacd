"""The whole report as plain JSON values, from which the page, the Markdown and the JSON file are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from halu_tasks import __version__
from halu_tasks.comparison import alone_right
from halu_tasks.items import Reply
from halu_tasks.published import Published, published
from halu_tasks.report import shown_items
from halu_tasks.report.board import Board, Column, Entry
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
from halu_tasks.scorers.bootstrap import Paired, paired_bootstrap
from halu_tasks.scorers.cost import total
from halu_tasks.scorers.metrics import Metric, estimates
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.significance import McNemar, holm, items_needed, mcnemar, rank_ranges

LEVEL = 0.05
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
    differences = {id(column): _differences(column) for column in found.columns}
    pairs = _pairs(found, ids, names, differences)
    cells: list[dict[str, Any]] = []
    why: list[dict[str, Any]] = []
    limit = shown_items.text_limit(3 * shown_items.PER_KIND * len(found.columns), len(found.entries))
    with ItemTable(table) as items:
        for column in found.columns:
            name = names[id(column)]
            ranks = _ranks(column, differences[id(column)])
            others = {entry: other_scores(column, run.answers) for entry, run in column.runs.items()}
            for entry, run in column.runs.items():
                cells.append(_cell(column, run, ranks.get(entry)) | {"entry": ids[entry], "column": name})
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
        "floors": [floor for column in found.columns for floor in _floors(column, names[id(column)])],
        "published": _published(found, names, groups),
        "pairs": pairs,
        "wins": _wins(found, ids, names, pairs),
        "skipped": [own._asdict() for own in skipped],
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
        "unparsed": sum(score.answer is None for score in run.scores),
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
                "title": mean.group if mean.main else f"{mean.group} ({mean.scoring})",
                "group": mean.group,
                "metric": mean.metric,
                "scoring": mean.scoring,
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


def _floors(column: Column, name: str) -> Iterator[dict[str, Any]]:
    """Figures of replies that are made without knowing the answer, on the column's items."""
    task, mode = column.task, column.first.scoring
    items = [answered.item for answered in column.first.answers]
    scores = [task.score(mode, item, Reply(task.baseline(item))) for item in items]
    fixed = {"baseline": {key: figure.value for key, figure in estimates(column.metrics, scores).items()}}
    beside = task.scoring[mode].beside
    if beside:
        fixed |= {reply: dict(figures) for reply, figures in beside(scores).items()}
    for reply, figures in fixed.items():
        for metric, value in figures.items():
            headline = metric == column.headline.name
            yield {"column": name, "name": reply, "metric": metric, "value": value, "headline": headline}


def _published(found: Board, names: Mapping[int, str], groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    told = []
    for column in found.columns:
        if column.first.provenance["data"] == "sample":
            # nothing printed is of the sample
            continue
        metrics = {metric.name for metric in column.metrics}
        told += [
            {"column": names[id(column)], "group": None, "headline": figure.metric == column.headline.name}
            | _figure(figure)
            for figure in published(column.task.name)
            if figure.task == column.task.name and figure.metric in metrics and _same_mode(figure, column.first.scoring)
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


# --- pairs ------------------------------------------------------------------------------------------

Differences = Mapping[tuple[int, int], Paired]


def _differences(column: Column) -> Differences:
    return paired_bootstrap(column.headline, [run.scores for run in column.runs.values()])


def _pairs(
    found: Board, ids: Mapping[Entry, str], names: Mapping[int, str], differences: Mapping[int, Differences]
) -> list[dict[str, Any]]:
    """Each two entries of each column; p values are corrected over the tasks of the pair, those of columns apart by
    themselves."""
    told: list[dict[str, Any]] = []
    for one, other in combinations(found.entries, 2):
        for main in (True, False):
            own = [
                _pair(column, one, other, differences[id(column)])
                | {"column": names[id(column)], "first": ids[one], "second": ids[other]}
                for column in found.columns
                if (not column.why) == main and one in column.runs and other in column.runs
            ]
            own = [pair for pair in own if pair["value"] is not None]
            _correct(own)
            told += own
    return told


def _pair(column: Column, one: Entry, other: Entry, differences: Differences) -> dict[str, Any]:
    order = list(column.runs)
    paired = differences.get((order.index(one), order.index(other)))
    tested = mcnemar(column.headline, column.runs[one].scores, column.runs[other].scores)
    return {
        "metric": column.headline.name,
        "value": paired.value if paired else None,
        "low": paired.low if paired else None,
        "high": paired.high if paired else None,
        "p": paired.p if paired else None,
        "by": paired.by if paired else None,
        "items": paired.items if paired else None,
        "clusters": paired.clusters if paired else None,
        "higher_is_better": column.headline.higher_is_better,
        "mcnemar": _mcnemar(column.headline, tested) if tested else None,
        "items_needed": items_needed(paired) if paired else None,
    }


def _mcnemar(metric: Metric, tested: McNemar) -> dict[str, Any]:
    first, second = alone_right(metric, tested)
    return {"only_first": first, "only_second": second, "p": tested.p, "left_out": tested.unknown}


def _correct(pairs: list[dict[str, Any]]) -> None:
    for own, p in zip(pairs, holm([pair["p"] for pair in pairs]), strict=True):
        own["p_holm"] = p
        ahead = (own["value"] > 0) == bool(own.pop("higher_is_better"))
        own["better"] = None if p is None or p >= LEVEL else own["first" if ahead else "second"]
    tested = [pair["mcnemar"] for pair in pairs if pair["mcnemar"]]
    for own, p in zip(tested, holm([test["p"] for test in tested]), strict=True):
        own["p_holm"] = p


def _ranks(column: Column, differences: Differences) -> dict[Entry, tuple[int, int]]:
    if len(column.runs) < 2 or column.headline.higher_is_better is None:
        return {}
    # an entry that has no figure, as without a judge, has no rank, and none stands behind it
    ranked = [number for number, run in enumerate(column.runs.values()) if estimates([column.headline], run.scores)]
    own = {
        (ranked.index(i), ranked.index(j)): paired
        for (i, j), paired in differences.items()
        if i in ranked and j in ranked
    }
    ranges = rank_ranges(own, len(ranked), column.headline.higher_is_better)
    entries = list(column.runs)
    return {entries[number]: found for number, found in zip(ranked, ranges, strict=True)} if len(ranked) > 1 else {}


def _wins(
    found: Board, ids: Mapping[Entry, str], names: Mapping[int, str], pairs: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    main = {names[id(column)] for column in found.main}
    won: dict[tuple[str, str], list[str | None]] = {}
    for pair in pairs:
        if pair["column"] in main:
            won.setdefault((pair["first"], pair["second"]), []).append(pair["better"])
            won.setdefault((pair["second"], pair["first"]), []).append(pair["better"])
    return [
        {
            "first": one,
            "second": other,
            "better": own.count(one),
            "worse": own.count(other),
            "open": own.count(None),
        }
        for (one, other), own in won.items()
    ]


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
                    **{f"unparsed_{mode}": count for mode, count in found.unparsed.items()},
                    "changed": found.changed,
                    "n": len(run.scores),
                }
            )
    return {"modes": told or None, "modes_missing": "" if told else "the modes have no figure of the same name"}
