"""The result of a check."""

from __future__ import annotations

from typing import Literal, NamedTuple

from halu_tasks.core.errors import HaluTasksError, UsageError

State = Literal["ok", "warning", "failed", "not checked"]


class Check(NamedTuple):
    """The result of a check.

    Attributes:
        name: What was checked.
        state: `failed` if a run cannot succeed; `warning` if its figures may surprise; `not checked` if it is unknown.
        found: What was found, or why nothing was checked.
        advice: What to do; empty if there is nothing to do.
    """

    name: str
    state: State
    found: str
    advice: str = ""

    def require(self) -> None:
        """Raise UsageError if the check failed."""
        if self.state == "failed":
            raise UsageError("; ".join(filter(None, (f"{self.name}: {self.found}", self.advice))))


def failed(name: str, error: HaluTasksError) -> Check:
    """Return the check that an error makes a failure; what follows its first semicolon is the advice."""
    found, _, advice = str(error).partition("; ")
    return Check(name, "failed", found, advice)
