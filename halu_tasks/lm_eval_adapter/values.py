"""The values of metrics in lm-eval: those of items, and what it shows of an estimate over items.

lm-eval asks a task for the value of each metric for one item, which must be a number to be logged as one. Later it
passes the list of these values, and nothing else, to the metric's aggregation; with several processes, they come from
all of them. F1, clustered standard errors and shares by tag need whole scores, so the values of the first metric are
`ItemValue`s, which carry them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import Estimate, Metric
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.intervals import NO_VARIANCE

Part = Literal["value", "stderr"]
"""The part of an estimate that lm-eval shows."""
PARTS: Mapping[str, Part] = {"": "value", "_stderr": "stderr"}
"""What lm-eval adds to a metric's name for each part."""


class ItemValue(float):
    """The value of a metric for an item, with the item's score.

    Attributes:
        score: The item's score.
        metric: In a user's task, the scorer, its arguments as JSON, the metric and the part of its estimate.
    """

    __slots__ = ("metric", "score")

    score: ScoredReply
    metric: tuple[str, str, str, Part]


def item_values(metrics: Sequence[Metric], scores: Sequence[ScoredReply]) -> Iterator[dict[str, float]]:
    """Yield the value of each metric for an item, item by item.

    A metric that is not defined for one item, such as F1, is NaN. The first value is an `ItemValue`.
    """
    columns = Columns.of(scores)
    numbers = {metric.name: metric.of_items(columns) for metric in metrics}
    for place, score in enumerate(scores):
        values = {name: of_items[place] for name, of_items in numbers.items()}
        values[metrics[0].name] = first = ItemValue(values[metrics[0].name])
        first.score = score
        yield values


def part_of(estimate: Estimate | None, part: Part) -> Any:
    """Return a part of a metric's estimate as lm-eval shows it.

    An undefined value is NaN, so that the mean of a group is undefined too, instead of a mean of fewer tasks. A missing
    standard error is `N/A`, as in lm-eval. So is one of 0: where no two clusters differ, as at 0 and 1, the interval is
    exact and not computed from an error.
    """
    if part == "value":
        return estimate.value if estimate else math.nan
    stderr = estimate.stderr if estimate else None
    return "N/A" if stderr is None or stderr**2 <= NO_VARIANCE else stderr
