"""Inspect scorers for samples of a user's own: `halu_tasks/iou`, `exact_match`, `expmatch`, `error_type`, `verdict`.

`texts_task` checks a user's texts, against their sources or with what a method looks up.

What a sample must have is said by each scorer; `named` reads it. A score's metadata hold its record: the answer that
was read, the target, the facts that metrics add up, the cluster, and whether the reply was `answered`, `abstained`,
`unparsed` or `empty`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric, transcript
from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Solver, TaskState

from halu_tasks.core.errors import ArgumentError, DataError
from halu_tasks.core.items import Item
from halu_tasks.core.prompting import fill
from halu_tasks.data.rows import Row, json_lines, read_rows, require_text, with_ids
from halu_tasks.inspect_adapter.inspect_metrics import as_metadata, figures, spread_all
from halu_tasks.inspect_adapter.inspect_scorer import graded, inspect_score, with_method_output
from halu_tasks.inspect_adapter.sample_cost import cost_of
from halu_tasks.judging.reaching import failure_of
from halu_tasks.scorers.benchmarks.explanations import ALPHA, Weight
from halu_tasks.scorers.benchmarks.named import HEADLINES, NamedScorer, UserSample, metrics_of
from halu_tasks.scorers.benchmarks.string_scorers import Returns
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.reading.questions import NO, YES, hallucinates
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.score import ScoredReply, score_label
from halu_tasks.scorers.statistics.calibration import with_probability
from halu_tasks.solvers.model_calls import MethodRecord, SampleMetadata, checked, method_prompt, prompt_of, turns_of


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
        return spread_all(estimates(metrics, map(ScoredReply.from_json, records)))

    return compute


@scorer(metrics=[clustered()])
@checked
def iou(
    returns: Returns = "passages",
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
def expmatch(alpha: Weight = ALPHA, cluster: str = "cluster") -> Scorer:
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
    labels: str | Sequence[str] | Mapping[str, str] = ("True", "False"),
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
    listed = dict(labels) if isinstance(labels, Mapping) else [labels] if isinstance(labels, str) else list(labels)
    return _scorer("verdict", {"labels": listed, "reading": reading}, {"cluster": cluster})


def _scorer(name: str, arguments: Mapping[str, Any], names: Mapping[str, str], none_allowed: bool = False) -> Scorer:
    try:
        named = NamedScorer(name, arguments, names, none_allowed)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    item_value = named.metrics()[0].item
    assert item_value

    async def score(state: TaskState, target: Target) -> InspectScore:
        packaged = SampleMetadata.of(state)
        fields = {**packaged.fields, **packaged.gold, **state.metadata} if packaged else state.metadata
        sample = UserSample(str(state.sample_id), list(target), fields)
        scored = named.score(sample, _reply_of(state))
        value = item_value(scored)
        metadata = {"scorer": name, "arguments": dict(arguments), **scored.as_json()}
        return inspect_score(scored, value if name in ("iou", "expmatch") else graded(value), metadata)

    return score


def _reply_of(state: TaskState) -> ReplyText:
    return ReplyText(state.output.completion, "\n".join(prompt_of(turns_of(state))), failure_of(state.output) or None)


# --- texts of a user's own ------------------------------------------------------------------------


def check_row(row: Row) -> None:
    """Raise ValueError, naming the field, if a row is invalid."""
    require_text(row, "text")
    sources = _sources(row)
    if "source" in row and not (sources and all(isinstance(source, str) and source.strip() for source in sources)):
        raise ValueError("field 'source' must be a non-empty string or a list of non-empty strings")
    for field in ("id", "query", "label"):
        if field in row and not isinstance(row[field], str):
            raise ValueError(f"field {field!r} is {type(row[field]).__name__}, expected a string")
    if row.get("label", "No").strip().capitalize() not in (YES, NO):
        raise ValueError(f"label is {row['label']!r}, expected {YES!r} (hallucinated) or {NO!r}")


def _sources(row: Row) -> list[Any]:
    source = row.get("source", [])
    return source if isinstance(source, list) else [source]


def texts_task(input: str, solver: Solver, prompts: str | None = None) -> Task:
    """Create a task that checks each text in a JSON Lines file with a solver.

    Which parts of a text are needed, is for the solver to say: one that looks things up needs no `source`.

    Args:
        input: The file.
        solver: The solver; users may name another one.
        prompts: A prompt file whose `own_text` replaces the question that is asked about a text.

    Raises:
        UsageError: The prompt file is invalid.
        DataError: The file does not exist, a row is invalid, an id is repeated, or only some rows have a source.
    """
    path = Path(input).expanduser()
    samples, seen = list[Sample](), set[str]()
    question, with_source = method_prompt("own_text", "knowledge", prompts), set[bool]()

    def checked(row: Row) -> Row:
        check_row(row)
        with_source.add("source" in row)
        if len(with_source) > 1:
            raise ValueError("field 'source' must be in all rows or in none; use two files")
        return row

    rows = read_rows(json_lines(path), path, {"text": str}, checked)
    for text_hash, row in with_ids(rows, "text"):
        id = row.get("id", text_hash)
        if id in seen:
            raise DataError(f"{path}: duplicate id {id!r}; ids must be unique")
        seen.add(id)
        source = "\n\n".join(map(str.strip, _sources(row)))
        parts = {"query": row.get("query", "").strip(), "source": source, "text": row["text"].strip()}
        subject = {name: part for name, part in parts.items() if part}
        sections = "\n\n".join(f"{name.capitalize()}:\n{fence(part)}" for name, part in subject.items())
        target = row.get("label", "").strip().capitalize()
        prompt = fill(question, {"parts": sections})
        samples.append(Sample(id=id, input=prompt, target=target, metadata={"subject": subject}))
    return Task(
        dataset=MemoryDataset(samples, name=path.name, location=str(path)),
        solver=solver,
        scorer=text_score(),
        headline_metric=HeadlineMetric(scorer="text_score"),
        name="factored_verification",
        version="1-A",
    )


@scorer(metrics=[figures()])
def text_score() -> Scorer:
    """Score whether a text is called hallucinated: C or I if it has a label, otherwise N."""

    async def score(state: TaskState, target: Target) -> InspectScore:
        id, answer = str(state.sample_id), hallucinates(_reply_of(state))
        scored = score_label(Item(id, id, target.text), answer)
        measurements = {} if answer.value is None else {"hallucinated": float(answer.value == YES)}
        scored = replace(scored, facts={**measurements, **(scored.facts if target.text else {})})
        method = MethodRecord.from_metadata(state.output.metadata)
        scored = with_probability(with_method_output(scored, method), method.probability)
        scored, acc = replace(scored, cost=cost_of(transcript().events)), scored.facts.get("correct")
        return inspect_score(scored, graded(acc), as_metadata(scored, acc))

    return score


__all__ = [*HEADLINES, "clustered", "text_score", "texts_task"]
