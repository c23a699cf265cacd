"""What this package keeps in the metadata of Inspect's samples and outputs, as typed records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspect_ai.solver import TaskState
from pydantic import BaseModel, ConfigDict

from halu_tasks.core.errors import UsageError
from halu_tasks.scorers.methods import Opinions
from halu_tasks.tasks import Task, TaskReference


class SampleMetadata(BaseModel):
    """What scorers and methods read of a sample of this package.

    Metadata hold more than this: the fields that the prompt shows, and for spans `text` and `spans`, so that solvers
    and scorers for users' own samples run on these samples too.

    Attributes:
        task: The task's name.
        id: The item's id.
        cluster: The item's cluster.
        gold: What the scorer needs besides the target.
        tags: What results can be split by.
        reference_task: For a derived task, the packaged task that it comes from.
        overrides: For a derived task, the keys of its file that differ.
        choices: The two labels of a task that can be answered by a probability, the one looked for first.
        weighed: Whether a probability is asked for.
        group: The group that the sample is run in.
    """

    model_config = ConfigDict(frozen=True)

    task: str
    id: str
    cluster: str
    gold: dict[str, Any]
    tags: dict[str, str]
    reference_task: str | None = None
    overrides: dict[str, Any] | None = None
    choices: tuple[str, ...] | None = None
    weighed: bool = False
    group: str | None = None

    @classmethod
    def of(cls, state: TaskState) -> SampleMetadata | None:
        """Return the metadata of a sample of this package; None for a sample of another one."""
        return state.metadata_as(cls) if state.metadata.keys() >= _REQUIRED else None

    @classmethod
    def required_of(cls, state: TaskState) -> SampleMetadata:
        """Return the metadata of a sample of this package.

        Raises:
            UsageError: The sample is of another package.
        """
        if own := cls.of(state):
            return own
        raise UsageError(
            f"sample {state.sample_id!r} is not of a halu_tasks task; for samples of your own use a named scorer or "
            "solver such as halu_tasks/iou or halu_tasks/comparative"
        )

    @property
    def reference(self) -> TaskReference:
        """The reference to the sample's task."""
        return TaskReference(self.task, self.reference_task, self.overrides or {})

    @property
    def benchmark_task(self) -> Task:
        """The sample's task.

        Raises:
            UsageError: The task does not exist any more.
        """
        return self.reference.resolve()

    def as_metadata(self) -> dict[str, Any]:
        """Convert to the entries of `Sample.metadata`; those without a value are left out."""
        return self.model_dump(exclude_defaults=True)


_REQUIRED = {name for name, field in SampleMetadata.model_fields.items() if field.is_required()}


def parts_of(state: TaskState) -> dict[str, str] | None:
    """Return what a detection method looks at, by part: `text`, `query`, `source`, `evidence`.

    In a sample of this package these are fields of its item; other samples have them as `subject` in their metadata.
    None if a sample has neither.
    """
    own = SampleMetadata.of(state)
    if own and own.benchmark_task.prompts.subject:
        return own.benchmark_task.prompts.parts_of(state.metadata)
    parts: dict[str, str] | None = state.metadata.get("subject")
    return parts


@dataclass(frozen=True, kw_only=True)
class MethodRecord:
    """What a method reports about an output besides its text, for the scorer.

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


# the key of each field in the metadata, where other packages may have entries too
_KEYS = {name: f"halu_{name}" for name in ("method", "probability", "reason", "counts", "draft", "steps", "opinions")}
