"""Measure how often 95% intervals contain the true value: `python tests/coverage_of_intervals.py`, about half an hour.

Every shape of metric is simulated over designs: 50, 200 or 1,000 clusters of 1, 2, or 1 to 20 items (four on average),
with the true value near 0, in the middle and near 1, and with rare and common classes. In clusters of several items,
answers correlate (0.3 on the scale of a normal distribution).

Each design is a line with the true value, the coverage by the rule used before version 0.1.0 and by the present one,
the share of runs in which the interval is withheld, and the present width over the previous one. Both rules see the
same runs, except those without an interval. The summary has the range over the designs of each shape.

    python tests/coverage_of_intervals.py --runs 300 --only share count
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

from halu_tasks.scorers.benchmarks.label_scorer import position_bias
from halu_tasks.scorers.classification import label_metric, macro_metric
from halu_tasks.scorers.metrics import Array, Metric, by_cluster, estimate, jackknife, mean, micro
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.agreement import cohen_kappa
from halu_tasks.scorers.statistics.bootstrap import _drawn, _percentiles
from halu_tasks.scorers.statistics.calibration import auprc, average_precision, ece
from halu_tasks.scorers.statistics.intervals import Moments, deviations, mean_interval, score_interval
from halu_tasks.scorers.statistics.paired import JackknifeDifference, left_out, rounding
from halu_tasks.scorers.statistics.probability import Probabilities, pair_sums, roc_auc
from halu_tasks.scorers.statistics.threshold import tuned_metrics

Ends = tuple[float, float]
Rng = np.random.Generator
Numbers = npt.NDArray[np.int64]

CLUSTERS = (50, 200, 1_000)
SIZES = ("1", "2", "1 to 20")
SHARES = (0.01, 0.1, 0.5, 0.9, 0.99)
CORRELATION = 0.3
FEWEST_RUNS = 100
"""A design in which fewer runs than this have an interval is printed, but left out of the summary."""


class Run(NamedTuple):
    """The intervals of one simulated run by the previous and by the present rule; None for one that is withheld."""

    before: Ends | None
    after: Ends | None


NOTHING = Run(None, None)


@dataclass(frozen=True)
class Design:
    """What is simulated.

    Attributes:
        shape: The shape of metric.
        label: The rest of the design.
        clusters: The number of clusters.
        truth: The true value.
        run: The function that simulates one run.
    """

    shape: str
    label: str
    clusters: int
    truth: float
    run: Callable[[Rng], Run]


# --- the previous rule ------------------------------------------------------------------------------


def wilson_before(value: float, without_one: Array, bounds: Ends = (0.0, 1.0)) -> Ends:
    """Compute Wilson's interval with the effective number of items, or Student's t without an upper bound."""
    clusters = len(without_one)
    stderr = math.sqrt((clusters - 1) / clusters * float(((without_one - without_one.mean()) ** 2).sum()))
    t = float(stdtrit(clusters - 1, 0.975))
    if math.isinf(bounds[1]):
        return max(value - t * stderr, bounds[0]), value + t * stderr
    bottom, width = bounds[0], bounds[1] - bounds[0]
    p = min(max((value - bottom) / width, 0.0), 1.0)
    variance = (stderr / width) ** 2
    n = p * (1 - p) / variance if variance > 1e-18 and 0 < p < 1 else float(clusters)
    centre, half = p + t * t / (2 * n), t * math.sqrt(p * (1 - p) / n + t * t / (4 * n * n))
    low = 0.0 if p == 0 else max((centre - half) / (1 + t * t / n), 0.0)
    high = 1.0 if p == 1 else min((centre + half) / (1 + t * t / n), 1.0)
    return bottom + width * low, bottom + width * high


def difference_before(found: JackknifeDifference) -> Ends | None:
    """Compute Student's t around a difference, with unseen clusters only where the standard error is 0."""
    return found._replace(unseen=0.0 if found.stderr else 1.0).interval


# --- what is drawn ----------------------------------------------------------------------------------


