"""What became of documents: their drafts, as a log keeps them, and the rates of what passed."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halu_tasks.builders.documents import NO_LICENCE
from halu_tasks.builders.pipeline import Draft, Failure
from halu_tasks.scorers.metrics import Array, Estimate, jackknife, ratio

OVERALL, KEPT = "overall", "kept"
"""Names of rates beside those of the checks: drafts that passed every check, and drafts of which an item is kept."""


@dataclass(frozen=True)
class Outcome:
    """What became of one document: a refusal, or its drafts; what asking cost, where something was asked; and what the
    document says of its licence."""

    document: str
    drafts: tuple[Draft, ...] = ()
    refused: Failure | None = None
    cost: Mapping[str, float] | None = None
    licence: str = NO_LICENCE

    def as_json(self) -> dict[str, Any]:
        drafts = [
            {
                "id": draft.id,
                "kind": draft.kind,
                "checks": list(draft.checks),
                "failures": [list(failure) for failure in draft.failures],
                "row": draft.row,
            }
            for draft in self.drafts
        ]
        refused = list(self.refused) if self.refused else None
        return {"document": self.document, "licence": self.licence, "refused": refused, "drafts": drafts}

    @staticmethod
    def of_json(record: Mapping[str, Any], cost: Mapping[str, float] | None = None) -> Outcome:
        drafts = tuple(
            Draft(
                draft["id"],
                draft["kind"],
                tuple(draft["checks"]),
                tuple(Failure(*failure) for failure in draft["failures"]),
                draft["row"],
            )
            for draft in record["drafts"]
        )
        refused = Failure(*record["refused"]) if record["refused"] else None
        return Outcome(record["document"], drafts, refused, cost, record["licence"])


class Rates:
    """The share of drafts that passed each check, of those it was made of; that passed all, `overall`; and of which an
    item is kept, `kept`. Sixteen bytes a rate and document are held."""

    def __init__(self, checks: Sequence[str]) -> None:
        self.names = (*checks, OVERALL, KEPT)
        self._counts = array("d")

    @staticmethod
    def counted(outcome: Outcome) -> dict[str, list[int]]:
        """Of one document's drafts, by rate: how many passed, and of how many it was made."""
        found: dict[str, list[int]] = {}
        for draft in outcome.drafts:
            failed = {failure.check for failure in draft.failures}
            facts = {check: check not in failed for check in draft.checks}
            for name, right in {**facts, OVERALL: draft.passed, KEPT: draft.row is not None}.items():
                own = found.setdefault(name, [0, 0])
                own[0] += right
                own[1] += 1
        return found

    def add(self, counts: Mapping[str, Sequence[int]]) -> None:
        """Add what `counted` found of one document."""
        if counts:
            self._counts.extend(number for name in self.names for number in counts.get(name, (0, 0)))

    def estimates(self) -> dict[str, Estimate]:
        """Each rate that any draft bears on, with its standard error and 95% interval, clustered by document."""
        found = {}
        for name, table in zip(self.names, self._tables(), strict=True):
            bearing = table[table[:, 1] > 0]
            if len(bearing) and (estimate := jackknife(ratio, bearing.sum(axis=0), bearing)):
                found[name] = estimate
        return found

    def counts(self) -> dict[str, tuple[int, int]]:
        """Each rate's drafts that passed, and drafts it was made of."""
        sums = [table.sum(axis=0) for table in self._tables()]
        return {name: (int(own[0]), int(own[1])) for name, own in zip(self.names, sums, strict=True)}

    def _tables(self) -> list[Array]:
        """A table of passed and made for each rate, a row a document."""
        table = np.array(self._counts, dtype=np.float64).reshape(-1, len(self.names), 2)
        return [table[:, number] for number in range(len(self.names))]
