"""Files of people's labels of judged replies."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import short_hash
from halu_tasks.data.json_arrays import array_lines
from halu_tasks.data.rows import Row
from halu_tasks.data.tables import table_lines
from halu_tasks.data.workbooks import SUFFIX
from halu_tasks.scorers.human_labels import HumanLabel, HumanLabels, labels_by_part, squeezed

FIELDS = ("task", "id", "about", "reply", "shown", "hallucinated")
"""The columns of a file of labels.

Only `id` and `hallucinated` are needed, and `about` if a reply has several verdicts; `shown` is only for people.
"""

_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def labels_of_task(path: str, task: str, ids: Collection[str] | None = None) -> HumanLabels:
    """Read the labels of a task's replies: JSON Lines, a JSON array, a CSV file or a workbook.

    Rows without a label, and those that name another task, are left out.

    Args:
        path: The file.
        task: The name of the task.
        ids: The ids of the task's items; None if they are not known.

    Raises:
        DataError: The file cannot be read or has no label of the task, a row lacks an id, a label is neither yes nor
            no, two labels of the same reply contradict each other, or there is no item with an id.
    """
    labels = _read(path, task)
    if ids is not None and (unknown := sorted(labels.ids - set(ids))):
        raise DataError(
            f"{path}: {len(unknown)} of {len(labels.ids)} labelled ids are not items of {task}, such as {unknown[0]!r}"
        )
    return labels


@cache
def _read(path: str, task: str) -> HumanLabels:
    labels: dict[tuple[str, str, str | None], HumanLabel] = {}
    for number, row in _rows(Path(path).expanduser()):
        try:
            label = _label(row, task)
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        if label is None:
            continue
        key = label.id, squeezed(label.about), None if label.reply is None else squeezed(label.reply)
        if labels.setdefault(key, label).hallucinated != label.hallucinated:
            raise DataError(f"{path}:{number}: a label of {label.id!r} contradicts an earlier one of the same reply")
    if not labels:
        raise DataError(f"{path}: contains no label of {task}; write yes or no in 'hallucinated'")
    content = sorted("\0".join([*(part or "" for part in key), str(labels[key].hallucinated)]) for key in labels)
    return labels_by_part(short_hash("\n".join(content), surrogates="surrogatepass")[:8], labels.values())


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    if path.name.lower().endswith((".csv", SUFFIX)):
        return table_lines(path, {"id": (), "hallucinated": ()})
    return array_lines(path)


def _label(row: Row, task: str) -> HumanLabel | None:
    """Read a row; None if it has no label or is of another task.

    Raises:
        ValueError: The id is missing, or a value is of the wrong type.
    """
    if row.get("task") not in (None, "", task):
        return None
    id = row.get("id")
    if not isinstance(id, str) or not id:
        raise ValueError(f"expected the id of an item in 'id', got {id!r}")
    value = row.get("hallucinated")
    text = "" if value is None else str(value).strip().casefold()
    if not text:
        return None
    if text not in _YES:
        raise ValueError(f"hallucinated is {value!r}, expected yes or no")
    about, reply = row.get("about") or "", row.get("reply") or None
    if not isinstance(about, str) or not isinstance(reply, str | None):
        raise ValueError("expected strings in 'about' and 'reply'")
    return HumanLabel(id, about, reply, _YES[text])
