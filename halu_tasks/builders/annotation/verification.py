"""Annotating what a verifier is worth: parts of drafts as generated and as verified (C-FAITH, Table 2).

People judge a sample of each part of the drafts (of HaluAgent: answers, hallucinated answers, labels), once out of all
drafts and once out of those in the dataset. They do not see which part passed the verifier.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from halu_tasks.builders.annotation.annotation import Agreement, Annotation, AnnotatorSummary, LabelShare
from halu_tasks.builders.annotation.doccano import ITEM, Annotator, fingerprint
from halu_tasks.builders.pipeline import Part
from halu_tasks.builders.quality.sampling import hash_of

GENERATED, VERIFIED = ARMS = "generated", "verified"
"""All drafts, and those in the dataset."""


class Sampled(NamedTuple):
    """A part of a draft that annotators judge.

    Attributes:
        document: The id of its document.
        arms: The samples that it belongs to.
        fingerprint: The `fingerprint` of the text that annotators see.
    """

    document: str
    arms: tuple[str, ...]
    fingerprint: str


@dataclass
class _Arm:
    """The parts of one kind with the smallest hashes, out of a stream."""

    most: int
    heap: list[tuple[int, str]] = field(default_factory=list)
    parts: dict[str, Part] = field(default_factory=dict)
    seen: int = 0

    def add(self, rank: int, part: Part) -> None:
        self.seen += 1
        self.parts[part.id] = part
        heapq.heappush(self.heap, (-rank, part.id))
        if len(self.heap) > self.most:
            _, dropped = heapq.heappop(self.heap)
            del self.parts[dropped]


class PartSample:
    """A sample of the parts of drafts; holds no more than the sample in memory.

    Args:
        kinds: The kinds of parts.
        most: The number of parts of each kind to sample, from all drafts and from the dataset.
        seed: The seed of the sample.
    """

    def __init__(self, kinds: Sequence[str], most: int, seed: int) -> None:
        self.kinds, self.most, self.seed = kinds, most, seed
        self._arms = {(kind, arm): _Arm(most) for kind in kinds for arm in ARMS}

    def add(self, part: Part, *, in_dataset: bool) -> None:
        """Add a part of a draft."""
        # the same order in both samples, so that a part of both is judged once
        rank = hash_of(self.seed, part.kind, part.id)
        self._arms[part.kind, GENERATED].add(rank, part)
        if part.verified and in_dataset:
            self._arms[part.kind, VERIFIED].add(rank, part)

    def population(self, kind: str) -> dict[str, int]:
        """Return the number of parts of a kind that were sampled from, by arm."""
        return {arm: self._arms[kind, arm].seen for arm in ARMS}

    def sampled(self, kind: str) -> dict[str, Sampled]:
        """Return the sampled parts of a kind by id."""
        parts = self._parts(kind)
        return {
            id: Sampled(
                part.document,
                tuple(arm for arm in ARMS if id in self._arms[kind, arm].parts),
                fingerprint(shown_text(part)),
            )
            for id, part in parts.items()
        }

    def tasks(self, kind: str) -> list[dict[str, Any]]:
        """Return the rows of a kind to import into doccano, in the order of their hashes."""
        parts = self._parts(kind)
        return [{"text": shown_text(part), "label": [], ITEM: id} for id, part in parts.items()]

    def _parts(self, kind: str) -> dict[str, Part]:
        parts = {id: part for arm in ARMS for id, part in self._arms[kind, arm].parts.items()}
        return dict(sorted(parts.items(), key=lambda entry: (hash_of(self.seed, kind, entry[0]), entry[0])))


def shown_text(part: Part) -> str:
    """Return what annotators see of a part: its texts under their names."""
    return "\n\n".join(f"[{name}]\n{text}" for name, text in part.shown.items())


class ArmResult(NamedTuple):
    """What annotators found in a sample of parts of one kind.

    Attributes:
        items: The number of parts in the sample.
        labelled: The number of those with labels of two annotators or more.
        right: The number and share of those that the majority finds right.
        agreement: The agreement of annotators.
    """

    items: int
    labelled: int
    right: LabelShare | None
    agreement: Agreement

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        right = self.right and {"n": self.right.n, "share": self.right.share and self.right.share._asdict()}
        agreement = self.agreement.to_json()
        return {"items": self.items, "labelled": self.labelled, "right": right, "agreement": agreement}


@dataclass(frozen=True)
class VerificationReport:
    """What a verifier is worth, as in Table 2 of the paper.

    Attributes:
        kinds: For each kind of part, the result of each arm.
        annotators: For each kind of part, its annotators.
    """

    kinds: Mapping[str, Mapping[str, ArmResult]]
    annotators: Mapping[str, Sequence[AnnotatorSummary]]

    @classmethod
    def of(
        cls, sampled: Mapping[str, Mapping[str, Sampled]], annotators: Mapping[str, Sequence[Annotator]], right: str
    ) -> Self:
        """Combine annotators' labels by majority.

        Args:
            sampled: The sampled parts by kind and id.
            annotators: The annotators by kind.
            right: The label of a part that is right.

        Raises:
            UsageError: Fewer than two annotators have labels.
        """
        kinds = {
            kind: {arm: _result(sampled[kind], arm, given, right) for arm in ARMS} for kind, given in annotators.items()
        }
        return cls(kinds, {kind: [AnnotatorSummary.of(each) for each in given] for kind, given in annotators.items()})

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "kinds": {
                kind: {arm: result.to_json() for arm, result in arms.items()} for kind, arms in self.kinds.items()
            },
            "annotators": {kind: [each._asdict() for each in given] for kind, given in self.annotators.items()},
        }


def _result(sampled: Mapping[str, Sampled], arm: str, annotators: Iterable[Annotator], right: str) -> ArmResult:
    """Return what annotators found in one arm."""
    clusters = {id: part.document for id, part in sampled.items() if arm in part.arms}
    annotation = Annotation(list(annotators), clusters)
    report = annotation.report()
    labelled = sum(len(annotation.of(id)) >= annotation.least for id in clusters)
    shares = report.labels
    return ArmResult(len(clusters), labelled, shares.get(right), report.agreement)
