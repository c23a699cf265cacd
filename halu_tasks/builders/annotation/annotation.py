"""Combining several annotators' labels: their agreement, the label of each item, and which items are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple, Self

from halu_tasks.builders.annotation.doccano import NO_ITEM, Annotator
from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.builders.quality.leaks import as_json, rounded
from halu_tasks.core.errors import UsageError
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.agreement import (
    cohen_kappa,
    krippendorff_alpha,
    pairwise_agreement,
)

MAJORITY, TWO = "majority", "two"
RULES = (MAJORITY, TWO)
LEAST = 2
"""Default minimum number of labels of an item: a single annotator's label is no agreement."""

NOT_ANNOTATED, TOO_FEW, NO_MAJORITY = "not annotated", "too few labels", "no majority"
"""Reasons why an item has no label."""


class PairAgreement(NamedTuple):
    """The agreement of two annotators over the items that both labelled."""

    annotators: tuple[str, str]
    items: int
    agreement: Estimate | None
    cohen_kappa: Estimate | None

    def to_json(self) -> dict[str, Any]:
        """Return the agreement as in `annotation.json`."""
        figures = {"agreement": as_json(self.agreement), "cohen_kappa": as_json(self.cohen_kappa)}
        return {"annotators": list(self.annotators), "items": self.items, **figures}


@dataclass(frozen=True)
class Agreement:
    """The agreement of annotators; figures are rounded, and have intervals with documents as clusters.

    Attributes:
        pairs: The agreement of each two annotators.
        annotators_per_item: The most common number of labels of an item; None if no item has two.
        items: The number of items with so many labels, over which the figures are computed, whoever gave the labels:
            groups of annotators may share the work.
        with_other_numbers: The number of items with more or fewer labels.
        pairwise_agreement: The share of pairs of labels that are equal.
        krippendorff_alpha: Krippendorff's alpha, over all items with two labels or more.
    """

    pairs: Sequence[PairAgreement]
    annotators_per_item: int | None = None
    items: int = 0
    with_other_numbers: int = 0
    pairwise_agreement: Estimate | None = None
    krippendorff_alpha: Estimate | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the agreement as in `annotation.json`."""
        pairs = [pair.to_json() for pair in self.pairs]
        content = {"annotators_per_item": self.annotators_per_item, "items": self.items, "pairs": pairs}
        if self.annotators_per_item is None:
            return content
        return {
            **content,
            "with_other_numbers": self.with_other_numbers,
            "pairwise_agreement": as_json(self.pairwise_agreement),
            "krippendorff_alpha": as_json(self.krippendorff_alpha),
        }


class LabelShare(NamedTuple):
    """The number and share of items with a label."""

    n: int
    share: Estimate | None


class AnnotatorSummary(NamedTuple):
    """The numbers of an annotator's rows, labels, unused rows by reason, and comments."""

    name: str
    rows: int
    labels: int
    left_out: Mapping[str, int]
    comments: int

    @classmethod
    def of(cls, annotator: Annotator) -> Self:
        """Summarize an annotator."""
        left_out = dict(sorted(annotator.left_out.items()))
        return cls(annotator.name, annotator.rows, len(annotator.labels), left_out, annotator.comments)


@dataclass(frozen=True, kw_only=True)
class AnnotationReport:
    """The result of an annotation: the content of `annotation.json`.

    Attributes:
        rule: How labels are combined, see `settled`.
        least: Minimum number of labels of an item.
        items: The number of items of the dataset.
        annotated: The number of items with a label.
        kept: The number of items kept.
        relabelled: The number of kept items that were changed.
        dropped: Dropped items by reason and kind.
        labels: Items by the label agreed on, or by the reason there is none; items with too few labels are left out.
        agreement: The agreement of annotators.
        annotators: The annotators.
    """

    rule: str
    least: int
    items: int
    annotated: int
    kept: int
    relabelled: int
    dropped: Mapping[str, Mapping[str, int]]
    labels: Mapping[str, LabelShare]
    agreement: Agreement
    annotators: Sequence[AnnotatorSummary]

    def to_json(self) -> dict[str, Any]:
        """Return the content of `annotation.json`."""
        return {
            **vars(self),
            "labels": {label: {"n": n, "share": as_json(share)} for label, (n, share) in self.labels.items()},
            "agreement": self.agreement.to_json(),
            "annotators": [annotator._asdict() for annotator in self.annotators],
        }


def settled(labels: Sequence[str], rule: str = MAJORITY, least: int = LEAST) -> tuple[str | None, str]:
    """Return the label that annotators agree on, or None and the reason.

    Args:
        labels: The annotators' labels of one item.
        rule: `majority` requires more than half of the labels; `two` requires two equal labels, and no other label
            that is as frequent.
        least: Minimum number of labels.
    """
    if len(labels) < least:
        return None, TOO_FEW if labels else NOT_ANNOTATED
    (label, most), *others = Counter(labels).most_common()
    agreed = 2 * most > len(labels) if rule == MAJORITY else most >= 2 and (not others or others[0][1] < most)
    return (label, "") if agreed else (None, NO_MAJORITY)


