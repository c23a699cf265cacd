"""Several wordings of one task: how far figures spread over prompts, beside their error over items."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from statistics import fmean, stdev

from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import WORDING
from halu_tasks.report.board import Board, Column
from halu_tasks.report.records import WordingRow, Wordings
from halu_tasks.results.entry import Entry
from halu_tasks.scorers.metrics import Estimate, Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.wordings import mean_over_wordings, wordings_of

PROMPT_KEYS = {"description", "doc_to_text", "chain_of_thought", "wordings"}
"""The keys of a task file in which wordings of one task may differ."""


def wordings(board: Board) -> Iterator[Wordings]:
    """Describe the spread of entries over wordings.

    These are the wordings of one run, or columns that differ in nothing but the prompt: runs of a packaged task, of
    tasks that users derived from it, or with prompt files.
    """
    alike: dict[Hashable, list[Column]] = {}
    for column in board.columns:
        if several := wordings_of(column.first.scores):
            scores = {
                entry: [[score for score in run.scores if score.tags.get(WORDING) == wording] for wording in several]
                for entry, run in column.runs.items()
            }
            yield from _spread(board, [column], several, scores)
        elif column.first.provenance.prompt_hash:
            alike.setdefault(_condition(column), []).append(column)
    for columns in (columns for columns in alike.values() if len(columns) > 1):
        by_entry = {
            entry: [column.runs[entry].scores if entry in column.runs else [] for column in columns]
            for entry in board.labels
        }
        yield from _spread(board, columns, [column.title for column in columns], by_entry)


def _spread(
    board: Board, columns: Sequence[Column], labels: Sequence[str], scores: Mapping[Entry, Sequence[Sequence[Score]]]
) -> Iterator[Wordings]:
    """Describe the spread over some wordings, unless no entry has figures in two of them.

    Args:
        board: The board.
        columns: The columns.
        labels: The names of the wordings.
        scores: By entry, the scores in each wording, empty where there are none.
    """
    headline = columns[0].headline
    all_rows = (_row(headline, of_entry, board.ids[entry]) for entry, of_entry in scores.items())
    if rows := [row for row in all_rows if row]:
        up, ids = headline.higher_is_better, [column.id for column in columns]
        yield Wordings(columns[0].task.reference, headline.name, up, ids, list(labels), rows)


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


def _row(headline: Metric, scores: Sequence[Sequence[Score]], id: str) -> WordingRow | None:
    """Describe an entry's figures in several wordings; None if fewer than two are defined."""
    figures = [estimate(headline, by_cluster(of_wording)) for of_wording in scores]
    defined = {str(n): figure.value for n, figure in enumerate(figures) if figure}
    if len(defined) < 2:
        return None
    values = list(defined.values())
    mean: Estimate | None = None
    if not headline.pooled:
        metric = mean_over_wordings(headline, list(defined))
        mean = estimate(metric, by_cluster(score.tagged({WORDING: n}) for n in defined for score in scores[int(n)]))
    mean = mean or Estimate(fmean(values), None, None, None)
    return WordingRow(id, figures, mean, stdev(values), min(values), max(values))
