"""`report`, `plan`, `export` and `label verdicts`: what results say, what they would need, and where else they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from halu_tasks.cli.command import Output
from halu_tasks.cli.output import EXIT_PARTIAL, pluralize, print_json, print_record, say, table, warn
from halu_tasks.core.errors import UsageError
from halu_tasks.core.settings import Count, Help

if TYPE_CHECKING:
    from halu_tasks.report.report_records import Report
    from halu_tasks.scorers.statistics.planning import Variances

ModelIds = Annotated[Sequence[str], "NAME=ORGANIZATION/NAME"]
Number = Annotated[float, "X"]


def report(
    results: Annotated[
        Sequence[str],
        Help(
            "an lm-eval folder or results file, an Inspect log, the output of `score --json`, or a "
            "folder of any of these; and files of your own groups (.yaml), whose means are added"
        ),
    ],
    *,
    output: Annotated[Output, Help("where to write")] = Path("report"),
    title: Annotated[str, Help("the heading of the page")] = "Hallucination benchmarks",
    reference: Annotated[
        str | None,
        "FILE",
        Help("better labels of judged replies (halu-tasks label verdicts), by which judged rates are corrected"),
    ] = None,
    pairs: Annotated[bool, Help("print figures, costs and differences of all pairs instead, as Markdown")] = False,
    metric: Annotated[
        Sequence[str], "NAME", Help("for --pairs, a metric to compare instead of the headline metric")
    ] = (),
    margin: Annotated[
        float | None,
        Gt(0),
        "DIFFERENCE",
        Help("also test whether differences are smaller than this, such as 0.02 for two points: equal instead of open"),
    ] = None,
    published: Annotated[
        bool, Help("show published figures, which cannot be tested, as rows of the leaderboard")
    ] = False,
    json: Annotated[bool, Help("for --pairs, print one JSON object instead of Markdown")] = False,
) -> int:
    """Run `halu-tasks report`."""
    unused = {"--reference": reference} if pairs else {"--metric": metric, "--json": json}
    if flag := next((flag for flag, value in unused.items() if value), None):
        raise UsageError(f"{flag} cannot be combined with --pairs" if pairs else f"{flag} needs --pairs")
    if pairs:
        from halu_tasks.report.page import as_json, markdown
        from halu_tasks.report.write import compare_paths

        compared, incomplete = compare_paths(results, metric, warn, margin)
        if json:
            print_json(as_json(compared))
        else:
            say(markdown(compared, metric, published=published))
        return EXIT_PARTIAL if incomplete else 0
    from halu_tasks.report.write import FILES, write_report

    folder = output.expanduser()
    written = write_report(results, folder, title, warn, reference=reference, margin=margin, published=published)
    say(f"{summary(folder, written)}; in the same folder: {', '.join(FILES[1:])}")
    return EXIT_PARTIAL if any(skipped.lost for skipped in written.skipped) else 0


def summary(folder: Path, report: Report) -> str:
    """Return the page of a report that was written, and what it contains."""
    tasks = sum(column.main for column in report.columns)
    skipped = len(report.not_read)
    parts = [pluralize(len(report.entries), "entry", "entries"), pluralize(tasks, "task", "tasks")]
    apart = len(report.columns) - tasks
    parts += [pluralize(apart, "column", "columns") + " apart"] if apart else []
    parts += [f"{skipped} not read"] if skipped else []
    return f"{folder / 'index.html'}: {', '.join(parts)}"


def plan(
    results: Annotated[
        Sequence[str], Help("a pilot: one result as for report, or two on the same items; without one, state --share")
    ] = (),
    *,
    metric: Annotated[str | None, "NAME", Help("the pilot's metric (default: the headline metric)")] = None,
    difference: Annotated[Number | None, Help("the difference to detect, such as 0.03")] = None,
    calls: Annotated[Count | None, Help("the number of calls of each model")] = None,
    items: Annotated[
        Count | None, Help("how many items there are (default: no limit, or the items of the pilot's task)")
    ] = None,
    models: Annotated[int, Ge(2), "M", Help("how many models the report compares")] = 2,
    tasks: Annotated[int, Ge(1), "T", Help("how many tasks the report has; several have a mean, too")] = 1,
    looks: Annotated[
        int,
        Ge(1),
        Le(100),
        "K",
        Help("how often the report is looked at, after equal parts of the items; each look has a bound of its own"),
    ] = 1,
    power: Annotated[
        float,
        Gt(0.05),
        Lt(1),
        Help("the probability that the report calls the better of two models better on one task"),
    ] = 0.8,
    share: Annotated[
        Number | None, Help("the share of items that one model has right; the other has this plus --difference")
    ] = None,
    correlation: Annotated[
        float | None,
        Ge(-1),
        Lt(1),
        "X",
        Help("of the two models over items; ReFACT's models have 0.06 to 0.32, and 0 is the safe side"),
    ] = None,
    within: Annotated[
        Number | None,
        Help("the variance of a model's replies to the same item (default: not known, so no repeats are planned)"),
    ] = None,
    intraclass: Annotated[
        Number | None, Help("the correlation of the difference between two items of a cluster (default: 0)")
    ] = None,
    cluster_size: Annotated[float | None, Gt(0), "N", Help("the number of items in a cluster (default: 1)")] = None,
    json: Annotated[bool, Help("print one JSON object instead of YAML")] = False,
) -> None:
    """Run `halu-tasks plan`."""
    from halu_tasks.results.comparison_plan import of_pilot, read_pilot
    from halu_tasks.results.comparison_plan import plan as plan_of
    from halu_tasks.scorers.statistics.planning import differences_of

    if difference == 0:
        raise UsageError("--difference: expected a number other than 0, since no number of items detects 0")
    values = {"share": share, "within": within, "intraclass": intraclass, "cluster_size": cluster_size}
    assumptions = {name: value for name, value in values.items() if value is not None}
    if results and assumptions:
        flag = f"--{next(iter(assumptions)).replace('_', '-')}"
        raise UsageError(f"{flag} is an assumption, which a pilot replaces; leave out the option or the results")
    if metric and not results:
        raise UsageError("--metric is the metric of a pilot; name a result")
    pilot, variances, pilot_width = None, None, 1.0
    if not results:
        variances = _assumed(assumptions, difference, calls, correlation)
    else:
        pilot, of_pilot_run, available, pilot_width = read_pilot(results, metric, warn)
        if difference or calls:
            variances = of_pilot(of_pilot_run, len(pilot["sources"]), correlation)
            items = items or available
    planned = None
    if variances:
        family = {"comparisons": differences_of(models, tasks), "looks": looks}
        most = pilot_width if share is None else max(share, 1 - share)
        planned = plan_of(variances, power, difference=difference, calls=calls, available=items, most=most, **family)
        for run in planned["bought"]:
            if run["smallest"] is None:
                warn(f"{run['items']:,} items (epochs: {run['epochs']}) detect no difference that two models can have")
    record = {"pilot": pilot, "assumptions": {**assumptions, "correlation": correlation}, "plan": planned}
    print_record(record, as_json=json)


def _assumed(
    assumptions: Mapping[str, float], difference: float | None, calls: int | None, correlation: float | None
) -> Variances:
    from halu_tasks.scorers.statistics.planning import assumed

    needed = {
        "--share 0.7 (of the items that one model has right)": "share" in assumptions,
        "--difference 0.05 (or --calls 2000)": difference is not None or calls is not None,
        "--correlation 0.2 (of the two models over items; 0 is the safe side)": correlation is not None,
    }
    if lacking := [flag for flag, is_given in needed.items() if not is_given]:
        raise UsageError(f"without a pilot, the plan lacks {', '.join(lacking)}; the values are examples")
    try:
        return assumed(difference=difference or 0.0, correlation=correlation or 0.0, **assumptions)
    except ValueError as error:
        raise UsageError(str(error)) from None


def eee(
    results: Annotated[Sequence[str], Help("results as for report")],
    *,
    output: Annotated[Output, Help("where to write; files that are there are not replaced")],
    model_id: Annotated[ModelIds, Help("the id of a model on the Hub, by its name in the results")] = (),
    organization: Annotated[str, "NAME", Help("the organization that publishes the results")] = "unknown",
    relationship: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"], Help("what it is to those who made the model")
    ] = "other",
) -> int:
    """Run `halu-tasks export eee`."""
    from halu_tasks.exports.every_eval_ever import export_eee

    publisher = {"source_organization_name": organization, "evaluator_relationship": relationship}
    return _print_files(*export_eee(results, output.expanduser(), _ids(model_id, "--model-id"), warn, publisher))


def hub(
    results: Annotated[Sequence[str], Help("results as for report")],
    *,
    output: Annotated[Output, Help("where to write; files that are there are not replaced")],
    model_id: Annotated[ModelIds, Help("the id of a model on the Hub, by its name in the results")] = (),
    dataset: Annotated[
        Sequence[str],
        "BENCHMARK=OWNER/NAME",
        Help(
            "the dataset of the Hub with the leaderboard of a benchmark, for results whose data are "
            "not from there; BENCHMARK is a name from `halu-tasks data`"
        ),
    ] = (),
    partial: Annotated[
        bool, Help("also export results on a part of the items (`--limit`); their notes say of how many")
    ] = False,
    source: Annotated[str | None, "URL", Help("an address where the results are published in full")] = None,
) -> int:
    """Run `halu-tasks export hub`."""
    from halu_tasks.exports.hub_results import export_hub

    ids, datasets = _ids(model_id, "--model-id"), _ids(dataset, "--dataset")
    written = export_hub(results, output.expanduser(), ids, warn, datasets=datasets, source=source, partial=partial)
    return _print_files(*written)


def _ids(arguments: Sequence[str], flag: str) -> dict[str, str]:
    """Parse arguments `NAME=OWNER/NAME`; the first name may contain `=`.

    Raises:
        UsageError: An argument is not of this form, or gives a name two ids.
    """
    ids: dict[str, str] = {}
    for text in arguments:
        name, _, id = text.rpartition("=")
        owner, _, rest = id.partition("/")
        if not (name and owner and rest) or "/" in rest or not id.isprintable() or " " in id:
            raise UsageError(f"{flag}: expected NAME=OWNER/NAME, got {text!r}")
        if ids.setdefault(name, id) != id:
            raise UsageError(f"{flag}: {name!r} is given two ids, {ids[name]} and {id}")
    return ids


def _print_files(files: Sequence[Path], incomplete: bool) -> int:
    for file in files:
        say(file)
    return EXIT_PARTIAL if incomplete else 0


def verdicts(
    results: Annotated[Sequence[str], Help("results of a judged task, as for report")],
    *,
    output: Annotated[
        Path, "-o", "--output", "LABELS", Help("where to write: JSON Lines if it ends in .jsonl, otherwise CSV")
    ],
    sample: Annotated[Count, Help("about how many verdicts of each model; whole replies are drawn")] = 150,
    half_reported: Annotated[
        bool, Help("draw half of them from replies that the judge reported, where these are rare")
    ] = False,
    seed: Annotated[int, Help("seed of the sample")] = 0,
) -> int:
    """Run `halu-tasks label verdicts`."""
    from halu_tasks.results.verdict_labels import draw_verdicts

    drawn, warnings = draw_verdicts(results, sample, seed, output, half_reported)
    say(table(drawn))
    say(
        f"\nwrite one of the labels in 'label' of {output} (of two, yes is the bad one) and your name in 'by', then: "
        f"halu-tasks report RESULTS --reference {output}, or --reference with halu-tasks score"
    )
    for warning in warnings:
        warn(warning)
    return EXIT_PARTIAL if warnings else 0
