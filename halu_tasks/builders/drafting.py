"""Pipelines as Inspect tasks with one sample per document. All pipeline logic is elsewhere.

Under the metadata key `BUILD`, a log has the build's settings, a sample what is known of its document besides id and
text, an output the `DocumentOutcome`, and a score the counts from which rates are computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, HeadlineMetric, transcript
from inspect_ai.model import GenerateConfig, Model, ModelOutput
from inspect_ai.model._generate_config import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
    active_generate_config,
)
from inspect_ai.scorer import NOANSWER, Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.builders.documents import Document, in_order
from halu_tasks.builders.logs import BUILD
from halu_tasks.builders.pipeline import MAX_TOKENS, Fault, Pipeline, pipeline_named
from halu_tasks.builders.records import KEPT, OVERALL, DocumentOutcome, Rates
from halu_tasks.core.errors import DataError, ModelError, UsageError
from halu_tasks.inspect_adapter.figures import spread
from halu_tasks.inspect_adapter.run_models import RunModels, run_eval
from halu_tasks.judging.reaching import exhausted, reach_active, reach_here
from halu_tasks.scorers.methods.cost import COUNTED, cost_of, total
from halu_tasks.solvers.asking import ask, model_in, named_role

_REFUSED_SHOWN = 500
"""Characters of a refused document that a log keeps."""


def draft(task: Task, logs: Path, models: RunModels, **settings: Any) -> EvalLog:
    """Draft items of the documents of a task that are not finished in a folder of logs.

    Args:
        task: The task.
        logs: The folder.
        models: The models.
        settings: Further arguments of `inspect_ai.eval_set`.

    Raises:
        DataError: The log cannot be written, or is that of another task.
        RunInterrupted: The run was interrupted from the keyboard.
    """
    # an error is retried at once, and does not end the run of the other documents
    return run_eval(task, logs, models, retry_on_error=2, continue_on_fail=True, log_realtime=False, **settings)


def build_task(name: str, documents: str, cache: bool = False, **options: Any) -> Task:
    """Create the Inspect task that drafts items of documents.

    Args:
        name: Name of the pipeline.
        documents: A file or folder the pipeline can read.
        cache: Cache replies, so that a run with other options does not repeat calls.
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
        selected = in_order(pipeline.documents(path))
    except DataError as error:
        raise DataError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    if not selected:
        raise DataError(f"{path}: contains no documents")
    given = {key: value for key, value in options.items() if value is not None}
    pipeline.ready()
    reach_active()
    return Task(
        dataset=MemoryDataset([_sample(document, pipeline) for document in selected], name=name, location=str(path)),
        solver=draft_items(name, given, cache),
        scorer=drafted(),
        metrics=[build_figures(list(pipeline.checks))],
        # without a temperature, which the pipeline has one of for each role; see `draft_items`
        config=GenerateConfig(max_tokens=MAX_TOKENS),
        name=name,
        version=f"{pipeline.version}-A",
        headline_metric=HeadlineMetric(metric=OVERALL),
        metadata={BUILD: pipeline.settings},
    )


def _sample(document: Document, pipeline: Pipeline) -> Sample:
    """Return the sample of a document; of a refused one, only the beginning is shown."""
    refused = pipeline.refuse(document)
    shown = document.text if refused is None else document.text[:_REFUSED_SHOWN]
    record = {
        "fields": {} if refused else document.fields,
        "licence": document.licence,
        "refused": refused and list(refused),
    }
    return Sample(id=document.id, input=shown or "(empty)", metadata={BUILD: record})


@solver
def draft_items(builder: str, options: Mapping[str, Any], cache: bool = False) -> Solver:
    """Draft items of documents with a pipeline.

    The model roles `generator` and `verifier` use the run's model unless assigned.

    Args:
        builder: Name of the pipeline.
        options: Options of the pipeline.
        cache: Cache replies, so that a run with other options does not repeat calls.
    """
    pipeline = pipeline_named(builder, options)
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
        record, id = state.metadata[BUILD], str(state.sample_id)
        refused = Fault(*record["refused"]) if record["refused"] else None
        document = Document(id, state.input_text, dict(record["fields"]))
        drafts = () if refused else tuple(await pipeline.drafts(document, ask_role))
        outcome = DocumentOutcome(id, drafts, refused, record["licence"])
        kept = sum(bool(draft.row) for draft in outcome.drafts)
        summary = f"refused: {outcome.refused.reason}" if outcome.refused else f"{kept} of {len(outcome.drafts)} kept"
        state.output = ModelOutput.from_content(str(state.model), summary)
        state.output.metadata = {BUILD: outcome.to_json()}
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
        records = [record for score in scores if (record := (score.score.metadata or {}).get(BUILD))]
        rates, numbers = Rates(checks), Counter[str](documents=len(records), refused=0, drafts=0, items=0)
        for record in records:
            counts = record["counts"]
            rates.add(counts)
            kept, drafts = counts.get(KEPT, (0, 0))
            numbers.update(refused=record["refused"], drafts=drafts, items=kept)
        figures = {
            key: value for name, rate in rates.rates().items() for key, value in spread(name, rate.share).items()
        }
        costs = [record["cost"] for record in records if record["cost"]]
        spent = total(costs) if costs else dict.fromkeys(COUNTED, 0.0)
        return {OVERALL: math.nan, **figures, **{name: float(n) for name, n in numbers.items()}, **spent}

    return compute


@scorer(metrics=[build_figures([])])
def drafted() -> Scorer:
    """Score a document by the share of its drafts that passed every check; NOANSWER if it was refused."""

    async def score(state: TaskState, target: Target) -> Score:
        outcome = DocumentOutcome.from_json((state.output.metadata or {})[BUILD])
        counts = outcome.counts()
        faults = [fault for draft in outcome.drafts for fault in draft.faults]
        reasons = [f"{fault.check}: {fault.reason}" for fault in (outcome.refused, *faults) if fault]
        passed, drafts = counts.get(OVERALL, (0, 0))
        cost = cost_of(transcript().events)
        return Score(
            value=passed / drafts if drafts else NOANSWER,
            explanation="\n".join(reasons) or None,
            metadata={BUILD: {"refused": bool(outcome.refused), "counts": counts, "cost": cost}},
        )

    return score
