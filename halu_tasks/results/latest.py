"""Which of several runs count: of those that differ only in time, the latest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from halu_tasks.results.entry import Entry
from halu_tasks.results.run import Run


class LatestRuns(NamedTuple):
    """Runs, without those that later ones replace.

    Attributes:
        runs: The runs that count, in chronological order.
        replaced: The others, in the order in which they were replaced.
    """

    runs: Sequence[Run]
    replaced: Sequence[Run]


def latest_runs(runs: Sequence[Run]) -> LatestRuns:
    """Separate the latest run of each entry under each condition from those that it replaces.

    Args:
        runs: The runs in chronological order.
    """
    latest: dict[tuple[tuple[Any, ...], Entry], Run] = {}
    replaced = []
    for run in runs:
        key = run.condition, Entry.of(run)
        if earlier := latest.pop(key, None):
            replaced.append(earlier)
        latest[key] = run
    return LatestRuns(list(latest.values()), replaced)
