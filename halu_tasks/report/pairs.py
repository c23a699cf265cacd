"""The differences between the entries of a board: their tests, all adjusted together, and the ranks they leave open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations

from halu_tasks.report.board import Board, Column, Mean
from halu_tasks.report.records import EntryPair
from halu_tasks.results.comparability import Entry
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

Ranks = Mapping[Entry, tuple[int, int]]
"""The confidence sets of ranks by entry."""


def differences(board: Board, margin: float | None = None) -> tuple[list[EntryPair], Mapping[Column | Mean, Ranks]]:
    """Compare all pairs of entries in all columns and means.

    Main columns and main means are one family of tests, and those apart another. What a judge says is in neither as
    long as its errors are not known: they may differ between models, and no number of items shows it.

    Args:
        board: The board.
        margin: The difference below which two entries count as equal; None to test no equality.

    Returns:
        The pairs, and for each column and mean the confidence sets of the ranks of its entries.
    """
    pairs: list[EntryPair] = []
    ranks: dict[Column | Mean, Ranks] = {}
    for main in (True, False):
        places: list[Column | Mean] = [mean for mean in board.means if mean.main == main]
        places += [column for column in board.columns if column.main == main]
        alone = [(place, *one) for place in places for one in _pairs(place, margin)]
        equal = holm([difference.p_equal if is_claimed else None for *_, difference, is_claimed in alone])
        adjusted = holm([difference.p if is_claimed else None for *_, difference, is_claimed in alone])
        comparisons = max(sum(p is not None for p in adjusted), 1)
        tested: dict[str, list[EntryPair]] = {place.id: [] for place in places}
        for (place, metric, first, second, difference, _), p, p_equal in zip(alone, adjusted, equal, strict=True):
            decided = metric.higher_is_better is not None and p is not None and p < LEVEL
            better = first if (difference.value > 0) == metric.higher_is_better else second
            pair = EntryPair(
                column=place.id if isinstance(place, Column) else None,
                group=place.id if isinstance(place, Mean) else None,
                first=first.id,
                second=second.id,
                metric=metric.name,
                difference=difference,
                p_adjusted=p,
                better=better.id if decided else None,
                p_equal_adjusted=p_equal,
                equal=p_equal is not None and p_equal < LEVEL,
                items_needed=items_needed(difference, comparisons),
                not_estimated=not_estimated(difference),
            )
            tested[place.id].append(pair)
        ranks |= {place: _ranks(place, tested[place.id]) for place in places}
        pairs += chain.from_iterable(tested.values())
    order = {entry.id: number for number, entry in enumerate(board.entries)}
    pairs.sort(key=lambda pair: (order[pair.first], order[pair.second]))
    return pairs, ranks


def _pairs(place: Column | Mean, margin: float | None) -> Iterator[tuple[Metric, Entry, Entry, Difference, bool]]:
    """Compare each two entries alone, and say whether their difference is a member of the family of tests."""
    entries = place.entries
    columns = [place] if isinstance(place, Column) else place.columns
    for metric in place.compared_by:
        # items of two tasks may have the same ids
        metrics = [metric] if isinstance(place, Column) else [column.headline for column in columns]
        pairs = zip(metrics, columns, strict=True)
        # the items of all entries are the same
        items = sum(items_of(of_column, column.scores(entries[0])) for of_column, column in pairs)
        all_sums = {entry: without_clusters(metric, place.scores(entry)) for entry in entries}
        sums = {entry: own for entry, own in all_sums.items() if not math.isnan(own.value)}
        if len(sums) < 2:
            continue
        is_claimed = not place.by_judge_alone(metric)
        for first, second in combinations(sums, 2):
            if difference := difference_of(metric, sums[first], sums[second], items, margin):
                yield metric, first, second, difference, is_claimed


def _ranks(place: Column | Mean, pairs: Sequence[EntryPair]) -> Ranks:
    """Compute the confidence sets of the ranks of the entries with a figure; empty if there is nothing to rank."""
    metric = place.compared_by[0]
    here = [pair for pair in pairs if pair.metric == metric.name]
    compared = {id for pair in here for id in (pair.first, pair.second)}
    if not here or metric.higher_is_better is None or place.by_judge_alone(metric):
        return {}
    entries = [entry for entry in place.entries if entry.id in compared]
    decided = [(pair.better, pair.second if pair.better == pair.first else pair.first) for pair in here if pair.better]
    return dict(zip(entries, rank_ranges(decided, [entry.id for entry in entries]), strict=True))
