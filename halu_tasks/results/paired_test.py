"""Testing the difference between two runs on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.bootstrap import Paired
from halu_tasks.scorers.statistics.significance import McNemar, holm, items_needed, mcnemar


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
    """

    metric: str
    higher_is_better: bool | None
    paired: Paired
    only_first: int | None
    only_second: int | None
    mcnemar: McNemar | None
    items_needed: int | None


def paired_test(metric: Metric, first: Sequence[Score], second: Sequence[Score], paired: Paired) -> PairedTest:
    """Test the difference between two runs in one metric.

    Args:
        metric: The metric.
        first: The scores of the first run.
        second: The scores of the second run, of the same items.
        paired: The difference between them, as `paired_bootstrap` computes it.
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
    )


def corrected(tests: Sequence[PairedTest]) -> list[tuple[float | None, float | None]]:
    """Correct p values by Holm's method over all tests.

    Returns:
        For each test, the corrected p values of the bootstrap and of McNemar's test.
    """
    paired = holm([test.paired.p for test in tests])
    exact = holm([test.mcnemar.p if test.mcnemar else None for test in tests])
    return list(zip(paired, exact, strict=True))
