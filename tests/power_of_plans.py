"""How often tests of two models are wrong, and whether planned runs find differences: `python tests/power_of_plans.py`.

Two models answer the items of a benchmark. Whether a reply is right depends on the item and its cluster, which are hard
for both models or for one of them, and on chance. Printed are, over simulated runs:

- epochs: how often equal models are called different, whose items are answered several times.
- needed: how many items a pilot says are needed, as a multiple of the number that is: the middle 95%, and how often the
  interval contains the right number.
- plan: the power that runs of the planned size reach, for a planned power of 0.8.
- margin: how often models that differ by the margin are called equal, and models that do not differ.
- looks: how often equal models are called different at any of several looks, at 5% each time and at the bounds of a
  plan, and the power of the planned runs.
- reruns: how often the best of several runs of a model is called better than a run of an equal one.
"""

import argparse
import math
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from halu_tasks.scorers.metrics import mean, ratio
from halu_tasks.scorers.statistics.differences import Difference, difference_of
from halu_tasks.scorers.statistics.jackknife import Sums, leave_out
from halu_tasks.scorers.statistics.planning import Variances, clusters_needed, items_needed, looks_at, needed

Floats = npt.NDArray[np.float64]
ACC = mean("acc", "correct")


class Design(NamedTuple):
    """Two models on the items of a benchmark.

    Attributes:
        difference: By how much the second model has more right.
        share: The share of replies of the first model that are right.
        epochs: How many times each item is answered.
        size: The number of items in a cluster.
        item: The part of the (probit) variance that belongs to the item.
        cluster: The part that belongs to the cluster; half of each part is shared by both models.
    """

    difference: float = 0.0
    share: float = 0.7
    epochs: int = 1
    size: int = 1
    item: float = 0.5
    cluster: float = 0.2

    def __str__(self) -> str:
        return (
            f"{self.share} against {self.share + self.difference:g}, clusters of {self.size}, {self.epochs} epochs, "
            f"chance {1 - self.item - self.cluster:.1f}"
        )


def right(rng: np.random.Generator, design: Design, clusters: int) -> Floats:
    """Return the right replies of two models to each item of each cluster, shape (2, C, size)."""
    shape = clusters, design.size
    latent = np.zeros((2, *shape))
    for part, dimensions in ((design.cluster, (clusters, 1)), (design.item, shape)):
        latent += math.sqrt(part / 2) * (rng.normal(size=dimensions) + rng.normal(size=(2, *dimensions)))
    skills = ndtri([design.share, design.share + design.difference])[:, None, None]
    probability = ndtr((skills - latent) / math.sqrt(1 - design.item - design.cluster))
    return np.asarray(rng.binomial(design.epochs, probability), dtype=np.float64)


def difference(replies: Floats, epochs: int, margin: float | None = None) -> Difference:
    """Return the second model's accuracy minus the first's."""
    _, clusters, size = replies.shape
    tables = [np.column_stack([own.sum(axis=1), np.full(clusters, float(size * epochs))]) for own in replies[::-1]]
    nothing = np.zeros((clusters, 0), dtype=bool)
    one, other = (leave_out(ratio, Sums(table, nothing), ACC.error_basis) for table in tables)
    found = difference_of(ACC, one, other, clusters * size, margin)
    assert found
    return found


