"""A judge's errors, and the rates that it measures corrected for them.

They are estimated from a table of replies with better labels (people's, a stronger judge's or a second annotator's), or
follow from an assumed sensitivity and specificity. A label is about one verdict on one reply, so it is only used for
this reply, which it names by its text, or by the item's id alone if the item was answered once.

With labels, the verdicts are divided into strata by what the judge said, and each stratum counts as the labelled ones
of it do. This post-stratified estimate is the prediction-powered one (Angelopoulos and others 2023) with the mean of a
stratum's labels as the prediction. How many of a stratum are labelled makes no difference, so labels may be drawn by
what the judge said. A reply with several verdicts is drawn as a whole; therefore those beside a reported hallucination
are a stratum of their own. Without labels, an assumed sensitivity and specificity give the rate of Rogan and Gladen
(1978). Each estimate is a function of sums over clusters, and its error comes from `metrics.estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.core.options import Assumption
from halu_tasks.scorers.columns import Array, Columns
from halu_tasks.scorers.judge import FAILED, JudgeSpec
from halu_tasks.scorers.metrics import Metric, Strata, Terms, mean, ratio
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.agreement import kappa_of_sums
from halu_tasks.scorers.statistics.jackknife import SumFunction


class VerdictLabel(NamedTuple):
    """A better label of a verdict.

    Attributes:
        id: The item's id.
        claim: The part of the reply, as in `Verdict.about`; empty if the reply has one verdict.
        reply: The reply that was labelled, as `Score.answer` keeps it; None if the table does not say.
        value: From 0, no hallucination, to 1, a hallucination; between them if annotators disagree.
        by: Who gave it; empty if the table does not say.
        labels: The share of the annotators who gave each label of the judge; empty if one did not name a label, but
            said yes or no, which may leave open which label is right.
    """

    id: str
    claim: str
    reply: str | None
    value: float
    by: str = ""
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


JUDGE_ERRORS = ("judge_sensitivity", "judge_specificity", "judge_kappa")
"""The figures of the judge's errors, which every task that labels correct reports."""
GIVEN = "labels_given"
"""The fact that says how many labels a file has, of all replies."""
LABELS = "labels"
"""The fact that says how many verdicts on a reply have labels."""
FACTS = (
    *("verdicts", "verdicts_read", "verdicts_positive"),
    *(GIVEN, LABELS),
    *(f"assumed_{rate}_{end}" for rate in ("sensitivity", "specificity") for end in ("low", "high")),
)
"""The measurements that `with_judge_errors` adds to the scores of every judged task."""
_NUMBER, _LABELLED, _BAD = "said_", "labelled_", "bad_of_"
"""What the facts of a kind of verdicts begin with: their number, that of labels, and the sum of the labels' values."""
_BETTER = "reference_"


def label_facts(judge_spec: JudgeSpec) -> set[str]:
    """Return the names of all measurements that `with_judge_errors` adds."""
    return {
        *FACTS,
        *_columns_of_kinds(judge_spec.kinds),
        *(_BETTER + measurement for measurement in judge_spec.measurements),
    }


def with_judge_errors(
    score: ScoredReply, judge_spec: JudgeSpec, reference: ReferenceLabels | None, assumed: Assumption | None
) -> ScoredReply:
    """Add what labels or assumptions say of the judge's errors to a judged score.

    Args:
        score: The score, with the judge's verdicts.
        judge_spec: What the judge was asked.
        reference: Better labels, if there are any.
        assumed: What is assumed of the judge, if anything.

    Returns:
        The score with the measurements that corrected rates sum up; the same score if no judge was asked.
    """
    if not judge_spec.positive or not (score.verdicts or judge_spec.measurement in score.facts):
        return score
    read = [
        (verdict.about, verdict.label in judge_spec.positive) for verdict in score.verdicts if verdict.label != FAILED
    ]
    positive = sum(is_positive for _, is_positive in read)
    counts: dict[str, float] = {"verdicts": len(score.verdicts), "verdicts_read": len(read)}
    counts["verdicts_positive"] = positive
    if reference:
        counts |= _of_labels(score, judge_spec, reference, bool(positive))
    if assumed and assumed.sensitivity and assumed.specificity:
        for name, ends in (("sensitivity", assumed.sensitivity), ("specificity", assumed.specificity)):
            counts |= {f"assumed_{name}_low": ends[0], f"assumed_{name}_high": ends[1]}
    earlier = label_facts(judge_spec) if reference else ()  # of other labels, with which a run was scored
    facts = {name: value for name, value in score.facts.items() if name not in earlier or name.startswith("assumed_")}
    return replace(score, facts={**facts, **{name: float(count) for name, count in counts.items()}})


