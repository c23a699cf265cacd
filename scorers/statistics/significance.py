"""What a difference between runs is worth: a test of items that flip, corrections for many comparisons, the number of
items that would tell two runs apart, and the ranks that runs may have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy.special import ndtri
from scipy.stats import binomtest

from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.bootstrap import Paired
from halu_tasks.scorers.statistics.paired import same_items


class McNemar(NamedTuple):
    """McNemar's test (1947) of items whose figure is 0 or 1.

    Attributes:
        first_higher: items whose figure is 1 in the first run and 0 in the second. Of a metric that is the better the
            higher, such as `correct`, the first run alone has these right; of one that is the better the lower, such
            as `unparsed`, the second does.
        second_higher: items whose figure is 0 in the first run and 1 in the second.
        items: items whose figure is known in both runs.
        unknown: items whose figure is not (NaN) in either run, as where a judge failed; they are in no other count.
        p: exact two-sided p value of "an item that flips does so either way as likely": binomial, 1 where none flips.
    """

    first_higher: int
    second_higher: int
    items: int
    unknown: int
    p: float


def mcnemar(metric: Metric, ones: Sequence[Score], others: Sequence[Score]) -> McNemar | None:
    """McNemar's exact test of two runs on the same items in any order, by the metric's figure of single items; None
    where it has none, or an item's figure is neither 0 nor 1 (partial credit). Repeats of an item pair up in order.

    The test takes items as independent. Where those of a cluster flip together, p is too small: a paired interval
    over clusters says more (`bootstrap.paired_bootstrap`).

    Raises:
        ValueError: the runs are not of the same items and clusters.
    """
    if wrong := same_items(ones, others):
        raise ValueError(wrong)
    if not metric.item:
        return None
    first, second = (
        [metric.item(s) for s in sorted(scores, key=lambda s: s.id) if metric.tag_filter in (None, *s.tags.items())]
        for scores in (ones, others)
    )
    known = [pair for pair in zip(first, second, strict=True) if not any(map(math.isnan, pair))]
    if any(figure not in (0, 1) for pair in known for figure in pair):
        return None
    higher, lower = known.count((1, 0)), known.count((0, 1))
    p = float(binomtest(higher, higher + lower).pvalue) if higher + lower else 1.0
    return McNemar(higher, lower, len(known), len(first) - len(known), p)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p values (1979), in the order given: rejecting those at most alpha makes any false
    rejection at most as likely as alpha, however the tests depend on each other.

    The k-th smallest of m is (m - k + 1) times itself, at least the one before it and at most 1. None stands for a
    comparison that could not be tested; it stays None, and is not one of the m.

    Raises:
        ValueError: a p value is not within 0 and 1.
    """
    known = sorted((p, number) for number, p in enumerate(p_values) if p is not None)
    if wrong := [p for p, _ in known if not 0 <= p <= 1]:
        raise ValueError(f"{wrong[0]} is no p value")
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, number) in enumerate(known):
        largest = max(largest, min((len(known) - rank) * p, 1.0))
        adjusted[number] = largest
    return adjusted


def items_needed(found: Paired, power: float = 0.8, level: float = 0.05) -> int | None:
    """How many items of the same make-up (in clusters of the same sizes, as much alike) a paired two-sided test at
    `level` would need to find a difference with the probability `power`, if the true one were as large as the one
    observed: items · ((z₁₋level/₂ + z_power) · stderr / value)², rounded up. None where the difference is 0 or has no
    standard error, or one of 0.

    A plan for the next run, that is as uncertain as the difference itself. It is not the power that the present run
    had: that of an observed difference only restates its p value (Hoenig and Heisey 2001), and that more items would
    make a difference significant is no evidence that there is one. Where the items are of few clusters the test asks
    for more than z does: in simulations it finds 71% at 50 clusters, and 75 to 80% at 200.
    """
    if not found.stderr or not found.value:
        return None
    reach = float(ndtri(1 - level / 2)) + float(ndtri(power))
    return math.ceil(found.items * (reach * found.stderr / found.value) ** 2)


def rank_ranges(
    found: Mapping[tuple[int, int], Paired], runs: int, higher_is_better: bool | None, level: float = 0.05
) -> list[tuple[int, int]]:
    """The ranks that each of M runs may have, best and worst, 1 being the best: 95% confidence sets of Mogstad, Romano,
    Shaikh and Wilhelm (2024, "Inference for Ranks", Review of Economic Studies 91), from 1 + the number of runs that
    are significantly better to M - the number that are significantly worse.

    A run's set takes its comparisons with the other M - 1 as 2(M - 1) one-sided tests, "not better" and "not worse"
    than each, corrected by Holm: of 2(M - 1) rather than of M - 1 two-sided p values, as those leave open which way a
    difference goes. As none of the true ones is rejected in 95%, the set then holds the run's rank, and where runs tie
    all ranks that they share. That is of each run by itself, not of all at once. A comparison without a p value
    decides nothing.

    Args:
        found: of `paired_bootstrap`; M(M - 1)/2 pairs or fewer.
        runs: their number M.
        higher_is_better: the metric's.

    Raises:
        ValueError: `higher_is_better` is None, so that no run is better than another.
    """
    if higher_is_better is None:
        raise ValueError("runs have no ranks in a figure of which neither direction is better")
    # for each run, one-sided p values of "not better" and "not worse" than each of the others
    better: list[list[float | None]] = [[] for _ in range(runs)]
    worse: list[list[float | None]] = [[] for _ in range(runs)]
    for (i, j), pair in found.items():
        if pair.p is None:
            continue
        small, large = pair.p / 2, 1 - pair.p / 2
        first, second = (small, large) if (pair.value > 0) == higher_is_better else (large, small)
        better[i].append(first)
        worse[i].append(second)
        better[j].append(second)
        worse[j].append(first)
    ranges = []
    for own_better, own_worse in zip(better, worse, strict=True):
        rejected = [p is not None and p <= level for p in holm([*own_better, *own_worse])]
        ranges.append((1 + sum(rejected[len(own_better) :]), runs - sum(rejected[: len(own_better)])))
    return ranges
