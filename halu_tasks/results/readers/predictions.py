"""Reading runs from the output of `halu-tasks score --json` and the predictions that it scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.data.cache import sha256_of
from halu_tasks.data.rows import json_lines
from halu_tasks.replies.predictions import prediction_rows, with_target
from halu_tasks.results.run import Run, ScoredReply
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import Score, verdicts_of_json
from halu_tasks.tasks import Built, Provenance, build

RECORD = "halu_tasks"


def is_scored(content: Any) -> bool:
    """Return whether a JSON value is the output of `halu-tasks score --json`."""
    return isinstance(content, dict) and {"task", "scoring", "metrics", "missing"} <= content.keys()


def read_run(path: Path, content: Mapping[str, Any]) -> Run:
    """Read the run whose figures `halu-tasks score --json` printed.

    The replies are scored again, which requires the data. For a judged task, the scores come from the --details file.

    Args:
        path: The file with the output.
        content: Its JSON content.

    Raises:
        DataError: Predictions, data or details are missing or have changed.
    """
    record = content.get("run")
    if not record:
        raise DataError(f"{path}: does not say what was scored; score the predictions again")
    provenance = Provenance.from_json(record[RECORD])
    options = Options(**record["options"], scoring=content["scoring"])
    built = build(provenance.task.resolve(), options)
    if built.located.sha256 != provenance.data_sha256:
        raise DataError(
            f"{path}: the data {built.located} have changed since the predictions were scored; score them again"
        )
    replies = _read_replies(path, record)
    epochs = sorted({epoch for _, epoch in replies})
    items = _items(built, replies, epochs, partial=record["partial"])
    if built.task.judged and provenance.judge:
        answers = _read_details(path, record, built, items)
    else:
        answers = [_score(built, item, reply) for item, _, reply in items]
    checksums = _listed(record["predictions_sha256"])
    run = Run(
        source=str(path),
        id=f"{checksums[0] if len(checksums) == 1 else stable_hash(*checksums)} {record['model']} {record['created']}",
        harness=f"halu-tasks score {record['package']}",
        task=built.task.name,
        scoring=content["scoring"],
        steps=(),
        model=record["model"] or _listed(record["predictions"])[0],
        roles={"grader": provenance.judge} if provenance.judge else {},
        settings={},
        provenance=provenance,
        epochs=len(epochs),
        answers=answers,
        created=record["created"],
    )
    metrics = built.task.metrics_of(built.options.scoring, run.scores)
    figures = {name: figure.value for name, figure in estimates(metrics, run.scores).items()}
    if figures != content["metrics"]:
        change = _first_change(figures, content["metrics"])
        raise DataError(f"{path}: the figures of the predictions have changed ({change}); score them again")
    return run


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _read_replies(path: Path, record: Mapping[str, Any]) -> dict[tuple[str, int], Reply]:
    """Read the replies by id and epoch, from one or more files."""
    fields = record["id_field"], record["output_field"]
    names, checksums = _listed(record["predictions"]), _listed(record["predictions_sha256"])
    return {
        (row.id, row.epoch): row.reply
        for name, checksum in zip(names, checksums, strict=True)
        for row in prediction_rows(_locate_file(path, name, checksum), *fields)
    }


def _items(
    built: Built, replies: Mapping[tuple[str, int], Reply], epochs: Sequence[int], *, partial: bool
) -> list[tuple[Item, int, Reply]]:
    """Pair items with their replies; without one, an item gets an empty reply or, with `partial`, is left out."""
    return [
        (item, epoch, replies.get((item.id, epoch), Reply("")))
        for item in built.stream()
        for epoch in epochs
        if (item.id, epoch) in replies or not partial
    ]


def _score(built: Built, item: Item, reply: Reply) -> ScoredReply:
    return ScoredReply(
        item, reply.text, built.task.score(built.options.scoring, with_target(item, reply.target), reply)
    )


def _read_details(
    path: Path, record: Mapping[str, Any], built: Built, items: Sequence[tuple[Item, int, Reply]]
) -> list[ScoredReply]:
    if not record["details"]:
        raise DataError(
            f"{path}: {built.task.name} is judged and the verdicts were not saved; score it again with --details FILE"
        )
    details = _locate_file(path, record["details"])
    rows = {(row["id"], row.get("epoch", 1)): row for _, row in json_lines(details)}
    if rows.keys() != {(item.id, epoch) for item, epoch, _ in items}:
        raise DataError(f"{path}: {details} has other items than the predictions; score them again")
    return [
        ScoredReply(
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
                row["outcome"],
                **verdicts_of_json(row),
            ),
        )
        for item, epoch, reply in items
        for row in [rows[item.id, epoch]]
    ]


def _locate_file(path: Path, name: str, sha256: str | None = None) -> Path:
    """Find a file that `path` refers to.

    Args:
        path: The file that refers to it.
        name: Its name, relative to the working directory or to the folder of `path`.
        sha256: Its checksum, if known; a file with another one is not used.
    """
    places = (Path(name).expanduser(), path.parent / name, path.parent / Path(name).name)
    files = [place for place in places if place.is_file()]
    if not files:
        searched = " or ".join(str(place) for place in dict.fromkeys(places))
        raise DataError(
            f"{path}: {name} does not exist (looked for {searched}); run the command in the folder in which it was "
            "scored"
        )
    matching = next((file for file in files if sha256 in (None, sha256_of(file))), None)
    if matching is None:
        raise DataError(f"{path}: {files[0]} has changed since it was scored; score it again")
    return matching


def _first_change(figures: Mapping[str, float], recorded: Mapping[str, float]) -> str:
    name = next(name for name in [*figures, *recorded] if figures.get(name) != recorded.get(name))
    return f"{name} is {figures.get(name)}, was {recorded.get(name)}"
