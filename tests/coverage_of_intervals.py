"""Measure how often 95% intervals contain the true value: `python tests/coverage_of_intervals.py`, about half an hour.

Every shape of metric is simulated over designs: 50, 200 or 1,000 clusters of 1, 2, or 1 to 20 items (four on average),
with the true value near 0, in the middle and near 1, and with rare and common classes. In clusters of several items,
answers correlate (0.3 on the scale of a normal distribution).

Each design is a line with the true value, the coverage, the share of runs in which the interval is withheld, and the
mean width. The summary has the range over the designs of each shape.

    python tests/coverage_of_intervals.py --runs 300 --only share count
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from halu_tasks.scorers.attempts import LabelAttempts
from halu_tasks.scorers.benchmarks.labels import position_bias
from halu_tasks.scorers.classification import Figure, balanced_acc, label_metric, macro_metric
from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import Estimate, Metric, estimate, jackknife, mean, mean_of, micro
from halu_tasks.scorers.statistics.agreement import cohen_kappa, krippendorff_alpha
from halu_tasks.scorers.statistics.calibration import auprc, roc_auc, tuned_metrics
from halu_tasks.scorers.statistics.confidence import confidence_metrics
from halu_tasks.scorers.statistics.differences import Difference, difference_of

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Ends = tuple[float, float]
Rng = np.random.Generator
Drawn = tuple[Numbers, Mapping[str, npt.NDArray[Any]]]
"""The cluster of each item, and the columns."""

CLUSTERS = (50, 200, 1_000)
SIZES = ("1", "2", "1 to 20")
SHARES = (0.01, 0.1, 0.5, 0.9, 0.99)
CORRELATION = 0.3
FEWEST_RUNS = 100
"""A design in which fewer runs than this have an interval is printed, but left out of the summary."""
COUNT = mean("count", "value", range=(0.0, math.inf))
SHARE = mean("share", "value")


class Design(NamedTuple):
    """What is simulated: the shape of metric, the rest of the design, the true value, and one run."""

    shape: str
    label: str
    clusters: int
    truth: float
    run: Callable[[Rng], Ends | None]


def columns_of(drawn: Drawn, clusters: int) -> Columns:
    """Return the columns of drawn items; any other measurement is missing."""
    cluster, known = drawn
    return Columns(lambda name: known.get(name, np.full(len(cluster), np.nan)), cluster, clusters)


def ends_of(found: Estimate | Difference | None) -> Ends | None:
    """Return the ends of an interval; None if there is none."""
    return (found.low, found.high) if found and found.low is not None and found.high is not None else None


def of_items(metric: Metric, draw: Callable[[Rng, int], Drawn], clusters: int) -> Callable[[Rng], Ends | None]:
    """Make the function that simulates one run of a metric of items."""

    def run(rng: Rng) -> Ends | None:
        return ends_of(estimate(metric, columns_of(draw(rng, clusters), clusters)))

    return run


def clusters_of(rng: Rng, clusters: int, sizes: str) -> Numbers:
    """Draw the number of each item's cluster."""
    number = np.minimum(rng.geometric(0.25, clusters), 20) if sizes == "1 to 20" else np.full(clusters, int(sizes))
    return np.repeat(np.arange(clusters), number)


def normal(rng: Rng, cluster: Numbers) -> Array:
    """Draw a standard normal number for each item, correlated within clusters."""
    shared = rng.normal(size=int(cluster[-1]) + 1)[cluster]
    return np.asarray(math.sqrt(CORRELATION) * shared + math.sqrt(1 - CORRELATION) * rng.normal(size=len(cluster)))


# --- means and ratios -------------------------------------------------------------------------------------


def shares(partial_credit: bool) -> Iterator[Design]:
    """Simulate the share of right answers, some of which have half the credit."""
    for clusters, sizes, p in product(CLUSTERS, SIZES, SHARES):

        def draw(rng: Rng, clusters: int, sizes: str = sizes, p: float = p) -> Drawn:
            cluster = clusters_of(rng, clusters, sizes)
            right = normal(rng, cluster) < ndtri(p)
            half = 0.5 * (rng.random(len(cluster)) < 0.3) if partial_credit else 0.0
            return cluster, {"value": np.where(right, 1.0, half)}

        shape, truth = ("mean of partial credit", p + 0.15 * (1 - p)) if partial_credit else ("share", p)
        yield Design(shape, f"clusters of {sizes}", clusters, truth, of_items(SHARE, draw, clusters))


