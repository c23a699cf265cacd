"""How often intervals of rates that a judge measures cover the true rate: python tests/coverage_of_judged_rates.py.

A judge with a known sensitivity and specificity judges replies, of which people label some at random. Each row is a
design, with the coverage of the 95% interval of the raw rate, of the prediction-powered estimate, of the labels alone
and of the rate with the judge's true errors assumed, and the mean width of the second divided by that of the third.
Further rows, without labels, have the coverage of the last one for rates near 0 and 1, and for other judges.

With `--errors`, each row is a way of drawing labels of 2,000 replies (at random, or half of them from the replies that
the judge reports, as `halu-tasks label verdicts --half-reported` does), with the coverage, the share of runs that have
an interval, and its mean width, of the corrected rate, the judge's sensitivity, specificity and kappa.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.metrics import Estimate, estimate_of_sums, micro
from halu_tasks.scorers.reference import judge_error_metrics
from halu_tasks.scorers.statistics.jackknife import Sums

METRICS = {metric.name: metric for metric in judge_error_metrics("rate", "hallucinated")}
RATIO = micro("rate", "part", "whole")
CLASSED = {"ppi": METRICS["rate_ppi"], "assumed": METRICS["rate_assumed_low"]}
RATES = {"raw": RATIO, "labels": RATIO, **CLASSED}


class Design(NamedTuple):
    """Replies, labels, the true share of hallucinations, whether clusters have 2 to 5 replies or 1, and the judge."""

    replies: int
    labels: int
    share: float
    clustered: bool
    sensitivity: float = 0.85
    specificity: float = 0.92


DESIGNS = [
    Design(replies, labels, share, clustered)
    for replies, labels in ((1000, 150), (1000, 50), (200, 60), (5000, 300))
    for share in (0.05, 0.3)
    for clustered in (False, True)
]
ASSUMED = [
    Design(1000, 0, 0.0, False),
    Design(1000, 0, 0.01, False),
    Design(200, 0, 0.02, False),
    Design(200, 0, 0.05, True, 0.9, 0.95),
    Design(50, 0, 0.5, False, 0.8, 0.9),
    Design(200, 0, 0.97, True),
    Design(1000, 0, 0.99, False),
]


class Sample(NamedTuple):
    """Replies: the cluster of each, whether it is a hallucination, whether the judge says so, and if it has a label."""

    cluster: npt.NDArray[np.int64]
    true: Array
    judge: Array
    label: Array


def drawn(design: Design, generator: np.random.Generator) -> Sample:
    """Draw a sample; in clusters, replies have a common probability to be a hallucination."""
    sizes = generator.integers(2, 6, design.replies) if design.clustered else np.ones(design.replies, int)
    cluster = np.repeat(np.arange(design.replies), sizes)[: design.replies]
    concentration = 3.0  # an intracluster correlation of 1/4
    shape = np.maximum([concentration * design.share, concentration * (1 - design.share)], 1e-9)
    of_cluster = generator.beta(*shape, design.replies)
    true = generator.random(design.replies) < (of_cluster[cluster] if design.clustered else design.share)
    judge = generator.random(design.replies) < np.where(true, design.sensitivity, 1 - design.specificity)
    label = np.zeros(design.replies)
    label[generator.choice(design.replies, design.labels, replace=False)] = 1
    return Sample(cluster, true.astype(float), judge.astype(float), label)


def tables(sample: Sample, design: Design) -> dict[str, Array]:
    """Sum up, by cluster, what each figure counts (`judge_error._corrected` and `_assumed`)."""
    one, y, f, n = np.ones(len(sample.true)), sample.true, sample.judge, sample.label
    none = 0 * one
    columns = {
        "ppi": [
            n,
            one,
            none,
            one,
            f,
            f,
            n,
            n,
            n * y,
            n * f,
            n * y * f,
            n,
            n * y,
            n * f,
            n * y * f,
            n,
            n * f,
            n - n * f,
        ],
        "assumed": [f, one, design.sensitivity * one, design.specificity * one, one, none, one, one],
        "raw": [f, one],
        "labels": [n * y, n],
    }
    sums = {name: np.zeros((sample.cluster.max() + 1, len(each))) for name, each in columns.items()}
    for name, each in columns.items():
        np.add.at(sums[name], sample.cluster, np.array(each).T)
    return sums


def estimates(sample: Sample, design: Design) -> dict[str, Estimate | None]:
    """Estimate the rate in each way, without labels only by the judge's errors."""
    sums = tables(sample, design)
    if not design.labels:
        sums = {"raw": sums["raw"], "assumed": sums["assumed"]}
        return {name: estimate_of_sums(RATES[name], Sums(table, table[:, [1]] > 0)) for name, table in sums.items()}
    sums["labels"] = sums["labels"][sums["labels"][:, 1] > 0]
    # the raw rate and that of the labels are ratios without classes
    return {
        name: estimate_of_sums(RATES[name], Sums(table, table[:, [0]] > 0 if name in CLASSED else table[:, :0] > 0))
        for name, table in sums.items()
    }


def row(design: Design, runs: int) -> str:
    """Simulate a design, and format its coverages and the ratio of widths."""
    generator = np.random.default_rng([*design[:2], round(100 * design.share), design.clustered])
    covered: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for _ in range(runs):
        for name, value in estimates(drawn(design, generator), design).items():
            if value and value.low is not None and value.high is not None:
                covered.setdefault(name, []).append(value.low <= design.share <= value.high)
                widths.setdefault(name, []).append(value.high - value.low)
    none = [np.nan]
    coverages = "  ".join(f"{np.mean(covered.get(name, none)):8.3f}" for name in ("raw", "ppi", "labels", "assumed"))
    narrower = np.mean(widths.get("ppi", none)) / np.mean(widths.get("labels", none))
    withheld = 1 - len(covered["ppi" if design.labels else "assumed"]) / runs
    clusters = "2-5" if design.clustered else "1"
    judge = f"{design.sensitivity}, {design.specificity}"
    head = f"{judge}  {design.replies:7}  {design.labels:6}  {design.share:5.2f}  {clusters:>8}"
    return f"{head}  {coverages}  {narrower:8.2f}  {withheld:8.3f}"


