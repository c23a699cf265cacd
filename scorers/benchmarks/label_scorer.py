"""The scorer `verdict`: replies that state one label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from halu_tasks.scorers.classification import (
    Unparsed,
    both_right,
    label_metric,
    macro_metric,
    pairs_of,
    score_label,
)
from halu_tasks.scorers.metrics import Metric, mean, ratio, share_unparsed
from halu_tasks.scorers.registry import Reading, TaskScorer, reading_named
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import probability_metrics

_FIGURES: tuple[Literal["precision", "recall", "f1"], ...] = ("precision", "recall", "f1")


def verdict_scorer(
    reading: str | Reading,
    labels: Sequence[str] | Mapping[str, str],
    pairs: Sequence[str] | None = None,
    orders: Sequence[str] | None = None,
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
        - `precision_macro`, `recall_macro` and `f1_macro`, for which unparsed replies are one more label, as in
            scikit-learn, and `f1_macro_labels`, for which they are misses;
        - `position_bias`, which is -1 to 1; all others are 0 to 1;
        - those of probabilities, pairs and orders.

    Raises:
        ValueError: An argument is invalid.
    """
    read = reading_named(reading)
    if unparsed not in get_args(Unparsed):
        raise ValueError(f"unparsed: expected {', '.join(get_args(Unparsed))}, got {unparsed!r}")
    names = dict(labels) if isinstance(labels, Mapping) else dict.fromkeys(labels, "")
    if len(names) < 2 or not all(isinstance(label, str) for label in names):
        raise ValueError(f"labels: expected two or more strings, got {labels!r} (quote True, False, Yes and No)")
    return TaskScorer(
        lambda item, reply, _: score_label(item.id, item.cluster, item.target, read(reply), item.tags),
        (
            mean("acc", "correct", "share of items answered with the target"),
            *_of_classes(names, unparsed),
            *(macro_metric(figure, list(names), f"{figure}_macro", unparsed_is_label=True) for figure in _FIGURES),
            macro_metric("f1", list(names), "f1_macro_labels", unparsed_is_label=False),
            position_bias(next(iter(names))),
            *([both_right("acc_pair", _two("pairs", pairs))] if pairs else []),
            *(_of_orders(_two("orders", orders)) if orders else []),
            *probability_metrics(next(iter(names))),
            share_unparsed(),
        ),
    )


def _two(argument: str, endings: Sequence[str]) -> tuple[str, str]:
    if isinstance(endings, str) or len(endings) != 2:
        raise ValueError(f"{argument}: expected two endings of ids, got {endings!r}")
    return endings[0], endings[1]


def _of_classes(names: Mapping[str, str], unparsed: Unparsed) -> list[Metric]:
    first = next(iter(names))
    positive = [label_metric(figure, first, figure, unparsed=unparsed) for figure in _FIGURES]
    named = [
        label_metric(figure, label, f"{figure}_{name}", unparsed=unparsed)
        for label, name in names.items()
        if name
        for figure in _FIGURES
    ]
    return [*positive, *named]


def position_bias(first: str) -> Metric:
    """Create the share of the first label among answers minus its share among their targets, -1 to 1.

    Replies without an answer count in neither share: they would change it if their targets are not balanced.
    """

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        answered = [s for s in scores if s.answer is not None]
        return sum(s.answer == first for s in answered) - sum(s.target == first for s in answered), len(answered)

    about = f"share of {first} among the answers minus its share among the targets of these replies; 0 is no bias"
    return Metric("position_bias", counts, ratio, higher_is_better=None, by_item=True, range=(-1.0, 1.0), about=about)


def _of_orders(orders: tuple[str, str]) -> tuple[Metric, Metric]:
    """Create `acc_consistent`, the share (0 to 1) of questions answered right in both orders, and `flip_rate`."""
    consistent = replace(both_right("acc_consistent", orders), requires_option="both_orders")
    return consistent, replace(_flip_rate(orders), requires_option="both_orders")


def _flip_rate(orders: tuple[str, str]) -> Metric:
    """Create the share (0 to 1) of questions whose answer changes with the order, of those answered in both."""

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        answered = [pair for pair in pairs_of(scores, orders) if all(s.answer is not None for s in pair)]
        # the same choice is right in both orders or wrong in both
        flipped = sum(one.measurements["correct"] != other.measurements["correct"] for one, other in answered)
        return flipped, len(answered)

    about = "share of the questions answered in both orders whose answer changes with the order"
    return Metric("flip_rate", counts, ratio, higher_is_better=False, endings=orders, about=about)