def few_differ() -> Iterator[Design]:
    """Simulate pairs of which each has one item right, such as "False" to every item, except for a few pairs."""
    for clusters, (more, fewer) in product(CLUSTERS, ((1, 0), (3, 0), (4, 0), (5, 0), (8, 0), (2, 1), (3, 2), (8, 4))):

        def draw(rng: Rng, clusters: int, more: int = more, fewer: int = fewer) -> Drawn:
            where = rng.random(clusters) * clusters
            right = np.where(where < more, 2.0, np.where(where < more + fewer, 0.0, 1.0))
            return np.repeat(np.arange(clusters), 2), {"value": np.stack([right > 0, right > 1], axis=1).ravel() * 1.0}

        label = f"pairs, {more} expected to have both right and {fewer} none"
        truth = 0.5 + 0.5 * (more - fewer) / clusters
        yield Design("share, few clusters differ", label, clusters, truth, of_items(SHARE, draw, clusters))


def ratios() -> Iterator[Design]:
    """Simulate a micro average: of 1 to 30 parts of an item, all or none are right."""
    for clusters, sizes, p in product(CLUSTERS, SIZES, (0.1, 0.5, 0.9)):

        def draw(rng: Rng, clusters: int, sizes: str = sizes, p: float = p) -> Drawn:
            cluster = clusters_of(rng, clusters, sizes)
            whole = rng.integers(1, 31, len(cluster)) * 1.0
            return cluster, {"part": whole * (normal(rng, cluster) < ndtri(p)), "whole": whole}

        run = of_items(micro("ratio", "part", "whole"), draw, clusters)
        yield Design("ratio of sums", f"clusters of {sizes}", clusters, p, run)


def counts() -> Iterator[Design]:
    """Simulate a mean count; clusters of several items have a gamma distribution of rates, with a deviation of 0.7."""
    for clusters, sizes, rate in product(CLUSTERS, SIZES, (0.005, 0.02, 0.2, 2.0, 20.0)):

        def draw(rng: Rng, clusters: int, sizes: str = sizes, rate: float = rate) -> Drawn:
            cluster = clusters_of(rng, clusters, sizes)
            rates = np.full(clusters, rate) if sizes == "1" else rng.gamma(2, rate / 2, clusters)
            return cluster, {"value": rng.poisson(rates[cluster]) * 1.0}

        yield Design("count", f"clusters of {sizes}", clusters, rate, of_items(COUNT, draw, clusters))


def skewed() -> Iterator[Design]:
    """Simulate a mean count of which few clusters have most: all or none, or with a lognormal distribution of rates."""
    for clusters, (events, share) in product(CLUSTERS, ((20, 0.1), (20, 0.05), (5, 0.2), (3, 0.1))):

        def draw(rng: Rng, clusters: int, events: int = events, share: float = share) -> Drawn:
            return np.arange(clusters), {"value": events * (rng.random(clusters) < share) * 1.0}

        label = f"{events} events in {share} of the clusters, 0 in others"
        yield Design("count, skewed", label, clusters, events * share, of_items(COUNT, draw, clusters))
    for clusters, deviation in product(CLUSTERS, (0.5, 1.0, 1.5)):

        def draw_rates(rng: Rng, clusters: int, deviation: float = deviation) -> Drawn:
            rates = np.exp(deviation * rng.normal(size=clusters) - deviation**2 / 2)
            return np.arange(clusters), {"value": rng.poisson(2 * rates) * 1.0}

        label = f"lognormal rates with a deviation of {deviation}"
        yield Design("count, skewed", label, clusters, 2.0, of_items(COUNT, draw_rates, clusters))


# --- labels -------------------------------------------------------------------------------------------------