def clusters_of(rng: Rng, clusters: int, sizes: str) -> Numbers:
    """Draw the number of each item's cluster."""
    number = np.minimum(rng.geometric(0.25, clusters), 20) if sizes == "1 to 20" else np.full(clusters, int(sizes))
    return np.repeat(np.arange(clusters), number)


def normal(rng: Rng, cluster: Numbers) -> Array:
    """Draw a standard normal number for each item, correlated within clusters."""
    shared = rng.normal(size=int(cluster[-1]) + 1)[cluster]
    return np.asarray(math.sqrt(CORRELATION) * shared + math.sqrt(1 - CORRELATION) * rng.normal(size=len(cluster)))


def sums(cluster: Numbers, *columns: npt.ArrayLike) -> Array:
    """Add up columns by cluster, shape (C, K)."""
    return np.stack([np.bincount(cluster, np.broadcast_to(c, cluster.shape)) for c in columns], axis=1)


def both_rules(metric: Metric, total: Array, table: Array, before: Array | None = None) -> Run:
    """Compute the interval of a metric from its sums by both rules.

    Args:
        metric: The metric.
        total: The sums over all clusters.
        table: The part lost with each cluster.
        before: The values without each cluster in the previous rule, if they were others.
    """
    table = table[metric.contributes(table)]
    if before is None:
        before = metric.value(total - table)
    old = None
    if len(before) > 1 and not np.isnan(before).any():
        old = wilson_before(float(metric.value(total)), before, metric.range)
    if not metric.has_error:
        return Run(old, None)
    classes = metric.classes(table) if metric.classes else None
    found = jackknife(metric.value, total, table, metric.range, classes, averaged=metric.averages_classes)
    after = (found.low, found.high) if found and found.low is not None and found.high is not None else None
    return Run(old, after)


def of_table(metric: Metric, draw: Callable[[Rng], Array]) -> Callable[[Rng], Run]:
    """Make the function that simulates one run of a metric from a table of sums by cluster."""

    def run(rng: Rng) -> Run:
        table = draw(rng)
        return both_rules(metric, table.sum(axis=0), table)

    return run


# --- shapes -----------------------------------------------------------------------------------------


def shares() -> Iterator[Design]:
    """Simulate the share of right answers."""
    for clusters, sizes, p in product(CLUSTERS, SIZES, SHARES):

        def draw(rng: Rng, clusters: int = clusters, sizes: str = sizes, p: float = p) -> Array:
            cluster = clusters_of(rng, clusters, sizes)
            return sums(cluster, normal(rng, cluster) < ndtri(p), 1.0)

        yield Design("share", f"clusters of {sizes}", clusters, p, of_table(mean("acc", "correct"), draw))


def few_differ() -> Iterator[Design]:
    """Simulate pairs of which each has one item right, such as "False" to every item, except for a few pairs."""
    for clusters, (more, fewer) in product(CLUSTERS, ((1, 0), (3, 0), (4, 0), (5, 0), (8, 0), (2, 1), (3, 2), (8, 4))):

        def draw(rng: Rng, clusters: int = clusters, more: int = more, fewer: int = fewer) -> Array:
            where = rng.random(clusters) * clusters
            right = np.where(where < more, 2.0, np.where(where < more + fewer, 0.0, 1.0))
            return np.stack([right, np.full(clusters, 2.0)], axis=1)

        label = f"pairs, {more} expected to have both right and {fewer} none"
        truth = 0.5 + 0.5 * (more - fewer) / clusters
        yield Design("share, few clusters differ", label, clusters, truth, of_table(mean("acc", "correct"), draw))


def credits() -> Iterator[Design]:
    """Simulate partial credit: 1 if right, else 0.5 with a probability of 0.3."""
    for clusters, sizes, p in product(CLUSTERS, SIZES, SHARES):

        def draw(rng: Rng, clusters: int = clusters, sizes: str = sizes, p: float = p) -> Array:
            cluster = clusters_of(rng, clusters, sizes)
            right = normal(rng, cluster) < ndtri(p)
            return sums(cluster, np.where(right, 1.0, 0.5 * (rng.random(len(cluster)) < 0.3)), 1.0)

        truth = p + 0.15 * (1 - p)
        yield Design("mean of partial credit", f"clusters of {sizes}", clusters, truth, of_table(mean("a", "b"), draw))


