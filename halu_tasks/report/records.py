"""The records of a report, which the page, the Markdown and `report.json` show.

A record's fields are its keys in `report.json`. Wide records are made of parts, whose fields are keys of the record
itself. Entries, columns and groups are referred to by id. The details of columns are JSON values from the start
(`details.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from halu_tasks.results.comparability import LIMIT, Entry
from halu_tasks.results.run import Skipped
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.scorers.statistics.differences import Difference
from halu_tasks.scorers.statistics.planning import ItemsNeeded
from halu_tasks.scorers.statistics.side_by_side import SideBySide

FREQUENT = 0.01
"""Share of replies without an answer above which a cell shows it."""

_DETAILED = 1_000
"""Number of differences beyond which pairs, details and items are shown of the leading entries only."""

PART = {"part": True}
"""Metadata of a field whose own fields are keys of the record."""

Json = Mapping[str, Any]


def number_in_detail(entries: int, places: int) -> int:
    """Compute how many entries a page shows in detail, so that it stays readable.

    Args:
        entries: The number of all entries.
        places: The number of columns and means in which they are compared.
    """
    return next(n for n in range(entries, -1, -1) if n <= 2 or n * (n - 1) // 2 * places <= _DETAILED)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Results of several models on several tasks, compared.

    What follows from these fields, such as the summary, is in `summary.py`.

    Attributes:
        about: `title`, `created` (ISO 8601), `package` with its version, `table`, the file with all items, and
            `margin`, the difference below which two entries count as equal; None if equality was not tested.
        notes: What readers need to know of the entries, such as two that may be the same model.
        skipped: Files that were not read.
        warnings: Results (`entry`, `column`) of which some (`share`) of the replies or of the questions to the judge
            have no answer; `meaning` says what they are and what to do, and `text` everything.
        superseded: Runs that were replaced by later ones, or by those on more items, with other answers or scores:
            `entry`, `column`, `source`, `created`, `why`, and whether they are a `rerun`, in the same harness and on as
            many items as the one that is shown.
        entries: The models as they were asked: the rows of the leaderboard.
        columns: Comparable results: the columns of the leaderboard, main ones first.
        groups: Means over the tasks of a group.
        results: The results of entries in columns.
        group_results: The means of entries over groups.
        floors: Figures of uninformed replies: `column`, `name` of the replies, `metric`, `value`, whether they are of
            the `headline`, and the value `beside_people`, against the same gold as theirs; None without annotators.
        published: Figures published in papers for a `column` or a `group`: `model`, `method`, `metric`, `value`,
            `scoring`, `source`, `note`, and whether they are of the `headline`.
        pairs: Differences between two entries in a column, or in the mean of a group.
        why: The details of each column, in the order of `columns`; empty for a comparison.
    """

    about: Mapping[str, Any] = field(metadata=PART)
    notes: Sequence[str]
    skipped: Sequence[Skipped]
    warnings: Sequence[Mapping[str, str]]
    superseded: Sequence[Json]
    entries: Sequence[Entry]
    columns: Sequence[ReportColumn]
    groups: Sequence[ReportGroup]
    results: Sequence[Result]
    group_results: Sequence[GroupResult]
    floors: Sequence[Json]
    published: Sequence[Json]
    pairs: Sequence[EntryPair]
    why: Sequence[Json]

    @cached_property
    def places(self) -> dict[str, ReportColumn | ReportGroup]:
        """The columns and groups by id."""
        return {column.id: column for column in self.columns} | {group.id: group for group in self.groups}

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of entries by id."""
        return {entry.id: entry.label for entry in self.entries}

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """The entries by id."""
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def by_cell(self) -> dict[tuple[str, str], Result]:
        """The results by the ids of entry and column."""
        return {(result.entry, result.column): result for result in self.results}

    @cached_property
    def means(self) -> dict[tuple[str, str], GroupResult]:
        """The means by the ids of entry and group."""
        return {(mean.entry, mean.group): mean for mean in self.group_results}

    @property
    def not_read(self) -> list[Skipped]:
        """The files that were not read, each run once: without logs that were continued in another."""
        return [one for one in self.skipped if one.run != "continued"]

    @cached_property
    def reruns(self) -> Counter[tuple[str, str]]:
        """The numbers of earlier runs in the same harness by the ids of entry and column."""
        return Counter((one["entry"], one["column"]) for one in self.superseded if one["rerun"])

    def other_limit(self, entry: str, column: str) -> str:
        """Say how long replies might be, if an entry has this token limit on some of its tasks only; else empty."""
        result, limit = self.by_cell.get((entry, column)), ""
        if result and LIMIT not in self.by_id[entry].settings:
            limit = result.settings.get(LIMIT, "")
        return f"{LIMIT} {limit}" if limit else ""

    def harnesses(self, column: str | None = None) -> list[str]:
        """List the programs that made the results, or those of one column, with their versions."""
        results = [result for result in self.results if column in (None, result.column)]
        return list(dict.fromkeys(harness for result in results for harness in result.harnesses))

    def columns_of(self, place: Place) -> list[ReportColumn]:
        """List the columns of a mean, or the column itself."""
        if isinstance(place, ReportColumn):
            return [place]
        return [column for column in self.columns if column.id in place.columns]

    def heads(self, groups: Iterable[ReportGroup], columns: Iterable[ReportColumn]) -> list[Place]:
        """Order the heads of a leaderboard: means before columns, and what only one entry has after all others."""
        entries = Counter(place for _, place in (*self.by_cell, *self.means))
        return sorted([*groups, *columns], key=lambda place: entries[place.id] < 2)

    def top_groups(self, *, main: bool) -> list[ReportGroup]:
        """List the groups with means that are not parts of another group, over main columns or over those apart."""
        groups = [group for group in self.groups if group.main == main]
        return [group for group in groups if not any(set(group.columns) < set(other.columns) for other in groups)]

    def items_of(self, place: Place) -> int:
        """Count the items of the data of a column, or of all columns of a mean."""
        return sum(column.condition["of"] // column.condition["epochs"] for column in self.columns_of(place))

    def part_answered(self, place: Place) -> str:
        """Say how many of the items were answered, such as `10 to 40 of 64`; empty if all were."""
        sizes = []
        for column in self.columns_of(place):
            replies = [result.n for result in self.results if result.column == column.id]
            epochs = column.condition["epochs"]
            sizes.append((min(replies, default=0) // epochs, max(replies, default=0) // epochs))
        fewest, most = map(sum, zip(*sizes, strict=True))
        of = self.items_of(place)
        answered = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        return f"{answered} of {of:,}" if fewest < of else ""

    def cell(self, entry: str, place: Place) -> Cell | None:
        """Return the cell of an entry in a column or mean; None if it has no result there."""
        cells = ((entry, column.id) for column in self.columns_of(place))
        results = [self.by_cell[cell] for cell in cells if cell in self.by_cell]
        # all tasks of a mean count the same
        names = results[0].counts if results else ()
        shares = {name: fmean((result.counts[name] or 0) / (result.n or 1) for result in results) for name in names}
        missing = {name: share for name, share in shares.items() if share > FREQUENT}
        if isinstance(place, ReportGroup):
            mean = self.means.get((entry, place.id))
            return Cell(mean.figure, mean.rank, mean.corrected, mean.corrected is not None, missing) if mean else None
        if not results:
            return None
        (result,) = results
        corrected = result.metrics.get(f"{place.metric}_ppi")
        by_corrected = place.compared_by == f"{place.metric}_ppi"
        # a rank by a metric that the user chose is not one of this figure
        rank = result.rank if by_corrected or place.compared_by == place.metric else None
        return Cell(result.metrics.get(place.metric), rank, corrected, by_corrected, missing, result)


# --- the leaderboard --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReportColumn:
    """Comparable results on a task.

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
        condition: What else the results share: `benchmark`; `about`, one line about the task; `data_file` and
            `data_sha256`; `prompt_hash`, None if the prompts are not known; `version` of the task; `marks`, how the
            runs deviate from the published benchmark; `fewshot`, None if it is not known; `options` that differ from
            their defaults; `epochs`; `n`, the number of replies of each entry, and `of`, that to all items of the data;
            `clusters` of items; and `human_ceiling`, the annotators of these items, each scored against the others,
            None if there are not several.
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
    condition: Json = field(metadata=PART)

    @property
    def metric(self) -> str:
        """The headline."""
        return self.headline


