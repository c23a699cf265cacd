"""What is known of a judge's errors, and the rates that it measures corrected for them.

What is known is a table of replies with better labels, which are people's, a stronger judge's or a second annotator's,
or an assumed sensitivity and specificity. A label is about one verdict on one reply, so it is only used for this reply,
which it names by its text, or by the item's id alone if the item was answered once.

With labels, the rate is the prediction-powered estimate of Angelopoulos, Duchi and Zrnic (PPI++, 2023) of the mean
value of an item: the labels say how far the judge is off, its verdicts on everything else make the estimate precise,
and a factor λ, chosen for the least variance, says how much they count. A reply counts as often as it stands for
others, 1 / the probability with which it was drawn. Without labels, an assumed sensitivity and specificity give the
rate of Rogan and Gladen (1978). Each estimate is a function of sums over clusters, λ included, so its error is that of
`metrics.estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.core.options import Assumption
from halu_tasks.scorers.columns import Array, Column, Columns
from halu_tasks.scorers.judge import FAILED, JudgeSpec
from halu_tasks.scorers.metrics import Metric, Terms, mean, metric, ratio
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.agreement import kappa_of_sums
from halu_tasks.scorers.statistics.intervals import BELOW

FEWEST = 30
"""The least number of labels at which a corrected rate has an interval."""
_ROUNDING = 1e-9
"""A share up to this is a rounding error."""


class VerdictLabel(NamedTuple):
    """A better label of a verdict.

    Attributes:
        id: The item's id.
        claim: The part of the reply, as in `Verdict.about`; empty if the reply has one verdict.
        reply: The reply that was labelled, as `Score.answer` keeps it; None if the table does not say.
        value: From 0, no hallucination, to 1, a hallucination; between them if annotators disagree.
        by: Who gave it; empty if the table does not say.
        weight: 1 / the probability with which the reply was drawn.
        labels: The share of the annotators who gave each label of the judge; empty if one did not name a label, but
            said yes or no, which may leave open which label is right.
    """

    id: str
    claim: str
    reply: str | None
    value: float
    by: str = ""
    weight: float = 1.0
    labels: Mapping[str, float] = {}


@dataclass(frozen=True)
class ReferenceLabels:
    """The labels of a table.

    Attributes:
        hash: A short hash of the labels, which versions show.
        labels: The labels by item and part; several if they are of different replies.
        name_labels: Whether all of them name labels of the judge. If some only say yes or no, what is known of single
            labels is no random part of the replies.
    """

    hash: str
    labels: Mapping[tuple[str, str], tuple[VerdictLabel, ...]]
    name_labels: bool = False

    @classmethod
    def of(cls, hash: str, labels: Iterable[VerdictLabel]) -> ReferenceLabels:
        """Collect labels, of which several may be of the same part if they are of different replies."""
        parts: dict[tuple[str, str], tuple[VerdictLabel, ...]] = {}
        for label in labels:
            key = label.id, squeezed(label.claim)
            parts[key] = (*parts.get(key, ()), label)
        return cls(hash, parts, all(label.labels for of_part in parts.values() for label in of_part))

    def __len__(self) -> int:
        return sum(map(len, self.labels.values()))

    def of_verdict(self, score: ScoredReply, claim: str) -> VerdictLabel | None:
        """Return the label of a part of a reply; None if it has none."""
        for label in self.labels.get((score.id, squeezed(claim)), ()):
            if label.reply is None or _same_reply(label.reply, score.answer):
                return label
        return None


def squeezed(text: str) -> str:
    """Return a text with single spaces: tables and people change line ends."""
    return " ".join(text.split())


GIVEN = "labels_given"
"""The fact that says how many labels a file has, of all replies."""
FACTS = (
    *("verdicts", "verdicts_read", "verdicts_positive"),
    GIVEN,
    *("labels", "label_weight", "label_positive", "labelled_positive", "both_positive"),
    *("reference", "reference_weight"),
    *(f"assumed_{rate}_{end}" for rate in ("sensitivity", "specificity") for end in ("low", "high")),
)
"""The measurements that `with_known_error` adds to the scores of every judged task."""
_BETTER = "reference_"


def reference_facts(measurements: Iterable[str]) -> set[str]:
    """Return the names of all measurements that `with_known_error` adds, given `JudgeSpec.measurements`."""
    return {*FACTS, *(_BETTER + measurement for measurement in measurements)}


def with_known_error(
    score: ScoredReply, judged: JudgeSpec, reference: ReferenceLabels | None, assumed: Assumption | None
) -> ScoredReply:
    """Add to a judged score what is known of the judge's errors.

    Args:
        score: The score, with the judge's verdicts.
        judged: What the judge was asked.
        reference: Better labels, if there are any.
        assumed: What is assumed of the judge, if anything.

    Returns:
        The score with the measurements that corrected rates sum up; the same score if no judge was asked.
    """
    if not judged.positive or not (score.verdicts or judged.measurement in score.facts):
        return score
    read = [(verdict.about, verdict.label in judged.positive) for verdict in score.verdicts if verdict.label != FAILED]
    positive = sum(said for _, said in read)
    counts: dict[str, float] = {"verdicts": len(score.verdicts), "verdicts_read": len(read)}
    counts["verdicts_positive"] = positive
    if reference:
        known = [(label, said) for claim, said in read if (label := reference.of_verdict(score, claim))]
        counts |= {
            GIVEN: len(reference),
            "labels": len(known),
            "label_weight": sum(label.weight for label, _ in known),
            "label_positive": sum(label.weight * label.value for label, _ in known),
            "labelled_positive": sum(label.weight * said for label, said in known),
            "both_positive": sum(label.weight * label.value * said for label, said in known),
        }
        if known and judged.measurement in score.facts:
            # what needs no judge, and what the labels say of the parts that were judged
            share = sum(label.value for label, _ in known) / len(known)
            counts["reference"] = score.facts[judged.measurement] - positive + share * len(score.verdicts)
            counts["reference_weight"] = max(label.weight for label, _ in known)
            if reference.name_labels:
                said = known[0][0].labels  # a reply with further measurements has one verdict
                for name, values in judged.measurements.items():
                    counts[_BETTER + name] = sum(share * values[label] for label, share in said.items())
    if assumed and assumed.sensitivity and assumed.specificity:
        for name, ends in (("sensitivity", assumed.sensitivity), ("specificity", assumed.specificity)):
            counts |= {f"assumed_{name}_low": ends[0], f"assumed_{name}_high": ends[1]}
    earlier = reference_facts(judged.measurements) if reference else ()  # of other labels, with which a run was scored
    kept = {name: value for name, value in score.facts.items() if name not in earlier or name.startswith("assumed_")}
    return replace(score, facts={**kept, **{name: float(count) for name, count in counts.items()}})


def drawn_otherwise(scores: Sequence[ScoredReply]) -> str | None:
    """Say why labels cannot be a random part of a run's verdicts, by their weights; None if they can be one.

    They cannot if the judge calls more or fewer of the labelled verdicts a hallucination than of all, by six standard
    errors, which leaves room for verdicts on the same reply.
    """
    names = "labels", "label_weight", "labelled_positive", "verdicts_read", "verdicts_positive"
    labels, weight, labelled, read, positive = (sum(score.facts.get(name, 0.0) for score in scores) for name in names)
    if not 0 < labels < read:
        return None
    squared = sum(s.facts["label_weight"] ** 2 / s.facts["labels"] for s in scores if s.facts.get("labels"))
    share, equal = positive / read, weight**2 / squared  # as many labels of equal weight (Kish)
    if abs(labelled / weight - share) <= 6 * math.sqrt(share * (1 - share) / equal * (1 - labels / read)):
        return None
    of_labelled, advice = "labelled verdicts", "add a column `weight`, 1 / the probability of being drawn"
    if weight != labels:
        of_labelled = "weighted labelled verdicts"
        advice = "label all that were drawn, or correct `weight`, 1 / the probability of being drawn"
    return (
        f"the judge calls {labelled / weight:.0%} of the {of_labelled} a hallucination, and {share:.0%} of all, so "
        f"the labels are no random part of them: {advice}"
    )


def _same_reply(labelled: str, answer: str | list[str] | None) -> bool:
    """Return whether a label is of a reply, of which scores keep the beginning."""
    kept = squeezed(answer if isinstance(answer, str) else "\n".join(answer or ()))
    return squeezed(labelled).removesuffix("…").startswith(kept.removesuffix("…")) if kept else not labelled


# --- corrected rates --------------------------------------------------------------------------------------


def ppi_mean(items: Array, sums: Array, labelled: Array, weighted: Array) -> Array:
    """Compute the prediction-powered mean, with the power-tuned λ between 0 and 1 (PPI++).

    Args:
        items: The number of items.
        sums: The sums of the judge's values and of their squares over all items, shape (2, …).
        labelled: The number of items with a better value, y.
        weighted: The sums of the weights of these items, and with these weights of y, of the judge's value f, and of
            y·f, shape (4, …).

    Returns:
        The means, NaN where no item is labelled. They are not confined to the range of the values.
    """
    weight, y, f, both = weighted
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums[0] / items
        variance = (sums[1] / items - mean**2) * items / (items - 1)
        covariance = both / weight - (y / weight) * (f / weight)
        others = (items - labelled) / items
        tuned = np.clip(np.where(variance > 0, covariance / variance * others, 0.0), 0.0, 1.0)
        # the mean of the other items minus that of the labelled ones
        difference = np.where(others > 0, (mean - f / weight) / np.where(others > 0, others, 1.0), 0.0)
        return np.asarray(np.where(labelled > 0, y / weight + tuned * difference, np.nan))


def rogan_gladen(share: Array, sensitivity: Array, specificity: Array) -> Array:
    """Compute the true share from the share that a judge with known errors calls positive; not confined to 0 to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((share + specificity - 1) / (sensitivity + specificity - 1))


