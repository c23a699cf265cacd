"""The board of a report: which results are compared, as entries (rows), columns, and means of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from halu_tasks.replies.embedded import reads_prompts
from halu_tasks.replies.reference import comparison_note, decisive_metric
from halu_tasks.report.summary import joined
from halu_tasks.results.comparability import (
    Entry,
    asked_otherwise,
    chosen_metrics,
    entries_of,
    labelled,
    not_paired,
    other_targets,
    repeats,
    shared_items,
)
from halu_tasks.results.run import Run
from halu_tasks.scorers.attempts import ACC_ATTEMPTED, ATTEMPTED, NET
from halu_tasks.scorers.metrics import Estimate, Metric, by_cluster, estimate
from halu_tasks.scorers.option_metrics import penalty_of
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import difference, difference_where_both
from halu_tasks.tasks import Task, registry
from halu_tasks.tasks.registry import Group
from halu_tasks.text.figures import format_estimate

# kinds of data, beginning with those that best represent the benchmark
_DATA = ("pinned", "own", "extract", "local", "sample")
# maximum number of entries that are named together
_NAMED = 3
# a difference in the share of attempted items from which on shares among them are said not to compare
_MOST_APART = 0.05


@dataclass(eq=False)
class Column:
    """Comparable results: runs on one task under one condition, one per entry. Columns are compared by identity.

    Attributes:
        runs: The runs by entry.
        why: How it differs from the task's main column; empty for a main column.
        equal: Earlier runs of entries with the same answers and scores, such as in the other harness.
        names: The metrics that entries are compared by; if empty, the headline, or what labels make of it.
        id: The column's id.
        title: The task's name, with a suffix if the column is not the main one.
    """

    runs: dict[Entry, Run] = field(default_factory=dict)
    equal: dict[Entry, list[Run]] = field(default_factory=dict)
    why: str = ""
    names: Sequence[str] = ()
    id: str = ""
    title: str = ""

    @property
    def main(self) -> bool:
        """Whether this is the main column of its task."""
        return not self.why

    @property
    def first(self) -> Run:
        """The run on most items of an entry that depends on its prompts, which stands for the condition of all."""
        return min(self.runs.values(), key=lambda run: (not reads_prompts(run.model), -len(run.scores)))

    @property
    def entries(self) -> list[Entry]:
        """The entries."""
        return list(self.runs)

    def scores(self, entry: Entry, other: Entry | None = None) -> Sequence[ScoredReply]:
        """Return the scores of an entry, only of the items that another entry has if that is named."""
        scores = self.runs[entry].scores
        if other is None or not self.differ_in_items(entry, other):
            return scores
        shared = shared_items(self.runs[entry], self.runs[other])
        return [score for score in scores if score.id in shared]

    def differ_in_items(self, one: Entry, other: Entry) -> bool:
        """Return whether two entries answered different items, as with different limits."""
        return self.runs[one].items_hash != self.runs[other].items_hash

    @cached_property
    def task(self) -> Task:
        """The task, including one that users derived."""
        return self.first.benchmark_task

    @cached_property
    def metrics(self) -> list[Metric]:
        """The metrics with a figure of a run, in the task's order."""
        defined = {name for run in self.runs.values() for name in run.figures}
        scores = [score for run in self.runs.values() for score in run.scores]
        return [m for m in self.task.metrics_of(self.first.scoring, scores) if m.name in defined]

    @cached_property
    def headline(self) -> Metric:
        """The metric that sums the task up."""
        return self.task.metrics_of(self.first.scoring, self.first.scores)[0]

    @cached_property
    def compared_by(self) -> list[Metric]:
        """The metrics by which the entries are compared; ranks are of the first."""
        if self.names:
            return chosen_metrics(self.first, self.names)
        return [decisive_metric(self.headline, self.metrics, (run.scores for run in self.runs.values()))]

    def by_judge_alone(self, metric: Metric) -> bool:
        """Return whether a metric is what a judge says, whose errors no labels correct."""
        judged = self.task.judged
        if judged is None or metric.requires_option == "reference":
            return False
        return metric.requires_option == "judge" or judged.is_said_by(metric.columns)

    @property
    def notes(self) -> list[str]:
        """Differences between the runs that readers need to know of, although the runs can be compared."""
        judged = comparison_note(self.task, self.compared_by[0], [run.scores for run in self.runs.values()])
        notes = [judged] if judged else []
        sizes: dict[int, list[str]] = {}
        for entry, run in self.runs.items():
            sizes.setdefault(len(run.items), []).append(entry.label)
        if len({run.items_hash for run in self.runs.values()}) > 1:
            parts = [
                f"{size:,} items for {joined(labels) if len(labels) <= _NAMED else f'{len(labels)} entries'}"
                for size, labels in sorted(sizes.items(), reverse=True)
            ]
            notes.append(f"figures are of {joined(parts)}; two entries are compared on the items that both answered")
        ids = {entry.model: other_targets(self.first, run) for entry, run in self.runs.items()}
        if counts := {model: len(own) for model, own in ids.items() if own}:
            low, high = min(counts.values()), max(counts.values())
            items = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            who = next(iter(counts)) if len(counts) == 1 else f"{len(counts)} models"
            order = f"the answers of {items} items were in a different order than for {self.first.model}"
            notes.append(f"for {who}, {order}")
        asked = self.first.provenance.prompt_hash
        apart = [run.model for run in self.runs.values() if run.provenance.prompt_hash != asked]
        if apart and not any(map(reads_prompts, apart)):
            notes.append(f"{' and '.join(apart)} had other prompts than the rest, but read none")
        return notes + ([attempts] if (attempts := self._attempts) else [])

    @property
    def _attempts(self) -> str:
        """Say whose attempts differ most, and what is left of the difference on the items that both attempted."""
        metrics = {metric.name: metric for metric in self.metrics}
        models = ((entry, run) for entry, run in self.runs.items() if reads_prompts(run.model))
        shares = {entry: run.figures[ATTEMPTED] for entry, run in models if ATTEMPTED in run.figures}
        if len(shares) < 2 or not {ATTEMPTED, ACC_ATTEMPTED} <= metrics.keys():
            return ""
        least, most = (pick(shares, key=lambda entry: shares[entry].value) for pick in (min, max))
        runs = self.scores(most, least), self.scores(least, most)
        gap = difference(metrics[ATTEMPTED], *runs) if runs[0] else None
        if gap is None or gap.low is None or gap.low <= 0 or gap.value < _MOST_APART:
            return ""
        who = f"{most.label} attempts {shares[most].value:.2f} of the items and {least.label} {shares[least].value:.2f}"
        of_all = difference(metrics[ACC_ATTEMPTED], *runs)
        of_both = difference_where_both(metrics[ATTEMPTED], metrics[ACC_ATTEMPTED], *runs)
        if of_all and of_both:
            where = f"on the {of_both.items:,} items that both attempted"
            who += f"; their difference in {ACC_ATTEMPTED} is {format_estimate(of_all, '+.2f')}, and {where} "
            who += format_estimate(of_both, "+.2f")
        return f"{who}: shares of what is attempted compare only on the same items ({NET} is over all)"


