"""Labels: a verdict, a choice, a type of error, or a verdict that follows from checked claims.

For claims, `paper` reads the check of each in the form that Factored Verification's prompt prescribes (section A.1.3),
a line "Supported: Yes" or "Supported: No". For types of error, in `paper`, the reply without surrounding white space
must be one of the English names of the types, in any case, after the prompt in appendix C of HalluVerse25, which asks
for the class and nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Len, MinLen

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import UNPARSED, Answer
from halu_tasks.scorers.classification import (
    FIGURES,
    NO_LABEL,
    Unparsed,
    balanced_acc,
    both_right,
    label_metric,
    macro_metric,
    pairs_of,
)
from halu_tasks.scorers.columns import Column, Columns
from halu_tasks.scorers.gold import TypeGold
from halu_tasks.scorers.metrics import Metric, Terms, mean, metric, ratio, share_free_of, share_of
from halu_tasks.scorers.reading.claims import Checks, checks
from halu_tasks.scorers.reading.questions import NO, NONE, TYPES, YES, error_type
from halu_tasks.scorers.registry import Reading, TaskScorer, reading_named
from halu_tasks.scorers.score import ScoredReply, score_label
from halu_tasks.scorers.statistics.calibration import probability_metrics
from halu_tasks.text.folding import slug

# --- a label out of a set ---------------------------------------------------------------------------------

Labels = Annotated[Sequence[str], MinLen(2)] | Annotated[Mapping[str, str], MinLen(2)]
Endings = Annotated[Sequence[str], Len(2, 2)]


def verdict_scorer(
    reading: str | Reading,
    labels: Labels,
    pairs: Endings | None = None,
    orders: Endings | None = None,
    unparsed: Unparsed = "miss",
) -> TaskScorer:
    """Score whether the label that a reply states is the target.

    Args:
        reading: The reading that reads the label from the reply, as a name or a function.
        labels: The labels, or a mapping of the labels to the names that metrics of a class use. The first one is the
            positive class.
        pairs: The endings, after a slash, of the ids of the two items of a pair, for `acc_pair`.
        orders: The endings of the ids of the two orders of one question, for `acc_consistent` and `flip_rate`.
        unparsed: How a reply without a label counts in the metrics of a class: as a `miss` of its target's class, as
            the `wrong_label`, or not at all (`ignored`).

    Returns:
        A scorer with the metrics

        - `acc`;
        - `precision`, `recall` and `f1` of the first label, and `precision_NAME` and so on of each named label;
        - `balanced_acc`, the mean of the labels' recalls, for which unparsed replies are misses;
        - `precision_macro`, `recall_macro` and `f1_macro`, for which unparsed replies are one more label, as in
            scikit-learn, and `f1_macro_labels`, for which they are misses;
        - `position_bias`, which is -1 to 1, if there are `orders` or the labels are positions, such as A and B; all
            others are 0 to 1;
        - those of probabilities, pairs and orders.

    Raises:
        ValueError: An argument is invalid.
    """
    read = reading_named(reading)
    names = dict(labels) if isinstance(labels, Mapping) else dict.fromkeys(labels, "")
    first = next(iter(names))
    # the metrics of the first label have no label in their names
    classes = [(first, ""), *((label, f"_{slug(name)}") for label, name in names.items() if name)]
    metrics = [
        mean("acc", "correct", "share of items answered with the target"),
        *(label_metric(each, label, each + end, unparsed=unparsed) for label, end in classes for each in FIGURES),
        *(macro_metric(figure, list(names), f"{figure}_macro", unparsed_is_label=True) for figure in FIGURES),
        macro_metric("f1", list(names), "f1_macro_labels", unparsed_is_label=False),
        balanced_acc(lambda target: [target == label for label in names], lambda correct: correct),
    ]
    if orders or _are_positions(names):
        metrics.append(position_bias(first))
    if pairs:
        metrics.append(both_right("acc_pair", pairs))
    if orders:
        metrics += [both_right("acc_consistent", orders, requires_option="both_orders"), flip_rate(orders)]
    metrics += [*probability_metrics(first), share_of(UNPARSED)]
    return TaskScorer(lambda item, reply, _: score_label(item, read(reply)), tuple(metrics), {"correct"})


def _are_positions(labels: Iterable[str]) -> bool:
    letters = "".join(labels).upper()
    return letters in ("ABCDEFGHIJ"[: len(letters)], "123456789"[: len(letters)])


def position_bias(first: str) -> Metric:
    """Create the share of the first label among answers minus its share among their targets, -1 to 1.

    Replies without an answer count in neither share: they would change it if their targets are not balanced.
    """
    about = f"share of {first} among the answers minus its share among the targets of these replies; 0 is no bias"

    @metric(form="sums", about=about, higher_is_better=None, range=(-1.0, 1.0))
    def position_bias(answer: Column, target: Column) -> Terms:
        answered = answer != NO_LABEL
        return 1.0 * (answer == first) - (answered & (target == first)), answered

    return position_bias


def flip_rate(orders: Sequence[str]) -> Metric:
    """Create the share (0 to 1) of the questions answered in both orders whose answer changes with the order."""
    about = "share of the questions answered in both orders whose answer changes with the order"

    @metric(form="sums", about=about, higher_is_better=False, requires_option="both_orders")
    def flip_rate(row: Column, part: Column, answer: Column, correct: Column) -> Terms:
        first, second = pairs_of(row, part, orders)
        flipped, both = np.zeros((2, len(row)))
        both[first] = (answer[first] != NO_LABEL) & (answer[second] != NO_LABEL)
        # the same choice is right in both orders or wrong in both
        flipped[first] = both[first] * (correct[first] != correct[second])
        return flipped, both

    return flip_rate


# --- wrong labels as hallucinations (C-FAITH, section 4.2) ------------------------------------------------

RATE = mean("hallucination_rate", "hallucinated", "share of items answered incorrectly", higher_is_better=False)
ACC = share_free_of("acc", "hallucinated", "share of items answered correctly, 1 - hallucination_rate")


def hallucination_rate_scorer(reading: str | Reading, of_truth: bool = False) -> TaskScorer:
    """Score an answer that is a label; each wrong label is a hallucination.

    Args:
        reading: The reading that reads the label from the reply, as a name or a function.
        of_truth: Whether the labels are True and False, the verdicts on a given answer. Errors are then false positives
            (a correct answer called wrong) or false negatives (a wrong one called correct).

    Returns:
        A scorer with the metrics `hallucination_rate` (0 to 1, lower is better) and `acc`, 1 minus the rate, and, with
        `of_truth`, also `false_negative_rate`, `false_positive_rate` and `balanced_error_rate`, the mean of both.
    """
    read = reading_named(reading)

    def score(item: Item, reply: str, verdicts: object) -> ScoredReply:
        answer = read(reply)
        wrong = {"hallucinated": float(answer.value != item.target)}
        if of_truth:
            wrong["false_positive" if item.target == "True" else "false_negative"] = wrong["hallucinated"]
        return score_label(item, answer, wrong)

    about = "share of the {0} answers that are not called {0}"
    rates = (
        mean("false_negative_rate", "false_negative", about.format("wrong"), higher_is_better=False),
        mean("false_positive_rate", "false_positive", about.format("correct"), higher_is_better=False),
        balanced_error_rate,
    )
    facts = {"correct", "hallucinated", *(("false_positive", "false_negative") if of_truth else ())}
    return TaskScorer(score, (RATE, ACC, *(rates if of_truth else ()), share_of(UNPARSED)), facts)


@metric(
    form="sums",
    about="mean of false_negative_rate and false_positive_rate",
    higher_is_better=False,
    value=lambda sums: (ratio(sums[..., :2]) + ratio(sums[..., 2:])) / 2,
)
def balanced_error_rate(false_negative: Column, false_positive: Column) -> Terms:
    """Return the sums of both rates."""
    return false_negative, ~np.isnan(false_negative), false_positive, ~np.isnan(false_positive)


# --- types of errors (HalluVerse25, section 5) ------------------------------------------------------------


def _type_of(item: Item[TypeGold], reply: str) -> Answer[str]:
    """Read the type of error that a reply names; `none` is no answer unless the item's question offers it."""
    answer = error_type(reply)
    if answer.value == NONE and NONE not in item.gold.types:
        return Answer(None, "names no type")
    return answer