def biases() -> Iterator[Design]:
    """Simulate the share of a label among answers minus that among targets."""
    for clusters, sizes, (p, drift) in product(CLUSTERS, SIZES, ((0.5, 0.0), (0.5, 0.3), (0.1, 0.02), (0.5, 0.49))):

        def draw(rng: Rng, clusters: int, sizes: str = sizes, p: float = p, drift: float = drift) -> Drawn:
            cluster = clusters_of(rng, clusters, sizes)
            target, answer = rng.random(len(cluster)) < p, normal(rng, cluster) < ndtri(p + drift)
            return cluster, {"target": np.where(target, "A", "B"), "answer": np.where(answer, "A", "B")}

        run = of_items(position_bias("A"), draw, clusters)
        yield Design("position bias", f"clusters of {sizes}", clusters, drift, run)


def confusion(rng: Rng, clusters: int, sizes: str, classes: Sequence[float], skill: float) -> Drawn:
    """Draw cluster, target and answer of each item; wrong answers are spread evenly over the other labels."""
    cluster = clusters_of(rng, clusters, sizes)
    labels = len(classes)
    target = np.searchsorted(np.cumsum(classes)[:-1], rng.random(len(cluster)))
    wrong = (target + 1 + rng.integers(0, labels - 1, len(cluster))) % labels
    answer = np.where(normal(rng, cluster) < ndtri(skill), target, wrong)
    names = np.array([str(label) for label in range(labels)])
    return cluster, {"target": names[target], "answer": names[answer]}


def true_figure(figure: Figure, classes: Sequence[float], skill: float) -> Array:
    """Return the figure of each class in the population."""
    share = np.array(classes)
    cells = share[:, None] * np.where(np.eye(len(share)) > 0, skill, (1 - skill) / (len(share) - 1))
    hits, actual, predicted = np.diag(cells), cells.sum(axis=1), cells.sum(axis=0)
    return np.asarray(
        {"precision": hits / predicted, "recall": hits / actual, "f1": 2 * hits / (actual + predicted)}[figure]
    )


def of_classes(figure: Figure, macro: bool = False) -> Iterator[Design]:
    """Simulate precision, recall or F1 of the last class, which is rare or common, or their mean over classes."""
    mixes = ((0.5, 0.5), (0.95, 0.05), (0.99, 0.01), (0.6, 0.3, 0.1))
    for clusters, sizes, classes, skill in product(CLUSTERS, ("1", "1 to 20"), mixes, (0.6, 0.9)):
        names = [str(label) for label in range(len(classes))]
        of_class = true_figure(figure, classes, skill)
        metric, truth = label_metric(figure, names[-1], "m"), of_class[-1]
        if macro:
            metric, truth = macro_metric(figure, names, "m", unparsed_is_label=False), of_class.mean()

        def draw(rng: Rng, clusters: int, sizes: str = sizes, classes: Any = classes, skill: float = skill) -> Drawn:
            return confusion(rng, clusters, sizes, classes, skill)

        shape = f"macro {figure}" if macro else f"{figure} of a class"
        label = f"clusters of {sizes}, classes {classes}, {skill} right"
        yield Design(shape, label, clusters, float(truth), of_items(metric, draw, clusters))


def kappas() -> Iterator[Design]:
    """Simulate Cohen's kappa of two raters."""
    for clusters, classes, skill in product(CLUSTERS, ((0.5, 0.5), (0.9, 0.1), (0.6, 0.3, 0.1)), (0.7, 0.9)):
        share = np.array(classes)
        answered = share * skill + (1 - share) * (1 - skill) / (len(share) - 1)
        expected = float(share @ answered)
        truth = (skill - expected) / (1 - expected)

        def run(rng: Rng, clusters: int = clusters, classes: Any = classes, skill: float = skill) -> Ends | None:
            cluster, columns = confusion(rng, clusters, "1 to 20", classes, skill)
            one, other = (columns[name].tolist() for name in ("target", "answer"))
            return ends_of(cohen_kappa(one, other, [str(number) for number in cluster.tolist()]))

        yield Design("Cohen's kappa", f"clusters of 1 to 20, classes {classes}, {skill} right", clusters, truth, run)


