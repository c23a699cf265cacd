"""The value of each item in the logs of both harnesses."""

import math
from typing import Any

from halu_tasks.tasks import Task

SHOWN = {"C": 1.0, "I": 0.0, "N": None}
"""What Inspect's letters stand for."""


def check_items(task: Task, log: Any, results: dict[str, Any], scoring: str = "strict") -> list[float | None]:
    """Check each item's `acc` and value in Inspect against its row in lm-eval; return the `acc` of the items."""
    rows = {row["doc"]["id"]: row for row in results["samples"][task.name]}
    scores = {str(sample.id): sample.scores["halu_score"] for sample in log.samples}
    assert scores.keys() == rows.keys()
    headline = task.headline_metric(scoring)
    for id, score in scores.items():
        acc = number(rows[id].get("acc"))
        assert score.metadata.get("acc") == acc, id
        expected = number(rows[id].get(headline.name))
        if expected is None or headline.range != (0.0, 1.0):
            expected = acc  # a number of hallucinations or points is no share, and an F1 is of no single item
        elif expected is not None and not headline.higher_is_better:
            expected = 1 - expected
        assert SHOWN.get(score.value, score.value) == expected, id
    return [score.metadata.get("acc") for score in scores.values()]


def number(logged: Any) -> float | None:
    """Return a value of lm-eval's log; None if it is NaN, or the metric is not reported."""
    return None if logged is None or math.isnan(logged) else float(logged)
