"""HalluVerse-M3 (Abdaljalil, Sharma, Serpedin and Kurban 2026): which type of error an edited answer or summary
has, in English, Arabic, Hindi and Turkish. Labels, scores and metrics are HalluVerse25's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from halu_tasks.benchmarks.halluverse25 import LABEL, LABELS, TYPE_MEANS, TYPE_MODES, type_of
from halu_tasks.data import Row, require_text, table_lines, text_id, with_ids
from halu_tasks.items import Case
from halu_tasks.options import Options
from halu_tasks.scorers.error_type import ENTITY, NONE, error_type
from halu_tasks.sources import HALLUVERSE_M3
from halu_tasks.tasks import Group, Reader, Task

LANGUAGES = {"en": "English", "ar": "Arabic", "hi": "Hindi", "tr": "Turkish"}
FILES = {"qa": "QA", "summarization": "summarization"}
"""What a part's files begin with."""
COLUMNS = {
    "context": ("question", "dialogue", "dialog", "conversation", "document"),
    "original": ("answer", "summary", "original_answer", "original_summary", "orig_answer", "orig_summary"),
    "edited": ("edited_answer", "edited_summary", "edited_sentence"),
    "label": ("final_label",),
}
"""The columns of both parts and the names that they may have."""


def check_row(row: Row) -> None:
    require_text(row, *COLUMNS)
    type_of(row["label"], "label")


def reader(language: str) -> Reader:
    return Reader(
        HALLUVERSE_M3,
        lambda options: f"{FILES[options.part]}_{language}.csv",
        dict.fromkeys(COLUMNS, str),
        check_row,
        partial(table_lines, columns=COLUMNS),
    )


def cases(language: str) -> Callable[[Iterable[Row], Options], Iterator[Case]]:
    """A case a row; rows labelled 0 only with `with_zero`. Edits about one question or dialogue are a cluster."""

    def of_rows(rows: Iterable[Row], options: Options) -> Iterator[Case]:
        types = [kind for kind in LABELS.values() if kind != NONE or options.with_zero]
        for id, row in with_ids(rows, "context", "original", "edited"):
            kind = type_of(row["label"], "label")
            if kind in types:
                yield Case(
                    id,
                    text_id(row["context"].strip()),
                    {field: row[field].strip() for field in ("context", "original", "edited")},
                    kind,
                    {"types": types},
                    {"type": kind, "language": language},
                )

    return of_rows


def _task(language: str) -> Task:
    name = f"halluverse_m3_{language}"

    def asked_by(options: Options) -> str:
        part = "" if options.part == "qa" else f"_{options.part}"
        return f"{name}{part}_with_zero" if options.with_zero else f"{name}{part}"

    return Task(
        name,
        1,
        f"Which type of error has this edited {LANGUAGES[language]} answer or summary? (entity, relation, sentence)",
        None,
        reader(language),
        cases(language),
        TYPE_MODES,
        "acc",
        LABEL,
        oracle=lambda item: item.target,
        baseline=lambda item: ENTITY,
        read=error_type,
        own_options=("part", "with_zero"),
        asked_by=asked_by,
    )


TASKS = tuple(_task(language) for language in LANGUAGES)
GROUPS = (
    Group(
        "halluverse_m3",
        1,
        "HalluVerse-M3 in its four languages; each figure is the mean of the languages'",
        tuple(task.name for task in TASKS),
        TYPE_MEANS,
    ),
)