@dataclass(eq=False)
class Mean:
    """The mean of the headlines of a group's tasks. Means are compared by identity.

    Attributes:
        group: The group.
        name: The headlines' name, or `HEADLINE` if they are different metrics.
        scoring: The mode of the columns, `strict` or `paper`.
        columns: A column of each member.
        figures: The mean of each entry with results in all columns.
        id: The mean's id.
    """

    group: Group
    name: str
    scoring: str
    columns: Sequence[Column]
    figures: Mapping[Entry, Estimate] = field(default_factory=dict)
    id: str = ""

    @property
    def entries(self) -> list[Entry]:
        """The entries."""
        return list(self.figures)

    @property
    def main(self) -> bool:
        """Whether the mean is over main columns only."""
        return all(column.main for column in self.columns)

    @cached_property
    def corrected(self) -> list[Column]:
        """The columns whose figures labels correct."""
        return [column for column in self.columns if column.compared_by[0].name == f"{self.name}_ppi"]

    @cached_property
    def compared_by(self) -> list[Metric]:
        """The mean as a metric of the scores that `scores` returns, of corrected figures where there are any."""
        instead = {column.task.name: column.compared_by[0] for column in self.corrected}
        penalty = penalty_of(score for column in self.columns for score in column.first.scores[:1])
        return [self.group.metric(self.name, self.scoring, instead, penalty)]

    def by_judge_alone(self, metric: Metric) -> bool:
        """Return whether a part of the mean is what a judge says, whose errors no labels correct."""
        parts = zip(self.columns, metric.members, strict=True)
        return any(column.by_judge_alone(member) for column, member in parts)

    def scores(self, entry: Entry, other: Entry | None = None) -> list[ScoredReply]:
        """Join an entry's scores in all columns, only of the items that another entry has if that is named."""
        return self.group.scores({column.task.name: column.scores(entry, other) for column in self.columns})

    def differ_in_items(self, one: Entry, other: Entry) -> bool:
        """Return whether two entries answered different items of a task."""
        return any(column.differ_in_items(one, other) for column in self.columns)


@dataclass
class Board:
    """Entries, columns and means: main columns first, and those that more entries share before others.

    Attributes:
        entries: The entries, in the order of the report's rows.
        columns: The columns.
        means: The means of groups; those of one entry alone, which compare nothing, come last.
        superseded: Runs that were replaced by a later run of the same entry, or by one on more items, with other
            answers or scores; each with its entry and column.
    """

    entries: Sequence[Entry]
    columns: Sequence[Column]
    means: Sequence[Mean]
    superseded: Sequence[tuple[Run, Entry, Column]]


