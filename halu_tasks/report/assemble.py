"""Assembling a report from a board: its records, and the differences between its entries, all adjusted together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, combinations
from pathlib import Path

from halu_tasks import __version__
from halu_tasks.core.items import Reply
from halu_tasks.report.board import Board, Column, Mean
from halu_tasks.report.details import write_details
from halu_tasks.report.records import EntryPair, GroupResult, Json, Report, ReportColumn, ReportGroup, Result
from halu_tasks.report.summary import joined
from halu_tasks.results.comparability import Entry, different_settings, items_that_differ
from halu_tasks.results.published import Published, published
from halu_tasks.results.run import Skipped
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.judge import FAILED
from halu_tasks.scorers.metrics import Metric, by_cluster, estimate, estimates
from halu_tasks.scorers.statistics.differences import (
    LEVEL,
    Difference,
    difference_of,
    holm,
    items_of,
    rank_ranges,
    without_clusters,
)
from halu_tasks.scorers.statistics.planning import items_needed, not_estimated, share_of_replies
from halu_tasks.tasks.annotators import BesidePeople, OtherAnnotators

TABLE = "items.parquet"
# maximum number of entries that are named together
_NAMED = 3


def assemble(
    board: Board,
    skipped: Sequence[Skipped] = (),
    title: str = "",
    *,
    table: Path | None = None,
    margin: float | None = None,
) -> Report:
    """Assemble the report on a board.

    Args:
        board: The board.
        skipped: Files that are not on the board.
        title: The report's title.
        table: Where to write the full table of items; None for a report without details.
        margin: The difference below which two entries count as equal; None to test no equality.
    """
    pairs, ranks = differences(board, margin)
    others = {column: OtherAnnotators(column.task, column.first.scoring) for column in board.columns}
    people = {column: _beside_people(column, others[column]) for column in board.columns}
    created = datetime.now(UTC).isoformat(timespec="seconds")
    package = f"halu-tasks {__version__}"
    return Report(
        about={"title": title, "created": created, "package": package, "table": TABLE, "margin": margin},
        notes=list(_notes(board)),
        skipped=skipped,
        warnings=list(_warnings(board)),
        superseded=list(_superseded(board)),
        entries=board.entries,
        columns=[_column(column, people[column]) for column in board.columns],
        groups=[_group(mean) for mean in board.means],
        results=[one for column in board.columns for one in _results(column, ranks[column], people[column])],
        group_results=[one for mean in board.means for one in _means(mean, ranks[mean])],
        floors=[floor for column in board.columns for floor in _floors(column, others[column])],
        published=list(_published(board)),
        pairs=pairs,
        why=write_details(board, table) if table else [],
    )


def _beside_people(column: Column, others: OtherAnnotators) -> dict[Entry, BesidePeople]:
    """Put the replies of each entry beside the annotators of its items; empty if there are not several."""
    replies = {
        entry: [(answered.item, answered.given) for answered in run.answers] for entry, run in column.runs.items()
    }
    beside = {entry: others.beside(own) for entry, own in replies.items()}
    return {entry: people for entry, people in beside.items() if people}


def _column(column: Column, people: Mapping[Entry, BesidePeople]) -> ReportColumn:
    run, task, headline, provenance = column.first, column.task, column.headline, column.first.provenance
    bottom, top = headline.range
    return ReportColumn(
        id=column.id,
        title=column.title,
        task=task.name,
        main=column.main,
        why=column.why,
        notes=column.notes,
        scoring=run.scoring,
        data=provenance.data,
        headline=headline.name,
        compared_by=column.compared_by[0].name,
        higher_is_better=headline.higher_is_better,
        range=(bottom, top if top != float("inf") else None),
        directions={metric.name: metric.higher_is_better for metric in column.metrics},
        condition={
            "benchmark": task.benchmark,
            "about": task.about,
            "data_file": provenance.data_file,
            "data_sha256": provenance.data_sha256,
            "prompt_hash": provenance.prompt_hash,
            "version": run.task_version,
            "marks": run.version_tags,
            "fewshot": provenance.fewshot,
            "options": run.options,
            "epochs": run.epochs,
            "n": len(run.scores),
            "of": run.expected_replies,
            "clusters": len({score.cluster for score in run.scores}),
            "human_ceiling": next(
                (people[entry].people for entry, own in column.runs.items() if own is run and entry in people), None
            ),
        },
    )


def _results(column: Column, ranks: Ranks, people: Mapping[Entry, BesidePeople]) -> Iterator[Result]:
    for entry, run in column.runs.items():
        counts: dict[str, int | None] = {name: sum(own.outcome == name for own in run.scores) for name in NO_ANSWER}
        # the number of failures, since the share may be one of sentences, and undefined if the judge was asked of none
        failures = sum(verdict.label == FAILED for score in run.scores for verdict in score.verdicts)
        counts["judge_failed"] = failures if column.task.judged and run.judge else None
        yield Result(
            entry=entry.id,
            column=column.id,
            source=run.source,
            harness=run.harness,
            created=run.created,
            equal=[
                {"source": own.source, "harness": own.harness, "created": own.created}
                for own in column.equal.get(entry, ())
            ],
            version=run.version,
            settings={name: str(value) for name, value in run.settings.items()},
            method=run.method,
            judge=run.judge,
            n=len(run.scores),
            counts=counts,
            metrics={metric.name: run.figures[metric.name] for metric in column.metrics if metric.name in run.figures},
            constant=run.constant,
            from_replies=share_of_replies(column.headline, run.scores) if run.epochs > 1 else None,
            beside_people=people[entry].figures if entry in people else {},
            rank=ranks.get(entry),
            cost=run.cost and {name: int(x) if x.is_integer() else round(x, 1) for name, x in run.cost.items()},
        )


def _group(mean: Mean) -> ReportGroup:
    about = ", ".join(f"{column.task.name} ({column.headline.name})" for column in mean.columns)
    about = f"the unweighted mean over {about}"
    if mean.corrected:
        tasks = ", ".join(column.task.name for column in mean.corrected)
        about += f"; differences and ranks are of {mean.compared_by[0].name}, in which labels correct {tasks}"
    return ReportGroup(
        id=mean.id,
        title=mean.group.name if mean.main else f"{mean.group.name}-{mean.scoring}",
        group=mean.group.name,
        metric=mean.name,
        compared_by=mean.compared_by[0].name,
        scoring=mean.scoring,
        data=mean.columns[0].first.provenance.data,
        main=mean.main,
        columns=[column.id for column in mean.columns],
        about=about,
        higher_is_better=mean.compared_by[0].higher_is_better,
    )


def _means(mean: Mean, ranks: Ranks) -> Iterator[GroupResult]:
    (metric,) = mean.compared_by
    for entry, figure in mean.figures.items():
        corrected = estimate(metric, by_cluster(mean.scores(entry))) if mean.corrected else None
        yield GroupResult(entry.id, mean.id, figure, corrected, ranks.get(entry))


# --- figures for reference --------------------------------------------------------------------------


def _floors(column: Column, others: OtherAnnotators) -> Iterator[Json]:
    """Compute the figures of uninformed replies, such as a constant answer, on the column's items."""
    task, mode = column.task, column.first.scoring
    items = [answered.item for answered in column.first.answers]
    replies = [(item, Reply(task.prompts.baseline(item))) for item in items]
    scores = [task.score(mode, item, reply) for item, reply in replies]
    # without the key, the baseline is an empty reply, which says nothing of the task
    baseline = {"baseline": column.metrics} if "baseline" in task.values else {}
    people, beside = others.beside(replies), dict[str, Mapping[str, float]]()
    if people:
        beside = {"baseline": {name: figure.value for name, figure in people.replies.items()}, **people.floors}
    for reply, metrics in {**baseline, **task.scoring[mode].reference_replies}.items():
        for metric, figure in estimates(metrics, scores).items():
            is_headline = metric == column.headline.name
            known = {"column": column.id, "name": reply, "metric": metric, "value": figure.value}
            yield {**known, "headline": is_headline, "beside_people": beside.get(reply, {}).get(metric)}


