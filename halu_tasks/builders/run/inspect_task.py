"""Pipelines as Inspect tasks with one sample per document. All pipeline logic is elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric, transcript
from inspect_ai.model import GenerateConfig, Model, ModelOutput
from inspect_ai.model._generate_config import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
    active_generate_config,
)
from inspect_ai.scorer import NOANSWER, Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import MAX_TOKENS, Pipeline
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.gate import replays
from halu_tasks.builders.run.outcomes import OVERALL, Outcome, Rates
from halu_tasks.builders.run.parts import in_order, of_part
from halu_tasks.builders.run.records import BUILD, BuildRecord, DocumentRecord, ScoreRecord
from halu_tasks.core.errors import DataError, ModelError, UsageError
from halu_tasks.data.cache import sha256_of
from halu_tasks.inspect_adapter.figures import spread
from halu_tasks.judging.reaching import exhausted, reach_active, reach_here
from halu_tasks.scorers.methods.cost import COUNTED, cost_of, total
from halu_tasks.solvers.asking import ask, model_in, named_role

_COST = "halu_cost"
"""Metadata key of an output: what the calls for a document have cost, if they were made before."""
_REFUSED_SHOWN = 500
"""Characters of a refused document that a log keeps."""


def build_task(
    name: str,
    documents: str,
    part: str | None = None,
    cache: bool = False,
    *,
    gate: Path | None = None,
    **options: Any,
) -> Task:
    """Create the Inspect task that drafts items of documents.

    Args:
        name: Name of the pipeline.
        documents: A file or folder the pipeline can read.
        part: `0/4` for the first of four parts of the documents (by the hashes of their ids); None for all.
        cache: Cache replies, so that a run with other options does not repeat calls.
        gate: The folder of the build's gate, whose documents are not asked about again.
        options: Options of the pipeline.

    Raises:
        UsageError: An option does not exist or has an invalid value, or the documents do not exist.
        DataError: The documents are empty or damaged, or two have the same id.
    """
    pipeline = pipeline_named(name, options)
    path = Path(documents).expanduser()
    if not path.exists():
        raise UsageError(f"option documents: {documents}: no such file or folder")
    try:
        selected = in_order(of_part(pipeline.documents(path), part))
    except DataError as error:
        raise DataError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    if not selected:
        raise DataError(f"{path}: contains no documents{f' in part {part}' if part else ''}")
    given = {key: value for key, value in options.items() if value is not None}
    record = BuildRecord(
        settings=pipeline.settings,
        documents=path.name,
        documents_sha256=sha256_of(path) if path.is_file() else None,
        part=part,
        options=given,
    )
    pipeline.ready()
    reach_active()
    return Task(
        dataset=MemoryDataset([_sample(document, pipeline) for document in selected], name=name, location=str(path)),
        solver=draft_items(name, given, cache, str(gate) if gate else None),
        scorer=drafted(),
        metrics=[build_figures(list(pipeline.checks))],
        # without a temperature, which the pipeline has one of for each role; see `draft_items`
        config=GenerateConfig(max_tokens=MAX_TOKENS),
        name=name,
        version=f"{pipeline.version}-A",
        headline_metric=HeadlineMetric(metric=OVERALL),
        metadata={BUILD: record.to_metadata()},
    )


def _sample(document: Document, pipeline: Pipeline) -> Sample:
    """Return the sample of a document; of a refused one, only the beginning is shown."""
    refused = pipeline.refuse(document)
    shown = document.text if refused is None else document.text[:_REFUSED_SHOWN]
    record = DocumentRecord({} if refused else document.fields, document.licence, refused)
    return Sample(id=document.id, input=shown or "(empty)", metadata={BUILD: record.to_metadata()})


@solver
def draft_items(builder: str, options: Mapping[str, Any], cache: bool = False, gate: str | None = None) -> Solver:
    """Draft items of documents with a pipeline.

    The model roles `generator` and `verifier` use the run's model unless assigned.

    Args:
        builder: Name of the pipeline.
        options: Options of the pipeline.
        cache: Cache replies, so that a run with other options does not repeat calls.
        gate: The folder of the build's gate, whose documents are not asked about again.
    """
    pipeline = pipeline_named(builder, options)
    sampled = replays(Path(gate)) if gate else {}
    lock = anyio.Lock()
    unreachable: dict[str, ModelError] = {}

    async def ask_role(prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str:
        model = model_in(role)
        if error := unreachable.get(str(model)):
            raise error
        try:
            return (await ask(prompt, role, cache=cache, draw=draw, **_call_settings(pipeline, role, draws))).completion
        except Exception as failed:
            if exhausted(failed):
                await check_reachable(model)
            raise

    async def check_reachable(model: Model) -> None:
        """Raise ModelError if a model whose call was given up does not answer anything else either.

        Otherwise every further document would wait for it just as long.
        """
        async with lock:
            if str(model) not in unreachable:
                try:
                    await reach_here(model)
                except ModelError as error:
                    unreachable[str(model)] = error
        if reason := unreachable.get(str(model)):
            raise reason

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        record = DocumentRecord.from_metadata(state.metadata[BUILD])
        id = str(state.sample_id)
        if id in sampled:
            outcome = sampled[id]
        elif record.refused:
            outcome = Outcome(id, refused=record.refused, licence=record.licence)
        else:
            document = Document(id, state.input_text, dict(record.fields))
            outcome = Outcome(id, tuple(await pipeline.drafts(document, ask_role)), licence=record.licence)
        kept = sum(draft.row is not None for draft in outcome.drafts)
        summary = f"refused: {outcome.refused.reason}" if outcome.refused else f"{kept} of {len(outcome.drafts)} kept"
        state.output = ModelOutput.from_content(str(state.model), summary)
        state.output.metadata = {BUILD: outcome.as_json(), _COST: outcome.cost}
        return state

    return solve


def _call_settings(pipeline: Pipeline, role: str, draws: int) -> dict[str, Any]:
    """Return the settings of a call that the run does not have; a model's own settings take precedence over them."""
    # a role without a model of its own uses the configuration of the run
    settings: dict[str, Any] = {"max_tokens": MAX_TOKENS} if named_role(role) else {}
    if draws > 1:
        settings["temperature"] = 1.0
    elif named_role(role) or active_generate_config().temperature is None:
        settings["temperature"] = pipeline.temperatures[role]
    return settings


