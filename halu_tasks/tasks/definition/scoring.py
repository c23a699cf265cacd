"""The scoring of a task: its scorers by mode, and the metrics that are reported of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from halu_tasks.core.errors import did_you_mean
from halu_tasks.core.options import Options
from halu_tasks.scorers.kinds import AnswerKind
from halu_tasks.scorers.registry import TaskScorer, make_scorer
from halu_tasks.tasks.definition.keys import TaskKeys, named_in
from halu_tasks.tasks.yaml_files import FunctionName, load_object

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric

MODES = ("strict", "paper")
METRIC_KEYS = ("metric", "of", "by", "requires", "split_requires", "higher_is_better", "headline")
"""The keys of an entry of `metric_list`."""


@dataclass(frozen=True)
class _MetricEntry:
    """An entry of `metric_list`.

    Attributes:
        name: The name under which the metric is reported.
        of: The scorer's metric.
        by: The tags by which the metric is also split, with the values of each.
        requires: The option without which the metric is not reported.
        split_requires: The option without which the split is not reported.
        headline: The mode in which the metric is the headline although it is not the first; None if there is none.
    """

    name: str
    of: str
    by: Mapping[str, tuple[str, ...]]
    requires: str | None
    split_requires: str | None
    headline: str | None


def read_scoring(keys: TaskKeys, answer: AnswerKind) -> dict[str, TaskScorer]:
    """Read the keys `scorer`, `metric_list` and `tags`.

    Returns:
        The scorers by mode, each with the metrics of `metric_list` that it has and the shares of replies without an
        answer, which are always reported.
    """
    specs = keys.mapping("scorer", MODES)
    if missing := [mode for mode in MODES if specs.get(mode) is None]:
        keys.fail("scorer", f"{missing[0]}: is missing")
    scorers = {mode: _scorer(keys, mode, specs[mode], answer) for mode in MODES}
    of_any_mode = {metric.name: metric for mode in reversed(MODES) for metric in scorers[mode].metrics}
    scoring = {}
    for mode, scorer in scorers.items():
        metrics = {metric.name: metric for metric in scorer.metrics}
        entries = _metric_entries(keys, {**of_any_mode, **metrics})
        reported = _reported_metrics(keys, mode, entries, metrics, answer)
        scoring[mode] = TaskScorer(scorer.score, reported, scorer.reference_replies)
    return scoring


def _scorer(keys: TaskKeys, mode: str, spec: Any, answer: AnswerKind) -> TaskScorer:
    """Make the scorer of a mode. Its arguments `reading` and `labels`, if not given, are those of the answer."""
    arguments: dict[str, Any] = {}
    if isinstance(spec, dict):
        arguments = {str(name): keys.load("scorer", value) for name, value in spec.items() if name != "name"}
        spec = spec.get("name")
    try:
        if isinstance(spec, str) and not isinstance(spec, FunctionName):
            return make_scorer(spec, arguments, answer.scorer_arguments())
        scorer = load_object(spec)(**arguments)
    except Exception as error:  # what a user's function raises is a fault of the file that names it
        keys.fail("scorer", f"{mode}: {' '.join(str(error).split()) or type(error).__name__}")
    if not isinstance(scorer, TaskScorer):
        keys.fail("scorer", f"{mode}: expected a function that returns a TaskScorer, got {type(scorer).__name__}")
    return scorer


def _reported_metrics(
    keys: TaskKeys, mode: str, entries: list[_MetricEntry], metrics: Mapping[str, Metric], answer: AnswerKind
) -> tuple[Metric, ...]:
    """Return what is reported in a mode: the listed metrics, the shares without an answer, and the splits."""
    listed: list[Metric] = []
    splits: list[Metric] = []
    for entry in sorted(entries, key=lambda entry: entry.headline != mode):
        if entry.of not in metrics:
            continue  # one of the modes may lack a metric
        base = metrics[entry.of]
        metric = replace(base, name=entry.name, requires_option=entry.requires or base.requires_option)
        listed.append(metric)
        part = replace(metric, requires_option=entry.split_requires or metric.requires_option)
        splits += [
            part.only(tag, value, f"{entry.name}_{value}") for tag, values in entry.by.items() for value in values
        ]
    if not listed:
        keys.fail("metric_list", f"lists no metric that the scorer of {mode} has")
    if "unparsed" not in metrics:
        keys.fail("scorer", f"{mode}: the scorer lacks the metric 'unparsed' (scorers.metrics.share_unparsed)")
    shares = [metrics["unparsed"], *(answer.outcome_metrics() if mode == "strict" else ())]
    names = {metric.name for metric in listed}
    return (*listed, *(share for share in shares if share.name not in names), *splits)


def _metric_entries(keys: TaskKeys, metrics: Mapping[str, Metric]) -> list[_MetricEntry]:
    entries = list(_each_entry(keys, metrics))
    if not entries:
        keys.fail("metric_list", "is empty; the first metric is the headline")
    names = [entry.name for entry in entries]
    if repeated := [name for name in names if names.count(name) > 1]:
        keys.fail("metric_list", f"lists {repeated[0]!r} twice")
    headlines = [entry.headline for entry in entries if entry.headline]
    if repeated := [mode for mode in headlines if headlines.count(mode) > 1]:
        keys.fail("metric_list", f"lists two headlines of {repeated[0]}")
    return entries


def _each_entry(keys: TaskKeys, metrics: Mapping[str, Metric]) -> Iterator[_MetricEntry]:
    tags = keys.mapping("tags", required=False)
    for values in keys.entries("metric_list", "a list of metrics"):
        if not isinstance(values, dict) or not isinstance(name := values.get("metric"), str):
            keys.fail("metric_list", f"expected entries 'metric: NAME', got {values!r}")
        if unknown := sorted(set(values) - set(METRIC_KEYS)):
            keys.fail("metric_list", f"{name}: unknown key {unknown[0]!r}; known: {', '.join(METRIC_KEYS)}")
        yield _entry(keys, name, values, metrics, tags)


def _entry(
    keys: TaskKeys, name: str, values: Mapping[str, Any], metrics: Mapping[str, Metric], tags: Mapping[str, Any]
) -> _MetricEntry:
    of, by = values.get("of", name), values.get("by") or []
    if not named_in(of, metrics):
        close = did_you_mean(str(of), metrics)
        keys.fail("metric_list", f"unknown metric {of!r}{close}; the scorer has {', '.join(metrics)}")
    higher_is_better = metrics[of].higher_is_better
    if values.get("higher_is_better", higher_is_better) is not higher_is_better:
        keys.fail("metric_list", f"{name}: higher_is_better is {higher_is_better} by the metric's definition")
    split_by = by if isinstance(by, list) else [by]
    for tag in split_by:
        if not named_in(tag, tags):
            expected = f"expected tags ({', '.join(tags) or 'none are declared'})"
            keys.fail("metric_list", f"{name}: by: {expected}, got {tag!r}")
    headline = values.get("headline")
    if headline is not None and not named_in(headline, MODES):
        keys.fail("metric_list", f"{name}: headline: expected {' or '.join(MODES)}, got {headline!r}")
    options = values.get("requires"), values.get("split_requires")
    for option in options:
        if option is not None and option not in [known.name for known in fields(Options)]:
            keys.fail("metric_list", f"{name}: unknown option {option!r}")
    tags_of = {tag: keys.as_strings("tags", tags[tag]) for tag in split_by}
    return _MetricEntry(name, of, tags_of, *options, headline)
