"""Questions from memory, whose answers a judge compares with known ones: HalluQA."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row

# --- rows to items --------------------------------------------------------------------------------


def halluqa_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per row of HalluQA: the question; the target holds all right answers, one on each line."""
    for row in rows:
        id = str(row["question_id"])
        right = [value for field, value in row.items() if field.startswith("Best Answer") and value]
        yield Item(
            id,
            id,
            "\n".join(" ".join(answer.split()) for answer in right),
            fields={"question": row["Question"].strip()},
            tags={"category": row["Category"]},
        )


# --- replies that need no model -------------------------------------------------------------------


def first_answer(item: Item) -> str:
    """Return the first of the right answers."""
    return item.target.partition("\n")[0]