def rare_averages() -> Iterator[Design]:
    """Simulate averages over two classes, of which one is rare and nearly all right, all wrong or between."""
    classes = ["rare", "common"]
    averages = {
        "balanced accuracy": balanced_acc(lambda target: [target == each for each in classes], lambda correct: correct),
        "macro F1": macro_metric("f1", classes, "m", unparsed_is_label=True),
    }
    mixes = product(averages, CLUSTERS[1:], (0.03, 0.05), (0.99, 0.9, 0.5, 0.1, 0.01), (0.8,))
    for name, clusters, share, rare, common in mixes:

        def draw(rng: Rng, clusters: int, share: float = share, rare: float = rare, common: float = common) -> Drawn:
            has = rng.random(clusters) < share
            right = rng.random(clusters) < np.where(has, rare, common)
            target, answer = (np.where(each, "rare", "common").astype(object) for each in (has, has == right))
            return np.arange(clusters), {"target": target, "answer": answer, "correct": right * 1.0}

        called = share * rare + (1 - share) * (1 - common)  # the share of answers that are the rare class
        f1 = share * rare / (share + called) + (1 - share) * common / (2 - share - called)
        truth = f1 if name == "macro F1" else (rare + common) / 2
        label = f"{name}, {share} of the rare class, {rare} of it right, {common} of the others"
        run = of_items(averages[name], draw, clusters)
        yield Design("average, rare class", label, clusters, truth, run)


def rare_agreement() -> Iterator[Design]:
    """Simulate Cohen's kappa and Krippendorff's alpha of two raters, who give a rare label seldom otherwise."""
    measures = {"kappa": cohen_kappa, "alpha": lambda one, other: krippendorff_alpha([one, other])}
    for name, clusters, share, (finds, errs) in product(
        measures, CLUSTERS[1:], (0.03, 0.05), ((0.95, 0.0), (0.7, 0.01), (0.4, 0.02), (0.05, 0.03))
    ):
        given = share * finds + (1 - share) * errs
        both = share * finds**2 + (1 - share) * errs**2
        different = 2 * (given - both)
        truth = 1 - different / (2 * given * (1 - given))

        def run(
            rng: Rng,
            clusters: int = clusters,
            share: float = share,
            says: tuple[float, float] = (finds, errs),
            measure: Callable[..., Estimate | None] = measures[name],
        ) -> Ends | None:
            chance = np.where(rng.random(clusters) < share, *says)
            return ends_of(measure(*(np.where(rng.random(clusters) < chance, "yes", "no").tolist() for _ in "12")))

        label = f"{name}, {share} with the label, of which a rater finds {finds}, and {errs} of the others"
        yield Design("kappa and alpha, rare label", label, clusters, truth, run)


# --- probabilities ------------------------------------------------------------------------------------------


def rankings(metric: Metric) -> Iterator[Design]:
    """Simulate the area under the ROC curve or the average precision of probabilities, by how far classes are apart."""
    for sizes, share, distance in product(("1", "1 to 20"), (0.5, 0.05), (1.0, 4.0)):

        def draw(
            rng: Rng, clusters: int, sizes: str = sizes, share: float = share, distance: float = distance
        ) -> Drawn:
            cluster = clusters_of(rng, clusters, sizes)
            has = rng.random(len(cluster)) < share
            probability = ndtr(distance * (has - 0.5) + normal(rng, cluster))
            return cluster, {"probability": probability, "target": np.where(has, "Yes", "No")}

        population = columns_of(draw(np.random.default_rng(1), 100_000), 100_000)
        truth = metric.sums_of_items(population)
        assert isinstance(truth, float)
        for clusters in CLUSTERS[:2]:
            label = f"clusters of {sizes}, {share} with the label, {distance} deviations apart"
            yield Design(metric.name, label, clusters, truth, of_items(metric, draw, clusters))


