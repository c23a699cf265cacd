"""Pipelines as Inspect tasks: a sample a document. No pipeline's logic lives here."""

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
from inspect_ai.scorer import NOANSWER, Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.builders.documents import Document
from halu_tasks.builders.outcomes import OVERALL, Outcome, Rates
from halu_tasks.builders.parts import in_order, of_part
from halu_tasks.builders.pipeline import Failure, Pipeline
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.data import sha256_of
from halu_tasks.errors import DataError, ModelError, UsageError
from halu_tasks.reaching import exhausted, reach_active, reach_here
from halu_tasks.scorers.cost import COUNTED, cost_of, total
from halu_tasks.scorers.inspect_scorer import spread
from halu_tasks.solvers.asking import ask, model_in, named_role

BUILD = "halu_build"
"""Where a log tells what it builds, a sample its document, an output its drafts, and a score what they cost."""

MAX_TOKENS = 4096
_REFUSED_SHOWN = 500
"""Characters of a document that is not worked on that a log keeps."""


def build_task(name: str, documents: str, part: str | None = None, cache: bool = False, **options: Any) -> Task:
    """The Inspect task that drafts items of documents by a pipeline.

    Args:
        name: of the pipeline.
        documents: a file or folder as the pipeline reads it.
        part: `0/4` for the first of four parts of the documents, by the hashes of their ids; all where None.
        cache: keep replies, so that a run with other options asks nothing twice.
        options: the pipeline's.

    Raises:
        UsageError: an unknown option, or a value it cannot have.
        DataError: the documents are missing or damaged, or two have one id.
    """
    pipeline = pipeline_named(name, options)
    path = Path(documents).expanduser()
    if not path.exists():
        raise UsageError(f"documents={documents}: there is no such file or folder")
    try:
        found = in_order(of_part(pipeline.documents(path), part))
    except DataError as error:
        raise DataError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    if not found:
        raise DataError(f"{path}: holds no documents{f' of part {part}' if part else ''}")
    told = {
        **pipeline.settings,
        "documents": path.name,
        # a folder has no sum of its own
        "documents_sha256": sha256_of(path) if path.is_file() else None,
        "part": part,
        "options": {key: value for key, value in options.items() if value is not None},
    }
    pipeline.ready()
    reach_active()
    return Task(
        dataset=MemoryDataset([_sample(document, pipeline) for document in found], name=name, location=str(path)),
        solver=draft_items(name, {key: value for key, value in options.items() if value is not None}, cache),
        scorer=drafted(),
        metrics=[build_figures(list(pipeline.checks))],
        # the usual way to get the same again; what a model was given of its own counts more
        config=GenerateConfig(temperature=0.0, max_tokens=MAX_TOKENS),
        name=name,
        version=f"{pipeline.version}-A",
        headline_metric=HeadlineMetric(metric=OVERALL),
        metadata={BUILD: told},
    )


def _sample(document: Document, pipeline: Pipeline) -> Sample:
    refused = pipeline.refuse(document)
    shown = document.text if refused is None else document.text[:_REFUSED_SHOWN]
    fields = {} if refused else document.fields
    known = {"fields": fields, "licence": document.licence, "refused": list(refused) if refused else None}
    return Sample(id=document.id, input=shown or "(empty)", metadata={BUILD: known})


@solver
def draft_items(builder: str, options: Mapping[str, Any], cache: bool = False) -> Solver:
    """Work on a document by a pipeline. The model roles `generator` and `verifier` are the run's model where they are
    not named.

    Args:
        builder: name of the pipeline.
        options: of the pipeline.
        cache: keep replies, so that a run with other options asks nothing twice.
    """
    pipeline = pipeline_named(builder, options)
    lock = anyio.Lock()
    dead: dict[str, ModelError] = {}

    async def asked(prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str:
        # without a configuration of its own a prompt is asked as the run is configured
        config: dict[str, Any] = {"temperature": 0.0, "max_tokens": MAX_TOKENS} if named_role(role) else {}
        if draws > 1:
            config["temperature"] = 1.0
        model = model_in(role)
        if told := dead.get(str(model)):
            raise told
        try:
            return (await ask(prompt, role, cache=cache, draw=draw, **config)).completion
        except Exception as error:
            if exhausted(error):
                await still_there(model)
            raise

    async def still_there(model: Model) -> None:
        """Raise ModelError where a model that could not be asked answers nothing else either: all further documents
        would wait as long for it."""
        async with lock:
            if str(model) not in dead:
                try:
                    await reach_here(model)
                except ModelError as error:
                    dead[str(model)] = error
        if told := dead.get(str(model)):
            raise told

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        known = state.metadata[BUILD]
        id = str(state.sample_id)
        if known["refused"]:
            outcome = Outcome(id, refused=Failure(*known["refused"]), licence=known["licence"])
        else:
            document = Document(id, state.input_text, known["fields"])
            outcome = Outcome(id, tuple(await pipeline.drafts(document, asked)), licence=known["licence"])
        kept = sum(draft.row is not None for draft in outcome.drafts)
        told = f"refused: {outcome.refused.reason}" if outcome.refused else f"{kept} of {len(outcome.drafts)} kept"
        state.output = ModelOutput.from_content(str(state.model), told)
        state.output.metadata = {BUILD: outcome.as_json()}
        return state

    return solve


@metric(name="build_figures", scores="unreduced")
def build_figures(checks: list[str]) -> Metric:
    """Pass rates by check with clustered errors, counts of documents, drafts and kept items, and what they cost."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        records: list[Mapping[str, Any]] = [
            record for score in scores if (record := (score.score.metadata or {}).get(BUILD))
        ]
        found = Rates(checks)
        counts: Counter[str] = Counter(documents=len(records))
        for record in records:
            found.add(record["counts"])
            counts.update(refused=bool(record["refused"]), drafts=record["drafts"], kept=record["kept"])
        figures = {key: value for name, e in found.estimates().items() for key, value in spread(name, e).items()}
        costs = [record["cost"] for record in records if record["cost"]]
        told = {name: float(counts[name]) for name in ("documents", "refused", "drafts", "kept")}
        told["items"] = told.pop("kept")
        return {OVERALL: math.nan, **figures, **told, **(total(costs) if costs else dict.fromkeys(COUNTED, 0.0))}

    return compute


@scorer(metrics=[build_figures([])])
def drafted() -> Scorer:
    """What became of a document: the share of its drafts that passed every check, N where it was refused."""

    async def score(state: TaskState, target: Target) -> InspectScore:
        record = (state.output.metadata or {})[BUILD]
        outcome = Outcome.of_json(record)
        drafts = len(outcome.drafts)
        failures = [failure for draft in outcome.drafts for failure in draft.failures]
        told = [f"{failure.check}: {failure.reason}" for failure in (outcome.refused, *failures) if failure]
        known = {
            "refused": record["refused"],
            "drafts": drafts,
            "kept": sum(draft.row is not None for draft in outcome.drafts),
            "counts": Rates.counted(outcome),
            "cost": cost_of(transcript().events),
        }
        return InspectScore(
            value=sum(draft.passed for draft in outcome.drafts) / drafts if drafts else NOANSWER,
            explanation="\n".join(told) or None,
            metadata={BUILD: known},
        )

    return score
