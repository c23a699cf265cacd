"""What several annotators make of items: how they agree, which label an item gets, what is dropped and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from halu_tasks.builders.doccano import NO_ITEM, Annotator
from halu_tasks.builders.leaks import as_json
from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.errors import UsageError
from halu_tasks.scorers.agreement import cohen_kappa, fleiss_kappa, pairwise_agreement
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean
from halu_tasks.scorers.score import Score

MAJORITY, TWO = "majority", "two"
RULES = (MAJORITY, TWO)
LEAST = 2
"""Labels that an item needs: the word of one annotator is no agreement."""

NOT_ANNOTATED, TOO_FEW, NO_MAJORITY = "not annotated", "too few labels", "no majority"
"""Why an item has no label."""


def settled(labels: Sequence[str], rule: str = MAJORITY, least: int = LEAST) -> tuple[str | None, str]:
    """The label that annotators' labels of an item settle on, or None and the reason.

    By `majority` it is that of more than half of them; by `two` one that at least two give and no other has as many.
    """
    if len(labels) < least:
        return None, TOO_FEW if labels else NOT_ANNOTATED
    (label, most), *others = Counter(labels).most_common()
    agreed = 2 * most > len(labels) if rule == MAJORITY else most >= 2 and (not others or others[0][1] < most)
    return (label, "") if agreed else (None, NO_MAJORITY)


def _without_labels(own: Annotator) -> str:
    """What is said of a file that gives no label; nothing of others."""
    if own.labels:
        return ""
    if own.left_out[NO_ITEM] == own.rows:
        why = f"no annotations ({own.rows:,} rows without item ids)" if own.rows else "no rows"
        return f"{own.name} holds {why}; "
    return f"{own.name} gives no label ({', '.join(f'{name} {number:,}' for name, number in own.left_out.items())}); "


@dataclass
class Annotation:
    """Annotators' labels of a dataset's items.

    Attributes:
        annotators: those who gave any label, and all others.
        clusters: by item id, in the order of the dataset: its document.
        rule, least: see `settled`.
        dropped: filled while `kept` is read: items by reason and kind.
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
            raise UsageError(f"rule {self.rule!r} is unknown; choose {' or '.join(RULES)}")
        if sum(bool(own.labels) for own in self.annotators) < 2:
            without = "".join(map(_without_labels, self.annotators))
            raise UsageError(
                f"{without}labels of two annotators or more are needed, one file each; if doccano gave one file for "
                "all, members share their annotations in that project: let them not, and export anew"
            )

    def of(self, item: str) -> list[str]:
        """The labels that annotators gave an item."""
        return [own.labels[item] for own in self.annotators if item in own.labels]

    def kept(self, pipeline: Pipeline, items: Iterable[Item]) -> Iterator[Item]:
        """The items that stay, as `Pipeline.annotated` leaves them; the others are counted in `dropped`."""
        for item in items:
            label, reason = settled(self.of(item.id), self.rule, self.least)
            found = None if label is None else pipeline.annotated(item, label)
            if found is None:
                self.dropped.setdefault(reason or f"voted {label}", Counter())[item.kind] += 1
                continue
            self.number += 1
            self.relabelled += found != item
            yield found

    def report(self) -> dict[str, Any]:
        """All of it as JSON values, after `kept` was read: annotators, agreement, shares of labels, kept, dropped."""
        return {
            "rule": self.rule,
            "least": self.least,
            "items": len(self.clusters),
            "annotated": sum(bool(self.of(item)) for item in self.clusters),
            "kept": self.number,
            "relabelled": self.relabelled,
            "dropped": {reason: dict(sorted(kinds.items())) for reason, kinds in sorted(self.dropped.items())},
            "labels": self._shares(),
            "agreement": self._agreement(),
            "annotators": [
                {
                    "name": own.name,
                    "rows": own.rows,
                    "labels": len(own.labels),
                    "left_out": dict(sorted(own.left_out.items())),
                    "comments": own.comments,
                }
                for own in self.annotators
            ],
        }

    def _shares(self) -> dict[str, Any]:
        """Of the items with enough labels: how many settled on each, and on none, with the share."""
        found = {item: settled(labels, self.rule, self.least) for item in self.clusters if (labels := self.of(item))}
        told = {item: label or reason for item, (label, reason) in found.items() if reason != TOO_FEW}
        shares = {}
        for label in sorted(set(told.values())):
            scores = [Score(item, self.clusters[item], None, "", {"is": own == label}) for item, own in told.items()]
            share = estimate(mean("is", "is"), by_cluster(scores))
            shares[label] = {"n": sum(own == label for own in told.values()), "share": as_json(share)}
        return shares

    def _agreement(self) -> dict[str, Any]:
        """`pairwise_agreement` and `fleiss_kappa` over the items that have as many labels as most have, whoever gave
        them, as groups of annotators may share the work; for each two annotators `agreement` and `cohen_kappa` over the
        items that both labelled. Documents are the clusters."""
        labels = {item: self.of(item) for item in self.clusters}
        sizes = Counter(len(own) for own in labels.values() if len(own) > 1)
        found: dict[str, Any] = {"annotators_per_item": None, "items": 0, "pairs": []}
        if sizes:
            size = max(sizes, key=lambda size: (sizes[size], size))
            items = [item for item, own in labels.items() if len(own) == size]
            raters = list(zip(*(labels[item] for item in items), strict=True))
            clusters = [self.clusters[item] for item in items]
            found |= {
                "annotators_per_item": size,
                "items": len(items),
                "with_other_numbers": sum(bool(own) for own in labels.values()) - len(items),
                "pairwise_agreement": as_json(pairwise_agreement(raters, clusters)),
                "fleiss_kappa": as_json(fleiss_kappa(raters, clusters)),
            }
        for one, other in combinations([own for own in self.annotators if own.labels], 2):
            items = [item for item in self.clusters if item in one.labels and item in other.labels]
            if items:
                both = [one.labels[item] for item in items], [other.labels[item] for item in items]
                clusters = [self.clusters[item] for item in items]
                figures: dict[str, Estimate | None] = {
                    "agreement": pairwise_agreement(both, clusters),
                    "cohen_kappa": cohen_kappa(*both, clusters),
                }
                told = {name: as_json(figure) for name, figure in figures.items()}
                found["pairs"].append({"annotators": [one.name, other.name], "items": len(items), **told})
        return found
