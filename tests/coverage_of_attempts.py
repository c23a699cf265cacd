"""How often intervals of what replies attempt cover the truth: python tests/coverage_of_attempts.py.

The first table is of a judge with three labels, of whose verdicts people label some, drawn from all or half from those
that say bad: the coverage of the 95% intervals of `net`, of the attempted share and of each label's share, as corrected
by the labels, and of `net` of a third of the replies, those with a tag. The second is of two models that attempt
different items: of `net`, `attempted` and `acc_attempted` of one, and of their differences in `acc_attempted`, over all
and on the items that both attempt. Where a figure has no interval, `withheld` says how often; the last column is the
mean width of the interval of the first figure.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.attempts import LabelAttempts, attempt_metrics
from halu_tasks.scorers.benchmarks.judged import judged_scorer
from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import estimate, estimates
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import difference, difference_where_both

LABELS = {"right": "good", "wrong": "bad", "silent": "neutral"}
JUDGED = {metric.name: metric for metric in judged_scorer(LABELS).metrics}
CORRECTED = ("net_ppi", "attempted_ppi", "share_right_ppi", "share_wrong_ppi", "share_silent_ppi")
TAGGED = "net_ppi_tag"
JUDGED[TAGGED] = JUDGED["net_ppi"].only("topic", "a", TAGGED)
CONFUSION = np.array([[0.93, 0.05, 0.02], [0.12, 0.85, 0.03], [0.02, 0.08, 0.90]])
"""The probabilities of the judge's label by the true one."""
ATTEMPTED, ACC, NET = attempt_metrics(LabelAttempts())
Ints = npt.NDArray[np.int64]


class Judged(NamedTuple):
    """Replies, how many people label, the shares of the true labels, if clusters have 2 to 5, if half are reported."""

    replies: int
    labels: int
    shares: tuple[float, float, float]
    clustered: bool
    half_reported: bool


class Pair(NamedTuple):
    """Items, how likely each model attempts an item, and is right if it does, and how far both follow its ease."""

    items: int
    attempts: tuple[float, float]
    right: tuple[float, float]
    ease: float


JUDGES = [
    Judged(replies, labels, shares, clustered, half)
    for half in (False, True)
    for replies, labels in ((200, 40), (1000, 40), (1000, 150))
    for shares in ((0.6, 0.2, 0.2), (0.9, 0.03, 0.07), (0.3, 0.6, 0.1))
    for clustered in (False, True)
]
PAIRS = [
    Pair(items, attempts, right, ease)
    for items in (50, 200, 1000)
    for attempts, right in (((0.9, 0.5), (0.6, 0.6)), ((0.95, 0.2), (0.5, 0.8)), ((0.99, 0.97), (0.9, 0.85)))
    for ease in (0.0, 0.4)
]


def clusters_of(number: int, generator: np.random.Generator, *, clustered: bool) -> Ints:
    sizes = generator.integers(2, 6, number) if clustered else np.ones(number, int)
    return np.repeat(np.arange(number), sizes)[:number]


