"""Writing the full table of a report as Parquet, with one row per answer."""

from __future__ import annotations

import json
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from halu_tasks.report.model.breakdowns import OTHER_MODE, value_of
from halu_tasks.report.model.leaderboard import Column
from halu_tasks.results.run import Run
from halu_tasks.scorers.score import Score

_TEXTS = (
    *("entry", "column", "task", "scoring", "id", "cluster", "target", "answer", "outcome", "reason", "verdicts"),
    *("reply", "system", "prompt", "tags", "facts", "other_scoring", "other_answer", "other_outcome", "source"),
)
_NUMBERS = ("value", "other_value")
SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), *((name, pa.float64()) for name in _NUMBERS)])


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

    def add(self, entry: str, title: str, column: Column, run: Run, others: list[Score] | None) -> None:
        """Add the answers of a run.

        Args:
            entry: The entry's label.
            title: The column's title.
            column: The column.
            run: The run.
            others: Scores of the answers in the other mode, if there are any.
        """
        mode = OTHER_MODE[run.scoring]
        metrics = {metric.name: metric for metric in column.task.scoring[mode].metrics}
        other_headline = metrics.get(column.headline.name)
        rows = []
        for answered, other in zip(run.answers, others or repeat(None, len(run.answers)), strict=True):
            item, score = answered.item, answered.score
            rows.append(
                {
                    "entry": entry,
                    "column": title,
                    "task": run.task,
                    "scoring": run.scoring,
                    "id": item.id,
                    "cluster": item.cluster,
                    "target": _as_string(score.target),
                    "answer": _as_string(score.answer),
                    "outcome": score.outcome,
                    "value": value_of(column.headline, score),
                    "reason": score.reason,
                    "verdicts": json.dumps([verdict._asdict() for verdict in score.verdicts], ensure_ascii=False)
                    if score.verdicts
                    else None,
                    "reply": answered.reply,
                    "system": item.system,
                    "prompt": item.prompt,
                    "tags": json.dumps(dict(item.tags), ensure_ascii=False),
                    "facts": json.dumps(dict(score.measurements)),
                    "other_scoring": mode if other else None,
                    "other_answer": _as_string(other.answer) if other else None,
                    "other_outcome": other.outcome if other else None,
                    "other_value": value_of(other_headline, other) if other and other_headline else None,
                    "source": run.source,
                }
            )
        columns = [_array([row[name] for row in rows], SCHEMA.field(name).type) for name in SCHEMA.names]
        self._writer.write_table(pa.table(columns, schema=SCHEMA))


def _as_string(answer: str | list[str] | None) -> str | None:
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, list) else answer


def _array(values: list[Any], kind: Any) -> Any:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        valid = (value and value.encode("utf-8", "replace").decode("utf-8") for value in values)
        return pa.array(valid, kind)
