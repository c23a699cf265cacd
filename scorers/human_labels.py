"""People's labels of what a judge judged, a stronger judge's verdicts on it, and assumptions about the judge.

All of them become measurements of a score.

`statistics.judge_error` computes figures from these measurements. A label is about one verdict on one reply, so it is
only used for this reply, which it names by its text, or by the item's id alone if the item was answered once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from halu_tasks.scorers.reading.judge import FAILED, JudgeSpec
from halu_tasks.scorers.score import Score

FEWEST = 30
"""The least number of labels at which an estimate from labels has an interval."""


class Reference(NamedTuple):
    """The measurements that compare a judge with a reference, which labels some of its verdicts.

    Attributes:
        labels: The number of labels.
        positive: The number of positive ones.
        judged_positive: The number of labelled verdicts that are positive.
        both_positive: The number of those whose label is positive, too.
    """

    labels: str
    positive: str
    judged_positive: str
    both_positive: str


HUMAN = Reference("human_labels", "human_positive", "labelled_positive", "both_positive")
STRONG = Reference("strong_labels", "strong_positive", "strong_judged_positive", "strong_both_positive")
"""A stronger judge, whose verdicts stand for labels."""


class HumanLabel(NamedTuple):
    """What a person said of a reply, or of a part of it.

    Attributes:
        id: The item's id.
        about: The part of the reply, as in `Verdict.about`; empty if the reply has one verdict.
        reply: The reply that the person saw, as `Score.answer` keeps it; None if the label does not say.
        hallucinated: Whether it is a hallucination.
    """

    id: str
    about: str
    reply: str | None
    hallucinated: bool


@dataclass(frozen=True)
class HumanLabels:
    """The labels of a file.

    Attributes:
        hash: A short hash of the labels, which versions show.
        labels: The labels by item and part; several if they are of different replies.
    """

    hash: str
    labels: Mapping[tuple[str, str], tuple[HumanLabel, ...]]

    @property
    def number(self) -> int:
        """The number of labels."""
        return sum(map(len, self.labels.values()))

    @property
    def ids(self) -> set[str]:
        """The ids of the items that have a label."""
        return {id for id, _ in self.labels}

    def of_verdict(self, score: Score, about: str) -> bool | None:
        """Return whether people call a part of a reply a hallucination; None if it has no label."""
        for label in self.labels.get((score.id, squeezed(about)), ()):
            if label.reply is None or _same_reply(label.reply, score.answer):
                return label.hallucinated
        return None


class AssumedJudge(NamedTuple):
    """An assumption about a judge: the lowest and the highest value of its sensitivity and of its specificity."""

    sensitivity: tuple[float, float]
    specificity: tuple[float, float]


def squeezed(text: str) -> str:
    """Return a text with single spaces: tables and people change line ends."""
    return " ".join(text.split())


def labels_by_part(hash: str, labels: Iterable[HumanLabel]) -> HumanLabels:
    """Collect labels, of which several may be of the same part if they are of different replies."""
    parts: dict[tuple[str, str], tuple[HumanLabel, ...]] = {}
    for label in labels:
        key = label.id, squeezed(label.about)
        parts[key] = (*parts.get(key, ()), label)
    return HumanLabels(hash, parts)


def with_judge_error(
    score: Score,
    judged: JudgeSpec,
    labels: HumanLabels | None,
    assumed: AssumedJudge | None,
    *,
    strong: bool = False,
) -> Score:
    """Add to a judged score what is known of the judge's errors.

    Args:
        score: The score, with the judge's verdicts.
        judged: What the judge was asked.
        labels: People's labels, if there are any.
        assumed: What is assumed of the judge, if anything.
        strong: Whether a stronger judge was named, which need not have been asked about this reply.

    Returns:
        The score with the measurements that `statistics.judge_error` sums up; the same score if no judge was asked.
    """
    if judged.positive is None or not (score.verdicts or judged.measurement in score.measurements):
        return score
    read = [verdict for verdict in score.verdicts if verdict.label != FAILED]
    measurements = {
        "verdicts": float(len(score.verdicts)),
        "verdicts_read": float(len(read)),
        "verdicts_positive": float(sum(verdict.label == judged.positive for verdict in read)),
    }
    if labels:
        pairs = [
            (human, verdict.label == judged.positive)
            for verdict in read
            if (human := labels.of_verdict(score, verdict.about)) is not None
        ]
        measurements |= _counted(pairs, HUMAN)
    if strong:
        both = zip(score.strong_verdicts, score.verdicts, strict=True) if score.strong_verdicts else ()
        pairs = [
            (stronger.label == judged.positive, verdict.label == judged.positive)
            for stronger, verdict in both
            if FAILED not in (stronger.label, verdict.label)
        ]
        measurements |= _counted(pairs, STRONG)
        measurements["strong_failed"] = float(sum(verdict.label == FAILED for verdict in score.strong_verdicts))
    if assumed:
        for name, ends in assumed._asdict().items():
            measurements |= {f"assumed_{name}_low": ends[0], f"assumed_{name}_high": ends[1]}
    return replace(score, measurements={**score.measurements, **measurements})


def _counted(pairs: Sequence[tuple[bool, bool]], names: Reference) -> dict[str, float]:
    """Count pairs of what the reference and the judge call a hallucination."""
    return {
        names.labels: float(len(pairs)),
        names.positive: float(sum(reference for reference, _ in pairs)),
        names.judged_positive: float(sum(judge for _, judge in pairs)),
        names.both_positive: float(sum(reference and judge for reference, judge in pairs)),
    }


def _same_reply(labelled: str, answer: str | list[str] | None) -> bool:
    """Return whether a label is of a reply, of which scores keep the beginning."""
    kept = squeezed(answer if isinstance(answer, str) else "\n".join(answer or ()))
    return squeezed(labelled).removesuffix("…").startswith(kept.removesuffix("…")) if kept else not labelled
