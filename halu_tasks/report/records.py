"""The records of a report, which the page, the Markdown and `report.json` show.

A record's fields are its keys in `report.json`. Wide records are made of parts, whose fields are keys of the record
itself. Entries, columns and groups are referred to by id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from halu_tasks.results.run import Skipped
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.scorers.statistics.differences import Difference
from halu_tasks.scorers.statistics.planning import ItemsNeeded

FREQUENT = 0.01
"""Share of replies without an answer above which a cell shows it."""

PART = {"part": True}
"""Metadata of a field whose own fields are keys of the record."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Results of several models on several tasks, compared.

    Attributes:
        about: The title, and what made the report.
        summary: In a few sentences, who leads on which task, what is open, and which figures say little.
        remarks: What is missing from the report, and what readers need to know of its results.
        entries: The models as they were asked: the rows of the leaderboard.
        columns: Comparable results: the columns of the leaderboard, main ones first.
        groups: Means over the tasks of a group.
        results: The results of entries in columns.
        group_results: The means of entries over groups.
        floors: Figures of uninformed replies.
        published: Figures published in papers.
        comparison: Differences between entries.
        why: The details of each column, in the order of `columns`; empty for a comparison.
    """

    about: About = field(metadata=PART)
    summary: Sequence[str]
    remarks: Remarks = field(metadata=PART)
    entries: Sequence[ReportEntry]
    columns: Sequence[ReportColumn]
    groups: Sequence[ReportGroup]
    results: Sequence[Result]
    group_results: Sequence[GroupResult]
    floors: Sequence[Floor]
    published: Sequence[PublishedFigure]
    comparison: Comparison = field(metadata=PART)
    why: Sequence[ColumnDetails]

    @cached_property
    def places(self) -> dict[str, ReportColumn | ReportGroup]:
        """The columns and groups by id."""
        return {column.id: column for column in self.columns} | {group.id: group for group in self.groups}

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of entries by id."""
        return {entry.id: entry.label for entry in self.entries}

    @cached_property
    def by_cell(self) -> dict[tuple[str, str], Result]:
        """The results by the ids of entry and column."""
        return {(result.entry, result.column): result for result in self.results}

    @cached_property
    def means(self) -> dict[tuple[str, str], GroupResult]:
        """The means by the ids of entry and group."""
        return {(mean.entry, mean.group): mean for mean in self.group_results}

    def columns_of(self, place: ReportGroup | ReportColumn) -> list[ReportColumn]:
        """List the columns of a mean, or the column itself."""
        if isinstance(place, ReportColumn):
            return [place]
        return [column for column in self.columns if column.id in place.columns]

    def results_of(self, entry: str, place: ReportGroup | ReportColumn) -> list[Result]:
        """List the results that a figure of an entry is computed from: one for a column, several for a mean."""
        cells = ((entry, column.id) for column in self.columns_of(place))
        return [self.by_cell[cell] for cell in cells if cell in self.by_cell]

    def heads(self, groups: Iterable[ReportGroup], columns: Iterable[ReportColumn]) -> list[ReportGroup | ReportColumn]:
        """Order the heads of a leaderboard: means before columns, and what only one entry has after all others."""
        entries = Counter(column for _, column in self.by_cell)
        entries.update(group for _, group in self.means)
        return sorted([*groups, *columns], key=lambda place: entries[place.id] < 2)

    def top_groups(self, *, main: bool) -> list[ReportGroup]:
        """List the groups with means that are not parts of another group, over main columns or over those apart."""
        groups = [group for group in self.groups if group.main == main]
        return [group for group in groups if not any(set(group.columns) < set(other.columns) for other in groups)]

    def ranked(self, column: ReportColumn) -> list[str]:
        """List the ids of the entries with a figure in a column, best first by the metric that compares them."""
        worth = {
            entry: figure.value if column.higher_is_better is False else -figure.value
            for (entry, in_column), result in self.by_cell.items()
            if in_column == column.id and column.metric in result.metrics
            for figure in (result.metrics.get(column.compared_by, result.metrics[column.metric]),)
        }
        return sorted(worth, key=worth.__getitem__)

    def items_answered(self, place: ReportGroup | ReportColumn) -> tuple[int, int]:
        """Count the items of a column or of all columns of a mean that were answered, and those of the data."""
        sizes = [(column.size, column.condition.epochs) for column in self.columns_of(place)]
        return sum(size.n // epochs for size, epochs in sizes), sum(size.of // epochs for size, epochs in sizes)

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON values, as in `report.json`."""
        return dict(_json_value(self))


def _json_value(value: Any) -> Any:
    if is_dataclass(value):
        record: dict[str, Any] = {}
        for one in fields(value):
            inner = _json_value(getattr(value, one.name))
            record |= inner if one.metadata.get("part") else {one.name: inner}
        return record
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _json_value(value._asdict())
    if isinstance(value, Mapping):
        return {name: _json_value(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json_value(part) for part in value]
    return value


class About(NamedTuple):
    """The title, the time in ISO 8601, the package and its version, and the name of the file with all items."""

    title: str
    created: str
    package: str
    table: str


class Remarks(NamedTuple):
    """What readers need to know.

    Attributes:
        notes: On entries, such as two that may be the same model.
        skipped: Files that were not read.
        warnings: Results with many replies that contain no answer.
        superseded: Runs that were replaced by later ones.
    """

    notes: Sequence[str]
    skipped: Sequence[Skipped]
    warnings: Sequence[ReportWarning]
    superseded: Sequence[Superseded]


class ReportWarning(NamedTuple):
    """A warning about some (`share`) of the replies of a result or of the questions to its judge.

    `meaning` says what they are and what to do, and `text` is the warning with the entry and the column.
    """

    entry: str
    column: str
    share: str
    meaning: str
    text: str


class Superseded(NamedTuple):
    """A run that was replaced by a later one, and why."""

    entry: str
    column: str
    source: str
    created: str
    why: str


# --- the leaderboard --------------------------------------------------------------------------------


class ReportEntry(NamedTuple):
    """A model as it was asked."""

    id: str
    label: str
    model: str
    method: str
    harness: str
    settings: Mapping[str, str]
    roles: Mapping[str, str]


class Condition(NamedTuple):
    """What the results of a column share.

    Attributes:
        scoring: The mode, `strict` or `paper`.
        data: The kind of data: `pinned`, `extract`, `local` or `sample`.
        data_file: The data file.
        data_sha256: Its hash.
        prompt_hash: The hash of the prompts; None if they are not known.
        version: The task's version.
        marks: How the runs deviate from the published benchmark.
        fewshot: The number of worked examples; None if it is not known.
        options: Task options that differ from their defaults.
        epochs: How many times each item was answered.
    """

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


class ColumnSize(NamedTuple):
    """The number of replies of each entry, of replies to all items of the data, and of clusters of items."""

    n: int
    of: int
    clusters: int


class Measures(NamedTuple):
    """The metrics of a column.

    Attributes:
        headline: The metric that sums the task up.
        compared_by: The metric by which entries are compared and ranked: the headline, or `<headline>_ppi` if labels
            correct it in all results.
        higher_is_better: The direction of the headline; None if neither is better.
        range: The smallest and largest value of the headline; None for an end without a limit.
        metrics: The names of all metrics.
        directions: For each metric, whether higher is better; None if neither is.
    """

    headline: str
    compared_by: str
    higher_is_better: bool | None
    range: tuple[float, float | None]
    metrics: Sequence[str]
    directions: Mapping[str, bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportColumn:
    """Comparable results on a task.

    Attributes:
        id: The column's id.
        title: The task's name, with a suffix if the column is shown apart.
        task: The task's name.
        benchmark: The benchmark's name.
        about: One line about the task.
        main: Whether this is the main column of its task; others are shown apart.
        why: Why the column is shown apart; empty for a main column.
        notes: Differences between the results that readers need to know of.
        condition: What the results share.
        size: How many items they are on.
        measures: Their metrics.
    """

    id: str
    title: str
    task: str
    benchmark: str
    about: str
    main: bool
    why: str
    notes: Sequence[str]
    condition: Condition = field(metadata=PART)
    size: ColumnSize = field(metadata=PART)
    measures: Measures = field(metadata=PART)

    @property
    def metric(self) -> str:
        """The name of the headline."""
        return self.measures.headline

    @property
    def compared_by(self) -> str:
        """The name of the metric by which entries are compared."""
        return self.measures.compared_by

    @property
    def higher_is_better(self) -> bool | None:
        """The direction of the headline."""
        return self.measures.higher_is_better

    @property
    def scoring(self) -> str:
        """The mode."""
        return self.condition.scoring

    @property
    def data(self) -> str:
        """The kind of data."""
        return self.condition.data


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportGroup:
    """The unweighted mean of a metric over the columns of a group's tasks.

    Its `compared_by` is `<metric>_ppi` if labels correct the figures of some columns.
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


class Origin(NamedTuple):
    """Where a result comes from: its file, the program with its version, its settings, and the judge if there is one.

    `created` is when the run began, in ISO 8601, and `version` that of the task with its marks.
    """

    source: str
    harness: str
    created: str
    version: str
    settings: Mapping[str, str]
    method: str
    judge: str | None


class ReplyCounts(NamedTuple):
    """The number of replies, of those without an answer by outcome, and of questions without a verdict (if judged)."""

    n: int
    unparsed: int
    abstained: int
    empty: int
    judge_failed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of an entry in a column.

    Attributes:
        entry: The entry's id.
        column: The column's id.
        origin: Where it comes from.
        replies: The numbers of replies.
        metrics: The figures of all metrics that are defined.
        rank: The 95% confidence set of the rank, as its lowest and highest rank; None if there is nothing to rank.
        cost: Calls, tokens and seconds; None if they were not recorded.
    """

    entry: str
    column: str
    origin: Origin = field(metadata=PART)
    replies: ReplyCounts = field(metadata=PART)
    metrics: Mapping[str, Estimate]
    rank: tuple[int, int] | None
    cost: Mapping[str, float] | None


class GroupResult(NamedTuple):
    """The mean of an entry over a group.

    Attributes:
        entry: The entry's id.
        group: The group's id.
        figure: The mean.
        corrected: The mean in which labels correct the figures of some columns; None if there are no such columns.
        rank: The 95% confidence set of its rank; None if there is nothing to rank.
    """

    entry: str
    group: str
    figure: Estimate
    corrected: Estimate | None
    rank: tuple[int, int] | None


def missing_shares(results: Sequence[Result]) -> dict[str, float]:
    """Return the shares of replies without an answer or a verdict, by kind, that are frequent.

    Args:
        results: One result, or the results of which a mean is. The shares of a mean are the means of theirs, since
            all of its tasks count the same.
    """
    kinds = dict(zip((*NO_ANSWER, "not judged"), (*NO_ANSWER, "judge_failed"), strict=True))
    shares = {
        kind: fmean((getattr(one.replies, count) or 0) / (one.replies.n or 1) for one in results)
        for kind, count in kinds.items()
        if results
    }
    return {kind: share for kind, share in shares.items() if share > FREQUENT}


class Floor(NamedTuple):
    """A figure of uninformed replies; `name` says which replies, and `headline` whether the metric is the headline."""

    column: str
    name: str
    metric: str
    value: float
    headline: bool


class PublishedFigure(NamedTuple):
    """A figure published in a paper, for a column or for a group; `headline` says whether it is of the headline."""

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


# --- pairs ------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """Differences between entries.

    Attributes:
        rule: What decides which entry is better, in a few sentences; empty if there are no pairs.
        margin: The difference below which two entries count as equal; None if equality was not tested.
        pairs: Differences between two entries in a column, or in the mean of a group.
        wins: How often an entry is better than another one.
    """

    rule: str
    margin: float | None
    pairs: Sequence[EntryPair]
    wins: Sequence[Wins]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPair:
    """A figure of one entry minus that of another, on the same items, in a column or in the mean of a group.

    Attributes:
        column: The column's id; None for a group.
        group: The group's id; None for a column.
        first: The id of the first entry.
        second: The id of the second entry.
        metric: The metric's name.
        difference: The difference with its interval and p value, of this pair alone.
        p_adjusted: The p value adjusted for all pairs, columns and groups; None if there is no interval.
        better: The id of the better entry; None if the items do not decide it.
        p_equal_adjusted: The p value of a difference of the margin or more, adjusted in the same way.
        equal: Whether the difference is smaller than the margin.
        items_needed: How many items are needed to detect a difference of this size; None if that is not estimated.
        not_estimated: Why `items_needed` is None; otherwise empty.
    """

    column: str | None
    group: str | None
    first: str
    second: str
    metric: str
    difference: Difference = field(metadata=PART)
    p_adjusted: float | None
    better: str | None
    p_equal_adjusted: float | None
    equal: bool
    items_needed: ItemsNeeded | None
    not_estimated: str

    @property
    def place(self) -> str:
        """The id of the column or group."""
        return self.column or self.group or ""


class Wins(NamedTuple):
    """On how many main columns the first entry is better or worse than the second, equal within a margin, or `open`."""

    first: str
    second: str
    better: int
    worse: int
    equal: int
    open: int


# --- details ----------------------------------------------------------------------------------------


class ColumnDetails(NamedTuple):
    """What the models answered in a column, and where they differ.

    Attributes:
        column: The column's id.
        breakdowns: The headline by kinds of item.
        confusion: For each entry, the answers by target.
        calibration: For each entry, the calibration of its probabilities.
        modes: For each entry, the figures in both modes; None if they cannot be compared.
        modes_missing: Why `modes` is None; otherwise empty.
        items: The items that are shown.
    """

    column: str
    breakdowns: Sequence[Breakdown]
    confusion: Sequence[Confusion]
    calibration: Sequence[Calibration]
    modes: Sequence[BothModes] | None
    modes_missing: str
    items: Sequence[ShownItem]


class Breakdown(NamedTuple):
    """The headline by the values of a tag or by the length of the prompt."""

    by: str
    metric: str
    values: Sequence[BreakdownValue]
    cells: Sequence[BreakdownRow]


class BreakdownValue(NamedTuple):
    """A value of a tag, and the number of items that have it."""

    value: str
    n: int


class BreakdownRow(NamedTuple):
    """The figures of an entry in the order of the breakdown's values; None for those that are not defined."""

    entry: str
    figures: Sequence[Estimate | None]


class Confusion(NamedTuple):
    """How often items with each target got each answer; `counts` has the shape (targets, answers)."""

    entry: str
    targets: Sequence[str]
    answers: Sequence[str]
    counts: Sequence[Sequence[int]]


class Bin(NamedTuple):
    """Items with a probability in [low, high): their number, mean probability, and share with the label."""

    low: float
    high: float
    n: int
    mean: float
    share: float


class Calibration(NamedTuple):
    """The calibration of a label's probabilities; `without` is the number of items without one."""

    entry: str
    label: str
    bins: Sequence[Bin]
    without: int
    ece: Estimate
    brier: Estimate


class BothModes(NamedTuple):
    """An entry's replies scored in both modes by a metric that both have.

    `changed` is the number of the `n` replies with different figures, and `unanswered` that without an answer.
    """

    entry: str
    metric: str
    strict: Estimate | None
    paper: Estimate | None
    unanswered_strict: int
    unanswered_paper: int
    changed: int
    n: int


class ShownItem(NamedTuple):
    """An item with the replies of all entries.

    Attributes:
        id: The item's id.
        title: The item's question, or the beginning of what it is about, in one line.
        kinds: What it was chosen for: `worst`, `disagreeing`, `modes differ`.
        right: The number of entries that are entirely right.
        prompt: The prompt, possibly truncated.
        system: The system message, possibly truncated.
        target: The target, possibly truncated.
        cut: The number of characters left out of these three.
        tags: The item's tags.
        text: The text in which spans are marked; None if the task does not ask for spans.
        gold: The gold spans of `text`, as (start, end) in characters.
        replies: The replies.
    """

    id: str
    title: str
    kinds: Sequence[str]
    right: int
    prompt: str
    system: str
    target: str
    cut: int
    tags: Mapping[str, str]
    text: str | None
    gold: Sequence[Sequence[int]]
    replies: Sequence[ShownReply]


class ShownReply(NamedTuple):
    """A reply to an item.

    Attributes:
        entry: The entry's id.
        reply: The reply, possibly truncated.
        cut: The number of characters left out of it.
        answer: What was read from it: a label, a list of strings, or None without an answer.
        outcome: What became of it: `answered`, `inferred`, `unparsed`, `abstained` or `empty`.
        target: The correct answer, if the item was asked in another order; otherwise None.
        value: The headline's figure of this reply; None if the metric does not define one.
        reason: Why there is no answer, or what else a reader should know.
        verdicts: The first verdicts of the judge.
        verdicts_left_out: The number of further verdicts.
        spans: Where the answer's strings are in the text; None if no spans are marked.
        unplaced: Strings of the answer that are not in the text.
        probability: The probability of the label, if it is known.
        other: The score in the other mode; None for a judged task.
    """

    entry: str
    reply: str
    cut: int
    answer: str | Sequence[str] | None
    outcome: str
    target: str | None
    value: float | None
    reason: str
    verdicts: Sequence[Verdict]
    verdicts_left_out: int
    spans: Sequence[Sequence[int]] | None
    unplaced: Sequence[str]
    probability: float | None
    other: OtherScore | None


class OtherScore(NamedTuple):
    """The answer and figure of a reply in the other mode."""

    scoring: str
    answer: str | Sequence[str] | None
    outcome: str
    value: float | None
