"""Pipelines as Inspect tasks with one sample per document, and their logs. All pipeline logic is elsewhere.

Under the metadata key `BUILD`, a log has the build's settings, a sample the other fields of its document and why it was
refused, an output the `DocumentOutcome`, and a score the counts from which rates are computed.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, HeadlineMetric
from inspect_ai.model import GenerateConfig, ModelOutput
from inspect_ai.model._generate_config import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
    active_generate_config,
)
from inspect_ai.scorer import NOANSWER, Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter
from tenacity import RetryError

from halu_tasks.builders.documents import Document, in_order, place
from halu_tasks.builders.pipeline import MAX_TOKENS, DocumentOutcome, Draft, Fault, Pipeline, pipeline_named
from halu_tasks.builders.rates import KEPT, OVERALL, PassCounts
from halu_tasks.core.errors import DataError, ModelError, UsageError
from halu_tasks.inspect_adapter.inspect_metrics import spread
from halu_tasks.inspect_adapter.run_models import RunModels, run_eval
from halu_tasks.judging.reaching import reach, reach_active
from halu_tasks.results.inspect_logs import read_header, read_summaries, samples_of, state
from halu_tasks.solvers.model_calls import RequestFailed, ask, model_in, named_role

BUILD = "halu_build"
"""The metadata key of what builds record in logs."""
COUNTS = ("documents", "refused", "drafts", "items")
"""The metrics of a log besides the rates."""
# characters of a refused document that a log keeps
_REFUSED_SHOWN = 500

_REDO = (
    "restore the log of that part from a backup, or move this one away and run the halu-tasks build command again to "
    "redo that part"
)
_OUTCOMES = TypeAdapter(DocumentOutcome)


# --- the task -------------------------------------------------------------------------------------


def build_task(name: str, documents: str = "", **options: Any) -> Task:
    """Create the Inspect task that drafts items of documents.

    Args:
        name: Name of the pipeline.
        documents: A file or folder the pipeline can read.
        options: Options of the pipeline.

    Raises:
        UsageError: An option does not exist or has an invalid value, or the documents are not named or do not exist.
        DataError: The documents are empty or damaged, or two have the same id.
    """
    if not documents:
        raise UsageError(f"{name} makes items of documents; name a file or folder with -T documents=PATH")
    pipeline = pipeline_named(name, options)
    path = Path(documents).expanduser()
    selected = in_order(pipeline.documents(path))
    if not selected:
        raise DataError(f"{path}: contains no documents")
    pipeline.ready()
    reach_active()
    return Task(
        dataset=MemoryDataset([_sample(document, pipeline) for document in selected], name=name, location=str(path)),
        solver=draft_items(name, {key: value for key, value in options.items() if value is not None}),
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
    text, fields, refused = document.text, document.fields, pipeline.refuse(document)
    if refused:
        text, fields = text[:_REFUSED_SHOWN], {"licence": document.licence}
    record = {"fields": fields, "refused": refused and list(refused)}
    return Sample(id=document.id, input=text or "(empty)", metadata={BUILD: record})


@solver
def draft_items(builder: str, options: Mapping[str, Any]) -> Solver:
    """Draft items of documents with a pipeline.

    The model roles `generator` and `verifier` use the run's model unless assigned.

    Args:
        builder: Name of the pipeline.
        options: Options of the pipeline.
    """
    pipeline = pipeline_named(builder, options)
    lock = anyio.Lock()
    unreachable: dict[str, ModelError] = {}

    async def ask_role(prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str:
        model = model_in(role)
        if error := unreachable.get(str(model)):
            raise error
        try:
            return (await ask(prompt, role, cache=False, draw=draw, **_call_settings(pipeline, role, draws))).completion
        except RetryError:
            # if the model answers nothing else either, every further document would wait for it just as long
            async with lock:
                try:
                    if str(model) not in unreachable:
                        await to_thread.run_sync(partial(reach, [model], again=True))
                except ModelError as reason:
                    unreachable[str(model)] = reason
            if error := unreachable.get(str(model)):
                raise error from None
            raise

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        record, id = state.metadata[BUILD], str(state.sample_id)
        refused = Fault(*record["refused"]) if record["refused"] else None
        document = Document(id, state.input_text, dict(record["fields"]))
        drafts: tuple[Draft, ...] = ()
        if not refused:
            try:
                drafts = tuple(await pipeline.drafts(document, ask_role))
            except RequestFailed as failed:
                refused = Fault("request", str(failed))
        outcome = DocumentOutcome(id, drafts, refused, document.licence)
        items = sum(bool(draft.row) for draft in drafts)
        summary = f"refused: {refused.reason}" if refused else f"{items} of {len(drafts)} kept"
        state.output = ModelOutput.from_content(str(state.model), summary)
        state.output.metadata = {BUILD: _OUTCOMES.dump_python(outcome, mode="json")}
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
    """Pass rates by check with clustered standard errors, and numbers of documents, drafts and items."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        records = [record for score in scores if (record := (score.score.metadata or {}).get(BUILD))]
        numbers, counts = Counter({**dict.fromkeys(COUNTS, 0), "documents": len(records)}), PassCounts()
        for record in records:
            counts.add(record["counts"])
            items, drafts = record["counts"].get(KEPT, (0, 0))
            numbers.update(refused=record["refused"], drafts=drafts, items=items)
        rates = counts.rates(checks).items()
        figures = {key: value for name, rate in rates for key, value in spread(name, rate.share).items()}
        return {OVERALL: math.nan, **figures, **{name: float(n) for name, n in numbers.items()}}

    return compute


