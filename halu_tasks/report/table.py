"""Writing the full table of a report as Parquet, with one row per answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from halu_tasks.report.board import Column
from halu_tasks.report.items import OTHER_MODE, value_of
from halu_tasks.results.entry import Entry
from halu_tasks.scorers.score import Score

_TEXTS = (
    *("entry", "column", "task", "scoring", "id", "cluster", "target", "answer", "outcome", "reason", "verdicts"),
    *("reply", "system", "prompt", "tags", "facts", "other_scoring", "other_answer", "other_outcome", "source"),
)
SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("value", pa.float64()), ("other_value", pa.float64())])


class ItemTable:
    """Writes the rows of one result after the other.

    Lists and mappings are written as JSON. Invalid Unicode (lone surrogates) is replaced by question marks.
    """

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")

    def __enter__(self) -> ItemTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def add(self, column: Column, entry: Entry, label: str, others: Sequence[Score] | None) -> None:
        """Add the answers of an entry in a column.

        Args:
            column: The column.
            entry: The entry.
            label: Its label.
            others: Scores of the answers in the other mode, if there are any.
        """
        run = column.runs[entry]
        mode = OTHER_MODE[run.scoring]
        metrics = {metric.name: metric for metric in column.task.scoring[mode].metrics}
        other_headline = metrics.get(column.headline.name)
        rows = []
        for answered, other in zip(run.answers, others or repeat(None, len(run.answers)), strict=True):
            item, score = answered.item, answered.score
            row: dict[str, Any] = {
                "entry": label,
                "column": column.title,
                "task": run.task,
                "scoring": run.scoring,
                "id": item.id,
            }
            row |= {"cluster": item.cluster, "system": item.system, "prompt": item.prompt, "reply": answered.reply}
            row |= {"target": _text(score.target), "answer": _text(score.answer), "outcome": score.outcome}
            row |= {"reason": score.reason, "source": run.source, "value": value_of(column.headline, score)}
            row |= {"tags": _text(dict(item.tags)), "facts": _text(dict(score.measurements))}
            row["verdicts"] = _text([one._asdict() for one in score.verdicts]) if score.verdicts else None
            if other:
                row |= {"other_scoring": mode, "other_answer": _text(other.answer), "other_outcome": other.outcome}
                row["other_value"] = value_of(other_headline, other) if other_headline else None
            rows.append(row)
        columns = [_array([row.get(name) for row in rows], SCHEMA.field(name).type) for name in SCHEMA.names]
        self._writer.write_table(pa.table(columns, schema=SCHEMA))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)


def _array(values: list[Any], kind: Any) -> Any:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array((value and value.encode("utf-8", "replace").decode("utf-8") for value in values), kind)
