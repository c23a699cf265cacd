"""Balance: how items are distributed over kinds, and over the labels that models are asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from scipy.special import chdtrc

from halu_tasks.builders.pipeline import Row
from halu_tasks.builders.quality.leaks import LEAK, LIMITS, NONE, UNSURE

LABELS: dict[str, tuple[str, ...]] = {
    "cfaith": ("halu_type", "correct_option", "label"),
    "factchd": ("label", "category"),
    "halluverse25": ("final_label",),
    "refact": ("error_type",),
}
"""The label fields of each benchmark's files."""
_POSITIONS = {"correct_option": "ABCD"}
"""Fields with the position of the right answer, and all positions, which should be equally frequent."""
_TRUTHS = {"label": {"FACTUAL", "True"}}
"""Fields that say whether a text is true, and their values for a true text."""
_SURE = 0.01


class Balance:
    """Counts the kinds and labels of items, one item at a time.

    Args:
        benchmark: Name of the benchmark in whose format the items are written.
    """

    def __init__(self, benchmark: str) -> None:
        self.kinds: Counter[str] = Counter()
        self._fields = LABELS.get(benchmark, ())
        self._labels: dict[tuple[str, str], Counter[str]] = {}

    def add(self, kind: str, lines: Iterable[tuple[str, Row]]) -> None:
        """Count an item's kind, and the labels of its rows in the benchmark's files."""
        self.kinds[kind] += 1
        for file, row in lines:
            for field in self._fields:
                if field in row:
                    self._labels.setdefault((file, field), Counter())[str(row[field])] += 1

    def found(self) -> dict[str, Any]:
        """Return the distribution of `kinds`, and of `labels` by file and field (see `spread`).

        Labels that say which answer is right have a `verdict`.
        """
        labels: dict[str, dict[str, Any]] = {}
        for (file, field), counts in sorted(self._labels.items()):
            labels.setdefault(file, {})[field] = {**spread(counts), **_verdict(field, counts)}
        return {"kinds": spread(self.kinds), "labels": labels}


def spread(counts: Mapping[str, int]) -> dict[str, Any]:
    """Describe a distribution of counts.

    Returns:
        `counts`; `evenness`, their entropy divided by the maximum for this number of labels (1 if all are equal, None
        if there are fewer than two); `ratio`, the largest count over the smallest; `largest`, the share of the most
        frequent label, which is the accuracy of always giving the same reply.
    """
    total = sum(counts.values())
    shares = [count / total for count in counts.values() if count]
    entropy = -sum(share * math.log(share) for share in shares)
    return {
        "counts": dict(sorted(counts.items())),
        "evenness": round(entropy / math.log(len(shares)), 4) if len(shares) > 1 else None,
        "ratio": round(max(shares) / min(shares), 4) if shares else None,
        "largest": round(max(shares), 4) if shares else None,
    }


def _verdict(field: str, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the verdict on a label field that says which answer is right; empty for other fields."""
    total = sum(counts.values())
    if field in _TRUTHS:
        share = sum(counts.get(label, 0) for label in _TRUTHS[field]) / total
        return {"verdict": NONE if LIMITS[0] <= share <= LIMITS[1] else LEAK}
    if field not in _POSITIONS:
        return {}
    seen = [counts.get(place, 0) for place in _POSITIONS[field]]
    if sum(seen) < 5 * len(seen):
        # with fewer than five expected counts per cell the test is not valid
        return {"p": None, "verdict": UNSURE}
    expected = sum(seen) / len(seen)
    # Pearson's chi-squared test that all positions are equally frequent
    p = float(chdtrc(len(seen) - 1, sum((number - expected) ** 2 / expected for number in seen)))
    return {"p": round(p, 4), "verdict": LEAK if p < _SURE else NONE}
