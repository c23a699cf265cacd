"""`plan`: the items, clusters and repeats that a comparison needs, and what a number of calls buys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import click

from halu_tasks.cli.command import Count
from halu_tasks.cli.output import print_record, warn
from halu_tasks.core.errors import UsageError

Number = Annotated[float, "X"]


def plan(
    results: Sequence[str] = (),
    *,
    metric: Annotated[str | None, "NAME"] = None,
    difference: Number | None = None,
    calls: Count | None = None,
    items: Count | None = None,
    power: Annotated[float, click.FloatRange(0.05, 1, min_open=True, max_open=True)] = 0.8,
    share: Number | None = None,
    correlation: Annotated[float | None, click.FloatRange(-1, 1, max_open=True), "X"] = None,
    discordance: Number | None = None,
    within: Number | None = None,
    intraclass: Number | None = None,
    cluster_size: Annotated[float | None, click.FloatRange(0, min_open=True), "N"] = None,
    json: bool = False,
) -> None:
    """Plan a comparison: how many items and repeats it needs, and what a number of calls can show.

    Args:
        results: a pilot: one result as for report, or two on the same items; without one, state --share
        metric: the pilot's metric (default: the headline metric)
        difference: the difference to detect, such as 0.03
        calls: the number of calls of each model
        items: how many items there are (default: no limit, or the items of the pilot's task)
        power: the probability of detecting the difference
        share: the share of items that one model has right; the other has this plus --difference
        correlation: of the two models over items; 0 is the safe side
        discordance: instead of --correlation, the share of items that only one of the models has right
        within: the variance of a model's replies to the same item (default: not known, so no repeats are planned)
        intraclass: the correlation of the difference between two items of a cluster (default: 0)
        cluster_size: the number of items in a cluster (default: 1)
        json: print one JSON object instead of YAML
    """
    from halu_tasks.results.plan import of_pilot, read_pilot
    from halu_tasks.results.plan import plan as plan_of
    from halu_tasks.scorers.statistics.planning import assumed

    if difference == 0:
        raise UsageError("--difference: expected a number other than 0, since no number of items detects 0")
    assumptions: dict[str, Any] = {
        "share": share,
        "discordance": discordance,
        "within": within,
        "cluster_size": cluster_size,
        "intraclass": intraclass,
    }
    pilot = None
    if results:
        if given := next((name for name, value in assumptions.items() if value is not None), None):
            flag = f"--{given.replace('_', '-')}"
            raise UsageError(f"{flag} is an assumption, which a pilot replaces; leave out the option or the results")
        pilot = read_pilot(results, metric, warn)
        stated: dict[str, Any] = {"correlation": correlation}
    else:
        if share is None or (difference is None and calls is None):
            raise UsageError(
                "without a pilot, state --share, --difference or --calls, and --correlation or --discordance"
            )
        if metric:
            raise UsageError("--metric is the metric of a pilot; name a result")
        stated = {**assumptions, "correlation": correlation}
        stated |= {"cluster_size": cluster_size or 1.0, "intraclass": intraclass or 0.0}
        try:
            assumed_variances = assumed(difference=difference or 0.0, **stated)
        except ValueError as error:
            raise UsageError(str(error)) from None
    planned = None
    if not pilot or difference or calls:
        variances = of_pilot(pilot, correlation) if pilot else assumed_variances
        available = items or (pilot.available if pilot else None)
        planned = plan_of(variances, power, difference=difference, calls=calls, available=available)
    print_record(
        {
            "pilot": pilot.record if pilot else None,
            "assumptions": stated,
            "plan": planned,
        },
        as_json=json,
    )
