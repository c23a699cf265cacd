"""How often intervals of rates that a judge measures cover the true rate: python tests/coverage_of_judged_rates.py.

A judge with a known sensitivity and specificity judges replies, of which people label some at random. Each row is a
design, with the coverage of the 95% interval of the raw rate, of the prediction-powered estimate, of the labels alone
and of the rate with the judge's true errors assumed, and the mean width of the second divided by that of the third.

With --strong, a stronger judge with errors of its own judges the replies to items drawn with a probability, or whole
clusters of replies (the sentences of a summary). What is to be covered is the rate of this judge on the same
population. Each row has the coverage of the cheap judge's rate, of the prediction-powered estimate and of the stronger
judge on all replies, the mean widths of the second and of its verdicts alone divided by that of the third, and how
often the second covers the true rate, which it does not estimate.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array
from halu_tasks.scorers.metrics import Estimate, estimate_of_sums, jackknife, ratio
from halu_tasks.scorers.statistics.jackknife import Chunk
from halu_tasks.scorers.statistics.judge_error import judge_error_metrics

SENSITIVITY, SPECIFICITY = 0.85, 0.92
METRICS = {metric.name: metric for metric in judge_error_metrics("rate", "hallucinated")}


class Design(NamedTuple):
    """A design: replies, labels, the true share of hallucinations, and whether clusters have 2 to 5 replies, or 1."""

    replies: int
    labels: int
    share: float
    clustered: bool


DESIGNS = [
    Design(replies, labels, share, clustered)
    for replies, labels in ((1000, 150), (1000, 50), (200, 60), (5000, 300))
    for share in (0.05, 0.3)
    for clustered in (False, True)
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
    of_cluster = generator.beta(concentration * design.share, concentration * (1 - design.share), design.replies)
    true = generator.random(design.replies) < (of_cluster[cluster] if design.clustered else design.share)
    judge = generator.random(design.replies) < np.where(true, SENSITIVITY, 1 - SPECIFICITY)
    label = np.zeros(design.replies)
    label[generator.choice(design.replies, design.labels, replace=False)] = 1
    return Sample(cluster, true.astype(float), judge.astype(float), label)


def table(sample: Sample) -> Array:
    """Sum up, by cluster, what the metrics count (`judge_error._corrected`)."""
    one, y, f, n = np.ones(len(sample.true)), sample.true, sample.judge, sample.label
    none = 0 * one
    columns = [one, f, n, n * y, n * f, n * y * f, SENSITIVITY * one, SPECIFICITY * one, one, none, one, one]
    sums = np.zeros((sample.cluster.max() + 1, len(columns)))
    np.add.at(sums, sample.cluster, np.array(columns).T)
    return sums


def estimates(sample: Sample) -> dict[str, Estimate | None]:
    """Estimate the rate in each way."""
    sums = table(sample)
    values = {"raw": jackknife(ratio, sums[:, [1, 0]].sum(axis=0), sums[:, [1, 0]])}
    for name, key in (("ppi", "rate_ppi"), ("assumed", "rate_assumed_low")):
        chunk = Chunk(sums, sums[:, [0 if name == "assumed" else 2]] > 0)
        values[name] = estimate_of_sums(METRICS[key], sums.sum(axis=0), partial(list, [chunk]))
    labelled = sums[sums[:, 2] > 0][:, [3, 2]]
    values["labels"] = jackknife(ratio, labelled.sum(axis=0), labelled)
    return values


def row(design: Design, runs: int) -> str:
    """Simulate a design, and format its coverages and the ratio of widths."""
    generator = np.random.default_rng([*design[:2], round(100 * design.share), design.clustered])
    covered: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for _ in range(runs):
        for name, value in estimates(drawn(design, generator)).items():
            if value and value.low is not None and value.high is not None:
                covered.setdefault(name, []).append(value.low <= design.share <= value.high)
                widths.setdefault(name, []).append(value.high - value.low)
    coverages = "  ".join(f"{np.mean(covered[name]):8.3f}" for name in ("raw", "ppi", "labels", "assumed"))
    narrower = np.mean(widths["ppi"]) / np.mean(widths["labels"])
    withheld = 1 - len(covered["ppi"]) / runs
    clusters = "2-5" if design.clustered else "1"
    head = f"{design.replies:7}  {design.labels:6}  {design.share:5.2f}  {clusters:>8}"
    return f"{head}  {coverages}  {narrower:8.2f}  {withheld:8.3f}"


STRONG_SENSITIVITY, STRONG_SPECIFICITY = 0.93, 0.98


class StrongDesign(NamedTuple):
    """A design: replies, the share drawn, the true share, whether there are clusters, and whether these are drawn."""

    replies: int
    drawn: float
    share: float
    clustered: bool
    whole: bool = False

    @property
    def strong_rate(self) -> float:
        """The rate that the stronger judge finds in the population."""
        return self.share * STRONG_SENSITIVITY + (1 - self.share) * (1 - STRONG_SPECIFICITY)


STRONG_DESIGNS = [
    StrongDesign(replies, drawn, share, clustered, whole)
    for replies, drawn in ((1000, 0.1), (1000, 0.2), (5000, 0.1))
    for share in (0.05, 0.3)
    for clustered, whole in ((False, False), (True, False), (True, True))
]


def strong_estimates(design: StrongDesign, generator: np.random.Generator) -> dict[str, Estimate | None]:
    """Estimate the stronger judge's rate in each way: by the cheap one, by both, by the drawn part, and on all."""
    sample = drawn(Design(design.replies, 1, design.share, design.clustered), generator)
    strong = generator.random(design.replies) < np.where(sample.true, STRONG_SENSITIVITY, 1 - STRONG_SPECIFICITY)
    chosen = generator.random(design.replies) < design.drawn
    if design.whole:
        chosen = (generator.random(design.replies) < design.drawn)[sample.cluster]
    sums = table(sample._replace(true=strong.astype(float), label=chosen.astype(float)))
    metric = METRICS["rate_ppi"]  # the same figure as rate_ppi_strong, of other measurements
    one = np.zeros((len(sums), 2))
    np.add.at(one, sample.cluster, np.array([strong.astype(float), np.ones(design.replies)]).T)
    labelled = sums[sums[:, 2] > 0][:, [3, 2]]
    return {
        "cheap": jackknife(ratio, sums[:, [1, 0]].sum(axis=0), sums[:, [1, 0]]),
        "both": estimate_of_sums(metric, sums.sum(axis=0), lambda: [Chunk(sums, sums[:, [2]] > 0)]),
        "drawn": jackknife(ratio, labelled.sum(axis=0), labelled),
        "all": jackknife(ratio, one.sum(axis=0), one),
    }