def risks(name: str) -> Iterator[Design]:
    """Simulate the area under the risk-coverage curve, or the coverage at a risk with an interval, which it lacks.

    Confidences are continuous, or five degrees of which the highest is that of half the answers, which tie. They know
    nothing, something or much of what is right. In clusters of several items, a fifth of them has no answer.
    """
    (found,) = (each for each in confidence_metrics(LabelAttempts()) if each.name == name)
    metric = replace(found, has_interval=True)
    for sizes, right, knows, coarse in product(("1", "1 to 20"), (0.5, 0.8, 0.95), (0.0, 1.0, 2.5), (False, True)):
        every = np.random.default_rng(1)
        cuts = np.quantile(knows * (every.random(100_000) < right) + every.normal(size=100_000), (0.05, 0.1, 0.25, 0.5))

        def draw(
            rng: Rng,
            clusters: int,
            sizes: str = sizes,
            right: float = right,
            knows: float = knows,
            cuts: Array | None = cuts if coarse else None,
        ) -> Drawn:
            cluster = clusters_of(rng, clusters, sizes)
            correct = normal(rng, cluster) < ndtri(right)
            sure = knows * correct + normal(rng, cluster)
            sure = sure if cuts is None else np.searchsorted(cuts, sure) * 1.0
            outcome = np.where(rng.random(len(cluster)) < 0.2 * (sizes != "1"), "unparsed", "answered").astype(object)
            allowed = np.full(len(cluster), 0.2)
            return cluster, {"correct": correct * 1.0, "confidence": sure, "outcome": outcome, "risk": allowed}

        truth = metric.sums_of_items(columns_of(draw(np.random.default_rng(2), 100_000), 100_000))
        assert isinstance(truth, float)
        for clusters in CLUSTERS[:2]:
            ties = "five degrees" if coarse else "continuous"
            label = f"clusters of {sizes}, {right} right, {ties}, {knows} deviations apart"
            yield Design(name, label, clusters, truth, of_items(metric, draw, clusters))


def tuned() -> Iterator[Design]:
    """Simulate accuracy and F1 at a tuned threshold, on 200 documents with an item of each class."""

    def draw(rng: Rng, clusters: int) -> Drawn:
        cluster, sign = np.tile(np.arange(clusters), 2), np.repeat([1, -1], clusters)
        deviation = 0.7 * rng.normal(size=clusters)[cluster] + 0.7 * rng.normal(size=2 * clusters)
        part = np.where(cluster % 3 > 0, "train", "test")
        target = np.where(sign > 0, "Yes", "No")
        return cluster, {"probability": ndtr(sign * 0.8 + deviation), "target": target, "tag_part": part}

    for metric in tuned_metrics("Yes")[1::3]:
        truth = jackknife(metric, columns_of(draw(np.random.default_rng(1), 60_000), 60_000)).value
        yield Design("at a tuned threshold", metric.name, 200, truth, of_items(metric, draw, 200))


# --- several tasks and runs -----------------------------------------------------------------------------------


def means() -> Iterator[Design]:
    """Simulate the mean of shares over member tasks, which share their clusters or do not."""
    mixes = ((0.5, 0.7, 0.9), (0.95, 0.5, 0.5), (0.98, 0.98, 0.98), (0.05, 0.9, 0.5))
    for members, mix, shared in product(((5, 1_000), (20, 1_000, 1_000), (50, 200), (200,) * 3), mixes, (False, True)):
        names = [str(number) for number in range(len(members))]
        metric = mean_of("mean", dict.fromkeys(names, SHARE), "task")

        def draw(
            rng: Rng, clusters: int, members: tuple[int, ...] = members, mix: Any = mix, shared: bool = shared
        ) -> Drawn:
            begins = np.zeros(len(members), int) if shared else np.append(0, np.cumsum(members)[:-1])
            cluster = np.concatenate([begin + np.arange(size) for begin, size in zip(begins, members, strict=True)])
            share = np.repeat(mix[: len(members)], members)
            right = math.sqrt(0.6) * rng.normal(size=clusters)[cluster] + math.sqrt(0.4) * rng.normal(size=len(cluster))
            task = np.repeat([str(number) for number in range(len(members))], members)
            return cluster, {"value": (right < ndtri(share)) * 1.0, "tag_task": task}

        clusters = max(members) if shared else sum(members)
        truth = float(np.mean(mix[: len(members)]))
        label = f"members of {members}, true values {mix[: len(members)]}{', same clusters' if shared else ''}"
        yield Design("mean over tasks", label, clusters, truth, of_items(metric, draw, clusters))


