"""Planning a comparison: what it needs, what a number of calls buys, and where the error of earlier runs came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.results.comparability import chosen_metrics, not_paired
from halu_tasks.results.readers.read import read_results
from halu_tasks.results.run import Run
from halu_tasks.scorers.metrics import Metric, by_cluster, estimate
from halu_tasks.scorers.statistics.differences import difference, items_of
from halu_tasks.scorers.statistics.planning import (
    Design,
    Variances,
    affordable,
    needed,
    of_difference,
    smallest,
    variances_of,
)

EPOCHS = (1, 2, 4, 8)
"""The numbers of repeats that are planned."""


@dataclass(frozen=True)
class Pilot:
    """Earlier runs whose variances are used.

    Attributes:
        runs: One run, or two on the same items.
        metric: The metric.
        value: The run's figure, or the first run's minus the second's.
        stderr: Its standard error.
        items: The number of items.
        clusters: The number of clusters.
        variances: The variances of the figure, or of the difference.
    """

    runs: Sequence[Run]
    metric: Metric
    value: float
    stderr: float
    items: int
    clusters: int
    variances: Variances

    @property
    def epochs(self) -> int:
        """How many times each item was answered."""
        return self.runs[0].epochs

    @property
    def available(self) -> int:
        """How many items the task has."""
        return max(self.runs[0].provenance.items, self.items)

    def as_json(self) -> dict[str, Any]:
        """Return the variances and what they come from as JSON values."""
        within = self.variances.within
        replies = None if within is None else within / self.epochs / self.items
        return {
            "sources": [run.source for run in self.runs],
            "task": self.runs[0].task,
            "metric": self.metric.name,
            "value": self.value,
            "stderr": self.stderr,
            "items": self.items,
            "clusters": self.clusters,
            "epochs": self.epochs,
            "between": self.variances.between,
            "within": within,
            "share_of_error_within": None if replies is None else min(replies / self.stderr**2, 1.0),
        }


@dataclass(frozen=True)
class Buy:
    """A run that a number of calls buys.

    Attributes:
        design: The run.
        stderr: The standard error of the difference.
        smallest: The smallest difference that it detects; None if it has too few clusters.
    """

    design: Design
    stderr: float
    smallest: float | None


@dataclass(frozen=True)
class ComparisonPlan:
    """A plan.

    Attributes:
        variances: The variance of the difference between the two models.
        power: The probability with which the difference is to be detected.
        difference: The difference to detect, if one is planned for.
        needed: The runs that it needs, by the number of repeats.
        calls: The number of calls of each model, if one is given.
        available: The number of different items that there are; None for no limit.
        bought: The runs that the calls buy, the smallest error first.
    """

    variances: Variances
    power: float
    difference: float | None
    needed: Sequence[Design]
    calls: int | None
    available: int | None
    bought: Sequence[Buy]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "variances": self.variances._asdict(),
            "power": self.power,
            "difference": self.difference,
            "needed": [{**design._asdict(), "calls": design.calls} for design in self.needed],
            "calls": self.calls,
            "available": self.available,
            "bought": [
                {**buy.design._asdict(), "calls": buy.design.calls, "stderr": buy.stderr, "smallest": buy.smallest}
                for buy in self.bought
            ],
        }


def read_pilot(paths: Sequence[str], metric: str | None, warn: Callable[[str], None]) -> Pilot:
    """Read one run, or two on the same items, and estimate their variances.

    Args:
        paths: Results, or folders that contain some.
        metric: The name of a metric; None for the task's headline metric.
        warn: Called with a message for each file that cannot be read.

    Raises:
        DataError: The runs cannot be compared, or their variances cannot be estimated.
        UsageError: There are other numbers of runs than one and two, or the task has no such metric.
    """
    runs: list[Run] = []
    for path in paths:
        results = read_results([path])
        for skipped in results.skipped:
            warn(f"not read: {skipped.source}: {skipped.why}")
        runs += results.runs
    if len(runs) not in (1, 2):
        raise UsageError(f"a plan takes one result or two on the same items; {', '.join(paths)} has {len(runs)}")
    first, *others = runs
    for other in others:
        if other.identity == first.identity:
            raise UsageError(f"the run in {other.source} is named twice (also in {first.source})")
        if why := not_paired(first, other):
            raise DataError(
                f"{other.source} cannot be compared with {first.source}: {'; '.join(f'it {unlike}' for unlike in why)}"
            )
    (chosen,) = chosen_metrics(first.benchmark_task, first.scoring, [metric] if metric else [])
    scores = [run.scores for run in runs]
    try:
        variances = variances_of(chosen, *scores)
    except ValueError as error:
        raise UsageError(f"{error}; choose another metric with --metric") from None
    figure = difference(chosen, scores[0], scores[1]) if others else estimate(chosen, by_cluster(first.scores))
    if variances is None or figure is None or figure.stderr is None:
        raise DataError(f"{first.source}: {chosen.name} has no standard error, and so no variance to plan with")
    items = items_of(chosen, first.scores)
    clusters = round(items / variances.cluster_size)
    return Pilot(runs, chosen, figure.value, figure.stderr, items, clusters, variances)


def plan(
    variances: Variances,
    power: float,
    *,
    difference: float | None = None,
    calls: int | None = None,
    available: int | None = None,
) -> ComparisonPlan:
    """Plan a comparison of two models.

    Args:
        variances: The variance of the difference.
        power: The probability with which the difference is to be detected.
        difference: The difference to detect; None to plan no needed runs.
        calls: The number of calls of each model; None to plan no budget.
        available: The number of different items that there are; None for no limit.
    """
    repeats = EPOCHS if variances.within else (1,)
    designs = [needed(variances, difference, epochs, power) for epochs in repeats] if difference else []
    bought = affordable(variances, calls, available) if calls else []
    return ComparisonPlan(
        variances=variances,
        power=power,
        difference=difference,
        needed=[design for design in designs if design],
        calls=calls,
        available=available,
        bought=[
            Buy(design, variances.stderr(design.items, design.epochs), smallest(variances, design, power))
            for design in bought
        ],
    )


def of_pilot(pilot: Pilot, correlation: float | None) -> Variances:
    """Return the variance of the difference between two models, from a pilot.

    Args:
        pilot: The pilot.
        correlation: For a pilot of one model, the correlation between both models over items.

    Raises:
        UsageError: A correlation is given with two runs, or is missing with one.
    """
    if len(pilot.runs) > 1:
        if correlation is not None:
            raise UsageError("--correlation is for a pilot of one run; two runs have their own")
        return pilot.variances
    if correlation is None:
        raise UsageError("a pilot of one run needs --correlation, between it and the other model; 0 is the safe side")
    return of_difference(pilot.variances, correlation)
