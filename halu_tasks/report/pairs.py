"""The differences between the entries of a board: their tests, all adjusted together, and the ranks they leave open."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from halu_tasks.report.board import Board, Column, Mean
from halu_tasks.report.records import Comparison, EntryPair, Json
from halu_tasks.results.comparability import Entry
from halu_tasks.scorers.statistics.differences import (
    LEVEL,
    Contrast,
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


def differences(board: Board, margin: float | None = None) -> tuple[Comparison, Mapping[Column | Mean, Ranks]]:
    """Compare all pairs of entries in all columns and means.

    Main columns and main means are one family of tests, and those apart another.

    Args:
        board: The board.
        margin: The difference below which two entries count as equal; None to test no equality.

    Returns:
        The pairs, and for each column and mean the confidence sets of the ranks of its entries.
    """
    pairs: list[EntryPair] = []
    ranks: dict[Column | Mean, Ranks] = {}
    sizes = []
    for main in (True, False):
        places: list[Column | Mean] = [mean for mean in board.means if mean.main == main]
        places += [column for column in board.columns if column.main == main]
        alone = [(place, *one) for place in places for one in _pairs(place, board, margin)]
        family = [contrast for _, _, contrast in alone]
        equal = holm([pair.difference.p_equal for _, pair, _ in alone])
        p_values = zip(adjusted_p_values(family), equal, strict=True)
        tested = [_tested(pair, place, *p) for (place, pair, _), p in zip(alone, p_values, strict=True)]
        ranks |= {place: _ranks(place, board, tested) for place in places}
        pairs += tested
        sizes.append(len(tested))
    order = {id: number for number, id in enumerate(board.ids.values())}
    pairs.sort(key=lambda pair: (order[pair.first], order[pair.second]))
    main_columns = {column.id for column in board.columns if column.main}
    wins = list(_wins([pair for pair in pairs if pair.column in main_columns]))
    return Comparison(_rule(sizes[0], sizes[1], margin), margin, pairs, wins), ranks


def _pairs(place: Column | Mean, board: Board, margin: float | None) -> Iterator[tuple[EntryPair, Contrast]]:
    """Compare each two entries alone, with the contrast of their figures in the family of tests."""
    entries = place.entries
    # the items of all entries are the same
    scores = place.scores(entries[0])
    clusters = sorted({score.cluster for score in scores})
    columns = [place] if isinstance(place, Column) else place.columns
    for metric in place.compared_by:
        # items of two tasks may have the same ids
        metrics = [metric] if isinstance(place, Column) else [column.headline for column in columns]
        pairs = zip(metrics, columns, strict=True)
        items = sum(items_of(of_column, column.scores(entries[0])) for of_column, column in pairs)
        all_sums = {entry: without_clusters(metric, place.scores(entry)) for entry in entries}
        sums = {entry: own for entry, own in all_sums.items() if not math.isnan(own.value)}
        if len(sums) < 2:
            continue
        by_numbers = differences_of(metric, list(sums.values()), items, margin)
        influences = [influence(own, clusters, columns[0].task.benchmark) for own in sums.values()]
        for (i, first), (j, second) in combinations(enumerate(sums), 2):
            if (i, j) in by_numbers:
                difference = by_numbers[i, j]
                pair = EntryPair(
                    column=place.id if isinstance(place, Column) else None,
                    group=None if isinstance(place, Column) else place.id,
                    first=board.ids[first],
                    second=board.ids[second],
                    metric=metric.name,
                    difference=difference,
                    p_adjusted=None,
                    better=None,
                    p_equal_adjusted=None,
                    equal=False,
                    items_needed=items_needed(difference),
                    not_estimated=not_estimated(difference),
                )
                yield pair, Contrast(difference.value, difference.p, influences[i], influences[j])


def _tested(pair: EntryPair, place: Column | Mean, p: float | None, p_equal: float | None) -> EntryPair:
    """Add what the adjusted p values say."""
    up = next(metric.higher_is_better for metric in place.compared_by if metric.name == pair.metric)
    better = None
    if up is not None and p is not None and p < LEVEL:
        better = pair.first if (pair.difference.value > 0) == up else pair.second
    equal = p_equal is not None and p_equal < LEVEL
    return replace(pair, p_adjusted=p, better=better, p_equal_adjusted=p_equal, equal=equal)


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


def _wins(pairs: Sequence[EntryPair]) -> Iterator[Json]:
    """Count the differences in which one entry is better than another, worse, equal or neither, for all pairs."""
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for pair in pairs:
        for key in ((pair.first, pair.second), (pair.second, pair.first)):
            outcomes.setdefault(key, Counter())[pair.better or ("equal" if pair.equal else "open")] += 1
    for (first, second), counts in outcomes.items():
        names = {"better": first, "worse": second, "equal": "equal", "open": "open"}
        yield {"first": first, "second": second} | {name: counts[outcome] for name, outcome in names.items()}


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
