"""What entries are compared by, the headlines of columns and the means of groups, and the tests of all at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from halu_tasks.report.model.leaderboard import Column, Mean
from halu_tasks.results.entry import Entry
from halu_tasks.results.paired_test import Adjusted, PairedTest, adjusted, paired_test
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.statistics.paired import Difference, differences_of, items_of, without_clusters
from halu_tasks.scorers.statistics.simultaneous import Influence, influence, rank_ranges


@dataclass(frozen=True, eq=False)
class Measure:
    """A metric by which the entries of a column or mean are compared. Measures are compared by identity.

    Attributes:
        place: The column or mean.
        metric: The metric: the column's headline, what human labels make of it, or the mean.
        entries: The entries for which the metric is defined.
        differences: The differences between them, by their positions in `entries`.
        influences: The influence of clusters on each entry's figure.
    """

    place: Column | Mean
    metric: Metric
    entries: Sequence[Entry]
    differences: Mapping[tuple[int, int], Difference]
    influences: Sequence[Influence]

    @classmethod
    def of(cls, place: Column | Mean, margin: float | None = None) -> Measure:
        """Compare the entries of a column or mean.

        Args:
            place: The column or mean.
            margin: The difference below which two entries count as equal; None to test no equality.
        """
        if isinstance(place, Column):
            metric, scope, entries = place.compared_by, place.task.benchmark, list(place.runs)
        else:
            metric, scope, entries = place.metric, place.columns[0].task.benchmark, list(place.figures)
        # the items of all entries of a column are the same
        scores = place.scores(entries[0])
        clusters = sorted({score.cluster for score in scores})
        if isinstance(place, Column):
            items = items_of(metric, scores)
        else:
            # items of two tasks may have the same ids
            items = sum(items_of(column.headline, column.scores(entries[0])) for column in place.columns)
        all_sums = {entry: without_clusters(metric, place.scores(entry)) for entry in entries}
        sums = {entry: own for entry, own in all_sums.items() if not math.isnan(own.value)}
        return cls(
            place,
            metric,
            list(sums),
            differences_of(metric, list(sums.values()), items, margin),
            [influence(own, clusters, scope) for own in sums.values()],
        )


class Tested(NamedTuple):
    """A test of the difference between two entries.

    Attributes:
        measure: What they are compared by.
        first: The entry from whose figure the other is subtracted.
        second: The entry whose figure is subtracted.
        test: The test.
        p: The p values that are adjusted for all tests of the family.
        better: The better entry; None if the items do not decide it.
    """

    measure: Measure
    first: Entry
    second: Entry
    test: PairedTest
    p: Adjusted
    better: Entry | None


def tested(measures: Sequence[Measure]) -> list[Tested]:
    """Test the differences between all entries in a family of measures, with p values that are adjusted for all."""
    pairs = [
        (measure, measure.entries[i], measure.entries[j], _test(measure, i, j))
        for measure in measures
        for i, j in combinations(range(len(measure.entries)), 2)
        if (i, j) in measure.differences
    ]
    p_values = adjusted([test for *_, test in pairs])
    return [
        Tested(measure, first, second, test, p, _better(first, second, test, p))
        for (measure, first, second, test), p in zip(pairs, p_values, strict=True)
    ]


def _test(measure: Measure, i: int, j: int) -> PairedTest:
    place = measure.place
    # the items of a mean are those of several tasks, of which McNemar's test would count the larger ones more
    runs = [place.scores(measure.entries[n]) if isinstance(place, Column) else () for n in (i, j)]
    influences = measure.influences[i], measure.influences[j]
    return paired_test(measure.metric, runs[0], runs[1], measure.differences[i, j], influences)


def _better(first: Entry, second: Entry, test: PairedTest, p: Adjusted) -> Entry | None:
    if test.higher_is_better is None or not p.differs:
        return None
    return first if (test.paired.value > 0) == test.higher_is_better else second


def ranks(measure: Measure, tests: Sequence[Tested]) -> dict[Entry, tuple[int, int]]:
    """Compute the confidence sets of the entries' ranks; empty if there is nothing to rank.

    Args:
        measure: What the entries are compared by.
        tests: The tests of all measures of the family.
    """
    if len(measure.entries) < 2 or measure.metric.higher_is_better is None:
        return {}
    position = {entry: number for number, entry in enumerate(measure.entries)}
    decided = [
        (position[test.better], position[test.second if test.better == test.first else test.first])
        for test in tests
        if test.measure is measure and test.better is not None
    ]
    return dict(zip(measure.entries, rank_ranges(decided, len(measure.entries)), strict=True))
