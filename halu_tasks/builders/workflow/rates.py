"""Pass rates of checks, as commands show them and write them to files."""

from __future__ import annotations

from typing import Any, NamedTuple

from halu_tasks.builders.run.outcomes import Rates
from halu_tasks.scorers.metrics import Estimate


class CheckRate(NamedTuple):
    """The pass rate of a check.

    Attributes:
        passed: number of drafts that passed.
        checked: number of drafts that were checked.
        estimate: the rate, with its interval.
    """

    passed: int
    checked: int
    estimate: Estimate

    def as_json(self) -> dict[str, Any]:
        """Return the rate as JSON values."""
        return {"passed": self.passed, "of": self.checked, **self.estimate._asdict()}


def check_rates(rates: Rates) -> dict[str, CheckRate]:
    """Return the pass rates by check; checks that were never run are left out."""
    counts = rates.counts()
    return {name: CheckRate(*counts[name], estimate) for name, estimate in rates.estimates().items()}