@metric(name="build_figures", scores="unreduced")
def build_figures(checks: list[str]) -> Metric:
    """Pass rates by check with clustered standard errors, numbers of documents, drafts and items, and their cost."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        metadata = [(score.score.metadata or {}).get(BUILD) for score in scores]
        records = [ScoreRecord.from_metadata(record) for record in metadata if record]
        rates = Rates(checks)
        counts: Counter[str] = Counter(documents=len(records))
        for record in records:
            rates.add(record.counts)
            counts.update(refused=record.refused is not None, drafts=record.drafts, kept=record.kept)
        figures = {key: value for name, e in rates.estimates().items() for key, value in spread(name, e).items()}
        costs = [record.cost for record in records if record.cost]
        totals = {name: float(counts[name]) for name in ("documents", "refused", "drafts", "kept")}
        totals["items"] = totals.pop("kept")
        return {OVERALL: math.nan, **figures, **totals, **(total(costs) if costs else dict.fromkeys(COUNTED, 0.0))}

    return compute


@scorer(metrics=[build_figures([])])
def drafted() -> Scorer:
    """Score a document by the share of its drafts that passed every check; NOANSWER if it was refused."""

    async def score(state: TaskState, target: Target) -> InspectScore:
        metadata = state.output.metadata or {}
        outcome = Outcome.of_json(metadata[BUILD])
        # the calls for a document of the gate are in another log
        cost = cost_of(transcript().events) or metadata.get(_COST)
        drafts = len(outcome.drafts)
        failures = [failure for draft in outcome.drafts for failure in draft.failures]
        reasons = [f"{failure.check}: {failure.reason}" for failure in (outcome.refused, *failures) if failure]
        kept = sum(draft.row is not None for draft in outcome.drafts)
        record = ScoreRecord(outcome.refused, drafts, kept, Rates.counted(outcome), cost)
        return InspectScore(
            value=sum(draft.passed for draft in outcome.drafts) / drafts if drafts else NOANSWER,
            explanation="\n".join(reasons) or None,
            metadata={BUILD: record.to_metadata()},
        )

    return score
