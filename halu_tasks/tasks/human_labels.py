"""Files of people's labels of judged replies."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import short_hash
from halu_tasks.data.rows import Row
from halu_tasks.data.yes_no import id_of, labelled_lines, yes_or_no
from halu_tasks.scorers.human_labels import HumanLabel, HumanLabels, labels_by_part, squeezed

FIELDS = ("task", "id", "about", "reply", "shown", "hallucinated")
"""The columns of a file of labels.

Only `id` and `hallucinated` are needed, and `about` if a reply has several verdicts; `shown` is only for people.
"""


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
    labels: dict[tuple[str, str, str | None], HumanLabel] = {}
    for number, row in labelled_lines(Path(path).expanduser(), "hallucinated"):
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
    labelled = {label.id for label in labels.values()}
    if ids is not None and (unknown := sorted(labelled - set(ids))):
        raise DataError(
            f"{path}: {len(unknown)} of {len(labelled)} labelled ids are not items of {task}, such as {unknown[0]!r}"
        )
    content = sorted("\0".join([*(part or "" for part in key), str(labels[key].hallucinated)]) for key in labels)
    return labels_by_part(short_hash("\n".join(content), surrogates="surrogatepass")[:8], labels.values())


def _label(row: Row, task: str) -> HumanLabel | None:
    """Read a row; None if it has no label or is of another task.

    Raises:
        ValueError: The id is missing, or a value is of the wrong type.
    """
    if row.get("task") not in (None, "", task):
        return None
    id, hallucinated = id_of(row, "an item"), yes_or_no(row, "hallucinated")
    if hallucinated is None:
        return None
    about, reply = row.get("about") or "", row.get("reply") or None
    if not isinstance(about, str) or not isinstance(reply, str | None):
        raise ValueError("expected strings in 'about' and 'reply'")
    return HumanLabel(id, about, reply, hallucinated)