def judge_error_metrics(rate: str, measurement: str, top: float = 1.0) -> tuple[Metric, ...]:
    """Create the corrected figures of a rate, and the judge's errors.

    Args:
        rate: The name of the rate, the mean of `measurement` over replies.
        measurement: The number of hallucinations of a reply: those that the judge reports, one for each positive
            verdict, and those that need no judge.
        top: The highest possible value of the rate; may be infinite.

    Returns:
        `<rate>_ppi`, `judge_sensitivity`, `judge_specificity` and `judge_kappa`, which need a reference, and
        `<rate>_assumed_low` and `…_high`, which need an assumed sensitivity and specificity.
    """
    # a more sensitive judge misses less, and a less specific one reports more that is not there
    low, high = (_assumed(rate, measurement, top, *ends) for ends in (("low", "high"), ("high", "low")))
    judged = mean(rate, measurement, higher_is_better=False, range=(0.0, top))
    return corrected(judged, measurement), judge_sensitivity, judge_specificity, judge_kappa, low, high


_OF_CORRECTED = 11
"""The number of sums from which `Corrected` computes its value; those that follow say on what its error rests."""


@dataclass(frozen=True)
class Corrected:
    """The terms of the prediction-powered estimate of a metric that is a mean over replies.

    Attributes:
        metric: The metric, by the judge's verdicts.
        measurement: The measurement that counts hallucinations (`JudgeSpec.measurement`).
    """

    metric: Metric
    measurement: str

    def judged(self, columns: Columns) -> npt.NDArray[np.bool_]:
        """Return which replies have verdicts that labels may correct."""
        return _known(columns, self.measurement, "labels") & (columns["verdicts"] > 0)

    def __call__(self, columns: Columns) -> Terms:
        """Return what `ppi_mean` sums up."""
        f = np.asarray(self.metric.terms(columns), dtype=np.float64)
        y = np.asarray(self.metric.terms(self._by_reference(columns)), dtype=np.float64)
        items, own = _known(columns, self.measurement, "labels"), self.judged(columns)
        labelled, weight = own & ~np.isnan(y), columns["reference_weight"]
        return (
            np.where(own, columns["labels"], 0.0),
            items,
            np.where(items & ~own, f, 0.0),
            own,
            *(np.where(own, term, 0.0) for term in (f, f**2)),
            labelled,
            *(np.where(labelled, term, 0.0) for term in (weight, weight * y, weight * f, weight * y * f)),
            *(np.where(own, term, 0.0) for term in judge_kappa.terms(columns)),
        )

    def _by_reference(self, columns: Columns) -> Columns:
        """Return the columns with what the better labels say in the place of what the judge says."""

        def read(name: str) -> npt.NDArray[Any]:
            return columns["reference" if name == self.measurement else _BETTER + name]

        return Columns(read, columns.cluster, columns.clusters)