def strong_row(design: StrongDesign, runs: int) -> str:
    """Simulate a design with a stronger judge, and format its coverages and the ratios of widths."""
    generator = np.random.default_rng([design.replies, *(round(100 * part) for part in design[1:])])
    covered: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for _ in range(runs):
        for name, value in strong_estimates(design, generator).items():
            if value and value.low is not None and value.high is not None:
                covered.setdefault(name, []).append(value.low <= design.strong_rate <= value.high)
                widths.setdefault(name, []).append(value.high - value.low)
                if name == "both":
                    covered.setdefault("truth", []).append(value.low <= design.share <= value.high)
    coverages = "  ".join(f"{np.mean(covered[name]):6.3f}" for name in ("cheap", "both", "all"))
    relative = "  ".join(f"{np.mean(widths[name]) / np.mean(widths['all']):8.2f}" for name in ("both", "drawn"))
    clusters = ("2-5, whole" if design.whole else "2-5") if design.clustered else "1"
    head = f"{design.replies:7}  {design.drawn:5.2f}  {design.share:5.2f}  {clusters:>10}"
    return f"{head}  {coverages}  {relative}  {np.mean(covered['truth']):6.3f}  {1 - len(covered['both']) / runs:8.3f}"


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--designs", type=int, default=max(len(DESIGNS), len(STRONG_DESIGNS)), help="only the first")
    parser.add_argument("--strong", action="store_true", help="a stronger judge instead of people")
    arguments = parser.parse_args()
    if arguments.strong:
        print(f"cheap judge: sensitivity {SENSITIVITY}, specificity {SPECIFICITY}; stronger: {STRONG_SENSITIVITY}, "
              f"{STRONG_SPECIFICITY}; {arguments.runs} runs")  # fmt: skip
        print("replies  drawn  share    clusters   cheap    both     all  both/all drawn/all   truth  withheld")
        for strong_design in STRONG_DESIGNS[: arguments.designs]:
            print(strong_row(strong_design, arguments.runs), flush=True)
        return
    print(f"sensitivity {SENSITIVITY}, specificity {SPECIFICITY}, {arguments.runs} runs")
    print("replies  labels  share  clusters       raw       ppi    labels   assumed  ppi/labels  withheld")
    for design in DESIGNS[: arguments.designs]:
        print(row(design, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
