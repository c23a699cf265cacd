"""How often reports make false claims, and how often they find differences: `python tests/error_rates_of_reports.py`.

Models answer the items of some tasks, in clusters of 1 to 20 items (four on average). Clusters and items are hard for
all models, and clusters also for one model by itself. Every report compares all pairs of models on all tasks and on
their mean. A claim is that one of two models is better, by `differences.adjusted_p_values`, which adjusts all p-values
of the report at once.

With equal models, each claim is false, and the first table prints the share of reports with any false claim. In the
second table, one model is better than all others, which are equal, or ("stairs") each is better than the next. The
table prints the share of the true differences that are found, and the share of reports with any false claim.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from halu_tasks.scorers.metrics import mean, ratio
from halu_tasks.scorers.statistics.differences import LEVEL, Contrast, adjusted_p_values, difference_of, influence
from halu_tasks.scorers.statistics.jackknife import LeftOut, Sums, leave_out

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
    Design(10, 5, 200, 0.99, alone=True),
    Design(10, 5, 100, shared=False),
]
"""Reports on equal models."""

UNEQUAL = [
    *(Design(models, tasks, 200, better=by) for by in (0.05, 0.1) for models in (2, 5, 10) for tasks in (1, 5)),
    *(Design(10, tasks, 200, 0.9, 0.07, alone=True) for tasks in (1, 5)),
    *(Design(10, tasks, 200, 0.8, 0.05, stairs=True) for tasks in (1, 5)),
]
"""Reports in which the first model is better."""


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


class Measure(NamedTuple):
    """A task, or the mean over the tasks: the accuracy of all models, and the names of the clusters."""

    models: list[LeftOut]
    names: list[str]
    items: int


def measures(rng: np.random.Generator, design: Design) -> Iterator[Measure]:
    """Simulate a report's tasks, and their mean if there are several."""
    rights, sizes = simulated_tables(rng, design)
    names = [[f"{0 if design.shared else task}-{c}" for c in range(design.clusters)] for task in range(design.tasks)]
    every = names[0] if design.shared else [name for own in names for name in own]
    parts: list[list[LeftOut]] = [[] for _ in range(design.models)]
    for task, (right, size) in enumerate(zip(rights, sizes, strict=True)):
        for model in range(design.models):
            table = np.zeros((len(every), 2))
            table[[every.index(name) for name in names[task]]] = np.column_stack([right[:, model], size])
            nothing = np.zeros((len(table), 0), dtype=bool)
            parts[model].append(leave_out(ratio, Sums(table, nothing)))
        yield Measure([own[-1] for own in parts], every, int(size.sum()))
    if design.tasks > 1:
        yield Measure([LeftOut.mean(own) for own in parts], every, int(sum(map(np.sum, sizes))))


class Claim(NamedTuple):
    """A difference of a report, and whether it is claimed. `task` is None for the mean."""

    task: int | None
    pair: tuple[int, int]
    value: float
    claimed: bool


def claims(rng: np.random.Generator, design: Design, draws: int) -> list[Claim]:
    """Simulate a report, and return all its differences."""
    where, contrasts = [], []
    for number, measure in enumerate(measures(rng, design)):
        influences = [influence(model, measure.names, "") for model in measure.models]
        for i, j in combinations(range(design.models), 2):
            if difference := difference_of(ACCURACY, measure.models[i], measure.models[j], measure.items):
                where.append((number if number < design.tasks else None, (i, j)))
                contrasts.append(Contrast(difference.value, difference.p, influences[i], influences[j]))
    adjusted = adjusted_p_values(contrasts, draws, seed=int(rng.integers(2**32)))
    return [
        Claim(*place, contrast.value, p is not None and p < LEVEL)
        for place, contrast, p in zip(where, contrasts, adjusted, strict=True)
    ]


def print_rates(designs: Sequence[Design], runs: int, draws: int) -> None:
    """Simulate reports of each design, and print the rates of claims."""
    for design in designs:
        rng = np.random.default_rng([design.models, design.tasks, design.clusters, round(1000 * design.share)])
        false_reports = 0
        found: dict[str, list[float]] = {"tasks": [], "means": []}
        for _ in range(runs):
            is_false = False
            for claim in claims(rng, design, draws):
                # of two models that differ in truth, the first is better
                differs = design.better and (design.stairs or claim.pair[0] == 0)
                is_false |= claim.claimed and (not differs or claim.value < 0)
                if differs:
                    found["means" if claim.task is None else "tasks"].append(claim.claimed and claim.value > 0)
            false_reports += is_false
        line = f"  {design!s:52} any false claim: {false_reports / runs:.3f}"
        if design.better:
            shares = "; ".join(f"{kind} {np.mean(own):.3f}" for kind, own in found.items() if own)
            line += f"; +{design.better} found: {shares}"
        print(line, flush=True)


def main() -> None:
    """Parse the arguments, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated reports of each kind (default: 2,000)")
    parser.add_argument(
        "--draws",
        type=int,
        default=1_000,
        help="draws of the adjustment (default: 1,000; reports use 10,000, which is slower and a little stricter)",
    )
    parser.add_argument("--only", choices=("equal", "power"), help="print one of the tables")
    arguments = parser.parse_args()
    print(f"{arguments.runs} simulated reports of each kind, {arguments.draws} draws")
    if arguments.only in (None, "equal"):
        print("equal models")
        print_rates(EQUAL, arguments.runs, arguments.draws)
    if arguments.only in (None, "power"):
        print("one better model")
        print_rates(UNEQUAL, arguments.runs, arguments.draws)


if __name__ == "__main__":
    main()
