"""lm-eval metrics for users' tasks, with the aggregation `halu_mean`.

These are `halu_iou`, `halu_exact_match`, `halu_expmatch`, `halu_error_type` and `halu_verdict`. lm-eval gives a metric
the target and the reply of one document; the filter `halu_document` adds the document, for `halu_iou` and for clusters.
Each metric returns its value twice, the second time under `…_stderr`, which lm-eval shows in the column Stderr; both
are aggregated by `halu_mean`.
"""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from lm_eval.api import registry

from halu_tasks.core.errors import LM_EVAL, DataError, UsageError, did_you_mean, install_excepthook
from halu_tasks.replies.scoring import RequestInfo, task_reply_warnings
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.benchmarks.explanations import ALPHA
from halu_tasks.scorers.benchmarks.named import HEADLINES, NamedScorer, UserSample, metrics_of
from halu_tasks.scorers.metrics import by_cluster, estimate
from halu_tasks.scorers.score import Score

logger = logging.getLogger(__name__)
install_excepthook(*LM_EVAL)
Pair = Sequence[Any]
"""What lm-eval passes for one document: a list with a single reference or prediction."""
_COMMON = ("cluster", "figures")

_OUTCOMES = {f"[{outcome}]": outcome for outcome in NO_ANSWER}
"""What the filters `halu_verdict` and `halu_strings` replace a reply without an answer by."""


class ItemFigure(float):
    """The value of a metric for a document, with what the aggregation needs.

    lm-eval passes these values, and nothing else, from the documents to the aggregation (see `item_values`).

    Attributes:
        score: The score of the reply.
        scorer: The name of the scorer.
        arguments: Its arguments, as JSON.
        name: The name of the metric.
        part: The part of the estimate to aggregate to.
    """

    score: Score
    scorer: str
    arguments: str
    name: str
    part: Literal["value", "stderr"]


class NotAveraged(ItemFigure):
    """A value of a metric that is not a mean over documents; any mean other than `halu_mean` is NaN."""

    def __radd__(self, other: object) -> float:
        return math.nan


def halu_iou(
    references: Pair,
    predictions: Pair,
    returns: str = "passages",
    text: str = "text",
    spans: str = "spans",
    **common: Any,
) -> dict[str, ItemFigure]:
    """Score the passages of a text that a reply returns against gold spans; needs the filter `halu_document`.

    Args:
        references: The target, which is ignored.
        predictions: The reply.
        returns: What a reply is asked for: `passages` of the text, `entities`, or one `sentence`.
        text: The document's field with the text.
        spans: The document's field with the gold spans, a list of [start, end] in characters of the text.
        **common: `cluster`, the document's field with its cluster, and `figures`, further metrics to compute.

    Returns:
        The values of the metrics by name, each followed by that of its standard error.
    """
    named = _named("iou", {"returns": returns}, {"text": text, "spans": spans}, common)
    return _figures(named, (), predictions, common)


def halu_exact_match(references: Pair, predictions: Pair, **common: Any) -> dict[str, ItemFigure]:
    """Score the strings that a reply returns, one on each line, against the lines of the target, in order.

    Args:
        references: The target.
        predictions: The reply.
        **common: As in `halu_iou`.
    """
    return _figures(_named("exact_match", {}, {}, common), str(references[0]).splitlines(), predictions, common)


def halu_expmatch(references: Pair, predictions: Pair, alpha: float = ALPHA, **common: Any) -> dict[str, ItemFigure]:
    """Score how much of the target, a reference explanation, is in a reply.

    Args:
        references: The target.
        predictions: The reply.
        alpha: The weight of the explanation's body, above 0, up to 1; head and tail share the rest.
        **common: As in `halu_iou`.
    """
    return _figures(_named("expmatch", {"alpha": alpha}, {}, common), references, predictions, common)


def halu_error_type(
    references: Pair, predictions: Pair, none_allowed: bool = False, **common: Any
) -> dict[str, ItemFigure]:
    """Score the type of error that a reply names against the target: `entity`, `relation` or `sentence`.

    Args:
        references: The target.
        predictions: The reply.
        none_allowed: Whether `none` is a type, too.
        **common: As in `halu_iou`.
    """
    return _figures(_named("error_type", {}, {}, common, none_allowed), references, predictions, common)


def halu_verdict(
    references: Pair,
    predictions: Pair,
    labels: Sequence[str] | Mapping[str, str] = ("True", "False"),
    reading: str = "true_false",
    **common: Any,
) -> dict[str, ItemFigure]:
    """Score whether the label that a reply states is the target.

    Args:
        references: The target.
        predictions: The reply.
        labels: The labels, or their names by label, as in task files.
        reading: The name of a reading, as in task files.
        **common: As in `halu_iou`.
    """
    return _figures(
        _named("verdict", {"labels": labels, "reading": reading}, {}, common), references, predictions, common
    )