def corrected(metric: Metric, measurement: str) -> Metric:
    """Create the estimate of a judged metric, a mean over replies, that better labels correct, `<metric>_ppi`.

    Args:
        metric: The metric by the judge's verdicts, whose measurements are in `JudgeSpec.measurement` or
            `JudgeSpec.measurements`.
        measurement: The measurement that counts hallucinations.
    """
    terms, (bottom, top) = Corrected(metric, measurement), metric.range

    def uncut(sums: Array) -> Array:
        _, items, without_judge, judged, *others = np.moveaxis(sums[..., :_OF_CORRECTED], -1, 0)
        mean = ppi_mean(judged, np.array(others[:2]), others[2], np.array(others[3:]))
        return ratio(np.stack([without_judge + mean * judged, items], axis=-1))

    return Metric(
        f"{metric.name}_ppi",
        terms,
        f"{metric.name} corrected by the reference's labels, the prediction-powered estimate (PPI++)",
        higher_is_better=metric.higher_is_better,
        range=metric.range,
        value=lambda sums: np.clip(uncut(sums), bottom, top),
        requires_option="reference",
        within=metric.within,
        classes=lambda columns: [terms.judged(columns) & (columns["labels"] > 0)],
        observations=lambda total: _observations_of_misses(total[_OF_CORRECTED:]),
        bounds=lambda total: metric.range if total[0] >= FEWEST and bottom <= float(uncut(total)) <= top else None,
    )


