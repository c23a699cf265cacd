"""Predictions: replies from any source, each with an id and an output, that are scored without a harness.

A row may have the output of a detector instead of a model's: spans, which are read as a reply with offsets, or the
probability of a label, which is the answer if it is 0.5 or more. It may also be a row of lm-eval's log of samples, with
or without scores, of which the reply is read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, file_errors
from halu_tasks.core.files import visible_files
from halu_tasks.core.items import Item, Reply
from halu_tasks.data.rows import WORKBOOK, Row, json_lines, parquet_rows, table_lines
from halu_tasks.replies.scoring import items_command
from halu_tasks.scorers.statistics.calibration import probability_of_likelihoods
from halu_tasks.tasks import Evaluation
from halu_tasks.text.marks import marks_of

ID_FIELD, OUTPUT_FIELD = "id", "output"
DETECTED = ("spans", "soft_labels", "hard_labels")
"""The fields with the spans of a detector, as lists of records or of pairs; the last two are fields of Mu-SHROOM."""
# further columns, and the function that converts the cells of a table
_OPTIONAL: dict[str, Callable[[str], Any]] = {"target": str, "probability": float, "epoch": int, "claim": str}
_OPTIONAL |= dict.fromkeys(DETECTED, json.loads)
_LAST_EPOCH = 1_000_000
# columns that a table of drawn verdicts has, and predictions do not
_OF_DRAWN = {"shown", "label", "by"}
# fields that a row of lm-eval's log of samples has
_OF_SAMPLE = {"doc", "resps", "filtered_resps"}
_ALL_SPANS = 'with all its spans: {"spans": [{"start": …, "end": …}, …]}'
_OTHER_NAMES = "; other names: halu-tasks score --id-field NAME --output-field NAME"


# the files that are read from a folder; a file that is named may have any name
SUFFIXES = (".jsonl", ".json", ".csv", ".xlsx", ".parquet", ".jsonl.gz", ".json.gz", ".csv.gz")


def shards_at(paths: Sequence[str], task: str) -> list[tuple[str, str]]:
    """List the files at paths, each with its size and time of change; the files of a folder are sorted by name.

    Of a folder in which lm-eval logged samples of the task, only these are read. Subfolders are read, too. Files and
    folders of a folder whose names begin with a dot or an underscore are left out, as Spark and Hive do.

    Raises:
        DataError: A file does not exist, a folder contains none, or a folder contains a file that cannot be read.
    """
    files = [file for path in map(Path, paths) for file in (_readable(path, task) if path.is_dir() else [path])]
    try:
        return [(str(file), f"{file.stat().st_size}-{file.stat().st_mtime_ns}") for file in files]
    except OSError as error:
        raise DataError(f"{error.filename}: {error.strerror or error}") from None


def _logs_of(task: str) -> str:
    return f"samples_{task}_[0-9][0-9][0-9][0-9]-*.jsonl"


def _readable(folder: Path, task: str) -> list[Path]:
    """List lm-eval's logs in a folder, or else its visible files, all of which must be readable."""
    if logs := sorted(folder.rglob(_logs_of(task))):
        return logs
    names = (path.relative_to(folder).as_posix() for path in visible_files(folder))
    visible = [name for name in names if "/_" not in f"/{name}"]
    if not visible:
        raise DataError(f"{folder}: contains no files")
    for name in visible:
        if not name.lower().endswith(SUFFIXES):
            kinds = ", ".join(SUFFIXES[:5])
            raise DataError(f"{folder}: contains {name}, which is not {kinds}; name the files instead")
    return [folder / name for name in visible]