def ratios() -> Iterator[Design]:
    """Simulate a micro average: of 1 to 30 parts of an item, all or none are right."""
    for clusters, sizes, p in product(CLUSTERS, SIZES, (0.1, 0.5, 0.9)):

        def draw(rng: Rng, clusters: int = clusters, sizes: str = sizes, p: float = p) -> Array:
            cluster = clusters_of(rng, clusters, sizes)
            whole = rng.integers(1, 31, len(cluster))
            return sums(cluster, whole * (normal(rng, cluster) < ndtri(p)), whole)

        yield Design("ratio of sums", f"clusters of {sizes}", clusters, p, of_table(micro("r", "a", "b"), draw))


def counts() -> Iterator[Design]:
    """Simulate a mean count; clusters of several items have a gamma distribution of rates, with a deviation of 0.7."""
    metric = replace(mean("count", "count"), range=(0.0, math.inf))
    for clusters, sizes, rate in product(CLUSTERS, SIZES, (0.005, 0.02, 0.2, 2.0, 20.0)):

        def draw(rng: Rng, clusters: int = clusters, sizes: str = sizes, rate: float = rate) -> Array:
            cluster = clusters_of(rng, clusters, sizes)
            rates = np.full(clusters, rate) if sizes == "1" else rng.gamma(2, rate / 2, clusters)
            return sums(cluster, rng.poisson(rates[cluster]), 1.0)

        yield Design("count", f"clusters of {sizes}", clusters, rate, of_table(metric, draw))


def skewed() -> Iterator[Design]:
    """Simulate a mean count of which few clusters have most: all or none, or with a lognormal distribution of rates."""
    metric = replace(mean("count", "count"), range=(0.0, math.inf))
    for clusters, (events, share) in product(CLUSTERS, ((20, 0.1), (20, 0.05), (5, 0.2), (3, 0.1))):

        def draw(rng: Rng, clusters: int = clusters, events: int = events, share: float = share) -> Array:
            return np.stack([events * (rng.random(clusters) < share), np.ones(clusters)], axis=1)

        label = f"{events} events in {share} of the clusters, 0 in others"
        yield Design("count, skewed", label, clusters, events * share, of_table(metric, draw))
    for clusters, deviation in product(CLUSTERS, (0.5, 1.0, 1.5)):

        def draw_rates(rng: Rng, clusters: int = clusters, deviation: float = deviation) -> Array:
            rates = np.exp(deviation * rng.normal(size=clusters) - deviation**2 / 2)
            return np.stack([rng.poisson(2 * rates), np.ones(clusters)], axis=1)

        label = f"lognormal rates with a deviation of {deviation}"
        yield Design("count, skewed", label, clusters, 2.0, of_table(metric, draw_rates))


def biases() -> Iterator[Design]:
    """Simulate the share of a label among answers minus that among targets."""
    for clusters, sizes, (p, drift) in product(CLUSTERS, SIZES, ((0.5, 0.0), (0.5, 0.3), (0.1, 0.02), (0.5, 0.49))):

        def draw(rng: Rng, clusters: int = clusters, sizes: str = sizes, p: float = p, drift: float = drift) -> Array:
            cluster = clusters_of(rng, clusters, sizes)
            target = rng.random(len(cluster)) < p
            answer = normal(rng, cluster) < ndtri(p + drift)
            return sums(cluster, answer.astype(float) - target, 1.0)

        yield Design("position bias", f"clusters of {sizes}", clusters, drift, of_table(position_bias("A"), draw))