def _published(board: Board) -> Iterator[Json]:
    """Collect the published figures for columns and groups, except for those on the packaged sample."""
    for column in board.columns:
        metrics = {metric.name for metric in column.metrics}
        # a task derived by users has another name, and no published figures
        for one in published(column.task.name):
            if one.metric in metrics and _is_shown(one, [column], column.first.scoring):
                yield _published_figure(one, one.metric == column.headline.name, column=column.id, group=None)
    for mean in board.means:
        for one in published(mean.group.name):
            if (one.task, one.metric) == (mean.group.name, mean.name) and _is_shown(one, mean.columns, mean.scoring):
                yield _published_figure(one, True, column=None, group=mean.id)


def _is_shown(figure: Published, columns: Sequence[Column], scoring: str) -> bool:
    """Return whether a figure is shown with those of a mode.

    Figures for `paper` are shown with `strict` ones, too, for orientation; the page states their mode.
    """
    on_sample = any(column.first.provenance.data == "sample" for column in columns)
    return not on_sample and (scoring == "strict" or figure.scoring in ("both", scoring))


def _published_figure(figure: Published, headline: bool, **place: str | None) -> Json:
    names = ("model", "method", "metric", "value", "scoring", "source")
    note = " ".join(figure.note.splitlines())
    return {**place, "headline": headline, **{name: getattr(figure, name) for name in names}, "note": note}


