"""Several wordings of one task: how far figures spread over prompts, beside their error over items."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from statistics import fmean, stdev

from halu_tasks.core.hashing import stable_hash
from halu_tasks.report.model.leaderboard import Board, Column
from halu_tasks.report.model.names import Names
from halu_tasks.report.model.report import WordingRow, Wordings
from halu_tasks.results.entry import Entry
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean_of

PROMPT_KEYS = {"description", "doc_to_text", "chain_of_thought", "wordings"}
"""The keys of a task file in which wordings of one task may differ."""

_TAG = "wording"


def wordings(board: Board, names: Names) -> Iterator[Wordings]:
    """Describe the spread of entries over columns that differ in nothing but the prompt.

    These are runs of a packaged task, of tasks that users derived from it, or with prompt files.

    Args:
        board: The board.
        names: The names of entries and columns.
    """
    alike: dict[Hashable, list[Column]] = {}
    for column in board.columns:
        if column.first.provenance.prompt_hash:
            alike.setdefault(_condition(column), []).append(column)
    for columns in (columns for columns in alike.values() if len(columns) > 1):
        rows = [row for entry in board.entries if (row := _row(columns, entry, names.entries[entry]))]
        if rows:
            first = columns[0]
            yield Wordings(
                task=first.task.reference,
                metric=first.headline.name,
                higher_is_better=first.headline.higher_is_better,
                columns=[names.columns[column] for column in columns],
                rows=rows,
            )


def _condition(column: Column) -> Hashable:
    """Return what the wordings of a task have in common, as a key."""
    run, task = column.first, column.task
    own = {key: task.definition.get(key) for key in task.changed if key not in PROMPT_KEYS}
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


def _row(columns: list[Column], entry: Entry, id: str) -> WordingRow | None:
    """Describe an entry's figures in the columns; None if fewer than two are defined."""
    headline = columns[0].headline
    scores = {str(n): column.runs[entry].scores for n, column in enumerate(columns) if entry in column.runs}
    figures = {n: estimate(headline, by_cluster(own)) for n, own in scores.items()}
    defined = {n: figure for n, figure in figures.items() if figure}
    if len(defined) < 2:
        return None
    values = [figure.value for figure in defined.values()]
    mean: Estimate | None = None
    if not headline.pooled:
        metric = mean_of(headline.name, dict.fromkeys(defined, headline), _TAG)
        mean = estimate(metric, by_cluster(score.tagged({_TAG: n}) for n in defined for score in scores[n]))
    return WordingRow(
        entry=id,
        figures=[figures.get(str(n)) for n in range(len(columns))],
        mean=mean or Estimate(fmean(values), None, None, None),
        sd=stdev(values),
        lowest=min(values),
        highest=max(values),
    )
