"""Tables of better labels of judged replies: people's, or the details of `halu-tasks score` with a stronger judge."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_write, row_writer
from halu_tasks.core.hashing import short_hash
from halu_tasks.data.rows import WORKBOOK, Row, json_lines, table_lines
from halu_tasks.scorers.judge import FAILED, JudgeSpec
from halu_tasks.scorers.judge_correction import ReferenceLabels, VerdictLabel, squeezed
from halu_tasks.tasks.definition import Task

FIELDS = ("task", "id", "claim", "reply", "shown", "label", "by")
"""The columns of a table.

Only `id` and `label` are needed, and `claim` if a reply has several verdicts; `shown` is only for people.
"""
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that spreadsheets may run; before it, a table for people has an apostrophe, which they show."""
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def write_label_rows(output: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = FIELDS) -> None:
    """Write rows to label: JSON Lines if the file's name ends in `.jsonl`, otherwise CSV.

    Args:
        output: The file.
        rows: The rows.
        columns: The columns that each row has.

    Raises:
        DataError: The file exists and has labels, or cannot be written.
    """
    if output.exists() and (labelled := sum(bool(row.get("label")) for _, row in read_label_rows(output, ["label"]))):
        raise DataError(f"{output}: {labelled:,} of its rows have labels, which would be lost; name another file")
    is_table = output.suffix != ".jsonl"
    with atomic_write(output, "labels") as file:
        write = row_writer(".csv" if is_table else ".jsonl", file, columns)
        for row in rows:
            write(
                {name: f"'{cell}" if _FORMULA.match(cell) else cell for name, cell in row.items()} if is_table else row
            )


def read_label_rows(path: Path, needed: Iterable[str] = ("id", "label")) -> Iterator[tuple[int, Row]]:
    """Read (number, row) of each row of a file that `write_label_rows` or someone else has written.

    Args:
        path: The file.
        needed: The columns that a table needs.

    Raises:
        DataError: The file cannot be read, or lacks a needed column.
    """
    if not path.name.lower().endswith((".csv", WORKBOOK)):
        yield from json_lines(path)
        return
    for number, row in table_lines(path, dict.fromkeys(needed, ())):
        yield (
            number,
            {name: cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell for name, cell in row.items()},
        )


def id_of(row: Row) -> str:
    """Return the id of the item that a row is about, which may be a number as in predictions.

    Raises:
        ValueError: There is none.
    """
    id = row.get("id")
    if type(id) is not int and not (isinstance(id, str) and id):
        raise ValueError(f"expected the id of an item in 'id', got {id!r}")
    return str(id)


def read_reference_labels(path: str, task: Task, ids: Collection[str] | None = None) -> ReferenceLabels:
    """Read the labels of a judged task's replies: JSON Lines, a JSON array, a CSV file or a workbook.

    Rows without a label, and those that name another task, are left out. Labels of the same reply by several annotators
    count as their mean.

    Args:
        path: The file.
        task: The task.
        ids: The ids of the task's items; None if they are not known.

    Raises:
        DataError: The file cannot be read or has no label of the task, a value is invalid, one annotator's labels of
            the same reply contradict each other, labels have weights, or there is no item with an id.
    """
    assert task.judge_spec
    together: dict[tuple[str, str, str | None], dict[str, VerdictLabel]] = {}
    for number, row in read_label_rows(Path(path).expanduser()):
        try:
            for label in _labels(row, task.name, task.judge_spec):
                key = label.id, squeezed(label.claim), None if label.reply is None else squeezed(label.reply)
                by_annotator = together.setdefault(key, {})
                before = by_annotator.setdefault(label.by, label)
                if (before.value, before.labels) != (label.value, label.labels):
                    raise ValueError(f"a label of {label.id!r} contradicts an earlier one of the same reply")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    if not together:
        raise DataError(f"{path}: contains no label of {task.name}; write yes, no or a label of the judge in 'label'")
    labelled = {id for id, _, _ in together}
    if ids is not None and (unknown := sorted(labelled - set(ids))):
        raise DataError(
            f"{path}: {len(unknown)} of {len(labelled)} labelled ids are not items of {task.name}, such as "
            f"{unknown[0]!r}"
        )
    labels = [
        next(iter(by_annotator.values()))._replace(
            value=fmean(label.value for label in by_annotator.values()),
            by=", ".join(filter(None, by_annotator)),
            labels=_mean_of_labels([label.labels for label in by_annotator.values()]),
        )
        for by_annotator in together.values()
    ]
    content = sorted("\0".join(map(str, label if label.labels else label[:-1])) for label in labels)
    return ReferenceLabels.of(short_hash("\n".join(content))[:8], labels)