@dataclass(frozen=True, kw_only=True)
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


Place = ReportColumn | ReportGroup


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of an entry in a column.

    Attributes:
        entry: The entry's id.
        column: The column's id.
        source: The file that it comes from.
        harness: The program that made it, with its version.
        created: When the run began, in ISO 8601.
        equal: Other runs of the entry with the same answers and scores, such as in the other harness: `source`,
            `harness` and `created`.
        version: The version of the task with its marks.
        settings: The model's settings.
        method: The method.
        judge: The judge, if there is one.
        n: The number of replies.
        counts: The number of replies of each outcome without an answer, and as `judge_failed` that of questions without
            a verdict; None if there is no judge.
        metrics: The figures of all metrics that are defined.
        constant: The answer that all replies with one give although the correct ones differ; None if there is no such.
        from_replies: The share of the variance of the column's headline that is there because the model answers an item
            differently, 0 to 1; None without several replies to an item.
        beside_people: By metric, the `value` of the replies and that of people (`other`) on the same items, both
            against what the other annotators say, and the `difference`; empty without several annotators.
        rank: The 95% confidence set of the rank, as its lowest and highest rank; None if there is nothing to rank.
        cost: Calls, tokens and seconds, and the tokens of the judge; None if they were not recorded.
    """

    entry: str
    column: str
    source: str
    harness: str
    created: str
    equal: Sequence[Mapping[str, str]]
    version: str
    settings: Mapping[str, str]
    method: str
    judge: str | None
    n: int
    counts: Mapping[str, int | None] = field(metadata=PART)
    metrics: Mapping[str, Estimate]
    constant: str | None
    from_replies: float | None
    beside_people: Mapping[str, SideBySide]
    rank: tuple[int, int] | None
    cost: Mapping[str, float] | None

    @property
    def harnesses(self) -> list[str]:
        """The programs that made this result and equal ones, with their versions."""
        return list(dict.fromkeys([self.harness, *(one["harness"] for one in self.equal)]))


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


class Cell(NamedTuple):
    """A cell of the leaderboard.

    Attributes:
        figure: The figure; None if it is not defined.
        rank: The confidence set of the rank; None if there is nothing to rank.
        corrected: The figure that labels correct, if there is one.
        by_corrected: Whether the rank is of the corrected figure.
        missing: The shares of what `Result.counts` counts, where they are frequent.
        result: The result, if the place is a column.
    """

    figure: Estimate | None
    rank: tuple[int, int] | None = None
    corrected: Estimate | None = None
    by_corrected: bool = False
    missing: Mapping[str, float] = {}
    result: Result | None = None


# --- pairs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EntryPair:
    """A figure of one entry minus that of another, on the same items, in a column or in the mean of a group.

    Attributes:
        column: The column's id; None for a group.
        group: The group's id; None for a column.
        first: The id of the first entry.
        second: The id of the second entry.
        metric: The metric's name.
        difference: The difference with its interval and p value, of this pair alone.
        p_adjusted: The p value adjusted for all pairs, columns and groups; None if there is no interval, or if the
            figures are what a judge says, without labels.
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
    def by_judge_alone(self) -> bool:
        """Whether nothing is claimed of the difference, because the errors of a judge are not known."""
        return self.p_adjusted is None and self.difference.p is not None

    @property
    def place(self) -> str:
        """The id of the column or group."""
        return self.column or self.group or ""