@scorer(metrics=[build_figures([])])
def drafted() -> Scorer:
    """Score a document by the share of its drafts that passed every check; NOANSWER if it was refused."""

    async def score(state: TaskState, target: Target) -> Score:
        outcome = _OUTCOMES.validate_python((state.output.metadata or {})[BUILD])
        counts = outcome.counts()
        faults = [fault for draft in outcome.drafts for fault in draft.faults]
        reasons = [f"{fault.check}: {fault.reason}" for fault in (outcome.refused, *faults) if fault]
        passed, drafts = counts.get(OVERALL, (0, 0))
        return Score(
            value=passed / drafts if drafts else NOANSWER,
            explanation="\n".join(reasons) or None,
            metadata={BUILD: {"refused": bool(outcome.refused), "counts": counts}},
        )

    return score


# --- logs -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DraftLogs:
    """Inspect's logs of a run and its continuations in a folder, which keep the drafts of documents.

    Attributes:
        folder: The folder.
        name: What was drafted, for messages.
        settings: The settings of the pipeline that logs must have.
        ids: The documents that logs must have; None for any.
    """

    folder: Path
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    ids: frozenset[str] | None = None

    def headers(self) -> list[EvalLog]:
        """Return the headers of the logs, oldest first.

        Unreadable logs are skipped: a killed process leaves such logs behind, and its work is repeated.

        Raises:
            DataError: A log is not one of these documents and settings.
        """
        logs = [(log, path.stat().st_mtime_ns) for path in self.folder.glob("*.eval") if (log := _header(path))]
        for log, _ in logs:
            self._check(log)
        # timestamps in logs have whole seconds, so several can be equal
        return [log for log, written in sorted(logs, key=lambda entry: (entry[0].eval.created, entry[1]))]

    def _check(self, log: EvalLog) -> None:
        settings, planned = (log.eval.metadata or {}).get(BUILD) or {}, _sample_ids(log)
        faults = [f"its {key} differs" for key, value in self.settings.items() if settings.get(key) != value]
        if self.ids is not None and (stray := planned ^ self.ids if _is_finished(log) else planned - self.ids):
            faults.append(f"it has other documents, such as {min(stray)!r}")
        if faults:
            raise DataError(f"{log.location}: is not a log of {self.name} of this build ({faults[0]}); {_REDO}")

    def finished(self) -> EvalLog | None:
        """Return the log of all documents; None if some were not worked on."""
        return next((log for log in reversed(self.headers()) if _is_finished(log)), None)

    def kept(self) -> int:
        """Return the number of documents that Inspect will not work on again."""
        logs = self.headers()
        return sum(each.completed and not each.error for each in read_summaries(Path(logs[-1].location))) if logs else 0

    def draft(self, task: Task, models: RunModels) -> EvalLog:
        """Draft items of the documents of a task that are not finished.

        Raises:
            DataError: The log cannot be written, or is that of another task.
            RunInterrupted: The run was interrupted from the keyboard.
        """
        for path in self.folder.glob("*.eval"):
            if _header(path) is None:  # Inspect would fail on it
                path.rename(path.with_name(path.name + ".damaged"))
        # an error is retried at once, and does not end the run of the other documents
        return run_eval(task, self.folder, models, retry_on_error=2, continue_on_fail=True, log_realtime=False)

    def describe_failures(self) -> str:
        """Describe how many documents failed, and the error of the first one."""
        logs = self.headers()
        if not logs:
            return "was not started"
        summaries = read_summaries(Path(logs[-1].location))
        errors = [str(summary.error) for summary in summaries if summary.error]
        if not errors:
            return f"ended as {state(logs[-1])}"
        # the error of a failed call quotes the whole request before it says what was wrong
        error = " ".join(errors[0].replace("\\n", "\n").rpartition("\n\n")[2].replace("\\", "").split())[:200]
        return f"{len(errors)} failed, the first one with {error}"

    def outcomes(self) -> list[DocumentOutcome]:
        """Return the outcomes of the documents, sorted by `place`.

        Documents that ended in an error have no outcome. A finished log contains the outcomes of all earlier ones;
        without a finished log, the last outcome of each document counts.

        Raises:
            DataError: A log is damaged.
        """
        finished, outcomes = self.finished(), dict[str, DocumentOutcome]()
        for log in [finished] if finished else [log for log in self.headers() if log.status != "started"]:
            for sample in samples_of(log.location):
                record = ((sample.get("output") or {}).get("metadata") or {}).get(BUILD)
                if record is not None and not sample.get("error"):
                    outcomes[str(sample["id"])] = _OUTCOMES.validate_python(record)
        if finished and (missing := _sample_ids(finished) - outcomes.keys()):
            raise DataError(f"{finished.location}: lacks {len(missing)} documents ({min(missing)!r}); {_REDO}")
        return [outcomes[id] for id in sorted(outcomes, key=place)]


def _is_finished(log: EvalLog) -> bool:
    return log.status == "success" and not log.invalidated


def _sample_ids(log: EvalLog) -> set[str]:
    return {str(id) for id in log.eval.dataset.sample_ids or ()}


def _header(path: Path) -> EvalLog | None:
    """Read a log's header; None if the file is not a readable log."""
    try:
        return read_header(path)
    except Exception:
        # invalid files can fail with any exception
        return None
