"""Balance: how the items spread over kinds, and over the labels that a model is asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from scipy.special import chdtrc

from halu_tasks.builders.leaks import LEAK, LIMITS, NONE, UNSURE
from halu_tasks.builders.pipeline import Row

LABELS: dict[str, tuple[str, ...]] = {
    "cfaith": ("halu_type", "correct_option", "label"),
    "factchd": ("label", "category"),
    "halluverse25": ("final_label",),
    "refact": ("error_type",),
}
"""The fields of a benchmark's files that hold labels."""
_POSITIONS = {"correct_option": "ABCD"}
"""Those that say where the right answer stands, with all of the places: each should be as frequent as the others."""
_TRUTHS = {"label": {"FACTUAL", "True"}}
"""Those that say whether a text is true, with what they say of a true one."""
_SURE = 0.01


class Balance:
    """Counts kinds and labels one item after the other."""

    def __init__(self, benchmark: str) -> None:
        self.kinds: Counter[str] = Counter()
        self._fields = LABELS.get(benchmark, ())
        self._labels: dict[tuple[str, str], Counter[str]] = {}

    def add(self, kind: str, lines: Iterable[tuple[str, Row]]) -> None:
        """Count an item: its kind, and the labels of what it adds to the benchmark's files."""
        self.kinds[kind] += 1
        for file, row in lines:
            for field in self._fields:
                if field in row:
                    self._labels.setdefault((file, field), Counter())[str(row[field])] += 1

    def found(self) -> dict[str, Any]:
        """`kinds`, and `labels` by file and field, each as `spread` says; labels with a `verdict` where they say
        which answer is right."""
        labels: dict[str, dict[str, Any]] = {}
        for (file, field), counts in sorted(self._labels.items()):
            labels.setdefault(file, {})[field] = {**spread(counts), **_verdict(field, counts)}
        return {"kinds": spread(self.kinds), "labels": labels}


def spread(counts: Mapping[str, int]) -> dict[str, Any]:
    """How counts spread: `counts`; `evenness`, their entropy over the largest possible one for as many labels (1 where
    all are equal, None for fewer than two); `ratio`, the largest over the smallest; `largest`, the share of the most
    frequent, which is the accuracy of a reply that is always the same."""
    whole = sum(counts.values())
    shares = [count / whole for count in counts.values() if count]
    entropy = -sum(share * math.log(share) for share in shares)
    return {
        "counts": dict(sorted(counts.items())),
        "evenness": round(entropy / math.log(len(shares)), 4) if len(shares) > 1 else None,
        "ratio": round(max(shares) / min(shares), 4) if shares else None,
        "largest": round(max(shares), 4) if shares else None,
    }


def _verdict(field: str, counts: Mapping[str, int]) -> dict[str, Any]:
    whole = sum(counts.values())
    if field in _TRUTHS:
        share = sum(counts.get(label, 0) for label in _TRUTHS[field]) / whole
        return {"verdict": NONE if LIMITS[0] <= share <= LIMITS[1] else LEAK}
    if field not in _POSITIONS:
        return {}
    seen = [counts.get(place, 0) for place in _POSITIONS[field]]
    if sum(seen) < 5 * len(seen):
        # below five expected in a cell, the test says nothing
        return {"p": None, "verdict": UNSURE}
    expected = sum(seen) / len(seen)
    # Pearson's test that all places are as frequent
    p = float(chdtrc(len(seen) - 1, sum((number - expected) ** 2 / expected for number in seen)))
    return {"p": round(p, 4), "verdict": LEAK if p < _SURE else NONE}
