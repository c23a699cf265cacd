"""Testing the difference between two runs on the same items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.stats import binomtest

from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.paired import Difference, same_items
from halu_tasks.scorers.statistics.planning import ItemsNeeded, items_needed
from halu_tasks.scorers.statistics.simultaneous import (
    LEVEL,
    Contrast,
    Influence,
    adjusted_equality,
    adjusted_p_values,
)


class McNemar(NamedTuple):
    """McNemar's test (1947) of a metric that is 0 or 1 for each item.

    Attributes:
        first_higher: The number of items with 1 in the first run and 0 in the second one. If higher is better, as for
            `correct`, only the first run has them right; if lower is better, as for `unparsed`, only the second one.
        second_higher: The number of items with 0 in the first run and 1 in the second one.
        items: The number of items for which the metric is defined in both runs.
        unknown: The number of items for which it is undefined (NaN) in one of the runs, for instance because a judge
            failed; they are not included in the other counts.
        p: The exact two-sided binomial p-value of the hypothesis that items flip in both directions with equal
            probability; 1 if none flips.
    """

    first_higher: int
    second_higher: int
    items: int
    unknown: int
    p: float


def mcnemar(metric: Metric, ones: Sequence[Score], others: Sequence[Score]) -> McNemar | None:
    """Test two runs on the same items with McNemar's exact test of the metric's values of single items.

    The test assumes independent items: if those of a cluster flip together, p is too small, and an interval over
    clusters (`bootstrap.paired_bootstrap`) should be used. There is no test of runs that repeat their items (epochs),
    since the repeats of an item are not independent: in simulations, it would call 16% of equal runs different at four
    epochs, and 31% at ten.

    Args:
        metric: The metric.
        ones: The scores of the first run, in any order.
        others: The scores of the second run, in any order.

    Returns:
        The test; None if the metric has no value for single items, or one that is neither 0 nor 1 (partial credit), or
        if items are repeated.

    Raises:
        ValueError: The runs differ in their items or clusters.
    """
    if problem := same_items(ones, others):
        raise ValueError(problem)
    if not metric.item or len({s.id for s in ones}) < len(ones):
        return None
    first, second = (
        [metric.item(s) for s in sorted(scores, key=lambda s: s.id) if metric.tag_filter in (None, *s.tags.items())]
        for scores in (ones, others)
    )
    pairs = [pair for pair in zip(first, second, strict=True) if not any(map(math.isnan, pair))]
    if any(value not in (0, 1) for pair in pairs for value in pair):
        return None
    first_higher, second_higher = pairs.count((1, 0)), pairs.count((0, 1))
    flips = first_higher + second_higher
    p = float(binomtest(first_higher, flips).pvalue) if flips else 1.0
    return McNemar(first_higher, second_higher, len(pairs), len(first) - len(pairs), p)


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
    paired: Difference
    only_first: int | None
    only_second: int | None
    mcnemar: McNemar | None
    items_needed: ItemsNeeded | None
    influences: tuple[Influence, Influence]


def paired_test(
    metric: Metric,
    first: Sequence[Score],
    second: Sequence[Score],
    paired: Difference,
    influences: tuple[Influence, Influence],
) -> PairedTest:
    """Test the difference between two runs in one metric.

    Args:
        metric: The metric.
        first: The scores of the first run.
        second: The scores of the second run, of the same items.
        paired: The difference between them, as `differences` computes it.
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
