"""Entries: what is compared across tasks, and what it is called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from halu_tasks.runs import PLAIN, UNTOLD, Run


@dataclass(frozen=True)
class Entry:
    """What is compared: a model as it was asked. `settings` and `roles` are those of its runs that are not the
    tasks' own; the judge is no part of it."""

    model: str
    harness: str
    method: str
    settings: tuple[tuple[str, str], ...]
    roles: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, run: Run) -> Entry:
        return cls(
            model=run.model,
            harness=run.harness.rpartition(" ")[0] or run.harness,
            method=run.method,
            settings=tuple(sorted((name, str(value)) for name, value in run.settings.items())),
            roles=tuple(sorted((role, model) for role, model in run.roles.items() if role != "grader")),
        )

    def order(self) -> tuple[Any, ...]:
        return self.model.casefold(), self.model, self.harness, self.method, self.settings, self.roles

    def told(self) -> list[str]:
        """What may set it apart from another entry of the same model."""
        return [
            self.harness,
            *([] if self.method in (PLAIN, UNTOLD) else [self.method]),
            *(f"{name}={value}" for name, value in (*self.roles, *self.settings)),
        ]


def labels_of(entries: Iterable[Entry]) -> dict[Entry, str]:
    """Each entry's name: its model's, with what sets it apart where a model has several entries."""
    entries = list(entries)
    found = {}
    for entry in entries:
        alike = [other for other in entries if other.model == entry.model]
        own = [text for text in entry.told() if not all(text in other.told() for other in alike)]
        found[entry] = f"{entry.model} ({', '.join(own)})" if own else entry.model
    return found
