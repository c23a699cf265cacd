"""The records of a report: what is computed, shown on the page and in Markdown, and written to `report.json`.

A record's fields are its keys in `report.json`. Wide records are made of parts, whose fields are keys of the record
itself. What a record holds of others, such as the results of a column, is a list of its own in `report.json`, whose
records name the `entry`, `column` or `group` by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from halu_tasks.replies.embedded import reads_prompts
from halu_tasks.replies.label_notes import decisive_metric, number_used
from halu_tasks.report.detail_records import Details, details_of
from halu_tasks.results.comparability import LIMIT, Entry, shared_items
from halu_tasks.results.run import Run, SkippedFile
from halu_tasks.scorers.metrics import Estimate, Metric
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import Difference
from halu_tasks.scorers.statistics.planning import ItemsNeeded
from halu_tasks.scorers.statistics.side_by_side import SideBySide
from halu_tasks.tasks import Task
from halu_tasks.tasks.human_baseline import People
from halu_tasks.tasks.task_registry import Group

FREQUENT = 0.01
"""Share of replies without an answer above which a cell shows it."""

_DETAILED = 1_000
"""Number of differences beyond which pairs, details and items are shown of the leading entries only."""

PART = {"part": True}
"""Metadata of a field whose own fields are keys of the record."""
APART = {"json": False}
"""Metadata of a field that is no key of the record in `report.json`."""

Ranks = dict[Entry, tuple[int, int]]
"""The 95% confidence sets of ranks by entry, each as its lowest and highest rank; empty if there is nothing to rank."""


def number_in_detail(entries: int, places: int) -> int:
    """Compute how many entries a page shows in detail, so that it stays readable.

    Args:
        entries: The number of all entries.
        places: The number of columns and means in which they are compared.
    """
    return next(n for n in range(entries, -1, -1) if n <= 2 or n * (n - 1) // 2 * places <= _DETAILED)


class About(NamedTuple):
    """What a report is.

    Attributes:
        title: The title.
        created: When it was made, in ISO 8601.
        package: The package with its version.
        table: The file with all items.
        margin: The difference below which two entries count as equal; None if equality was not tested.
    """

    title: str = ""
    created: str = ""
    package: str = ""
    table: str = ""
    margin: float | None = None


@dataclass(kw_only=True)
class Report:
    """Results of several models on several tasks, compared.

    What follows from these fields, such as the summary, is in `summary.py`. In `report.json`, `results`, `floors`,
    `published`, `warnings`, `superseded` and `why` (the details) are those of all columns, and `groups` the means with
    `group_results`, their figures.

    Attributes:
        about: What the report is.
        notes: What readers need to know of the entries, such as different generation settings.
        skipped: Files that were not read.
        entries: The models as they were asked: the rows of the leaderboard.
        columns: Comparable results: the columns of the leaderboard, main ones first.
        means: Means over the tasks of a group.
        pairs: Differences between two entries in a column, or in a mean.
    """

    about: About = field(default_factory=About)
    notes: Sequence[str] = ()
    skipped: Sequence[SkippedFile] = ()
    entries: Sequence[Entry] = ()
    columns: Sequence[Column] = ()
    means: Sequence[Mean] = ()
    pairs: Sequence[Pair] = ()

    @property
    def places(self) -> list[Place]:
        """The means and the columns."""
        return [*self.means, *self.columns]

    @property
    def main(self) -> list[Column]:
        """The main columns, one for each task."""
        return [column for column in self.columns if column.main]

    @property
    def results(self) -> list[Result]:
        """The results of all columns."""
        return [result for column in self.columns for result in column.results.values()]

    @property
    def not_read(self) -> list[SkippedFile]:
        """The files that were not read, each run once: without logs that were continued in another."""
        return [one for one in self.skipped if one.run != "continued"]

    @property
    def superseded(self) -> list[tuple[Entry, Column, ReplacedRun]]:
        """The runs that were replaced by others, with their entries and columns."""
        return [
            (entry, column, run)
            for column in self.columns
            for entry, result in column.results.items()
            for run in result.superseded
        ]

    @property
    def warnings(self) -> list[tuple[Entry, Column, ReplyWarning]]:
        """The warnings of all results, with their entries and columns."""
        return [
            (entry, column, warning)
            for column in self.columns
            for entry, result in column.results.items()
            for warning in result.warnings
        ]

    def heads(self, means: Iterable[Mean], columns: Iterable[Column]) -> list[Place]:
        """Order the heads of a leaderboard: means before columns, and what only one entry has after all others."""
        places: list[Place] = [*means, *columns]
        return sorted(places, key=lambda place: len(place.entries) < 2)

    def top_means(self, *, main: bool) -> list[Mean]:
        """List the means that are not parts of another, over main columns or over those apart."""
        means = [mean for mean in self.means if mean.main == main]
        return [mean for mean in means if not any({*mean.columns} < {*other.columns} for other in means)]

    def only(self, entries: Sequence[Entry]) -> Report:
        """Return the report on some of the entries, in the same order and with the same figures."""
        selected = {*entries}
        columns = {column: column.only(selected) for column in self.columns}
        means = {mean: mean.only(selected, [columns[column] for column in mean.columns]) for mean in self.means}
        places: dict[Place, Place] = dict([*columns.items(), *means.items()])
        return replace(
            self,
            entries=[entry for entry in self.entries if entry in selected],
            columns=[*columns.values()],
            means=[*means.values()],
            pairs=[replace(p, place=places[p.place]) for p in self.pairs if {p.first, p.second} <= selected],
        )


# --- columns ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What the results of a column share.

    Attributes:
        benchmark: The benchmark.
        about: One line about the task.
        data_file: The name of the data file.
        data_sha256: Its checksum.
        prompt_hash: A hash of the prompts; None if they are not known.
        version: The version of the task.
        marks: How the runs deviate from the published benchmark.
        fewshot: The number of worked examples; None if it is not known.
        options: The options that differ from their defaults.
        epochs: How many times each item was answered.
        n: The number of replies of each entry.
        of: The number of replies to all items of the data.
        clusters: The number of clusters of items.
        human_ceiling: The annotators of these items, each scored against the others; None if there are not several.
    """

    benchmark: str
    about: str
    data_file: str
    data_sha256: str
    prompt_hash: str | None
    version: str
    marks: Sequence[str]
    fewshot: int | None
    options: Mapping[str, Any]
    epochs: int
    n: int
    of: int
    clusters: int
    human_ceiling: People | None


