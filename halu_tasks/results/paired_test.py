"""Testing the difference between two runs on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.bootstrap import Paired
from halu_tasks.scorers.statistics.significance import ItemsNeeded, McNemar, items_needed, mcnemar
from halu_tasks.scorers.statistics.simultaneous import (
    LEVEL,
    Contrast,
    Influence,
    adjusted_equality,
    adjusted_p_values,
)


class PairedTest(NamedTuple):
    """The difference between two runs in one metric, as first minus second, with significance tests.

    Attributes:
        metric: The metric's name.
        higher_is_better: None if neither direction is better.
        paired: The difference with its interval.
        only_first: The number of items that only the first run has right; None if items are repeated, or not
            simply right or wrong.
        only_second: The number of items that only the second run has right; None like `only_first`.
        mcnemar: McNemar's exact test of these counts; None like `only_first`.
        items_needed: How many items are needed to detect a difference of this size.
        influences: The influence of clusters on the figures of both runs.
    """

    metric: str
    higher_is_better: bool | None
    paired: Paired
    only_first: int | None
    only_second: int | None
    mcnemar: McNemar | None
    items_needed: ItemsNeeded | None
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


class Adjusted(NamedTuple):
    """The p values of a test, adjusted for all tests of a family.

    Attributes:
        p: Of no difference; None if there is no p value.
        p_equal: Of a difference of the margin or more; None without a margin.
    """

    p: float | None
    p_equal: float | None

    @property
    def differs(self) -> bool:
        """Whether there is a difference."""
        return self.p is not None and self.p < LEVEL

    @property
    def equal(self) -> bool:
        """Whether the difference is smaller than the margin."""
        return self.p_equal is not None and self.p_equal < LEVEL


def adjusted(tests: Sequence[PairedTest]) -> list[Adjusted]:
    """Adjust the p values of a family of tests, as `adjusted_p_values` and `adjusted_equality` do."""
    contrasts = [Contrast(test.paired.value, test.paired.p, *test.influences, test.paired.p_equal) for test in tests]
    return list(map(Adjusted, adjusted_p_values(contrasts), adjusted_equality(contrasts)))


def verdict(test: PairedTest, p_values: Adjusted) -> str:
    """Say what a family of tests claims of one: `better` or `worse` (`higher` or `lower`), `equal`, both, or `open`."""
    claims = []
    if p_values.differs:
        if test.higher_is_better is None:
            claims.append("higher" if test.paired.value > 0 else "lower")
        else:
            claims.append("better" if (test.paired.value > 0) == test.higher_is_better else "worse")
    if p_values.equal:
        claims.append("equal")
    return ", ".join(claims) or "open"
