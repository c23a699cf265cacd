"""The samples that a build drafts before it works on all documents (FactCHD, section 4.2).

Enough of them must be consistent. Their outcomes count in the build: the documents are not asked about again.

gate/00000.jsonl   documents that were sampled; a further file if more samples were requested later
gate/logs/         Inspect's logs, a folder per file
gate/result.json   the result (`GateResult`)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Gate, Pipeline
from halu_tasks.builders.run.folder import Folder
from halu_tasks.builders.run.inspect_logs import build_logs, outcomes
from halu_tasks.builders.run.outcomes import Outcome

RESULT = "result.json"


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """The result of a gate: the content of `gate/result.json`.

    Attributes:
        samples: The number of documents of each group that were requested; 0 if the gate was skipped.
        share: The required share of consistent drafts.
        groups: For each group, the number of consistent drafts and of all.
        reasons: Failures of the other drafts by `check: reason`; a draft may have several.
    """

    samples: int
    share: float
    groups: Mapping[str, tuple[int, int]]
    reasons: Mapping[str, int]

    @property
    def consistent(self) -> int:
        """The number of consistent drafts."""
        return sum(consistent for consistent, _ in self.groups.values())

    @property
    def drafts(self) -> int:
        """The number of drafts."""
        return sum(drafts for _, drafts in self.groups.values())

    @property
    def required(self) -> str:
        """The required share in percent."""
        return f"{self.share * 100:g}%"

    @property
    def passed(self) -> bool:
        """Whether enough drafts are consistent; a skipped gate is passed."""
        return not self.drafts or self.consistent / self.drafts >= self.share

    def describe(self) -> str:
        """Describe the result without a verdict."""
        groups = ", ".join(
            f"{name + ' ' if name else ''}{consistent} of {drafts}"
            for name, (consistent, drafts) in self.groups.items()
        )
        rate = f" ({self.consistent / self.drafts:.1%})" if self.drafts else ""
        return f"{self.consistent} of {self.drafts} sampled drafts are consistent{rate}: {groups or 'no documents'}"

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        groups = {name: (counts[0], counts[1]) for name, counts in record["groups"].items()}
        return cls(samples=record["samples"], share=record["share"], groups=groups, reasons=record["reasons"])

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        groups = {name: list(counts) for name, counts in self.groups.items()}
        return {"samples": self.samples, "share": self.share, "groups": groups, "reasons": dict(self.reasons)}


def judged(pipeline: Pipeline, gate: Gate, documents: Iterable[Document], results: Mapping[str, Outcome]) -> GateResult:
    """Return the result of sampled documents.

    Args:
        pipeline: The pipeline.
        gate: What the drafts have to pass.
        documents: The documents.
        results: Their outcomes by id.
    """
    consistent, drafts, reasons = Counter[str](), Counter[str](), Counter[str]()
    for document in documents:
        group = pipeline.sampled_as(document)
        for draft in results[document.id].drafts:
            faults = {f"{check}: {reason}" for check, reason, _ in draft.failures if check in gate.checks}
            drafts[group] += 1
            consistent[group] += not faults
            reasons.update(faults)
    groups = {group: (consistent[group], drafts[group]) for group in sorted(drafts)}
    ordered = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
    return GateResult(samples=gate.samples, share=gate.share, groups=groups, reasons=dict(ordered))


def sampled(folder: Folder, samples: int) -> list[Document]:
    """Return the documents that a gate samples: the first of each group that can be used, in the order of the build.

    Args:
        folder: The build.
        samples: Maximum number of documents of each group.
    """
    pipeline = folder.pipeline
    chosen, counts = [], Counter[str]()
    for part in folder.numbers:
        for document in pipeline.documents(folder.documents(part)):
            group = pipeline.sampled_as(document)
            if counts[group] < samples and pipeline.refuse(document) is None:
                counts[group] += 1
                chosen.append(document)
    return chosen


def files_of(gate: Path) -> Sequence[Path]:
    """Return the files of sampled documents in the folder of a gate, in the order in which they were written."""
    return sorted(gate.glob("*.jsonl"))


def logs_of(file: Path) -> Path:
    """Return the folder of the logs of a file of sampled documents."""
    return file.parent / "logs" / file.stem


def replays(gate: Path) -> dict[str, Outcome]:
    """Return the outcomes of the documents that a gate has sampled, by id; empty if there are none.

    Raises:
        DataError: A log is damaged.
    """
    files = files_of(gate)
    return {outcome.document: outcome for file in files for outcome in outcomes(build_logs(logs_of(file)))}