def confusion(
    rng: Rng, clusters: int, sizes: str, classes: Sequence[float], skill: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Draw cluster, target and answer of each item; wrong answers are spread evenly over the other labels."""
    cluster = clusters_of(rng, clusters, sizes)
    labels = len(classes)
    target = np.searchsorted(np.cumsum(classes)[:-1], rng.random(len(cluster)))
    wrong = (target + 1 + rng.integers(0, labels - 1, len(cluster))) % labels
    return cluster, target, np.where(normal(rng, cluster) < ndtri(skill), target, wrong)


def cells(classes: Sequence[float], skill: float) -> Array:
    """Return the shares of targets and answers in the population, shape (L, L)."""
    share = np.array(classes)
    wrong = (1 - skill) / (len(share) - 1)
    return np.asarray(share[:, None] * np.where(np.eye(len(share)) > 0, skill, wrong))


def label_sums(cluster: Numbers, target: Numbers, answer: Numbers, labels: int) -> Array:
    """Return the sums of `label_metric` for each label in turn, shape (C, 4 L)."""
    columns: list[npt.ArrayLike] = []
    for label in range(labels):
        columns += [(target == label) & (answer == label), answer == label, target == label, 1.0]
    return sums(cluster, *columns)


def of_classes(shape: str) -> Iterator[Design]:
    """Simulate F1 of one class, its precision, or macro F1."""
    mixes = ((0.5, 0.5), (0.1, 0.9), (0.03, 0.97), (0.3, 0.3, 0.4), (0.03, 0.4, 0.57))
    for clusters, sizes, classes, skill in product(CLUSTERS, ("1", "1 to 20"), mixes, (0.6, 0.95)):
        names = [str(i) for i in range(len(classes))]
        metric = {
            "F1 of a class": label_metric("f1", "0", "f1"),
            "precision of a class": label_metric("precision", "0", "p"),
            "recall of a class": label_metric("recall", "0", "r"),
            "macro F1": macro_metric("f1", names, "f1", unparsed_is_label=False),
        }[shape]
        width = 4 * len(classes) if shape == "macro F1" else 4

        def draw(
            rng: Rng, clusters: int = clusters, sizes: str = sizes, classes: Sequence[float] = classes,
            skill: float = skill, width: int = width,
        ) -> Array:  # fmt: skip
            cluster, target, answer = confusion(rng, clusters, sizes, classes, skill)
            return label_sums(cluster, target, answer, len(classes))[:, :width]

        table = cells(classes, skill)
        every = [(table[i, i], table[:, i].sum(), table[i].sum(), 1.0) for i in range(len(classes))]
        # shares of a large population, since a metric divides by at least one item
        truth = float(metric.value(1e9 * np.array(every).ravel()[:width]))
        label = f"clusters of {sizes}, classes {classes}, {skill} right"
        run = of_table(metric, draw)
        if shape == "macro F1":

            def run(rng: Rng, metric: Metric = metric, draw: Callable[[Rng], Array] = draw) -> Run:
                table = draw(rng)
                # a sample without any item of a class has the average over the others, which is another figure
                return both_rules(metric, table.sum(axis=0), table) if table[:, 2::4].any(axis=0).all() else NOTHING

        yield Design(shape, label, clusters, truth, run)


def kappas() -> Iterator[Design]:
    """Simulate Cohen's kappa of two raters."""
    for clusters, classes, skill in product(CLUSTERS[:2], ((0.5, 0.5), (0.1, 0.9), (0.3, 0.3, 0.4)), (0.6, 0.9, 0.98)):
        table = cells(classes, skill)
        agreed, by_chance = float(np.trace(table)), float(table.sum(axis=0) @ table.sum(axis=1))
        truth = (agreed - by_chance) / (1 - by_chance)

        def run(rng: Rng, clusters: int = clusters, classes: Sequence[float] = classes, skill: float = skill) -> Run:
            cluster, one, other = confusion(rng, clusters, "1 to 20", classes, skill)
            table = np.zeros((clusters, len(classes), len(classes)))
            np.add.at(table, (cluster, one, other), 1)

            def value(table: Array) -> Array:
                n = table.sum(axis=(-2, -1))
                expected = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / n**2
                with np.errstate(divide="ignore", invalid="ignore"):
                    agreed = np.trace(table, axis1=-2, axis2=-1) / n
                    return np.asarray(np.where(expected < 1 - 1e-12, (agreed - expected) / (1 - expected), np.nan))

            total = table.sum(axis=0)
            without = value(total - table)
            old = None if np.isnan(without).any() else wilson_before(float(value(total)), without, (-1.0, 1.0))
            raters = [[str(label) for label in rater.tolist()] for rater in (one, other)]
            found = cohen_kappa(raters[0], raters[1], [str(number) for number in cluster.tolist()])
            after = (found.low, found.high) if found and found.low is not None and found.high is not None else None
            return Run(old, after)

        yield Design("Cohen's kappa", f"clusters of 1 to 20, classes {classes}, {skill} right", clusters, truth, run)


def probabilities(rng: Rng, clusters: int, sizes: str, share: float, distance: float) -> Probabilities:
    """Draw items with a probability of the label, `distance` deviations apart between the classes."""
    cluster = clusters_of(rng, clusters, sizes)
    has = rng.random(len(cluster)) < share
    return Probabilities(cluster, has, ndtr(distance * (has - 0.5) + normal(rng, cluster)))


def rankings(shape: str) -> Iterator[Design]:
    """Simulate the area under the ROC curve or the average precision."""
    metric = roc_auc("Yes")[0] if shape == "ROC-AUC" else auprc("Yes")

    def sums_of(items: Probabilities, clusters: int) -> tuple[Array, Array]:
        if shape == "ROC-AUC":
            return pair_sums(items, clusters)
        whole, without = average_precision(items, clusters)
        classes = [np.bincount(items.cluster[one], minlength=clusters) for one in (items.has, ~items.has)]
        return np.array([whole, 0.0, 0.0]), np.stack([whole - without, *classes], axis=1)

    def run(rng: Rng, clusters: int, sizes: str, share: float, distance: float) -> Run:
        items = probabilities(rng, clusters, sizes, share, distance)
        if items.has.all() or not items.has.any():
            return NOTHING
        before = None
        if shape != "ROC-AUC" and clusters > 200:
            # the previous rule left out at most 200 groups of clusters
            before = average_precision(items._replace(cluster=items.cluster % 200), 200)[1]
        return both_rules(metric, *sums_of(items, clusters), before)

    for sizes, share, distance in product(("1", "1 to 20"), (0.5, 0.05, 0.01), (1.0, 2.0, 4.0)):
        rng = np.random.default_rng(1)
        populations = [probabilities(rng, 20_000, sizes, share, distance) for _ in range(10)]
        whole = [items._replace(cluster=np.zeros_like(items.cluster)) for items in populations]
        truth = float(np.mean([metric.value(sums_of(items, 1)[0]) for items in whole]))
        for clusters in CLUSTERS:
            label = f"clusters of {sizes}, {share} with the label, {distance} deviations apart"
            design = partial(run, clusters=clusters, sizes=sizes, share=share, distance=distance)
            yield Design(shape, label, clusters, truth, design)


def calibrations() -> Iterator[Design]:
    """Simulate the calibration error of calibrated probabilities, whose true value is 0."""
    metric = ece("Yes")
    for clusters, (a, b) in product(CLUSTERS, ((1.0, 1.0), (0.2, 1.0))):

        def draw(rng: Rng, clusters: int = clusters, a: float = a, b: float = b) -> Array:
            p = rng.beta(a, b, clusters)
            has = rng.random(clusters) < p
            bins = np.minimum((p * 10).astype(int), 9)
            table = np.zeros((4, clusters, 10))
            table[:, np.arange(clusters), bins] = np.ones(clusters), p, p * p, p - has
            return np.column_stack([*table, np.ones(clusters)])

        yield Design("ece", f"calibrated, beta({a}, {b})", clusters, 0.0, of_table(metric, draw))


def tuned() -> Iterator[Design]:
    """Simulate accuracy and F1 at a tuned threshold, on 200 documents with an item of each class."""
    for metric in tuned_metrics("Yes")[1::3]:

        def scores(rng: Rng, clusters: int) -> list[list[Score]]:
            run = []
            for target, sign in (("Yes", 1), ("No", -1)):
                p = ndtr(sign * (0.8 + 0.7 * rng.normal(size=clusters)) + 0.7 * rng.normal(size=clusters))
                run += [
                    Score(f"{i}", str(i), None, target, {"probability": x}, {"part": "train" if i % 3 else "test"})
                    for i, x in enumerate(p.tolist())
                ]
            return by_cluster(run)

        def run(rng: Rng, metric: Metric = metric) -> Run:
            return both_rules(metric, *metric.sums(scores(rng, 200)))

        population = estimate(replace(metric, has_error=False), scores(np.random.default_rng(1), 60_000))
        assert population
        yield Design("at a tuned threshold", metric.name, 200, population.value, run)


def means() -> Iterator[Design]:
    """Simulate the mean of shares over member tasks, which share their clusters or do not."""
    mixes = ((0.5, 0.7, 0.9), (0.95, 0.5, 0.5), (0.98, 0.98, 0.98), (0.05, 0.9, 0.5))
    for members, mix, shared in product(((5, 1_000), (20, 1_000, 1_000), (50, 200), (200,) * 3), mixes, (False, True)):
        p = np.array(mix[: len(members)])

        def run(rng: Rng, members: tuple[int, ...] = members, p: Array = p, shared: bool = shared) -> Run:
            begins = np.zeros(len(members), int) if shared else np.append(0, np.cumsum(members)[:-1])
            clusters = int(max(begins + members))
            common = rng.normal(size=clusters)
            values, ends, errors = [], [], np.zeros((len(members), clusters))
            whole = np.zeros((clusters, len(members)))
            for i, (begin, size) in enumerate(zip(begins, members, strict=True)):
                mine = slice(begin, begin + size)
                right = math.sqrt(0.6) * common[mine] + math.sqrt(0.4) * rng.normal(size=size) < ndtri(p[i])
                without = (right.sum() - right) / (size - 1)
                errors[i, mine] = deviations(without)
                whole[:, i] = right.mean()
                whole[mine, i] = without
                values.append(float(right.mean()))
                ends.append(score_interval(values[-1], Moments.of(errors[i, mine])))
            covariance = errors @ errors.T
            root = np.sqrt(np.diag(covariance))
            correlation = covariance / np.outer(*[np.where(root > 0, root, 1.0)] * 2)
            np.fill_diagonal(correlation, 1.0)
            after = mean_interval(np.array(ends).T, np.array(values), correlation)
            return Run(wilson_before(float(np.mean(values)), whole.mean(axis=1)), after)

        label = f"members of {members}, true values {tuple(p.tolist())}{', same clusters' if shared else ''}"
        yield Design("mean over tasks", label, max(members), float(p.mean()), run)


def differences(bootstrap: bool) -> Iterator[Design]:
    """Simulate the paired difference of two runs: all items flip by chance, or few do."""
    metric = mean("acc", "correct")
    flips = ((1, 0), (3, 0), (4, 0), (5, 0), (8, 0), (2, 1), (3, 2), (8, 4), (0.1, 0.05), (0.3, 0.3))
    sizes = ("1",) if bootstrap else ("1", "1 to 20")
    for clusters, kind, (more, fewer) in product(CLUSTERS[:2] if bootstrap else CLUSTERS, sizes, flips):

        def run(rng: Rng, clusters: int = clusters, kind: str = kind, more: float = more, fewer: float = fewer) -> Run:
            cluster = clusters_of(rng, clusters, kind)
            scale = 1 if more < 1 else len(cluster)
            where = ndtr(normal(rng, cluster)) * scale
            one, other = (
                sums(cluster, where >= fewer, 1.0),
                sums(cluster, (where < fewer) | (where >= fewer + more), 1.0),
            )
            found = left_out(metric, (one.sum(axis=0), one), (other.sum(axis=0), other))
            assert found
            old, new = difference_before(found), found.interval
            if bootstrap and found.stderr and old and new:
                drawn = _drawn(np.hstack([one, other]), 1_000, int(rng.integers(2**31)))
                gaps = metric.value(drawn[:, :2]) - metric.value(drawn[:, 2:])
                if tails := _percentiles(gaps, found.clusters, rounding(metric), 0.0):
                    old, new = ((min(x, tails.low), max(y, tails.high)) for x, y in (old, new))
            return Run(old, new)

        items = clusters if kind == "1" else 4 * clusters  # on average
        truth = (more - fewer) / (1 if more < 1 else items)
        label = f"clusters of {kind}, {more} more and {fewer} fewer right"
        if kind != "1" and more >= 1:
            continue  # the true share depends on the number of items drawn
        yield Design(f"difference{', bootstrap' if bootstrap else ''}", label, clusters, truth, run)


SHAPES: dict[str, Callable[[], Iterator[Design]]] = {
    "share": shares,
    "few": few_differ,
    "credit": credits,
    "ratio": ratios,
    "count": counts,
    "skewed": skewed,
    "bias": biases,
    "precision": partial(of_classes, "precision of a class"),
    "recall": partial(of_classes, "recall of a class"),
    "f1": partial(of_classes, "F1 of a class"),
    "macro": partial(of_classes, "macro F1"),
    "kappa": kappas,
    "auc": partial(rankings, "ROC-AUC"),
    "auprc": partial(rankings, "average precision"),
    "ece": calibrations,
    "tuned": tuned,
    "means": means,
    "difference": partial(differences, False),
    "bootstrap": partial(differences, True),
}


# --- results ----------------------------------------------------------------------------------------


class Result(NamedTuple):
    """What was measured of a design: the coverage by both rules, the withheld share, and the ratio of the widths."""

    design: Design
    runs: int
    before: float
    after: float
    withheld: float
    width: float


def measured(design: Design, runs: int, seed: int) -> Result:
    """Simulate a design."""
    rng = np.random.default_rng(seed)
    hits: dict[str, list[bool]] = {"before": [], "after": []}
    widths: list[tuple[float, float]] = []
    for _ in range(runs):
        run = design.run(rng)
        for rule, ends in run._asdict().items():
            if ends:
                hits[rule].append(ends[0] - 1e-12 <= design.truth <= ends[1] + 1e-12)
        if run.before and run.after:
            widths.append((run.before[1] - run.before[0], run.after[1] - run.after[0]))
    before, after = (float(np.mean(found)) if found else math.nan for found in hits.values())
    narrow, wide = np.sum(widths, axis=0) if widths else (math.nan, math.nan)
    return Result(
        design, runs, before, after, 1 - len(hits["after"]) / runs, float(wide / narrow) if narrow else math.nan
    )


def print_result(result: Result) -> None:
    """Print the line of a design."""
    design = result.design
    print(
        f"{design.shape:26} {design.clusters:5}  {design.truth:7.4f}  {result.before:.3f}  {result.after:.3f}"
        f"  {result.withheld:5.2f}  {result.width:5.2f}  {design.label}",
        flush=True,
    )


def print_summary(results: Sequence[Result]) -> None:
    """Print a table with the range of the coverage over the designs of each shape."""
    print("\n| shape | designs | before: lowest | median | after: lowest | median | highest | within 0.93 to 0.975 |")
    print("|---|---|---|---|---|---|---|---|")
    for shape in dict.fromkeys(result.design.shape for result in results):
        of_shape = [result for result in results if result.design.shape == shape]
        shown = [result for result in of_shape if (1 - result.withheld) * result.runs >= FEWEST_RUNS]
        if not shown:
            lowest = min(result.before for result in of_shape)
            print(f"| {shape} | {len(of_shape)} | {lowest:.3f} | | no interval | | | |")
            continue
        before = [result.before for result in shown if not math.isnan(result.before)]
        after = [result.after for result in shown]
        inside = np.mean([0.93 <= coverage <= 0.975 for coverage in after])
        print(
            f"| {shape} | {len(shown)} | {min(before):.3f} | {np.median(before):.3f} | {min(after):.3f}"
            f" | {np.median(after):.3f} | {max(after):.3f} | {inside:.0%} |"
        )


def main() -> None:
    """Simulate the designs and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated runs of each design (default: 2000)")
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=list(SHAPES), help="the shapes to simulate")
    arguments = parser.parse_args()
    begin = time.monotonic()
    print("shape                  clusters    truth  before  after  withheld  width")
    results = []
    for shape in arguments.only:
        for seed, design in enumerate(SHAPES[shape]()):
            results.append(measured(design, arguments.runs, seed))
            print_result(results[-1])
    print_summary(results)
    print(f"\n{arguments.runs} runs of each design in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
