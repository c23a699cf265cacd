"""ReFACT's judgment tasks: scores and metrics, strict and as published (section 4.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from halu_tasks.items import Item
from halu_tasks.scorers.calibration import probability_metrics
from halu_tasks.scorers.classification import (
    Unparsed,
    both_right,
    label_metric,
    macro_metric,
    pairs_of,
    score_label,
)
from halu_tasks.scorers.metrics import Array, Metric, mean, ratio, share_unparsed
from halu_tasks.scorers.refact_published import published_pick, published_true_false
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.verdict import pick, true_false

FACTUAL, CONFABULATED = "True", "False"
ORDERS = ("original_first", "confabulated_first")


def score_independent(item: Item, reply: str) -> Score:
    return score_label(item.id, item.cluster, item.target, true_false(reply), item.tags)


def score_independent_published(item: Item, reply: str) -> Score:
    return score_label(item.id, item.cluster, item.target, published_true_false(reply), item.tags)


def score_comparative(item: Item, reply: str) -> Score:
    return score_label(item.id, item.cluster, item.target, pick(reply), item.tags)


def score_comparative_published(item: Item, reply: str) -> Score:
    return score_label(item.id, item.cluster, item.target, published_pick(reply), item.tags)


def _position_bias() -> Metric:
    """Share of A among parsed answers minus share of A among targets, -1 to 1; 0 is no bias."""

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        return (
            sum(s.answer == "A" for s in scores),
            sum(s.answer is not None for s in scores),
            sum(s.target == "A" for s in scores),
            len(scores),
        )

    def value(sums: Array) -> Array:
        return ratio(sums[..., :2]) - ratio(sums[..., 2:])

    return Metric("position_bias", counts, value, higher_is_better=None, range=(-1.0, 1.0))


def _flip_rate() -> Metric:
    """Share of rows whose pick changes with the order of the two answers; an unparsed pick of either
    order counts as a change, since nothing consistent was said."""

    def flipped(first: Score, second: Score) -> bool:
        # the same pick is right in both orders or wrong in both
        read = first.answer is not None and second.answer is not None
        return not read or first.facts["correct"] != second.facts["correct"]

    def counts(scores: Sequence[Score]) -> Sequence[float]:
        pairs = pairs_of(scores, ORDERS)
        return sum(flipped(*pair) for pair in pairs), len(pairs)

    return Metric("flip_rate", counts, ratio, higher_is_better=False)


def _independent(unparsed: Unparsed) -> tuple[Metric, ...]:
    by_class = (
        label_metric(figure, label, f"{figure}_{name}", unparsed=unparsed)
        for name, label in (("confabulated", CONFABULATED), ("factual", FACTUAL))
        for figure in _FIGURES
    )
    return (
        mean("acc", "correct"),
        *by_class,
        both_right("acc_pair", ("original", "confabulated")),
        *probability_metrics(CONFABULATED),
        share_unparsed(),
    )


_FIGURES: tuple[Literal["precision", "recall", "f1"], ...] = ("precision", "recall", "f1")
INDEPENDENT_METRICS = _independent("miss")
INDEPENDENT_PUBLISHED_METRICS = _independent("wrong_label")

COMPARATIVE_METRICS = (
    mean("acc", "correct"),
    *(macro_metric(figure, "AB", f"{figure}_macro", unparsed_is_label=True) for figure in _FIGURES),
    macro_metric("f1", "AB", "f1_macro_ab", unparsed_is_label=False),
    _position_bias(),
    replace(both_right("acc_consistent", ORDERS), needs="both_orders"),
    replace(_flip_rate(), needs="both_orders"),
    share_unparsed(),
)
