"""How often intervals of rates that a judge measures cover the true rate: python tests/coverage_of_judged_rates.py.

A judge with a known sensitivity and specificity judges replies, of which people label some at random. Each row is a
design, with the coverage of the 95% interval of the raw rate, of the prediction-powered estimate, of the labels alone
and of the rate with the judge's true errors assumed, and the mean width of the second divided by that of the third.
Further rows, without labels, have the coverage of the last one for rates near 0 and 1, and for other judges.
"""

import argparse
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array
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
        "ppi": [n, one, none, one, f, f, n, n, n * y, n * f, n * y * f],
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


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--assumed", action="store_true", help="only the designs without labels")
    arguments = parser.parse_args()
    print(f"judge: sensitivity, specificity; {arguments.runs} runs")
    print("     judge  replies  labels  share  clusters       raw       ppi    labels   assumed  ppi/labels  withheld")
    for design in [*([] if arguments.assumed else DESIGNS), *ASSUMED]:
        print(row(design, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
