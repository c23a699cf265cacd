"""Compare two Inspect logs of the same samples: the paired difference, with an error that respects clusters.

    python paired_comparison.py FIRST.eval SECOND.eval [--scorer NAME] [--cluster KEY] [--range 1]

Both logs must have the same samples and epochs. What they share, such as hard samples, cancels in the difference. The
standard error is the jackknife's over clusters: the samples with the same value of a metadata key (`--cluster`), or
else single samples, whose epochs belong together. The interval is Student's t with the degrees of freedom of Pan and
Wall (2002), which are few if few clusters differ. If all clusters differ by the same amount, as in two equal runs, the
standard error is 0, but clusters that were not seen may differ: the interval then covers a share of t²/(n + t²) of
such, each by the whole range of the score. A sample without a score in either log is an error, not left out.

`paired_difference` and `holm` need no log. Only Inspect and the standard library are used.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """A mean score minus that of another run on the same samples.

    Attributes:
        value: The difference.
        stderr: Its standard error; 0 if all clusters differ by the same amount.
        low: The lower end of the 95% interval.
        high: The upper end.
        p: The two-sided p-value of no difference, below 0.05 if and only if the interval excludes 0.
        samples: The number of samples, each epoch counted.
        clusters: The number of clusters.
    """

    value: float
    stderr: float
    low: float
    high: float
    p: float
    samples: int
    clusters: int


def paired_difference(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable], width: float = 1.0
) -> Difference:
    """Compare the scores of two runs, given in the same order.

    Args:
        first: The scores of the first run.
        second: Those of the second run.
        clusters: The cluster of each; every sample its own if all differ.
        width: The width of the score's range; `math.inf` if it has no end.

    Raises:
        ValueError: There are fewer than two clusters, or nothing can be said without an end of the range.
    """
    by_cluster: dict[Hashable, list[float]] = {}
    for one, other, cluster in zip(first, second, clusters, strict=True):
        by_cluster.setdefault(cluster, []).append(one - other)
    n, items = len(by_cluster), len(clusters)
    if n < 2:
        raise ValueError(f"{n} cluster: an error needs two")
    total = math.fsum(value for values in by_cluster.values() for value in values)
    value = total / items
    without = [(total - math.fsum(values)) / (items - len(values)) for values in by_cluster.values()]
    center = math.fsum(without) / n
    second_moment = (n - 1) / n * math.fsum((each - center) ** 2 for each in without)
    fourth_moment = ((n - 1) / n) ** 2 * math.fsum((each - center) ** 4 for each in without)
    unit = width if math.isfinite(width) else 1.0
    varies = second_moment > 1e-18 * unit**2
    degrees, unseen, stderr = n - 1.0, 1.0, 0.0
    if varies:
        concentration, stderr = fourth_moment / second_moment**2, math.sqrt(second_moment)
        excess = concentration - 1 / n
        degrees = max(min(n - 1.0, 2 / excess) if excess > 0 else n - 1.0, 1.0)
        unseen = math.sqrt(max(1 - n * second_moment / unit**2, 0.0)) * concentration
    if not math.isfinite(width):
        if not varies:
            raise ValueError("all clusters differ by the same amount, and the score's range has no end")
        unseen = 0.0
    below = above = t_quantile(degrees) * stderr
    p = 2 * t_tail(abs(value) / stderr, degrees) if varies else 0.0
    if unseen:
        share = unseen / (1 + n / t_quantile(n - 1.0) ** 2)
        below, above = max(below, share * (width + value)), max(above, share * (width - value))
        reach = abs(value) / (unseen * (width + abs(value)))
        p = max(p, 2 * t_tail(math.sqrt(n * reach / (1 - reach)), n - 1.0) if reach < 1 else 0.0)
    return Difference(value, stderr, max(value - below, -width), min(value + above, width), min(p, 1.0), items, n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of several comparisons by Holm's method (1979)."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min((len(p_values) - rank) * p_values[index], 1.0))
        adjusted[index] = largest
    return adjusted


# --- Student's t --------------------------------------------------------------------------------------------


def t_tail(t: float, degrees: float) -> float:
    """Return the probability of a value above `t`, which is 0 or more."""
    return 0.5 * _incomplete_beta(degrees / 2, degrees / (degrees + t * t))


def t_quantile(degrees: float, tail: float = 0.025) -> float:
    """Return the value with that probability above it."""
    low, high = 0.0, 1.0
    while t_tail(high, degrees) > tail:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return high


def _incomplete_beta(a: float, x: float, b: float = 0.5) -> float:
    """Return the regularized incomplete beta function, by its continued fraction."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, 1 - x, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            c, d = 1 + term / c, 1 / (1 + term * d)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction


# --- logs of Inspect ------------------------------------------------------------------------------------------


def scores_of(log: Any, scorer: str | None, cluster: str | None) -> dict[tuple[Any, int], tuple[float, Hashable]]:
    """Return the score and the cluster of each sample and epoch of a log.

    Raises:
        ValueError: The log is not complete, or a sample has no score, or not the metadata key.
    """
    from inspect_ai.scorer import value_to_float

    if log.status != "success" or not log.samples:
        raise ValueError(f"{log.location}: status {log.status}, {len(log.samples or [])} samples")
    as_float, found = value_to_float(), {}
    for sample in log.samples:
        name = scorer or next(iter(sample.scores or {}), None)
        if name not in (sample.scores or {}):
            raise ValueError(f"{log.location}: sample {sample.id} has no score {name or ''}".rstrip())
        value = as_float(sample.scores[name].value)
        if math.isnan(value):
            raise ValueError(f"{log.location}: sample {sample.id} is unscored")
        if cluster and cluster not in sample.metadata:
            raise ValueError(f"{log.location}: sample {sample.id} has no metadata {cluster!r}")
        found[sample.id, sample.epoch] = value, sample.metadata[cluster] if cluster else sample.id
    return found


def compare_logs(
    first: Any, second: Any, scorer: str | None = None, cluster: str | None = None, width: float = 1.0
) -> Difference:
    """Compare two logs of the same samples.

    Args:
        first: The first log, as `read_eval_log` returns it.
        second: The second log.
        scorer: The name of the scorer; by default the first one.
        cluster: The metadata key that says which samples belong together.
        width: The width of the score's range.

    Raises:
        ValueError: The logs differ in their samples or clusters, or as in `scores_of`.
    """
    ones, others = (scores_of(log, scorer, cluster) for log in (first, second))
    if strange := ones.keys() ^ others.keys():
        raise ValueError(f"{len(strange)} samples are only in one of the logs, such as {min(strange, key=str)}")
    clusters: Mapping[Any, Hashable] = {key: of for key, (_, of) in ones.items()}
    if moved := [key for key in ones if clusters[key] != others[key][1]]:
        raise ValueError(f"{len(moved)} samples are in other clusters in the second log, such as {moved[0]}")
    values = ([scores[key][0] for key in ones] for scores in (ones, others))
    return paired_difference(*values, [*clusters.values()], width)


def main() -> None:
    """Print the difference of two logs."""
    from inspect_ai.log import read_eval_log

    parser = argparse.ArgumentParser(description="Compare two Inspect logs of the same samples.")
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--scorer", help="the name of the scorer (default: the first)")
    parser.add_argument("--cluster", help="the metadata key of samples that belong together (default: each its own)")
    parser.add_argument("--range", type=float, default=1.0, help="the width of the score's range (default: 1; or inf)")
    given = parser.parse_args()
    logs = (read_eval_log(path) for path in (given.first, given.second))
    try:
        found = compare_logs(*logs, given.scorer, given.cluster, given.range)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(f"difference {found.value:+.4f}, 95% interval [{found.low:+.4f}, {found.high:+.4f}], p {found.p:.4f}")
    print(f"standard error {found.stderr:.4f}, {found.samples} samples, {found.clusters} clusters")


if __name__ == "__main__":
    main()
