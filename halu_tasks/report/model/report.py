"""The records of a report, which the page, the Markdown and `report.json` show.

Fields and their order are the keys of `report.json`. Entries, columns and groups are referred to by id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from statistics import fmean
from typing import Any, NamedTuple

from halu_tasks.report.model.detail_records import BothModes, ColumnDetails
from halu_tasks.results.run import Skipped
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.metrics import Estimate

FREQUENT = 0.01
"""Share of replies without an answer above which the cell of a mean, and every cell of the page, shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Results of several models on several tasks, compared.

    Attributes:
        title: The report's title.
        created: When it was made, in ISO 8601.
        package: The name and version of this package.
        summary: In a few sentences, who leads on which task, which figures rest on part of the items, what is open,
            which models are not shown to be better than uninformed replies, of which most replies could not be read,
            and what is not comparable.
        notes: What readers need to know of the entries, such as two that may be the same model.
        entries: The models as they were asked: the rows of the leaderboard.
        columns: Comparable results: the columns of the leaderboard, main ones first.
        groups: Means over the tasks of a group.
        results: The results of entries in columns.
        group_results: The means of entries over groups.
        floors: Figures of uninformed replies.
        published: Figures published in papers.
        rule: What decides which entry is better, in a few sentences; empty if there are no pairs.
        margin: The difference below which two entries count as equal; None if equality was not tested.
        pairs: Differences between two entries in a column, or in the mean of a group.
        wins: How often an entry is better than another one.
        wordings: Spreads of figures over several prompts of a task.
        skipped: Files that were not read.
        warnings: Results with many replies that contain no answer.
        superseded: Runs that were replaced by later ones.
        why: The details of each column, in the order of `columns`.
        table: The name of the file with all items.
    """

    title: str
    created: str
    package: str
    summary: Sequence[str]
    notes: Sequence[str]
    entries: Sequence[ReportEntry]
    columns: Sequence[ReportColumn]
    groups: Sequence[ReportGroup]
    results: Sequence[Result]
    group_results: Sequence[GroupResult]
    floors: Sequence[Floor]
    published: Sequence[PublishedFigure]
    rule: str
    margin: float | None
    pairs: Sequence[PairDifference]
    wins: Sequence[Wins]
    wordings: Sequence[Wordings]
    skipped: Sequence[Skipped]
    warnings: Sequence[ReplyWarning]
    superseded: Sequence[Superseded]
    why: Sequence[ColumnDetails]
    table: str

    def heads(self, groups: Iterable[ReportGroup], columns: Iterable[ReportColumn]) -> list[ReportGroup | ReportColumn]:
        """Order the heads of a leaderboard: means before columns, and what only one entry has after all others."""
        entries = Counter(result.column for result in self.results)
        entries.update(mean.group for mean in self.group_results)
        return sorted([*groups, *columns], key=lambda place: entries[place.id] < 2)

    def columns_of(self, place: ReportGroup | ReportColumn) -> list[ReportColumn]:
        """List the columns of a mean, or the column itself."""
        if isinstance(place, ReportColumn):
            return [place]
        return [column for column in self.columns if column.id in place.columns]

    def results_of(self, entry: str, place: ReportGroup | ReportColumn) -> list[Result]:
        """List the results that a figure of an entry is computed from: one for a column, several for a mean."""
        columns = {column.id for column in self.columns_of(place)}
        return [result for result in self.results if result.entry == entry and result.column in columns]

    def size(self, place: ReportGroup | ReportColumn) -> Size:
        """Count the items of a column, or of all columns of a mean."""
        columns = self.columns_of(place)
        return Size(*(sum(counts) for counts in zip(*(column.size for column in columns), strict=True)))

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON values, as in `report.json`."""
        values: dict[str, Any] = _json_value(self)
        return values


# --- the leaderboard --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """A model as it was asked."""

    id: str
    label: str
    model: str
    method: str
    harness: str
    settings: Mapping[str, str]
    roles: Mapping[str, str]


