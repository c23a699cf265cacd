"""The pairs of entries in a report: differences, tests, wins and ranges of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halu_tasks.report.model.leaderboard import Board, Column, Mean
from halu_tasks.report.model.measures import Measure, Tested, ranks, tested
from halu_tasks.report.model.names import Names
from halu_tasks.report.model.report import ExactTest, Needed, PairDifference, Wins
from halu_tasks.results.entry import Entry
from halu_tasks.results.paired_test import PairedTest
from halu_tasks.scorers.statistics.planning import not_estimated


@dataclass(frozen=True)
class Pairs:
    """All pairs of entries, compared in all columns and means.

    Main columns and main means are one family of tests, and those apart another.

    Attributes:
        tests: The tests of main columns and means, then those apart.
        ranks: For each column and mean, the confidence sets of the ranks of its entries.
        margin: The difference below which two entries count as equal; None if equality was not tested.
    """

    tests: Sequence[Tested]
    ranks: Mapping[Column | Mean, Mapping[Entry, tuple[int, int]]]
    margin: float | None = None

    @classmethod
    def of(cls, board: Board, means: Sequence[Mean], margin: float | None = None) -> Pairs:
        """Compare all pairs of entries.

        Args:
            board: The board.
            means: The means of groups.
            margin: The difference below which two entries count as equal; None to test no equality.
        """
        tests: list[Tested] = []
        ranges: dict[Column | Mean, dict[Entry, tuple[int, int]]] = {}
        for main in (True, False):
            places: list[Column | Mean] = [mean for mean in means if mean.main == main]
            places += [column for column in board.columns if column.main == main]
            measures = [Measure.of(place, margin) for place in places]
            family = tested(measures)
            tests += family
            ranges |= {measure.place: ranks(measure, family) for measure in measures}
        return cls(tests, ranges, margin)

    @property
    def rule(self) -> str:
        """State in a few sentences what `better` and ranks rest on; empty if there are no pairs."""
        main = sum(test.measure.place.main for test in self.tests)
        apart = len(self.tests) - main
        if not self.tests:
            return ""
        families = []
        if main:
            families.append(f"{_differences(main)} between models on main tasks and group means")
        if apart:
            families.append(f"{_differences(apart)} in results shown apart")
        equal = "" if self.margin is None else f", “equal” (within ±{self.margin:g})"
        several = len(families) > 1
        analyses = f"two analyses, of {' and of '.join(families)}" if several else f"one analysis of {families[0]}"
        return (
            f"“Better”{equal}, “open” and ranks come from {analyses}. The probability of any false claim in "
            f"{'each' if several else 'it'} is at most 5% (p values adjusted by the step-down maximum of a bootstrap "
            "over clusters). Intervals and McNemar’s p are of one pair on one task alone, so an interval can exclude 0 "
            "although the pair is open."
        )

    def records(self, board: Board, names: Names) -> list[PairDifference]:
        """Describe the differences, pair by pair in the order of entries."""
        order = {entry: number for number, entry in enumerate(board.entries)}
        ordered = sorted(self.tests, key=lambda test: (order[test.first], order[test.second]))
        return [_record(test, names) for test in ordered]

    def wins(self, board: Board, names: Names) -> list[Wins]:
        """Count the main columns on which one entry is better than another, worse, equal or neither, for all pairs."""
        better: dict[tuple[Entry, Entry], list[Entry | str | None]] = {}
        order = {entry: number for number, entry in enumerate(board.entries)}
        for test in sorted(self.tests, key=lambda test: (order[test.first], order[test.second])):
            if isinstance(test.measure.place, Column) and test.measure.place.main:
                outcome = test.better or ("equal" if test.p.equal else None)
                better.setdefault((test.first, test.second), []).append(outcome)
                better.setdefault((test.second, test.first), []).append(outcome)
        return [
            Wins(
                first=names.entries[first],
                second=names.entries[second],
                better=of_pair.count(first),
                worse=of_pair.count(second),
                equal=of_pair.count("equal"),
                open=of_pair.count(None),
            )
            for (first, second), of_pair in better.items()
        ]


def _differences(number: int) -> str:
    return "the difference" if number == 1 else f"the {number:,} differences"


def _record(tested: Tested, names: Names) -> PairDifference:
    place, test = tested.measure.place, tested.test
    return PairDifference(
        metric=test.metric,
        value=test.paired.value,
        low=test.paired.low,
        high=test.paired.high,
        p=test.paired.p,
        by="jackknife",
        items=test.paired.items,
        clusters=test.paired.clusters,
        mcnemar=_exact_test(test),
        items_needed=test.items_needed and Needed(**test.items_needed._asdict()),
        not_estimated=not_estimated(test.paired),
        column=names.columns[place] if isinstance(place, Column) else None,
        group=None if isinstance(place, Column) else names.groups[place],
        first=names.entries[tested.first],
        second=names.entries[tested.second],
        p_adjusted=tested.p.p,
        p_equal=tested.p.p_equal,
        equal=tested.p.equal,
        better=names.entries[tested.better] if tested.better else None,
    )


def _exact_test(test: PairedTest) -> ExactTest | None:
    if test.mcnemar is None or test.only_first is None or test.only_second is None:
        return None
    return ExactTest(
        only_first=test.only_first,
        only_second=test.only_second,
        p=test.mcnemar.p,
        left_out=test.mcnemar.unknown,
    )
