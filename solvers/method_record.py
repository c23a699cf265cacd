"""The record that a method leaves for the scorer, in the metadata of its output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halu_tasks.scorers.methods import Opinions


@dataclass(frozen=True, kw_only=True)
class MethodRecord:
    """What a method reports about an output besides its text.

    Attributes:
        method: The name of the method; None for an output that was not made by a method.
        probability: The probability, 0 to 1, of the first of the task's two choices.
        reason: Why there is no answer; empty if there is one.
        counts: Numbers that the method counted, by name; each is reported as a mean over the items.
        draft: A first version of the reply, which is scored as well.
        steps: The intermediate steps as JSON values, for people who read the log.
        opinions: The labels that the method weighed, by role.
    """

    method: str | None = None
    probability: float | None = None
    reason: str = ""
    counts: Mapping[str, float] | None = None
    draft: str | None = None
    steps: Mapping[str, Any] | None = None
    opinions: Opinions | None = None

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any] | None) -> MethodRecord:
        """Read the record from the metadata of an output; entries of others are ignored."""
        metadata = metadata or {}
        return cls(**{name: metadata[key] for name, key in _KEYS.items() if key in metadata})

    def to_metadata(self) -> dict[str, Any]:
        """Convert to entries of an output's metadata, without those that have no value."""
        values = {key: getattr(self, name) for name, key in _KEYS.items() if name != "reason" or self.reason}
        return {key: value for key, value in values.items() if value is not None}


_KEYS = {name: f"halu_{name}" for name in ("method", "probability", "reason", "counts", "draft", "steps", "opinions")}
"""The key of each field in the metadata, where other packages may have entries too."""