def named_as(task: str, paths: Sequence[str]) -> list[str]:
    """List the files and folders named after a task, in folders at paths or among the paths themselves.

    So have lm-eval's logs of the samples of a task.

    Raises:
        DataError: A folder cannot be read.
    """
    names = (task, *(task + suffix for suffix in SUFFIXES))
    with file_errors(", ".join(paths)):
        files = [file for path in map(Path, paths) for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    return [str(file) for file in files if file.name in names or file.match(_logs_of(task))]


class PredictionRow(NamedTuple):
    """A row of a predictions file.

    Attributes:
        id: The item's id.
        epoch: Which of several replies to the item it is, from 1.
        reply: The reply.
        line: Its line, or the number of its row.
    """

    id: str
    epoch: int
    reply: Reply
    line: int


def prediction_rows(
    file: Path, id_field: str = ID_FIELD, output_field: str = OUTPUT_FIELD, evaluation: Evaluation | None = None
) -> Iterator[PredictionRow]:
    """Read predictions from JSON Lines, a JSON array of objects, Parquet, or a table (`.csv` or `.xlsx`).

    Text files may be compressed, with a name that ends in `.gz`. A table of drawn verdicts, which has a row for each
    claim of a reply, has one prediction for each reply; several replies to an item are of different epochs.

    Args:
        file: The file.
        id_field: The field or column of the ids.
        output_field: The field or column of the replies.
        evaluation: The task, if it is known: a row may have only the probability of the first of its two answers.

    Raises:
        DataError: A row is malformed, or there are none, as when the upload of a file failed.
    """
    row, drawn = None, defaultdict[str, list[str]](list)
    choices = evaluation.task.scoring.choices if evaluation else ("", "")
    for line, row in _rows(file, id_field, output_field):
        try:
            if row.keys() >= _OF_SAMPLE and id_field not in row:
                row = _logged(row, id_field, output_field, _own_targets(evaluation))
            id, epoch, reply = _prediction(row, id_field, output_field, choices)
        except ValueError as error:
            raise DataError(f"{file}:{line}: {error}") from None
        if row.keys() >= _OF_DRAWN:
            if reply.text in drawn[id]:
                continue
            drawn[id].append(reply.text)
            epoch = len(drawn[id])
        yield PredictionRow(id, epoch, reply, line)
    if row is None:
        raise DataError(f"{file}: contains no predictions")


def _prediction(row: Row, id_field: str, output_field: str, choices: tuple[str, str] | None) -> tuple[str, int, Reply]:
    id, output, target = row.get(id_field), row.get(output_field), row.get("target")
    id = str(id) if _is_number(id, int) else id  # as in rows of users' tasks
    probability, epoch = row.get("probability"), row.get("epoch")
    if probability is not None and not (_is_number(probability, int | float) and 0 <= probability <= 1):
        raise ValueError(f"probability is {probability!r}, expected a number from 0 to 1")
    detected = _detected(row, output_field)
    if output and detected:
        raise ValueError(f"has both {output_field!r} and {detected[0]}, of which one is the reply; leave the other out")
    output = output or (detected[1] if detected else output)
    if output is None and probability is not None:
        if not choices:
            raise ValueError("a probability alone needs the task's doc_to_choice, whose first label it is of")
        output = choices[probability < 0.5]
    if not isinstance(id, str) or not isinstance(output, str):
        named = ((key, "null" if value is None else type(value).__name__) for key, value in row.items())
        types = ", ".join(f"{key!r}: {kind}" for key, kind in named) or "an empty object"
        hint = "" if {id_field, output_field} <= row.keys() else _OTHER_NAMES
        hint = '; write "" for an empty reply, or leave the row out' if row.get(output_field, "") is None else hint
        hint = f"; write one row for each item, {_ALL_SPANS}" if row.keys() >= {"start", "end"} else hint
        raise ValueError(f'expected {{"{id_field}": string, "{output_field}": string}}, found {types}{hint}')
    if target is not None and not isinstance(target, str):
        raise ValueError(f"target is {type(target).__name__}, expected a string")
    if epoch is not None and not (_is_number(epoch, int) and 1 <= epoch <= _LAST_EPOCH):
        raise ValueError(f"epoch is {epoch!r}, expected an integer from 1 to {_LAST_EPOCH:,}")
    return id, epoch or 1, Reply(output, target, probability)


def _detected(row: Row, output_field: str) -> tuple[str, str] | None:
    """Return the field with the spans of a detector, and a reply with these spans; None if there are none.

    Raises:
        ValueError: They are malformed, or are stated twice.
    """
    spans_by_field = {name: row[name] for name in DETECTED if row.get(name) is not None and name != output_field}
    for name, spans in spans_by_field.items():
        if marks_of(spans) is None:
            raise ValueError(f"{name} is not a list of [start, end] pairs or of records with start and end")
    if "spans" in spans_by_field and len(spans_by_field) > 1:
        raise ValueError(f"has both spans and {[*spans_by_field][1]}, of which one is the reply; leave the other out")
    return (next(iter(spans_by_field)), json.dumps(spans_by_field, ensure_ascii=False)) if spans_by_field else None


def _logged(row: Row, id_field: str, output_field: str, targets: Sequence[str]) -> Row:
    """Convert a row of lm-eval's log of samples to a row of predictions, which may state one of some targets."""
    try:
        doc, replies = row["doc"], [reply for (reply,) in row["resps"]]
        target = _scored_target(row["filtered_resps"][0]) or doc.get("target")
        values = {id_field: doc[id_field], "target": target if target in targets else None}
        if len(replies) == 1:
            return values | {output_field: replies[0]}
        first, second = (float(likelihood) for likelihood, _ in replies)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"is not a sample of lm-eval with one reply and a field {id_field!r}") from None
    probability = probability_of_likelihoods(first, second)
    return values | ({output_field: ""} if probability is None else {"probability": probability})


