"""Inspect scorers for samples of a user's own: `halu_tasks/iou`, `exact_match`, `expmatch`, `error_type`, `verdict`.

What a sample must have is said by each scorer; `named` reads it. A score's metadata hold its record: the answer that
was read, the target, the facts that metrics add up, the cluster, and whether the reply was `answered`, `abstained`,
`unparsed` or `empty`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import TaskState

from halu_tasks.core.errors import ArgumentError
from halu_tasks.inspect_adapter.figures import spread_all
from halu_tasks.inspect_adapter.scorer import graded, inspect_score
from halu_tasks.scorers.benchmarks.explanations import ALPHA
from halu_tasks.scorers.benchmarks.named import HEADLINES, NamedScorer, UserSample, metrics_of
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import Score
from halu_tasks.solvers.asking import checked


@metric(name="clustered", scores="unreduced")
def clustered() -> Metric:
    """Compute all metrics of a named scorer.

    Each is printed as `name`, with `name_stderr`, `name_low` and `name_high` for its standard error and 95% interval,
    which take samples of one cluster, and epochs of one sample, as dependent.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        records = [record for score in scores if "scorer" in (record := score.score.metadata or {})]
        if not records:
            return {}
        metrics = metrics_of(records[0]["scorer"], records[0]["arguments"])
        return spread_all(estimates(metrics, map(Score.from_json, records)))

    return compute


@scorer(metrics=[clustered()])
@checked
def iou(
    returns: Literal["passages", "entities", "sentence"] = "passages",
    text: str = "text",
    spans: str = "spans",
    cluster: str = "cluster",
) -> Scorer:
    """Score where the strings that a reply returns stand in a text, against gold spans.

    The value is the intersection over union of characters, 0 to 1.

    Args:
        returns: What a reply is asked for: `passages` of the text, one on each line, `entities` (likewise, where one
            line may list several), or one `sentence`.
        text: Name of the metadata with the text.
        spans: Name of the metadata with the gold spans, a list of [start, end] in characters of the text.
        cluster: Name of the metadata with the sample's cluster. Without it each sample is a cluster.
    """
    return _scorer("iou", {"returns": returns}, {"text": text, "spans": spans, "cluster": cluster})


@scorer(metrics=[clustered()])
@checked
def exact_match(cluster: str = "cluster") -> Scorer:
    """Score the strings that a reply returns, one on each line, against the target's strings, in order.

    The value is C if all are right (but for case, white space and surrounding punctuation), else I.

    Args:
        cluster: Name of the metadata with the sample's cluster. Without it each sample is a cluster.
    """
    return _scorer("exact_match", {}, {"cluster": cluster})


@scorer(metrics=[clustered()])
@checked
def expmatch(alpha: float = ALPHA, cluster: str = "cluster") -> Scorer:
    """Score how much of the target, a reference explanation, a reply holds: FactCHD's ExpMatch.

    The value is the weighted mean of three parts, 0 to 1.

    Args:
        alpha: The weight of the explanation's body, above 0, up to 1; head and tail share the rest.
        cluster: Name of the metadata with the sample's cluster. Without it each sample is a cluster.
    """
    return _scorer("expmatch", {"alpha": alpha}, {"cluster": cluster})


@scorer(metrics=[clustered()])
@checked
def error_type(none_allowed: bool = False, cluster: str = "cluster") -> Scorer:
    """Score the type of error that a reply names in English, Arabic, Turkish or Hindi: HalluVerse25's classification.

    The target is `entity`, `relation` or `sentence`; the value is C or I.

    Args:
        none_allowed: Whether `none`, for no error, is a target and an answer too.
        cluster: Name of the metadata with the sample's cluster. Without it each sample is a cluster.
    """
    return _scorer("error_type", {}, {"cluster": cluster}, none_allowed)


@scorer(metrics=[clustered()])
@checked
def verdict(
    labels: Sequence[str] | Mapping[str, str] = ("True", "False"),
    reading: str = "true_false",
    cluster: str = "cluster",
) -> Scorer:
    """Score whether the label that a reply states is the target.

    The value is C or I.

    Args:
        labels: The labels, or the labels with a name each for metrics of that class. The first is the one looked for,
            whose `precision`, `recall` and `f1` are computed.
        reading: How the label is read from a reply: the name of a reading of `scorers/registry.py`, as in task files.
        cluster: Name of the metadata with the sample's cluster. Without it each sample is a cluster.
    """
    known = dict(labels) if isinstance(labels, Mapping) else [labels] if isinstance(labels, str) else list(labels)
    return _scorer("verdict", {"labels": known, "reading": reading}, {"cluster": cluster})


def _scorer(name: str, arguments: Mapping[str, Any], names: Mapping[str, str], none_allowed: bool = False) -> Scorer:
    try:
        named = NamedScorer(name, arguments, names, none_allowed)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    of_one = named.metrics()[0].item
    assert of_one

    async def score(state: TaskState, target: Target) -> InspectScore:
        sample = UserSample(str(state.sample_id), list(target), state.metadata)
        found = named.score(sample, state.output.completion)
        value = of_one(found)
        metadata = {"scorer": name, "arguments": dict(arguments), **found.as_json()}
        return inspect_score(found, value if name in ("iou", "expmatch") else graded(value), metadata)

    return score


__all__ = [*HEADLINES, "clustered"]
