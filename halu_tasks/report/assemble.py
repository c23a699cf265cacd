"""Assembling a report from a board: the differences between its entries, all adjusted together, and its details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

from halu_tasks import __version__
from halu_tasks.report.details import write_details
from halu_tasks.report.report_records import About, Column, Pair, Place, Ranks, Report
from halu_tasks.report.summary import joined
from halu_tasks.results.comparability import Entry, different_settings
from halu_tasks.results.run import SkippedFile
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.statistics.differences import (
    LEVEL,
    Difference,
    difference_of,
    holm,
    items_of,
    rank_ranges,
    without_clusters,
)
from halu_tasks.scorers.statistics.planning import items_needed, not_estimated

TABLE = "items.parquet"
# maximum number of entries that are named together
_NAMED = 3


def assemble(
    report: Report,
    skipped: Sequence[SkippedFile] = (),
    title: str = "",
    *,
    table: Path | None = None,
    margin: float | None = None,
) -> Report:
    """Complete a board to a report.

    Args:
        report: The board.
        skipped: Files that are not on the board.
        title: The report's title.
        table: Where to write the full table of items; None for a report without details.
        margin: The difference below which two entries count as equal; None to test no equality.
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    report.about = About(title, created, f"halu-tasks {__version__}", TABLE, margin)
    report.skipped = skipped
    report.notes = list(_notes(report))
    report.pairs = compare(report, margin)
    if table:
        write_details(report, table)
    return report


def _notes(report: Report) -> Iterator[str]:
    clauses = []
    for name, by_entry in different_settings(column.runs for column in report.columns).items():
        parts = []
        for value in sorted({*by_entry.values()}, key=lambda value: (value is None, str(value))):
            labels = [entry.label for entry, setting in by_entry.items() if setting == value]
            who = joined(labels) if len(labels) <= _NAMED else f"{len(labels)} entries"
            parts.append(f"{'the task’s own' if value is None else value} for {who}")
        clauses.append(f"{name} is {joined(parts)}")
    if clauses:
        yield f"Entries that are compared have different generation settings: {'; '.join(clauses)}"


# --- differences ----------------------------------------------------------------------------------


def compare(report: Report, margin: float | None = None) -> list[Pair]:
    """Compare all pairs of entries in all columns and means, and rank the entries.

    Main columns and main means are one family of tests, and those apart another. What a judge says is in neither as
    long as its errors are not known: they may differ between models, and no number of items shows it.

    Args:
        report: The board, whose columns and means are given their ranks.
        margin: The difference below which two entries count as equal; None to test no equality.
    """
    pairs: list[Pair] = []
    for main in (True, False):
        places: list[Place] = [place for place in report.places if place.main == main]
        differences = [(place, *one) for place in places for one in _pairs(place, margin)]
        equal = holm([difference.p_equal if is_claimed else None for *_, difference, is_claimed in differences])
        adjusted = holm([difference.p if is_claimed else None for *_, difference, is_claimed in differences])
        comparisons = max(sum(p is not None for p in adjusted), 1)
        tested: dict[Place, list[Pair]] = {place: [] for place in places}
        for (place, metric, first, second, difference, _), p, p_equal in zip(differences, adjusted, equal, strict=True):
            decided = metric.higher_is_better is not None and p is not None and p < LEVEL
            better = first if (difference.value > 0) == metric.higher_is_better else second
            pair = Pair(
                place=place,
                first=first,
                second=second,
                metric=metric.name,
                difference=difference,
                p_adjusted=p,
                better=better if decided else None,
                p_equal_adjusted=p_equal,
                equal=p_equal is not None and p_equal < LEVEL,
                items_needed=items_needed(difference, comparisons),
                not_estimated=not_estimated(difference),
            )
            tested[place].append(pair)
        for place, of_place in tested.items():
            place.ranks = _ranks(place, of_place)
            pairs += of_place
    order = {entry: number for number, entry in enumerate(report.entries)}
    return sorted(pairs, key=lambda pair: (order[pair.first], order[pair.second]))


def _pairs(place: Place, margin: float | None) -> Iterator[tuple[Metric, Entry, Entry, Difference, bool]]:
    """Compare each two entries alone, and say whether their difference is a member of the family of tests."""
    entries = place.entries
    for metric in place.compared:
        # items of two tasks may have the same ids
        metrics = [metric] if isinstance(place, Column) else [column.measure for column in place.columns]
        of_columns = list(zip(metrics, place.columns, strict=True))
        all_sums = {entry: without_clusters(metric, place.scores(entry)) for entry in entries}
        sums = {entry: left_out for entry, left_out in all_sums.items() if not math.isnan(left_out.value)}
        if len(sums) < 2:
            continue
        is_claimed = not place.by_judge_alone(metric)
        items = {entry: sum(items_of(each, column.scores(entry)) for each, column in of_columns) for entry in sums}
        for first, second in combinations(sums, 2):
            one, other, shared = sums[first], sums[second], items[first]
            if place.differ_in_items(first, second):
                shared = sum(items_of(each, column.scores(first, second)) for each, column in of_columns)
                if not shared:
                    continue
                one = without_clusters(metric, place.scores(first, second))
                other = without_clusters(metric, place.scores(second, first))
            if difference := difference_of(metric, one, other, shared, margin):
                yield metric, first, second, difference, is_claimed


def _ranks(place: Place, pairs: Sequence[Pair]) -> Ranks:
    """Compute the confidence sets of the ranks of the entries with a figure; empty if there is nothing to rank."""
    metric = place.compared[0]
    here = [pair for pair in pairs if pair.metric == metric.name]
    compared = {entry for pair in here for entry in (pair.first, pair.second)}
    if not here or metric.higher_is_better is None or place.by_judge_alone(metric):
        return {}
    entries = [entry for entry in place.entries if entry in compared]
    decided = [
        (pair.better.id, (pair.second if pair.better == pair.first else pair.first).id) for pair in here if pair.better
    ]
    return dict(zip(entries, rank_ranges(decided, [entry.id for entry in entries]), strict=True))
