"""Collecting the items of a dataset from logs: in a fixed order, without duplicates, balanced on request.

The dataset depends only on the documents, the options and the models' replies: not on when they were asked, in how
many parts, or after how many interruptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.builders.run.outcomes import Outcome, Rates
from halu_tasks.core.json_lines import json_line
from halu_tasks.scorers.methods.cost import COUNTED
from halu_tasks.scorers.metrics import Estimate

DUPLICATE, BALANCE = "duplicate", "balance"
"""Reasons besides the pipeline's checks for which a kept draft is not in the dataset."""


class Rate(NamedTuple):
    """The pass rate of a check: drafts that passed it, drafts it was run on, and the share with its interval."""

    passed: int
    of: int
    share: Estimate

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        share = Estimate(record["value"], record.get("stderr"), record["low"], record["high"])
        return cls(record["passed"], record["of"], share)

    def to_json(self) -> dict[str, Any]:
        """Return the rate as JSON values."""
        return {"passed": self.passed, "of": self.of, **self.share._asdict()}


def rates_by_check(rates: Rates) -> dict[str, Rate]:
    """Return the pass rates by check; checks that were never run are left out."""
    counts = rates.counts()
    return {name: Rate(*counts[name], share) for name, share in rates.estimates().items()}


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What became of a build's documents: the content of `collected.json`, from which the card is written.

    Attributes:
        documents_not_done: The number of documents that were not worked on yet.
        refused: Refused documents by reason.
        rates: Pass rates by check.
        rejected: Failures of drafts by `check: reason`.
        dropped: Items that passed but are not in the dataset, by reason.
        licences: Documents by the licence that they state.
        licence: The licence of the dataset; None if the user specified none.
        near: The similarity in percent from which on duplicates were dropped; None if it was not recorded.
    """

    documents_not_done: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, Rate] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    licences: Mapping[str, int] = field(default_factory=dict)
    licence: str | None = None
    near: float | None = None

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read the content of `collected.json`; older files lack some keys."""
        known = {key: record[key] for key in cls.__dataclass_fields__ if key in record}
        rates = {name: Rate.from_json(rate) for name, rate in record.get("rates", {}).items()}
        return cls(**{**known, "rates": rates})

    def to_json(self) -> dict[str, Any]:
        """Return the content of `collected.json`."""
        return {**vars(self), "rates": {name: rate.to_json() for name, rate in self.rates.items()}}


@dataclass
class Tally:
    """Counts that are updated while outcomes are collected.

    Attributes:
        rates: Pass rates of the checks.
        documents: Number of documents, refused ones included.
        drafts: Number of drafts.
        items: Number of items before balancing.
        refused: Refused documents by reason.
        failures: Drafts by failed check and reason; one draft can have several.
        kinds: Items by kind before balancing.
        dropped: Items that are not in the dataset, by reason.
        licences: Documents by licence.
        cost: Total cost by measure.
    """

    rates: Rates
    documents: int = 0
    drafts: int = 0
    items: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    cost: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.documents += 1
        self.licences[outcome.licence] += 1
        self.drafts += len(outcome.drafts)
        self.rates.add(Rates.counted(outcome))
        if outcome.refused:
            self.refused[outcome.refused.reason] += 1
        for draft in outcome.drafts:
            self.failures.update({(failure.check, failure.reason) for failure in draft.failures})
        self.cost.update({name: int((outcome.cost or {}).get(name, 0)) for name in COUNTED})

    def collected(self, planned: int, licence: str | None, near: float) -> Collected:
        """Return what became of the documents.

        Args:
            planned: The number of documents of the build.
            licence: The licence of the dataset, if the user specified one.
            near: The similarity in percent from which on duplicates were dropped.
        """
        return Collected(
            documents_not_done=planned - self.documents,
            refused=dict(self.refused),
            rates=rates_by_check(self.rates),
            rejected={f"{check}: {reason}": number for (check, reason), number in self.failures.most_common()},
            dropped=dict(self.dropped),
            licences=dict(sorted(self.licences.items())),
            licence=licence,
            near=near,
        )


Reject = Callable[[Mapping[str, str]], None]
"""Receives a record of something that was dropped: document, draft, check, reason, detail."""
Duplicate = Callable[[str, str, str], str | None]
"""Takes an item's id, key and group; returns the id of an earlier item it duplicates, or None."""


def items(
    pipeline: Pipeline, outcomes: Iterator[Outcome], tally: Tally, reject: Reject, duplicate: Duplicate
) -> Iterator[Item]:
    """Yield the items of outcomes without duplicates.

    Args:
        pipeline: The pipeline that made the outcomes.
        outcomes: The outcomes, in the order of the dataset.
        tally: Updated with every outcome.
        reject: Called with everything that is dropped.
        duplicate: Finds the earlier item that an item duplicates.
    """
    for outcome in outcomes:
        tally.add(outcome)
        if outcome.refused:
            check, reason, detail = outcome.refused
            reject({"document": outcome.document, "draft": "", "check": check, "reason": reason, "detail": detail})
        for draft in outcome.drafts:
            record = {"document": outcome.document, "draft": draft.id}
            for check, reason, detail in draft.failures:
                reject({**record, "check": check, "reason": reason, "detail": detail})
            if draft.row is None:
                continue
            item = Item(draft.id, draft.kind, outcome.document, draft.row)
            if earlier := duplicate(item.id, pipeline.key(item), pipeline.group(item)):
                tally.dropped[DUPLICATE] += 1
                reject({**record, "check": DUPLICATE, "reason": "duplicate of an earlier item", "detail": earlier})
                continue
            tally.kinds[item.kind] += 1
            tally.items += 1
            yield item


def balanced(candidates: Iterator[Item], limits: Mapping[str, int], tally: Tally, reject: Reject) -> Iterator[Item]:
    """Yield at most `limits[kind]` items of each kind: the first ones, which is a random choice as order is by hash.

    Args:
        candidates: The items.
        limits: Maximum number of items by kind.
        tally: Updated with the dropped items.
        reject: Called with every dropped item.
    """
    taken: Counter[str] = Counter()
    for item in candidates:
        if taken[item.kind] >= limits.get(item.kind, 0):
            tally.dropped[BALANCE] += 1
            record = {"document": item.document, "draft": item.id, "check": BALANCE}
            reject({**record, "reason": "more of its kind than of others", "detail": item.kind})
            continue
        taken[item.kind] += 1
        yield item


def rejects_to(path: Path) -> tuple[Reject, Callable[[], None]]:
    """Open a file of rejects; return a function that writes one and a function that closes the file."""
    file = path.open("w", encoding="utf-8", newline="\n")

    def write(record: Mapping[str, Any]) -> None:
        file.write(json_line(dict(record)) + "\n")

    return write, file.close