def halu_mean(values: Sequence[Any]) -> Any:
    """Compute a `halu_…` metric, or its clustered standard error, from the values of all documents."""
    if not values or not all(isinstance(value, ItemFigure) for value in values):
        logger.error(
            "halu_mean aggregates halu_… metrics of tasks whose doc_to_target is a string; of a list, lm-eval scores "
            "each entry alone: join it, one entry on each line, as in \"{{answers | join('\\n')}}\""
        )
        return math.nan
    first = values[0]
    arguments = json.loads(first.arguments)
    metric = next(metric for metric in metrics_of(first.scorer, arguments) if metric.name == first.name)
    over_documents = estimate(metric, by_cluster(_clustered(value.score for value in values)))
    if first.part == "value" and first.name == HEADLINES[first.scorer]:
        outcomes = Counter(value.score.outcome for value in values)
        for warning in task_reply_warnings(f"halu_{first.scorer}", outcomes, RequestInfo("lm-eval")):
            logger.warning(warning)
    figure = getattr(over_documents, first.part) if over_documents else math.nan
    return "N/A" if figure is None else figure


def _clustered(scores: Iterable[Score]) -> list[Score]:
    """Give each score without a cluster its own cluster."""
    return [score if score.cluster else replace(score, cluster=f"\0{at}") for at, score in enumerate(scores)]


def _named(
    scorer: str,
    arguments: Mapping[str, Any],
    fields: Mapping[str, str],
    common: Mapping[str, Any],
    none_allowed: bool = False,
) -> NamedScorer:
    for name in common:
        # lm-eval would catch Python's TypeError and call the metric in another way
        if name not in _COMMON:
            known = [*arguments, *fields, *_COMMON]
            raise UsageError(f"halu_{scorer} has no argument {name!r}{did_you_mean(name, known)}")
    cluster = {"cluster": common["cluster"]} if "cluster" in common else {}
    try:
        return NamedScorer(scorer, arguments, {**fields, **cluster}, none_allowed)
    except ValueError as error:
        raise UsageError(f"halu_{error}") from None


def _figures(
    named: NamedScorer, target: Sequence[Any], predictions: Pair, common: Mapping[str, Any]
) -> dict[str, ItemFigure]:
    """Return the values of the headline and of further metrics, each followed by that of its standard error."""
    headline, metrics = HEADLINES[named.name], {metric.name: metric for metric in named.metrics()}
    names = [headline, *(common.get("figures") or ())]
    if unknown := [name for name in names if name not in metrics]:
        raise UsageError(f"halu_{named.name} has no figure {unknown[0]!r}; figures: {', '.join(metrics)}")
    score = _score(named, target, predictions[0], common)
    figures: dict[str, ItemFigure] = {}
    for name in names:
        key = f"halu_{named.name}" if name == headline else f"halu_{named.name}_{name}"
        item_value = metrics[name].item or metrics[headline].item
        assert item_value
        kind = ItemFigure if name == headline else NotAveraged
        # a standard error must follow its metric: lm-eval then shows it in the column Stderr
        figures[key] = _figure(kind, item_value(score), score, named, name, "value")
        figures[f"{key}_stderr"] = _figure(NotAveraged, item_value(score), score, named, name, "stderr")
    return figures


def _score(named: NamedScorer, target: Sequence[Any], reply: Any, common: Mapping[str, Any]) -> Score:
    """Score a reply, or what a filter of this package replaced it by.

    The cluster is empty if the document has none.
    """
    if isinstance(reply, list | tuple):
        # without the filter take_first
        reply = reply[0]
    document = getattr(reply, "document", None)
    if document is None and (named.name == "iou" or "cluster" in common):
        raise UsageError(
            f"halu_{named.name} needs the document: write '- function: halu_document' as the last filter of the task's "
            "filter_list"
        )
    document = document or {}
    sample = UserSample(str(document.get("id", "")), [str(entry) for entry in target], document, "document")
    outcome = _OUTCOMES.get(str(reply))
    try:
        score = named.score(sample, "" if outcome else str(reply))
    except DataError as error:
        raise DataError(f"halu_{named.name}: {error}") from None
    has_cluster = "cluster" in common or document.get("cluster") is not None
    return replace(score, outcome=outcome or score.outcome, cluster=score.cluster if has_cluster else "")


def _figure(
    kind: type[ItemFigure],
    value: float,
    score: Score,
    named: NamedScorer,
    name: str,
    part: Literal["value", "stderr"],
) -> ItemFigure:
    figure = kind(value)
    figure.score, figure.name, figure.part = score, name, part
    figure.scorer, figure.arguments = named.name, json.dumps(named.arguments)
    return figure


def _register_defaults() -> None:
    """Register the aggregation and the direction, for tasks that only give a metric's name."""
    aggregations = registry.aggregation_registry
    if "halu_mean" not in aggregations:
        aggregations.register("halu_mean", target=halu_mean)
    # lm-eval finds the name of an aggregation by its function, which must be loaded for that
    aggregation = aggregations.get("halu_mean")
    for scorer in HEADLINES:
        name = f"halu_{scorer}"
        if name not in registry.metric_agg_registry:
            registry.metric_agg_registry.register(name, target=aggregation)
        if name not in registry.higher_is_better_registry:
            registry.higher_is_better_registry.register(name, target=True)


_register_defaults()
