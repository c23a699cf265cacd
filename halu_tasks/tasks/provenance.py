"""What a result says of how it was made: the record that harnesses log with a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.tasks.asking import structured_decoding
from halu_tasks.tasks.derived import TaskReference
from halu_tasks.tasks.task import Decoding

_REFERENCE = tuple(own.name for own in fields(TaskReference))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a run came about: its task, data, prompt and options.

    Attributes:
        task: The task, with what a derived one changes.
        version: The task's version, followed by the tags of what sets the run apart from the published benchmark.
        scoring: The mode, `strict` or `paper`.
        data: The kind of data: `pinned`, `sample`, ….
        data_file: The name of the data file.
        data_sha256: The checksum of the data file.
        items: The number of items of the task under these options.
        prompt_hash: A hash of the prompt; None if it is not known how the model was asked.
        fewshot: The number of worked examples; None if it is not known.
        cot: Whether reasoning was asked for; None if it is not known.
        options: The values of the options that only some tasks have, by name; `judge` is one of judged tasks.
    """

    task: TaskReference
    version: str
    scoring: str
    data: str
    data_file: str
    data_sha256: str
    items: int
    prompt_hash: str | None
    fewshot: int | None = None
    cot: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Provenance:
        """Restore a provenance from a log.

        Raises:
            DataError: A value is missing or has the wrong type.
        """
        prefix = f"{record['task']}: " if "task" in record else ""
        for key, kind in _TYPES.items():
            if key not in record or not isinstance(record[key], kind):
                problem = f"{key!r} is missing or has the wrong type"
                raise DataError(f"{prefix}the record is damaged: {problem}; run the task again")
        known = {name: record[name] for name in _JSON_KEYS if name in record}
        options = {name: record[name] for name in record if name not in _JSON_KEYS and name not in _REFERENCE}
        return cls(task=TaskReference.from_json(record), options=options, **known)

    def as_json(self) -> dict[str, Any]:
        """Convert to a flat JSON object."""
        return {**self.task.as_json(), **{name: getattr(self, name) for name in _JSON_KEYS}, **self.options}

    @property
    def judge(self) -> str | None:
        """The judge that was named as an option."""
        judge: str | None = self.options.get("judge")
        return judge

    @property
    def decoding(self) -> Decoding:
        """The decoding that the task has under these options."""
        decoding = self.task.resolve().decoding
        return structured_decoding(decoding) if self.options.get("structured") else decoding

    def without_prompt(self) -> Provenance:
        """Return the provenance of replies of which it is not known how they were asked for."""
        return replace(self, prompt_hash=None, fewshot=None, cot=None)


_JSON_KEYS = tuple(own.name for own in fields(Provenance) if own.name not in ("task", "options"))
_TYPES: Mapping[str, Any] = {
    "task": str,
    "version": str,
    "scoring": str,
    "data": str,
    "data_file": str,
    "data_sha256": str,
    "items": int,
    "prompt_hash": str | None,
}
