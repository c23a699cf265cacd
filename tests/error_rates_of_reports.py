"""How often reports make false claims, and how often they find differences: `python tests/error_rates_of_reports.py`.

Models answer the items of some tasks, in clusters of 1 to 20 items (four on average). Clusters and items are hard for
all models, and clusters also for one model by itself. Every report compares all pairs of models on all tasks and on
their mean, and claims that one of two models is better by p-values that are adjusted together. They are computed for
all pairs at once, and those of the first report of each design are compared with the package's.

- equal: with equal models, each claim is false; the table has the share of reports with any false claim.
- power: one model is better than all others, which are equal, or ("stairs") each is better than the next. The table
  has the share of the true differences that are found, of the reports in which the best model leads on a task, and of
  reports with any false claim.
- plan: the same for the items that are planned for a power of 0.8, for one pair alone and for the report.
"""

import argparse
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from halu_tasks.scorers.metrics import mean, ratio
from halu_tasks.scorers.statistics.differences import LEVEL, difference_of, holm
from halu_tasks.scorers.statistics.jackknife import ErrorBasis, Jackknife, Sums, leave_out
from halu_tasks.scorers.statistics.planning import Variances, differences_of, needed

Floats = npt.NDArray[np.float64]

ACCURACY = mean("acc", "correct")


class Design(NamedTuple):
    """A kind of report.

    Attributes:
        models: The number of models.
        tasks: The number of tasks.
        clusters: The number of clusters in each task.
        share: The share of items that the models have right.
        better: By how much the first model has more items right.
        stairs: Whether each model has that much more right than the next one, the second less than `share` and so on.
        shared: Whether all tasks are asked about the same clusters.
        alone: Whether each item is a cluster.
    """

    models: int
    tasks: int
    clusters: int
    share: float = 0.7
    better: float = 0.0
    shared: bool = True
    alone: bool = False
    stairs: bool = False

    def __str__(self) -> str:
        clusters = f"{self.clusters} {'items' if self.alone else 'clusters'}{'' if self.shared else ' per task'}"
        return f"{self.models:2} models, {self.tasks} tasks, {clusters}, {self.share}{', stairs' * self.stairs}"


EQUAL = [
    *(Design(models, tasks, clusters) for clusters in (30, 200) for models in (2, 5, 10) for tasks in (1, 5)),
    *(Design(models, tasks, 200, 0.97, alone=True) for models in (2, 5, 10) for tasks in (1, 5)),
    *(Design(models, tasks, 500, 0.5, alone=True) for models, tasks in ((2, 1), (5, 5), (10, 5))),
    Design(10, 5, 200, 0.99, alone=True),
    Design(10, 5, 100, shared=False),
    Design(50, 1, 200),
]
"""Reports on equal models."""

UNEQUAL = [
    *(Design(models, tasks, 200, better=by) for by in (0.05, 0.1) for models in (2, 5, 10) for tasks in (1, 5)),
    *(Design(10, tasks, 200, 0.9, 0.07, alone=True) for tasks in (1, 5)),
    *(Design(10, tasks, 200, 0.8, by, stairs=True) for by in (0.002, 0.01, 0.05) for tasks in (1, 5)),
]
"""Reports in which the first model is better."""

REPORTS = (2, 1), (5, 1), (5, 5), (10, 5)
"""The numbers of models and tasks that are planned."""


def simulated_tables(rng: np.random.Generator, design: Design) -> tuple[list[Floats], list[Floats]]:
    """Return for each task the right items of each model by cluster, shape (C, M), and the items, shape (C,)."""
    clusters, models = design.clusters, design.models
    shares = design.share + design.better * (1.0 - np.arange(models))
    skills = ndtri(shares if design.stairs else shares.clip(design.share))
    rights, sizes = [], []
    shared = rng.normal(size=clusters), rng.normal(size=(clusters, models))
    for _ in range(design.tasks):
        if not design.shared:
            shared = rng.normal(size=clusters), rng.normal(size=(clusters, models))
        size = np.ones(clusters, int) if design.alone else np.minimum(rng.geometric(0.25, clusters), 20)
        cluster = np.repeat(np.arange(clusters), size)
        hard = math.sqrt(0.2) * shared[0][cluster] + math.sqrt(0.3) * rng.normal(size=len(cluster))
        alone = math.sqrt(0.2) * shared[1][cluster] + math.sqrt(0.3) * rng.normal(size=(len(cluster), models))
        right = (hard[:, None] + alone < skills).astype(float)
        rights.append(np.add.reduceat(right, np.concatenate([[0], np.cumsum(size)[:-1]])))
        sizes.append(size.astype(float))
    return rights, sizes


class Place(NamedTuple):
    """A task or a mean: the accuracy of M models, and without each cluster, shape (C, M)."""

    values: Floats
    without: Floats


def places(rng: np.random.Generator, design: Design) -> list[Place]:
    """Simulate a report's tasks, and their mean if there are several."""
    rights, sizes = simulated_tables(rng, design)
    tasks = [
        Place(right.sum(axis=0) / size.sum(), (right.sum(axis=0) - right) / (size.sum() - size)[:, None])
        for right, size in zip(rights, sizes, strict=True)
    ]
    if design.tasks == 1:
        return tasks
    without = [task.without for task in tasks]
    if not design.shared:  # a task has no part in the clusters of others
        without = [
            np.concatenate(
                [task.without if other == number else 0 * task.without + task.values for other in range(len(tasks))]
            )
            for number, task in enumerate(tasks)
        ]
    return [*tasks, Place(np.mean([task.values for task in tasks], axis=0), np.mean(without, axis=0))]


