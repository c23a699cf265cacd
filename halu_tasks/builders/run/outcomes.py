"""What became of documents: their drafts as stored in logs, and the pass rates of checks."""

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
"""Names of rates besides those of the checks: drafts that passed every check, and drafts an item was kept of."""


@dataclass(frozen=True)
class Outcome:
    """The result of working on one document.

    Attributes:
        document: The document's id.
        drafts: Its drafts; empty if it was refused.
        refused: Why it was refused; None if it was not.
        cost: Cost of the model calls; None if there were none.
        licence: Licence stated by the document.
    """

    document: str
    drafts: tuple[Draft, ...] = ()
    refused: Failure | None = None
    cost: Mapping[str, float] | None = None
    licence: str = NO_LICENCE

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values, without its cost."""
        drafts = [
            {
                "id": draft.id,
                "kind": draft.kind,
                "checks": list(draft.checks),
                "failures": [list(failure) for failure in draft.failures],
                "row": draft.row,
                **({"drafted": draft.drafted} if draft.drafted else {}),
            }
            for draft in self.drafts
        ]
        refused = list(self.refused) if self.refused else None
        return {"document": self.document, "licence": self.licence, "refused": refused, "drafts": drafts}

    @staticmethod
    def of_json(record: Mapping[str, Any], cost: Mapping[str, float] | None = None) -> Outcome:
        """Create an outcome from what `as_json` returned, and its cost."""
        drafts = tuple(
            Draft(
                draft["id"],
                draft["kind"],
                tuple(draft["checks"]),
                tuple(Failure(*failure) for failure in draft["failures"]),
                draft["row"],
                draft.get("drafted"),
            )
            for draft in record["drafts"]
        )
        refused = Failure(*record["refused"]) if record["refused"] else None
        return Outcome(record["document"], drafts, refused, cost, record["licence"])


class Rates:
    """Pass rates of drafts.

    For each check the share of drafts that passed it, out of those it was run on; `overall`, the share that passed all
    checks; `kept`, the share an item was kept of. Uses 16 bytes per rate and document.
    """

    def __init__(self, checks: Sequence[str]) -> None:
        self.names = (*checks, OVERALL, KEPT)
        self._counts = array("d")

    @staticmethod
    def counted(outcome: Outcome) -> dict[str, list[int]]:
        """Return for each rate how many of a document's drafts passed, and how many were checked."""
        counts: dict[str, list[int]] = {}
        for draft in outcome.drafts:
            failed = {failure.check for failure in draft.failures}
            facts = {check: check not in failed for check in draft.checks}
            for name, right in {**facts, OVERALL: draft.passed, KEPT: draft.row is not None}.items():
                count = counts.setdefault(name, [0, 0])
                count[0] += right
                count[1] += 1
        return counts

    def add(self, counts: Mapping[str, Sequence[int]]) -> None:
        """Add the result of `counted` for one document."""
        if counts:
            self._counts.extend(number for name in self.names for number in counts.get(name, (0, 0)))

    def estimates(self) -> dict[str, Estimate]:
        """Return each rate with its standard error and 95% interval, clustered by document.

        Rates of checks that were never run are left out.
        """
        estimates = {}
        for name, table in zip(self.names, self._tables(), strict=True):
            nonempty = table[table[:, 1] > 0]
            if len(nonempty) and (estimate := jackknife(ratio, nonempty.sum(axis=0), nonempty)):
                estimates[name] = estimate
        return estimates

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return for each rate the number of drafts that passed and the number that were checked."""
        sums = [table.sum(axis=0) for table in self._tables()]
        return {name: (int(sum[0]), int(sum[1])) for name, sum in zip(self.names, sums, strict=True)}

    def _tables(self) -> list[Array]:
        """Return for each rate an array of shape (documents, 2): drafts that passed, and drafts checked."""
        table = np.array(self._counts, dtype=np.float64).reshape(-1, len(self.names), 2)
        return [table[:, number] for number in range(len(self.names))]