def _assumed(rate: str, measurement: str, top: float, sensitivity: str, specificity: str) -> Metric:
    """Create the rate at one end of what an assumption allows; the end of the rate is that of the specificity."""
    end = "low" if specificity == "low" else "high"
    names = [f"assumed_sensitivity_{sensitivity}", f"assumed_specificity_{specificity}"]

    def terms(columns: Columns) -> Terms:
        known, counted = _known(columns, names[0]), _known(columns, names[0], measurement)
        return (
            *(np.where(known, columns[name], 0.0) for name in ("verdicts_positive", "verdicts_read", *names)),
            known,
            np.where(counted, columns[measurement] - columns["verdicts_positive"], 0.0),
            np.where(counted, columns["verdicts"], 0.0),
            counted,
        )

    def value(sums: Array) -> Array:
        without_judge, verdicts, replies = np.moveaxis(sums[..., -3:], -1, 0)
        share = rogan_gladen(ratio(sums), ratio(sums[..., [2, 4]]), ratio(sums[..., [3, 4]]))
        # without any verdict, there is still what needs no judge
        judged = np.where(verdicts > 0, share * verdicts, 0.0)
        return ratio(np.stack([without_judge + judged, replies], axis=-1))

    def bounds(total: Array) -> tuple[float, float]:
        # what judges make of none and of all replies, so that the interval is that of the judge's rate, corrected
        low, high = rogan_gladen(np.array([0.0, 1.0]), ratio(total[[2, 4]]), ratio(total[[3, 4]])).tolist()
        return (low, high) if math.isfinite(top) else (low * total[-2] / total[-1], top)

    return Metric(
        f"{rate}_assumed_{end}",
        terms,
        f"{rate} at the {end} end of what the assumed sensitivity and specificity allow (Rogan and Gladen)",
        higher_is_better=False,
        range=(0.0, top),
        value=value,
        requires_option="assume",
        classes=lambda columns: [_known(columns, names[0])],
        bounds=bounds,
    )


def _known(columns: Columns, *names: str) -> npt.NDArray[np.bool_]:
    """Return which items have all of some measurements."""
    return np.asarray(np.all([~np.isnan(columns[name]) for name in names], axis=0), dtype=bool)


def _equal_observations(
    right: float, whole: float, same: float, same_squared: float, other: float, other_squared: float
) -> float:
    """Compute on how many observations that count alike a judge's sensitivity or specificity rests at most.

    The labels that would show an error of the judge may count far more than those that show it right: where half are of
    replies that it reports, a miss would be among few labels of which each stands for many others. If none was drawn,
    nor would it be if as many were missed as were found. If all labels are right, or none is, the number is that of as
    many as leave as much room for what was not drawn.

    Args:
        right: The weight of labels by which the judge is right.
        whole: The weight of labels of the class.
        same: The weight of labels of the verdicts that are right for the class.
        same_squared: The sum of the squares of these weights.
        other: The weight of labels of all other verdicts.
        other_squared: The sum of the squares of these weights.
    """
    wrong = whole - right
    if min(right, wrong) > _ROUNDING * whole:
        return math.inf
    weight, squared = (other, other_squared) if right > wrong else (same, same_squared)
    if not (weight > 0 and whole > 0):
        return math.inf
    # the largest share of these verdicts of which none may be among as many labels, Kish's effective number
    unseen = 1 - BELOW ** (squared / weight**2)
    return math.log(BELOW) / -math.log1p(unseen * weight / whole)


