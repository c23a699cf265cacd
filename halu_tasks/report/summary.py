"""A report in a few sentences: who leads, what is open, whose figures say little, and what is not comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from halu_tasks.report.records import Place, Report, ReportColumn, ReportGroup
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
        place: The column or group.
        name: Its name in a sentence.
        ranks: The ranks of its entries, by id.
        figures: The headline figures of its entries, by id.
        unread: The shares of replies without a readable answer, by id.
        floor: The best figure of uninformed replies that a model can exceed; None if there is none.
    """

    place: Place
    name: str
    ranks: Mapping[str, tuple[int, int]]
    figures: Mapping[str, Estimate]
    unread: Mapping[str, float]
    floor: float | None

    @property
    def is_task(self) -> bool:
        """Whether it is a task."""
        return isinstance(self.place, ReportColumn)

    @property
    def leader(self) -> str | None:
        """The entry that is better than all others; None if the items do not decide it."""
        return next((entry for entry, rank in self.ranks.items() if rank == (1, 1)), None)

    @property
    def leads(self) -> bool:
        """Whether the leader is better than the floor, and its replies and some of the others could be read."""
        others = [self.unread[entry] for entry in self.ranks if entry != self.leader]
        below = self.leader is None or self.leader in self.below_floor
        return not below and self.unread[self.leader or ""] <= _MOST and min(others) <= _MOST

    @property
    def below_floor(self) -> list[str]:
        """The entries whose interval does not exclude the floor on the better side."""
        if self.floor is None:
            return []
        sign, end = (1, "low") if self.place.higher_is_better else (-1, "high")
        ends = {entry: getattr(figure, end) for entry, figure in self.figures.items()}
        return [entry for entry, value in ends.items() if value is None or sign * value <= sign * self.floor]


def summary(report: Report) -> list[str]:
    """Summarize a report from the ranks of its main tasks and means.

    A model leads if its only rank that is compatible with the data is the first, so it is better than all others in
    the analysis behind all ranks of the report. This is not called a lead if the model is not shown to be better than
    uninformed replies, or if most replies of its own or of all others contain no readable answer.

    Args:
        report: The report; its own summary is not read.
    """
    tasks = [_standing(report, column) for column in report.columns if column.main]
    places = [*(_standing(report, group) for group in report.top_groups(main=True)), *tasks]
    sentences = [*_leads(report, places), *_partial(report), *_open(report, places)]
    sentences += [*_below_floors(report, tasks), *_mostly_unread(report, tasks)]
    apart = len(report.columns) - len(tasks)
    if apart:
        what = "1 result column is" if apart == 1 else f"{apart} result columns are"
        sentences.append(f"{what} not comparable with these and shown apart.")
    return sentences


def _standing(report: Report, place: Place) -> _Standing:
    cells = {entry: cell for entry in report.labels if (cell := report.cell(entry, place))}
    name, floors = place.title, [_floor(report, column, place.metric) for column in report.columns_of(place)]
    if isinstance(place, ReportGroup):
        several = sum(other.title == name for other in report.top_groups(main=True)) > 1
        name = f"the mean {place.metric} of {name}" if several else f"the mean of {name}"
    known = [floor for floor in floors if floor is not None]
    return _Standing(
        place=place,
        name=name,
        ranks={entry: cell.rank for entry, cell in cells.items() if cell.rank},
        figures={entry: cell.figure for entry, cell in cells.items() if cell.figure and isfinite(cell.figure.value)},
        unread={entry: cell.missing.get("unparsed", 0) + cell.missing.get("empty", 0) for entry, cell in cells.items()},
        floor=fmean(known) if len(known) == len(floors) else None,
    )


def _floor(report: Report, column: ReportColumn, metric: str) -> float | None:
    """Return the best figure of uninformed replies in a metric that a model can exceed."""
    higher = column.directions.get(metric)
    if higher is None:
        return None
    low, high = column.range if metric == column.metric else (0.0, 1.0)
    floors = [floor.value for floor in report.floors if floor.column == column.id and floor.metric == metric]
    floors = [floor for floor in floors if isfinite(floor) and floor != (high if higher else low)]
    return (max if higher else min)(floors, default=None)