def judged(design: Judged, generator: np.random.Generator) -> Columns:
    """Draw replies with their verdicts and labels, as columns of measurements (`with_judge_errors`)."""
    n, shares = design.replies, np.array(design.shares)
    cluster = clusters_of(n, generator, clustered=design.clustered)
    own = generator.dirichlet(3 * shares, n)[cluster] if design.clustered else np.tile(shares, (n, 1))
    true = (generator.random((n, 1)) > own.cumsum(axis=1)[:, :2]).sum(axis=1)
    said = (generator.random((n, 1)) > CONFUSION[true].cumsum(axis=1)[:, :2]).sum(axis=1)
    order = generator.permutation(n)
    if design.half_reported:
        reported = order[said[order] == 1][: design.labels // 2]
        order = np.concatenate([reported, order[said[order] != 1]])
    label = np.zeros(n)
    label[order[: design.labels]] = 1
    known = np.where(label > 0, 0.0, np.nan)
    values: dict[str, npt.NDArray[Any]] = {"labels": label}
    for place, (sense, name) in enumerate((("good", "right"), ("bad", "wrong"), ("neutral", "silent"))):
        by_judge, by_people = 1.0 * (said == place), 1.0 * (true == place)
        values |= {sense: by_judge, f"share_{name}": by_judge}
        values |= {f"reference_{sense}": by_people + known, f"reference_share_{name}": by_people + known}
        values |= {f"said_{name}": by_judge, f"labelled_{name}": label * by_judge}
        values[f"bad_of_{name}"] = label * by_judge * (true == 1)
    values["tag_topic"] = np.where(generator.random(n) < 1 / 3, "a", "b")
    return Columns(lambda name: values.get(name, np.full(n, np.nan)), cluster, int(cluster.max()) + 1)


def pair(design: Pair, generator: np.random.Generator) -> tuple[list[ScoredReply], list[ScoredReply]]:
    """Draw the scored replies of two models to the same items."""
    ease = generator.uniform(-design.ease, design.ease, design.items)
    models = []
    for attempts, right in zip(design.attempts, design.right, strict=True):
        tried = generator.random(design.items) < np.clip(attempts + ease, 0, 1)
        correct = tried & (generator.random(design.items) < np.clip(right + ease, 0, 1))
        answers = zip(tried.tolist(), correct.tolist(), strict=True)
        models.append(
            [
                ScoredReply(str(n), str(n), ("A" if good else "B") if tries else None, "A", {"correct": float(good)})
                for n, (tries, good) in enumerate(answers)
            ]
        )
    return models[0], models[1]


def figures(design: Pair, generator: np.random.Generator) -> dict[str, Any]:
    one, other = pair(design, generator)
    own: Mapping[str, Any] = estimates((ATTEMPTED, ACC, NET), other)
    return {**own, "of all": difference(ACC, one, other), "of both": difference_where_both(ATTEMPTED, ACC, one, other)}


def coverage(truth: Mapping[str, float], runs: Iterator[Mapping[str, Any]]) -> str:
    """Format how often the intervals of each figure cover the truth, how often there is none, and the first's width."""
    covered: dict[str, list[bool]] = defaultdict(list)
    figures, widths = list(runs), []
    for found in figures:
        for name, value in truth.items():
            if (figure := found.get(name)) and figure.low is not None:
                covered[name].append(figure.low <= value <= figure.high)
                widths += [figure.high - figure.low] if name == next(iter(truth)) else []
    none = [np.nan]
    shown = (f"{np.mean(covered[name] or none):9.3f}" for name in truth)
    withheld = 1 - min(len(covered[name]) for name in truth) / len(figures)
    return f"{'  '.join(shown)}  {withheld:8.3f}  {np.mean(widths or none):5.3f}"


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print(f"a judge with three labels; {runs} runs")
    names = "  ".join(f"{name[:-4][-9:]:>9}" for name in CORRECTED)
    print(f"draw  replies  labels  true shares       clusters  {names}  net by tag  withheld  width")
    for design in JUDGES:
        seeds = (*design[:2], round(100 * design.shares[0]), int(design.clustered), int(design.half_reported))
        generator = np.random.default_rng(seeds)
        right, wrong, silent = design.shares
        truth = dict(zip(CORRECTED, (right - wrong, right + wrong, right, wrong, silent), strict=True))
        truth[TAGGED] = right - wrong
        found = (
            {name: estimate(JUDGED[name], columns) for name in (*CORRECTED, TAGGED)}
            for columns in (judged(design, generator) for _ in range(runs))
        )
        size = "2-5" if design.clustered else "1"
        draw = "half" if design.half_reported else "all"
        head = f"{draw:>4}  {design.replies:7}  {design.labels:6}  {right:.2f} {wrong:.2f} {silent:.2f}  {size:>9}"
        print(f"{head}    {coverage(truth, found)}", flush=True)
    print("two models")
    print("items  attempts     right      ease  attempted       acc        net   of all   of both  withheld")
    for case in PAIRS:
        generator = np.random.default_rng([case.items, *(round(100 * part) for part in (*case.attempts, case.ease))])
        whole = figures(case._replace(items=300_000), generator)
        known = {name: whole[name].value for name in (ATTEMPTED.name, ACC.name, NET.name, "of all", "of both")}
        shares = "  ".join(f"{one:.2f} {other:.2f}" for one, other in (case.attempts, case.right))
        head = f"{case.items:5}  {shares}  {case.ease:.1f}"
        print(f"{head}  {coverage(known, (figures(case, generator) for _ in range(runs)))}", flush=True)


if __name__ == "__main__":
    main()
