"""The scorer `verdict`: replies that state one label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.classification import (
    NO_LABEL,
    Figure,
    Unparsed,
    both_right,
    label_metric,
    macro_metric,
    pairs_of,
    score_label,
)
from halu_tasks.scorers.metrics import Metric, Terms, mean, metric, share_unparsed
from halu_tasks.scorers.registry import Reading, TaskScorer, reading_named
from halu_tasks.scorers.statistics.calibration import probability_metrics

Column = npt.NDArray[Any]

_FIGURES: tuple[Figure, ...] = ("precision", "recall", "f1")


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
    """Create the metrics of the first label, which have no label in their names, and of each that has a name."""
    classes = [(next(iter(names)), ""), *((label, f"_{name}") for label, name in names.items() if name)]
    return [
        label_metric(figure, label, figure + ending, unparsed=unparsed)
        for label, ending in classes
        for figure in _FIGURES
    ]


def position_bias(first: str) -> Metric:
    """Create the share of the first label among answers minus its share among their targets, -1 to 1.

    Replies without an answer count in neither share: they would change it if their targets are not balanced.
    """
    about = f"share of {first} among the answers minus its share among the targets of these replies; 0 is no bias"

    @metric(about=about, higher_is_better=None, range=(-1.0, 1.0))
    def position_bias(answer: Column, target: Column) -> Terms:
        answered = answer != NO_LABEL
        return 1.0 * (answer == first) - (answered & (target == first)), answered

    return position_bias


def _of_orders(orders: tuple[str, str]) -> tuple[Metric, Metric]:
    """Create `acc_consistent`, the share (0 to 1) of questions answered right in both orders, and `flip_rate`."""

    @metric(
        about="share of the questions answered in both orders whose answer changes with the order",
        higher_is_better=False,
        requires_option="both_orders",
    )
    def flip_rate(row: Column, part: Column, answer: Column, correct: Column) -> Terms:
        first, second = pairs_of(row, part, orders)
        flipped, both = np.zeros((2, len(row)))
        both[first] = (answer[first] != NO_LABEL) & (answer[second] != NO_LABEL)
        # the same choice is right in both orders or wrong in both
        flipped[first] = both[first] * (correct[first] != correct[second])
        return flipped, both

    return both_right("acc_consistent", orders, requires_option="both_orders"), flip_rate
