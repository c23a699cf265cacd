"""Testing the difference between two runs on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.bootstrap import Paired
from halu_tasks.scorers.statistics.significance import McNemar, items_needed, mcnemar
from halu_tasks.scorers.statistics.simultaneous import Contrast, Influence, adjusted_p_values


class PairedTest(NamedTuple):
    """The difference between two runs in one metric, as first minus second, with significance tests.

    Attributes:
        metric: The metric's name.
        higher_is_better: None if neither direction is better.
        paired: The difference with its interval.
        only_first: The number of items that only the first run has right; None if items are not simply right or wrong.
        only_second: The number of items that only the second run has right; None like `only_first`.
        mcnemar: McNemar's exact test of these counts; None like `only_first`.
        items_needed: The number of items needed to detect a difference of this size.
        influences: The influence of clusters on the figures of both runs.
    """

    metric: str
    higher_is_better: bool | None
    paired: Paired
    only_first: int | None
    only_second: int | None
    mcnemar: McNemar | None
    items_needed: int | None
    influences: tuple[Influence, Influence]


def paired_test(
    metric: Metric,
    first: Sequence[Score],
    second: Sequence[Score],
    paired: Paired,
    influences: tuple[Influence, Influence],
) -> PairedTest:
    """Test the difference between two runs in one metric.

    Args:
        metric: The metric.
        first: The scores of the first run.
        second: The scores of the second run, of the same items.
        paired: The difference between them, as `paired_bootstrap` computes it.
        influences: The influence of clusters on the figures of both runs.
    """
    exact = mcnemar(metric, first, second)
    only_first = only_second = None
    if exact:
        counts = exact.first_higher, exact.second_higher
        only_first, only_second = counts if metric.higher_is_better else counts[::-1]
    return PairedTest(
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        paired=paired,
        only_first=only_first,
        only_second=only_second,
        mcnemar=exact,
        items_needed=items_needed(paired),
        influences=influences,
    )


def adjusted(tests: Sequence[PairedTest]) -> list[float | None]:
    """Adjust the p values of a family of tests, as `adjusted_p_values` does."""
    return adjusted_p_values([Contrast(test.paired.value, test.paired.p, *test.influences) for test in tests])
