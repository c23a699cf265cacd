"""Entries of a report: models as they were asked, and their labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run


@dataclass(frozen=True)
class Entry:
    """A model as it was asked, which is compared with others across tasks.

    `settings` and `roles` are those of its runs that differ from the tasks' own. The judge is not part of an entry.
    """

    model: str
    harness: str
    method: str
    settings: tuple[tuple[str, str], ...]
    roles: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, run: Run) -> Entry:
        """Return the entry that a run belongs to."""
        return cls(
            model=run.model,
            harness=run.harness.rpartition(" ")[0] or run.harness,
            method=run.method,
            settings=tuple(sorted((name, str(value)) for name, value in run.settings.items())),
            roles=tuple(sorted((role, model) for role, model in run.roles.items() if role != "grader")),
        )

    def order(self) -> tuple[Any, ...]:
        """Return a key that sorts entries by their models, ignoring case."""
        return self.model.casefold(), self.model, self.harness, self.method, self.settings, self.roles

    def distinctions(self) -> list[str]:
        """List what may distinguish this entry from another one of the same model."""
        return [
            self.harness,
            *([] if self.method in (PLAIN, METHOD_UNKNOWN) else [self.method]),
            *(f"{name}={value}" for name, value in (*self.roles, *self.settings)),
        ]


def labels_of(entries: Iterable[Entry]) -> dict[Entry, str]:
    """Label each entry with its model's name, followed by what distinguishes it if the model has several entries."""
    entries = list(entries)
    labels = {}
    for entry in entries:
        same_model = [other for other in entries if other.model == entry.model]
        distinct = [
            text for text in entry.distinctions() if not all(text in other.distinctions() for other in same_model)
        ]
        labels[entry] = f"{entry.model} ({', '.join(distinct)})" if distinct else entry.model
    return labels
