"""An Inspect task that checks users' texts against their sources, and scores those with a label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.scorer import Scorer, Target, scorer
from inspect_ai.solver import Solver, TaskState

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.items import Item
from halu_tasks.data.rows import Row, json_lines, read_rows, require_text, with_ids
from halu_tasks.inspect_adapter.figures import ScoreRecord, figures
from halu_tasks.inspect_adapter.scorer import graded, inspect_score, with_method_output
from halu_tasks.scorers.classification import score_label
from halu_tasks.scorers.methods import cost_of
from halu_tasks.scorers.reading.questions import NO, YES, hallucinates
from halu_tasks.scorers.statistics.calibration import with_probability
from halu_tasks.solvers.records import MethodRecord


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


@scorer(metrics=[figures()])
def text_score() -> Scorer:
    """Score whether a text is called hallucinated: C or I if it has a label, otherwise N."""

    async def score(state: TaskState, target: Target) -> InspectScore:
        answer, id = hallucinates(state.output.completion), str(state.sample_id)
        scored = score_label(Item(id, id, target.text), answer)
        measurements = {} if answer.value is None else {"hallucinated": float(answer.value == YES)}
        scored = replace(scored, measurements={**measurements, **(scored.measurements if target.text else {})})
        method = MethodRecord.from_metadata(state.output.metadata)
        scored = with_probability(with_method_output(scored, method), method.probability)
        acc, cost = scored.measurements.get("correct"), cost_of(transcript().events)
        record = ScoreRecord(score=scored, acc=acc, cost=cost, method=method.method, counts=sorted(method.counts or ()))
        return inspect_score(scored, graded(acc), record.as_metadata())

    return score