def differences() -> Iterator[Design]:
    """Simulate the paired difference of two runs: all items flip by chance, or few do."""
    flips = ((1, 0), (3, 0), (4, 0), (5, 0), (8, 0), (2, 1), (3, 2), (8, 4), (0.1, 0.05), (0.3, 0.3))
    for clusters, sizes, (more, fewer) in product(CLUSTERS, ("1", "1 to 20"), flips):

        def run(
            rng: Rng, clusters: int = clusters, sizes: str = sizes, more: float = more, fewer: float = fewer
        ) -> Ends | None:
            cluster = clusters_of(rng, clusters, sizes)
            where = ndtr(normal(rng, cluster)) * (1 if more < 1 else len(cluster))
            rights = where >= fewer, (where < fewer) | (where >= fewer + more)
            one, other = (jackknife(SHARE, columns_of((cluster, {"value": right * 1.0}), clusters)) for right in rights)
            return ends_of(difference_of(SHARE, one, other, len(cluster)))

        if sizes != "1" and more >= 1:
            continue  # the true share depends on the number of items drawn
        label = f"clusters of {sizes}, {more} more and {fewer} fewer right"
        yield Design("difference", label, clusters, (more - fewer) / (1 if more < 1 else clusters), run)


SHAPES: dict[str, Callable[[], Iterator[Design]]] = {
    "share": partial(shares, False),
    "few": few_differ,
    "credit": partial(shares, True),
    "ratio": ratios,
    "count": counts,
    "skewed": skewed,
    "bias": biases,
    "precision": partial(of_classes, "precision"),
    "recall": partial(of_classes, "recall"),
    "f1": partial(of_classes, "f1"),
    "macro": partial(of_classes, "f1", macro=True),
    "kappa": kappas,
    "rare": rare_averages,
    "rare-agreement": rare_agreement,
    "auc": partial(rankings, roc_auc("Yes")),
    "auprc": partial(rankings, auprc("Yes")),
    "aurc": partial(risks, "aurc"),
    "coverage_at_risk": partial(risks, "coverage_at_risk"),
    "tuned": tuned,
    "means": means,
    "difference": differences,
}


WITH_INTERVAL = [name for name in SHAPES if name != "coverage_at_risk"]


# --- results ----------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """What was measured of a design: the coverage, the share of runs without an interval, and the mean width."""

    design: Design
    runs: int
    coverage: float
    withheld: float
    width: float


def measured(design: Design, runs: int, seed: int) -> Result:
    """Simulate a design."""
    rng = np.random.default_rng(seed)
    ends = np.array([found for _ in range(runs) if (found := design.run(rng))]).reshape(-1, 2)
    if not len(ends):
        return Result(design, runs, math.nan, 1.0, math.nan)
    covered = (ends[:, 0] - 1e-12 <= design.truth) & (design.truth <= ends[:, 1] + 1e-12)
    width = float((ends[:, 1] - ends[:, 0]).mean())
    return Result(design, runs, float(covered.mean()), 1 - len(ends) / runs, width)


def print_result(result: Result) -> None:
    """Print the line of a design."""
    design = result.design
    print(
        f"{design.shape:26} {design.clusters:5}  {design.truth:7.4f}  {result.coverage:.3f}  {result.withheld:5.2f}"
        f"  {result.width:6.4f}  {design.label}",
        flush=True,
    )


def print_summary(results: Sequence[Result]) -> None:
    """Print a table with the range of the coverage over the designs of each shape."""
    print("\n| shape | designs | lowest | median | highest | within 0.93 to 0.975 |")
    print("|---|---|---|---|---|---|")
    for shape in dict.fromkeys(result.design.shape for result in results):
        of_shape = [result for result in results if result.design.shape == shape]
        known = [result.coverage for result in of_shape if (1 - result.withheld) * result.runs >= FEWEST_RUNS]
        inside = np.mean([0.93 <= coverage <= 0.975 for coverage in known])
        print(
            f"| {shape} | {len(known)} | {min(known):.3f} | {np.median(known):.3f} | {max(known):.3f} | {inside:.0%} |"
        )


def main() -> None:
    """Simulate the designs and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated runs of each design (default: 2000)")
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=WITH_INTERVAL, help="the shapes to simulate")
    arguments = parser.parse_args()
    begin = time.monotonic()
    print("shape                  clusters    truth  coverage  withheld  width")
    results = []
    for shape in arguments.only:
        for seed, design in enumerate(SHAPES[shape]()):
            results.append(measured(design, arguments.runs, seed))
            print_result(results[-1])
    print_summary(results)
    print(f"\n{arguments.runs} runs of each design in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