def _without_labels(annotator: Annotator) -> str:
    """Describe why a file contains no usable labels; empty if it does."""
    if annotator.labels:
        return ""
    if annotator.left_out[NO_ITEM] == annotator.rows:
        reason = f"no annotations ({annotator.rows:,} rows without item ids)" if annotator.rows else "no rows"
        return f"{annotator.name} contains {reason}; "
    reasons = ", ".join(f"{name} {number:,}" for name, number in annotator.left_out.items())
    return f"{annotator.name} contains no usable labels ({reasons}); "


@dataclass
class Annotation:
    """Annotators' labels of a dataset's items.

    Attributes:
        annotators: All annotators, including those without usable labels.
        clusters: The document of each item by item id, in the order of the dataset.
        rule: How labels are combined, see `settled`.
        least: Minimum number of labels, see `settled`.
        number: Number of items kept; counted while `kept` is read.
        relabelled: Number of kept items that were changed; counted while `kept` is read.
        dropped: Dropped items by reason and kind; counted while `kept` is read.
    """

    annotators: Sequence[Annotator]
    clusters: Mapping[str, str]
    rule: str = MAJORITY
    least: int = LEAST
    number: int = 0
    relabelled: int = 0
    dropped: dict[str, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UsageError(f"option rule: expected {' or '.join(RULES)}, got {self.rule!r}")
        if sum(bool(annotator.labels) for annotator in self.annotators) < 2:
            unusable = "".join(map(_without_labels, self.annotators))
            raise UsageError(
                f"{unusable}expected labels of two annotators or more, one file each; if doccano exported a single "
                "file for all, turn off shared annotations in the project's settings and export again"
            )

    def of(self, item: str) -> list[str]:
        """Return the labels that annotators gave an item."""
        return [annotator.labels[item] for annotator in self.annotators if item in annotator.labels]

    def kept(self, pipeline: Pipeline, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items to keep, as returned by `Pipeline.annotated`; count the others in `dropped`."""
        for item in items:
            label, reason = settled(self.of(item.id), self.rule, self.least)
            result = None if label is None else pipeline.annotated(item, label)
            if result is None:
                self.dropped.setdefault(reason or f"voted {label}", Counter())[item.kind] += 1
                continue
            self.number += 1
            self.relabelled += result != item
            yield result

    def report(self) -> AnnotationReport:
        """Return the result, after `kept` was read."""
        return AnnotationReport(
            rule=self.rule,
            least=self.least,
            items=len(self.clusters),
            annotated=sum(bool(self.of(item)) for item in self.clusters),
            kept=self.number,
            relabelled=self.relabelled,
            dropped={reason: dict(sorted(kinds.items())) for reason, kinds in sorted(self.dropped.items())},
            labels=self._shares(),
            agreement=self._agreement(),
            annotators=[AnnotatorSummary.of(annotator) for annotator in self.annotators],
        )

    def _shares(self) -> dict[str, LabelShare]:
        """Return the number and share of items by agreed label, or by the reason there is none.

        Items with too few labels are left out.
        """
        agreed = {item: settled(labels, self.rule, self.least) for item in self.clusters if (labels := self.of(item))}
        outcomes = {item: label or reason for item, (label, reason) in agreed.items() if reason != TOO_FEW}
        shares = {}
        for label in sorted(set(outcomes.values())):
            scores = [
                Score(item, self.clusters[item], None, "", {"is": outcome == label})
                for item, outcome in outcomes.items()
            ]
            share = estimate(mean("is", "is"), by_cluster(scores))
            shares[label] = LabelShare(sum(outcome == label for outcome in outcomes.values()), rounded(share))
        return shares

    def _agreement(self) -> Agreement:
        """Return the agreement of all annotators, and of each two."""
        labels = {item: self.of(item) for item in self.clusters}
        pairs = list(self._pairs())
        sizes = Counter(len(given) for given in labels.values() if len(given) > 1)
        if not sizes:
            return Agreement(pairs)
        size = max(sizes, key=lambda size: (sizes[size], size))
        items = [item for item, given in labels.items() if len(given) == size]
        raters = list(zip(*(labels[item] for item in items), strict=True))
        clusters = [self.clusters[item] for item in items]
        return Agreement(
            pairs,
            annotators_per_item=size,
            items=len(items),
            with_other_numbers=sum(bool(given) for given in labels.values()) - len(items),
            pairwise_agreement=rounded(pairwise_agreement(raters, clusters)),
            krippendorff_alpha=rounded(self._alpha()),
        )

    def _alpha(self) -> Estimate | None:
        """Return Krippendorff's alpha of all annotators, which may have labelled different items."""
        items = list(self.clusters)
        raters = [[annotator.labels.get(item) for item in items] for annotator in self.annotators if annotator.labels]
        return krippendorff_alpha(raters, [self.clusters[item] for item in items])

    def _pairs(self) -> Iterator[PairAgreement]:
        """Yield the agreement of each two annotators with items in common."""
        labelling = [annotator for annotator in self.annotators if annotator.labels]
        for one, other in combinations(labelling, 2):
            items = [item for item in self.clusters if item in one.labels and item in other.labels]
            if items:
                both = [one.labels[item] for item in items], [other.labels[item] for item in items]
                clusters = [self.clusters[item] for item in items]
                agreement, kappa = pairwise_agreement(both, clusters), cohen_kappa(*both, clusters)
                yield PairAgreement((one.name, other.name), len(items), rounded(agreement), rounded(kappa))
