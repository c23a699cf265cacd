"""Each two entries of a board: by how much they differ, what tests say of it, who wins, and who may have which rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from halu_tasks.comparison import alone_right
from halu_tasks.entries import Entry
from halu_tasks.report.board import Board, Column
from halu_tasks.scorers.bootstrap import Paired, paired_bootstrap
from halu_tasks.scorers.metrics import Metric, estimates
from halu_tasks.scorers.significance import McNemar, holm, items_needed, mcnemar, rank_ranges

LEVEL = 0.05

Differences = Mapping[tuple[int, int], Paired]


def differences(column: Column) -> Differences:
    """Of each two of a column's runs, by their numbers."""
    return paired_bootstrap(column.headline, [run.scores for run in column.runs.values()])


def pairs(
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


def ranks(column: Column, differences: Differences) -> dict[Entry, tuple[int, int]]:
    """The 95% confidence sets of the entries' ranks; none where there is nothing to rank."""
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


def wins(
    found: Board, ids: Mapping[Entry, str], names: Mapping[int, str], compared: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """For each two entries, in both orders, on how many main columns the first is better, worse, and neither."""
    main = {names[id(column)] for column in found.main}
    won: dict[tuple[str, str], list[str | None]] = {}
    for pair in compared:
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
