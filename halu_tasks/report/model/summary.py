"""A report in a few sentences: who leads, what is open, whose figures say little, and what is not comparable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from halu_tasks.report.model.report import Report, ReportColumn, ReportGroup
from halu_tasks.scorers.metrics import Estimate

_NAMED = 3
"""Maximum number of models that are named together."""
_LISTED = 5
"""Maximum number of tasks or models that are listed in a sentence about floors or unparsed replies."""
_MOST = 0.5
"""Share of unparsed replies above which a figure says little about what a model knows."""


class _Place(NamedTuple):
    """A main task or the mean of a group, with the ranks of its entries and the number of its figures."""

    name: str
    task: bool
    ranks: Mapping[str, tuple[int, int]]
    figures: int


def summary(report: Report) -> list[str]:
    """Summarize a report from the ranks of its main tasks and means.

    A model leads if its only rank that is compatible with the data is the first, so it is better than all others in
    the analysis behind all ranks of the report.

    Args:
        report: The report; its own summary is not read.
    """
    places = list(_places(report))
    sentences = [*_leads(report, places), *_open(report, places), *_unranked(places)]
    sentences += [*_not_above_floors(report), *_mostly_unparsed(report)]
    apart = sum(not column.main for column in report.columns)
    if apart:
        what = "1 result column is" if apart == 1 else f"{apart} result columns are"
        sentences.append(f"{what} not comparable with these and shown apart.")
    return sentences


def top_groups(report: Report, *, main: bool) -> list[ReportGroup]:
    """Return the groups with means that are not parts of another group.

    Args:
        report: The report.
        main: Whether to return groups of main columns, rather than groups with columns apart.
    """
    with_means = {mean.group for mean in report.group_results}
    groups = [group for group in report.groups if group.main == main and group.id in with_means]
    return [group for group in groups if not any(set(group.columns) < set(other.columns) for other in groups)]


def _places(report: Report) -> Iterator[_Place]:
    groups = top_groups(report, main=True)
    for group in groups:
        means = [mean for mean in report.group_results if mean.group == group.id]
        several = sum(other.title == group.title for other in groups) > 1
        name = f"the mean {group.metric} of {group.title}" if several else f"the mean of {group.title}"
        yield _Place(name, False, {mean.entry: mean.rank for mean in means if mean.rank}, len(means))
    for column in report.columns:
        if column.main:
            results = [result for result in report.results if result.column == column.id]
            ranks = {result.entry: result.rank for result in results if result.rank}
            yield _Place(column.title, True, ranks, sum(column.headline in result.metrics for result in results))


def _leads(report: Report, places: Sequence[_Place]) -> Iterator[str]:
    leads: list[str] = []
    for entry in report.entries:
        won = [place for place in places if place.ranks.get(entry.id) == (1, 1)]
        if won:
            leads.append(f"{entry.label} leads on {_listed(won, places)}")
    if leads:
        yield f"{'; '.join(leads)}. This is shown statistically: all ranks together hold with 95% confidence."


def _open(report: Report, places: Sequence[_Place]) -> Iterator[str]:
    by_candidates: dict[tuple[str, ...], list[_Place]] = {}
    for place in places:
        first = tuple(entry.label for entry in report.entries if place.ranks.get(entry.id, (0, 0))[0] == 1)
        if place.ranks and (1, 1) not in place.ranks.values():
            by_candidates.setdefault(first, []).append(place)
    parts = []
    for candidates, tied in by_candidates.items():
        models = max(len(place.ranks) for place in tied)
        who = _joined(candidates, "or") if len(candidates) <= _NAMED else f"{len(candidates)} of {models} models"
        parts.append(f"on {_listed(tied, places)} ({who})")
    if parts:
        yield f"These items do not decide who leads {_joined(parts, 'or')}."


def _unranked(places: Sequence[_Place]) -> Iterator[str]:
    alone = [place for place in places if not place.ranks and place.figures < 2]
    if alone:
        yield f"Nothing is compared on {_listed(alone, places)}, with figures of fewer than two models."


def _not_above_floors(report: Report) -> Iterator[str]:
    """Say which models are not shown to be better than uninformed replies, by the intervals of their headlines."""
    nobody: list[str] = []
    by_models: dict[str, list[str]] = {}
    tasks = 0
    for column in report.columns:
        figures, floor = _headlines(report, column), _floor(report, column)
        if not column.main or not figures or floor is None:
            continue
        tasks += 1
        below = [label for label, figure in figures if not _is_better(figure, floor, column.higher_is_better)]
        if len(below) == len(figures):
            nobody.append(column.title)
        elif below:
            many = len(below) > _NAMED
            who = f"{len(below)} of {len(figures)} models are" if many else f"{_joined(below, 'and')} {_is(below)}"
            by_models.setdefault(who, []).append(column.title)
    if len(by_models) > _NAMED:
        by_models = {"some models are": [title for titles in by_models.values() for title in titles]}
    clauses = ([("no model is", nobody)] if nobody else []) + [(f"{who} not", on) for who, on in by_models.items()]
    if clauses:
        (who, titles), *others = clauses
        rest = "".join(f"; {who} on {_task_list(titles, tasks)}" for who, titles in others)
        yield (
            f"By the 95% intervals, {who} shown to be better than answers given without reading the items (the floor) "
            f"on {_task_list(titles, tasks)}{rest}."
        )


def _floor(report: Report, column: ReportColumn) -> float | None:
    """Return the best figure of uninformed replies that a model can exceed."""
    if column.higher_is_better is None:
        return None
    best = max if column.higher_is_better else min
    end = column.range[1] if column.higher_is_better else column.range[0]
    floors = (floor.value for floor in report.floors if floor.column == column.id and floor.headline)
    return best((floor for floor in floors if math.isfinite(floor) and floor != end), default=None)


def _headlines(report: Report, column: ReportColumn) -> list[tuple[str, Estimate]]:
    """List the labels and headline figures of the entries in a column."""
    labels = {entry.id: entry.label for entry in report.entries}
    figures = [
        (result.entry, result.metrics.get(column.headline)) for result in report.results if result.column == column.id
    ]
    return [(labels[entry], figure) for entry, figure in figures if figure and math.isfinite(figure.value)]


def _is_better(figure: Estimate, floor: float, higher_is_better: bool | None) -> bool:
    """Return whether the interval of a figure excludes a floor, on the better side."""
    if higher_is_better:
        return figure.low is not None and figure.low > floor
    return figure.high is not None and figure.high < floor


def _mostly_unparsed(report: Report) -> Iterator[str]:
    """Name the results with so many unparsed replies that their figures say little."""
    titles = {column.id: column.title for column in report.columns if column.main}
    parts = []
    for entry in report.entries:
        shares = {
            titles[result.column]: result.unparsed / result.n
            for result in report.results
            if result.entry == entry.id and result.column in titles and result.unparsed > _MOST * result.n
        }
        if len(shares) > _LISTED:
            low, high = min(shares.values()), max(shares.values())
            parts.append(f"{entry.label} on {len(shares)} of {len(titles)} tasks ({low:.0%} to {high:.0%})")
        elif shares:
            on = _joined([f"{title} ({share:.0%})" for title, share in shares.items()], "and")
            parts.append(f"{entry.label} on {on}")
    if parts:
        models = f"{len(parts)} of {len(report.entries)} models on some tasks (shares in the leaderboard)"
        where = "; ".join(parts) if len(parts) <= _LISTED else models
        yield (
            f"Most replies contain no readable answer (unparsed): {where}. These figures say little about what a model "
            "knows."
        )


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _task_list(titles: Sequence[str], tasks: int) -> str:
    """List tasks by name if they are few, otherwise count them."""
    if len(titles) == tasks > 1:
        return f"any of the {tasks} tasks"
    return _joined(titles, "and") if len(titles) <= _LISTED else f"{len(titles)} of {tasks} tasks"


def _listed(some: Sequence[_Place], places: Sequence[_Place]) -> str:
    """List places by name, or as all tasks, after the means."""
    names = [place.name for place in some if not place.task]
    tasks = [place.name for place in some if place.task]
    every = sum(place.task for place in places)
    return _joined(names + ([f"all {every} tasks"] if len(tasks) == every > 1 else tasks), "and")


def _joined(names: Sequence[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
