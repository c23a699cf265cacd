"""C-FAITH (Zhang et al. 2025): Chinese questions in three formats, and the type of hallucination each provokes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, with_ids
from halu_tasks.scorers.gold import AnswerGold

TYPES = {
    "虚构事实": "FactFab",
    "属性错误": "AttrErr",
    "实体错误": "EntErr",
    "关系错误": "RelErr",
    "时空幻觉": "SpaErr",
    "虚假引用": "RefErr",
    "过时信息": "Outdated",
}
"""The paper's names of the types, by their label in the released data; `Outdated` occurs only in the data."""

LETTERS = "ABCD"


def check_choice(row: Row) -> None:
    """Raise ValueError unless a row of the single-choice questions has four options, one of them correct."""
    answers, labels, letter = row["answers"], row["labels"], row["correct_option"]
    if len(answers) != len(LETTERS) or len(labels) != len(LETTERS):
        raise ValueError(f"expected four answers and four labels, found {len(answers)} and {len(labels)}")
    if labels[LETTERS.index(letter)] != "correct" or labels.count("correct") != 1:
        raise ValueError(f"correct_option is {letter!r}, but the label 'correct' must be at this position and no other")
    if unknown := set(labels) - {"correct", *TYPES}:
        expected = ", ".join(TYPES)
        raise ValueError(f"hallucination type is {min(unknown)!r}, expected one of {expected}")


# --- rows to items --------------------------------------------------------------------------------


def open_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per row: the question; the gold holds both answers for the judge."""
    for id, row in with_ids(rows, "question", "correct_answer", "halu_answer"):
        yield Item(
            id,
            row["ent"],
            row["correct_answer"],
            fields={"question": row["question"]},
            gold=AnswerGold(**{key: row[key] for key in ("question", "correct_answer", "halu_answer")}),
            tags={"type": TYPES[row["halu_type"]]},
        )


def true_false_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield two items per row: the question with its correct answer, and with its hallucinated one."""
    for id, row in with_ids(rows, "question", "correct_answer", "halu_answer"):
        for which, field, target in (("correct", "correct_answer", "True"), ("hallucinated", "halu_answer", "False")):
            yield Item(
                f"{id}/{which}",
                row["ent"],
                target,
                fields={"question": row["question"], "answer": row[field]},
                tags={"type": TYPES[row["halu_type"]]},
            )


def choice_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per row; the target is the letter of the correct option."""
    for id, row in with_ids(rows, "question"):
        # the type a question is meant to provoke is the most frequent one of its wrong options (section 4.1)
        wrong = Counter(label for label in row["labels"] if label != "correct")
        yield Item(
            id,
            id,
            row["correct_option"],
            fields={"question": row["question"].rstrip()},
            tags={"type": TYPES[wrong.most_common(1)[0][0]]},
        )


# --- replies that need no model -------------------------------------------------------------------


def repeated_question(item: Item[AnswerGold]) -> str:
    """Return the question, as a model does that repeats it."""
    return item.gold.question