def _leads(report: Report, places: Sequence[_Standing]) -> Iterator[str]:
    """Say who leads, and where the best figure is not called a lead."""
    won = {
        label: [place for place in places if place.leader == entry and place.leads]
        for entry, label in report.labels.items()
    }
    if leads := [f"{label} leads on {_listed(own, places)}" for label, own in won.items() if own]:
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
        which = f": {joined(parts)}" if len(parts) <= _LISTED else ""
        yield f"The figures of {tasks} rest on only part of the items (a limit, or replies to some items only){which}."


def _open(report: Report, places: Sequence[_Standing]) -> Iterator[str]:
    by_candidates: dict[tuple[str, ...], list[_Standing]] = {}
    for place in (place for place in places if place.ranks and not place.leader):
        first = [label for entry, label in report.labels.items() if place.ranks.get(entry, (0,))[0] == 1]
        by_candidates.setdefault(tuple(first), []).append(place)
    parts = []
    for candidates, tied in by_candidates.items():
        models = max(len(place.ranks) for place in tied)
        who = joined(candidates, "or") if len(candidates) <= _NAMED else f"{len(candidates)} of {models} models"
        parts.append(f"on {_listed(tied, places)} ({who})")
    if parts:
        yield f"These items do not decide who leads {joined(parts, 'or')}."
    if alone := [place for place in places if not place.ranks and len(place.figures) < 2]:
        yield f"Nothing is compared on {_listed(alone, places)}, with figures of fewer than two models."


def _below_floors(report: Report, tasks: Sequence[_Standing]) -> Iterator[str]:
    """Say which models are not shown to be better than uninformed replies, by the intervals of their headlines."""
    tasks = [task for task in tasks if task.figures and task.floor is not None]
    nobody = [task.name for task in tasks if len(task.below_floor) == len(task.figures)]
    some: dict[str, list[str]] = {}
    for task in tasks:
        below = [report.labels[entry] for entry in task.below_floor]
        if 0 < len(below) < len(task.figures):
            many = f"{len(below)} of {len(task.figures)} models are not"
            who = many if len(below) > _NAMED else f"{joined(below)} {'is' if len(below) == 1 else 'are'} not"
            some.setdefault(who, []).append(task.name)
    if bool(nobody) + len(some) > _NAMED:
        some = {"some models are not": [name for names in some.values() for name in names]}
    phrases: list[str] = []
    for who, names in {**({"no model is": nobody} if nobody else {}), **some}.items():
        few = joined(names) if len(names) <= _LISTED else f"{len(names)} of {len(tasks)} tasks"
        on = f"any of the {len(tasks)} tasks" if len(names) == len(tasks) > 1 else few
        better = "" if phrases else "shown to be better than answers given without reading the items (the floor) "
        phrases.append(f"{who} {better}on {on}")
    if phrases:
        yield f"By the 95% intervals, {'; '.join(phrases)}."


def _mostly_unread(report: Report, tasks: Sequence[_Standing]) -> Iterator[str]:
    """Name the results with so many unparsed replies that their figures say little."""
    parts = []
    for entry, label in report.labels.items():
        shares = {task.name: task.unread[entry] for task in tasks if task.unread.get(entry, 0) > _MOST}
        if len(shares) > _LISTED:
            low, high = min(shares.values()), max(shares.values())
            parts.append(f"{label} on {len(shares)} of {len(tasks)} tasks ({low:.0%} to {high:.0%})")
        elif shares:
            parts.append(f"{label} on {joined([f'{title} ({share:.0%})' for title, share in shares.items()])}")
    if parts:
        models = f"{len(parts)} of {len(report.entries)} models on some tasks (shares in the leaderboard)"
        where = "; ".join(parts) if len(parts) <= _LISTED else models
        yield (
            f"Most replies contain no readable answer (unparsed or empty): {where}. These figures say little about "
            "what a model knows."
        )


def _listed(some: Sequence[_Standing], places: Sequence[_Standing], most: int | None = None) -> str:
    """List places by name, or as all tasks, after the means; more than `most` tasks are counted."""
    names = [place.name for place in some if not place.is_task]
    tasks = [place.name for place in some if place.is_task]
    every = sum(place.is_task for place in places)
    if len(tasks) == every > 1:
        tasks = [f"all {every} tasks"]
    elif most is not None and len(tasks) > most:
        tasks = [f"{len(tasks)} of {every} tasks"]
    return joined(names + tasks)


def joined(names: Sequence[str], word: str = "and") -> str:
    """Join names, as in `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
