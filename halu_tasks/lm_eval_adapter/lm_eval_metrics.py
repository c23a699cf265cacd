"""Metrics and filters of lm-eval for users' own tasks.

The metrics `halu_iou`, `halu_exact_match`, `halu_expmatch`, `halu_error_type` and `halu_verdict` are the named scorers
(`scorers/benchmarks/named.py`) for users' own tasks; docs/scorers.md describes their arguments. lm-eval gives a metric
the target and the reply of one document; the filter `halu_document` adds the document, for `halu_iou` and for clusters.
In lm-eval 0.4 a metric returns its value twice, the second time under `…_stderr`, which lm-eval shows in the column
Stderr; the aggregation `halu_mean` computes both. In lm-eval 0.5 it is a `Metric`, and `stderr_for_metric` knows the
error. With the argument `figures` it returns further metrics. The filters
`halu_strings` and `halu_verdict` reduce a reply to its answer, for other metrics. Like lm-eval's filters they take and
return a list of replies for each document, so that `take_first` or `majority_vote` may follow.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from lm_eval.api import metrics as lm_eval_metrics
from lm_eval.api import registry
from lm_eval.api.filter import Filter
from lm_eval.api.task import Task
from lm_eval.filters.custom import CustomFilter

from halu_tasks.core.errors import DataError, UsageError, unknown
from halu_tasks.core.settings import checked_settings
from halu_tasks.lm_eval_adapter.values import PARTS, ItemValue, Part, part_of
from halu_tasks.replies.scoring import logger
from halu_tasks.replies.warnings import reply_warnings, unplaced_replies
from halu_tasks.scorers.answer import NO_ANSWER, Answer
from halu_tasks.scorers.benchmarks.explanations import ALPHA, Weight
from halu_tasks.scorers.benchmarks.named import HEADLINES, NamedScorer, UserSample, metrics_of
from halu_tasks.scorers.benchmarks.string_scorers import Returns
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import Metric, estimate
from halu_tasks.scorers.reading.lines import Unit
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.scorers.registry import reading_named
from halu_tasks.scorers.score import ScoredReply

Pair = Sequence[Any]
"""What lm-eval passes for one document: a list with a single reference or prediction."""

_IS_0_5 = hasattr(lm_eval_metrics, "Metric")

# what the filters `halu_verdict` and `halu_strings` replace a reply without an answer by
_OUTCOMES = {f"[{outcome}]": outcome for outcome in NO_ANSWER}


_CHECKS: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
"""What checks the arguments of a metric, by its name."""


# --- metrics of users' tasks ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Arguments:
    """The arguments of every metric; those of `_FIELDS` name fields of a document."""

    cluster: str | None = None
    figures: tuple[str, ...] | None = None


@dataclass(frozen=True)
class _Iou(_Arguments):
    returns: Returns = "passages"
    text: str | None = None
    spans: str | None = None


@dataclass(frozen=True)
class _ExpMatch(_Arguments):
    alpha: Weight = ALPHA


@dataclass(frozen=True)
class _ErrorType(_Arguments):
    none_allowed: bool = False


@dataclass(frozen=True)
class _Verdict(_Arguments):
    labels: Sequence[str] | Mapping[str, str] = ("True", "False")
    reading: str = "true_false"


_FIELDS = ("text", "spans", "cluster")


def _metric(scorer: str, arguments: type[_Arguments] = _Arguments) -> Any:
    """Return the metric of a named scorer: a function in lm-eval 0.4, a `Metric` in 0.5.

    Args:
        scorer: The name of the scorer.
        arguments: The arguments of the metric.
    """

    def named_scorer(task_arguments: Mapping[str, Any]) -> tuple[NamedScorer, list[Metric]]:
        """Return the scorer with the arguments of a task file, and the metrics to compute."""
        try:
            # lm-eval would catch Python's TypeError and call the metric in another way
            values = vars(arguments(**checked_settings(arguments, task_arguments, "argument")))
        except UsageError as error:
            raise UsageError(f"halu_{scorer}: {error}") from None
        further, none_allowed = values.pop("figures") or (), values.pop("none_allowed", False)
        fields = {name: field for name in _FIELDS if (field := values.pop(name, None)) is not None}
        try:
            named = NamedScorer(scorer, values, fields, none_allowed)
        except ValueError as error:
            raise UsageError(f"halu_{error}") from None
        by_name = {metric.name: metric for metric in named.metrics()}
        if unknown_names := [name for name in further if name not in by_name]:
            raise UsageError(f"halu_{scorer}: {unknown('figure', unknown_names[0], by_name)}")
        return named, [by_name[name] for name in (HEADLINES[scorer], *further)]

    def metric(references: Pair, predictions: Pair, **task_arguments: Any) -> dict[str, Any]:
        named, metrics = named_scorer(task_arguments)
        target = str(references[0]).splitlines() if scorer == "exact_match" else references
        target = references[0] if isinstance(references[0], list) else target
        replies = predictions[0] if isinstance(predictions[0], list | tuple) else predictions
        if len(replies) > 1:
            raise UsageError(
                f"halu_{scorer} scores one reply to a document, got {len(replies)}; add a filter such as take_first"
            )
        score = _score(named, [] if scorer == "iou" else [str(entry) for entry in target], replies[0])
        return _values(named, score, metrics)

    _CHECKS[f"halu_{scorer}"] = named_scorer
    metric.__name__ = metric.__qualname__ = name = f"halu_{scorer}"
    if not _IS_0_5:
        return metric
    return lm_eval_metrics.Metric(name=name, fn=metric, aggregation=halu_mean, output_type={"generate_until"})


def halu_mean(values: Sequence[Any], part: Part | None = None) -> Any:
    """Compute a `halu_…` metric, or its clustered standard error, from the values of all documents.

    Args:
        values: The values.
        part: What to compute; None if the values say it.
    """
    if not values or not all(isinstance(value, ItemValue) for value in values):
        logger.error(
            "halu_mean aggregates halu_… metrics of tasks whose doc_to_target is a string; of a list, lm-eval scores "
            "each entry alone: join it, one entry on each line, as in \"{{answers | join('\\n')}}\""
        )
        return math.nan
    scorer, arguments, name, named_part = values[0].metric
    part = part or named_part
    metric = next(metric for metric in metrics_of(scorer, json.loads(arguments)) if metric.name == name)
    if part == "value" and name == HEADLINES[scorer]:
        outcomes = Counter(value.score.outcome for value in values)
        for share, meaning in reply_warnings(outcomes, unplaced=unplaced_replies(value.score for value in values)):
            logger.warning("halu_%s: %s %s", scorer, share, meaning)
    # a document without a cluster is one
    scores = [value.score for value in values]
    clustered = [each if each.cluster else replace(each, cluster=f"\0{at}") for at, each in enumerate(scores)]
    return part_of(estimate(metric, by_cluster(clustered), interval=False), part)


halu_iou = _metric("iou", _Iou)
halu_exact_match = _metric("exact_match")
halu_expmatch = _metric("expmatch", _ExpMatch)
halu_error_type = _metric("error_type", _ErrorType)
halu_verdict = _metric("verdict", _Verdict)


def _score(named: NamedScorer, target: Sequence[str], reply: Any) -> ScoredReply:
    """Score a reply, or what a filter of this package replaced it by.

    The cluster is empty if the document has none.
    """
    document = getattr(reply, "document", None)
    if document is None and (named.name == "iou" or "cluster" in named.fields):
        raise UsageError(
            f"halu_{named.name} needs the document: write '- function: halu_document' as the last filter of the task's "
            "filter_list"
        )
    document = document or {}
    outcome = _OUTCOMES.get(str(reply))
    try:
        sample = UserSample(str(document.get("id", "")), target, document, "document")
        score = named.score(sample, "" if outcome else str(reply))
    except DataError as error:
        raise DataError(f"halu_{named.name}: {error}") from None
    has_cluster = "cluster" in named.fields or document.get("cluster") is not None
    return replace(score, outcome=outcome or score.outcome, cluster=score.cluster if has_cluster else "")


def _values(named: NamedScorer, score: ScoredReply, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return the values of the headline and of further metrics, in lm-eval 0.4 each with that of its standard error."""
    values: dict[str, Any] = {}
    prefix, parts = f"halu_{named.name}", {"": PARTS[""]} if _IS_0_5 else PARTS
    for metric in metrics:
        # lm-eval 0.5 aggregates what is called so like the metric in parentheses
        name = f"{metric.name}({prefix})" if _IS_0_5 else f"{prefix}_{metric.name}"
        key = prefix if metric is metrics[0] else name
        # a standard error must follow its metric: lm-eval then shows it in the column Stderr. Where there is no value
        # for a document it is NaN, and so is any mean but halu_mean
        for suffix, part in parts.items():
            number = metric.item(score) if metric.item and part == "value" else math.nan
            value = ItemValue(number)
            value.score, value.metric = score, (named.name, json.dumps(named.arguments), metric.name, part)
            values[key + suffix] = [value] if _IS_0_5 else value
    return values


