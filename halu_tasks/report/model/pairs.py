"""Pairwise comparison of a board's entries: differences, significance tests, wins and ranges of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from halu_tasks.report.model.leaderboard import Board, Column
from halu_tasks.report.model.names import Names
from halu_tasks.report.model.report import ExactTest, PairDifference, Wins
from halu_tasks.results.entry import Entry
from halu_tasks.results.paired_test import PairedTest, corrected, paired_test
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.statistics.bootstrap import Paired, paired_bootstrap
from halu_tasks.scorers.statistics.significance import rank_ranges

LEVEL = 0.05

Differences = Mapping[tuple[int, int], Paired]


def differences(column: Column) -> Differences:
    """Compute the paired differences between a column's runs, by pairs of their positions."""
    return paired_bootstrap(column.headline, [run.scores for run in column.runs.values()])


def pairs(board: Board, names: Names, differences: Mapping[Column, Differences]) -> list[PairDifference]:
    """Compare all pairs of entries in all columns.

    The p values of a pair are corrected over its tasks, separately for main columns and columns apart.

    Args:
        board: The board.
        names: The names of entries and columns.
        differences: The differences of each column.
    """
    records: list[PairDifference] = []
    for first, second in combinations(board.entries, 2):
        for main in (True, False):
            tests = {
                column: test
                for column in board.columns
                if (not column.why) == main and (test := _test(column, first, second, differences[column]))
            }
            records += _records(tests, first, second, names)
    return records


def _test(column: Column, first: Entry, second: Entry, differences: Differences) -> PairedTest | None:
    if first not in column.runs or second not in column.runs:
        return None
    order = list(column.runs)
    paired = differences.get((order.index(first), order.index(second)))
    runs = column.runs[first], column.runs[second]
    return paired_test(column.headline, runs[0].scores, runs[1].scores, paired) if paired else None


def _records(tests: Mapping[Column, PairedTest], first: Entry, second: Entry, names: Names) -> Iterator[PairDifference]:
    """Describe the differences of one pair, with p values that are corrected over its tasks."""
    for (column, test), (p, exact_p) in zip(tests.items(), corrected(list(tests.values())), strict=True):
        first_ahead = (test.paired.value > 0) == bool(test.higher_is_better)
        decided = p is not None and p < LEVEL
        yield PairDifference(
            metric=test.metric,
            value=test.paired.value,
            low=test.paired.low,
            high=test.paired.high,
            p=test.paired.p,
            by=test.paired.by,
            items=test.paired.items,
            clusters=test.paired.clusters,
            mcnemar=_exact_test(test, exact_p),
            items_needed=test.items_needed,
            column=names.columns[column],
            first=names.entries[first],
            second=names.entries[second],
            p_holm=p,
            better=names.entries[first if first_ahead else second] if decided else None,
        )


def _exact_test(test: PairedTest, p_holm: float | None) -> ExactTest | None:
    if test.mcnemar is None or test.only_first is None or test.only_second is None:
        return None
    return ExactTest(
        only_first=test.only_first,
        only_second=test.only_second,
        p=test.mcnemar.p,
        left_out=test.mcnemar.unknown,
        p_holm=p_holm,
    )


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


def wins(board: Board, names: Names, compared: Sequence[PairDifference]) -> list[Wins]:
    """Count, for all ordered pairs of entries, the main columns on which the first is better, worse, or neither.

    Args:
        board: The board.
        names: The names of entries and columns.
        compared: The result of `pairs`.
    """
    main = {names.columns[column] for column in board.main}
    winners: dict[tuple[str, str], list[str | None]] = {}
    for pair in compared:
        if pair.column in main:
            winners.setdefault((pair.first, pair.second), []).append(pair.better)
            winners.setdefault((pair.second, pair.first), []).append(pair.better)
    return [
        Wins(
            first=first,
            second=second,
            better=of_pair.count(first),
            worse=of_pair.count(second),
            open=of_pair.count(None),
        )
        for (first, second), of_pair in winners.items()
    ]
