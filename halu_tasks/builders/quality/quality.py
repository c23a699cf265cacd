"""Quality checks of a built dataset that need neither a model nor annotators: leaks, balance, duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.builders.quality.bag_of_words import Classifier, telling_words
from halu_tasks.builders.quality.balance import Balance, Distributions
from halu_tasks.builders.quality.leaks import FEWEST_DOCUMENTS, LEAK, TOO_FEW, Separation, leaks
from halu_tasks.builders.quality.near_duplicates import Near
from halu_tasks.builders.quality.overlaps import Benchmarks, Compared, Dropped, Duplicates, Overlaps
from halu_tasks.builders.quality.sampling import PAIRS, PairSample

BY_CLASSIFIER = "words alone, to a classifier"
"""The name of the classifier's result among those of the features."""


class Finding(NamedTuple):
    """A problem with a dataset that its users must know about.

    Attributes:
        check: The check that found it.
        text: A description for users.
    """

    check: str
    text: str


class PairCount(NamedTuple):
    """The number of pairs in a dataset, and of those that were tested for leaks."""

    n: int
    used: int


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The quality of a dataset.

    Attributes:
        items: The number of items.
        documents: The number of documents that they come from.
        pairs: The number of pairs of texts.
        leaks: How well each feature separates hallucinated texts from true ones.
        classifier: How well a classifier does by words alone.
        balance: How items are distributed over kinds and labels.
        duplicates: The items that duplicate an earlier one.
        benchmarks: The items that share text with published benchmarks.
        refused: Documents that were not used, by reason; None if this is not known.
    """

    items: int
    documents: int
    pairs: PairCount
    leaks: Mapping[str, Separation]
    classifier: Classifier
    balance: Distributions
    duplicates: Duplicates
    benchmarks: Benchmarks
    refused: Mapping[str, int] | None = None

    @property
    def separations(self) -> dict[str, Separation]:
        """The separation by each feature and by the classifier, by their names in reports."""
        return {**self.leaks, BY_CLASSIFIER: self.classifier.separation}

    @property
    def flagged(self) -> list[Finding]:
        """Everything that is bad or was not tested."""
        return list(_findings(self))

    def to_json(self) -> dict[str, Any]:
        """Return the content of `quality.json`."""
        return {
            "items": self.items,
            "documents": self.documents,
            "refused": None if self.refused is None else dict(self.refused),
            "pairs": self.pairs._asdict(),
            "leaks": {feature: separation.to_json() for feature, separation in self.leaks.items()},
            "classifier": self.classifier.to_json(),
            "balance": self.balance.to_json(),
            "duplicates": self.duplicates.to_json(),
            "benchmarks": self.benchmarks.to_json(),
            "flagged": [finding._asdict() for finding in self.flagged],
        }


def quality(
    pipeline: Pipeline,
    items: Iterable[Item],
    *,
    benchmarks: Iterable[Compared] = (),
    not_compared: Sequence[str] = (),
    near: Near | None = None,
    dropped: Dropped | None = None,
    refused: Mapping[str, int] | None = None,
    seed: int = 0,
    most_pairs: int = PAIRS,
) -> Quality:
    """Measure the quality of a dataset; its items are read once and not held in memory.

    Args:
        pipeline: The pipeline that built the dataset.
        items: The dataset's items.
        benchmarks: Published texts to compare with.
        not_compared: Names of published files that are not available locally, for the report.
        near: Finds near-duplicates among the items; None skips this check.
        dropped: Duplicates that were dropped when the items were collected, if this is known.
        refused: Documents that were not used, by reason, if this is known.
        seed: Seed of the sample of pairs and of the folds.
        most_pairs: Maximum number of pairs to test for leaks; if there are more, a sample by hash is used.

    Raises:
        DataError: A benchmark's file contains an invalid row.
    """
    sample, balance, overlaps = PairSample(seed, most_pairs), Balance(pipeline.benchmark), Overlaps(near)
    number, documents = 0, set[str]()
    for item in items:
        number += 1
        documents.add(item.document)
        balance.add(item.kind, pipeline.lines(item))
        overlaps.add(item.id, pipeline.key(item), pipeline.group(item))
        context = pipeline.context(item)
        for place, pair in enumerate(pipeline.pairs(item)):
            sample.add(f"{item.id}/{place}", pair, context)
    taken = sample.taken()
    return Quality(
        items=number,
        documents=len(documents),
        pairs=PairCount(sample.seen, len(taken)),
        leaks=leaks(taken),
        classifier=telling_words(taken, seed),
        balance=balance.distributions(),
        duplicates=overlaps.within()._replace(dropped=dropped),
        benchmarks=overlaps.against(benchmarks)._replace(not_compared=not_compared),
        refused=refused,
    )


def _findings(report: Quality) -> Iterator[Finding]:
    """Yield the problems of a dataset."""
    separations = report.separations
    for name, separation in separations.items():
        if separation.verdict == LEAK:
            yield Finding("leak", f"{name}: {separation.describe()}")
    if TOO_FEW in {separation.verdict for separation in separations.values()}:
        yield Finding("not tested", f"{TOO_FEW}; for leaks, pairs of {FEWEST_DOCUMENTS} are needed")
    for file, fields in report.balance.labels.items():
        for field, label in fields.items():
            if label.verdict == LEAK:
                most = max(label.counts, key=label.counts.__getitem__)
                yield Finding("balance", f"{field} in {file}: always {most} is right for {label.largest:.1%}")
    duplicates = report.duplicates
    for what, pairs in (("the same as", duplicates.same), ("nearly the same as", duplicates.similar)):
        if pairs and pairs.n:
            yield Finding("duplicates", f"{pairs.n:,} of {report.items:,} items are {what} an earlier one")
    if report.benchmarks.n:
        sources = [file.source or file.file for file in report.benchmarks.compared if file.n]
        where = ", ".join(dict.fromkeys(sources))
        yield Finding("benchmarks", f"{report.benchmarks.n:,} of {report.items:,} items share text with {where}")