def _labels(row: Row, task: str, judged: JudgeSpec) -> Iterator[VerdictLabel]:
    """Read the labels of a row: none if it belongs to another task; in details, one for each verdict.

    Raises:
        ValueError: The id is missing, or a value is invalid.
    """
    if row.get("task") not in (None, "", task):
        return
    id, claim, by = id_of(row), row.get("claim") or "", row.get("by") or ""
    if row.get("verdicts") not in (None, ""):
        yield from _labels_of_details(row, id, str(by), judged)
        return
    reply, label = row.get("reply") or None, row.get("label")
    if not isinstance(claim, str) or not isinstance(reply, str | None):
        raise ValueError("expected strings in 'claim' and 'reply'")
    if label is None or not str(label).strip():
        return
    if row.get("weight") not in (None, ""):
        raise ValueError(
            "labels have no weights: those of a draw by what the judge says need none, so remove the column 'weight'; "
            "of any other draw, score each part alone"
        )
    yield VerdictLabel(id, claim, reply, _value(label, judged), str(by), _named(label, judged))


def _labels_of_details(row: Row, id: str, by: str, judged: JudgeSpec) -> Iterator[VerdictLabel]:
    verdicts, answer = row["verdicts"], row.get("answer") or None
    parts = answer if isinstance(answer, list) else [answer or ""]
    if not isinstance(verdicts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("expected a list in 'verdicts', and in 'answer' a string, as --details writes them")
    for verdict in verdicts:
        about, label = (verdict.get(key) if isinstance(verdict, dict) else None for key in ("about", "label"))
        if not isinstance(about, str) or label is None:
            raise ValueError(f"expected objects with 'about' and 'label' in 'verdicts', got {verdict!r}")
        if label != FAILED:
            reply = "\n".join(parts) if answer else None
            yield VerdictLabel(id, about, reply, _value(label, judged), by, _named(label, judged))


def _value(label: Any, judged: JudgeSpec) -> float:
    """Convert a label to a number from 0 (no hallucination) to 1."""
    words = {**_WORDS, **{name.casefold(): float(name in judged.positive) for name in judged.read.labels}}
    value = words.get(str(label).strip().casefold(), _number(label))
    if value is None or not 0 <= value <= 1:
        raise ValueError(f"label is {label!r}, expected yes or no, {' or '.join(judged.read.labels)}, or 0 to 1")
    return value


def _named(label: Any, judged: JudgeSpec) -> Mapping[str, float]:
    """Return the judge's label in a cell, if the judge has more labels than good and bad."""
    if not judged.measurements:
        return {}
    names = {name.casefold(): name for name in judged.read.labels}
    if name := names.get(str(label).strip().casefold()):
        return {name: 1.0}
    other_labels = [name for name in judged.read.labels if name not in judged.positive]
    if len(judged.positive) > 1 or len(other_labels) > 1:
        return {}
    value = _value(label, judged)
    return {judged.positive[0]: value, other_labels[0]: 1 - value}


def _mean_of_labels(labels: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the share of each label; empty if an annotator gave none of the judge's labels."""
    if not all(labels):
        return {}
    return {name: fmean(of_one.get(name, 0.0) for of_one in labels) for name in sorted({*chain(*labels)})}


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
