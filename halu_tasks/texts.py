"""Texts of a user's own, with sources, as an Inspect task: checked by a method, scored where they have a label."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Solver, TaskState

from halu_tasks.data import Row, json_lines, read_rows, require_text, with_ids
from halu_tasks.errors import DataError, UsageError
from halu_tasks.scorers.calibration import probability_metrics
from halu_tasks.scorers.classification import label_metric, score_label
from halu_tasks.scorers.cost import cost_of
from halu_tasks.scorers.inspect_scorer import RECORD, of_method, spread, told_record
from halu_tasks.scorers.metrics import estimates, mean, share_abstained, share_unparsed
from halu_tasks.scorers.probability import FACT, with_probability
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.verdict_hallucination import NO, YES, hallucinates
from halu_tasks.solvers.asking import PROBABILITY

_OF_ALL = (
    mean("hallucinated", "hallucinated", higher_is_better=None),
    mean("mean_probability", FACT, higher_is_better=None),
    share_unparsed(),
    share_abstained(),
)
_OF_LABELLED = (
    mean("acc", "correct"),
    label_metric("precision", YES, "precision"),
    label_metric("recall", YES, "recall"),
    label_metric("f1", YES, "f1"),
    *probability_metrics(YES),
)


def check_row(row: Row) -> None:
    require_text(row, "text")
    sources = row["source"] if isinstance(row["source"], list) else [row["source"]]
    if not sources or not all(isinstance(source, str) and source.strip() for source in sources):
        raise ValueError("field 'source' is no text and no list of texts")
    for field in ("id", "query", "label"):
        if field in row and not isinstance(row[field], str):
            raise ValueError(f"field {field!r} is {type(row[field]).__name__}, expected a text")
    if row.get("label", "No").strip().capitalize() not in (YES, NO):
        raise ValueError(f"label is {row['label']!r}, expected {YES!r} where the text hallucinates, or {NO!r}")


def texts_task(input: str, solver: Solver) -> Task:
    """The task that puts each text of a file of JSON Lines to a method.

    Raises:
        UsageError: there is no such file.
        DataError: naming file and line: a bad row, or an id that occurs twice.
    """
    path = Path(input).expanduser()
    if not path.is_file():
        raise UsageError(f"input={input}: there is no such file")
    samples = []
    seen: set[str] = set()
    for made, row in with_ids(read_rows(path, {"text": str, "source": object}, check_row, json_lines), "text"):
        id = row.get("id", made)
        if id in seen:
            raise DataError(f"{path}: the id {id!r} occurs twice; ids must differ")
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
    """Of all texts `hallucinated`, the share called so, `mean_probability` of hallucination, and `unparsed`; of those
    with a label accuracy and its like; what the method counted and cost."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        records: list[Mapping[str, Any]] = [
            record for score in scores if (record := (score.score.metadata or {}).get(RECORD))
        ]
        if not records:
            return {"hallucinated": math.nan}
        found = [Score(**record["score"]) for record in records]
        labelled = [score for score in found if score.target]
        named = estimates(_OF_ALL, found) | estimates(_OF_LABELLED, labelled)
        figures = {key: value for name, e in named.items() for key, value in spread(name, e).items()}
        return {**figures, "labelled": float(len(labelled)), **of_method(records)}

    return compute


@scorer(metrics=[text_figures()])
def text_score() -> Scorer:
    """Whether a text is called hallucinated, and right where it has a label: C, I, or N without a label."""

    async def score(state: TaskState, target: Target) -> InspectScore:
        answer = hallucinates(state.output.completion)
        id = str(state.sample_id)
        found = score_label(id, id, target.text, answer, {})
        facts = {} if answer.value is None else {"hallucinated": float(answer.value == YES)}
        found = replace(found, facts={**facts, **(found.facts if target.text else {})})
        found, record = told_record(state.output.metadata or {}, found)
        if (probability := (state.output.metadata or {}).get(PROBABILITY)) is not None:
            found = with_probability(found, probability)
        record |= {"score": found.as_json(), "cost": cost_of(transcript().events)}
        value = NOANSWER if not target.text else CORRECT if found.facts["correct"] else INCORRECT
        return InspectScore(
            value=value, answer=answer.value, explanation=found.reason or None, metadata={RECORD: record}
        )

    return score
