"""Quality of a built dataset as far as it needs neither a model nor annotators: leaks, balance, duplicates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scipy.special import chdtrc

from halu_tasks.builders.duplicates import duplicate_filter
from halu_tasks.builders.leaks import (
    FEWEST_DOCUMENTS,
    LEAK,
    LIMITS,
    NONE,
    PAIRS,
    TOO_FEW,
    UNSURE,
    PairSample,
    Separation,
    leaks,
)
from halu_tasks.builders.pipeline import Draft, Pipeline
from halu_tasks.builders.records import DUPLICATE, Collection, to_json

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
        largest: The share of the most frequent value, which is the accuracy of always giving the same reply; None if
            there are no items.
        verdict: The verdict, if the label says which answer is right.
        p: The p-value of the test that all positions of the right answer are equally frequent; None for other labels,
            and if there are too few items for the test.
    """

    counts: Mapping[str, int]
    evenness: float | None = None
    largest: float | None = None
    verdict: str | None = None
    p: float | None = None


def distribution(counts: Mapping[str, int], field: str = "") -> Distribution:
    """Describe the distribution of counts of a label field, with a verdict if it says which answer is right."""
    total = sum(counts.values())
    shares = [count / total for count in counts.values() if count]
    entropy = -math.fsum(share * math.log(share) for share in shares)
    described = Distribution(
        counts=dict(sorted(counts.items())),
        evenness=round(entropy / math.log(len(shares)), 4) if len(shares) > 1 else None,
        largest=round(max(shares), 4) if shares else None,
    )
    if field in _TRUTHS:
        share = sum(counts.get(label, 0) for label in _TRUTHS[field]) / total
        return replace(described, verdict=NONE if LIMITS[0] <= share <= LIMITS[1] else LEAK)
    if field not in _POSITIONS:
        return described
    seen = [counts.get(place, 0) for place in _POSITIONS[field]]
    if sum(seen) < 5 * len(seen):
        # with fewer than five expected counts per cell the test is not valid
        return replace(described, verdict=UNSURE)
    expected = sum(seen) / len(seen)
    # Pearson's chi-squared test that all positions are equally frequent
    p = float(chdtrc(len(seen) - 1, math.fsum((number - expected) ** 2 / expected for number in seen)))
    return replace(described, p=round(p, 4), verdict=LEAK if p < _SURE else NONE)


class QualityFlag(NamedTuple):
    """A problem with a dataset that its users must know about: the check that found it, and a description."""

    check: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The quality of a dataset: the content of `quality.json`.

    Attributes:
        items: The number of items.
        documents: The number of documents that they come from.
        pairs: The number of pairs of texts.
        pairs_used: The number of those that were tested for leaks.
        refused: Documents that were not used, by reason.
        leaks: How well each feature, and a classifier, separates hallucinated texts from true ones.
        kinds: How items are distributed over kinds.
        labels: How items are distributed over labels, by file and field.
        duplicates: The number of items that duplicate an earlier one.
        near: The similarity in percent from which on they do.
        dropped: The number of duplicates that were dropped when the items were collected; None if it is not known.
        dropped_near: The similarity in percent from which on they were.
    """

    items: int
    documents: int
    pairs: int
    pairs_used: int
    refused: Mapping[str, int]
    leaks: Mapping[str, Separation]
    kinds: Distribution
    labels: Mapping[str, Mapping[str, Distribution]]
    duplicates: int
    near: float
    dropped: int | None
    dropped_near: float | None

    def flagged(self) -> list[QualityFlag]:
        """Return everything that is bad or was not tested."""
        return list(_findings(self))

    def as_json(self) -> dict[str, Any]:
        """Return the content of `quality.json`."""
        return {**to_json(self), "flagged": [to_json(finding) for finding in self.flagged()]}

    def describe_duplicates(self) -> str:
        """Describe the duplicates in the dataset, and those that were dropped before."""
        found = f"{self.duplicates:,} at {self.near:g}% similarity or more"
        if self.dropped is None:
            return found
        return f"{found}; dropped when collected, at {self.dropped_near:g}% or more: {self.dropped:,}"


def measure_quality(
    pipeline: Pipeline,
    items: Iterable[Draft],
    *,
    near: float = 100.0,
    collection: Collection | None = None,
    seed: int = 0,
    most_pairs: int = PAIRS,
) -> Quality:
    """Measure the quality of a dataset; its items are read once.

    Args:
        pipeline: The pipeline that built the dataset.
        items: The dataset's items.
        near: Similarity in percent from which on two items are duplicates; 100 for equal ones only.
        collection: What became of the documents, if it is known.
        seed: Seed of the sample of pairs and of the folds.
        most_pairs: Maximum number of pairs to test for leaks; if there are more, a sample by hash is used.
    """
    sample, seen, duplicates = PairSample(seed, most_pairs), duplicate_filter(near), 0
    kinds: Counter[str] = Counter()
    labels: dict[str, dict[str, Counter[str]]] = {}
    documents: set[str] = set()
    for item in items:
        kinds[item.kind] += 1
        documents.add(item.document)
        for file, row in pipeline.lines(item):
            for name in LABELS.get(pipeline.benchmark, ()):
                if name in row:
                    labels.setdefault(file, {}).setdefault(name, Counter())[str(row[name])] += 1
        duplicates += seen.add(item.id, pipeline.key(item), pipeline.group(item)) is not None
        context = pipeline.context(item)
        for place, pair in enumerate(pipeline.pairs(item)):
            sample.add(f"{item.id}/{place}", pair, context)
    pairs = sample.pairs()
    return Quality(
        items=kinds.total(),
        documents=len(documents),
        pairs=sample.seen,
        pairs_used=len(pairs),
        refused=collection.refused if collection else {},
        leaks=leaks(pairs, seed),
        kinds=distribution(kinds),
        labels={
            file: {name: distribution(fields[name], name) for name in sorted(fields)}
            for file, fields in sorted(labels.items())
        },
        duplicates=duplicates,
        near=near,
        dropped=collection.dropped.get(DUPLICATE, 0) if collection else None,
        dropped_near=collection.near if collection else None,
    )


def _findings(report: Quality) -> Iterator[QualityFlag]:
    """Yield the problems of a dataset."""
    for name, (verdict, area, in_pairs, *_) in report.leaks.items():
        if verdict == LEAK and area and in_pairs:
            text = f"{name}: area {area.value:.3f} over all texts, {in_pairs.value:.3f} within pairs"
            yield QualityFlag("leak", text)
    if any(separation.verdict == TOO_FEW for separation in report.leaks.values()):
        yield QualityFlag("not tested", f"{TOO_FEW}; for leaks, pairs of {FEWEST_DOCUMENTS} are needed")
    for file, fields in report.labels.items():
        for field, label in fields.items():
            if label.verdict == LEAK:
                most = max(label.counts, key=label.counts.__getitem__)
                yield QualityFlag("balance", f"{field} in {file}: always {most} is right for {label.largest:.1%}")
    if report.duplicates:
        how = "the same as" if report.near == 100 else "nearly the same as"
        yield QualityFlag("duplicates", f"{report.duplicates:,} of {report.items:,} items are {how} an earlier one")