def _of_labels(
    score: ScoredReply, judge_spec: JudgeSpec, reference: ReferenceLabels, is_reported: bool
) -> dict[str, float]:
    counts: dict[str, float] = {GIVEN: len(reference), LABELS: 0}
    for verdict in score.verdicts:
        if (kind := judge_spec.kind(verdict.label, is_reported)) is None:
            continue
        label = None if verdict.label == FAILED else reference.of_verdict(score, verdict.about)
        numbers = (1.0, 1.0, label.value) if label else (1.0, 0.0, 0.0)
        for begin, number in zip((_NUMBER, _LABELLED, _BAD), numbers, strict=True):
            counts[begin + kind] = counts.get(begin + kind, 0.0) + number
        counts[LABELS] += label is not None
        if label and reference.name_labels:  # a reply with further measurements has one verdict
            for name, values in judge_spec.measurements.items():
                counts[_BETTER + name] = sum(
                    share * values[name_of_label] for name_of_label, share in label.labels.items()
                )
    return counts


def unlabelled_kinds(judge_spec: JudgeSpec, scores: Sequence[ScoredReply]) -> dict[str, int]:
    """Return the number of verdicts of each kind of which none has a label; failed ones cannot have any."""
    of_kinds = {
        kind: [sum(score.facts.get(begin + kind, 0.0) for score in scores) for begin in (_NUMBER, _LABELLED)]
        for kind in judge_spec.kinds
        if kind != FAILED
    }
    return {kind: round(number) for kind, (number, labelled) in of_kinds.items() if number and not labelled}


def _same_reply(labelled: str, answer: str | list[str] | None) -> bool:
    """Return whether a label is of a reply, of which scores keep the beginning."""
    beginning = squeezed(answer if isinstance(answer, str) else "\n".join(answer or ()))
    return squeezed(labelled).removesuffix("…").startswith(beginning.removesuffix("…")) if beginning else not labelled


# --- corrected rates --------------------------------------------------------------------------------------