def board(runs: Sequence[Run], groups: Sequence[Group] = ()) -> Board:
    """Arrange runs by the conditions under which they were made.

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

    arranged = _arranged(rows, entries, alike)
    means = _means(arranged, [*registry()[1].values(), *groups])
    arranged.means = sorted(means, key=lambda mean: len(mean.figures) < 2)
    for number, mean in enumerate(arranged.means, 1):
        mean.id = f"g{number}"
    return arranged


def _alphabetical(entry: Entry) -> tuple[Any, ...]:
    settings, roles = (sorted(values.items()) for values in (entry.settings, entry.roles))
    return entry.model.casefold(), entry.model, entry.method, settings, roles


def paired_board(rows: Sequence[tuple[Entry, Run]], *, across: bool, metrics: Sequence[str] = ()) -> Board:
    """Arrange runs by what their differences need: the same items in the same mode, however they were asked.

    Args:
        rows: The runs with their entries.
        across: Whether runs of different tasks on the same items are compared.
        metrics: The metrics to compare them by; the headline if empty.
    """

    def alike(one: Run, other: Run) -> bool:
        return (across or one.task == other.task) and not not_paired(one, other)

    arranged = _arranged(rows, labelled(list(dict.fromkeys(entry for entry, _ in rows)), among_all=True), alike)
    for column in arranged.columns:
        column.names = metrics
    return arranged


def _arranged(rows: Sequence[tuple[Entry, Run]], entries: Sequence[Entry], alike: Callable[[Run, Run], bool]) -> Board:
    columns: list[Column] = []
    replaced: list[tuple[Run, Entry, Column]] = []
    named = {entry: entry for entry in entries}
    for entry, run in ((named[entry], run) for entry, run in rows):
        fitting = [column for column in columns if alike(column.first, run)]
        column = min(
            fitting, key=lambda column: (column.first.condition != run.condition, -len(column.runs)), default=None
        )
        if column is None:
            columns.append(column := Column())
        elif before := column.runs.get(entry):
            # a short trial does not take the place of a whole run, nor an equal run that of one with probabilities
            is_later = len(run.scores) >= len(before.scores) and not repeats(before, run)
            run, gone = (run, before) if is_later or repeats(run, before) else (before, run)
            replaced.append((gone, entry, column))
        column.runs[entry] = run
    superseded = []
    for gone, entry, column in replaced:
        if repeats(column.runs[entry], gone):
            column.equal.setdefault(entry, []).append(gone)
        else:
            superseded.append((gone, entry, column))
    order = list(registry()[0])

    def place(task: Task) -> tuple[int, str]:
        """Sort derived tasks after the packaged task that they are derived from."""
        return order.index(task.reference) if task.reference in order else len(order), task.name

    by_task: dict[str, list[Column]] = {}
    for column in sorted(columns, key=lambda column: (place(column.task), _rank(column))):
        by_task.setdefault(column.task.name, []).append(column)
    for main, *others in by_task.values():
        main.title = main.task.name
        for column in others:
            differences = [*not_paired(main.first, column.first), *asked_otherwise(main.first, column.first)]
            column.why = "; ".join(differences) or "has different correct answers"
            column.title = "-".join([main.title, *_suffixes(main.first, column.first)])
    columns = [column for of_task in by_task.values() for column in of_task]
    columns.sort(key=lambda column: (not column.main, -len(column.runs)))
    uses, seen = Counter(column.title for column in columns), Counter[str]()
    for number, column in enumerate(columns, 1):
        column.id = f"c{number}"
        column.runs = {entry: column.runs[entry] for entry in entries if entry in column.runs}
        seen[column.title] += 1
        column.title += f" ({seen[column.title]})" if uses[column.title] > 1 else ""
    return Board(entries, columns, [], superseded)


def _means(board: Board, groups: Sequence[Group]) -> Iterator[Mean]:
    """Compute the mean headlines of groups, those of most tasks first, in each mode in which all have a column."""
    for group in sorted(groups, key=lambda group: -len(group.members)):
        for mode in ("strict", "paper"):
            columns = [column for member in group.members if (column := _column(board, member, mode))]
            if len(columns) < len(group.members) or not _same_condition(columns):
                continue
            entries = [entry for entry in board.entries if all(entry in column.runs for column in columns)]
            penalty = penalty_of(score for column in columns for score in column.first.scores[:1])
            metric = group.metric(group.means[0], mode, penalty=penalty)
            mean = Mean(group, metric.name, mode, columns)
            figures = ((entry, estimate(metric, by_cluster(mean.scores(entry)))) for entry in entries)
            mean.figures = {entry: figure for entry, figure in figures if figure}
            if mean.figures:
                yield mean


def _column(board: Board, task: str, mode: str) -> Column | None:
    """Return the column that best represents a task in a mode: the main one if it is in that mode."""
    matching = (column for column in board.columns if column.task.name == task and column.first.scoring == mode)
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


def _rank(column: Column) -> tuple[Any, ...]:
    """Return a sort key by which the main column of a task comes first.

    In order of importance, this is a column with the benchmark's own data, with the judge if the task needs one, in
    strict mode, without options, with all items, and with most entries. The column that best represents the benchmark
    thus remains the main one, whatever results are added.
    """
    run = column.first
    kind = run.provenance.data
    return (
        _DATA.index(kind) if kind in _DATA else len(_DATA),
        column.task.judged is not None and run.judge is None,
        run.scoring != "strict",
        len(run.options) + (run.provenance.fewshot not in (None, column.task.prompts.shots)),
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
