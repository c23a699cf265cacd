"""What is known of a judge's errors: a table of replies with better labels, or an assumption.

The labels are people's, a stronger judge's or a second annotator's. All become measurements of a score, from which
`statistics.judge_error` computes figures. A label is about one verdict on one reply, so it is only used for this reply,
which it names by its text, or by the item's id alone if the item was answered once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from halu_tasks.core.options import Assumption
from halu_tasks.scorers.judge import FAILED, JudgeSpec
from halu_tasks.scorers.score import Score

FEWEST = 30
"""The least number of labels at which a corrected rate has an interval."""


class VerdictLabel(NamedTuple):
    """A better label of a verdict.

    Attributes:
        id: The item's id.
        claim: The part of the reply, as in `Verdict.about`; empty if the reply has one verdict.
        reply: The reply that was labelled, as `Score.answer` keeps it; None if the table does not say.
        value: From 0, no hallucination, to 1, a hallucination; between them if annotators disagree.
        by: Who gave it; empty if the table does not say.
        weight: 1 / the probability with which the reply was drawn.
    """

    id: str
    claim: str
    reply: str | None
    value: float
    by: str = ""
    weight: float = 1.0


@dataclass(frozen=True)
class ReferenceLabels:
    """The labels of a table.

    Attributes:
        hash: A short hash of the labels, which versions show.
        labels: The labels by item and part; several if they are of different replies.
    """

    hash: str
    labels: Mapping[tuple[str, str], tuple[VerdictLabel, ...]]

    @classmethod
    def of(cls, hash: str, labels: Iterable[VerdictLabel]) -> ReferenceLabels:
        """Collect labels, of which several may be of the same part if they are of different replies."""
        parts: dict[tuple[str, str], tuple[VerdictLabel, ...]] = {}
        for label in labels:
            key = label.id, squeezed(label.claim)
            parts[key] = (*parts.get(key, ()), label)
        return cls(hash, parts)

    def __len__(self) -> int:
        return sum(map(len, self.labels.values()))

    @property
    def by(self) -> list[str]:
        """Those who gave labels."""
        return sorted({label.by for labels in self.labels.values() for label in labels if label.by})

    def of_verdict(self, score: Score, claim: str) -> VerdictLabel | None:
        """Return the label of a part of a reply; None if it has none."""
        for label in self.labels.get((score.id, squeezed(claim)), ()):
            if label.reply is None or _same_reply(label.reply, score.answer):
                return label
        return None


def squeezed(text: str) -> str:
    """Return a text with single spaces: tables and people change line ends."""
    return " ".join(text.split())


def with_known_error(
    score: Score, judged: JudgeSpec, reference: ReferenceLabels | None, assumed: Assumption | None
) -> Score:
    """Add to a judged score what is known of the judge's errors.

    Args:
        score: The score, with the judge's verdicts.
        judged: What the judge was asked.
        reference: Better labels, if there are any.
        assumed: What is assumed of the judge, if anything.

    Returns:
        The score with the measurements that `statistics.judge_error` sums up; the same score if no judge was asked.
    """
    if judged.positive is None or not (score.verdicts or judged.measurement in score.measurements):
        return score
    read = [verdict for verdict in score.verdicts if verdict.label != FAILED]
    positive = sum(verdict.label == judged.positive for verdict in read)
    counts: dict[str, float] = {"verdicts": len(score.verdicts), "verdicts_read": len(read)}
    counts["verdicts_positive"] = positive
    if reference:
        pairs = [(reference.of_verdict(score, v.about), v.label == judged.positive) for v in read]
        known = [(label, said) for label, said in pairs if label]
        counts |= {
            "labels": len(known),
            "label_weight": sum(label.weight for label, _ in known),
            "label_positive": sum(label.weight * label.value for label, _ in known),
            "labelled_positive": sum(label.weight * said for label, said in known),
            "both_positive": sum(label.weight * label.value * said for label, said in known),
        }
        if known and judged.measurement in score.measurements:
            # what needs no judge, and what the labels say of the parts that were judged
            share = sum(label.value for label, _ in known) / len(known)
            counts["reference"] = score.measurements[judged.measurement] - positive + share * len(score.verdicts)
            counts["reference_weight"] = max(label.weight for label, _ in known)
    if assumed and assumed.sensitivity and assumed.specificity:
        for name, ends in (("sensitivity", assumed.sensitivity), ("specificity", assumed.specificity)):
            counts |= {f"assumed_{name}_low": ends[0], f"assumed_{name}_high": ends[1]}
    measurements = {**score.measurements, **{name: float(count) for name, count in counts.items()}}
    return replace(score, measurements=measurements)


def _same_reply(labelled: str, answer: str | list[str] | None) -> bool:
    """Return whether a label is of a reply, of which scores keep the beginning."""
    kept = squeezed(answer if isinstance(answer, str) else "\n".join(answer or ()))
    return squeezed(labelled).removesuffix("…").startswith(kept.removesuffix("…")) if kept else not labelled
