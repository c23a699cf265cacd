"""HalluVerse25 (Abdaljalil, Kurban and Serpedin 2025): which type of error an edited sentence has, and whether a
sentence hallucinates at all, in English, Arabic and Turkish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from halu_tasks.data import Row, require_text, table_lines, text_id, with_ids
from halu_tasks.items import Case
from halu_tasks.options import Options
from halu_tasks.scorers import halluverse25, halluverse25_binary
from halu_tasks.scorers.error_type import ENTITY, NONE, RELATION, SENTENCE, error_type
from halu_tasks.scorers.verdict_hallucination_multilingual import hallucinates_multilingual
from halu_tasks.sources import HALLUVERSE25
from halu_tasks.tasks import Decoding, Group, Reader, Subject, Task, modes

INSPECT_MODULE = "halluverse"
LABEL = Decoding(max_tokens=16)
LANGUAGES = {"en": ("English", 1310), "ar": ("Arabic", 828), "tr": ("Turkish", 978)}
"""Language and number of published rows that are not labelled 0."""
LABELS = {ENTITY: ENTITY, RELATION: RELATION, SENTENCE: SENTENCE, "0": NONE}
"""The published labels, in any case, and the types that they stand for."""
TYPE_MEANS = ("acc", "acc_entity", "acc_relation", "acc_sentence", "f1_macro")
"""What is averaged over the languages."""
COLUMNS = ("orig_sentence", "edited_sentence", "final_label")


def type_of(label: str, column: str) -> str:
    """The type that a published label stands for. Raises ValueError, naming the column, when it is none."""
    kind = LABELS.get(label.strip().casefold())
    if kind is None:
        raise ValueError(f"{column} is {label!r}, expected {', '.join(map(repr, LABELS))}")
    return kind


def check_row(row: Row) -> None:
    require_text(row, *COLUMNS)
    type_of(row["final_label"], "final_label")


def reader(language: str) -> Reader:
    return Reader(
        HALLUVERSE25,
        lambda options: f"{language}_final_data.csv",
        dict.fromkeys(COLUMNS, str),
        check_row,
        partial(table_lines, columns=dict.fromkeys(COLUMNS, ())),
    )


def type_cases(language: str) -> Callable[[Iterable[Row], Options], Iterator[Case]]:
    """A case a row; rows labelled 0 only with `with_zero`."""

    def cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
        types = [kind for kind in LABELS.values() if kind != NONE or options.with_zero]
        for id, row in with_ids(rows, "orig_sentence", "edited_sentence"):
            kind = type_of(row["final_label"], "final_label")
            if kind in types:
                yield Case(
                    id,
                    text_id(row["orig_sentence"].strip()),
                    {"original": row["orig_sentence"].strip(), "edited": row["edited_sentence"].strip()},
                    kind,
                    {"types": types},
                    {"type": kind, "language": language},
                )

    return cases


def binary_cases(language: str) -> Callable[[Iterable[Row], Options], Iterator[Case]]:
    """Two cases a row, its edited sentence and its original. Of a row labelled 0, in which annotators saw no
    hallucination, only the edited sentence, and only with `with_zero`."""

    def cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
        for id, row in with_ids(rows, "orig_sentence", "edited_sentence"):
            kind = type_of(row["final_label"], "final_label")
            if kind == NONE and not options.with_zero:
                continue
            original, edited = row["orig_sentence"].strip(), row["edited_sentence"].strip()
            context = {} if options.without_original else {"original": original}
            shown = [("edited", edited, "Yes"), ("original", original, "No")]
            for which, sentence, target in shown if kind != NONE else [("edited", edited, "No")]:
                yield Case(
                    f"{id}/{which}",
                    text_id(original),
                    {"sentence": sentence, **context},
                    target,
                    tags={"type": kind, "shown": which if kind != NONE else NONE, "language": language},
                )

    return cases


TYPE_MODES = modes(halluverse25.score_type, halluverse25.score_type_published, halluverse25.METRICS)


def _type_task(language: str) -> Task:
    name, (title, size) = f"halluverse25_{language}", LANGUAGES[language]
    return Task(
        name,
        1,
        f"Which type of error has this edited {title} sentence? (entity, relation, sentence)",
        size,
        reader(language),
        type_cases(language),
        TYPE_MODES,
        "acc",
        LABEL,
        oracle=lambda item: item.target,
        baseline=lambda item: ENTITY,
        own_options=("with_zero",),
        read=error_type,
        asked_by=lambda options: f"{name}_with_zero" if options.with_zero else name,
    )


def _binary_task(language: str) -> Task:
    name, (title, rows) = f"halluverse25_binary_{language}", LANGUAGES[language]
    return Task(
        name,
        1,
        f"Does this {title} sentence hallucinate? (Yes/No, two items a row)",
        2 * rows,
        reader(language),
        binary_cases(language),
        modes(halluverse25_binary.score, halluverse25_binary.score_word, halluverse25_binary.METRICS),
        "acc",
        LABEL,
        oracle=lambda item: item.target,
        baseline=lambda item: "Yes",
        own_options=("with_zero", "without_original", "split", "seed", "probability"),
        choices=halluverse25_binary.CHOICES,
        subject=Subject("sentence", source="original"),
        read=hallucinates_multilingual,
        asked_by=lambda options: f"{name}_without_original" if options.without_original else name,
    )


_TYPE_TASKS = tuple(_type_task(language) for language in LANGUAGES)
_BINARY_TASKS = tuple(_binary_task(language) for language in LANGUAGES)
TASKS = _TYPE_TASKS + _BINARY_TASKS
GROUPS = (
    Group(
        "halluverse25",
        1,
        "HalluVerse25 in its three languages; each figure is the mean of the languages'",
        tuple(task.name for task in _TYPE_TASKS),
        TYPE_MEANS,
    ),
    Group(
        "halluverse25_binary",
        1,
        "HalluVerse25's binary task in its three languages; each figure is the mean of the languages'",
        tuple(task.name for task in _BINARY_TASKS),
        ("acc", "precision", "recall", "f1", "acc_edited", "acc_original", "acc_pair"),
    ),
)