# --- remarks ----------------------------------------------------------------------------------------


def _notes(board: Board) -> Iterator[str]:
    clauses = []
    for name, by_entry in different_settings(column.runs for column in board.columns).items():
        parts = []
        for value in sorted({*by_entry.values()}, key=lambda value: (value is None, str(value))):
            labels = [entry.label for entry, own in by_entry.items() if own == value]
            who = joined(labels) if len(labels) <= _NAMED else f"{len(labels)} entries"
            parts.append(f"{'the task’s own' if value is None else value} for {who}")
        clauses.append(f"{name} is {joined(parts)}")
    if clauses:
        yield f"Entries that are compared have different generation settings: {'; '.join(clauses)}"


def _warnings(board: Board) -> Iterator[Mapping[str, str]]:
    for column in board.columns:
        for entry, run in column.runs.items():
            for share, meaning in run.reply_warnings:
                text = f"{entry.label}, {column.title}: {share} {meaning}"
                where = {"entry": entry.id, "column": column.id}
                yield {**where, "share": share, "meaning": meaning, "text": text}


def _superseded(board: Board) -> Iterator[Json]:
    for earlier, entry, column in board.superseded:
        later = column.runs[entry]
        is_longer = len(later.scores) > len(earlier.scores)
        which = f"run on {len(later.items):,} items" if is_longer else "later run"
        why = f"{column.task.name}: replaced by the {which} of {later.created} ({later.source}), in which "
        why += f"{items_that_differ(earlier, later):,} items have other answers or scores"
        is_rerun = earlier.program == later.program and not is_longer
        where = {"entry": entry.id, "column": column.id, "rerun": is_rerun}
        yield {**where, "source": earlier.source, "created": earlier.created, "why": why}


# --- differences ----------------------------------------------------------------------------------


Ranks = Mapping[Entry, tuple[int, int]]
"""The confidence sets of ranks by entry."""


