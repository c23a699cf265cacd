"""`halu-tasks plan`: the items, clusters and repeats that a comparison needs, and what a number of calls buys."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from halu_tasks.cli.arguments import add_json_argument, number, positive_int, positive_number
from halu_tasks.cli.output import print_json, warn
from halu_tasks.cli.tables import NONE, table
from halu_tasks.core.errors import UsageError

if TYPE_CHECKING:
    from halu_tasks.results.plan import ComparisonPlan, Pilot
    from halu_tasks.scorers.statistics.planning import Variances

HELP = "plan a comparison: how many items and repeats it needs, and what a number of calls can show"

ASSUMPTIONS = ("share", "discordance", "within", "cluster_size", "intraclass")
"""The options that replace a pilot."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    about = "a pilot: one result as for report, or two on the same items; without one, state --share"
    parser.add_argument("results", metavar="RESULTS", nargs="*", help=about)
    parser.add_argument("--metric", metavar="NAME", help="the pilot's metric (default: the headline metric)")
    parser.add_argument("--difference", type=number, metavar="D", help="the difference to detect, such as 0.03")
    parser.add_argument("--calls", type=positive_int, metavar="N", help="the number of calls of each model")
    parser.add_argument("--items", type=positive_int, metavar="N", help="how many items there are (default: no limit, "
                        "or the items of the pilot's task)")  # fmt: skip
    about = "the probability of detecting the difference (default: 0.8)"
    parser.add_argument("--power", type=number, default=0.8, metavar="P", help=about)
    for name, about in (
        ("share", "the share of items that one model has right; the other has this plus --difference"),
        ("correlation", "of the two models over items; 0 is the safe side"),
        ("discordance", "instead of --correlation: the share of items that only one of the models has right"),
        (
            "within",
            "the variance of a model's replies to the same item (default: not known, so no repeats are planned)",
        ),
        ("intraclass", "the correlation of the difference between two items of a cluster (default: 0)"),
    ):
        parser.add_argument(f"--{name}", type=number, metavar="X", help=about)
    about = "the number of items in a cluster (default: 1)"
    parser.add_argument("--cluster-size", type=positive_number, metavar="N", help=about)
    add_json_argument(parser, "tables")


