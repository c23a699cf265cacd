"""HalluVerse25 (Abdaljalil, Kurban and Serpedin 2025): errors of edited sentences in English, Arabic and Turkish.

The tasks ask which type of error an edited sentence has, and whether a sentence hallucinates at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, require_text, text_id, with_ids
from halu_tasks.scorers.reading.questions import ENTITY, NONE, RELATION, SENTENCE

LABELS = {ENTITY: ENTITY, RELATION: RELATION, SENTENCE: SENTENCE, "0": NONE}
"""The published labels (case is ignored), and the types that they stand for."""
COLUMNS = ("orig_sentence", "edited_sentence", "final_label")


def type_of(label: str, column: str) -> str:
    """Return the type that a published label stands for.

    Args:
        label: The label.
        column: The column it was read from, for the error message.

    Raises:
        ValueError: The label is unknown.
    """
    kind = LABELS.get(label.strip().casefold())
    if kind is None:
        raise ValueError(f"{column} is {label!r}, expected {', '.join(map(repr, LABELS))}")
    return kind


def check_row(row: Row) -> None:
    """Raise ValueError unless the row has both sentences and a known label."""
    require_text(row, *COLUMNS)
    type_of(row["final_label"], "final_label")


def type_cases(rows: Iterable[Row], options: Options, *, language: str) -> Iterator[Item]:
    """Yield one item per row; rows labelled 0 only with `with_zero`."""
    types = [kind for kind in LABELS.values() if kind != NONE or options.with_zero]
    for id, row in with_ids(rows, "orig_sentence", "edited_sentence"):
        kind = type_of(row["final_label"], "final_label")
        if kind in types:
            yield Item(
                id,
                text_id(row["orig_sentence"].strip()),
                kind,
                fields={"original": row["orig_sentence"].strip(), "edited": row["edited_sentence"].strip()},
                gold={"types": types},
                tags={"type": kind, "language": language},
            )


def binary_cases(rows: Iterable[Row], options: Options, *, language: str) -> Iterator[Item]:
    """Yield two items per row: the edited sentence and the original.

    A row labelled 0, in which annotators saw no hallucination, gives only the edited sentence, and only with
    `with_zero`.
    """
    for id, row in with_ids(rows, "orig_sentence", "edited_sentence"):
        kind = type_of(row["final_label"], "final_label")
        if kind == NONE and not options.with_zero:
            continue
        original, edited = row["orig_sentence"].strip(), row["edited_sentence"].strip()
        context = {} if options.without_original else {"original": original}
        shown = [("edited", edited, "Yes"), ("original", original, "No")]
        for which, sentence, target in shown if kind != NONE else [("edited", edited, "No")]:
            yield Item(
                f"{id}/{which}",
                text_id(original),
                target,
                fields={"sentence": sentence, **context},
                tags={"type": kind, "shown": which if kind != NONE else NONE, "language": language},
            )
