"""A report in a few sentences: who leads, what is open, whose figures say little, and what is not comparable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from halu_tasks.report.records import Report, ReportColumn, ReportGroup, missing_shares
from halu_tasks.scorers.metrics import Estimate

_NAMED = 3
"""Maximum number of models that are named together."""
_LISTED = 5
"""Maximum number of tasks or models that are listed in a sentence about floors or unparsed replies."""
_MOST = 0.5
"""Share of unparsed and empty replies above which a figure says little about what a model knows."""


@dataclass(frozen=True)
class _Standing:
    """A main task or the mean of a group.

    Attributes:
        name: Its name in a sentence.
        is_task: Whether it is a task.
        ranks: The ranks of its entries, by id.
        figures: The headline figures of its entries, by id.
        unread: The shares of replies without a readable answer, by id.
        higher_is_better: The direction of the figures; None if neither is better.
        floor: The best figure of uninformed replies that a model can exceed; None if there is none.
    """

    name: str
    is_task: bool
    ranks: Mapping[str, tuple[int, int]]
    figures: Mapping[str, Estimate]
    unread: Mapping[str, float]
    higher_is_better: bool | None
    floor: float | None

    @property
    def first(self) -> list[str]:
        """The entries that may be the best."""
        return [entry for entry, (low, _) in self.ranks.items() if low == 1]

    @property
    def leader(self) -> str | None:
        """The entry that is better than all others; None if the items do not decide it."""
        return next((entry for entry, rank in self.ranks.items() if rank == (1, 1)), None)

    @property
    def leads(self) -> bool:
        """Whether the leader is better than the floor, and its replies and some of the others could be read."""
        others = [self.unread[entry] for entry in self.ranks if entry != self.leader]
        return (
            self.leader is not None
            and self.leader not in self.below_floor
            and self.unread[self.leader] <= _MOST
            and min(others) <= _MOST
        )

    @property
    def below_floor(self) -> list[str]:
        """The entries whose interval does not exclude the floor on the better side."""
        if self.floor is None:
            return []
        if self.higher_is_better:
            above = [entry for entry, own in self.figures.items() if own.low is not None and own.low > self.floor]
        else:
            above = [entry for entry, own in self.figures.items() if own.high is not None and own.high < self.floor]
        return [entry for entry in self.figures if entry not in above]


def summary(report: Report) -> list[str]:
    """Summarize a report from the ranks of its main tasks and means.

    A model leads if its only rank that is compatible with the data is the first, so it is better than all others in
    the analysis behind all ranks of the report. This is not called a lead if the model is not shown to be better than
    uninformed replies, or if most replies of its own or of all others contain no readable answer.

    Args:
        report: The report; its own summary is not read.
    """
    places = [*_means(report), *_tasks(report)]
    sentences = [*_leads(report, places), *_partial(report), *_open(report, places)]
    sentences += [*_below_floors(report, places), *_mostly_unread(report)]
    apart = sum(not column.main for column in report.columns)
    if apart:
        what = "1 result column is" if apart == 1 else f"{apart} result columns are"
        sentences.append(f"{what} not comparable with these and shown apart.")
    return sentences


def _means(report: Report) -> Iterator[_Standing]:
    groups = report.top_groups(main=True)
    for group in groups:
        means = {mean.entry: mean for mean in report.group_results if mean.group == group.id}
        several = sum(other.title == group.title for other in groups) > 1
        floors = [_floor(report, column, group.metric) for column in report.columns_of(group)]
        known = [floor for floor in floors if floor is not None]
        yield _Standing(
            name=f"the mean {group.metric} of {group.title}" if several else f"the mean of {group.title}",
            is_task=False,
            ranks={entry: mean.rank for entry, mean in means.items() if mean.rank},
            figures={entry: mean.figure for entry, mean in means.items()},
            unread={entry: _unread(report, entry, group) for entry in means},
            higher_is_better=group.higher_is_better,
            floor=fmean(known) if len(known) == len(floors) else None,
        )


def _tasks(report: Report) -> Iterator[_Standing]:
    for column in (column for column in report.columns if column.main):
        results = {result.entry: result for result in report.results if result.column == column.id}
        figures = {entry: result.metrics.get(column.metric) for entry, result in results.items()}
        yield _Standing(
            name=column.title,
            is_task=True,
            ranks={entry: result.rank for entry, result in results.items() if result.rank},
            figures={entry: figure for entry, figure in figures.items() if figure and math.isfinite(figure.value)},
            unread={entry: _unread(report, entry, column) for entry in results},
            higher_is_better=column.higher_is_better,
            floor=_floor(report, column, column.metric),
        )


def _unread(report: Report, entry: str, place: ReportColumn | ReportGroup) -> float:
    """Return the share of replies that contain no readable answer."""
    shares = missing_shares(report.results_of(entry, place))
    return shares.get("unparsed", 0.0) + shares.get("empty", 0.0)


def _floor(report: Report, column: ReportColumn, metric: str) -> float | None:
    """Return the best figure of uninformed replies in a metric that a model can exceed."""
    higher = column.measures.directions.get(metric)
    if higher is None:
        return None
    low, high = column.measures.range if metric == column.metric else (0.0, 1.0)
    end = high if higher else low
    floors = (floor.value for floor in report.floors if floor.column == column.id and floor.metric == metric)
    best = max if higher else min
    return best((floor for floor in floors if math.isfinite(floor) and floor != end), default=None)


def _leads(report: Report, places: Sequence[_Standing]) -> Iterator[str]:
    """Say who leads, and where the best figure is not called a lead."""
    leads = []
    for entry, label in report.labels.items():
        if won := [place for place in places if place.leader == entry and place.leads]:
            leads.append(f"{label} leads on {_listed(won, places)}")
    if leads:
        yield f"{'; '.join(leads)}. This is shown statistically: all ranks together hold with 95% confidence."
    if doubted := [place for place in places if place.leader and not place.leads]:
        yield (
            f"The best figures on {_listed(doubted, places, _LISTED)} are not called a lead: they are not shown to be "
            "better than the floor, or most replies of the best model or of all others could not be read."
        )


def _partial(report: Report) -> Iterator[str]:
    """Name the tasks whose figures rest on only part of the items."""
    columns = [column for column in report.columns if column.main]
    sizes = [(column.title, *report.items_answered(column)) for column in columns]
    parts = [f"{title} ({n:,} of {of:,})" for title, n, of in sizes if n < of]
    if parts:
        tasks = f"{len(parts)} of {len(columns)} tasks"
        if len(parts) == len(columns):
            tasks = f"all {len(columns)} tasks" if len(columns) > 1 else "the task"
        which = f": {_joined(parts, 'and')}" if len(parts) <= _LISTED else ""
        yield f"The figures of {tasks} rest on only part of the items (a limit, or replies to some items only){which}."


def _open(report: Report, places: Sequence[_Standing]) -> Iterator[str]:
    by_candidates: dict[tuple[str, ...], list[_Standing]] = {}
    for place in (place for place in places if place.ranks and not place.leader):
        labels = tuple(label for entry, label in report.labels.items() if entry in place.first)
        by_candidates.setdefault(labels, []).append(place)
    parts = []
    for candidates, tied in by_candidates.items():
        models = max(len(place.ranks) for place in tied)
        who = _joined(candidates, "or") if len(candidates) <= _NAMED else f"{len(candidates)} of {models} models"
        parts.append(f"on {_listed(tied, places)} ({who})")
    if parts:
        yield f"These items do not decide who leads {_joined(parts, 'or')}."
    if alone := [place for place in places if not place.ranks and len(place.figures) < 2]:
        yield f"Nothing is compared on {_listed(alone, places)}, with figures of fewer than two models."


def _below_floors(report: Report, places: Sequence[_Standing]) -> Iterator[str]:
    """Say which models are not shown to be better than uninformed replies, by the intervals of their headlines."""
    tasks = [place for place in places if place.is_task and place.figures and place.floor is not None]
    by_models: dict[str, list[str]] = {}
    for place in tasks:
        below = [report.labels[entry] for entry in place.below_floor]
        if len(below) == len(place.figures):
            by_models.setdefault("no model is", []).append(place.name)
        elif below:
            many = f"{len(below)} of {len(place.figures)} models are not"
            some = f"{_joined(below, 'and')} {'is' if len(below) == 1 else 'are'} not"
            by_models.setdefault(many if len(below) > _NAMED else some, []).append(place.name)
    if len(by_models) > _NAMED:
        nobody = by_models.pop("no model is", [])
        some_titles = [title for titles in by_models.values() for title in titles]
        by_models = ({"no model is": nobody} if nobody else {}) | {"some models are not": some_titles}
    clauses = sorted(by_models.items(), key=lambda clause: clause[0] != "no model is")
    if clauses:
        (who, titles), *others = clauses
        rest = "".join(f"; {who} on {_task_list(titles, len(tasks))}" for who, titles in others)
        floor = "answers given without reading the items (the floor)"
        on = _task_list(titles, len(tasks))
        yield f"By the 95% intervals, {who} shown to be better than {floor} on {on}{rest}."


def _mostly_unread(report: Report) -> Iterator[str]:
    """Name the results with so many unparsed replies that their figures say little."""
    columns = [column for column in report.columns if column.main]
    parts = []
    for entry, label in report.labels.items():
        unread = {column.title: _unread(report, entry, column) for column in columns}
        shares = {title: share for title, share in unread.items() if share > _MOST}
        if len(shares) > _LISTED:
            low, high = min(shares.values()), max(shares.values())
            parts.append(f"{label} on {len(shares)} of {len(columns)} tasks ({low:.0%} to {high:.0%})")
        elif shares:
            parts.append(f"{label} on {_joined([f'{title} ({share:.0%})' for title, share in shares.items()], 'and')}")
    if parts:
        models = f"{len(parts)} of {len(report.entries)} models on some tasks (shares in the leaderboard)"
        where = "; ".join(parts) if len(parts) <= _LISTED else models
        yield (
            f"Most replies contain no readable answer (unparsed or empty): {where}. These figures say little about "
            "what a model knows."
        )


def _task_list(titles: Sequence[str], tasks: int) -> str:
    """List tasks by name if they are few, otherwise count them."""
    if len(titles) == tasks > 1:
        return f"any of the {tasks} tasks"
    return _joined(titles, "and") if len(titles) <= _LISTED else f"{len(titles)} of {tasks} tasks"


def _listed(some: Sequence[_Standing], places: Sequence[_Standing], most: int | None = None) -> str:
    """List places by name, or as all tasks, after the means; more than `most` tasks are counted."""
    names = [place.name for place in some if not place.is_task]
    tasks = [place.name for place in some if place.is_task]
    every = sum(place.is_task for place in places)
    if len(tasks) == every > 1:
        tasks = [f"all {every} tasks"]
    elif most is not None and len(tasks) > most:
        tasks = [f"{len(tasks)} of {every} tasks"]
    return _joined(names + tasks, "and")


def _joined(names: Sequence[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
