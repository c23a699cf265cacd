"""HalluVerse25 (Abdaljalil, Kurban and Serpedin 2025): which type of error an edited sentence has, in English,
Arabic and Turkish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from halu_tasks.data import Row, csv_lines, require_text, text_id, with_ids
from halu_tasks.items import Case, Item
from halu_tasks.options import Options
from halu_tasks.scorers import halluverse25
from halu_tasks.scorers.error_type import ENTITY, NONE, RELATION, SENTENCE
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.score import Score
from halu_tasks.sources import HALLUVERSE25
from halu_tasks.tasks import Decoding, Group, Reader, Scoring, Task

INSPECT_MODULE = "halluverse"
LABEL = Decoding(max_tokens=16)
LANGUAGES = {"en": ("English", 1310), "ar": ("Arabic", 828), "tr": ("Turkish", 978)}
"""Language and number of published rows that are not labelled 0."""
LABELS = {ENTITY: ENTITY, RELATION: RELATION, SENTENCE: SENTENCE, "0": NONE}
"""The published labels, in any case, and the types that they stand for."""
COLUMNS = ("orig_sentence", "edited_sentence", "final_label")


def label_of(row: Row) -> str:
    return str(row["final_label"]).strip().casefold()


def check_row(row: Row) -> None:
    require_text(row, *COLUMNS)
    if label_of(row) not in LABELS:
        raise ValueError(f"final_label is {row['final_label']!r}, expected {', '.join(map(repr, LABELS))}")


def reader(language: str) -> Reader:
    return Reader(
        HALLUVERSE25,
        lambda options: f"{language}_final_data.csv",
        dict.fromkeys(COLUMNS, str),
        check_row,
        partial(csv_lines, columns=COLUMNS),
    )


def type_cases(language: str) -> Callable[[Iterable[Row], Options], Iterator[Case]]:
    """A case a row; rows labelled 0 only with `with_zero`."""

    def cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
        types = [kind for kind in LABELS.values() if kind != NONE or options.with_zero]
        for id, row in with_ids(rows, "orig_sentence", "edited_sentence"):
            kind = LABELS[label_of(row)]
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


def _mode(score: Callable[[Item, str], Score], metrics: tuple[Metric, ...]) -> Scoring:
    return Scoring(lambda item, reply, _: score(item, reply), metrics)


def _task(language: str) -> Task:
    name, (title, size) = f"halluverse25_{language}", LANGUAGES[language]
    return Task(
        name,
        1,
        f"Which type of error has this edited {title} sentence? (entity, relation, sentence)",
        size,
        reader(language),
        type_cases(language),
        {
            "strict": _mode(halluverse25.score_type, halluverse25.METRICS),
            "paper": _mode(halluverse25.score_type_published, halluverse25.METRICS),
        },
        "acc",
        LABEL,
        oracle=lambda item: item.target,
        baseline=lambda item: ENTITY,
        own_options=("with_zero",),
        asked_by=lambda options: f"{name}_with_zero" if options.with_zero else name,
    )


TASKS = tuple(_task(language) for language in LANGUAGES)
GROUPS = (
    Group(
        "halluverse25",
        1,
        "HalluVerse25 in its three languages; each figure is the mean of the languages'",
        tuple(task.name for task in TASKS),
        ("acc", "acc_entity", "acc_relation", "acc_sentence", "f1_macro"),
    ),
)
