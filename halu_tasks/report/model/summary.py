"""A report in a few sentences: who leads, what is open, whose figures say little, and what is not comparable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from halu_tasks.report.model.report import Report, ReportColumn, ReportGroup, Result, missing_shares
from halu_tasks.scorers.metrics import Estimate

_NAMED = 3
"""Maximum number of models that are named together."""
_LISTED = 5
"""Maximum number of tasks or models that are listed in a sentence about floors or unparsed replies."""
_MOST = 0.5
"""Share of unparsed and empty replies above which a figure says little about what a model knows."""


_FLOOR = "answers given without reading the items (the floor)"
"""What a floor is, in the first sentence that names it."""


class _Place(NamedTuple):
    """A main task or the mean of a group.

    Attributes:
        name: Its name in a sentence.
        task: Whether it is a task.
        ranks: The ranks of its entries, by id.
        figures: The headline figures of its entries, by id.
        unread: The shares of replies without a readable answer, by id.
        higher_is_better: The direction of the figures; None if neither is better.
        floor: The best figure of uninformed replies that a model can exceed; None if there is none.
    """

    name: str
    task: bool
    ranks: Mapping[str, tuple[int, int]]
    figures: Mapping[str, Estimate]
    unread: Mapping[str, float]
    higher_is_better: bool | None
    floor: float | None

    @property
    def leader(self) -> str | None:
        """The entry that is better than all others; None if the items do not decide it."""
        return next((entry for entry, rank in self.ranks.items() if rank == (1, 1)), None)

    def above_floor(self, entry: str) -> bool:
        """Return whether an entry is shown to be better than the floor, if there is one."""
        figure = self.figures.get(entry)
        return self.floor is None or bool(figure and _is_better(figure, self.floor, self.higher_is_better))

    @property
    def measured(self) -> list[str]:
        """The entries with a figure."""
        return [entry for entry, figure in self.figures.items() if math.isfinite(figure.value)]

    @property
    def all_below(self) -> bool:
        """Whether there is a floor, and no entry is shown to be better."""
        return bool(self.measured) and not any(map(self.above_floor, self.measured))


class _Doubt(NamedTuple):
    """Why a leader is not said to lead.

    Attributes:
        leader: The leader's id.
        floor: Whether it is not shown to be better than the floor.
        nobody: Whether no entry is.
        unread: The ids of the leader or of all others, if most of their replies contain no readable answer.
    """

    leader: str
    floor: bool
    nobody: bool
    unread: tuple[str, ...]


def summary(report: Report) -> list[str]:
    """Summarize a report from the ranks of its main tasks and means.

    A model leads if its only rank that is compatible with the data is the first, so it is better than all others in
    the analysis behind all ranks of the report. This is not called a lead if the model is not shown to be better than
    uninformed replies, or if most replies of its own or of all others contain no readable answer.

    Args:
        report: The report; its own summary is not read.
    """
    places = list(_places(report))
    doubts = {place.name: doubt for place in places if (doubt := _doubt(place))}
    nobody = [place for place in places if place.all_below] if any(doubt.nobody for doubt in doubts.values()) else []
    sentences = [*_leads(report, places, doubts), *_not_called_leads(report, places, doubts, nobody)]
    sentences += [*_partial(report), *_open(report, places), *_unranked(places)]
    sentences += [*_not_above_floors(report, places, doubts), *_mostly_unparsed(report)]
    apart = sum(not column.main for column in report.columns)
    if apart:
        what = "1 result column is" if apart == 1 else f"{apart} result columns are"
        sentences.append(f"{what} not comparable with these and shown apart.")
    return list(_with_floor_explained_once(sentences))


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
        means = {mean.entry: mean for mean in report.group_results if mean.group == group.id}
        several = sum(other.title == group.title for other in groups) > 1
        yield _Place(
            name=f"the mean {group.metric} of {group.title}" if several else f"the mean of {group.title}",
            task=False,
            ranks={entry: mean.rank for entry, mean in means.items() if mean.rank},
            figures={entry: mean.figure for entry, mean in means.items()},
            unread={entry: _unread(report.results_of(entry, group)) for entry in means},
            higher_is_better=group.higher_is_better,
            floor=_mean_floor(report, group),
        )
    for column in report.columns:
        if column.main:
            in_column = {result.entry: result for result in report.results if result.column == column.id}
            figures = {entry: result.metrics.get(column.headline) for entry, result in in_column.items()}
            yield _Place(
                name=column.title,
                task=True,
                ranks={entry: result.rank for entry, result in in_column.items() if result.rank},
                figures={entry: figure for entry, figure in figures.items() if figure},
                unread={entry: _unread([result]) for entry, result in in_column.items()},
                higher_is_better=column.higher_is_better,
                floor=_floor(report, column, column.headline),
            )


def _unread(results: Sequence[Result]) -> float:
    """Return the share of replies that contain no readable answer, in one result or in those of a mean."""
    shares = missing_shares(results)
    return shares.get("unparsed", 0.0) + shares.get("empty", 0.0)


def _doubt(place: _Place) -> _Doubt | None:
    """Say why the leader of a place is not said to lead; None if it leads, or nobody does."""
    leader = place.leader
    if leader is None:
        return None
    others = [entry for entry in place.ranks if entry != leader]
    unread = [leader] if place.unread[leader] > _MOST else []
    if all(place.unread[entry] > _MOST for entry in others):
        unread += others
    floor = not place.above_floor(leader)
    return _Doubt(leader, floor, place.all_below, tuple(unread)) if floor or unread else None


def _leads(report: Report, places: Sequence[_Place], doubts: Mapping[str, _Doubt]) -> Iterator[str]:
    leads: list[str] = []
    for entry in report.entries:
        won = [place for place in places if place.leader == entry.id and place.name not in doubts]
        if won:
            leads.append(f"{entry.label} leads on {_listed(won, places)}")
    if leads:
        yield f"{'; '.join(leads)}. This is shown statistically: all ranks together hold with 95% confidence."


def _not_called_leads(
    report: Report, places: Sequence[_Place], doubts: Mapping[str, _Doubt], nobody: Sequence[_Place]
) -> Iterator[str]:
    """Say where the best model is not said to lead, and why.

    Args:
        report: The report.
        places: Its tasks and means.
        doubts: Why the leaders of places, by name, are not said to lead.
        nobody: The places of which to say that no model is better than the floor.
    """
    labels = {entry.id: entry.label for entry in report.entries}
    clauses = [f"no model is shown to be better than {_FLOOR} on {_few(nobody, places)}"] if nobody else []
    by_leader: dict[str, list[_Place]] = {}
    by_unread: dict[tuple[str, ...], list[_Place]] = {}
    for place in (place for place in places if place.name in doubts):
        doubt = doubts[place.name]
        if doubt.floor and not doubt.nobody:
            by_leader.setdefault(labels[doubt.leader], []).append(place)
        if doubt.unread:
            by_unread.setdefault(doubt.unread, []).append(place)
    if len(by_leader) > _NAMED:
        by_leader = {"the best model": [place for group in by_leader.values() for place in group]}
    for leader, group in by_leader.items():
        clauses.append(f"{leader} is not shown to be better than {_FLOOR} on {_few(group, places)}")
    floors = "By the 95% intervals, " if clauses else ""
    if len(by_unread) > _NAMED:
        unread = [place for group in by_unread.values() for place in group]
        clauses.append(f"most replies of the best model or of all others on {_few(unread, places)} could not be read")
        by_unread = {}
    for entries, group in by_unread.items():
        few = len(entries) <= _NAMED
        who = _joined([labels[entry] for entry in entries], "and") if few else f"{len(entries)} models"
        clauses.append(f"most replies of {who} on {_few(group, places)} could not be read")
    if clauses:
        text = floors + "; ".join(clauses)
        yield f"{text[0].upper()}{text[1:]}. The best figures there are therefore not called a lead."


def _partial(report: Report) -> Iterator[str]:
    """Name the tasks whose figures rest on only part of the items."""
    columns = [column for column in report.columns if column.main]
    parts = [f"{column.title} ({column.size.n:,} of {column.size.of:,})" for column in columns if column.size.partial]
    if parts:
        tasks = f"{len(parts)} of {len(columns)} tasks"
        if len(parts) == len(columns):
            tasks = f"all {len(columns)} tasks" if len(columns) > 1 else "the task"
        which = f": {_joined(parts, 'and')}" if len(parts) <= _LISTED else ""
        yield f"The figures of {tasks} rest on only part of the items (a limit, or replies to some items only){which}."


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
    alone = [place for place in places if not place.ranks and len(place.figures) < 2]
    if alone:
        yield f"Nothing is compared on {_listed(alone, places)}, with figures of fewer than two models."


def _not_above_floors(report: Report, places: Sequence[_Place], doubts: Mapping[str, _Doubt]) -> Iterator[str]:
    """Say which models are not shown to be better than uninformed replies, by the intervals of their headlines.

    Args:
        report: The report.
        places: Its tasks and means.
        doubts: Why the leaders of places, by name, are not said to lead, which another sentence says.
    """
    labels = {entry.id: entry.label for entry in report.entries}
    nobody: list[str] = []
    by_models: dict[str, list[str]] = {}
    nobody_known = any(doubt.nobody for doubt in doubts.values())
    tasks = 0
    for place in places:
        if not place.task or not place.measured or place.floor is None:
            continue
        tasks += 1
        known = doubts[place.name].leader if place.name in doubts else None
        below = [labels[entry] for entry in place.measured if not place.above_floor(entry) and entry != known]
        if place.all_below:
            nobody += [] if nobody_known else [place.name]
        elif below:
            many = len(below) > _NAMED
            who = (
                f"{len(below)} of {len(place.measured)} models are" if many else f"{_joined(below, 'and')} {_is(below)}"
            )
            by_models.setdefault(who, []).append(place.name)
    if len(by_models) > _NAMED:
        by_models = {"some models are": [title for titles in by_models.values() for title in titles]}
    clauses = ([("no model is", nobody)] if nobody else []) + [(f"{who} not", on) for who, on in by_models.items()]
    if clauses:
        (who, titles), *others = clauses
        rest = "".join(f"; {who} on {_task_list(titles, tasks)}" for who, titles in others)
        yield f"By the 95% intervals, {who} shown to be better than {_FLOOR} on {_task_list(titles, tasks)}{rest}."


def _with_floor_explained_once(sentences: Iterable[str]) -> Iterator[str]:
    explained = False
    for sentence in sentences:
        yield sentence.replace(_FLOOR, "the floor") if explained else sentence
        explained = explained or _FLOOR in sentence


def _floor(report: Report, column: ReportColumn, metric: str) -> float | None:
    """Return the best figure of uninformed replies in a metric that a model can exceed."""
    higher = column.directions.get(metric)
    if higher is None:
        return None
    best = max if higher else min
    low, high = column.range if metric == column.headline else (0.0, 1.0)
    end = high if higher else low
    floors = (floor.value for floor in report.floors if floor.column == column.id and floor.metric == metric)
    return best((floor for floor in floors if math.isfinite(floor) and floor != end), default=None)


def _mean_floor(report: Report, group: ReportGroup) -> float | None:
    """Return the mean of the floors of a group's tasks; None if a task has none."""
    floors = [_floor(report, column, group.metric) for column in report.columns_of(group)]
    defined = [floor for floor in floors if floor is not None]
    return fmean(defined) if len(defined) == len(floors) else None


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
            titles[result.column]: share
            for result in report.results
            if result.entry == entry.id and result.column in titles and (share := _unread([result])) > _MOST
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
            f"Most replies contain no readable answer (unparsed or empty): {where}. These figures say little about "
            "what a model knows."
        )


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _task_list(titles: Sequence[str], tasks: int) -> str:
    """List tasks by name if they are few, otherwise count them."""
    if len(titles) == tasks > 1:
        return f"any of the {tasks} tasks"
    return _joined(titles, "and") if len(titles) <= _LISTED else f"{len(titles)} of {tasks} tasks"


def _listed(some: Sequence[_Place], places: Sequence[_Place], most: int | None = None) -> str:
    """List places by name, or as all tasks, after the means; more than `most` tasks are counted."""
    names = [place.name for place in some if not place.task]
    tasks = [place.name for place in some if place.task]
    every = sum(place.task for place in places)
    if len(tasks) == every > 1:
        tasks = [f"all {every} tasks"]
    elif most is not None and len(tasks) > most:
        tasks = [f"{len(tasks)} of {every} tasks"]
    return _joined(names + tasks, "and")


def _few(some: Sequence[_Place], places: Sequence[_Place]) -> str:
    return _listed(some, places, _LISTED)


def _joined(names: Sequence[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
