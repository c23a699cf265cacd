"""What a report says in a few sentences: who leads, what is open, whose figures say little, and what decides it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from statistics import fmean

from halu_tasks.report.records import Cell, Json, Place, Report, ReportColumn, ReportGroup
from halu_tasks.scorers.answer import EMPTY, UNPARSED
from halu_tasks.scorers.metrics import Estimate

# maximum number of models that are named together
_NAMED = 3
# maximum number of results that are listed in a sentence about floors or unparsed replies
_LISTED = 5
# maximum length in characters of an answer
_NAME = 60
# share of unparsed and empty replies above which a figure says little about what a model knows
_MOST = 0.5


def summary(report: Report) -> list[str]:
    """Summarize a report from the ranks of its main tasks and means.

    A model leads if its only rank that is compatible with the data is the first, so it is better than all others in
    the analysis behind all ranks of the report. This is not called a lead if the model is not shown to be better than
    uninformed replies, or if most replies of its own or of all others contain no readable answer.
    """
    tasks = [column for column in report.columns if column.main]
    places: list[Place] = [*report.top_groups(main=True), *tasks]
    sentences = [*_leads(report, places), *_by_judge_alone(report, places), *_partial(report), *_open(report, places)]
    sentences += [*_below_floors(report, tasks), *_mostly_unread(report, tasks), *_constant(report, tasks)]
    if report.reruns:
        sentences.append(
            f"{len(report.reruns)} of {len(report.results)} results are the latest of several runs. Choosing the best "
            "of several runs makes false claims more frequent, which no interval or p value here allows for."
        )
    apart = len(report.columns) - len(tasks)
    if apart:
        what = "1 result column is" if apart == 1 else f"{apart} result columns are"
        sentences.append(f"{what} not comparable with these and shown apart.")
    return sentences


def _cells(report: Report, place: Place) -> dict[str, Cell]:
    return {entry: cell for entry in report.labels if (cell := report.cell(entry, place))}


def _ranks(report: Report, place: Place) -> dict[str, tuple[int, int]]:
    return {entry: cell.rank for entry, cell in _cells(report, place).items() if cell.rank}


def _figures(report: Report, place: Place) -> dict[str, Estimate]:
    cells = _cells(report, place).items()
    return {entry: cell.figure for entry, cell in cells if cell.figure and isfinite(cell.figure.value)}


def _unread(report: Report, place: Place) -> dict[str, float]:
    """Return the shares of replies without a readable answer by entry."""
    cells = _cells(report, place).items()
    return {entry: cell.missing.get(UNPARSED, 0) + cell.missing.get(EMPTY, 0) for entry, cell in cells}


def _leader(report: Report, place: Place) -> str | None:
    """Return the entry that is better than all others; None if the items do not decide it."""
    return next((entry for entry, rank in _ranks(report, place).items() if rank == (1, 1)), None)


def _leads(report: Report, places: Sequence[Place]) -> Iterator[str]:
    """Say who leads, and where the best figure is not called a lead."""
    won: dict[str, list[Place]] = {label: [] for label in report.labels.values()}
    doubted: list[Place] = []
    for place in places:
        if leader := _leader(report, place):
            unread = _unread(report, place)
            others = [unread[entry] for entry in _ranks(report, place) if entry != leader]
            read = unread[leader] <= _MOST and min(others) <= _MOST
            is_lead = read and leader not in _below_floor(report, place)
            (won[report.labels[leader]] if is_lead else doubted).append(place)
    if leads := [f"{label} leads on {_listed(report, own, places)}" for label, own in won.items() if own]:
        yield f"{'; '.join(leads)}. This is shown statistically: all ranks together hold with 95% confidence."
    if doubted:
        yield (
            f"The best figures on {_listed(report, doubted, places, _LISTED)} are not called a lead: they are not "
            "shown to be better than the floor, or most replies of the best model or of all others could not be read."
        )


def _by_judge_alone(report: Report, places: Sequence[Place]) -> Iterator[str]:
    """Name what is left out of the claims, and what it takes to include it."""
    alone = {pair.place for pair in report.pairs if pair.by_judge_alone}
    if left_out := [place for place in places if place.id in alone]:
        yield (
            f"No model is said to lead or to be better on {_listed(report, left_out, places)}: these are a judge's "
            "verdicts, and its errors may differ between models. Label some replies of each model (halu-tasks label "
            "verdicts, then report --reference)."
        )


def _below_floor(report: Report, place: Place) -> list[str]:
    """Return the entries whose interval does not exclude the floor on the better side."""
    floor = _floor(report, place)
    if floor is None:
        return []
    sign, end = (1, "low") if place.higher_is_better else (-1, "high")
    ends = {entry: getattr(figure, end) for entry, figure in _figures(report, place).items()}
    return [entry for entry, value in ends.items() if value is None or sign * value <= sign * floor]


def _floor(report: Report, place: Place) -> float | None:
    """Return the best figure of uninformed replies that a model can exceed, of a mean that of its tasks on average."""
    best = []
    for column in report.columns_of(place):
        low, high = column.range
        floors = [one["value"] for one in report.floors if one["headline"] and one["column"] == column.id]
        floors = [floor for floor in floors if isfinite(floor) and floor != (high if column.higher_is_better else low)]
        if column.higher_is_better is None or not floors:
            return None
        best.append(max(floors) if column.higher_is_better else min(floors))
    return fmean(best)


def _partial(report: Report) -> Iterator[str]:
    """Name the tasks whose figures rest on only part of the items."""
    columns = [column for column in report.columns if column.main]
    parts = [f"{column.title} ({part})" for column in columns if (part := report.part_answered(column))]
    if parts:
        which = joined(parts) if len(parts) <= _LISTED else f"{len(parts)} of {len(columns)} tasks"
        yield f"Figures rest on only part of the items (a limit, or replies to some items only) on {which}."


def _open(report: Report, places: Sequence[Place]) -> Iterator[str]:
    by_candidates: dict[tuple[str, ...], list[Place]] = {}
    for place in places:
        ranks = _ranks(report, place)
        if ranks and not _leader(report, place):
            first = [label for entry, label in report.labels.items() if ranks.get(entry, (0,))[0] == 1]
            by_candidates.setdefault(tuple(first), []).append(place)
    parts = []
    for candidates, tied in by_candidates.items():
        models = max(len(_ranks(report, place)) for place in tied)
        many = f"any of {models} models" if len(candidates) == models else f"{len(candidates)} of {models} models may"
        who = joined(candidates, "or") if len(candidates) <= _NAMED else many
        parts.append(f"on {_listed(report, tied, places)} ({who})")
    if parts:
        yield f"These items do not show which model leads {joined(parts, 'or')}."
    if alone := [place for place in places if not _ranks(report, place) and len(_figures(report, place)) < 2]:
        yield f"Fewer than two models have figures on {_listed(report, alone, places)}, so nothing is compared there."


def _below_floors(report: Report, tasks: Sequence[ReportColumn]) -> Iterator[str]:
    """Say which models are not shown to be better than uninformed replies, by the intervals of their headlines."""
    parts = []
    for task in tasks:
        if below := [report.labels[entry] for entry in _below_floor(report, task)]:
            models = len(_figures(report, task))
            many = "every model" if len(below) == models else f"{len(below)} of {models} models"
            who = joined(below) if len(below) <= min(_NAMED, models - 1) else many
            parts.append(f"{who} on {task.title} (floor {_floor(report, task):.3f})")
    if parts:
        which = "; ".join(parts) if len(parts) <= _LISTED else f"some models on {len(parts)} of {len(tasks)} tasks"
        yield (
            "By the 95% intervals, these are not shown to be better than answers given without reading the items (the "
            f"floor): {which}."
        )


def _mostly_unread(report: Report, tasks: Sequence[ReportColumn]) -> Iterator[str]:
    """Name the results with so many unparsed replies that their figures say little."""
    unread = [(task.title, _unread(report, task)) for task in tasks]
    parts = [
        f"{label} on {title} ({shares[entry]:.0%})"
        for entry, label in report.labels.items()
        for title, shares in unread
        if shares.get(entry, 0) > _MOST
    ]
    if parts:
        where = "; ".join(parts) if len(parts) <= _LISTED else f"{len(parts)} results (shares in the leaderboard)"
        yield (
            f"Most replies contain no readable answer ({UNPARSED} or {EMPTY}): {where}. These figures say little about "
            "what a model knows."
        )


def _constant(report: Report, tasks: Sequence[ReportColumn]) -> Iterator[str]:
    """Name the results in which every readable answer is the same."""
    titles = {task.id: task.title for task in tasks}
    parts = [
        f"{report.labels[result.entry]} on {titles[result.column]} ({result.constant[:_NAME]})"
        for result in report.results
        if result.constant is not None and result.column in titles
    ]
    if parts:
        where = "; ".join(parts) if len(parts) <= _LISTED else f"{len(parts)} results (see the warnings)"
        yield f"Every readable answer is the same, although the correct ones differ: {where}."


def _listed(report: Report, some: Sequence[Place], places: Sequence[Place], most: int | None = None) -> str:
    """List places by name, or as all tasks, after the means; more than `most` tasks are counted."""
    groups = [place for place in some if isinstance(place, ReportGroup)]
    means = [f"the mean of {group.title}" for group in groups]
    tasks = [place.title for place in some if isinstance(place, ReportColumn)]
    every = sum(isinstance(place, ReportColumn) for place in places)
    if len(tasks) == every > 1:
        tasks = [f"all {every} tasks"]
    elif most is not None and len(tasks) > most:
        tasks = [f"{len(tasks)} of {every} tasks"]
    return joined(means + tasks)


def rule(report: Report) -> str:
    """State in a few sentences what `better` and ranks rest on; empty if there are no pairs."""
    claims = [pair for pair in report.pairs if not pair.by_judge_alone]
    main, alone = sum(report.places[pair.place].main for pair in claims), len(report.pairs) - len(claims)
    apart, margin = len(claims) - main, report.about["margin"]
    left_out = f"Nothing is claimed of {_number(alone)} in a judge's verdicts without labels." if alone else ""
    if not claims:
        return left_out
    families = [f"{_number(main)} between models on main tasks and group means"] if main else []
    families += [f"{_number(apart)} in results shown apart"] if apart else []
    several = len(families) > 1
    analyses = f"two analyses, of {' and of '.join(families)}" if several else f"one analysis of {families[0]}"
    equal = (
        "" if margin is None else f" That of any false “equal” (within ±{margin:g}) is about 5% at most, too (Holm)."
    )
    return (
        f"“Better”, “open” and ranks come from {analyses}. The probability of any false claim in "
        f"{'each' if several else 'it'} is about 5% at most (p values adjusted by Holm's method).{equal} "
        "Intervals are of one pair on one task alone, so an interval can exclude 0 although the pair is open. "
        f"{left_out}".rstrip()
    )


def _number(differences: int) -> str:
    return "the difference" if differences == 1 else f"the {differences:,} differences"


def wins(report: Report) -> list[Json]:
    """Count the main columns on which the `first` is `better` or `worse` than the `second`, `equal`, or `open`."""
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for pair in report.pairs:
        if pair.column and report.places[pair.column].main and not pair.by_judge_alone:
            for key in ((pair.first, pair.second), (pair.second, pair.first)):
                outcomes.setdefault(key, Counter())[pair.better or ("equal" if pair.equal else "open")] += 1
    records: list[Json] = []
    for (first, second), counts in outcomes.items():
        keys = {"better": first, "worse": second, "equal": "equal", "open": "open"}
        records.append({"first": first, "second": second} | {name: counts[key] for name, key in keys.items()})
    return records


def joined(names: Sequence[str], word: str = "and") -> str:
    """Join names, as in `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
