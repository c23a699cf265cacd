"""What became of documents: their drafts as stored in logs, pass rates of checks, and what was collected of them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import TypeAdapter

from halu_tasks.builders.documents import NO_LICENCE
from halu_tasks.builders.pipeline import Draft, Fault
from halu_tasks.scorers.metrics import Estimate, jackknife, ratio

OVERALL, KEPT = "overall", "kept"
"""Names of rates besides those of the checks: drafts that passed every check, and drafts an item was kept of."""
DUPLICATE, BALANCE = "duplicate", "balance"
"""Reasons besides the pipeline's checks for which a kept draft is not in the dataset."""


@dataclass(frozen=True)
class DocumentOutcome:
    """The result of working on one document.

    Attributes:
        document: The document's id.
        drafts: Its drafts; empty if it was refused.
        refused: Why it was refused; None if it was not.
        licence: Licence stated by the document.
        cost: Cost of the model calls; None if there were none.
    """

    document: str
    drafts: tuple[Draft, ...] = ()
    refused: Fault | None = None
    licence: str = NO_LICENCE
    cost: Mapping[str, float] | None = None

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        return _OUTCOMES.validate_python(record)  # type: ignore[return-value]

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        record: dict[str, Any] = _OUTCOMES.dump_python(self, mode="json")
        return record

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return for each rate how many of the drafts passed, and how many were checked."""
        counts: dict[str, tuple[int, int]] = {}
        for draft in self.drafts:
            faulty = {fault.check for fault in draft.faults}
            facts = {**{check: check not in faulty for check in draft.checks}, OVERALL: not faulty}
            for name, passed in {**facts, KEPT: bool(draft.row)}.items():
                before = counts.get(name, (0, 0))
                counts[name] = (before[0] + passed, before[1] + 1)
        return counts


_OUTCOMES = TypeAdapter(DocumentOutcome)


class Rate(NamedTuple):
    """The pass rate of a check: drafts that passed it, drafts it was run on, and the share with its interval."""

    passed: int
    of: int
    share: Estimate


class Rates:
    """Collects the counts of documents, and returns pass rates clustered by document.

    For each check the share of drafts that passed it, out of those it was run on; `overall`, the share that passed all
    checks; `kept`, the share an item was kept of.

    Args:
        checks: The checks.
    """

    def __init__(self, checks: Sequence[str]) -> None:
        self.names = (*checks, OVERALL, KEPT)
        self._counts = {name: array("q") for name in self.names}

    def add(self, counts: Mapping[str, Sequence[int]]) -> None:
        """Add the counts of a document."""
        for name, count in counts.items():
            self._counts[name].extend(count)

    def rates(self) -> dict[str, Rate]:
        """Return the rates by name; checks that were never run are left out."""
        rates = {}
        for name, counts in self._counts.items():
            table = np.array(counts, dtype=np.float64).reshape(-1, 2)
            total = table.sum(axis=0)
            if len(table) and (share := jackknife(ratio, total, table)):
                rates[name] = Rate(int(total[0]), int(total[1]), share)
        return rates

    def overall(self) -> float:
        """Return the share of drafts that passed every check; 0 if there were no drafts."""
        passed, drafts = sum(self._counts[OVERALL][::2]), sum(self._counts[OVERALL][1::2])
        return passed / drafts if drafts else 0.0


@dataclass(frozen=True, kw_only=True)
class Collection:
    """What became of a build's documents: the content of `collected.json`, from which the card is written.

    Attributes:
        documents: The number of documents that were worked on, refused ones included.
        documents_not_done: The number of documents that were not worked on yet.
        refused: Refused documents by reason.
        drafts: The number of drafts.
        rates: Pass rates by check.
        rejected: Drafts by `check: reason` of their faults; one draft can have several.
        items: Items by kind, before balancing.
        dropped: Items that passed but are not in the dataset, by reason.
        files: The number of rows of each file of the dataset.
        licences: Documents by the licence that they state.
        licence: The licence of the dataset; None if the user specified none.
        near: The similarity in percent from which on duplicates were dropped.
        cost: The total cost by measure.
    """

    documents: int = 0
    documents_not_done: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    drafts: int = 0
    rates: Mapping[str, Rate] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    items: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    licences: Mapping[str, int] = field(default_factory=dict)
    licence: str | None = None
    near: float = 100.0
    cost: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        return _COLLECTIONS.validate_python(record)  # type: ignore[return-value]


_COLLECTIONS = TypeAdapter(Collection)


def to_json(value: Any) -> Any:
    """Return a record as JSON values: dataclasses and named tuples become objects by the names of their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return to_json(value._asdict())
    if isinstance(value, Mapping):
        return {key: to_json(each) for key, each in value.items()}
    return [to_json(each) for each in value] if isinstance(value, list | tuple) else value
