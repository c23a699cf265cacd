"""Two runs on the same items: by how much a metric differs between them, and which items flip.

The error of a difference leaves out one cluster of both runs at a time, so what the runs share (hard items, hard
documents) cancels, as in a paired t-test; two separate errors would not know of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from halu_tasks.scorers.agreement import Labels
from halu_tasks.scorers.metrics import Metric, by_cluster
from halu_tasks.scorers.score import Score


class Difference(NamedTuple):
    """A metric of one run minus that of another, in the metric's unit, with its standard error and 95% interval.

    `items` is how many items both runs have, with the tag that the metric is about if it is about one. `stderr`,
    `low` and `high` are None where fewer than two clusters bear on the difference, or it hangs on one of them.
    """

    value: float
    stderr: float | None
    low: float | None
    high: float | None
    items: int


def same_items(ones: Sequence[Score], others: Sequence[Score]) -> str:
    """What is wrong with comparing the two runs: how many items only one of them has, or else how many are of another
    cluster in the other, with an example; empty where nothing is. An item may occur several times (epochs), in both
    runs as often."""
    first, second = (Counter(s.id for s in scores) for scores in (ones, others))
    found = [
        f"{alone.total()} only in the {run} run, such as {min(alone)}"
        for run, alone in (("first", first - second), ("second", second - first))
        if alone
    ]
    if not found:
        in_first, in_second = (Counter((s.id, s.cluster) for s in scores) for scores in (ones, others))
        if moved := in_first - in_second:
            found = [f"{moved.total()} of another cluster in the second run, such as {min(moved)[0]}"]
    return f"the runs differ in their items: {'; '.join(found)}" if found else ""


def difference(metric: Metric, ones: Sequence[Score], others: Sequence[Score]) -> Difference | None:
    """The metric of `ones` minus that of `others`, two runs on the same items in any order; None where it is not
    defined for both.

    The interval is Student's t around the difference, within what the metric's range allows. Its reach is that of
    the standard error had one more cluster been seen, as far out as the furthest of those that were: when few
    clusters differ, the error of those few is itself uncertain (Agresti and Min 2005 add pseudo-observations to the
    same end).

    Where all clusters differ alike, as in two equal runs, the standard error is 0, and the interval that of a share:
    at most t²/(n + t²) of all clusters, the upper end of Wilson's interval for none of n, are unlike those seen, and
    these as far as the range allows. Two equal runs of 100 clusters thus differ by 0 ± 0.04 in a share. Of a
    metric without an upper bound nothing is then known, and `low` and `high` are None.

    Raises:
        ValueError: the runs are not of the same items and clusters.
    """
    if wrong := same_items(ones, others):
        raise ValueError(wrong)
    if not ones:
        return None
    # in one order, which also groups the clusters of both runs alike where a metric leaves out groups
    (total, table), (other_total, other_table) = (
        metric.sums(by_cluster(sorted(scores, key=lambda s: s.cluster))) for scores in (ones, others)
    )
    value = float(metric.value(total)) - float(metric.value(other_total))
    if math.isnan(value):
        return None
    items = sum(metric.where is None or metric.where in s.tags.items() for s in ones)
    bears = metric.bears(table) | metric.bears(other_table)
    without_one = metric.value(total - table[bears]) - metric.value(other_total - other_table[bears])
    clusters = len(without_one)
    if clusters < 2 or np.isnan(without_one).any():
        return Difference(value, None, None, None, items)
    variances = (clusters - 1) / clusters * (without_one - without_one.mean()) ** 2
    stderr = math.sqrt(variances.sum())
    width = metric.range[1] - metric.range[0]
    t = float(stdtrit(clusters - 1, 0.975))
    if stderr <= (1e-9 * width if math.isfinite(width) else 1e-9):
        if math.isinf(width):
            return Difference(value, 0.0, None, None, items)
        unlike = t**2 / (clusters + t**2)
        return Difference(value, 0.0, value - unlike * (width + value), value + unlike * (width - value), items)
    reach = t * math.sqrt(variances.sum() + variances.max())
    return Difference(value, stderr, max(value - reach, -width), min(value + reach, width), items)


def flips(ones: Sequence[Score], others: Sequence[Score]) -> dict[str, int]:
    """How many items are right (`correct` is 1) in both runs, in the first or the second alone, and in neither, as
    `flip_table` names it from the first run to the second. Repeats of an item pair up in order.

    Raises:
        ValueError: the runs are not of the same items, or an item is neither right nor wrong.
    """
    if wrong := same_items(ones, others):
        raise ValueError(wrong)
    before, after = (sorted(scores, key=lambda s: s.id) for scores in (ones, others))
    return _table([_correct(s) for s in before], [_correct(s) for s in after])


def flip_table(before: Labels, after: Labels, targets: Sequence[str]) -> dict[str, int]:
    """What became of N labels, such as one role's, in later ones, such as a final verdict: how many were right and
    stayed so (`kept_right`), were wrong and stayed so (`kept_wrong`, whether or not the label changed), and flipped
    (`flipped_to_right`, `flipped_to_wrong`). No label is wrong.

    Raises:
        ValueError: sequences of different lengths.
    """
    if not len(before) == len(after) == len(targets):
        raise ValueError(f"{len(before)} labels before and {len(after)} after, for {len(targets)} targets")
    return _table(*([a == b for a, b in zip(labels, targets, strict=True)] for labels in (before, after)))


def _table(before: Sequence[bool], after: Sequence[bool]) -> dict[str, int]:
    cells = Counter(zip(before, after, strict=True))
    return {
        "kept_right": cells[True, True],
        "kept_wrong": cells[False, False],
        "flipped_to_right": cells[False, True],
        "flipped_to_wrong": cells[True, False],
    }


def _correct(score: Score) -> bool:
    if score.facts.get("correct") not in (0, 1):
        raise ValueError(f"item {score.id} is neither right nor wrong")
    return score.facts["correct"] == 1
