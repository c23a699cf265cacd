"""Balance: how items are distributed over kinds, and over the labels that models are asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

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


@dataclass(frozen=True)
class Distribution:
    """How items are distributed over the values of a label.

    Attributes:
        counts: The number of items by value.
        evenness: The entropy divided by the maximum for this number of values, 1 if all are equally frequent; None if
            there are fewer than two.
        ratio: The largest count over the smallest; None if there are no items.
        largest: The share of the most frequent value, which is the accuracy of always giving the same reply; None if
            there are no items.
        verdict: The verdict, if the label says which answer is right.
        positions: Whether the values are positions of the right answer, which should be equally frequent.
        p: The p-value of the test that they are; None if there are too few items for the test.
    """

    counts: Mapping[str, int]
    evenness: float | None
    ratio: float | None
    largest: float | None
    verdict: str | None = None
    positions: bool = False
    p: float | None = None

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Self:
        """Describe the distribution of counts."""
        total = sum(counts.values())
        shares = [count / total for count in counts.values() if count]
        entropy = -math.fsum(share * math.log(share) for share in shares)
        return cls(
            counts=dict(sorted(counts.items())),
            evenness=round(entropy / math.log(len(shares)), 4) if len(shares) > 1 else None,
            ratio=round(max(shares) / min(shares), 4) if shares else None,
            largest=round(max(shares), 4) if shares else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the distribution as in `quality.json`."""
        shares = {"evenness": self.evenness, "ratio": self.ratio, "largest": self.largest}
        p = {"p": self.p} if self.positions else {}
        verdict = {"verdict": self.verdict} if self.verdict else {}
        return {"counts": self.counts, **shares, **p, **verdict}


class Distributions(NamedTuple):
    """The distributions of a dataset: over kinds, and over labels by file and field."""

    kinds: Distribution
    labels: Mapping[str, Mapping[str, Distribution]]

    def to_json(self) -> dict[str, Any]:
        """Return the distributions as in `quality.json`."""
        labels = {
            file: {field: distribution.to_json() for field, distribution in fields.items()}
            for file, fields in self.labels.items()
        }
        return {"kinds": self.kinds.to_json(), "labels": labels}


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

    def distributions(self) -> Distributions:
        """Return the distributions of kinds and labels; labels that say which answer is right have a verdict."""
        labels: dict[str, dict[str, Distribution]] = {}
        for (file, field), counts in sorted(self._labels.items()):
            labels.setdefault(file, {})[field] = _judged(field, Distribution.of(counts))
        return Distributions(Distribution.of(self.kinds), labels)


def _judged(field: str, distribution: Distribution) -> Distribution:
    """Add a verdict to the distribution of a field that says which answer is right."""
    counts = distribution.counts
    if field in _TRUTHS:
        share = sum(counts.get(label, 0) for label in _TRUTHS[field]) / sum(counts.values())
        return replace(distribution, verdict=NONE if LIMITS[0] <= share <= LIMITS[1] else LEAK)
    if field not in _POSITIONS:
        return distribution
    seen = [counts.get(place, 0) for place in _POSITIONS[field]]
    if sum(seen) < 5 * len(seen):
        # with fewer than five expected counts per cell the test is not valid
        return replace(distribution, positions=True, verdict=UNSURE)
    expected = sum(seen) / len(seen)
    # Pearson's chi-squared test that all positions are equally frequent
    p = float(chdtrc(len(seen) - 1, math.fsum((number - expected) ** 2 / expected for number in seen)))
    return replace(distribution, positions=True, p=round(p, 4), verdict=LEAK if p < _SURE else NONE)