def _observations_of_misses(total: Array) -> float:
    """Return on how many equal observations a corrected rate rests at most.

    There is a limit if labels of replies that the judge does not report weigh more than those of replies that it
    reports: if none of the former is a hallucination, they say little about the many replies that they stand for.
    """
    weight, positive, judge, both, _, squared, others_squared = total.tolist()
    if others_squared * judge <= squared * (weight - judge) * (1 + _ROUNDING):
        return math.inf
    return _equal_observations(both, positive, judge, squared, weight - judge, others_squared)


def _squared(weight: Array, label_weight: Array, labels: Array) -> Array:
    """Return the sum of the squares of the weights of some of the labels of replies, each of which has one weight."""
    return np.where(labels > 0, weight * label_weight / labels, 0.0)


@metric(
    about="of what the reference calls a hallucination, the share that the judge calls one",
    requires_option="reference",
    observations=lambda total: _equal_observations(*total),
)
def judge_sensitivity(
    both_positive: Column, label_positive: Column, labelled_positive: Column, label_weight: Column, labels: Column
) -> Terms:
    """Divide what both call a hallucination by what the reference calls one; the other terms are of its error."""
    reported, others = labelled_positive, label_weight - labelled_positive
    weights = [term for each in (reported, others) for term in (each, _squared(each, label_weight, labels))]
    return both_positive, label_positive, *weights


@metric(
    about="of everything else, the share that the judge does not call a hallucination",
    requires_option="reference",
    observations=lambda total: _equal_observations(*total),
)
def judge_specificity(
    both_positive: Column, label_positive: Column, labelled_positive: Column, label_weight: Column, labels: Column
) -> Terms:
    """Divide what neither calls a hallucination by what the reference does not call one, as `judge_sensitivity`."""
    reported, others = labelled_positive, label_weight - labelled_positive
    weights = [term for each in (others, reported) for term in (each, _squared(each, label_weight, labels))]
    return others - label_positive + both_positive, label_weight - label_positive, *weights


def _kappa(sums: Array) -> Array:
    weight, positive, judge, both, *_ = np.moveaxis(sums, -1, 0)
    agreed = weight - positive - judge + 2 * both
    return kappa_of_sums(np.stack([weight, agreed, positive, judge, weight - positive, weight - judge], axis=-1))


def _agree_on_both(weight: float, positive: float, judge: float, both: float) -> bool:
    return both > 0 and weight - positive - judge + both > 1e-9


def _observations_of_both(total: Array) -> float:
    weight, positive, judge, both, _, squared, others_squared = total.tolist()
    reported, others = (judge, squared), (weight - judge, others_squared)
    return min(
        _equal_observations(both, positive, *reported, *others),
        _equal_observations(weight - judge - positive + both, weight - positive, *others, *reported),
    )


@metric(
    about="Cohen's kappa of the judge and the reference",
    requires_option="reference",
    range=(-1.0, 1.0),
    value=_kappa,
    classes=lambda label_weight, label_positive, labelled_positive: [
        own for positive in (label_positive, labelled_positive) for own in (positive > 0, label_weight > positive)
    ],
    observations=_observations_of_both,
    bounds=lambda total: (-1.0, 1.0) if total[4] >= FEWEST and _agree_on_both(*total[:4]) else None,
)
def judge_kappa(
    label_weight: Column, label_positive: Column, labelled_positive: Column, both_positive: Column, labels: Column
) -> Terms:
    """Return the sums of weights from which `_kappa` computes it, and those of their squares for its error."""
    squares = (_squared(each, label_weight, labels) for each in (labelled_positive, label_weight - labelled_positive))
    return label_weight, label_positive, labelled_positive, both_positive, labels, *squares


JUDGE_ERRORS = tuple(metric.name for metric in (judge_sensitivity, judge_specificity, judge_kappa))
"""The figures of the judge's errors, which every task that is corrected by labels reports."""