def differences(board: Board, margin: float | None = None) -> tuple[list[EntryPair], Mapping[Column | Mean, Ranks]]:
    """Compare all pairs of entries in all columns and means.

    Main columns and main means are one family of tests, and those apart another. What a judge says is in neither as
    long as its errors are not known: they may differ between models, and no number of items shows it.

    Args:
        board: The board.
        margin: The difference below which two entries count as equal; None to test no equality.

    Returns:
        The pairs, and for each column and mean the confidence sets of the ranks of its entries.
    """
    pairs: list[EntryPair] = []
    ranks: dict[Column | Mean, Ranks] = {}
    for main in (True, False):
        places: list[Column | Mean] = [mean for mean in board.means if mean.main == main]
        places += [column for column in board.columns if column.main == main]
        alone = [(place, *one) for place in places for one in _pairs(place, margin)]
        equal = holm([difference.p_equal if is_claimed else None for *_, difference, is_claimed in alone])
        adjusted = holm([difference.p if is_claimed else None for *_, difference, is_claimed in alone])
        comparisons = max(sum(p is not None for p in adjusted), 1)
        tested: dict[str, list[EntryPair]] = {place.id: [] for place in places}
        for (place, metric, first, second, difference, _), p, p_equal in zip(alone, adjusted, equal, strict=True):
            decided = metric.higher_is_better is not None and p is not None and p < LEVEL
            better = first if (difference.value > 0) == metric.higher_is_better else second
            pair = EntryPair(
                column=place.id if isinstance(place, Column) else None,
                group=place.id if isinstance(place, Mean) else None,
                first=first.id,
                second=second.id,
                metric=metric.name,
                difference=difference,
                p_adjusted=p,
                better=better.id if decided else None,
                p_equal_adjusted=p_equal,
                equal=p_equal is not None and p_equal < LEVEL,
                items_needed=items_needed(difference, comparisons),
                not_estimated=not_estimated(difference),
            )
            tested[place.id].append(pair)
        ranks |= {place: _ranks(place, tested[place.id]) for place in places}
        pairs += chain.from_iterable(tested.values())
    order = {entry.id: number for number, entry in enumerate(board.entries)}
    pairs.sort(key=lambda pair: (order[pair.first], order[pair.second]))
    return pairs, ranks


def _pairs(place: Column | Mean, margin: float | None) -> Iterator[tuple[Metric, Entry, Entry, Difference, bool]]:
    """Compare each two entries alone, and say whether their difference is a member of the family of tests."""
    entries = place.entries
    columns = [place] if isinstance(place, Column) else place.columns
    for metric in place.compared_by:
        # items of two tasks may have the same ids
        metrics = [metric] if isinstance(place, Column) else [column.headline for column in columns]
        of_columns = list(zip(metrics, columns, strict=True))
        all_sums = {entry: without_clusters(metric, place.scores(entry)) for entry in entries}
        sums = {entry: own for entry, own in all_sums.items() if not math.isnan(own.value)}
        if len(sums) < 2:
            continue
        is_claimed = not place.by_judge_alone(metric)
        items = {entry: sum(items_of(own, column.scores(entry)) for own, column in of_columns) for entry in sums}
        for first, second in combinations(sums, 2):
            one, other, shared = sums[first], sums[second], items[first]
            if place.differ_in_items(first, second):
                shared = sum(items_of(own, column.scores(first, second)) for own, column in of_columns)
                if not shared:
                    continue
                one = without_clusters(metric, place.scores(first, second))
                other = without_clusters(metric, place.scores(second, first))
            if difference := difference_of(metric, one, other, shared, margin):
                yield metric, first, second, difference, is_claimed


def _ranks(place: Column | Mean, pairs: Sequence[EntryPair]) -> Ranks:
    """Compute the confidence sets of the ranks of the entries with a figure; empty if there is nothing to rank."""
    metric = place.compared_by[0]
    here = [pair for pair in pairs if pair.metric == metric.name]
    compared = {id for pair in here for id in (pair.first, pair.second)}
    if not here or metric.higher_is_better is None or place.by_judge_alone(metric):
        return {}
    entries = [entry for entry in place.entries if entry.id in compared]
    decided = [(pair.better, pair.second if pair.better == pair.first else pair.first) for pair in here if pair.better]
    return dict(zip(entries, rank_ranges(decided, [entry.id for entry in entries]), strict=True))
