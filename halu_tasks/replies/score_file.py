"""Scoring a file of predictions."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from errno import EISDIR
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks import __version__
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import DATA_OPTIONS, Options
from halu_tasks.data.cache import sha256_of
from halu_tasks.replies.judge_errors import label_warnings, uncorrected_note
from halu_tasks.replies.predictions import (
    ID_FIELD,
    OUTPUT_FIELD,
    Prediction,
    check_targets,
    read_predictions,
    unknown_id,
    with_target,
)
from halu_tasks.replies.scoring import outcome_of, prepare_judge, reply_warnings, score_replies
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.metrics import Estimate, as_json, estimates
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, build

_BATCH = 1_000
"""Number of items scored at a time if no judge is asked; a compromise between speed and memory."""


@dataclass(frozen=True, kw_only=True)
class ScoreRequest:
    """What to score.

    Attributes:
        predictions: The predictions file.
        id_field: The field of the ids.
        output_field: The field of the replies.
        partial: Score only the items in the file; otherwise, missing ones count as empty replies.
        model: The name of the model that gave the replies.
        details: The file to write each item's score to.
    """

    predictions: str
    id_field: str = ID_FIELD
    output_field: str = OUTPUT_FIELD
    partial: bool = False
    model: str | None = None
    details: str | None = None


class Predictions(NamedTuple):
    """The scores of predictions.

    Attributes:
        scores: The score of each item, in the order of the data.
        missing: The ids of items without a prediction.
        outcomes: The number of predictions by outcome.
    """

    scores: list[Score]
    missing: set[str]
    outcomes: Counter[Outcome]


@dataclass(frozen=True)
class ScoredFile:
    """A predictions file with its scores.

    Attributes:
        request: What was scored.
        built: The task.
        scores: The score of each item, in the order of the data.
        missing: The ids of items without a prediction.
        estimates: The metrics.
        warnings: What keeps the figures from saying much about the model.
    """

    request: ScoreRequest
    built: Built
    scores: Sequence[Score]
    missing: Collection[str]
    estimates: dict[str, Estimate]
    warnings: Sequence[str]

    @property
    def note(self) -> str | None:
        """What readers of a judged rate have to know; None if its error is corrected, or no judge was asked."""
        return uncorrected_note(self.built.task, self.scores)

    def reference_figures(self) -> dict[str, dict[str, float]]:
        """Return the metrics of replies to compare with, such as always the same one, by reply."""
        reference_replies = self.built.scoring.reference_replies
        if not (reference_replies and self.scores):
            return {}
        return {reply: dict(figures) for reply, figures in reference_replies(self.scores).items()}

    def as_json(self) -> dict[str, Any]:
        """Return the metrics, and what a report needs to read the replies again, as JSON values."""
        figures = as_json(self.estimates)
        return {
            "task": self.built.task.name,
            "scoring": self.built.options.scoring,
            "data": self.built.located.kind,
            "n": len(self.scores),
            "missing": len(self.missing),
            "metrics": figures["metrics"],
            "intervals": figures["intervals"],
            "version": self.built.version,
            "run": self._run(),
        }

    def _run(self) -> dict[str, Any]:
        """Return what is known of the run; how the model was asked is not."""
        built, request = self.built, self.request
        names = {*DATA_OPTIONS, *built.task.task_options}
        return {
            "model": request.model,
            "predictions": request.predictions,
            "predictions_sha256": sha256_of(Path(request.predictions)),
            "id_field": request.id_field,
            "output_field": request.output_field,
            "partial": request.partial,
            "details": request.details,
            "options": {name: getattr(built.options, name) for name in built.options.specs() if name in names},
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "package": __version__,
            "halu_tasks": built.provenance.without_prompt().as_json(),
        }


def score_file(task: str, options: Options, request: ScoreRequest) -> ScoredFile:
    """Score a predictions file.

    Args:
        task: The task's name, or the path of a task file.
        options: The task's options.
        request: What to score.

    Raises:
        UsageError: An option is about judges, and the task has none.
        DataError: The file, the data or the labels are damaged, an id is unknown, or the details cannot be written.
        JudgeError: The judge failed on too many items.
    """
    built = build(task, options)
    if not built.task.judged and (options.human or options.judge_sensitivity is not None):
        raise UsageError(f"task {built.task.name} has no judge, so it has no judge's errors to correct")
    details = Path(request.details) if request.details else None
    if details:
        _check_writable(details)
    path = Path(request.predictions)
    predictions = read_predictions(path, request.id_field, request.output_field)
    check_targets(path, predictions, built.task, built.options)
    prepare_judge(built)
    folder = details.parent if details else None
    scores, missing, outcomes = score_predictions(built, path, predictions, partial=request.partial, folder=folder)
    warnings = reply_warnings(built.task.name, outcomes)
    warnings += label_warnings(built.task, built.human_labels, scores)
    if missing:
        warnings.insert(
            0,
            f"{len(missing):,} of {len(scores):,} items have no prediction in {path} and count as empty replies; "
            "--partial scores only the ids in the file",
        )
    if details:
        _write_details(details, scores, missing)
    metrics = built.task.metrics_of(built.options.scoring, scores)
    return ScoredFile(request, built, scores, missing, estimates(metrics, scores), warnings)


def score_predictions(
    built: Built, path: Path, predictions: dict[str, Prediction], *, partial: bool, folder: Path | None = None
) -> Predictions:
    """Score the predictions of all items.

    Args:
        built: The task.
        path: The file of the predictions, for error messages.
        predictions: The predictions by id; they are removed as they are scored.
        partial: Leave out items without a prediction; otherwise, they count as empty replies.
        folder: Where results are written, if that is known.

    Raises:
        DataError: The task has no item with the id of a prediction.
    """
    scores: list[Score] = []
    missing: set[str] = set()
    outcomes: Counter[Outcome] = Counter()
    batch: list[tuple[Item, Reply]] = []
    # a judge is asked about all items at once, and only when every id is known to be valid
    size = math.inf if built.task.judged and built.options.judge else _BATCH

    def score_batch() -> None:
        batch_scores = score_replies(built, batch, folder)
        outcomes.update(
            outcome_of(reply.text, score, built.options.scoring)
            for (item, reply), score in zip(batch, batch_scores, strict=True)
            if item.id not in missing
        )
        scores.extend(batch_scores)
        batch.clear()

    for item in built.stream():
        prediction = predictions.pop(item.id, None)
        if prediction is None:
            if partial:
                continue
            missing.add(item.id)
            prediction = Prediction(Reply(""), 0)
        reply = prediction.reply
        # scoring does not need the prompts, which would take up memory
        batch.append((replace(with_target(item, reply.target), system="", prompt=""), reply))
        if len(batch) >= size:
            score_batch()
    if predictions:
        raise unknown_id(path, predictions, built.task)
    if batch:
        score_batch()
    return Predictions(scores, missing, outcomes)


def _check_writable(path: Path) -> None:
    """Raise DataError unless a file can be written, before replies are scored and a judge is asked."""
    partial = path.with_name(path.name + ".part")
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if path.is_file() or not path.exists():
            partial.touch()
            partial.unlink()
    except OSError as error:
        raise DataError(f"details {path}: {error.strerror or error}") from None


def _write_details(path: Path, scores: Sequence[Score], missing: Collection[str]) -> None:
    """Write a JSON line for each item; the file is written completely or not at all."""
    with atomic_write(path, "details") as file:
        for score in scores:
            line = {
                "id": score.id,
                "answer": score.answer,
                "outcome": score.outcome,
                "target": score.target,
                "scores": dict(score.measurements),
                "reason": "no prediction" if score.id in missing else score.reason,
                **({"verdicts": [verdict._asdict() for verdict in score.verdicts]} if score.verdicts else {}),
            }
            file.write(json.dumps(line) + "\n")
