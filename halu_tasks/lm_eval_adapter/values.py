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
Part = Literal["value", "stderr"]
"""The part of an estimate that lm-eval shows: a standard error is a metric of its own."""


class ItemValue(float):
    """The value of a metric for an item, with the item's score.

    A float is written to the sample log as a number, and survives copying and pickling with its attributes.

    Attributes:
        score: The item's score.
        metric: In a user's task, the scorer, its arguments as JSON, the metric and the part of its estimate.
    """

    score: Score
    metric: tuple[str, str, str, Part]


class ItemLabels(str):
    """Target and answer of an item, for metrics that have no value for a single item, with the item's score."""

    score: Score


def item_value(metric: Metric, score: Score) -> ItemValue | ItemLabels:
    """Return what a sample log shows of a metric for an item."""
    number = metric.item(score) if metric.item else math.nan
    value: ItemValue | ItemLabels = ItemValue(number)
    if math.isnan(number):
        answer = score.outcome if score.answer is None else _shortened(score.answer)
        value = ItemLabels(f"{_shortened(score.target)} -> {answer}")
    value.score = score
    return value


def _shortened(label: str | list[str]) -> str:
    return label if isinstance(label, str) and len(label) < LONGEST_LABEL else "text"


class Aggregation:
    """Computes a metric of all items, or its standard error.

    Args:
        metric: The metric.
        part: The part of the estimate that is returned.
    """

    def __init__(self, metric: Metric, part: Part) -> None:
        self._metric, self._part = metric, part

    def __call__(self, values: Iterable[ItemValue | ItemLabels]) -> Any:
        """Return the part of the estimate over the items with these values."""
        return aggregate(self._metric, self._part, (value.score for value in values))

    def __repr__(self) -> str:
        return f"halu_tasks:{self._metric.name}:{self._part}"


def aggregate(metric: Metric, part: Part, scores: Iterable[Score]) -> Any:
    """Return a part of a metric's estimate, with lm-eval's word for a missing standard error.

    It is NaN where it is not defined, so that the mean of a group is not defined either, instead of a mean of fewer
    tasks.
    """
    over_items = estimate(metric, by_cluster(scores))
    figure = getattr(over_items, part) if over_items else math.nan
    return "N/A" if figure is None else figure