def _scored_target(logged: Any) -> str | None:
    """Return the target of a score that lm-eval logged; None if it logged something else."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        return str(json.loads(logged)["target"])
    return None


def _is_number(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _rows(file: Path, id_field: str, output_field: str) -> Iterator[tuple[int, Row]]:
    name = file.name.lower().removesuffix(".gz")
    if name.endswith((".csv", WORKBOOK)):
        return _table_rows(file, id_field, output_field)
    if name.endswith(".parquet"):
        return parquet_rows(file, (id_field, output_field, *_OPTIONAL))
    return json_lines(file)


def _table_rows(file: Path, id_field: str, output_field: str) -> Iterator[tuple[int, Row]]:
    try:
        for number, row in table_lines(file, {id_field: ()}, (output_field, *_OPTIONAL)):
            for name in _OPTIONAL.keys() & row.keys() - {id_field, output_field}:
                if not (value := row.pop(name).strip()):
                    continue
                row[name] = value
                with suppress(ValueError, RecursionError):
                    row[name] = _OPTIONAL[name](value)
            yield number, row
    except DataError as error:
        raise DataError(f"{error}{_OTHER_NAMES if 'is missing' in str(error) else ''}") from None


def read_predictions(
    path: Path, id_field: str = ID_FIELD, output_field: str = OUTPUT_FIELD, evaluation: Evaluation | None = None
) -> dict[str, PredictionRow]:
    """Read predictions by id from a file with one reply to each item.

    Args:
        path: The file.
        id_field: The field or column of the ids.
        output_field: The field or column of the replies.
        evaluation: The task whose items the replies are to, if that is known.

    Raises:
        DataError: A row is malformed or does not fit the task, an id is repeated or no item has it, or the file
            contains no predictions.
    """
    ids = {item.id for item in evaluation.items} if evaluation else None
    predictions: dict[str, PredictionRow] = {}
    for row in prediction_rows(path, id_field, output_field, evaluation):
        if row.id in predictions:
            first = predictions[row.id].line
            raise DataError(f"{path}:{row.line}: duplicate id {row.id!r} (first in line {first})")
        predictions[row.id] = row
        if evaluation and ids:
            check_prediction(evaluation, path, row, has_item=row.id in ids)
    return predictions


def check_prediction(evaluation: Evaluation, file: object, row: PredictionRow, *, has_item: bool) -> None:
    """Check that a task can use a prediction.

    Args:
        evaluation: The task.
        file: The file of the prediction, for error messages.
        row: The prediction.
        has_item: Whether an item has its id.

    Raises:
        DataError: The target or the probability does not fit the task, or no item has the id.
    """
    task, reply, place = evaluation.task, row.reply, f"{file}:{row.line}"
    labels = _own_targets(evaluation)
    if reply.target is not None and reply.target not in labels:
        why = "the id gives the order" if task.scoring.own_targets else f"the answers of {task.name} have no order"
        raise DataError(f"{place}: target is {reply.target!r}, expected {' or '.join(labels) or f'none, as {why}'}")
    if reply.probability is not None and task.scoring.choices is None:
        raise DataError(f"{place}: {task.name} does not use probabilities; leave it out")
    if not has_item:
        how = items_command(evaluation)
        raise DataError(f"{place}: unknown id {row.id!r}; list the ids of this data with: {how}")


def _own_targets(evaluation: Evaluation | None) -> tuple[str, ...]:
    """Return the targets that predictions may state: questions have an order of answers that their ids do not give."""
    return evaluation.task.scoring.own_targets if evaluation and not evaluation.options.both_orders else ()


def with_target(item: Item, target: str | None) -> Item:
    """Give an item the target of a reply to another order of its answers."""
    return item if target in (None, item.target) else replace(item, target=target)
