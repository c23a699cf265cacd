"""The ids and titles by which a report refers to the entries and columns of a board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halu_tasks.report.model.leaderboard import Board, Column, Mean
from halu_tasks.results.entry import Entry


@dataclass(frozen=True)
class Names:
    """The names of a board's entries and columns.

    Attributes:
        entries: The ids of entries.
        columns: The ids of columns.
        groups: The ids of the means of groups.
        labels: The labels of entries.
        titles: The titles of columns.
    """

    entries: Mapping[Entry, str]
    columns: Mapping[Column, str]
    groups: Mapping[Mean, str]
    labels: Mapping[Entry, str]
    titles: Mapping[Column, str]

    @classmethod
    def of(cls, board: Board, means: Sequence[Mean] = ()) -> Names:
        """Name the entries and columns of a board, and the means of groups."""
        return cls(
            entries={entry: f"e{number}" for number, entry in enumerate(board.entries, 1)},
            columns={column: f"c{number}" for number, column in enumerate(board.columns, 1)},
            groups={mean: f"g{number}" for number, mean in enumerate(means, 1)},
            labels=board.labels(),
            titles=_titles(board),
        )


def _titles(board: Board) -> dict[Column, str]:
    """Name each column after its task.

    A column apart gets its differences from the main one as a suffix, and a number if that is not unique.
    """
    main = {column.task.name: column for column in board.main}
    titles = {
        column: "-".join([column.task.name, *_suffixes(main[column.task.name], column)])
        if column.why
        else column.task.name
        for column in board.columns
    }
    uses = Counter(titles.values())
    seen: Counter[str] = Counter()
    for column, title in titles.items():
        seen[title] += 1
        if uses[title] > 1:
            titles[column] = f"{title} ({seen[title]})"
    return titles


def _suffixes(main: Column, column: Column) -> list[str]:
    """List in one word each how a column differs from the main one of its task."""
    run, other = column.first, main.first
    words = [mark for mark in run.version_tags if mark not in other.version_tags]
    words += ["prompts_unknown"] if not run.provenance.prompt_hash and other.provenance.prompt_hash else []
    words += [f"{run.epochs}epochs"] if run.epochs != other.epochs else []
    words += [f"{len(run.scores)}items"] if run.epochs == other.epochs and len(run.scores) != len(other.scores) else []
    words += ["other_judge" if run.judge else "no_judge"] if run.judge != other.judge else []
    return words or ["apart"]
