"""What a report says in a few sentences: who leads, what is open, whose figures say little, and what decides it."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from statistics import fmean
from typing import NamedTuple

from halu_tasks.report.report_records import Cell, Column, Mean, Place, ReplyWarning, Report, part_answered
from halu_tasks.report.text import interval, number
from halu_tasks.results.comparability import Entry
from halu_tasks.scorers.answer import EMPTY, UNPARSED
from halu_tasks.scorers.metrics import Estimate

# maximum number of models that are named together
_NAMED = 3
# maximum number of results that are listed in a sentence about floors or unparsed replies
_LISTED = 5
# maximum length in characters of an answer
_NAME = 60
# maximum number of things that spoil a comparison in the sentence that is the answer
_SPOILS = 2
# share of unparsed and empty replies above which a figure says little about what a model knows
_MOST = 0.5


class Caution(NamedTuple):
    """What readers need to know before they use the figures.

    Attributes:
        text: What it is, in full.
        command: The words of a command that helps; empty if there is none.
        clause: What spoils a comparison, as a clause after `but`; empty if it spoils none.
    """

    text: str
    command: Sequence[str] = ()
    clause: str = ""


def summary(report: Report) -> list[str]:
    """Summarize a report: the answer in one sentence, what it rests on, and what to know before its figures are used.

    A model leads if its only rank that is compatible with the data is the first, so it is better than all others in
    the analysis behind all ranks of the report. This is not called a lead if the model is not shown to be better than
    uninformed replies, or if most replies of its own or of all others contain no readable answer.
    """
    sentences = [
        f"{one.text} What helps: {shlex.join(one.command)}" if one.command else one.text for one in cautions(report)
    ]
    return [answer(report), *findings(report), *sentences]


def answer(report: Report) -> str:
    """Say in one sentence which model leads, or that nothing is decided, and what spoils the comparison.

    Of one model alone, it says on how many tasks that is better than uninformed replies.
    """
    tasks, places = report.main, _places(report)
    if not tasks:
        return "There are no results that can be compared."
    if len({entry for column in report.columns for entry in column.entries}) == 1:
        (statement, is_claim), spoils = _answer_of_one_model(report, tasks), []
    else:
        (statement, is_claim), spoils = _answer_of_several_models(report, tasks, places), _only_guessing(report, tasks)
    spoils += [one.clause for one in cautions(report) if one.clause]
    reservations = ", and ".join(spoils[:_SPOILS])
    return f"{statement}{', but' if is_claim else ';'} {reservations}." if spoils else f"{statement}."


def findings(report: Report) -> list[str]:
    """Say what the answer rests on: leads that are none, what is open and where, and who is not above a floor."""
    places = _places(report)
    return [*_statistical_leads(report, places), *_open_places(report, places), *_below_floors(report, report.main)]


def cautions(report: Report) -> list[Caution]:
    """List what readers need to know before they use the figures, first what spoils a comparison most."""
    tasks, places = report.main, _places(report)
    return [
        *_on_sample(report),
        *_mostly_unreadable(report, tasks),
        *_constant(report, tasks),
        *_settings(report, tasks),
        *_by_judge_alone(report, places),
        *_reruns(report),
        *_unread_files(report),
        *_partial(report),
        *_other_limits(report, tasks),
        *_undecided(report, places),
        *_apart(report, tasks),
    ]


def _places(report: Report) -> list[Place]:
    return [*report.top_means(main=True), *report.main]


def _cells(report: Report, place: Place) -> dict[Entry, Cell]:
    return {entry: cell for entry in report.entries if (cell := place.cell(entry))}


def _ranks(report: Report, place: Place) -> dict[Entry, tuple[int, int]]:
    return {entry: cell.rank for entry, cell in _cells(report, place).items() if cell.rank}


def _figures(place: Place) -> dict[Entry, Estimate]:
    cells = ((entry, place.cell(entry)) for entry in place.entries)
    return {entry: cell.figure for entry, cell in cells if cell and cell.figure and isfinite(cell.figure.value)}


def _unreadable_shares(report: Report, place: Place) -> dict[Entry, float]:
    """Return the shares of replies without a readable answer by entry."""
    cells = _cells(report, place).items()
    return {entry: cell.missing.get(UNPARSED, 0) + cell.missing.get(EMPTY, 0) for entry, cell in cells}


def _best(report: Report, place: Place) -> Entry | None:
    """Return the entry that is better than all others; None if the items do not decide it."""
    return next((entry for entry, rank in _ranks(report, place).items() if rank == (1, 1)), None)


def leader(report: Report, place: Place) -> Entry | None:
    """Return the entry that leads; None if the items do not decide it, or if the best figure is not called a lead."""
    best = _best(report, place)
    return best if best and not _why_no_lead(report, place, best) else None


def _why_no_lead(report: Report, place: Place, best: Entry) -> str:
    """Say in a few words why the best figure is not called a lead; empty if it is."""
    shares = _unreadable_shares(report, place)
    if best in not_above_floor(place):
        return "not shown to be better than guessing"
    if shares[best] > _MOST:
        return _mostly(shares[best])
    if all(shares[entry] > _MOST for entry in _ranks(report, place) if entry != best):
        return "most replies of the others unreadable"
    return ""


def _mostly(share: float) -> str:
    return f"{share:.0%} unreadable" if share > _MOST else ""


def doubts(report: Report, place: Place) -> dict[Entry, list[str]]:
    """List by entry, in a few words each, why its figure is no lead and says little about what a model knows."""
    best, results = _best(report, place), place.results if isinstance(place, Column) else {}
    words: dict[Entry, list[str]] = {}
    for entry, share in _unreadable_shares(report, place).items():
        why = _why_no_lead(report, place, entry) if entry == best else ""
        unreadable = "" if why == _mostly(share) else _mostly(share)
        is_constant = entry in results and results[entry].constant is not None
        constant = "same answer to all" if is_constant else ""
        words[entry] = [word for word in (why and f"no lead: {why}", unreadable, constant) if word]
    return words


# --- the answer -------------------------------------------------------------------------------------


def _answer_of_one_model(report: Report, tasks: Sequence[Column]) -> tuple[str, bool]:
    """Say on which tasks a model is better than uninformed replies, and whether it is on any."""
    (entry,) = {entry for column in report.columns for entry in column.entries}
    label = entry.label
    floors = {task.title: floor for task in tasks if (floor := best_floor(task)) is not None}
    measured = [task for task in tasks if task.title in floors and entry in _figures(task)]
    if not measured:
        cell = tasks[0].cell(entry) if len(tasks) == 1 else None
        if cell and (figure := cell.corrected or cell.figure):
            result = f"{tasks[0].metric} {number(figure.value)} {interval(figure.low, figure.high)}".rstrip()
            return f"{label} has {result} on {tasks[0].title}{', corrected by labels' if cell.corrected else ''}", True
        return f"{label} has results on {_all_tasks(tasks)}, without a floor to compare them with", True
    behind = [task for task in measured if entry in not_above_floor(task)]
    if not behind:
        return f"{label} is better than guessing on {_all_tasks(measured)}", True
    if len(behind) < len(measured):
        above = f"{label} is better than guessing on {len(measured) - len(behind)} of {len(measured)} tasks"
        return f"{above}, and not shown to be on {_place_names(report, behind, measured, _NAMED)}", True
    signs = {True: 1, False: -1, None: 0}
    is_worse = all(
        signs[task.higher_is_better] * (_figures(task)[entry].value - floors[task.title]) <= 0 for task in behind
    )
    what = "is no better" if is_worse else "is not shown to be better"
    where = measured[0].title if len(measured) == 1 else f"any of {len(measured)} tasks"
    return f"{label} {what} than guessing on {where}", False


def _answer_of_several_models(report: Report, tasks: Sequence[Column], places: Sequence[Place]) -> tuple[str, bool]:
    """Say which models lead and what is undecided, and whether any leads."""
    won, doubted = _places_led(report, places)
    leads = [f"{label} leads on {_place_names(report, where, places, _NAMED)}" for label, where in won.items() if where]
    ranked = [task for task in tasks if _ranks(report, task)]
    undecided = [task for task in ranked if not _best(report, task)]
    if leads:
        parts = leads if len(leads) <= _NAMED else [*leads[:_NAMED], f"{len(leads) - _NAMED} other models lead on some"]
        some = f"{len(undecided)} of {len(ranked)} tasks {'is' if len(undecided) == 1 else 'are'} undecided"
        return "; ".join([*parts, some] if undecided else parts), True
    models = {entry for task in tasks for entry in _figures(task)}
    labels = [entry.label for entry in report.entries if entry in models]
    who = joined(labels) if len(labels) <= _NAMED else f"{len(labels)} models"
    if not ranked:
        what = "claimed" if any(pair.by_judge_alone for pair in report.pairs) else "compared"
        return f"Nothing is {what} between {who}", False
    where = ranked[0].title if len(ranked) == 1 else f"any of {len(ranked)} tasks"
    if doubted or any(pair.better for pair in report.pairs if pair.place.main):
        return f"No model leads on {where}", False
    return f"Nothing is decided between {who} on {where}", False


def _only_guessing(report: Report, tasks: Sequence[Column]) -> list[str]:
    """Say that no model is shown to be better than uninformed replies on any task; empty if one is."""
    measured = [task for task in tasks if best_floor(task) is not None and _figures(task)]
    if not measured or any(len(not_above_floor(task)) < len(_figures(task)) for task in measured):
        return []
    where = "it" if len(measured) == len(tasks) == 1 else "any" if len(measured) == len(tasks) else "those with a floor"
    return [f"no model is shown to be better than guessing on {where}"]


def _all_tasks(tasks: Sequence[Column]) -> str:
    return tasks[0].title if len(tasks) == 1 else f"all {len(tasks)} tasks"


# --- findings ---------------------------------------------------------------------------------------


def _places_led(report: Report, places: Sequence[Place]) -> tuple[dict[str, list[Place]], list[Place]]:
    """Return where each model leads, by its label, and where the best figure is not called a lead."""
    won: dict[str, list[Place]] = {entry.label: [] for entry in report.entries}
    doubted: list[Place] = []
    for place in places:
        if entry := leader(report, place):
            won[entry.label].append(place)
        elif _best(report, place):
            doubted.append(place)
    return won, doubted


def _statistical_leads(report: Report, places: Sequence[Place]) -> Iterator[str]:
    """Say where each model leads, and where the best figure is not called a lead."""
    won, doubted = _places_led(report, places)
    leads = [f"{label} leads on {_place_names(report, where, places)}" for label, where in won.items() if where]
    # the answer says it in full, or names some
    if leads:
        full = "A lead" if all(lead in answer(report) for lead in leads) else f"{'; '.join(leads)}. This"
        yield f"{full} is shown statistically: all ranks together hold with 95% confidence."
    if doubted:
        yield (
            f"The best figures on {_place_names(report, doubted, places, _LISTED)} are not called a lead: they are not "
            "shown to be better than the floor, or most replies of the best model or of all others could not be read."
        )


def not_above_floor(place: Place) -> list[Entry]:
    """Return the entries whose interval does not exclude the floor on the better side."""
    floor = best_floor(place)
    if floor is None:
        return []
    figures = _figures(place).items()
    return [entry for entry, figure in figures if not is_above(figure, floor, bool(place.higher_is_better))]


def is_above(figure: Estimate, floor: float, higher_is_better: bool) -> bool:
    """Return whether the interval of a figure excludes a floor on the better side."""
    if higher_is_better:
        return figure.low is not None and figure.low > floor
    return figure.high is not None and figure.high < floor


def best_floor(place: Place) -> float | None:
    """Return the best figure of uninformed replies that a model can exceed, of a mean that of its tasks on average."""
    best = []
    for column in place.columns:
        low, high = column.range
        floors = [floor.value for floor in column.floors if floor.headline]
        floors = [floor for floor in floors if isfinite(floor) and floor != (high if column.higher_is_better else low)]
        if column.higher_is_better is None or not floors:
            return None
        best.append(max(floors) if column.higher_is_better else min(floors))
    return fmean(best)


def _open_places(report: Report, places: Sequence[Place]) -> Iterator[str]:
    by_candidates: dict[tuple[str, ...], list[Place]] = {}
    for place in places:
        ranks = _ranks(report, place)
        if ranks and not _best(report, place):
            first = [entry.label for entry in report.entries if ranks.get(entry, (0,))[0] == 1]
            by_candidates.setdefault(tuple(first), []).append(place)
    parts = []
    for candidates, tied in by_candidates.items():
        models = max(len(_ranks(report, place)) for place in tied)
        many = f"any of {models} models" if len(candidates) == models else f"{len(candidates)} of {models} models may"
        who = joined(candidates, "or") if len(candidates) <= _NAMED else many
        parts.append(f"on {_place_names(report, tied, places)} ({who})")
    if parts:
        yield f"These items do not show which model leads {joined(parts, 'or')}."
    alone = [place for place in places if not _ranks(report, place) and len(_figures(place)) < 2]
    if alone and len(report.entries) > 1:
        where = _place_names(report, alone, places)
        yield f"Fewer than two models have figures on {where}, so nothing is compared there."


def _below_floors(report: Report, tasks: Sequence[Column]) -> Iterator[str]:
    """Say which models are not shown to be better than uninformed replies, by the intervals of their headlines."""
    parts = []
    for task in tasks:
        if below := [entry.label for entry in not_above_floor(task)]:
            models = len(_figures(task))
            is_named = len(below) <= _NAMED and len(below) < max(models, 2)
            who = joined(below) if is_named else "every model" if len(below) == models else f"{len(below)} of {models}"
            parts.append(f"{who} on {task.title} (floor {best_floor(task):.3f})")
    if parts:
        which = "; ".join(parts) if len(parts) <= _LISTED else f"some models on {len(parts)} of {len(tasks)} tasks"
        yield (
            "By the 95% intervals, these are not shown to be better than answers given without reading the items (the "
            f"floor): {which}."
        )


# --- cautions ---------------------------------------------------------------------------------------


def _on_sample(report: Report) -> Iterator[Caution]:
    samples = [column for column in report.columns if column.data == "sample"]
    if samples:
        are_all = len(samples) == len(report.columns)
        some = "All figures" if are_all else f"The figures on {_task_names(samples)}"
        text = f"{some} are of the sample that comes with the package, not of the benchmark: do not publish them."
        which = "these figures" if are_all else f"the figures on {_task_count(samples)}"
        yield Caution(
            text, ["halu-tasks", "data", "fetch"], f"{which} are of the packaged sample, not of the benchmark"
        )


def _mostly_unreadable(report: Report, tasks: Sequence[Column]) -> Iterator[Caution]:
    """Name the results with so many unparsed replies that their figures say little."""
    unread = [(task, _unreadable_shares(report, task)) for task in tasks]
    results = [
        (entry, task, shares[entry])
        for entry in report.entries
        for task, shares in unread
        if shares.get(entry, 0) > _MOST
    ]
    if not results:
        return
    parts = [f"{entry.label} on {task.title} ({share:.0%})" for entry, task, share in results]
    where = "; ".join(parts) if len(parts) <= _LISTED else f"{len(parts)} results (shares in the leaderboard)"
    text = (
        f"Most replies contain no readable answer ({UNPARSED} or {EMPTY}): {where}. These figures say little about "
        "what a model knows. Look at some replies, raise the token limit if they are cut, or ask for JSON."
    )
    affected = [task for _, task, _ in results]
    entries = [entry for entry, *_ in results]
    whose = f"replies of {_tasks_by_entry(entries, affected)}"
    if len(report.entries) == 1:
        whose = f"of its replies on {_task_count(affected)}"
    yield Caution(text, _run_command(affected, "--structured"), f"most {whose} could not be read")


def _constant(report: Report, tasks: Sequence[Column]) -> Iterator[Caution]:
    """Name the results in which every readable answer is the same."""
    answers = ((task, entry, result.constant) for task in tasks for entry, result in task.results.items())
    constant = [(task, entry, answer) for task, entry, answer in answers if answer is not None]
    if not constant:
        return
    parts = [f"{entry.label} on {task.title} ({answer[:_NAME]})" for task, entry, answer in constant]
    which = "; ".join(parts) if len(parts) <= _LISTED else f"{len(parts)} results (see the warnings)"
    text = f"Every readable answer is the same, although the correct ones differ: {which}."
    affected = [task for task, *_ in constant]
    entries = [entry for _, entry, _ in constant]
    if len(report.entries) == 1:
        clause = f"it gave the same answer to every item on {_task_count(affected)}"
    else:
        clause = f"{_tasks_by_entry(entries, affected)} gave the same answer to every item"
    yield Caution(text, _run_command(affected, "--structured"), clause)


def _settings(report: Report, tasks: Sequence[Column]) -> Iterator[Caution]:
    for note in report.notes:
        command = _run_command(tasks, models=("MODEL", "OTHER_MODEL"))
        yield Caution(f"{note}.", command, "the models were asked with different settings")


def _by_judge_alone(report: Report, places: Sequence[Place]) -> Iterator[Caution]:
    """Name what is left out of the claims, and what it takes to include it."""
    alone = {pair.place for pair in report.pairs if pair.by_judge_alone}
    if left_out := [place for place in places if place in alone]:
        where = _place_names(report, left_out, places, _NAMED)
        yield Caution(
            f"No model is said to lead or to be better on {_place_names(report, left_out, places)}: no labels "
            "check the verdicts, and a judge's errors may differ between models. Label some replies of each model "
            "(halu-tasks label verdicts), and name the labels.",
            ["halu-tasks", "report", "RESULTS", "--reference", "LABELS"],
            f"no labels check the verdicts on {where}",
        )


def _partial(report: Report) -> Iterator[Caution]:
    columns = report.main
    partial = [(column, part) for column in columns if (part := part_answered(column))]
    if partial:
        parts = [f"{column.title} ({part})" for column, part in partial]
        which = joined(parts) if len(parts) <= _LISTED else f"{len(parts)} of {len(columns)} tasks"
        text = f"Figures rest on only part of the items (a limit, or replies to some items only) on {which}."
        some = [column for column, _ in partial]
        where = some[0].title if len(some) == 1 else f"{len(some)} of {len(columns)} tasks"
        yield Caution(text, _run_command(some), f"only part of the items was answered on {where}")


def _unread_files(report: Report) -> Iterator[Caution]:
    if lost := sum(one.lost for one in report.not_read):
        files, were = ("1 file", "was") if lost == 1 else (f"{lost} files", "were")
        text = f"{files} {were} not read, so results are missing; the list of skipped files gives the reasons."
        yield Caution(text, clause=f"{files} could not be read")


def _reruns(report: Report) -> Iterator[Caution]:
    if reruns := sum(result.reruns > 0 for result in report.results):
        yield Caution(
            f"{reruns} of {len(report.results)} results are the latest of several runs. Choosing the best "
            "of several runs makes false claims more frequent, which no interval or p value here allows for.",
            clause="some results are the latest of several runs",
        )


def _other_limits(report: Report, tasks: Sequence[Column]) -> Iterator[Caution]:
    for entry in report.entries:
        limits = {task: limit for task in tasks if (limit := task.limit_of(entry))}
        if limits:
            where, which = _task_names([*limits]), ", ".join(dict.fromkeys(limits.values()))
            yield Caution(f"{entry.label} has another token limit on {where} than on its other tasks ({which}).")


def _undecided(report: Report, places: Sequence[Place]) -> Iterator[Caution]:
    """Say what decides which model leads where that is open."""
    if any(_ranks(report, place) and not _best(report, place) for place in places):
        command = ["halu-tasks", "plan", "RESULT", "OTHER_RESULT", "--difference", "0.05"]
        command += ["--models", str(len(report.entries)), "--tasks", str(len(report.main))]
        yield Caution("More items may decide what is open. Each pair says how many its difference needs.", command)


def _apart(report: Report, tasks: Sequence[Column]) -> Iterator[Caution]:
    if apart := len(report.columns) - len(tasks):
        what = "1 result column is" if apart == 1 else f"{apart} result columns are"
        yield Caution(f"{what} not comparable with these and shown apart.")


def _tasks_by_entry(entries: Sequence[Entry], tasks: Sequence[Column]) -> str:
    """Count the tasks of each entry, in pairs of an entry and a task; many entries are counted."""
    by_entry: dict[Entry, list[Column]] = {}
    for entry, task in zip(entries, tasks, strict=True):
        by_entry.setdefault(entry, []).append(task)
    if len(by_entry) > _NAMED:
        return f"{len(by_entry)} models on {_task_count(tasks)}"
    return joined([f"{entry.label} on {_task_count(of_entry)}" for entry, of_entry in by_entry.items()])


def _task_count(tasks: Sequence[Column]) -> str:
    """Count tasks, each once; a single one is named."""
    titles = list(dict.fromkeys(task.title for task in tasks))
    return titles[0] if len(titles) == 1 else f"{len(titles)} tasks"


def _task_names(columns: Sequence[Column]) -> str:
    titles = [column.title for column in columns]
    return joined(titles) if len(titles) <= _LISTED else f"{len(titles)} tasks"


def _run_command(tasks: Sequence[Column], *options: str, models: Sequence[str] = ("MODEL",)) -> list[str]:
    """Return the words of the command that asks tasks again."""
    names = ",".join(dict.fromkeys(task.task for task in tasks))
    return ["halu-tasks", "run", *models, "--tasks", names, *options]


# --- names ------------------------------------------------------------------------------------------


def _place_names(report: Report, some: Sequence[Place], places: Sequence[Place], most: int | None = None) -> str:
    """List places by name, or as all tasks, after the means; more than `most` tasks are counted."""
    groups = [place for place in some if isinstance(place, Mean)]
    means = [f"the mean of {group.title}" for group in groups]
    tasks = [place.title for place in some if isinstance(place, Column)]
    every = sum(isinstance(place, Column) for place in places)
    if len(tasks) == every > 1:
        tasks = [f"all {every} tasks"]
    elif most is not None and len(tasks) > most:
        tasks = [f"{len(tasks)} of {every} tasks"]
    return joined(means + tasks)


def rule(report: Report) -> str:
    """State in a few sentences what `better` and ranks rest on; empty if there are no pairs."""
    claims = [pair for pair in report.pairs if not pair.by_judge_alone]
    main, alone = sum(pair.place.main for pair in claims), len(report.pairs) - len(claims)
    apart, margin = len(claims) - main, report.about.margin
    left_out = f"Nothing is claimed of {_differences(alone)} in verdicts without labels." if alone else ""
    if not claims:
        return left_out
    families = [f"{_differences(main)} between models on main tasks and group means"] if main else []
    families += [f"{_differences(apart)} in results shown apart"] if apart else []
    several = len(families) > 1
    analyses = f"two analyses, of {' and of '.join(families)}" if several else f"one analysis of {families[0]}"
    equal = (
        ""
        if margin is None
        else f" The probability of any false “equal” (within ±{margin:g}) is also at most about 5% (Holm)."
    )
    return (
        f"“Better”, “open” and ranks come from {analyses}. The probability of any false claim in "
        f"{'each' if several else 'it'} is about 5% at most (p values adjusted by Holm's method).{equal} "
        "Intervals are of one pair on one task alone, so an interval can exclude 0 although the pair is open. "
        f"{left_out}".rstrip()
    )


def _differences(differences: int) -> str:
    return "the difference" if differences == 1 else f"the {differences:,} differences"


class Wins(NamedTuple):
    """On how many main columns an entry is better or worse than another, equal, or neither is shown."""

    first: Entry
    second: Entry
    better: int
    worse: int
    equal: int
    open: int

    def as_json(self) -> dict[str, str | int]:
        """Return the JSON form, which has the ids of the entries."""
        return self._asdict() | {"first": self.first.id, "second": self.second.id}


def wins(report: Report) -> list[Wins]:
    """Count the main columns on which the `first` is `better` or `worse` than the `second`, `equal`, or `open`."""
    outcomes: dict[tuple[Entry, Entry], Counter[Entry | str]] = {}
    for pair in report.pairs:
        if isinstance(pair.place, Column) and pair.place.main and not pair.by_judge_alone:
            for key in ((pair.first, pair.second), (pair.second, pair.first)):
                outcomes.setdefault(key, Counter())[pair.better or ("equal" if pair.equal else "open")] += 1
    return [
        Wins(first, second, counts[first], counts[second], counts["equal"], counts["open"])
        for (first, second), counts in outcomes.items()
    ]


def warning_text(entry: Entry, column: Column, warning: ReplyWarning) -> str:
    """Return a warning with whose replies it is about."""
    return f"{entry.label}, {column.title}: {warning.share} {warning.meaning}"


def joined(names: Sequence[str], word: str = "and") -> str:
    """Join names, as in `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