def _type_alone(item: Item[TypeGold], reply: str) -> Answer[str]:
    word = reply.strip().casefold()
    return Answer(word) if word in item.gold.types else Answer(None, "not one class alone")


def _is_or_lacks(columns: Columns, name: str) -> Column:
    """Say of each item whether it is of a type, or of a question that does not offer the type."""
    return np.asarray((columns["target"] == name) | np.isnan(columns[f"as_{name}"]))


def _confusion(target: str, answer: str) -> Metric:
    return mean(
        f"rate_{target}_as_{answer}",
        f"as_{answer}",
        f"share of the items of type {target} that are answered {answer}",
        higher_is_better=False,
        within=(("type", target),),
        requires_option="with_zero" if NONE in (target, answer) else None,
    )


def error_type_scorer(alone: bool = False) -> TaskScorer:
    """Score the type of error that a reply names.

    Args:
        alone: Whether the reply must be the English name of a type and nothing else (`paper`).

    Returns:
        A scorer with the metrics `acc`, `f1_macro`, and `rate_TYPE_as_OTHER`, the share of the items of one type that
        are answered with another one. All are 0 to 1.
    """
    read = _type_alone if alone else _type_of

    def score(item: Item[TypeGold], reply: str, verdicts: object) -> ScoredReply:
        answer = read(item, reply)
        return score_label(item, answer, {f"as_{each}": float(answer.value == each) for each in item.gold.types})

    f1 = macro_metric("f1", TYPES, "f1_macro", unparsed_is_label=False)
    # a type that a question does not offer, such as `none`, needs no items with it
    f1 = replace(
        f1,
        classes=lambda columns: [_is_or_lacks(columns, each) for each in TYPES],
        inputs=(*f1.inputs, *(f"as_{each}" for each in TYPES)),
    )
    metrics = (
        mean("acc", "correct", "share of items whose type is named"),
        f1,
        *(_confusion(target, answer) for target in TYPES for answer in TYPES if target != answer),
        share_of(UNPARSED),
    )
    return TaskScorer(score, metrics, {"correct", *(f"as_{each}" for each in TYPES)}, gold=TypeGold)


