"""The values of metrics for single items, and what lm-eval computes of them.

lm-eval asks a task for the value of each metric for one item. It writes that value to the sample log, and later hands
the list of all values, and nothing else, to the metric's aggregation. Most metrics here cannot be computed from such
values: F1, clustered standard errors and shares by tag need whole scores. So each value is a number or a string that
looks right in the log and has the item's score as an attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from halu_tasks.scorers.metrics import Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score

LONGEST_LABEL = 20


class Logged(float):
    """The value of a metric for an item, with the item's score.

    The score is an attribute because lm-eval keeps nothing but this value between the item and the aggregation; a
    float is written to the sample log as a number and survives copying and pickling with its attributes.
    """

    score: Score


class LoggedLabels(str):
    """Target and answer of an item, for metrics that have no value for a single item, with the item's score."""

    score: Score


def logged(metric: Metric, score: Score) -> Logged | LoggedLabels:
    """Return what a sample log shows of a metric for an item."""
    number = metric.item(score) if metric.item else math.nan
    value: Logged | LoggedLabels = Logged(number)
    if math.isnan(number):
        answer = score.outcome if score.answer is None else _shortened(score.answer)
        value = LoggedLabels(f"{_shortened(score.target)} -> {answer}")
    value.score = score
    return value


def _shortened(label: str | list[str]) -> str:
    return label if isinstance(label, str) and len(label) < LONGEST_LABEL else "text"


class Aggregation:
    """Computes a metric of all items, or its standard error.

    It is NaN where it is not defined, so that the mean of a group is not defined either, instead of a mean of fewer
    tasks.

    Args:
        metric: The metric.
        part: The part of the estimate that is returned.
    """

    def __init__(self, metric: Metric, part: Literal["value", "stderr"]) -> None:
        self._metric, self._part = metric, part

    def __call__(self, values: Iterable[Logged | LoggedLabels]) -> Any:
        """Return the part of the estimate over the items with these values."""
        over_items = estimate(self._metric, by_cluster(value.score for value in values))
        figure = getattr(over_items, self._part) if over_items else math.nan
        return "N/A" if figure is None else figure  # lm-eval's word for a missing standard error

    def __repr__(self) -> str:
        return f"halu_tasks:{self._metric.name}:{self._part}"
