"""`halu-tasks score`: figures from a predictions file."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from errno import EISDIR
from pathlib import Path
from typing import Any

from halu_tasks import __version__
from halu_tasks.cli import DONE_IN_PART, options_of, warn
from halu_tasks.cli.tables import estimates_table
from halu_tasks.data.cache import sha256_of
from halu_tasks.errors import DataError
from halu_tasks.files import atomic_write
from halu_tasks.items import Item, Reply
from halu_tasks.replies.predictions import Prediction, check_targets, read_predictions, unknown_id, with_target
from halu_tasks.replies.scoring import outcome_of, prepare_judge, reply_warnings, score_replies
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.metrics import Estimate, as_json, estimates
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, build

_BATCH = 1_000
"""Items scored at a time where no judge is asked: enough to be fast, few enough to hold."""


def run(arguments: argparse.Namespace) -> int:
    built = build(arguments.task, options_of(arguments))
    details = Path(arguments.details) if arguments.details else None
    if details:
        check_details(details)
    path = Path(arguments.predictions)
    predictions = read_predictions(path, arguments.id_field, arguments.output_field)
    check_targets(path, predictions, built.task, built.options)
    prepare_judge(built)
    folder = details.parent if details else None
    scores, missing, outcomes = score_predictions(built, path, predictions, partial=arguments.partial, folder=folder)
    if missing:
        warn(
            f"{len(missing):,} of {len(scores):,} items have no prediction in {path} and count as empty replies; "
            "--partial scores only the ids in the file"
        )
    for warning in reply_warnings(built.task.name, outcomes):
        warn(warning)
    found = estimates(built.scoring.metrics, scores)
    if details:
        write_details(details, scores, missing)
    if arguments.json:
        figures = as_json(found)
        shown = {
            "task": built.task.name,
            "scoring": built.options.scoring,
            "data": built.located.kind,
            "n": len(scores),
            "missing": len(missing),
            "metrics": figures["metrics"],
            "intervals": figures["intervals"],
            "version": built.version,
            "run": told(built, arguments),
        }
        print(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        print(report(built, scores, len(missing), found, partial=arguments.partial))
    return DONE_IN_PART if missing else 0


def told(built: Built, arguments: argparse.Namespace) -> dict[str, Any]:
    """What a report needs to find the replies again and to know what they compare with. How the model was asked is
    not known here, so nothing of that is told."""
    own = built.task.task_options
    given = {name: value for name, value in asdict(built.options).items() if name in ("data", *own)}
    return {
        "model": arguments.model,
        "predictions": arguments.predictions,
        "predictions_sha256": sha256_of(Path(arguments.predictions)),
        "id_field": arguments.id_field,
        "output_field": arguments.output_field,
        "partial": arguments.partial,
        "details": arguments.details,
        "options": given,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "package": __version__,
        "halu_tasks": built.provenance.without_prompt().as_json(),
    }


def score_predictions(
    built: Built, path: Path, predictions: dict[str, Prediction], *, partial: bool, folder: Path | None = None
) -> tuple[list[Score], set[str], Counter[Outcome]]:
    """A score for every item, in the order of the data; the ids of the items without a prediction, which score as
    empty replies unless `partial` leaves them out; and what became of the predictions. Empties `predictions`.
    `folder` is where results go.

    Raises:
        DataError: a prediction's id is no item of the task.
    """
    scores: list[Score] = []
    missing: set[str] = set()
    outcomes: Counter[Outcome] = Counter()
    batch: list[tuple[Item, Reply]] = []
    # a judge is asked once for all, side by side, and only when every id is known
    size = math.inf if built.task.judged and built.options.judge else _BATCH

    def score_batch() -> None:
        found = score_replies(built, batch, folder)
        outcomes.update(
            outcome_of(reply.text, score, built.options.scoring)
            for (item, reply), score in zip(batch, found, strict=True)
            if item.id not in missing
        )
        scores.extend(found)
        batch.clear()

    for item in built.stream():
        prediction = predictions.pop(item.id, None)
        if prediction is None:
            if partial:
                continue
            missing.add(item.id)
            prediction = Prediction(Reply(""), 0)
        # the prompt has done its work, and many thousand of them are not needed at once
        reply = prediction.reply
        batch.append((replace(with_target(item, reply.target), system="", prompt=""), reply))
        if len(batch) >= size:
            score_batch()
    if predictions:
        raise unknown_id(path, predictions, built.task)
    if batch:
        score_batch()
    return scores, missing, outcomes


def check_details(path: Path) -> None:
    """Raise DataError unless `path` can be written: before replies are scored and a judge is asked."""
    partial = path.with_name(path.name + ".part")
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if path.is_file() or not path.exists():
            partial.touch()
            partial.unlink()
    except OSError as error:
        raise DataError(f"details {path}: {error.strerror or error}") from None


def write_details(path: Path, scores: list[Score], missing: Collection[str]) -> None:
    """One JSON line an item: id, answer, outcome, target, scores, reason, and the judge's verdicts where there are any.
    Written whole or not at all."""

    def lines() -> Iterator[dict[str, Any]]:
        for s in scores:
            reason = "no prediction" if s.id in missing else s.reason
            yield {
                "id": s.id,
                "answer": s.answer,
                "outcome": s.outcome,
                "target": s.target,
                "scores": dict(s.measurements),
                "reason": reason,
                **({"verdicts": [verdict._asdict() for verdict in s.verdicts]} if s.verdicts else {}),
            }

    with atomic_write(path, "details") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines())


def report(built: Built, scores: list[Score], missing: int, found: dict[str, Estimate], *, partial: bool) -> str:
    """The table for people."""
    part = " (partial: only the ids in the file)" if partial else ""
    asked = f"{len(scores)} item{'s' * (len(scores) != 1)}{part}, {missing} without a prediction"
    head = f"{built.task.name} {built.version}  scoring: {built.options.scoring}  data: {built.located.kind}  {asked}"
    beside = built.scoring.reference_replies(scores) if built.scoring.reference_replies and scores else {}
    fixed = "".join(
        f"\nfor comparison, {metric} of {reply}: {value:.4f}"
        for reply, figures in beside.items()
        for metric, value in figures.items()
    )
    return f"{head}\n\n{estimates_table('metric', found)}{fixed}"