# --- checked claims (Factored Verification, section 2.2) --------------------------------------------------

KINDS = ("right", "hallucinated")
"""The tags of the two summaries of a row, with which the ids of their items end."""
_SUPPORTED = re.compile(r"^Supported: (Yes|No)\b", re.MULTILINE)


def claims_verdict(reply: str) -> Answer[str]:
    """Read whether a summary hallucinates according to the checks of claims that a reply lists."""
    return _verdict(checks(reply))


def _verdict(checks: Checks) -> Answer[str]:
    """Combine the checks of claims into a verdict on the summary.

    One unsupported claim makes the summary hallucinated, since the product of probabilities that are 0 or 1 is then 0.
    It is right only if all claims have been checked.
    """
    if not checks.checked:
        return checks.none
    if not all(checks.checked):
        return Answer(YES)
    if checks.unchecked:
        return Answer(None, f"{checks.unchecked} claims without a check")
    return Answer(NO)


def claims_scorer(published: bool = False) -> TaskScorer:
    """Score the checks of claims that a reply lists; a summary hallucinates if one of its claims is not supported.

    Args:
        published: Whether checks must have the form prescribed by the paper's prompt (`paper`).

    Returns:
        A scorer with the metrics of `verdict` for the labels Yes and No, the mean number of `claims`, and the mean
        share (0 to 1) of claims that are `supported`.
    """

    def score(item: Item, reply: str, verdicts: object) -> ScoredReply:
        listed = Checks([check == YES for check in _SUPPORTED.findall(reply)]) if published else checks(reply)
        counts = {}
        if listed.checked:
            counts["claims"] = float(len(listed.checked) + listed.unchecked)
            counts["supported"] = sum(listed.checked) / len(listed.checked)
        return score_label(item, _verdict(listed), counts)

    labels = verdict_scorer("checked_claims", (YES, NO), pairs=KINDS)
    claims = mean("claims", "claims", "mean number of claims", higher_is_better=None, range=(0.0, math.inf))
    supported = mean("supported", "supported", "mean share of the claims that are supported", higher_is_better=None)
    facts = {*labels.facts, "claims", "supported"}
    return replace(labels, score=score, metrics=(*labels.metrics, claims, supported), facts=facts)
