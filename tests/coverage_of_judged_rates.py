"""How often intervals of rates that a judge measures cover the true rate: python tests/coverage_of_judged_rates.py.

A judge with a known sensitivity and specificity judges replies, of which people label some at random. Each row is a
design, with the coverage of the 95% interval of the raw rate, of the rate that labels correct, of the labels alone and
of the rate with the judge's true errors assumed, and the mean width of the second divided by that of the third. Further
rows, without labels, have the coverage of the last one for rates near 0 and 1, and for other judges.

With `--errors`, each row is a way of drawing labels of 2,000 replies (at random, or half of them from the replies that
the judge reports, as `halu-tasks label verdicts --half-reported` does), with the coverage, the share of runs that have
an interval, and its mean width, of the corrected rate, the judge's sensitivity, specificity and kappa; and the width of
the interval of as many labels alone. With `--claims`, people label all sentences of some summaries, drawn in both ways;
the sentences of a summary are alike.
"""

import argparse
import math
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.benchmarks.judged import OPEN_ANSWER, SUMMARY
from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.judge import JudgeSpec
from halu_tasks.scorers.judge_correction import judge_error_metrics
from halu_tasks.scorers.metrics import Estimate, estimate, estimate_of_sums, mean
from halu_tasks.scorers.statistics.intervals import Moments, exact_interval
from halu_tasks.scorers.statistics.jackknife import Sums

METRICS = {metric.name: metric for metric in judge_error_metrics("rate", OPEN_ANSWER)}
PER_SUMMARY = judge_error_metrics("rate", SUMMARY, np.inf)[0]
COUNTED = mean("counted", "by_people", range=(0.0, np.inf))
RATES = {
    "raw": mean("raw", "hallucinated"),
    "corrected": METRICS["rate_ppi"],
    "labels": mean("labels", "by_people"),
    "assumed": METRICS["rate_assumed_low"],
}


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


def columns_of(kinds: dict[str, dict[str, Array]], cluster: npt.NDArray[np.int64], **others: Array) -> Columns:
    """Return columns of measurements, of which those of kinds of verdicts are named by their kind."""
    known = {begin + kind: column for kind, columns in kinds.items() for begin, column in columns.items()} | others
    missing = np.full(len(cluster), np.nan)
    return Columns(lambda name: known.get(name, missing), cluster, int(cluster.max()) + 1)


def verdicts(judged: JudgeSpec, said: Array, labelled: Array, bad: Array) -> dict[str, dict[str, Array]]:
    """Return what is known of each kind of verdicts; the arrays have the shape (kinds, …)."""
    names = "said_", "labelled_", "bad_of_"
    rows = zip(judged.kinds, said, labelled, bad, strict=True)
    return {kind: dict(zip(names, columns, strict=True)) for kind, *columns in rows}


def estimates(sample: Sample, design: Design) -> dict[str, Estimate | None]:
    """Estimate the rate in each way, without labels only by the judge's errors."""
    one, said = np.ones(len(sample.true)), np.array([sample.judge, 1 - sample.judge])
    known = verdicts(OPEN_ANSWER, said, said * sample.label, said * sample.label * sample.true)
    others = {"hallucinated": sample.judge, "verdicts": one, "verdicts_read": one, "verdicts_positive": sample.judge}
    for name, rate in (("sensitivity", design.sensitivity), ("specificity", design.specificity)):
        others |= {f"assumed_{name}_{end}": rate * one for end in ("low", "high")}
    by_people = np.where(sample.label > 0, sample.true, np.nan)
    columns = columns_of(known, sample.cluster, labels=sample.label, by_people=by_people, **others)
    figures = RATES if design.labels else {name: RATES[name] for name in ("raw", "assumed")}
    return {name: estimate(metric, columns) for name, metric in figures.items()}


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
    coverages = "  ".join(f"{np.mean(covered.get(name, none)):8.3f}" for name in RATES)
    narrower = np.mean(widths.get("corrected", none)) / np.mean(widths.get("labels", none))
    withheld = 1 - len(covered["corrected" if design.labels else "assumed"]) / runs
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
    for half, labels, share in product((False, True), (30, 150), (0.01, 0.05, 0.2, 0.5)):
        for sensitivity, specificity in ((0.9, 0.98), (0.6, 0.9), (0.5, 0.5)):
            yield Draw(labels, half, share, sensitivity, specificity)


