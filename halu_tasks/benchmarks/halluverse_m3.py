"""HalluVerse-M3 (Abdaljalil, Sharma, Serpedin and Kurban 2026): which type of error an edited answer or summary has.

In English, Arabic, Hindi and Turkish. Labels, scores and metrics are those of HalluVerse25.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from halu_tasks.benchmarks.halluverse25 import LABELS, type_of
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, require_text, text_id, with_ids
from halu_tasks.scorers.reading.questions import NONE

COLUMNS = ("context", "original", "edited", "label")


def check_row(row: Row) -> None:
    """Raise ValueError unless the row has its texts and a known label."""
    require_text(row, *COLUMNS)
    type_of(row["label"], "label")


def cases(rows: Iterable[Row], options: Options, *, language: str) -> Iterator[Item]:
    """Yield one item per row, clustered by question or dialogue; rows labelled 0 only with `with_zero`."""
    types = [kind for kind in LABELS.values() if kind != NONE or options.with_zero]
    for id, row in with_ids(rows, "context", "original", "edited"):
        kind = type_of(row["label"], "label")
        if kind in types:
            yield Item(
                id,
                text_id(row["context"].strip()),
                kind,
                fields={field: row[field].strip() for field in ("context", "original", "edited")},
                gold={"types": types},
                tags={"type": kind, "language": language},
            )
