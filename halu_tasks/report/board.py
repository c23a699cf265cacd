"""The board of a report: which results are compared, as entries (rows), columns, and means of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from halu_tasks.replies.embedded import reads_prompts
from halu_tasks.report.report_columns import column_of, is_shown, published_figure
from halu_tasks.report.report_records import Column, Mean, MeanFigure, PublishedFigure, Report, representative
from halu_tasks.results.comparability import Entry, asked_otherwise, entries_of, labelled, not_paired, repeats
from halu_tasks.results.published import published
from halu_tasks.results.run import Run
from halu_tasks.scorers.attempts import penalty_of
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import estimate
from halu_tasks.tasks import Task, registry
from halu_tasks.tasks.task_registry import Group

# kinds of data, beginning with those that best represent the benchmark
_DATA = ("pinned", "own", "extract", "local", "sample")


@dataclass(eq=False)
class _Draft:
    """The runs of a column while they are arranged, by entry, and those that they replaced."""

    runs: dict[Entry, Run] = field(default_factory=dict)
    replaced: dict[Entry, list[Run]] = field(default_factory=dict)

    @property
    def first(self) -> Run:
        """The run that stands for the condition of all."""
        return representative(self.runs.values())


def board(runs: Sequence[Run], groups: Sequence[Group] = ()) -> Report:
    """Arrange runs by the conditions under which they were made: main columns first, and those that more entries share.

    Args:
        runs: The runs in chronological order. Of runs that differ only in time, the latest counts, and of those with
            different limits the one on most items.
        groups: Groups that have means, beside the packaged ones.
    """
    rows = sorted(zip(entries_of(runs), runs, strict=True), key=lambda row: not reads_prompts(row[1].model))
    entries = labelled(sorted({entry for entry, _ in rows}, key=_alphabetical))

    def alike(one: Run, other: Run) -> bool:
        anyhow = reads_prompts(one.model) and not reads_prompts(other.model)
        if one.condition[anyhow:] != other.condition[anyhow:]:
            return False
        same = (one.items_hash, one.targets_hash) == (other.items_hash, other.targets_hash)
        return same or not not_paired(one, other)

    columns = _arranged(rows, entries, alike)
    # means of one entry alone, which compare nothing, come last
    means = sorted(_means(columns, entries, [*registry()[1].values(), *groups]), key=lambda mean: len(mean.figures) < 2)
    for number, mean in enumerate(means, 1):
        mean.id = f"g{number}"
    return Report(entries=entries, columns=columns, means=means)


def _alphabetical(entry: Entry) -> tuple[Any, ...]:
    settings, roles = (sorted(values.items()) for values in (entry.settings, entry.roles))
    return entry.model.casefold(), entry.model, entry.method, settings, roles


def paired_board(rows: Sequence[tuple[Entry, Run]], *, across: bool, metrics: Sequence[str] = ()) -> Report:
    """Arrange runs by what their differences need: the same items in the same mode, however they were asked.

    Args:
        rows: The runs with their entries.
        across: Whether runs of different tasks on the same items are compared.
        metrics: The metrics to compare them by; the headline if empty.
    """

    def alike(one: Run, other: Run) -> bool:
        return (across or one.task == other.task) and not not_paired(one, other)

    entries = labelled(list(dict.fromkeys(entry for entry, _ in rows)), among_all=True)
    return Report(entries=entries, columns=_arranged(rows, entries, alike, metrics))


def _arranged(
    rows: Sequence[tuple[Entry, Run]],
    entries: Sequence[Entry],
    alike: Callable[[Run, Run], bool],
    metrics: Sequence[str] = (),
) -> list[Column]:
    drafts: list[_Draft] = []
    named = {entry: entry for entry in entries}
    for entry, run in ((named[entry], run) for entry, run in rows):
        fitting = [draft for draft in drafts if alike(draft.first, run)]
        draft = min(fitting, key=lambda draft: (draft.first.condition != run.condition, -len(draft.runs)), default=None)
        if draft is None:
            drafts.append(draft := _Draft())
        elif before := draft.runs.get(entry):
            # a short trial does not take the place of a whole run, nor an equal run that of one with probabilities
            is_later = len(run.scores) >= len(before.scores) and not repeats(before, run)
            run, gone = (run, before) if is_later or repeats(run, before) else (before, run)
            draft.replaced.setdefault(entry, []).append(gone)
        draft.runs[entry] = run
    order = list(registry()[0])

    def place(task: Task) -> tuple[int, str]:
        """Sort derived tasks after the packaged task that they are derived from."""
        return order.index(task.base_task) if task.base_task in order else len(order), task.name

    by_task: dict[str, list[_Draft]] = {}
    for draft in sorted(drafts, key=lambda draft: (place(draft.first.benchmark_task), _rank(draft))):
        by_task.setdefault(draft.first.task, []).append(draft)
    titled: list[tuple[_Draft, str, str]] = []
    for name, (main, *others) in by_task.items():
        titled.append((main, name, ""))
        for draft in others:
            differences = [*not_paired(main.first, draft.first), *asked_otherwise(main.first, draft.first)]
            title = "-".join([name, *_suffixes(main.first, draft.first)])
            titled.append((draft, title, "; ".join(differences) or "has different correct answers"))
    titled.sort(key=lambda one: (one[2] != "", -len(one[0].runs)))
    uses, seen = Counter(title for _, title, _ in titled), Counter[str]()
    columns = []
    for number, (draft, title, why) in enumerate(titled, 1):
        seen[title] += 1
        runs = {entry: draft.runs[entry] for entry in entries if entry in draft.runs}
        title += f" ({seen[title]})" if uses[title] > 1 else ""
        columns.append(column_of(runs, draft.replaced, metrics, id=f"c{number}", title=title, why=why))
    return columns


def _means(columns: Sequence[Column], entries: Sequence[Entry], groups: Sequence[Group]) -> Iterator[Mean]:
    """Compute the mean headlines of groups, those of most tasks first, in each mode in which all have a column."""
    for group in sorted(groups, key=lambda group: -len(group.members)):
        for mode in ("strict", "paper"):
            members = [column for member in group.members if (column := _column(columns, member, mode))]
            if len(members) < len(group.members) or not _same_condition(members):
                continue
            metric = group.metric(group.means[0], mode, penalty=_penalty(members))
            mean = _mean(group, metric.name, mode, members)
            (compared,) = mean.compared
            figures: dict[Entry, MeanFigure] = {}
            for entry in entries:
                if all(entry in column.runs for column in members):
                    scores = by_cluster(mean.scores(entry))
                    if figure := estimate(metric, scores):
                        corrected = estimate(compared, scores) if mean.compared_by != mean.metric else None
                        figures[entry] = MeanFigure(figure, corrected)
            if figures:
                mean.figures = figures
                yield mean


def _penalty(columns: Sequence[Column]) -> float:
    return penalty_of(score for column in columns for score in column.first.scores[:1])


def _mean(group: Group, name: str, mode: str, columns: Sequence[Column]) -> Mean:
    corrected = {column.task: better for column in columns if (better := column.corrected(name))}
    compared = group.metric(name, mode, corrected, _penalty(columns))
    about = ", ".join(f"{column.task} ({column.headline})" for column in columns)
    about = f"the unweighted mean over {about}"
    if corrected:
        about += f"; differences and ranks are of {compared.name}, in which labels correct {', '.join(corrected)}"
    is_main = all(column.main for column in columns)
    mean = Mean(
        id="",
        title=group.name if is_main else f"{group.name}-{mode}",
        group=group.name,
        metric=name,
        compared_by=compared.name,
        scoring=mode,
        data=columns[0].data,
        main=is_main,
        columns=columns,
        about=about,
        higher_is_better=compared.higher_is_better,
        figures={},
        of=group,
        compared=[compared],
    )
    mean.published = list(_published(mean))
    return mean


def _published(mean: Mean) -> Iterator[PublishedFigure]:
    """Collect the published figures for a mean, except for those on the packaged sample."""
    for one in published(mean.group):
        if (one.task, one.metric) == (mean.group, mean.metric) and is_shown(one, mean.columns, mean.scoring):
            yield published_figure(one, headline=True)


def _column(columns: Sequence[Column], task: str, mode: str) -> Column | None:
    """Return the column that best represents a task in a mode: the main one if it is in that mode."""
    matching = (column for column in columns if column.task == task and column.scoring == mode)
    return min(matching, key=_rank, default=None)


def _same_condition(columns: Sequence[Column]) -> bool:
    """Return whether a mean mixes neither the sample with the benchmark nor different values of an option.

    A task may show a number of worked examples by default that others do not.
    """
    values: dict[str, set[str]] = {}
    for run in (column.first for column in columns):
        usual = {"fewshot": "usual"} if run.provenance.fewshot == run.benchmark_task.prompts.shots else {}
        for name, value in {"data": run.provenance.data, **run.asked, **usual}.items():
            values.setdefault(name, set()).add(str(value))
    return all(len(different) == 1 for different in values.values())


def _rank(column: Column | _Draft) -> tuple[Any, ...]:
    """Return a sort key by which the main column of a task comes first.

    In order of importance, this is a column with the benchmark's own data, with the judge if the task needs one, in
    strict mode, without options, with all items, and with most entries. The column that best represents the benchmark
    thus remains the main one, whatever results are added.
    """
    run, task = column.first, column.first.benchmark_task
    kind = run.provenance.data
    return (
        _DATA.index(kind) if kind in _DATA else len(_DATA),
        task.judge_spec is not None and run.judge is None,
        run.scoring != "strict",
        len(run.options) + (run.provenance.fewshot not in (None, task.prompts.shots)),
        -len(run.scores) // run.epochs,
        -len(column.runs),
        run.created,
    )


def _suffixes(main: Run, run: Run) -> list[str]:
    """List in one word each how a column differs from the main one of its task."""
    words = [mark for mark in run.version_tags if mark not in main.version_tags]
    words += ["prompts_unknown"] if not run.provenance.prompt_hash and main.provenance.prompt_hash else []
    words += [f"{run.epochs}epochs"] if run.epochs != main.epochs else []
    words += [f"{len(run.scores)}items"] if run.epochs == main.epochs and len(run.scores) != len(main.scores) else []
    words += ["other_judge" if run.judge else "no_judge"] if run.judge != main.judge else []
    return words or ["apart"]
