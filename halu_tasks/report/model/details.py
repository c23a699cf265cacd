"""The details of a report's column: breakdowns, confusion, calibration, both modes, and items."""

from __future__ import annotations

from collections.abc import Mapping

from halu_tasks.report.model import items as shown_items
from halu_tasks.report.model.breakdowns import both_modes, breakdowns, calibration, confusion, difficulty
from halu_tasks.report.model.detail_records import BothModes, ColumnDetails
from halu_tasks.report.model.leaderboard import Column
from halu_tasks.report.model.names import Names
from halu_tasks.results.entry import Entry
from halu_tasks.scorers.kinds import Label
from halu_tasks.scorers.score import Score

JUDGED_ONCE = (
    "The judge's verdicts are not logged, so the other mode cannot be computed; score the replies in that mode."
)
NO_COMMON_METRIC = "The two modes have no metric in common."

OtherScores = Mapping[Entry, list[Score] | None]
"""For each entry, the scores of its replies in the other mode; None for a judged task."""


def details(column: Column, names: Names, others: OtherScores, limit: int) -> ColumnDetails:
    """Collect the details of a column.

    Args:
        column: The column.
        names: The names of entries and columns.
        others: Scores in the other mode.
        limit: The maximum length of each string of an item, in bytes.
    """
    answers = {entry: shown_items.by_item(run.answers, others[entry]) for entry, run in column.runs.items()}
    chosen = shown_items.chosen(column, answers)
    titles = shown_items.titles([answered.item for answered in column.first.answers], chosen)
    answers_by_id = {names.entries[entry]: by_id for entry, by_id in answers.items()}
    scores = {names.entries[entry]: run.scores for entry, run in column.runs.items()}
    label = column.task.choices[0] if column.task.choices else None
    curves = (calibration(entry, label, of_entry) for entry, of_entry in scores.items()) if label else ()
    labelled = isinstance(column.task.answer, Label)
    matrices = (confusion(entry, of_entry) for entry, of_entry in scores.items()) if labelled else ()
    by_difficulty = difficulty(column, names.entries)
    modes, modes_missing = _modes(column, names, others)
    return ColumnDetails(
        column=names.columns[column],
        breakdowns=[*breakdowns(column, names.entries), *([by_difficulty] if by_difficulty else [])],
        confusion=[matrix for matrix in matrices if matrix],
        calibration=[curve for curve in curves if curve],
        modes=modes,
        modes_missing=modes_missing,
        items=[
            shown_items.shown_item(column, id, titles[id], kinds, answers_by_id, limit) for id, kinds in chosen.items()
        ],
    )


def _modes(column: Column, names: Names, others: OtherScores) -> tuple[list[BothModes] | None, str]:
    """Return each entry's figures in both modes, or None and the reason."""
    rows = []
    for entry, run in column.runs.items():
        other = others[entry]
        if other is None:
            return None, JUDGED_ONCE
        if both := both_modes(names.entries[entry], column, run.scores, other):
            rows.append(both)
    return (rows, "") if rows else (None, NO_COMMON_METRIC)