def labelled(draw: Draw, generator: np.random.Generator, replies: int = 2000) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Draw replies and labels; return the different ones, and how often each occurs."""
    _, _, share, finds, accepts = draw
    chances = [share * finds, share * (1 - finds), (1 - share) * (1 - accepts), (1 - share) * accepts]
    cells = generator.multinomial(replies, chances)  # found, missed, wrongly reported, rightly not reported
    sizes = np.array([cells[0] + cells[2], cells[1] + cells[3]])
    if draw.half_reported:
        own = min(sizes[0], max(draw.labels // 2, draw.labels - sizes[1]))
        of = np.array([own, draw.labels - own])
        bad = [generator.hypergeometric(cells[at], cells[at + 2], of[at]) if of[at] else 0 for at in (0, 1)]
        known = np.array([*bad, *(of - bad)])
    else:
        known = generator.multivariate_hypergeometric(cells, draw.labels)
    true, judge, label = np.array([[1.0, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 0, 0]])
    times = np.array([*known, *(sizes - [known[0] + known[2], known[1] + known[3]])])
    occur = times > 0
    said = np.array([judge, 1 - judge])[:, occur]
    of_kinds = verdicts(OPEN_ANSWER, said, said * label[occur], said * (label * true)[occur])
    cluster = np.arange(int(occur.sum()))
    return columns_of(of_kinds, cluster, hallucinated=judge[occur], labels=label[occur]), times[occur]


def width_of_labels(labels: int, share: float) -> float:
    """Return the mean width of the interval of a share of the labels alone."""
    widths, chances = [], []
    for bad in range(labels + 1):
        value = bad / labels
        apart = [(value - 1, bad), (value, labels - bad)]
        moments = Moments.of(labels, [sum(n * (d / (labels - 1)) ** power for d, n in apart) for power in (1, 2, 3, 4)])
        low, high = exact_interval(value, moments, (0.0, 1.0), labels)
        widths.append(high - low)
        chances.append(math.comb(labels, bad) * share**bad * (1 - share) ** (labels - bad))
    return float(np.dot(widths, chances))


class Found:
    """How often intervals of a figure cover its true value, how many runs have one, and their widths."""

    def __init__(self, truth: float) -> None:
        self.truth = truth
        self.runs = 0
        self.intervals: list[tuple[bool, float]] = []

    def add(self, value: Estimate | None) -> None:
        self.runs += 1
        if value and value.low is not None and value.high is not None:
            covers = value.low - 1e-12 <= self.truth <= value.high + 1e-12
            self.intervals.append((covers, value.high - value.low))

    def __str__(self) -> str:
        coverage, width = np.mean(self.intervals, axis=0) if self.intervals else (np.nan, np.nan)
        return f"{coverage:7.3f} {len(self.intervals) / self.runs:4.2f} {width:5.3f}"


def row_of_draw(draw: Draw, runs: int) -> str:
    """Simulate a way of drawing labels, and format coverage, share with an interval and mean width of each metric."""
    generator = np.random.default_rng([draw.labels, draw.half_reported, *(round(100 * each) for each in draw[2:])])
    found = {name: Found(truth) for name, truth in draw.true.items()}
    for _ in range(runs):
        columns, times = labelled(draw, generator)
        for name, own in found.items():
            items = METRICS[name].sums_of_items(columns)
            assert isinstance(items, Sums)
            own.add(estimate_of_sums(METRICS[name], Sums(items.terms, items.classes, times)))
    head = f"{'half' if draw.half_reported else 'all':>4} {draw.labels:6} {draw.share:5.2f}"
    figures, alone = "  ".join(map(str, found.values())), width_of_labels(draw.labels, draw.share)
    return f"{head}  {draw.sensitivity:4.2f} {draw.specificity:4.2f}  {figures}  {alone:5.3f}"


class Claims(NamedTuple):
    """How many summaries there are and are labelled, whether half are of reported ones, and the share of sentences."""

    summaries: int
    labelled: int
    half_reported: bool
    share: float
    sensitivity: float
    specificity: float


def claims() -> Iterator[Claims]:
    """Return the designs of `--claims`."""
    for half, drawn, share in product((False, True), (30, 100), (0.02, 0.1, 0.4)):
        for judge in ((0.9, 0.95), (0.6, 0.9), (0.5, 0.5)):
            yield Claims(500, drawn, half, share, *judge)


def row_of_claims(design: Claims, runs: int) -> str:
    """Simulate summaries of 1 to 9 sentences, whose probability of a hallucination differs between summaries."""
    generator = np.random.default_rng([design.labelled, design.half_reported, *(round(100 * e) for e in design[3:])])
    found, alone, n = Found(5 * design.share), Found(5 * design.share), design.summaries
    for _ in range(runs):
        size = generator.integers(1, 10, n)
        chance = generator.beta(2 * design.share, 2 * (1 - design.share), n)  # an intracluster correlation of 1/3
        bad = generator.binomial(size, chance)
        reported_bad = generator.binomial(bad, design.sensitivity)
        reported = reported_bad + generator.binomial(size - bad, 1 - design.specificity)
        order = generator.permutation(n)
        is_drawn = np.zeros(n, dtype=bool)
        if design.half_reported:
            order = order[np.argsort(reported[order] == 0, kind="stable")]
            some = int((reported > 0).sum())
            own = min(some, max(design.labelled // 2, design.labelled - (n - some)))
            order = np.concatenate([order[:own], order[some : some + design.labelled - own]])
        is_drawn[order[: design.labelled]] = True
        missed, any_said = bad - reported_bad, reported > 0
        said = np.array([reported, *((size - reported) * own for own in (~any_said, any_said)), 0 * size], dtype=float)
        truth = np.array([reported_bad, *(missed * own for own in (~any_said, any_said)), 0 * size], dtype=float)
        of_kinds = verdicts(SUMMARY, said, said * is_drawn, truth * is_drawn)
        others = {"labels": 1.0 * size * is_drawn, "hallucinations": 1.0 * reported}
        others["by_people"] = np.where(is_drawn, bad, np.nan)
        columns = columns_of(of_kinds, np.arange(n), **others)
        found.add(estimate(PER_SUMMARY, columns))
        alone.add(None if design.half_reported else estimate(COUNTED, columns))
    head = f"{'half' if design.half_reported else 'all':>4} {design.labelled:9} {design.share:5.2f}"
    return f"{head}  {design.sensitivity:4.2f} {design.specificity:4.2f}  {found}  {alone}"


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--assumed", action="store_true", help="only the designs without labels")
    parser.add_argument("--errors", action="store_true", help="only the judge's errors, by how labels are drawn")
    parser.add_argument("--claims", action="store_true", help="only summaries with several verdicts each")
    arguments = parser.parse_args()
    if arguments.claims:
        print("draw summaries share  judge       corrected           labels alone")
        for design in claims():
            print(row_of_claims(design, arguments.runs), flush=True)
        return
    if arguments.errors:
        print("draw labels share  judge       corrected           sensitivity         specificity         ", end="")
        print("kappa               labels alone")
        for draw in draws():
            print(row_of_draw(draw, arguments.runs), flush=True)
        return
    print(f"judge: sensitivity, specificity; {arguments.runs} runs")
    print("     judge  replies  labels  share  clusters       raw corrected    labels   assumed     width  withheld")
    for design in [*([] if arguments.assumed else DESIGNS), *ASSUMED]:
        print(row(design, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