class Size(NamedTuple):
    """The number of items that were answered, and the number of all items of the data."""

    n: int
    of: int

    @property
    def partial(self) -> bool:
        """Whether only part of the items were answered."""
        return self.n < self.of

    def __str__(self) -> str:
        return f"{self.n:,} of {self.of:,} items"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportColumn:
    """The condition that the results of a column share.

    Attributes:
        id: The column's id.
        title: The task's name, with a suffix if the column is shown apart.
        task: The task's name.
        benchmark: The benchmark's name.
        about: One line about the task.
        main: Whether this is the main column of its task; others are shown apart.
        why: Why the column is shown apart; empty for a main column.
        notes: Differences between the results that readers need to know of.
        scoring: The mode, `strict` or `paper`.
        data: The kind of data: `pinned`, `extract`, `local` or `sample`.
        data_file: The data file.
        data_sha256: The hash of the data file.
        prompt_hash: The hash of the prompts; None if they are not known.
        version: The task's version.
        marks: How the runs deviate from the published benchmark.
        fewshot: The number of worked examples; None if it is not known.
        options: Task options that differ from their defaults.
        epochs: How many times each item was answered.
        n: The number of replies of each entry.
        of: The number of replies to all items of the data.
        clusters: The number of clusters of items.
        headline: The name of the metric that sums the task up.
        compared_by: The name of the metric by which entries are compared and ranked: the headline, or `<headline>_ppi`
            if human labels correct it in all results.
        higher_is_better: The direction of the headline; None if neither is better.
        range: The smallest and largest value of the headline; None for an end without a limit.
        metrics: The names of all metrics.
        directions: For each metric, whether higher is better; None if neither is.
    """

    id: str
    title: str
    task: str
    benchmark: str
    about: str
    main: bool
    why: str
    notes: Sequence[str]
    scoring: str
    data: str
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
    headline: str
    compared_by: str
    higher_is_better: bool | None
    range: tuple[float, float | None]
    metrics: Sequence[str]
    directions: Mapping[str, bool | None]

    @property
    def size(self) -> Size:
        """The number of items, each of which was answered `epochs` times."""
        return Size(self.n // self.epochs, self.of // self.epochs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportGroup:
    """The unweighted mean of a metric over the columns of a group's tasks.

    Its `compared_by` is the name of the metric by which entries are compared and ranked: `metric`, or `<metric>_ppi` if
    human labels correct that of some columns.
    """

    id: str
    title: str
    group: str
    metric: str
    compared_by: str
    scoring: str
    data: str
    main: bool
    columns: Sequence[str]
    about: str
    higher_is_better: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of an entry in a column.

    Attributes:
        source: The file that it was read from.
        harness: The program that made it, and its version.
        created: When the run began, in ISO 8601.
        version: The task's version and the marks.
        settings: Settings of the model that affect its answers.
        method: The method.
        judge: The judge's model; None if no judge was asked.
        n: The number of replies.
        unparsed: The number of replies that contain no readable answer.
        abstained: The number of replies that decline to answer.
        empty: The number of replies without content.
        judge_failed: How often the judge gave no verdict; None without a judge.
        metrics: The figures of all metrics that are defined.
        rank: The 95% confidence set of the rank, as its lowest and highest rank; None if there is nothing to rank.
        cost: Calls, tokens and seconds; None if they were not recorded.
        entry: The entry's id.
        column: The column's id.
    """

    source: str
    harness: str
    created: str
    version: str
    settings: Mapping[str, str]
    method: str
    judge: str | None
    n: int
    unparsed: int
    abstained: int
    empty: int
    judge_failed: int | None
    metrics: Mapping[str, Estimate]
    rank: tuple[int, int] | None
    cost: Mapping[str, float] | None
    entry: str
    column: str


def missing_shares(results: Sequence[Result]) -> dict[str, float]:
    """Return the shares of replies without an answer or a verdict, by kind.

    Args:
        results: One result, or the results of which a mean is. The shares of a mean are the means of theirs, since
            all of its tasks count the same.
    """
    kinds = dict(zip((*NO_ANSWER, "not judged"), (*NO_ANSWER, "judge_failed"), strict=True))
    return {
        kind: fmean((getattr(result, count) or 0) / result.n if result.n else 0.0 for result in results)
        for kind, count in kinds.items()
        if results
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """The mean of an entry over a group.

    Attributes:
        entry: The entry's id.
        group: The group's id.
        figure: The mean.
        corrected: The mean in which human labels correct the figures of some columns, by which entries are compared;
            None if there are no such columns.
        rank: The 95% confidence set of its rank; None if there is nothing to rank.
    """

    entry: str
    group: str
    figure: Estimate
    corrected: Estimate | None
    rank: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A figure of uninformed replies; `name` says which replies, and `headline` whether the metric is the headline."""

    column: str
    name: str
    metric: str
    value: float
    headline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A figure published in a paper, for a column or for a group."""

    column: str | None
    group: str | None
    headline: bool
    model: str
    method: str
    metric: str
    value: float
    scoring: str
    source: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A run that was replaced by a later one, and why."""

    entry: str
    column: str
    source: str
    created: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyWarning:
    """A warning about the replies of a result, or about the questions to its judge.

    Attributes:
        entry: The id of the entry.
        column: The id of the column.
        share: How many replies or questions it is about.
        meaning: What they are, and what to do.
        text: The warning, with the entry and the column.
    """

    entry: str
    column: str
    share: str
    meaning: str
    text: str


# --- pairs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTest:
    """McNemar's test of the items that only one of two entries has right.

    Attributes:
        only_first: The number of items that only the first has right.
        only_second: The number of items that only the second has right.
        p: The p value.
        left_out: The number of items whose figure is unknown, such as after a failure of the judge.
    """

    only_first: int
    only_second: int
    p: float
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """How many items would detect a difference, with the 95% interval of their number.

    Attributes:
        items: The number of items.
        clusters: The number of clusters that these items are in.
        low: The lower end of the interval of `items`.
        high: The upper end; None if there is no bound.
    """

    items: int
    clusters: int
    low: int
    high: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDifference:
    """The headline of one entry minus that of another, on the same items, in a column or in the mean of a group.

    Attributes:
        metric: The metric's name.
        value: The difference.
        low: The lower end of its 95% interval; None if there is no interval.
        high: The upper end of its 95% interval; None if there is no interval.
        p: The p value; None if there is no interval.
        by: What the interval was computed by: `bootstrap` or `jackknife`.
        items: The number of items.
        clusters: The number of clusters.
        mcnemar: McNemar's test; None if items are not simply right or wrong, or are repeated.
        items_needed: How many items are needed to detect a difference of this size; None if that is not estimated.
        not_estimated: Why `items_needed` is None; otherwise empty.
        column: The column's id; None for a group.
        group: The group's id; None for a column.
        first: The id of the first entry.
        second: The id of the second entry.
        p_adjusted: The p value adjusted for all pairs, columns and groups; None if there is no interval.
        better: The id of the better entry; None if the items do not decide it.
        p_equal: The p value of a difference of the report's margin or more, adjusted in the same way; None without a
            margin or an interval.
        equal: Whether the difference is smaller than the margin.
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    p: float | None
    by: str
    items: int
    clusters: int
    mcnemar: ExactTest | None
    items_needed: Needed | None
    not_estimated: str
    column: str | None
    group: str | None
    first: str
    second: str
    p_adjusted: float | None
    better: str | None
    p_equal: float | None
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wins:
    """On how many main columns the first entry is better or worse than the second, equal within a margin, or `open`."""

    first: str
    second: str
    better: int
    worse: int
    equal: int
    open: int


# --- wordings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordings:
    """The headline of a task in several wordings of its prompt.

    Attributes:
        task: The packaged task.
        metric: The headline's name.
        higher_is_better: Its direction; None if neither is better.
        columns: The ids of the wordings' columns; one if a run has them all.
        labels: The names of the wordings.
        rows: The figures of entries with two or more of the wordings.
    """

    task: str
    metric: str
    higher_is_better: bool | None
    columns: Sequence[str]
    labels: Sequence[str]
    rows: Sequence[WordingRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingRow:
    """The figures of an entry over wordings.

    Attributes:
        entry: The entry's id.
        figures: The figure in each wording; None if there is none.
        mean: The mean over the wordings, with its error over clusters of items.
        sd: The standard deviation over the wordings.
        lowest: The lowest figure.
        highest: The highest figure.
    """

    entry: str
    figures: Sequence[Estimate | None]
    mean: Estimate
    sd: float
    lowest: float
    highest: float


def _json_value(value: Any) -> Any:
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, BothModes):
        record: dict[str, Any] = {"entry": value.entry, "metric": value.metric, **value.figures}
        record |= {f"unanswered_{mode}": number for mode, number in value.unanswered.items()}
        return _json_value(record | {"changed": value.changed, "n": value.n})
    if is_dataclass(value):
        return {field.name: _json_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _json_value(part) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _json_value(value._asdict())
    return [_json_value(part) for part in value] if isinstance(value, Sequence) else value
