"""Several wordings of one prompt: the headline of each, and how far they are apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from halu_tasks.core.items import WORDING
from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.metrics import NO_ERROR, ItemSums, Metric, Terms
from halu_tasks.scorers.score import Score

SPREAD = "wording_sd"


def wordings_of(scores: Iterable[Score]) -> list[str]:
    """Return the wordings of a run's prompts, in order of first appearance; empty if it has only one."""
    return list(dict.fromkeys(score.tags[WORDING] for score in scores if WORDING in score.tags))


def with_wordings(metrics: Sequence[Metric], wordings: Sequence[str]) -> tuple[Metric, ...]:
    """Add what several wordings add to the metrics of a task.

    This is the headline of each wording, as `<headline>_wording_<name>`, and `wording_sd`, their standard deviation
    (with one less than their number as the divisor). All other metrics are over the items in all wordings, so that the
    headline is the mean over wordings with its error over clusters of items.

    The standard deviation has no interval. It contains the chance in the items, though little of it, since the items
    are the same in all wordings.

    Args:
        metrics: The metrics of the task, the headline first.
        wordings: The names of the wordings.

    Returns:
        All metrics; those of the task alone if there are fewer than two wordings.
    """
    if len(wordings) < 2:
        return tuple(metrics)
    headline = metrics[0]
    parts = [headline.only(WORDING, name, f"{headline.name}_wording_{name}") for name in wordings]
    about = f"standard deviation of {headline.name} over the wordings of the prompt"
    spread = _deviation(headline, parts)
    spread = replace(spread, name=SPREAD, about=about, higher_is_better=None, error=NO_ERROR)
    return (*metrics, *([spread] if headline.has_sums else []), *parts)


def _deviation(headline: Metric, parts: Sequence[Metric]) -> Metric:
    """Create the standard deviation of a metric's values in W wordings."""

    def terms(columns: Columns) -> Terms:
        sums = [part.sums_of_items(columns) for part in parts]
        return tuple(column for part in sums if isinstance(part, ItemSums) for column in part.terms.T)

    def value(sums: Array) -> Array:
        figures = headline.value(sums.reshape(*sums.shape[:-1], len(parts), -1))
        return np.asarray(np.std(figures, axis=-1, ddof=1))

    return replace(headline, terms=terms, value=value)