# --- filters of users' tasks ----------------------------------------------------------------------


class DocumentReply(str):
    """A reply with the document that it answers."""

    document: Mapping[str, Any]


def document_filter() -> Filter:
    """Return the filter that adds documents to their replies, for the `halu_…` metrics."""

    def with_document(reply: str, document: Mapping[str, Any]) -> DocumentReply:
        result = DocumentReply(reply)
        result.document = document
        return result

    return CustomFilter(
        filter_fn=lambda resps, docs: [
            [with_document(reply, doc) for reply in _listed(replies)] for replies, doc in zip(resps, docs, strict=True)
        ]
    )


def strings_filter(returns: Literal["entities", "sentence"] = "entities") -> Filter:
    """Return the filter that reduces a reply to the strings that it lists, one on each line, or to `None`.

    Args:
        returns: What a reply is asked for: `entities` or one `sentence`.
    """
    unit: Unit = "entity" if returns == "entities" else "sentence"
    return _reading_filter(partial(quotations, passage="", unit=unit))


def verdict_filter(reading: str = "true_false", labels: Sequence[str] = ("True", "False")) -> Filter:
    """Return the filter that reduces a reply to the label that it states.

    Args:
        reading: The name of a reading in `scorers/registry.py`, as in task files.
        labels: The labels, which the metric `halu_verdict` needs; a reading knows its own.
    """
    try:
        NamedScorer("verdict", {"labels": labels, "reading": reading})
        return _reading_filter(reading_named(reading))
    except ValueError as error:
        raise UsageError(f"halu_{error}") from None


