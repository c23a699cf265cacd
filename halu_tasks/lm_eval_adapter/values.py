"""The values of metrics in lm-eval: those of items, and what it shows of an estimate over items.

lm-eval asks a task for the value of each metric for one item. It writes that value to the sample log, and later hands
the list of all values, and nothing else, to the metric's aggregation. Most metrics here cannot be computed from such
values: F1, clustered standard errors and shares by tag need whole scores. So the value that is aggregated first is a
number or a string that looks right in the log and has the item's score as an attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import Estimate, Metric
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.intervals import NO_VARIANCE

LONGEST_LABEL = 20
Part = Literal["value", "stderr"]
"""The part of an estimate that lm-eval shows."""
PARTS: Mapping[str, Part] = {"": "value", "_stderr": "stderr"}
"""What lm-eval adds to a metric's name for each part."""


class ItemValue(float):
    """The value of a metric for an item, with the item's score.

    A float is written to the sample log as a number, and survives copying and pickling with its attributes.

    Attributes:
        score: The item's score.
        metric: In a user's task, the scorer, its arguments as JSON, the metric and the part of its estimate.
    """

    __slots__ = ("metric", "score")

    score: ScoredReply
    metric: tuple[str, str, str, Part]


class ItemLabels(str):
    """Target and answer of an item, for metrics that have no value for a single item, with the item's score."""

    __slots__ = ("score",)

    score: ScoredReply


def item_values(metrics: Sequence[Metric], scores: Sequence[ScoredReply]) -> Iterator[dict[str, float | str]]:
    """Yield what a sample log shows of each metric for an item, item by item; the first value has the score."""
    columns = Columns.of(scores)
    numbers = {metric.name: metric.of_items(columns) for metric in metrics}
    for place, score in enumerate(scores):
        answer = score.outcome if score.answer is None else _shortened(score.answer)
        labels = f"{_shortened(score.target)} -> {answer}"
        values: dict[str, float | str] = {
            name: labels if math.isnan(number := of_items[place]) else number for name, of_items in numbers.items()
        }
        value = values[metrics[0].name]
        values[metrics[0].name] = first = ItemLabels(value) if isinstance(value, str) else ItemValue(value)
        first.score = score
        yield values


def _shortened(label: str | list[str]) -> str:
    return label if isinstance(label, str) and len(label) < LONGEST_LABEL else "text"


def part_of(over_items: Estimate | None, part: Part) -> Any:
    """Return a part of a metric's estimate over items as lm-eval shows it.

    A value that is not defined is NaN, so that the mean of a group is not defined either, instead of a mean of fewer
    tasks. A standard error that is missing is lm-eval's word for it. One of 0 is missing, too: where no two clusters
    differ, as at 0 and 1, the interval is exact and rests on none.
    """
    if part == "value":
        return over_items.value if over_items else math.nan
    stderr = over_items.stderr if over_items else None
    return "N/A" if stderr is None or stderr**2 <= NO_VARIANCE else stderr
