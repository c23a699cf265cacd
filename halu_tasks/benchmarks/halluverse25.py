"""HalluVerse25 (Abdaljalil, Kurban and Serpedin 2025): errors of edited sentences in English, Arabic and Turkish.

The tasks ask which type of error an edited sentence has, and whether a sentence hallucinates at all. HalluVerse-M3
(Abdaljalil, Sharma, Serpedin and Kurban 2026) asks the former about answers and summaries, in Hindi, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, with_ids
from halu_tasks.scorers.gold import TypeGold
from halu_tasks.scorers.reading.questions import ENTITY, NONE, RELATION, SENTENCE

LABELS = {ENTITY: ENTITY, RELATION: RELATION, SENTENCE: SENTENCE, "0": NONE}
"""The published labels (case is ignored), and the types that they stand for."""


def type_of(row: Row) -> str:
    """Return the type that the published label of a row stands for.

    Raises:
        ValueError: The label is unknown.
    """
    label = row["final_label"]
    if (kind := LABELS.get(label.strip().casefold())) is None:
        raise ValueError(f"final_label is {label!r}, expected {', '.join(map(repr, LABELS))}")
    return kind


def type_cases(rows: Iterable[Row], options: Options, *, language: str) -> Iterator[Item]:
    """Yield one item per row; rows labelled 0 only with `with_zero`."""
    return _typed(rows, options, language, {"original": "orig_sentence", "edited": "edited_sentence"})


def m3_cases(rows: Iterable[Row], options: Options, *, language: str) -> Iterator[Item]:
    """Yield one item per row, clustered by question or dialogue; rows labelled 0 only with `with_zero`."""
    return _typed(rows, options, language, {name: name for name in ("context", "original", "edited")})


def _typed(rows: Iterable[Row], options: Options, language: str, columns: Mapping[str, str]) -> Iterator[Item]:
    """Yield one item per row. `columns` are the columns of its fields, of which the first one defines the cluster."""
    types = [kind for kind in LABELS.values() if kind != NONE or options.with_zero]
    for id, row in with_ids(rows, *columns.values()):
        kind = type_of(row)
        if kind in types:
            fields = {field: row[column].strip() for field, column in columns.items()}
            cluster = short_hash(next(iter(fields.values())))
            tags = {"type": kind, "language": language}
            yield Item(id, cluster, kind, fields=fields, gold=TypeGold(types=types), tags=tags)


def binary_cases(rows: Iterable[Row], options: Options, *, language: str) -> Iterator[Item]:
    """Yield two items per row: the edited sentence and the original.

    A row labelled 0, in which annotators saw no hallucination, gives only the edited sentence, and only with
    `with_zero`.
    """
    for id, row in with_ids(rows, "orig_sentence", "edited_sentence"):
        kind = type_of(row)
        if kind == NONE and not options.with_zero:
            continue
        original, edited = row["orig_sentence"].strip(), row["edited_sentence"].strip()
        context = {} if options.without_original else {"original": original}
        variants = [("edited", edited, "Yes"), ("original", original, "No")]
        for which, sentence, target in variants if kind != NONE else [("edited", edited, "No")]:
            yield Item(
                f"{id}/{which}",
                short_hash(original),
                target,
                fields={"sentence": sentence, **context},
                tags={"type": kind, "shown": which if kind != NONE else NONE, "language": language},
            )
