"""Questions from memory, whose answers a judge compares with known ones: HalluQA, SimpleQA and AA-Omniscience."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, with_ids
from halu_tasks.scorers.columns import Column
from halu_tasks.scorers.metrics import Terms, metric

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


def check_metadata(row: Row) -> None:
    """Raise ValueError unless the metadata of a row of SimpleQA name topic and type of answer."""
    _metadata(row)


def simpleqa_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per row of SimpleQA, whose id is made of the question, or of SimpleQA Verified, which has one."""
    for hash_id, row in with_ids(rows, "problem"):
        id = str(row.get("original_index", hash_id))
        metadata = _metadata(row) if "metadata" in row else row
        tags = {tag: str(metadata[tag]).replace(" ", "_") for tag in ("topic", "answer_type")}
        yield Item(id, id, row["answer"], fields={"question": row["problem"].strip()}, tags=tags)


def _metadata(row: Row) -> dict[str, Any]:
    """Parse the metadata of a question of SimpleQA, which is written as a Python dictionary."""
    try:
        metadata = ast.literal_eval(row["metadata"])
    except (SyntaxError, ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict) or not {"topic", "answer_type"} <= metadata.keys():
        raise ValueError(f"metadata is {row['metadata']!r}, expected a dictionary with 'topic' and 'answer_type'")
    return metadata


def omniscience_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per row of AA-Omniscience, tagged with the first word of its domain."""
    for row in rows:
        id = str(row["question_id"])
        fields = {name: row[name].strip() for name in ("domain", "topic", "question")}
        yield Item(id, id, row["answer"], fields=fields, tags={"domain": fields["domain"].split()[0].rstrip(",")})


# --- replies that need no model -------------------------------------------------------------------


def first_answer(item: Item) -> str:
    """Return the first of the right answers."""
    return item.target.partition("\n")[0]


# --- metrics ----------------------------------------------------------------------------------------


@metric(
    form="sums",
    about="harmonic mean of acc and acc_attempted, by the judge",
    requires_option="judge",
)
def f_score(good: Column, bad: Column, partial: Column) -> Terms:
    """Return the F-score of SimpleQA (Wei et al. 2024): twice the right answers over attempts and replies."""
    is_judged = ~np.isnan(good)
    return np.where(is_judged, 2 * good, 0.0), np.where(is_judged, 1 + good + bad + np.nan_to_num(partial), 0.0)


@metric(
    form="sums",
    about="share of the replies without a right answer that are wrong, by the judge",
    higher_is_better=False,
    requires_option="judge",
)
def hallucination_rate(good: Column, bad: Column) -> Terms:
    """Return the hallucination rate of AA-Omniscience (Jackson et al. 2025)."""
    return np.nan_to_num(bad), np.nan_to_num(1 - good)