def rogan_gladen(share: Array, sensitivity: Array, specificity: Array) -> Array:
    """Compute the true share from the share that a judge with known errors calls positive; not confined to 0 to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((share + specificity - 1) / (sensitivity + specificity - 1))


def judge_error_metrics(rate: str, judge_spec: JudgeSpec, top: float = 1.0) -> tuple[Metric, ...]:
    """Create the corrected figures of a rate, and the judge's errors.

    Args:
        rate: The name of the rate, the mean of `JudgeSpec.measurement` over replies.
        judge_spec: What the judge is asked.
        top: The highest possible value of the rate; may be infinite.

    Returns:
        `<rate>_ppi`, `judge_sensitivity`, `judge_specificity` and `judge_kappa`, which need a reference, and
        `<rate>_assumed_low` and `…_high`, which need an assumed sensitivity and specificity.
    """
    # a more sensitive judge misses less, and a less specific one reports more that is not there
    low, high = (_assumed(rate, judge_spec.measurement, top, *ends) for ends in (("low", "high"), ("high", "low")))
    raw = mean(rate, judge_spec.measurement, higher_is_better=False, range=(0.0, top))
    return corrected(raw, judge_spec), *_errors(judge_spec), low, high


@dataclass(frozen=True)
class Corrected:
    """The terms of the estimate of a metric that is a mean over replies, by labels of some verdicts.

    Attributes:
        metric: The metric, by the judge's verdicts.
        judge_spec: What the judge is asked.
    """

    metric: Metric
    judge_spec: JudgeSpec

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""
        better = (_BETTER + name for name in self.metric.columns if name in self.judge_spec.measurements)
        return (
            *self.metric.columns,
            *better,
            self.judge_spec.measurement,
            LABELS,
            *_columns_of_kinds(self.judge_spec.kinds),
        )

    def __call__(self, columns: Columns) -> Terms:
        """Return the sums of `Strata`, and the sums of the metric by the judge."""
        items = _has_all(columns, self.judge_spec.measurement, LABELS)
        terms: list[Array] = []
        for kind, reports in self.judge_spec.kinds.items():
            number, labelled, bad = _of_kind(columns, kind)
            by_judge = self._of(columns, np.full(len(columns), float(reports)), "")
            with np.errstate(invalid="ignore"):
                by_people = self._of(columns, bad / labelled, _BETTER)
            labelled = np.where(np.isnan(by_people), 0.0, labelled)
            of_kind = number, number * by_judge, labelled, labelled * np.nan_to_num(by_people)
            terms += [np.where(items & (number > 0), term, 0.0) for term in of_kind]
        return *terms, np.where(items, self.metric.terms(columns), 0.0), items

    def _of(self, columns: Columns, bad: Array, better: str) -> Array:
        """Compute the metric of one verdict of each reply.

        Args:
            columns: The columns of the replies.
            bad: Whether it is a hallucination, from 0 to 1.
            better: What the names of the other measurements begin with.
        """

        def read(name: str) -> npt.NDArray[Any]:
            if name == self.judge_spec.measurement:
                return bad
            return columns[better + name if name in self.judge_spec.measurements else name]

        return np.asarray(self.metric.terms(Columns(read, columns.cluster, columns.clusters)), dtype=np.float64)


def corrected(metric: Metric, judge_spec: JudgeSpec) -> Metric:
    """Create the estimate of a judged metric, a mean over replies, that better labels correct, `<metric>_ppi`.

    Args:
        metric: The metric by the judge's verdicts, whose measurements are those of `judge_spec`.
        judge_spec: What the judge is asked.
    """
    bottom, top = metric.range
    strata = Strata(len(judge_spec.kinds), (bottom, min(top, 1.0)))

    def value(sums: Array) -> Array:
        _, by_judge, by_labels = strata.by_labels(sums)
        return ratio(np.stack([sums[..., -2] + (by_labels - by_judge).sum(axis=-1), sums[..., -1]], axis=-1))

    return Metric(
        f"{metric.name}_ppi",
        terms := Corrected(metric, judge_spec),
        terms.columns,
        "sums",
        f"{metric.name} corrected by the reference's labels, a prediction-powered estimate",
        higher_is_better=metric.higher_is_better,
        range=metric.range,
        value=value,
        requires_option="reference",
        within=metric.within,
        classes=_has_labels,
        strata=strata,
    )


def _of_kind(columns: Columns, kind: str) -> tuple[Array, Array, Array]:
    number, labelled, bad = (np.nan_to_num(columns[begin + kind]) for begin in (_NUMBER, _LABELLED, _BAD))
    return number, labelled, bad


def _columns_of_kinds(kinds: Iterable[str]) -> Iterator[str]:
    return (begin + kind for kind in kinds for begin in (_NUMBER, _LABELLED, _BAD))


def _has_labels(columns: Columns) -> list[npt.NDArray[np.bool_]]:
    return [columns[LABELS] > 0]


def _assumed(rate: str, measurement: str, top: float, sensitivity: str, specificity: str) -> Metric:
    """Create the rate at the end of what an assumption allows that the specificity is at."""
    end = "low" if specificity == "low" else "high"
    names = [f"assumed_sensitivity_{sensitivity}", f"assumed_specificity_{specificity}"]

    def terms(columns: Columns) -> Terms:
        has_assumption, counted = _has_all(columns, names[0]), _has_all(columns, names[0], measurement)
        return (
            *(np.where(has_assumption, columns[name], 0.0) for name in ("verdicts_positive", "verdicts_read", *names)),
            has_assumption,
            np.where(counted, columns[measurement] - columns["verdicts_positive"], 0.0),
            np.where(counted, columns["verdicts"], 0.0),
            counted,
        )

    def value(sums: Array) -> Array:
        without_judge, verdicts, replies = np.moveaxis(sums[..., -3:], -1, 0)
        share = rogan_gladen(ratio(sums), ratio(sums[..., [2, 4]]), ratio(sums[..., [3, 4]]))
        # without any verdict, there is still what needs no judge
        by_judge = np.where(verdicts > 0, share * verdicts, 0.0)
        return ratio(np.stack([without_judge + by_judge, replies], axis=-1))

    def bounds(total: Array) -> tuple[float, float]:
        # what judges make of none and of all replies, so that the interval is that of the judge's rate, corrected
        low, high = rogan_gladen(np.array([0.0, 1.0]), ratio(total[[2, 4]]), ratio(total[[3, 4]])).tolist()
        return (low, high) if math.isfinite(top) else (low * total[-2] / total[-1], top)

    return Metric(
        f"{rate}_assumed_{end}",
        terms,
        ("verdicts", "verdicts_read", "verdicts_positive", *names, measurement),
        "sums",
        f"{rate} at the {end} end of what the assumed sensitivity and specificity allow (Rogan and Gladen)",
        higher_is_better=False,
        range=(0.0, top),
        value=value,
        requires_option="assume",
        classes=lambda columns: [_has_all(columns, names[0])],
        bounds=bounds,
    )


def _has_all(columns: Columns, *names: str) -> npt.NDArray[np.bool_]:
    return np.asarray(np.all([~np.isnan(columns[name]) for name in names], axis=0), dtype=bool)


_Confusions = Callable[[Array, Array, Array, Array], "tuple[Array, Array]"]
"""Computes part and whole from the numbers of verdicts, hallucinations, reported ones, and reported hallucinations."""


def _errors(judge_spec: JudgeSpec) -> tuple[Metric, Metric, Metric]:
    """Create `judge_sensitivity`, `judge_specificity` and `judge_kappa`, in which each label stands for its kind."""
    kinds = {kind: reports for kind, reports in judge_spec.kinds.items() if kind != FAILED}
    strata, reported = Strata(len(kinds), (0.0, 1.0), is_linear=False), np.array([*kinds.values()])

    def terms(columns: Columns) -> Terms:
        has_labels = _has_all(columns, LABELS)
        terms = []
        for kind, reports in kinds.items():
            number, *by_labels = _of_kind(columns, kind)
            terms += [np.where(has_labels, term, 0.0) for term in (number, number * reports, *by_labels)]
        return tuple(terms)

    def confusions(sums: Array) -> tuple[Array, Array, Array, Array]:
        verdicts, by_judge, by_labels = strata.by_labels(sums)
        return *(each.sum(axis=-1) for each in (verdicts, by_labels, by_judge)), by_labels[..., reported].sum(axis=-1)

    def share(part_and_whole: _Confusions) -> SumFunction:
        return lambda sums: ratio(np.stack(part_and_whole(*confusions(sums)), axis=-1))

    def kappa(sums: Array) -> Array:
        n, bad, says, both = confusions(sums)
        return kappa_of_sums(np.stack([n, n - bad - says + 2 * both, bad, says, n - bad, n - says], axis=-1))

    def error(name: str, about: str, value: SumFunction, bottom: float = 0.0) -> Metric:
        return Metric(
            name,
            terms,
            (LABELS, *_columns_of_kinds(kinds)),
            "sums",
            about,
            range=(bottom, 1.0),
            value=value,
            requires_option="reference",
            classes=_has_labels,
            strata=strata,
        )

    sensitivity, specificity, cohen = JUDGE_ERRORS
    return (
        error(
            sensitivity,
            "of what the reference calls a hallucination, the share that the judge calls one",
            share(lambda n, bad, says, both: (both, bad)),
        ),
        error(
            specificity,
            "of everything else, the share that the judge does not call a hallucination",
            share(lambda n, bad, says, both: (n - bad - says + both, n - bad)),
        ),
        error(cohen, "Cohen's kappa of the judge and the reference", kappa, -1.0),
    )
