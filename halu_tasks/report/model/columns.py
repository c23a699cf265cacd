"""The records of a report's columns and groups, and of the results in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from halu_tasks.report.model.leaderboard import Column, Mean
from halu_tasks.report.model.names import Names
from halu_tasks.report.model.report import GroupResult, ReportColumn, ReportGroup, Result
from halu_tasks.results.entry import Entry
from halu_tasks.scorers.methods.cost import total
from halu_tasks.scorers.metrics import Estimate, ItemSums, Metric, by_cluster, estimates
from halu_tasks.scorers.score import Score


def column_record(column: Column, names: Names) -> ReportColumn:
    """Describe the condition that the results of a column share."""
    run, task, headline = column.first, column.task, column.headline
    bottom, top = headline.range
    return ReportColumn(
        id=names.columns[column],
        title=names.titles[column],
        task=task.name,
        benchmark=task.benchmark,
        about=task.about,
        main=not column.why,
        why=column.why,
        notes=column.notes,
        scoring=run.scoring,
        data=run.provenance.data,
        data_file=run.provenance.data_file,
        data_sha256=run.provenance.data_sha256,
        prompt_hash=run.provenance.prompt_hash,
        version=run.task_version,
        marks=run.version_tags,
        fewshot=run.provenance.fewshot,
        options=run.options,
        epochs=run.epochs,
        n=len(run.scores),
        of=run.expected_replies,
        clusters=len({score.cluster for score in run.scores}),
        headline=headline.name,
        compared_by=column.compared_by.name,
        higher_is_better=headline.higher_is_better,
        range=(bottom, top if top != float("inf") else None),
        metrics=[metric.name for metric in column.metrics],
        directions={metric.name: metric.higher_is_better for metric in column.metrics},
    )


def results(column: Column, names: Names, ranks: Mapping[Entry, tuple[int, int]]) -> Iterator[Result]:
    """Describe the results of a column.

    Args:
        column: The column.
        names: The names of entries and columns.
        ranks: The confidence sets of ranks, of those entries that are ranked.
    """
    failed = next((metric for metric in column.metrics if metric.name == "judge_failed"), None)
    for entry, run in column.runs.items():
        yield Result(
            source=run.source,
            harness=run.harness,
            created=run.created,
            version=run.version,
            settings={name: str(value) for name, value in run.settings.items()},
            method=run.method,
            judge=run.judge,
            n=len(run.scores),
            **run.unanswered,
            # their number, since the share may be one of sentences, and is undefined if the judge was asked about none
            judge_failed=_sum_of(failed, run.scores) if failed and run.judge else None,
            metrics=estimates(column.metrics, run.scores),
            rank=ranks.get(entry),
            cost=_round_costs(total(run.costs)) if run.costs else None,
            entry=names.entries[entry],
            column=names.columns[column],
        )


def _sum_of(metric: Metric, scores: Sequence[Score]) -> int:
    sums = metric.sums_of_items(by_cluster(scores))
    assert isinstance(sums, ItemSums)
    return round(float(sums.terms[:, 0].sum()))


def _round_costs(cost: Mapping[str, float]) -> dict[str, float]:
    return {name: int(value) if value.is_integer() else round(value, 1) for name, value in cost.items()}


def _corrected(mean: Mean) -> str:
    """Say which members of a mean are compared by a corrected figure; an empty string if none is."""
    if not mean.corrected:
        return ""
    tasks = ", ".join(column.task.name for column in mean.corrected)
    return f"; differences and ranks are of {mean.metric.name}, in which human labels correct {tasks}"


def _corrected_mean(mean: Mean, entry: Entry) -> Estimate | None:
    return estimates([mean.metric], mean.scores(entry)).get(mean.metric.name) if mean.corrected else None


def group_means(
    means: Sequence[Mean], names: Names, ranks: Mapping[Column | Mean, Mapping[Entry, tuple[int, int]]]
) -> tuple[list[ReportGroup], list[GroupResult]]:
    """Describe the means over groups, and those of each entry.

    Args:
        means: The means.
        names: The names of entries, columns and means.
        ranks: For each mean, the confidence sets of its entries' ranks.
    """
    groups, group_results = [], []
    for mean in means:
        tasks = ", ".join(column.task.name for column in mean.columns)
        group = ReportGroup(
            id=names.groups[mean],
            title=mean.group.name if mean.main else f"{mean.group.name}-{mean.scoring}",
            group=mean.group.name,
            metric=mean.name,
            compared_by=mean.metric.name,
            scoring=mean.scoring,
            data=mean.columns[0].first.provenance.data,
            main=mean.main,
            columns=[names.columns[column] for column in mean.columns],
            about=f"the unweighted mean of {mean.name} over {tasks}{_corrected(mean)}",
            higher_is_better=mean.metric.higher_is_better,
        )
        groups.append(group)
        group_results += [
            GroupResult(
                entry=names.entries[entry],
                group=group.id,
                figure=figure,
                corrected=_corrected_mean(mean, entry),
                rank=ranks[mean].get(entry),
            )
            for entry, figure in mean.figures.items()
        ]
    return groups, group_results
