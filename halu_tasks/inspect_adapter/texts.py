"""An Inspect task that checks users' texts against their sources, and scores those with a label."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Solver, TaskState

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.data.rows import Row, json_lines, read_rows, require_text, with_ids
from halu_tasks.inspect_adapter.figures import method_figures, spread
from halu_tasks.inspect_adapter.records import ScoreRecord
from halu_tasks.inspect_adapter.scorer import with_method_output
from halu_tasks.scorers.classification import label_metric, score_label
from halu_tasks.scorers.methods.cost import cost_of
from halu_tasks.scorers.metrics import estimates, mean, share_abstained, share_unparsed
from halu_tasks.scorers.reading.questions import NO, YES, hallucinates
from halu_tasks.scorers.statistics.calibration import probability_metrics
from halu_tasks.scorers.statistics.probability import FACT, with_probability
from halu_tasks.solvers.records import MethodRecord

_ALL_METRICS = (
    mean("hallucinated", "hallucinated", higher_is_better=None),
    mean("mean_probability", FACT, higher_is_better=None),
    share_unparsed(),
    share_abstained(),
)
_LABELLED_METRICS = (
    mean("acc", "correct"),
    label_metric("precision", YES, "precision"),
    label_metric("recall", YES, "recall"),
    label_metric("f1", YES, "f1"),
    *probability_metrics(YES),
)


def check_row(row: Row) -> None:
    """Raise ValueError, naming the field, if a row is invalid."""
    require_text(row, "text")
    sources = row["source"] if isinstance(row["source"], list) else [row["source"]]
    if not sources or not all(isinstance(source, str) and source.strip() for source in sources):
        raise ValueError("field 'source' must be a non-empty string or a list of non-empty strings")
    for field in ("id", "query", "label"):
        if field in row and not isinstance(row[field], str):
            raise ValueError(f"field {field!r} is {type(row[field]).__name__}, expected a string")
    if row.get("label", "No").strip().capitalize() not in (YES, NO):
        raise ValueError(f"label is {row['label']!r}, expected {YES!r} (hallucinated) or {NO!r}")


def texts_task(input: str, solver: Solver) -> Task:
    """Create a task that checks each text in a JSON Lines file with a solver.

    Raises:
        UsageError: The file does not exist.
        DataError: A row is invalid or an id is repeated.
    """
    path = Path(input).expanduser()
    if not path.is_file():
        raise UsageError(f"input={input}: no such file")
    samples = []
    seen: set[str] = set()
    rows = read_rows(json_lines(path), path, {"text": str, "source": object}, check_row)
    for text_hash, row in with_ids(rows, "text"):
        id = row.get("id", text_hash)
        if id in seen:
            raise DataError(f"{path}: duplicate id {id!r}; ids must be unique")
        seen.add(id)
        sources = row["source"] if isinstance(row["source"], list) else [row["source"]]
        subject = {"text": row["text"].strip(), "source": "\n\n".join(source.strip() for source in sources)}
        if row.get("query", "").strip():
            subject["query"] = row["query"].strip()
        target = row.get("label", "").strip().capitalize()
        samples.append(Sample(id=id, input=subject["text"], target=target, metadata={"subject": subject}))
    return Task(
        dataset=MemoryDataset(samples, name=path.name, location=str(path)),
        solver=solver,
        scorer=text_score(),
        name="factored_verification",
        version="1-A",
    )


@metric(name="text_figures", scores="unreduced")
def text_figures() -> Metric:
    """Compute the metrics of a texts task.

    Over all texts, these are `hallucinated` (the share of texts called hallucinated), `mean_probability` of
    hallucination, `unparsed` and `abstained`; over those with a label, accuracy and other classification metrics; and
    the counts and costs of the method.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        records = ScoreRecord.of_all(scores)
        if not records:
            return {"hallucinated": math.nan}
        all_scores = [record.score for record in records]
        labelled = [score for score in all_scores if score.target]
        by_name = estimates(_ALL_METRICS, all_scores) | estimates(_LABELLED_METRICS, labelled)
        figures = {key: value for name, e in by_name.items() for key, value in spread(name, e).items()}
        return {**figures, "labelled": float(len(labelled)), **method_figures(records)}

    return compute


@scorer(metrics=[text_figures()])
def text_score() -> Scorer:
    """Score whether a text is called hallucinated: C or I if it has a label, otherwise N."""

    async def score(state: TaskState, target: Target) -> InspectScore:
        answer = hallucinates(state.output.completion)
        id = str(state.sample_id)
        label_score = score_label(id, id, target.text, answer, {})
        measurements = {} if answer.value is None else {"hallucinated": float(answer.value == YES)}
        measurements |= label_score.measurements if target.text else {}
        label_score = replace(label_score, measurements=measurements)
        method_record = MethodRecord.from_metadata(state.output.metadata)
        record = with_method_output(label_score, method_record)
        text_score = with_probability(record.score, method_record.probability)
        acc = text_score.measurements.get("correct")
        record = replace(record, score=text_score, acc=acc, cost=cost_of(transcript().events))
        value = NOANSWER if acc is None else CORRECT if acc else INCORRECT
        return InspectScore(
            value=value, answer=answer.value, explanation=text_score.reason or None, metadata=record.as_metadata()
        )

    return score