def truth(design: Design) -> Variances:
    """Return the variances of the difference, from a large sample."""
    rng = np.random.default_rng(0)
    one, two = right(rng, design._replace(epochs=64), 200_000 // design.size) / 64
    within = sum(float((own * (1 - own)).mean()) * 64 / 63 for own in (one, two))
    per_cluster = float((two - one).mean(axis=1).var())
    return Variances(per_cluster * design.size - within / 64, within, float(design.size))


def print_epochs(runs: int) -> None:
    """Print how often equal models are called different."""
    for epochs in (1, 2, 4, 10):
        design = Design(epochs=epochs, cluster=0.0, item=0.7)
        rng = np.random.default_rng(epochs)
        p_values = [difference(right(rng, design, 200), epochs).p for _ in range(runs)]
        print(f"  {epochs:2} epochs: {sum(p is not None and p < 0.05 for p in p_values) / runs:.3f}", flush=True)


def print_needed(runs: int) -> None:
    """Print what pilots say about the number of items."""
    for design, clusters in (
        (Design(0.05), 300),
        (Design(0.05, epochs=4), 300),
        (Design(0.1, size=4), 75),
        (Design(0.1), 300),
        (Design(0.1, epochs=8), 100),
    ):
        variances = truth(design)
        known = clusters_needed(variances.per_item(design.epochs) / design.size, design.difference) * design.size
        rng = np.random.default_rng([clusters, design.epochs])
        ratios, covered = [], 0
        for _ in range(runs):
            found = difference(right(rng, design, clusters), design.epochs)
            counted = items_needed(found)
            if counted is None:
                continue
            ratios.append(counted.items / known)
            covered += counted.low <= known and (counted.high is None or known <= counted.high)
        middle = " to ".join(f"{end:.2f}" for end in np.quantile(ratios, (0.025, 0.975)))
        print(
            f"  {design!s:62} pilot of {clusters * design.size}, {known:,} needed: "
            f"{middle}; covered {covered / len(ratios):.3f}",
            flush=True,
        )


def print_plans(runs: int) -> None:
    """Print the power that planned runs reach."""
    for design in (
        Design(0.1),
        Design(0.15, size=4),
        Design(0.15, epochs=4),
        Design(0.1, item=0.3, epochs=8),
        Design(0.05, size=4, epochs=2),
        Design(0.05),
        Design(0.03, share=0.9),
    ):
        planned = needed(truth(design), design.difference, design.epochs)
        assert planned
        rng = np.random.default_rng([planned.items, planned.epochs])
        found = 0
        for _ in range(runs):
            paired = difference(right(rng, design, planned.clusters), design.epochs)
            found += paired.p is not None and paired.p < 0.05 and paired.value > 0
        print(
            f"  {design!s:62} {planned.items:,} items in {planned.clusters:,} clusters: power {found / runs:.3f}",
            flush=True,
        )


def print_margins(runs: int) -> None:
    """Print how often models are called equal."""
    for design in (Design(), Design(size=4), Design(share=0.9), Design(epochs=4)):
        margin = 0.05
        clusters = 2_000 // design.size
        for by in (0.0, margin):
            rng = np.random.default_rng([clusters, design.epochs])
            equal = 0
            for _ in range(runs):
                replies = right(rng, design._replace(difference=by), clusters)
                p = difference(replies, design.epochs, margin).p_equal
                equal += p is not None and p < 0.05
            other = design._replace(difference=by)
            print(f"  {other!s:62} called equal within {margin}: {equal / runs:.3f}", flush=True)


def print_looks(runs: int) -> None:
    """Print how often models are called different at any of several looks."""
    for looks in (2, 5, 10):
        levels, inflation = looks_at(looks)
        for design in (Design(), Design(0.1), Design(0.05, size=4)):
            planned = needed(truth(design).times(inflation), design.difference or 0.1, design.epochs)
            assert planned
            rng = np.random.default_rng([planned.items, looks])
            often = bounded = once = 0
            for _ in range(runs):
                replies = right(rng, design, planned.clusters)
                ends = [math.ceil(planned.clusters * look / looks) for look in range(1, looks + 1)]
                found = [difference(replies[:, :end], design.epochs) for end in ends]
                # of two models that differ in truth, the second is to be called better
                p = [1.0 if one.p is None or one.value < 0 < design.difference else one.p for one in found]
                often += min(p) < 0.05
                bounded += any(own < level for own, level in zip(p, levels, strict=True))
                once += p[-1] < 0.05
            print(
                f"  {design!s:62} {looks} looks, {planned.items:,} items: at the last {once / runs:.3f}, "
                f"at any at 5% {often / runs:.3f}, at any by its bound {bounded / runs:.3f}",
                flush=True,
            )


def print_reruns(runs: int) -> None:
    """Print how often the best run is called better than one run of an equal model."""
    for reruns, item in product((2, 5, 10), (0.9, 0.5, 0.0)):
        design = Design(item=item, cluster=0.0, epochs=1)
        rng = np.random.default_rng([reruns, round(10 * item)])
        better = 0
        for _ in range(runs):
            latent = math.sqrt(item / 2) * (rng.normal(size=(1, 300, 1)) + rng.normal(size=(2, 300, 1)))
            chance = rng.normal(size=(1 + reruns, 300, 1)) * math.sqrt(1 - item)
            replies = (latent[[0, *[1] * reruns]] + chance < ndtri(design.share)) * 1.0
            best = 1 + int(replies[1:].sum(axis=(1, 2)).argmax())
            found = difference(replies[[0, best]], 1)
            better += found.p is not None and found.p < 0.05 and found.value > 0
        print(f"  best of {reruns:2}, chance {1 - item:.1f}: called better {better / runs:.3f}", flush=True)


PARTS = {"epochs": print_epochs, "needed": print_needed, "plan": print_plans, "margin": print_margins}
PARTS |= {"looks": print_looks, "reruns": print_reruns}


def main() -> None:
    """Parse the arguments, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated runs of each kind (default: 2,000)")
    parser.add_argument("--only", choices=PARTS, help="print one of the tables")
    arguments = parser.parse_args()
    print(f"{arguments.runs} simulated runs of each kind")
    for name, part in PARTS.items():
        if arguments.only in (None, name):
            print(name)
            part(arguments.runs)


if __name__ == "__main__":
    main()
