"""How often 95% intervals and tests are right: `python tests/coverage_of_intervals.py`, some minutes.

Five models are asked the items of clusters (documents) of 1 to 20 items, four on average. Clusters and items are hard
for all models, and clusters also for one model by itself, so that the items of a cluster correlate in a run and in a
difference of two. Models 1 and 2, counted from 0, are equally good.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from halu_tasks.scorers.classification import macro_metric
from halu_tasks.scorers.metrics import Metric, by_cluster, estimate, mean
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.bootstrap import paired_bootstrap
from halu_tasks.scorers.statistics.paired import difference
from halu_tasks.scorers.statistics.significance import items_needed, mcnemar

SKILLS = (0.72, 0.64, 0.64, 0.56, 0.70)
"""Of each model, the share of items that it has right, and its mean credit."""

EASY = (0.96, 0.93, 0.93, 0.90, 0.95)
"""The same where the share is near 1."""

YES = 0.3
"""The share of items whose target is Yes."""


def macro_f1(skill: float) -> float:
    """Of a model that has this share right in both classes."""
    return sum(2 * share * skill / (2 * share * skill + 1 - skill) for share in (YES, 1 - YES)) / 2


METRICS: dict[str, tuple[Metric, tuple[float, ...]]] = {
    "accuracy": (mean("acc", "correct"), SKILLS),
    "macro F1": (macro_metric("f1", ["Yes", "No"], "f1", unparsed_is_label=False), tuple(map(macro_f1, SKILLS))),
    "partial credit": (mean("credit", "credit"), SKILLS),
    "accuracy near 1": (mean("easy", "easy"), EASY),
}
"""Metrics, and their true values of the five models."""


def simulated(rng: np.random.Generator, clusters: int, models: Sequence[int] = range(5)) -> list[list[Score]]:
    """One run of each model."""
    sizes = np.minimum(rng.geometric(0.25, clusters), 20)
    cluster = np.repeat(np.arange(clusters), sizes)
    items = len(cluster)
    target = rng.random(items) < YES
    shared = math.sqrt(0.2) * rng.normal(size=clusters)[cluster] + math.sqrt(0.3) * rng.normal(size=items)
    runs = []
    for model in models:
        own = math.sqrt(0.2) * rng.normal(size=clusters)[cluster] + math.sqrt(0.3) * rng.normal(size=items)
        hardness = shared + own  # of variance 1
        right = hardness < ndtri(SKILLS[model])
        easy = hardness < ndtri(EASY[model])
        credit = ndtr(math.sqrt(2) * ndtri(SKILLS[model]) - hardness)
        runs.append([
            Score(
                str(i), str(c), "Yes" if yes == ok else "No", "Yes" if yes else "No",
                {"correct": float(ok), "easy": float(e), "credit": k},
            )
            for i, (c, yes, ok, e, k) in enumerate(
                zip(cluster.tolist(), target.tolist(), right.tolist(), easy.tolist(), credit.tolist(), strict=True)
            )
        ])  # fmt: skip
    return runs


def coverage(clusters: int, runs: int, draws: int) -> None:
    rng = np.random.default_rng(clusters)
    hits: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in METRICS}
    for _ in range(runs):
        scores = simulated(rng, clusters)
        for name, (metric, truth) in METRICS.items():
            count(hits[name], metric, truth, scores, draws)
    print(f"\n{clusters} clusters, {runs} simulated runs")
    for name, own in hits.items():
        print(f"  {name:16}", "  ".join(f"{what} {np.mean(found):.3f}" for what, found in own.items()))


def count(
    hits: dict[str, list[float]], metric: Metric, truth: tuple[float, ...], scores: list[list[Score]], draws: int
) -> None:
    one = estimate(metric, by_cluster(scores[0]))
    assert one and one.low is not None and one.high is not None
    hits["one run"].append(one.low <= truth[0] <= one.high)
    apart = truth[0] - truth[1]
    known = difference(metric, scores[0], scores[1])
    assert known and known.low is not None and known.high is not None
    hits["difference by jackknife"].append(known.low <= apart <= known.high)
    found = paired_bootstrap(metric, scores, draws=draws)
    pair, equal = found[0, 1], found[1, 2]
    assert pair.low is not None and pair.high is not None and equal.p is not None and pair.p is not None
    hits["paired bootstrap"].append(pair.low <= apart <= pair.high)
    hits["p < 0.05 of equal models"].append(equal.p < 0.05)
    if test := mcnemar(metric, scores[1], scores[2]):
        hits["McNemar's"].append(test.p < 0.05)


def few_that_differ(clusters: int, runs: int, draws: int) -> None:
    """Clusters of one item each, of which few differ: `more` are expected to be right in the first run alone, and
    `fewer` in the second alone."""
    rng = np.random.default_rng(clusters)
    print(f"\n{clusters} items, {runs} simulated runs; expected right in the first run alone and in the second alone")
    for more, fewer in ((0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (6, 0), (1, 1), (2, 1), (2, 2), (4, 4), (8, 2)):
        covered: dict[str, list[bool]] = defaultdict(list)
        for _ in range(runs):
            where = rng.random(clusters) * clusters
            pair = [
                [Score(str(i), str(i), "x", "x", {"correct": float(ok)}) for i, ok in enumerate(right.tolist())]
                for right in (where >= fewer, (where < fewer) | (where >= fewer + more))
            ]
            found = paired_bootstrap(METRICS["accuracy"][0], pair, draws=draws)[0, 1]
            assert found.low is not None and found.high is not None and found.p is not None
            covered["paired bootstrap"].append(found.low <= (more - fewer) / clusters + 1e-12 and
                                               (more - fewer) / clusters - 1e-12 <= found.high)  # fmt: skip
            covered["p < 0.05"].append(found.p < 0.05)
            test = mcnemar(METRICS["accuracy"][0], *pair)
            assert test
            covered["McNemar's"].append(test.p < 0.05)
        print(f"  {more}, {fewer}: ", "  ".join(f"{what} {np.mean(own):.3f}" for what, own in covered.items()))


def power(runs: int, draws: int) -> None:
    """The share of differences that are found with as many items as `items_needed` says."""
    rng = np.random.default_rng(1)
    metric = METRICS["accuracy"][0]
    print(f"\npower at the number of items needed for 80%, {runs} simulated runs")
    for one, other in ((0, 1), (1, 3), (0, 3)):
        pilot = paired_bootstrap(metric, simulated(rng, 20_000, (one, other)), draws=100)[0, 1]
        needed = items_needed(pilot._replace(value=SKILLS[one] - SKILLS[other]))
        assert needed
        clusters = round(needed * pilot.clusters / pilot.items)
        found = [paired_bootstrap(metric, simulated(rng, clusters, (one, other)), draws)[0, 1] for _ in range(runs)]
        share = np.mean([pair.p is not None and pair.p < 0.05 for pair in found])
        print(f"  models {one} and {other}: {needed} items in {clusters} clusters: {share:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, nargs="*", default=[30, 100, 500])
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--only", choices=("coverage", "few", "power"))
    arguments = parser.parse_args()
    if arguments.only in (None, "coverage"):
        for clusters in arguments.clusters:
            coverage(clusters, arguments.runs, arguments.draws)
    if arguments.only in (None, "few"):
        few_that_differ(100, arguments.runs, arguments.draws)
    if arguments.only in (None, "power"):
        power(arguments.runs, arguments.draws)


if __name__ == "__main__":
    main()