@dataclass(kw_only=True, eq=False)
class Column:
    """Comparable results on a task: of runs under one condition, one for each entry. Columns are compared by identity.

    Attributes:
        id: The column's id.
        title: The task's name, with a suffix if the column is shown apart.
        task: The task's name.
        main: Whether this is the main column of its task; others are shown apart.
        why: Why the column is shown apart; empty for a main column.
        notes: Differences between the results that readers need to know of.
        scoring: The mode, `strict` or `paper`.
        data: The kind of data: `pinned`, `extract`, `local` or `sample`.
        headline: The metric that sums the task up.
        compared_by: The metric by which entries are compared and ranked: the headline, or `<headline>_ppi` if labels
            correct it in all results.
        higher_is_better: The direction of the headline; None if neither is better.
        range: The smallest and largest value of the headline; None for an end without a limit.
        directions: For each metric, whether higher is better; None if neither is.
        condition: What else the results share.
        results: The results by entry.
        ranks: The ranks of the entries.
        floors: Figures of uninformed replies.
        published: Figures published in papers.
        details: Breakdowns, confusion, calibration, risk, modes and items (`details.py`); None for a comparison.
        runs: The runs that the results are of.
        compared: The metrics by which entries are compared; ranks are of the first.
    """

    id: str
    title: str
    task: str
    main: bool
    why: str
    notes: Sequence[str]
    scoring: str
    data: str
    headline: str
    compared_by: str
    higher_is_better: bool | None
    range: tuple[float, float | None]
    directions: Mapping[str, bool | None]
    condition: Condition = field(metadata=PART)
    results: Mapping[Entry, Result] = field(metadata=APART)
    ranks: Ranks = field(default_factory=dict, metadata=APART)
    floors: Sequence[Floor] = field(default=(), metadata=APART)
    published: Sequence[PublishedFigure] = field(default=(), metadata=APART)
    details: Details | None = field(default=None, metadata=APART)
    runs: Mapping[Entry, Run] = field(default_factory=dict, metadata=APART)
    compared: Sequence[Metric] = field(default=(), metadata=APART)

    @property
    def metric(self) -> str:
        """The headline."""
        return self.headline

    @property
    def columns(self) -> Sequence[Column]:
        """The column itself, as a mean has several."""
        return [self]

    @property
    def entries(self) -> list[Entry]:
        """The entries with a result."""
        return list(self.results)

    @property
    def harnesses(self) -> list[str]:
        """The programs that made the results, with their versions."""
        return list(dict.fromkeys(name for result in self.results.values() for name in result.harnesses))

    def cell(self, entry: Entry) -> Cell | None:
        """Return the cell of an entry; None if it has no result here."""
        result = self.results.get(entry)
        if result is None:
            return None
        corrected = result.metrics.get(f"{self.metric}_ppi")
        by_corrected = self.compared_by == f"{self.metric}_ppi"
        # a rank by a metric that the user chose is not one of this figure
        rank = self.ranks.get(entry) if by_corrected or self.compared_by == self.metric else None
        return Cell(
            figure=result.metrics.get(self.metric),
            rank=rank,
            corrected=corrected,
            labels=number_used(self.runs[entry].scores) if corrected and entry in self.runs else 0,
            by_corrected=by_corrected,
            missing=_frequent([result]),
            result=result,
        )

    def limit_of(self, entry: Entry) -> str:
        """Say how long replies might be, if an entry has this token limit on some of its tasks only; else empty."""
        limit = self.results[entry].settings.get(LIMIT, "") if entry in self.results else ""
        return f"{LIMIT} {limit}" if limit and LIMIT not in entry.settings else ""

    def only(self, entries: set[Entry]) -> Column:
        """Return the column with the results of some entries."""
        results = {entry: result for entry, result in self.results.items() if entry in entries}
        details = details_of(self.details, {entry.id for entry in entries}) if self.details else None
        return replace(self, results=results, details=details)

    # what follows is of the runs

    @cached_property
    def first(self) -> Run:
        """The run on most items of an entry that depends on its prompts, which stands for the condition of all."""
        return representative(self.runs.values())

    @property
    def benchmark_task(self) -> Task:
        """The task, including one that users derived."""
        return self.first.benchmark_task

    @cached_property
    def measure(self) -> Metric:
        """The headline as a metric."""
        return next(iter(self.first.metrics().values()))

    def corrected(self, name: str) -> Metric | None:
        """Return what labels make of a metric, if all entries have it with an interval."""
        scores = [run.scores for run in self.runs.values()]
        metrics = self.first.metrics()
        decisive = decisive_metric(metrics[name], [*metrics.values()], scores) if name in metrics else None
        return decisive if decisive and decisive.name != name else None

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

    def by_judge_alone(self, metric: Metric) -> bool:
        """Return whether a metric is what a judge says, whose errors no labels correct."""
        judged = self.benchmark_task.judge_spec
        if judged is None or metric.requires_option == "reference":
            return False
        return metric.requires_option == "judge" or judged.is_said_by(metric.columns)


