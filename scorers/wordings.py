"""Metrics of a task whose prompt has several wordings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from halu_tasks.core.items import WORDING
from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.metrics import Metric, Terms, ratio
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.jackknife import Sums

SPREAD = "wording_sd"


def wordings_of(scores: Iterable[ScoredReply]) -> list[str]:
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
        All metrics; only the task's if there are fewer than two wordings.
    """
    if len(wordings) < 2:
        return tuple(metrics)
    headline = metrics[0]
    parts = [headline.only(WORDING, name, f"{headline.name}_wording_{name}") for name in wordings]
    if not headline.has_sums:
        return *metrics, *parts

    def terms(columns: Columns) -> Terms:
        sums = [part.sums_of_items(columns) for part in parts]
        return tuple(column for part in sums if isinstance(part, Sums) for column in part.terms.T)

    def value(sums: Array) -> Array:
        figures = headline.value(sums.reshape(*sums.shape[:-1], len(parts), -1))
        if figures.ndim > sums.ndim:  # an average over classes
            figures = ratio(np.stack([np.nansum(figures, axis=-1), (~np.isnan(figures)).sum(axis=-1)], axis=-1))
        return np.asarray(np.std(figures, axis=-1, ddof=1))

    about = f"standard deviation of {headline.name} over the wordings of the prompt"
    deviation = Metric(
        SPREAD,
        terms,
        tuple(set[str]().union(*(part.columns for part in parts))),
        "sums",
        about,
        higher_is_better=None,
        range=headline.range,
        value=value,
        requires_option=headline.requires_option,
        has_interval=False,
    )
    return *metrics, deviation, *parts