def p_values(place: Place, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Compute the differences of pairs of models and their p-values alone."""
    clusters = len(place.without)
    values = place.values[first] - place.values[second]
    changes = (place.without - place.values)[:, first] - (place.without - place.values)[:, second]
    changes -= changes.mean(axis=0)
    scale = (clusters - 1) / clusters
    variance, fourth = scale * (changes**2).sum(axis=0), scale**2 * (changes**4).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        unexplained = fourth / variance**2 - 1 / clusters
        degrees = np.clip(np.where(unexplained > 0, 2 / unexplained, np.inf), 1, clusters - 1)
        p = 2 * stdtr(degrees, -np.abs(values) / np.sqrt(variance))
    constant = 2 * stdtr(clusters - 1, -np.sqrt(clusters * np.abs(values)))
    return values, np.where(variance > 1e-18, p, constant)


def check(place: Place, found: Floats, pairs: Sequence[tuple[int, int]]) -> None:
    """Compare p-values with those of the package."""
    clusters = len(place.without)
    contributes, basis = np.ones(clusters, dtype=bool), ErrorBasis(clusters, ACCURACY.range)
    models = [
        Jackknife(float(value), without, contributes, basis)
        for value, without in zip(place.values, place.without.T, strict=True)
    ]
    known = [difference_of(ACCURACY, models[i], models[j], 0) for i, j in pairs]
    np.testing.assert_allclose(found, [one.p for one in known if one], rtol=1e-6)


def print_rates(designs: Sequence[Design], runs: int) -> None:
    """Simulate reports of each design, and print the rates of claims."""
    for design in designs:
        rng = np.random.default_rng([*design[:3], round(1000 * design.share), round(1000 * design.better)])
        first, second = np.triu_indices(design.models, 1)
        # of two models that differ in truth, the first is better
        differ = np.broadcast_to((first == 0) | design.stairs, len(first)) & (design.better > 0)
        false, wrong, found, leads = 0, 0, [], []
        for run in range(runs):
            measured = places(rng, design)
            tests = [p_values(place, first, second) for place in measured]
            if not run:
                for place, (_, p) in zip(measured, tests, strict=True):
                    check(place, p, list(zip(first, second, strict=True)))
            values = np.stack([value for value, _ in tests])
            adjusted = holm(np.concatenate([p for _, p in tests]).tolist())
            claimed = np.reshape(np.array(adjusted, dtype=np.float64) < LEVEL, values.shape)
            wrong += bool((claimed & differ & (values < 0)).any())
            false += bool((claimed & (~differ | (values < 0))).any())
            right = claimed & (values > 0)
            found.append([right[: design.tasks, differ].mean(), right[-1, differ].mean()] if design.better else [])
            leads.append(right[: design.tasks, first == 0].all(axis=1).mean())
        line = f"  {design!s:52} any false claim: {false / runs:.3f}"
        if design.better:
            tasks, means = np.mean(found, axis=0)
            line += f", wrong direction {wrong / runs:.4f}; +{design.better:.3f} found: tasks {tasks:.3f}"
            line += f"; mean {means:.3f}" * (design.tasks > 1) + f"; leads {np.mean(leads):.3f}"
        print(line, flush=True)


def planned(by: float, *, alone: bool, models: int, tasks: int) -> int:
    """Plan the clusters with which a report of so many models and tasks finds a difference, with a power of 0.8."""
    (right,), (size,) = simulated_tables(np.random.default_rng(0), Design(2, 1, 200_000, better=by, alone=alone))
    nothing = np.zeros((len(size), 0), dtype=bool)
    one, other = (
        leave_out(ratio, Sums(np.column_stack([own, size]), nothing), ACCURACY.error_basis) for own in right.T
    )
    moments = one.minus(other).moments
    assert moments
    design = needed(
        Variances(moments.second * size.sum(), None, float(size.mean())),
        by,
        1,
        level=LEVEL / differences_of(models, tasks),
    )
    assert design
    return design.clusters


def print_plans(runs: int) -> None:
    """Print what reports find with the items that are planned for a pair alone, and for the report."""
    for alone, by in ((False, 0.05), (True, 0.05), (False, 0.15)):
        for models, tasks in REPORTS:
            for report in dict.fromkeys([(2, 1), (models, tasks)]):
                clusters = planned(by, alone=alone, models=report[0], tasks=report[1])
                print(f"planned for {report[0]} models on {report[1]} tasks")
                print_rates([Design(models, tasks, clusters, better=by, alone=alone)], runs)


def main() -> None:
    """Parse the arguments, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated reports of each kind (default: 2,000)")
    parser.add_argument("--only", choices=("equal", "power", "plan"), help="print one of the tables")
    arguments = parser.parse_args()
    print(f"{arguments.runs} simulated reports of each kind")
    for name, designs in {"equal": EQUAL, "power": UNEQUAL, "plan": None}.items():
        if arguments.only in (None, name):
            print(name)
            print_rates(designs, arguments.runs) if designs else print_plans(arguments.runs)


if __name__ == "__main__":
    main()
