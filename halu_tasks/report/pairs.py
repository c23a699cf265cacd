"""The differences between the entries of a board: their tests, all adjusted together, and the ranks they leave open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from halu_tasks.report.board import Board, Column, Mean
from halu_tasks.report.records import Comparison, EntryPair, Wins
from halu_tasks.results.entry import Entry
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.statistics.differences import (
    LEVEL,
    Contrast,
    Difference,
    adjusted_p_values,
    differences_of,
    holm,
    influence,
    items_of,
    rank_ranges,
    without_clusters,
)
from halu_tasks.scorers.statistics.planning import items_needed, not_estimated

Ranks = Mapping[Entry, tuple[int, int]]
"""The confidence sets of ranks by entry."""


class _PairOfEntries(NamedTuple):
    """Two entries in one metric of a column or mean, with the contrast of their figures in the family of tests."""

    place: Column | Mean
    metric: Metric
    first: Entry
    second: Entry
    difference: Difference
    contrast: Contrast


@dataclass(frozen=True)
class Differences:
    """All pairs of entries, compared in all columns and means.

    Main columns and main means are one family of tests, and those apart another.

    Attributes:
        comparison: The pairs.
        ranks: For each column and mean, the confidence sets of the ranks of its entries.
    """

    comparison: Comparison
    ranks: Mapping[Column | Mean, Ranks]


def differences(board: Board, margin: float | None = None) -> Differences:
    """Compare all pairs of entries.

    Args:
        board: The board.
        margin: The difference below which two entries count as equal; None to test no equality.
    """
    pairs: list[EntryPair] = []
    ranks: dict[Column | Mean, Ranks] = {}
    sizes = []
    for main in (True, False):
        places: list[Column | Mean] = [mean for mean in board.means if mean.main == main]
        places += [column for column in board.columns if column.main == main]
        contrasts = [one for place in places for one in _contrasts(place, margin)]
        family = [one.contrast for one in contrasts]
        equal = holm([one.difference.p_equal for one in contrasts])
        p_values = zip(adjusted_p_values(family), equal, strict=True)
        tested = [_pair(one, board, *p) for one, p in zip(contrasts, p_values, strict=True)]
        ranks |= {place: _ranks(place, board, tested) for place in places}
        pairs += tested
        sizes.append(len(tested))
    order = {id: number for number, id in enumerate(board.ids.values())}
    pairs.sort(key=lambda pair: (order[pair.first], order[pair.second]))
    main_columns = {column.id for column in board.columns if column.main}
    wins = list(_wins([pair for pair in pairs if pair.column in main_columns]))
    return Differences(Comparison(_rule(sizes[0], sizes[1], margin), margin, pairs, wins), ranks)


def _contrasts(place: Column | Mean, margin: float | None) -> Iterator[_PairOfEntries]:
    entries = place.entries
    # the items of all entries are the same
    scores = place.scores(entries[0])
    clusters = sorted({score.cluster for score in scores})
    scope = (place if isinstance(place, Column) else place.columns[0]).task.benchmark
    for metric in place.compared_by:
        if isinstance(place, Column):
            items = items_of(metric, scores)
        else:
            # items of two tasks may have the same ids
            items = sum(items_of(column.headline, column.scores(entries[0])) for column in place.columns)
        all_sums = {entry: without_clusters(metric, place.scores(entry)) for entry in entries}
        sums = {entry: own for entry, own in all_sums.items() if not math.isnan(own.value)}
        if len(sums) < 2:
            continue
        found = differences_of(metric, list(sums.values()), items, margin)
        influences = [influence(own, clusters, scope) for own in sums.values()]
        for (i, first), (j, second) in combinations(enumerate(sums), 2):
            if (i, j) in found:
                one = found[i, j]
                contrast = Contrast(one.value, one.p, influences[i], influences[j])
                yield _PairOfEntries(place, metric, first, second, one, contrast)


def _pair(one: _PairOfEntries, board: Board, p: float | None, p_equal: float | None) -> EntryPair:
    first, second = board.ids[one.first], board.ids[one.second]
    up = one.metric.higher_is_better
    better = None
    if up is not None and p is not None and p < LEVEL:
        better = first if (one.difference.value > 0) == up else second
    is_column = isinstance(one.place, Column)
    return EntryPair(
        column=one.place.id if is_column else None,
        group=None if is_column else one.place.id,
        first=first,
        second=second,
        metric=one.metric.name,
        difference=one.difference,
        p_adjusted=p,
        better=better,
        p_equal_adjusted=p_equal,
        equal=p_equal is not None and p_equal < LEVEL,
        items_needed=items_needed(one.difference),
        not_estimated=not_estimated(one.difference),
    )


def _ranks(place: Column | Mean, board: Board, pairs: Sequence[EntryPair]) -> Ranks:
    """Compute the confidence sets of the ranks of the entries with a figure; empty if there is nothing to rank."""
    metric = place.compared_by[0]
    here = [pair for pair in pairs if pair.place == place.id and pair.metric == metric.name]
    compared = {id for pair in here for id in (pair.first, pair.second)}
    if not here or metric.higher_is_better is None:
        return {}
    entries = [entry for entry in place.entries if board.ids[entry] in compared]
    position = {board.ids[entry]: number for number, entry in enumerate(entries)}
    decided = [
        (position[pair.better], position[pair.second if pair.better == pair.first else pair.first])
        for pair in here
        if pair.better
    ]
    return dict(zip(entries, rank_ranges(decided, len(entries)), strict=True))


def _wins(pairs: Sequence[EntryPair]) -> Iterator[Wins]:
    """Count the differences in which one entry is better than another, worse, equal or neither, for all pairs."""
    outcomes: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        outcome = pair.better or ("equal" if pair.equal else "open")
        for key in ((pair.first, pair.second), (pair.second, pair.first)):
            outcomes.setdefault(key, []).append(outcome)
    for (first, second), of_pair in outcomes.items():
        yield Wins(first, second, *(of_pair.count(outcome) for outcome in (first, second, "equal", "open")))


def _rule(main: int, apart: int, margin: float | None) -> str:
    """State in a few sentences what `better` and ranks rest on; empty if there are no pairs."""
    if not main + apart:
        return ""
    families = [f"{_number(main)} between models on main tasks and group means"] if main else []
    families += [f"{_number(apart)} in results shown apart"] if apart else []
    several = len(families) > 1
    analyses = f"two analyses, of {' and of '.join(families)}" if several else f"one analysis of {families[0]}"
    equal = "" if margin is None else f" That of any false “equal” (within ±{margin:g}) is at most 5%, too (Holm)."
    return (
        f"“Better”, “open” and ranks come from {analyses}. The probability of any false claim in "
        f"{'each' if several else 'it'} is at most 5% (p values adjusted by the step-down maximum of a bootstrap "
        f"over clusters).{equal} Intervals are of one pair on one task alone, so an interval can exclude 0 although "
        "the pair is open."
    )


def _number(differences: int) -> str:
    return "the difference" if differences == 1 else f"the {differences:,} differences"
