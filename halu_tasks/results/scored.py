"""Reading runs from the output of `halu-tasks score --json` and the predictions that it scored."""

import json
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
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.results.run import METHOD_UNKNOWN, Run, RunReply
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import RECORD, Evaluation, Provenance, build
from halu_tasks.tasks.prompting import PACKAGED


def scored_tasks(content: Any) -> list[Mapping[str, Any]]:
    """Return what the output of `halu-tasks score --json` says of each task; nothing if a JSON value is none."""
    tasks = content.get("tasks") if isinstance(content, dict) else None
    listed = [content, *(tasks.values() if isinstance(tasks, dict) else ())]
    required = {"task", "scoring", "metrics", "missing"}
    return [each for each in listed if isinstance(each, dict) and required <= each.keys()]


def read_run(path: Path, content: Mapping[str, Any], evaluations: dict[str, Evaluation]) -> Run:
    """Read the run whose figures `halu-tasks score --json` printed.

    The replies are scored again, which requires the data. For a judged task, the scores come from the --details file.

    Args:
        path: The file with the output.
        content: Its JSON content.
        evaluations: The tasks of other files with their data, to which this one's is added.

    Raises:
        DataError: Predictions, data or details are missing or have changed.
    """
    record = content["run"]
    provenance = Provenance.from_json(record[RECORD])
    evaluation = _evaluation(path, record, provenance, evaluations)
    task = evaluation.task
    fields = record["id_field"], record["output_field"]
    files = [_locate(path, *file) for file in zip(record["predictions"], record["predictions_sha256"], strict=True)]
    rows = (row for file in files for row in prediction_rows(file, *fields, evaluation))
    replies = {(row.id, row.epoch): row.reply for row in rows}
    epochs = sorted({epoch for _, epoch in replies})
    # an item without a reply gets an empty one
    pairs = [
        (item, epoch, replies.get((item.id, epoch), Reply("")))
        for item in evaluation.items
        for epoch in epochs
        if (item.id, epoch) in replies or not record["partial"]
    ]
    if task.judge_spec and provenance.judge:
        scores = _read_details(path, record, evaluation, pairs)
    else:
        scorer = ReplyScorer.of_record(task, provenance)
        scores = [scorer.score(with_target(item, reply.target), reply) for item, _, reply in pairs]
    run = Run(
        source=str(path),
        id=f"{stable_hash(*record['predictions_sha256'])} {record['model']} {record['created']}",
        harness=f"halu-tasks score {record['package']}",
        model=record["model"] or record["predictions"][0],
        roles={"grader": provenance.judge} if provenance.judge else {},
        settings={},
        provenance=provenance,
        epochs=len(epochs),
        answers=[RunReply(item, reply.text, one) for (item, _, reply), one in zip(pairs, scores, strict=True)],
        method=METHOD_UNKNOWN,
        created=record["created"],
    )
    now = {name: figure.value for name, figure in run.figures.items()}
    then = content["metrics"]
    if now != then:
        name = next(name for name in [*now, *then] if now.get(name) != then.get(name))
        change = f"{name} is {now.get(name)}, was {then.get(name)}"
        raise DataError(f"{path}: the figures of the predictions have changed ({change}); score them again")
    return run


def _evaluation(
    path: Path, record: Mapping[str, Any], provenance: Provenance, evaluations: dict[str, Evaluation]
) -> Evaluation:
    """Return the task of a run with its data, which must be those that were scored."""
    recorded = record["options"]
    files = [name if name == PACKAGED else str(_locate(path, name)) for name in recorded.get("prompts", ())]
    options = Options(**{**recorded, "prompts": tuple(files), "scoring": provenance.scoring})
    task = provenance.task.resolve()
    user_files = task.data.source.files if "source" in provenance.task.overrides and not options.data else ()
    if address := next((at for at in (options.data, *(file.url for file in user_files)) if at and "://" in at), None):
        raise DataError(
            f"{path}: the data are at {address}, and no address in a result is followed; download them, and score "
            "the predictions again with --data FILE"
        )
    key = json.dumps([provenance.task.as_json(), recorded, files, options.scoring])
    evaluation = evaluations[key] = evaluations.get(key) or build(task, options)
    of_prompts = {tag for tag in evaluation.version_tags if tag.startswith("prompts_")}
    if not of_prompts <= {*provenance.version.split("-")}:
        raise DataError(
            f"{path}: the prompts {', '.join(files)} have changed since the predictions were scored; score them again"
        )
    if evaluation.located.sha256 != provenance.data_sha256:
        raise DataError(
            f"{path}: the data {evaluation.located} have changed since the predictions were scored; score them again"
        )
    return evaluation


def _read_details(
    path: Path, record: Mapping[str, Any], evaluation: Evaluation, pairs: Sequence[tuple[Item, int, Reply]]
) -> list[ScoredReply]:
    if not record["details"]:
        raise DataError(
            f"{path}: {evaluation.task.name} is judged and the verdicts were not saved; "
            "score it again with --details FILE"
        )
    details = _locate(path, record["details"])
    rows = {(row["id"], row.get("epoch", 1)): row for _, row in json_lines(details)}
    if rows.keys() != {(item.id, epoch) for item, epoch, _ in pairs}:
        raise DataError(f"{path}: {details} has other items than the predictions; score them again")
    return [ScoredReply.from_json(rows[item.id, epoch]) for item, epoch, _ in pairs]


def _locate(path: Path, name: str, sha256: str | None = None) -> Path:
    """Find a file that a result refers to.

    Args:
        path: The result.
        name: The file's name, relative to the working directory or to the folder of `path`.
        sha256: Its checksum, if known; a file with another one is not used.
    """
    places = (Path(name).expanduser(), path.parent / name, path.parent / Path(name).name)
    files = [place for place in places if place.is_file()]
    if not files:
        searched = " or ".join(str(place) for place in dict.fromkeys(places))
        raise DataError(
            f"{path}: {name} does not exist (looked for {searched}); run the command in the folder in which it was"
            " scored"
        )
    matching = next((file for file in files if sha256 in (None, sha256_of(file))), None)
    if matching is None:
        raise DataError(f"{path}: {files[0]} has changed since it was scored; score it again")
    return matching
