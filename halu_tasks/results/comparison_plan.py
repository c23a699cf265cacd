"""Planning a comparison: what it needs, what a number of calls buys, and where the error of earlier runs came from."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.results.comparability import chosen_metrics, shared_items, why_not_paired
from halu_tasks.results.read import read_and_warn
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import estimate
from halu_tasks.scorers.statistics import planning
from halu_tasks.scorers.statistics.differences import LEVEL, difference, items_of

EPOCHS = (1, 2, 4, 8)
"""The numbers of repeats that are planned."""


def read_pilot(
    paths: Sequence[str], metric: str | None, warn: Callable[[str], None]
) -> tuple[dict[str, Any], planning.Variances, int, float]:
    """Read one run, or two on the same items, and estimate the variances of its figure, or of their difference.

    Args:
        paths: Results, or folders that contain some.
        metric: The name of a metric; None for the task's headline metric.
        warn: Called with a message for each file that cannot be read.

    Returns:
        The variances with what they come from, as JSON values; the variances; how many items the task has; and the
        largest difference that the metric's range allows.

    Raises:
        DataError: There are no runs, they cannot be compared, or their variances cannot be estimated.
        UsageError: There are more than two runs, or the task has no such metric.
    """
    runs, _ = read_and_warn(paths, warn)
    if len(runs) > 2:
        kinds = f"one result of one task, or two; {', '.join(paths)} has {len(runs)}"
        raise UsageError(f"a plan takes {kinds}; name the file of each, such as {runs[0].source}")
    first, *others = runs
    if others and (why := why_not_paired(first, others[0])):
        raise DataError(why)
    (chosen,) = chosen_metrics(first, [metric] if metric else [])
    shared = shared_items(first, others[0] if others else first)
    scores = [[score for score in run.scores if score.id in shared] for run in runs]
    try:
        variances = planning.variances_of(chosen, *scores)
    except ValueError as error:
        raise UsageError(f"{error}; choose another metric with --metric") from None
    figure = difference(chosen, scores[0], scores[1]) if others else estimate(chosen, by_cluster(scores[0]))
    if variances is None or figure is None or figure.stderr is None:
        raise DataError(f"{first.source}: {chosen.name} has no standard error, and so no variance to plan with")
    items, within = items_of(chosen, scores[0]), variances.within
    replies = None if within is None else within / first.epochs / items
    record = {
        "sources": [run.source for run in runs],
        "task": first.task,
        "metric": chosen.name,
        "value": figure.value,
        "stderr": figure.stderr,
        "items": items,
        "clusters": round(items / variances.cluster_size),
        "epochs": first.epochs,
        "between": variances.between,
        "within": within,
        "share_of_error_within": None if replies is None else min(replies / figure.stderr**2, 1.0),
    }
    return record, variances, max(first.provenance.items, items), chosen.range[1] - chosen.range[0]


def plan(
    variances: planning.Variances,
    power: float,
    *,
    difference: float | None = None,
    calls: int | None = None,
    available: int | None = None,
    most: float = math.inf,
    comparisons: int = 1,
    looks: int = 1,
) -> dict[str, Any]:
    """Plan a comparison of two models, in a report that says which is better.

    Args:
        variances: The variance of the difference.
        power: The probability with which the difference is to be detected.
        difference: The difference to detect; None to plan no needed runs.
        calls: The number of calls of each model; None to plan no budget.
        available: The number of different items that there are; None for no limit.
        most: The largest difference that is possible.
        comparisons: The number of differences in the report, which are tested together.
        looks: How often the report is looked at, after equal parts of the items.

    Returns:
        The arguments as JSON values, with the runs that the difference `needed`, by the number of repeats, and those
        that are `bought` with the calls, the smallest error first: the standard error of the difference (`stderr`), and
        the `smallest` difference that each detects; None if it detects none that is possible. With several looks, each
        run has the items of each, and the bound below which the adjusted p-value must be.
    """
    level = LEVEL / comparisons
    levels, inflation = planning.looks_at(looks, power, level)
    inflated = variances.times(inflation)

    def record(design: planning.Design) -> dict[str, Any]:
        parts = [
            {"items": math.ceil(design.items * number / looks), "p_adjusted": own * comparisons}
            for number, own in enumerate(levels, 1)
        ]
        return {**design._asdict(), "calls": design.calls, **({"looks": parts} if looks > 1 else {})}

    repeats = EPOCHS if variances.within else (1,)
    designs = [planning.needed(inflated, difference, epochs, power, level) for epochs in repeats] if difference else []
    bought = []
    for design in planning.affordable(variances, calls, available) if calls else []:
        stderr = variances.stderr(design.items, design.epochs)
        smallest = planning.smallest(inflated, design, power, level)
        detects = smallest is not None and smallest <= most
        bought.append(record(design) | {"stderr": stderr, "smallest": smallest if detects else None})
    return {
        "variances": variances._asdict(),
        "power": power,
        "comparisons": comparisons,
        "difference": difference,
        "needed": [record(design) for design in designs if design],
        "calls": calls,
        "available": available,
        "bought": bought,
    }


def of_pilot(variances: planning.Variances, runs: int, correlation: float | None) -> planning.Variances:
    """Return the variance of the difference between two models, from a pilot.

    Args:
        variances: The variances of the pilot.
        runs: The number of its runs.
        correlation: For a pilot of one run, the correlation between both models over items.

    Raises:
        UsageError: A correlation is given with two runs, or is missing with one.
    """
    if runs == 2:
        if correlation is not None:
            raise UsageError("--correlation is for a pilot of one run; two runs have their own")
        return variances
    if correlation is None:
        needs = "--correlation, between it and the other model, such as 0.2; 0 is the safe side"
        raise UsageError(f"a pilot of one run needs {needs}")
    return planning.of_difference(variances, correlation)