def representative(runs: Iterable[Run]) -> Run:
    """Return the run on most items of a model that depends on its prompts, which stands for the condition of all."""
    return min(runs, key=lambda run: (not reads_prompts(run.model), -len(run.scores)))


class MeanFigure(NamedTuple):
    """The mean of an entry.

    Attributes:
        figure: The mean.
        corrected: The mean in which labels correct the figures of some columns; None if there are no such columns.
    """

    figure: Estimate
    corrected: Estimate | None = None


@dataclass(kw_only=True, eq=False)
class Mean:
    """The unweighted mean of a metric over the columns of a group's tasks. Means are compared by identity.

    Attributes:
        id: The mean's id.
        title: Its title.
        group: The group's name.
        metric: The headlines' name, or `HEADLINE` if they are different metrics.
        compared_by: The metric, or `<metric>_ppi` if labels correct the figures of some columns.
        scoring: The mode, `strict` or `paper`.
        data: The kind of data.
        main: Whether the mean is over main columns only.
        columns: A column of each task.
        about: What it is the mean of.
        higher_is_better: Its direction.
        figures: The mean of each entry with results in all columns.
        ranks: The ranks of the entries.
        published: Figures published in papers.
        of: The group.
        compared: The mean as a metric of the scores that `scores` returns, of corrected figures where there are any.
    """

    id: str
    title: str
    group: str
    metric: str
    compared_by: str
    scoring: str
    data: str
    main: bool
    columns: Sequence[Column]
    about: str
    higher_is_better: bool | None
    figures: Mapping[Entry, MeanFigure] = field(metadata=APART)
    ranks: Ranks = field(default_factory=dict, metadata=APART)
    published: Sequence[PublishedFigure] = field(default=(), metadata=APART)
    of: Group | None = field(default=None, metadata=APART)
    compared: Sequence[Metric] = field(default=(), metadata=APART)
    _scores: dict[Entry, list[ScoredReply]] = field(default_factory=dict, init=False, metadata=APART)

    @property
    def floors(self) -> Sequence[Floor]:
        """Nothing: floors are those of columns."""
        return ()

    @property
    def entries(self) -> list[Entry]:
        """The entries with a mean."""
        return list(self.figures)

    def cell(self, entry: Entry) -> Cell | None:
        """Return the cell of an entry; None if it has no mean."""
        mean = self.figures.get(entry)
        if mean is None:
            return None
        results = [column.results[entry] for column in self.columns if entry in column.results]
        return Cell(
            figure=mean.figure,
            rank=self.ranks.get(entry),
            corrected=mean.corrected,
            by_corrected=mean.corrected is not None,
            missing=_frequent(results),
        )

    def limit_of(self, entry: Entry) -> str:
        """Return nothing: a limit is that of a column."""
        return ""

    def only(self, entries: set[Entry], columns: Sequence[Column]) -> Mean:
        """Return the mean of some entries over these columns."""
        figures = {entry: figure for entry, figure in self.figures.items() if entry in entries}
        return replace(self, figures=figures, columns=columns)

    # what follows is of the runs

    def scores(self, entry: Entry, other: Entry | None = None) -> list[ScoredReply]:
        """Join an entry's scores in all columns, only of the items that another entry has if that is named."""
        assert self.of is not None
        if other is not None and self.differ_in_items(entry, other):
            return self.of.scores({column.task: column.scores(entry, other) for column in self.columns})
        if entry not in self._scores:
            self._scores[entry] = self.of.scores({column.task: column.scores(entry) for column in self.columns})
        return self._scores[entry]

    def differ_in_items(self, one: Entry, other: Entry) -> bool:
        """Return whether two entries answered different items of a task."""
        return any(column.differ_in_items(one, other) for column in self.columns)

    def by_judge_alone(self, metric: Metric) -> bool:
        """Return whether a part of the mean is what a judge says, whose errors no labels correct."""
        parts = zip(self.columns, metric.members, strict=True)
        return any(column.by_judge_alone(member) for column, member in parts)