class Draw(NamedTuple):
    """How many labels are drawn, whether half of reported replies, the share of hallucinations, and the judge."""

    labels: int
    half_reported: bool
    share: float
    sensitivity: float
    specificity: float

    @property
    def true(self) -> dict[str, float]:
        """The true values of the metrics."""
        both, says = self.share * self.sensitivity, self.share * self.sensitivity
        says += (1 - self.share) * (1 - self.specificity)
        agreed, chance = 1 - self.share - says + 2 * both, self.share * says + (1 - self.share) * (1 - says)
        kappa = (agreed - chance) / (1 - chance)
        values = self.share, self.sensitivity, self.specificity, kappa
        return dict(zip(("rate_ppi", "judge_sensitivity", "judge_specificity", "judge_kappa"), values, strict=True))


def draws() -> Iterator[Draw]:
    """Return the designs of `--errors`."""
    for half, labels, share in product((False, True), (30, 50, 150), (0.02, 0.05, 0.2)):
        for sensitivity, specificity in product((0.6, 0.9, 0.98), (0.9, 0.98)):
            yield Draw(labels, half, share, sensitivity, specificity)


def labelled(draw: Draw, generator: np.random.Generator, replies: int = 2000) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Draw replies and labels; return the different ones, and how often each occurs."""
    _, _, share, finds, accepts = draw
    chances = [share * finds, share * (1 - finds), (1 - share) * (1 - accepts), (1 - share) * accepts]
    cells = generator.multinomial(replies, chances)  # found, missed, wrongly reported, rightly not reported
    reported = int(cells[0] + cells[2])
    sizes = np.array([reported, replies - reported])
    if draw.half_reported:
        own = min(reported, draw.labels // 2)
        of = np.array([own, draw.labels - own])
        bad = [generator.hypergeometric(cells[at], cells[at + 2], of[at]) if of[at] else 0 for at in (0, 1)]
        known = np.array([*bad, *(of - bad)])
        weights = np.divide(sizes, of, out=np.ones(2), where=of > 0)
    else:
        known, weights = generator.multivariate_hypergeometric(cells, draw.labels), np.full(2, replies / draw.labels)
    true, judge = np.array([1.0, 1, 0, 0, 0, 0]), np.array([1.0, 0, 1, 0, 1, 0])
    label, one = np.array([1.0] * 4 + [0.0] * 2), np.ones(6)
    weight = label * np.where(judge > 0, *weights)
    columns = {
        "hallucinated": judge,
        "verdicts": one,
        "verdicts_read": one,
        "verdicts_positive": judge,
        "labels": label,
        "label_weight": weight,
        "label_positive": weight * true,
        "labelled_positive": weight * judge,
        "both_positive": weight * true * judge,
        "reference": np.where(label > 0, true, np.nan),
        "reference_weight": np.where(label > 0, weight, np.nan),
    }
    times = np.array([*known, *(sizes - [known[0] + known[2], known[1] + known[3]])])
    occur = times > 0
    missing = np.full(int(occur.sum()), np.nan)
    own_columns = {name: column[occur] for name, column in columns.items()}
    return Columns(lambda name: own_columns.get(name, missing), np.arange(len(missing)), len(missing)), times[occur]


def row_of_draw(draw: Draw, runs: int) -> str:
    """Simulate a way of drawing labels, and format coverage, share with an interval and mean width of each metric."""
    generator = np.random.default_rng([draw.labels, draw.half_reported, *(round(100 * each) for each in draw[2:])])
    found: dict[str, list[tuple[bool, float]]] = {name: [] for name in draw.true}
    for _ in range(runs):
        columns, times = labelled(draw, generator)
        for name, truth in draw.true.items():
            items = METRICS[name].sums_of_items(columns)
            assert isinstance(items, Sums)
            value = estimate_of_sums(METRICS[name], Sums(items.terms, items.classes, times))
            if value and value.low is not None and value.high is not None:
                found[name].append((value.low - 1e-12 <= truth <= value.high + 1e-12, value.high - value.low))
    cells = []
    for own in found.values():
        coverage, width = np.mean(own, axis=0) if own else (np.nan, np.nan)
        cells.append(f"{coverage:7.3f} {len(own) / runs:4.2f} {width:5.3f}")
    head = f"{'half' if draw.half_reported else 'all':>4} {draw.labels:6} {draw.share:5.2f}"
    return f"{head}  {draw.sensitivity:4.2f} {draw.specificity:4.2f}  {'  '.join(cells)}"


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--assumed", action="store_true", help="only the designs without labels")
    parser.add_argument("--errors", action="store_true", help="only the judge's errors, by how labels are drawn")
    arguments = parser.parse_args()
    if arguments.errors:
        print("draw labels share  judge       corrected           sensitivity         specificity         kappa")
        for draw in draws():
            print(row_of_draw(draw, arguments.runs), flush=True)
        return
    print(f"judge: sensitivity, specificity; {arguments.runs} runs")
    print("     judge  replies  labels  share  clusters       raw       ppi    labels   assumed  ppi/labels  withheld")
    for design in [*([] if arguments.assumed else DESIGNS), *ASSUMED]:
        print(row(design, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
