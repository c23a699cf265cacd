"""Pairwise comparison of a board's entries: differences, significance tests, wins and ranges of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from halu_tasks.report.model.leaderboard import Board, Column
from halu_tasks.results.comparison import alone_right
from halu_tasks.results.entry import Entry
from halu_tasks.scorers.metrics import Metric, estimates
from halu_tasks.scorers.statistics.bootstrap import Paired, paired_bootstrap
from halu_tasks.scorers.statistics.significance import McNemar, holm, items_needed, mcnemar, rank_ranges

LEVEL = 0.05

Differences = Mapping[tuple[int, int], Paired]


def differences(column: Column) -> Differences:
    """Compute the paired differences between a column's runs, by pairs of their positions."""
    return paired_bootstrap(column.headline, [run.scores for run in column.runs.values()])


def pairs(
    board: Board, ids: Mapping[Entry, str], names: Mapping[int, str], differences: Mapping[int, Differences]
) -> list[dict[str, Any]]:
    """Compare all pairs of entries in all columns.

    The p values of a pair are corrected over its tasks, separately for main columns and columns apart.

    Args:
        board: The board.
        ids: The ids of entries.
        names: The names of columns, by `id(column)`.
        differences: The differences of each column, by `id(column)`.
    """
    all_rows: list[dict[str, Any]] = []
    for one, other in combinations(board.entries, 2):
        for main in (True, False):
            rows = [
                _pair(column, one, other, differences[id(column)])
                | {"column": names[id(column)], "first": ids[one], "second": ids[other]}
                for column in board.columns
                if (not column.why) == main and one in column.runs and other in column.runs
            ]
            rows = [pair for pair in rows if pair["value"] is not None]
            _correct(rows)
            all_rows += rows
    return all_rows


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
    """Add the corrected p values of one pair's tasks, and which entry is better."""
    for pair, p in zip(pairs, holm([pair["p"] for pair in pairs]), strict=True):
        pair["p_holm"] = p
        ahead = (pair["value"] > 0) == bool(pair.pop("higher_is_better"))
        pair["better"] = None if p is None or p >= LEVEL else pair["first" if ahead else "second"]
    tests = [pair["mcnemar"] for pair in pairs if pair["mcnemar"]]
    for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p_holm"] = p


def ranks(column: Column, differences: Differences) -> dict[Entry, tuple[int, int]]:
    """Compute the 95% confidence sets of the entries' ranks; empty if there is nothing to rank."""
    if len(column.runs) < 2 or column.headline.higher_is_better is None:
        return {}
    # entries without a figure, as without a judge, are not ranked, and others are not ranked above them
    ranked = [number for number, run in enumerate(column.runs.values()) if estimates([column.headline], run.scores)]
    ranked_differences = {
        (ranked.index(i), ranked.index(j)): paired
        for (i, j), paired in differences.items()
        if i in ranked and j in ranked
    }
    ranges = rank_ranges(ranked_differences, len(ranked), column.headline.higher_is_better)
    entries = list(column.runs)
    return {entries[number]: span for number, span in zip(ranked, ranges, strict=True)} if len(ranked) > 1 else {}


def wins(
    board: Board, ids: Mapping[Entry, str], names: Mapping[int, str], compared: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Count, for all ordered pairs of entries, the main columns on which the first is better, worse, or neither.

    Args:
        board: The board.
        ids: The ids of entries.
        names: The names of columns, by `id(column)`.
        compared: The result of `pairs`.
    """
    main = {names[id(column)] for column in board.main}
    won: dict[tuple[str, str], list[str | None]] = {}
    for pair in compared:
        if pair["column"] in main:
            won.setdefault((pair["first"], pair["second"]), []).append(pair["better"])
            won.setdefault((pair["second"], pair["first"]), []).append(pair["better"])
    return [
        {
            "first": one,
            "second": other,
            "better": winners.count(one),
            "worse": winners.count(other),
            "open": winners.count(None),
        }
        for (one, other), winners in won.items()
    ]
