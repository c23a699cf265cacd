"""The plan of a build, `build.json`: what is built from which documents by which models, and in how many parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from halu_tasks.data.cache import sha256_of

_KEYS: Mapping[str, type] = {
    "builder": str,
    "options": dict,
    "settings": dict,
    "models": dict,
    "source": dict,
    "documents": int,
    "parts": int,
}
"""The required keys of a plan; `files` is missing in older builds."""


class Source(NamedTuple):
    """The documents a build was started with.

    Attributes:
        name: Name of the file or folder.
        sha256: Its checksum, see `folder.digest`; None if it was not recorded, as in logs of a folder of documents.
    """

    name: str
    sha256: str | None


class PartFile(NamedTuple):
    """The number of documents in a part's file, and the file's sha256."""

    documents: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read the number of documents and the checksum of a file."""
        with path.open("rb") as lines:
            return cls(sum(1 for _ in lines), sha256_of(path))


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything that determines the replies of a build; a build can be resumed only with the same inputs.

    Attributes:
        builder: Name of the builder.
        options: The options that the user specified, without the prompt file.
        settings: The pipeline's settings, which cover every option.
        models: The models by role, with their settings.
        source: The documents.
    """

    builder: str
    options: Mapping[str, Any]
    settings: Mapping[str, Any]
    models: Mapping[str, Any]
    source: Source

    def normalized(self) -> Self:
        """Return the inputs as JSON preserves them (tuples become lists), to compare them with those of a plan."""
        options, settings, models = json.loads(json.dumps([self.options, self.settings, self.models]))
        return replace(self, options=options, settings=settings, models=models)

    def difference(self, other: Inputs) -> str | None:
        """Describe how `other` differs from these inputs; None if both are the same."""
        if self.builder != other.builder:
            return f"builder ({_shorten(self.builder)}, not {_shorten(other.builder)})"
        if self.source != other.source:
            return f"documents than {other.source.name} now contains"
        for old, new in ((self.settings, other.settings), (self.models, other.models)):
            # settings cover all options, including defaults that were specified explicitly
            if name := next((name for name in {**old, **new} if old.get(name) != new.get(name)), None):
                return f"{name} ({_shorten(old.get(name))}, not {_shorten(new.get(name))})"
        return None


@dataclass(frozen=True, kw_only=True)
class Plan(Inputs):
    """The plan of a build.

    Attributes:
        documents: The number of documents.
        parts: The number of parts, empty ones included.
        files: The documents of each part; None in older builds, and in builds made by collecting logs.
        refused: The number of documents that cannot be used, by reason; None if `files` is None, and in older builds.
    """

    documents: int
    parts: int
    files: tuple[PartFile, ...] | None = None
    refused: Mapping[str, int] | None = None

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read a plan from the content of `build.json`.

        Raises:
            ValueError: It is not a valid plan; the message says what is wrong.
        """
        for key, kind in _KEYS.items():
            if not isinstance(content.get(key), kind) or isinstance(content[key], bool):
                raise ValueError(f"{key!r} is {'missing' if key not in content else 'damaged'}")
        source = content["source"]
        if not isinstance(source.get("name"), str):
            raise ValueError("'source' is damaged")
        values = {key: content[key] for key in _KEYS}
        refused = content.get("refused", {})
        if not isinstance(refused, dict) or not all(isinstance(number, int) for number in refused.values()):
            raise ValueError("'refused' is damaged")
        source = Source(source["name"], source.get("sha256"))
        return cls(**{**values, "source": source}, files=_files(content), refused=content.get("refused"))

    def to_json(self) -> dict[str, Any]:
        """Return the content of `build.json`."""
        content = {key: getattr(self, key) for key in _KEYS} | {"source": self.source._asdict()}
        if self.refused is not None:
            content["refused"] = dict(self.refused)
        return content if self.files is None else {**content, "files": [file._asdict() for file in self.files]}


def _files(content: Mapping[str, Any]) -> tuple[PartFile, ...] | None:
    """Read the files of the parts; raise ValueError if they contradict the rest of the plan."""
    if "files" not in content:
        return None
    listed = content["files"] if isinstance(content["files"], list) else [None]
    files = tuple(
        PartFile(file["documents"], file["sha256"])
        for file in listed
        if isinstance(file, dict) and isinstance(file.get("documents"), int) and isinstance(file.get("sha256"), str)
    )
    complete = len(files) == len(listed) == content["parts"]
    if not complete or sum(file.documents for file in files) != content["documents"]:
        raise ValueError("'parts', 'documents' and 'files' contradict each other")
    return files


def _shorten(value: Any) -> str:
    """Format a value as JSON of at most 100 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:100] + "…"
