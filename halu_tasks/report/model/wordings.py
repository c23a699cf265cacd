"""Several wordings of one task: how far figures spread over prompts, beside their error over items."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from statistics import fmean, stdev

from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import WORDING
from halu_tasks.report.model.leaderboard import Board, Column
from halu_tasks.report.model.names import Names
from halu_tasks.report.model.report import WordingRow, Wordings
from halu_tasks.results.entry import Entry
from halu_tasks.results.run import Run
from halu_tasks.scorers.metrics import Estimate, Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.wordings import mean_over_wordings, wordings_of

PROMPT_KEYS = {"description", "doc_to_text", "chain_of_thought", "wordings"}
"""The keys of a task file in which wordings of one task may differ."""


def wordings(board: Board, names: Names) -> Iterator[Wordings]:
    """Describe the spread of entries over wordings.

    These are the wordings of one run, or columns that differ in nothing but the prompt: runs of a packaged task, of
    tasks that users derived from it, or with prompt files.

    Args:
        board: The board.
        names: The names of entries and columns.
    """
    alike: dict[Hashable, list[Column]] = {}
    for column in board.columns:
        if several := wordings_of(column.first.scores):
            scores = {entry: [_of_wording(run, wording) for wording in several] for entry, run in column.runs.items()}
            yield from _spread([column], several, scores, names)
        elif column.first.provenance.prompt_hash:
            alike.setdefault(_condition(column), []).append(column)
    for columns in (columns for columns in alike.values() if len(columns) > 1):
        scores = {
            entry: [column.runs[entry].scores if entry in column.runs else [] for column in columns]
            for entry in board.entries
        }
        yield from _spread(columns, [names.titles[column] for column in columns], scores, names)


def _of_wording(run: Run, wording: str) -> list[Score]:
    return [score for score in run.scores if score.tags.get(WORDING) == wording]


def _spread(
    columns: Sequence[Column], labels: Sequence[str], scores: Mapping[Entry, Sequence[Sequence[Score]]], names: Names
) -> Iterator[Wordings]:
    """Describe the spread over some wordings, unless no entry has figures in two of them.

    Args:
        columns: The columns.
        labels: The names of the wordings.
        scores: By entry, the scores in each wording, empty where there are none.
        names: The names of entries and columns.
    """
    first = columns[0]
    rows = [
        row
        for entry, of_entry in scores.items()
        if (row := _row(first.headline, of_entry, names.entries[entry])) is not None
    ]
    if rows:
        yield Wordings(
            task=first.task.reference,
            metric=first.headline.name,
            higher_is_better=first.headline.higher_is_better,
            columns=[names.columns[column] for column in columns],
            labels=list(labels),
            rows=rows,
        )


def _condition(column: Column) -> Hashable:
    """Return what the wordings of a task have in common, as a key."""
    run, task = column.first, column.task
    own = {key: task.file.values.get(key) for key in task.changed if key not in PROMPT_KEYS}
    return (
        task.reference,
        task.version,
        column.headline.name,
        stable_hash(repr(sorted(own.items())), surrogates="surrogatepass"),
        run.scoring,
        run.provenance.data_sha256,
        tuple(sorted((name, str(value)) for name, value in run.asked.items())),
        run.judge,
        run.epochs,
        run.items_hash,
    )


def _row(headline: Metric, scores: Sequence[Sequence[Score]], id: str) -> WordingRow | None:
    """Describe an entry's figures in several wordings; None if fewer than two are defined."""
    figures = [estimate(headline, by_cluster(of_wording)) for of_wording in scores]
    defined = {str(n): figure.value for n, figure in enumerate(figures) if figure}
    if len(defined) < 2:
        return None
    values = list(defined.values())
    mean: Estimate | None = None
    if headline.has_sums:
        metric = mean_over_wordings(headline, list(defined))
        mean = estimate(metric, by_cluster(score.tagged({WORDING: n}) for n in defined for score in scores[int(n)]))
    return WordingRow(
        entry=id,
        figures=figures,
        mean=mean or Estimate(fmean(values), None, None, None),
        sd=stdev(values),
        lowest=min(values),
        highest=max(values),
    )