def run(arguments: argparse.Namespace) -> int:
    """Plan, and print the plan."""
    from halu_tasks.results.plan import plan, read_pilot

    _check(arguments)
    pilot = read_pilot(arguments.results, arguments.metric, warn) if arguments.results else None
    planned = None
    if not pilot or arguments.difference or arguments.calls:
        available = arguments.items or (pilot.available if pilot else None)
        variances = _variances(arguments, pilot)
        planned = plan(
            variances, arguments.power, difference=arguments.difference, calls=arguments.calls, available=available
        )
    if arguments.json:
        print_json(_as_json(arguments, pilot, planned))
    else:
        parts = [_pilot_report(pilot)] if pilot else [_assumptions(arguments)]
        print("\n\n".join([*parts, *(_plan_report(planned) if planned else [])]))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise UsageError if options are missing, or contradict each other."""
    given = [f"--{name.replace('_', '-')}" for name in ASSUMPTIONS if getattr(arguments, name) is not None]
    if arguments.results and given:
        raise UsageError(f"{given[0]} is an assumption, which a pilot replaces; leave out the option or the results")
    if not arguments.results:
        if arguments.share is None or (arguments.difference is None and arguments.calls is None):
            raise UsageError("without a pilot, state --share, --difference or --calls, and --correlation or "
                             "--discordance")  # fmt: skip
        if arguments.metric:
            raise UsageError("--metric is the metric of a pilot; name a result")
    if arguments.difference == 0:
        raise UsageError("--difference: expected a number other than 0, since no number of items detects 0")
    if not 0.05 < arguments.power < 1:
        raise UsageError(f"--power: expected a probability above 0.05 and below 1, got {arguments.power:g}")
    if arguments.correlation is not None and not -1 <= arguments.correlation < 1:
        raise UsageError(f"--correlation: expected a number from -1 to below 1, got {arguments.correlation:g}")


def _variances(arguments: argparse.Namespace, pilot: Pilot | None) -> Variances:
    from halu_tasks.results.plan import of_pilot
    from halu_tasks.scorers.statistics.planning import assumed

    if pilot:
        return of_pilot(pilot, arguments.correlation)
    try:
        return assumed(
            arguments.share,
            arguments.difference or 0.0,
            correlation=arguments.correlation,
            discordance=arguments.discordance,
            within=arguments.within,
            cluster_size=arguments.cluster_size or 1.0,
            intraclass=arguments.intraclass or 0.0,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _stated(arguments: argparse.Namespace) -> dict[str, Any]:
    stated = {name: getattr(arguments, name) for name in (*ASSUMPTIONS, "correlation")}
    return {**stated, "cluster_size": stated["cluster_size"] or 1.0, "intraclass": stated["intraclass"] or 0.0}


def _as_json(arguments: argparse.Namespace, pilot: Pilot | None, planned: ComparisonPlan | None) -> dict[str, Any]:
    return {
        "pilot": pilot.as_json() if pilot else None,
        "assumptions": {"correlation": arguments.correlation} if pilot else _stated(arguments),
        "plan": planned.as_json() if planned else None,
    }


def _assumptions(arguments: argparse.Namespace) -> str:
    stated = {name: value for name, value in _stated(arguments).items() if value is not None}
    return "assumed: " + ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in stated.items())


def _pilot_report(pilot: Pilot) -> str:
    """Format the split of a pilot's variance, and what other numbers of repeats would have given."""
    run, known = pilot.runs[0], pilot.as_json()
    one = len(pilot.runs) == 1
    figure = f"{pilot.metric.name}: {pilot.value:.4f}" if one else f"{pilot.metric.name}, 1 - 2: {pilot.value:+.4f}"
    lines = [f"{number}: {run.source}" for number, run in enumerate(pilot.runs, 1)]
    lines.append(
        f"{run.task}  {figure}, standard error {pilot.stderr:.4f}  "
        f"{pilot.items:,} items in {pilot.clusters:,} clusters, {pilot.epochs} epochs"
    )
    variances = pilot.variances
    if variances.within is None:
        lines.append(
            f"variance per item: {variances.between:.4f}; how much of it comes from the replies is not known with one "
            "reply to each item"
        )
        return "\n".join(lines)
    lines.append(
        f"variance per item: {variances.between:.4f} between items + {variances.within:.4f} / epochs between replies "
        f"to the same item, {known['share_of_error_within']:.0%} of the squared error"
    )
    rows = [
        [str(epochs), f"{variances.stderr(pilot.items, epochs):.4f}"] for epochs in sorted({1, 2, 4, 8, pilot.epochs})
    ]
    rows.append(["any number", f"{(variances.between / pilot.items) ** 0.5:.4f}"])
    return "\n".join(lines) + "\n\n" + table(["epochs", "standard error, same items"], rows, right=(0, 1))


def _plan_report(planned: ComparisonPlan) -> list[str]:
    """Format the runs that are needed, and those that the calls buy."""
    parts = []
    if planned.difference is not None:
        limit = planned.available
        rows = [
            [
                f"{d.epochs}",
                f"{d.items:,}",
                f"{d.clusters:,}",
                f"{d.calls:,}",
                "no" if limit and d.items > limit else "",
            ]
            for d in planned.needed
        ]
        head = ["epochs", "items", "clusters", "calls per model"]
        if limit:
            head.append(f"at most {limit:,} items")
        rows = [row[: len(head)] for row in rows]
        title = f"needed to detect a difference of {planned.difference:g} with a probability of {planned.power:g}:"
        parts.append(f"{title}\n\n{table(head, rows, right=range(4))}" if rows else f"{title} any item, nothing varies")
    if planned.calls is not None:
        rows = [
            [
                f"{buy.design.epochs}",
                f"{buy.design.items:,}",
                f"{buy.design.calls:,}",
                f"{buy.stderr:.4f}",
                NONE if buy.smallest is None else f"{buy.smallest:.4f}",
            ]
            for buy in planned.bought
        ]
        head = ["epochs", "items", "calls per model", "standard error", "smallest difference"]
        title = f"what {planned.calls:,} calls of each model buy, the smallest error first:"
        parts.append(f"{title}\n\n{table(head, rows, right=range(5))}")
    return parts
