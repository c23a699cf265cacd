"""Runs from the figures that `halu-tasks score --json` printed, and the predictions that they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halu_tasks.data import json_lines, sha256_of
from halu_tasks.errors import DataError
from halu_tasks.items import Item, Reply
from halu_tasks.options import Options
from halu_tasks.predictions import Prediction, aimed, read_predictions
from halu_tasks.runs import Answered, Run
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, build

RECORD = "halu_tasks"


def is_scored(found: Any) -> bool:
    """Whether a JSON value is what `halu-tasks score --json` prints."""
    return isinstance(found, dict) and {"task", "scoring", "metrics", "missing"} <= found.keys()


def read_run(path: Path, found: Mapping[str, Any]) -> Run:
    """The run whose figures `found`, read from `path`, holds.

    The replies are scored again, which takes their data; those of a judged task have the scores of their --details.

    Raises:
        DataError: predictions, data or scores are not there or are others than those of the figures.
    """
    told = found.get("run")
    if not told:
        raise DataError(f"{path}: was written by an older version of this package; score the predictions again")
    provenance = told[RECORD]
    options = Options(**told["options"], scoring=found["scoring"])
    built = build(found["task"], options)
    if built.located.sha256 != provenance["data_sha256"]:
        raise DataError(f"{path}: the data {built.located.path} are not those that it was scored on; score it again")
    predictions = _beside(path, told["predictions"], told["predictions_sha256"])
    # older versions knew no other names
    fields = {name: told[name] for name in ("id_field", "output_field") if name in told}
    replies = read_predictions(predictions, **fields)
    if built.task.judged and provenance.get("judge"):
        answers = _from_details(path, told, built, replies)
    else:
        answers = [_scored(built, item, reply) for item, reply in _items(built, replies, partial=told["partial"])]
    run = Run(
        source=str(path),
        id=f"{told['predictions_sha256']} {told['model']} {told['created']}",
        harness=f"halu-tasks score {told['package']}",
        task=built.task.name,
        scoring=found["scoring"],
        steps=(),
        model=told["model"] or str(told["predictions"]),
        roles={"grader": provenance["judge"]} if provenance.get("judge") else {},
        settings={},
        provenance=provenance,
        epochs=1,
        answers=answers,
        created=told["created"],
    )
    figures = {name: figure.value for name, figure in estimates(built.scoring.metrics, run.scores).items()}
    if figures != found["metrics"]:
        raise DataError(
            f"{path}: its replies have other figures now ({_other(figures, found['metrics'])}); score it again"
        )
    return run


def _items(built: Built, replies: Mapping[str, Prediction], *, partial: bool) -> list[tuple[Item, Reply]]:
    """The items with their replies, empty for those without one, which `partial` leaves out."""
    return [
        (item, replies[item.id].reply if item.id in replies else Reply(""))
        for item in built.stream()
        if item.id in replies or not partial
    ]


def _scored(built: Built, item: Item, reply: Reply) -> Answered:
    return Answered(item, reply.text, built.task.score(built.options.scoring, aimed(item, reply.target), reply))


def _from_details(
    path: Path, told: Mapping[str, Any], built: Built, replies: Mapping[str, Prediction]
) -> list[Answered]:
    if not told["details"]:
        raise DataError(f"{path}: {built.task.name} is judged, and the verdicts are not kept; score it with --details")
    details = _beside(path, told["details"])
    rows = {row["id"]: row for _, row in json_lines(details)}
    items = _items(built, replies, partial=told["partial"])
    if rows.keys() != {item.id for item, _ in items}:
        raise DataError(f"{path}: {details} is of other items; score it again")
    return [
        Answered(
            item,
            reply.text,
            Score(
                item.id,
                item.cluster,
                row["answer"],
                row["target"],
                row["scores"],
                item.tags,
                row["reason"],
                row.get("outcome") or ("unparsed" if row["answer"] is None else "answered"),
                row.get("verdicts", []),
            ),
        )
        for item, reply in items
        for row in [rows[item.id]]
    ]


def _beside(path: Path, named: str, sha256: str | None = None) -> Path:
    """A file by the name it was given when `path` was written, or beside `path`: that with the checksum, where one is
    known."""
    places = (Path(named).expanduser(), path.parent / named, path.parent / Path(named).name)
    files = [place for place in places if place.is_file()]
    if not files:
        looked = " or ".join(str(place) for place in dict.fromkeys(places))
        raise DataError(f"{path}: {named} is not there (looked for {looked}); call from where it was scored")
    found = next((file for file in files if sha256 in (None, sha256_of(file))), None)
    if found is None:
        raise DataError(f"{path}: {files[0]} is not what was scored; score it again")
    return found


def _other(figures: Mapping[str, float], told: Mapping[str, float]) -> str:
    name = next(name for name in [*figures, *told] if figures.get(name) != told.get(name))
    return f"{name} is {figures.get(name)}, was {told.get(name)}"


def read_json(path: Path) -> Any:
    """The JSON value of a file. Raises DataError where it has none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: is no whole JSON ({' '.join(str(error).split())})") from None
