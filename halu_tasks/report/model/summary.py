"""A report in a few sentences: who leads on which task, what is open, and what is not comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from halu_tasks.report.model.report import Report, ReportGroup

_NAMED = 3
"""Maximum number of models that are named as possible leaders of a task."""


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


def _listed(some: Sequence[_Place], places: Sequence[_Place]) -> str:
    """List places by name, or as all tasks, after the means."""
    names = [place.name for place in some if not place.task]
    tasks = [place.name for place in some if place.task]
    every = sum(place.task for place in places)
    return _joined(names + ([f"all {every} tasks"] if len(tasks) == every > 1 else tasks), "and")


def _joined(names: Sequence[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