Place = Column | Mean


def part_answered(place: Place) -> str:
    """Say how many of the items were answered, such as `10 to 40 of 64`; empty if all were."""
    sizes = []
    for column in place.columns:
        replies, epochs = [result.n for result in column.results.values()], column.condition.epochs
        sizes.append((min(replies, default=0) // epochs, max(replies, default=0) // epochs))
    fewest, most = map(sum, zip(*sizes, strict=True))
    of = items_of(place)
    answered = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{answered} of {of:,}" if fewest < of else ""


def items_of(place: Place) -> int:
    """Count the items of the data of a column, or of all columns of a mean."""
    return sum(column.condition.of // column.condition.epochs for column in place.columns)


# --- results ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReplyCounts:
    """The replies without an answer.

    Attributes:
        outcomes: The number of replies of each outcome.
        judge_failed: The number of questions without a verdict; None if there is no judge.
    """

    outcomes: Mapping[str, int] = field(metadata=PART)
    judge_failed: int | None

    @property
    def all(self) -> Mapping[str, int]:
        """The numbers by outcome, with those of questions without a verdict."""
        return {**self.outcomes, "judge_failed": self.judge_failed or 0}


class SameRun(NamedTuple):
    """Another run with the same answers and scores."""

    source: str
    harness: str
    created: str


class ReplacedRun(NamedTuple):
    """A run that was replaced by a later one, or by one on more items, with other answers or scores.

    Attributes:
        source: The file that it comes from.
        created: When it began.
        why: By which run it was replaced, and in how many items they differ.
        rerun: Whether it was in the same harness and on as many items as the one that is shown.
    """

    source: str
    created: str
    why: str
    rerun: bool


class ReplyWarning(NamedTuple):
    """That some of the replies, or of the questions to the judge, have no answer.

    Attributes:
        share: How many.
        meaning: What they are, and what to do.
    """

    share: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of an entry in a column.

    Attributes:
        source: The file that it comes from.
        harness: The program that made it, with its version.
        created: When the run began, in ISO 8601.
        equal: Other runs of the entry with the same answers and scores, such as in the other harness.
        version: The version of the task with its marks.
        settings: The model's settings.
        method: The method.
        judge: The judge, if there is one.
        n: The number of replies.
        counts: The replies without an answer.
        metrics: The figures of all metrics that are defined.
        constant: The answer that all replies with one give although the correct ones differ; None if there is no such.
        from_replies: The share of the variance of the column's headline that is there because the model answers an item
            differently, 0 to 1; None without several replies to an item.
        beside_people: By metric, the `value` of the replies and that of people (`other`) on the same items, both
            against what the other annotators say, and the `difference`; empty without several annotators.
        cost: Calls, tokens and seconds, and the tokens of the judge; None if they were not recorded.
        warnings: Warnings of many replies without an answer.
        superseded: Runs that this one replaced.
    """

    source: str
    harness: str
    created: str
    equal: Sequence[SameRun]
    version: str
    settings: Mapping[str, str]
    method: str
    judge: str | None
    n: int
    counts: ReplyCounts = field(metadata=PART)
    metrics: Mapping[str, Estimate]
    constant: str | None
    from_replies: float | None
    beside_people: Mapping[str, SideBySide]
    cost: Mapping[str, float] | None
    warnings: Sequence[ReplyWarning] = field(default=(), metadata=APART)
    superseded: Sequence[ReplacedRun] = field(default=(), metadata=APART)

    @property
    def harnesses(self) -> list[str]:
        """The programs that made this result and equal ones, with their versions."""
        return list(dict.fromkeys([self.harness, *(one.harness for one in self.equal)]))

    @property
    def reruns(self) -> int:
        """The number of earlier runs in the same harness."""
        return sum(one.rerun for one in self.superseded)


class Floor(NamedTuple):
    """A figure of uninformed replies.

    Attributes:
        name: The name of the replies.
        metric: The metric.
        value: Its value.
        headline: Whether it is the headline.
        beside_people: The value against the same gold as that of people; None without annotators.
    """

    name: str
    metric: str
    value: float
    headline: bool
    beside_people: float | None


@dataclass(frozen=True, kw_only=True)
class PublishedFigure:
    """A figure published in a paper.

    Attributes:
        headline: Whether it is of the headline.
        model: The model.
        method: The method.
        metric: The metric.
        value: The figure.
        scoring: The mode whose figures it is comparable with.
        source: The paper and table.
        note: What to know about it.
    """

    headline: bool
    model: str
    method: str
    metric: str
    value: float
    scoring: str
    source: str
    note: str


class Cell(NamedTuple):
    """A cell of the leaderboard.

    Attributes:
        figure: The figure; None if it is not defined.
        rank: The confidence set of the rank; None if there is nothing to rank.
        corrected: The figure that labels correct, if there is one.
        labels: The number of verdicts with labels that this rests on; 0 for a mean.
        by_corrected: Whether the rank is of the corrected figure.
        missing: The shares of replies without an answer, by outcome, where they are frequent.
        result: The result, if the place is a column.
    """

    figure: Estimate | None
    rank: tuple[int, int] | None = None
    corrected: Estimate | None = None
    labels: int = 0
    by_corrected: bool = False
    missing: Mapping[str, float] = {}
    result: Result | None = None


def _frequent(results: Sequence[Result]) -> dict[str, float]:
    """Return the shares of replies without an answer where they are frequent; all results count the same."""
    names = results[0].counts.all if results else ()
    shares = {name: fmean(result.counts.all[name] / (result.n or 1) for result in results) for name in names}
    return {name: share for name, share in shares.items() if share > FREQUENT}


# --- pairs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A figure of one entry minus that of another, on the same items, in a column or in a mean.

    In `report.json`, the place is the id of a `column` or a `group`, and entries are ids.

    Attributes:
        place: The column or mean.
        first: The first entry.
        second: The second entry.
        metric: The metric's name.
        difference: The difference with its interval and p value, of this pair alone.
        p_adjusted: The p value adjusted for all pairs, columns and means; None if there is no interval, or if the
            figures are what a judge says, without labels.
        better: The better entry; None if the items do not decide it.
        p_equal_adjusted: The p value of a difference of the margin or more, adjusted in the same way.
        equal: Whether the difference is smaller than the margin.
        items_needed: How many items are needed to detect a difference of this size; None if that is not estimated.
        not_estimated: Why `items_needed` is None; otherwise empty.
    """

    place: Place = field(metadata=APART)
    first: Entry = field(metadata=APART)
    second: Entry = field(metadata=APART)
    metric: str
    difference: Difference = field(metadata=PART)
    p_adjusted: float | None
    better: Entry | None = field(metadata=APART)
    p_equal_adjusted: float | None
    equal: bool
    items_needed: ItemsNeeded | None
    not_estimated: str

    @property
    def by_judge_alone(self) -> bool:
        """Whether nothing is claimed of the difference, because the errors of a judge are not known."""
        return self.p_adjusted is None and self.difference.p is not None
