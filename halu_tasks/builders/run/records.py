"""What a build records in Inspect's logs, under the metadata key `BUILD`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from halu_tasks.builders.pipeline import Failure

BUILD = "halu_build"
"""Metadata key: of a log for a `BuildRecord`, of a sample for a `DocumentRecord`, of an output for an
`outcomes.Outcome`, of a score for a `ScoreRecord`."""


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """What a log says about its build.

    Attributes:
        settings: The pipeline's settings; `builder` is its name.
        documents: Name of the file or folder of documents.
        documents_sha256: Checksum of a file of documents; None for a folder.
        part: The part of the documents, such as `0/4`; None for all.
        options: The options that the user specified.
    """

    settings: Mapping[str, Any]
    documents: str
    documents_sha256: str | None
    part: str | None
    options: Mapping[str, Any]

    @classmethod
    def from_metadata(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_metadata` returned."""
        settings = dict(record)
        return cls(
            documents=settings.pop("documents"),
            documents_sha256=settings.pop("documents_sha256"),
            part=settings.pop("part"),
            options=settings.pop("options"),
            settings=settings,
        )

    def to_metadata(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {
            **self.settings,
            "documents": self.documents,
            "documents_sha256": self.documents_sha256,
            "part": self.part,
            "options": self.options,
        }

    def difference(self, other: BuildRecord) -> str | None:
        """Return the name of a value in which two records of the same build differ; None if there is none."""
        mine, others = self.to_metadata(), other.to_metadata()
        return next((key for key in mine if key != "part" and others.get(key) != mine[key]), None)


@dataclass(frozen=True)
class DocumentRecord:
    """What a sample says about its document besides id and text.

    Attributes:
        fields: The document's fields; empty if it is refused.
        licence: The licence that it states.
        refused: Why it is refused; None if it is not.
    """

    fields: Mapping[str, Any]
    licence: str
    refused: Failure | None

    @classmethod
    def from_metadata(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_metadata` returned."""
        return cls(record["fields"], record["licence"], Failure(*record["refused"]) if record["refused"] else None)

    def to_metadata(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        refused = list(self.refused) if self.refused else None
        return {"fields": self.fields, "licence": self.licence, "refused": refused}


class ScoreRecord(NamedTuple):
    """What the score of a document counts.

    Attributes:
        refused: Why the document was refused; None if it was not.
        drafts: The number of its drafts.
        kept: The number of drafts an item was kept of.
        counts: For each rate, the number of drafts that passed and of those that were checked.
        cost: The cost of the model calls by measure; None if there were none.
    """

    refused: Failure | None
    drafts: int
    kept: int
    counts: Mapping[str, Sequence[int]]
    cost: Mapping[str, float] | None

    @classmethod
    def from_metadata(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_metadata` returned."""
        refused = Failure(*record["refused"]) if record["refused"] else None
        return cls(refused, record["drafts"], record["kept"], record["counts"], record["cost"])

    def to_metadata(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {**self._asdict(), "refused": list(self.refused) if self.refused else None}