def _reading_filter(read: Callable[[str], Answer[Any]]) -> Filter:
    """Return a filter that reduces replies to their answer, or to an outcome of `NO_ANSWER` in brackets."""

    def reduced(reply: str) -> str:
        text = ReplyText(reply)
        answer = read(text)
        if answer.value is None:
            return f"[{(text.missing or answer).outcome}]"
        # an empty list says that there are no strings
        return "\n".join(answer.value) or "None" if isinstance(answer.value, list) else str(answer.value)

    return CustomFilter(filter_fn=lambda resps, docs: [list(map(reduced, _listed(replies))) for replies in resps])


def _listed(replies: Any) -> list[str]:
    """Return the replies to one document as a list, also after `take_first`, which leaves a single one."""
    return list(map(str, replies)) if isinstance(replies, list | tuple) else [str(replies)]


def _register_defaults() -> None:
    """Register the aggregation and the direction, for tasks that only give a metric's name."""
    aggregations = registry.aggregation_registry
    if "halu_mean" not in aggregations:
        aggregations.register("halu_mean", target=halu_mean)
    # lm-eval finds the name of an aggregation by its function, which must be loaded for that
    aggregation = aggregations.get("halu_mean")
    defaults = {registry.metric_agg_registry: aggregation, registry.higher_is_better_registry: True}
    for scorer in HEADLINES:
        for of_metrics, default in defaults.items():
            if f"halu_{scorer}" not in of_metrics:
                of_metrics.register(f"halu_{scorer}", target=default)


def _register_error() -> None:
    """Let lm-eval 0.5 take the clustered error of `halu_mean`, not that of 100,000 samples, which ignores clusters."""
    original = lm_eval_metrics.stderr_for_metric

    def stderr_for_metric(metric: Any, bootstrap_iters: int) -> Any:
        default = original(metric, bootstrap_iters)

        def stderr(values: Sequence[Any]) -> Any:
            if not isinstance(values[0], ItemValue):
                return default(values) if default else "N/A"
            return halu_mean(values, "stderr") if metric is halu_mean else math.nan

        return stderr

    lm_eval_metrics.stderr_for_metric = stderr_for_metric


def _check_before_requests() -> None:
    """Refuse arguments of task files before a model is asked: lm-eval passes them on only when there are replies."""
    build = Task.build_all_requests
    filters = {"halu_document": document_filter, "halu_strings": strings_filter, "halu_verdict": verdict_filter}

    def checked(self: Task, **settings: Any) -> None:
        pipelines = [pipeline for pipeline in self.config.filter_list or () if isinstance(pipeline, Mapping)]
        for steps in (pipeline.get("filter") or () for pipeline in pipelines):
            for step in steps:
                if isinstance(step, Mapping) and (make := filters.get(str(step.get("function")))):
                    try:
                        make(**checked_settings(make, _arguments(step, "function"), "argument"))
                    except UsageError as error:
                        raise UsageError(f"filter {step['function']}: {error}") from None
        nested = [metric for pipeline in pipelines for metric in pipeline.get("metric_list") or ()]
        for metric in [*(self.config.metric_list or ()), *nested]:
            if isinstance(metric, Mapping) and (check := _CHECKS.get(str(metric.get("metric")))):
                check(_arguments(metric, "metric", "aggregation", "reduction", "higher_is_better", "hf_evaluate"))
        build(self, **settings)

    Task.build_all_requests = checked


def _arguments(entry: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the arguments of an entry of a task file, which lm-eval 0.5 collects in `kwargs`."""
    arguments = {name: value for name, value in entry.items() if name not in (*keys, "kwargs")}
    return arguments | dict(entry.get("kwargs") or {})


_check_before_requests()
_register_error() if _IS_0_5 else _register_defaults()
